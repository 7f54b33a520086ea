"""TensorFlow 1's sessions: loops that run them, and ops that such loops add to the graph."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.once import Once, extent
from tflint_perf.analysis.execution.short_loops import is_part_of_one_iteration
from tflint_perf.analysis.python.reach import remembered_in_circles
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import (
    COMPREHENSIONS,
    callee_name,
    descendants,
    keyword_argument,
    names_read,
    target_names,
)
from tflint_perf.analysis.training.graph_ops import adds_to_graph, assigned
from tflint_perf.analysis.training.graphs import Graphs
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import counting
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part

_PURE_METHODS = frozenset(
    {"get_shape", "as_list", "format", "items", "keys", "values", "astype", "reshape", "with_rank"}
)
# A loop, None for one of another file, and the call from which it leads to an op: None where that is the op itself.
_Growing = tuple[cst.Call | None, Loop | None]
# As many rounds, written out as a number, grow no graph worth speaking of.
_FEW = 5


class Sessions(Part):
    """Finds ops made in loops that run a session."""

    _infer: Inference
    _calls: CallGraph
    _compiled: Compiled
    _loops: Loops
    _once: Once

    def __post_init__(self) -> None:
        self._graphs = Graphs(self._infer, self._calls, self._compiled, self._loops)
        self._ops: list[tuple[cst.Call, Loop | None]] | None = None
        self._calling: dict[tuple[Function, bool], list[_Growing]] = {}

    def ops_in_loops(self) -> list[tuple[cst.Call, Loop | None]]:
        """The calls that add to the graph in each iteration of a loop that runs a session, with that loop; None for one
        in another file.

        Of calls inside one another the outermost is given. Of a function that only makes ops, for those who call it, the
        calls are given.
        """
        if self._ops is None:
            self._ops = list(dict.fromkeys(self._find_ops()))
        return self._ops

    def _find_ops(self) -> Iterator[tuple[cst.Call, Loop | None]]:
        if not any(self.is_run(call) for call in self._walk.calls_named("run", "eval")):
            return
        for calls in list(self._walk.calls.values()):
            for call in calls:
                if adds_to_graph(self._infer, call) and not self._is_part_of_op(call):
                    found = self._growing(call, runs=False)
                    if found and self._graphs.is_graph_code(call):
                        yield from ((place or call, loop) for place, loop in found)

    def runs_again(self, call: cst.CSTNode) -> bool:
        """Whether a loop repeats `call` on one graph, whether or not the function that it calls runs a session."""
        return self._graphs.is_graph_code(call) and bool(self._growing(call, runs=True))

    def is_run(self, call: cst.Call) -> bool:
        """Whether `call` runs a session: `sess.run(…)`, `tensor.eval()`, `op.run(session=…)`."""
        func = call.func
        if not isinstance(func, cst.Attribute):
            return False
        name = func.attr.value
        given = (
            keyword_argument(call, "session") is not None or keyword_argument(call, "feed_dict") is not None
        )
        if name == "eval":
            return given or self._infer.value(func.value).kind in ("tensor", "variable")
        return name in ("run", "partial_run") and (given or self._graphs.is_session(func.value))

    def is_pure(self, call: cst.Call) -> bool:
        """Whether `call`, made while a graph is built, gives the same for the same arguments and does nothing else."""
        name = builtin_or_qualified(self._infer, call.func)
        if library(name) == "numpy":
            return not has(name, "varies")
        if library(name) in ("tensorflow", "keras") or has(name, "builds"):
            return True
        return adds_to_graph(self._infer, call) or (not name and callee_name(call) in _PURE_METHODS)

    # Loops

    def _growing(self, node: cst.CSTNode, *, runs: bool) -> list[_Growing]:
        """The loops that run both `node` and a session in each iteration, on the same graph; what they call stands by
        them where `node` is in a function that only makes ops, and gives something back. `runs` says that `node` itself
        runs a session."""
        if self._loops.innermost_loop(node) is None:
            function = self._calls.function_at(node)
            if function is None or not self._calling_loops(function, runs=runs):
                return []  # as most of a graph: no more to be asked
        where = self._loop_or_function(node, runs=runs)
        if not isinstance(where, Function):
            return [(None, where)] if where is not None else []
        above = self._calling_loops(where, runs=runs)
        gives = isinstance(where.node, cst.Lambda) or any(r.value is not None for r in where.returns)
        return above if gives and not self._runs_session(where) else [(None, loop) for _, loop in above[:1]]

    def _calling_loops(self, function: Function, *, runs: bool) -> list[_Growing]:
        """The loops that call a function and run a session, with the calls from which they lead there."""
        known = self._calling.get((function, runs))
        if known is None:
            self._calling[function, runs] = []  # functions that call each other
            known = [
                (place or site, loop)
                for site in self._calls.sites(function)
                for place, loop in self._growing(site, runs=runs)
            ]
            if not known and self._runs_session(function):
                callers = self._calls.callers_outside(function)
                known = [(None, None)] if any(caller.on_one_graph for caller in callers) else []
            self._calling[function, runs] = known
        return known

    def _loop_or_function(self, node: cst.CSTNode, *, runs: bool) -> Loop | Function | None:
        """The innermost loop that runs a session and `node` on one graph, or else the function that runs `node` as often
        as it is called itself."""
        while not self._once.runs_seldom(node):
            loop = self._loops.innermost_loop(node)
            if self._graphs.has_own_graph(node, extent(self._walk, loop) if loop is not None else None):
                return None
            if loop is None:
                function = self._calls.function_at(node)
                is_other = function is None or self._graphs.resets_graph(function.node) or _is_test(function)
                return None if is_other else function
            if (runs or self._runs_session(loop)) and not self._is_bounded(loop):
                return None if self._graphs.resets_graph(loop.node) else loop
            node = loop.node
        return None

    def _is_bounded(self, loop: Loop) -> bool:
        """Whether `loop` has a bounded length, over variables for instance: it makes one op for each."""
        if (
            is_part_of_one_iteration(self._infer, loop)
            or _counts_to_a_few(self._infer, loop)
            or _goes_through_dict(loop)
        ):
            return True
        if loop.iterable is None or isinstance(loop.node, cst.While):
            return False
        targets = {name.value for name in names_read(loop.node.target)}
        calls = loop.all_calls
        targets |= {name for call in calls for name in self._looked_up(call)}
        variables = (assigned(self._infer, call) for call in calls)
        if any(isinstance(variable, cst.Name) and variable.value in targets for variable in variables):
            return True
        return any(self._gives_variables(part) for part in descendants(loop.iterable))

    def _looked_up(self, call: cst.Call) -> Iterator[str]:
        """The name of a variable that an iteration looks up for itself: `var = tf.get_variable("weights")`, in a scope of
        its own."""
        parent = self._walk.parents.get(call)
        if callee_name(call) == "get_variable" and isinstance(parent, cst.Assign):
            if self._infer.names.is_call_that(call, "looks-up-variable"):
                yield from (name.value for target in parent.targets for name in target_names(target.target))

    def _gives_variables(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Name):
            return any(
                isinstance(b.value, cst.Call) and self._gives_variables(b.value)
                for b in self._infer.bindings(node)
                if b.kind == "assign"
            )
        return self._infer.names.is_call_that(node, "gives-variables")

    @remembered_in_circles(False)
    def _runs_session(self, holder: Loop | Function) -> bool:
        return any(
            self.is_run(call) or any(map(self._runs_session, self._calls.targets(call)))
            for call in holder.calls
        ) or (isinstance(holder, Loop) and any(map(self._runs_session, holder.inner)))

    def _is_part_of_op(self, call: cst.Call) -> bool:
        """Whether `call` is inside another call that adds to the graph, in the same statement."""
        current = self._walk.parents.get(call)
        while (
            current is not None
            and current not in self._walk.at
            and not isinstance(current, (cst.Lambda, *COMPREHENSIONS))
        ):
            if isinstance(current, cst.Call) and adds_to_graph(self._infer, current):
                return True
            current = self._walk.parents.get(current)
        return False


def _goes_through_dict(loop: Loop) -> bool:
    """Whether `loop` iterates over the values of a dict: `[f(x) for x in layers.values()]`."""
    over = loop.iterable if isinstance(loop.node, cst.CompFor) else None
    return isinstance(over, cst.Call) and callee_name(over) in ("items", "values", "keys")


def _counts_to_a_few(infer: Inference, loop: Loop) -> bool:
    """Whether `loop` counts to a small number: `for i in range(3)`."""
    length = infer.integers.length(loop.iterable) if counting(infer, loop.iterable) is not None else None
    return length is not None and length <= _FEW


def _is_test(function: Function) -> bool:
    """Whether `function` is a method of a test case: those get a fresh graph for each test."""
    bases = function.owner.node.bases if function.owner is not None else ()
    names = [getattr(base.value, "attr", base.value) for base in bases]
    return any(isinstance(name, cst.Name) and name.value.endswith("TestCase") for name in names)
