"""Datasets that a training loop builds anew from the same inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from tflint_perf.analysis.apis.facts import has, methods
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.guards import Guards
from tflint_perf.analysis.execution.invariance import Invariance
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.once import Once
from tflint_perf.analysis.limits import CALLS_DEEP, MANY_WAYS
from tflint_perf.analysis.pipelines.stages import Stages
from tflint_perf.analysis.python.reach import remembered, remembered_in_circles
from tflint_perf.analysis.python.scopes import Binding, Function, Loop, Scope
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    descendants_here,
    has_stars,
    keyword_argument,
    names_read,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import wrapper
from tflint_perf.analysis.values.mutations import Touched
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass

# Sources that hold next to nothing.
_CHEAP = frozenset({"range", "random"})
# Stages that are worth building once; others take, skip or repeat what is there.
_STAGES = ("map", "flat_map", "interleave", "filter", "shuffle", "batch", "padded_batch")
# What a call, an argument or a structure around a dataset is made of.
_INSIDE = (cst.Attribute, cst.Call, cst.Arg, cst.Tuple, cst.List, cst.Element)


@dataclass(frozen=True, slots=True)
class Rebuild:
    """A dataset that `loop` builds in each iteration.

    `node` is the place in the loop: the dataset itself, or the call of a function in which `dataset` is built.
    """

    node: cst.BaseExpression
    dataset: cst.BaseExpression
    loop: Loop


class Rebuilt(Part):
    """Finds datasets that are built again and again though nothing changes."""

    _infer: Inference
    _calls: CallGraph
    _compiled: Compiled
    _loops: Loops
    _guards: Guards
    _once: Once
    _invariance: Invariance
    _stages: Stages

    def __post_init__(self) -> None:
        self._touched = Touched(self._infer, self._calls)

    def all(self) -> Iterator[Rebuild]:
        """Every dataset that a training loop builds anew from the same inputs, once for each place in a loop."""
        seen: set[cst.CSTNode] = set()
        named = [call for calls in self._walk.calls.values() for call in calls if self._may_be_source(call)]
        stages = {c: None for c in self._walk.calls_named(*_STAGES) if _is_first(c)}
        for source in filter(self._is_source, [*named, *stages] if self._walk.loops else ()):
            whole = self._whole(source)
            for node, loop, entered in self._places(whole):
                if node is whole and isinstance(self._walk.parents.get(node), cst.Expr):
                    continue  # nobody gets it
                if source in stages and not self._adds_to_same(source, loop):
                    continue
                inputs = self._inputs(loop, entered)
                if node not in seen and all(map(inputs.are_same, [whole, *self._given_later(source)])):
                    seen.add(node)
                    yield Rebuild(node, whole, loop)

    def _inputs(self, loop: Loop, entered: Entered) -> Inputs:
        return Inputs(self._infer, self._calls, self._invariance, loop, entered, self._touched.by(loop))

    def _adds_to_same(self, stage: cst.Call, loop: Loop) -> bool:
        """Whether each epoch of `loop` adds the stage `stage` to a dataset that was made before the loop."""
        given = stage.func.value if isinstance(stage.func, cst.Attribute) else stage
        return self._loops.kind(loop) == "epoch" and self._is_from_outside(given, loop)

    def outermost_loop_around(self, inner: cst.For, read: Sequence[cst.BaseExpression]) -> Loop | None:
        """The outermost of the loops that hold each other directly around `inner` in which all of `read` stays the same."""
        loop, found = self._walk.loops[inner], None
        while loop.parent is not None and self._walk.at[loop.node].block.owner is loop.parent.node:
            loop = loop.parent
            inputs = self._inputs(loop, {})
            if not all(map(inputs.are_same, read)):
                break
            found = loop
        return found

    def _given_later(self, source: cst.Call) -> Iterator[cst.CSTNode]:
        """The arguments of the stages that follow `source`, also in other statements."""
        waiting, seen = [source], {source}
        while waiting:
            for call in self._stages.goes_on(waiting.pop()):
                if call not in seen:
                    seen.add(call)
                    waiting.append(call)
                    yield from call.args

    def _may_be_source(self, call: cst.Call) -> bool:
        return self._infer.names.is_call_that(call, "may-be-source")

    def _is_source(self, call: cst.Call) -> bool:
        if self._compiled.is_compiled(call):
            return False
        value = self._infer.value(call)
        ways = value.pipelines
        return (
            value.kind == "dataset"
            and len(ways) == 1
            and ways[0][-1].call is call
            and ways[0][0].name not in _CHEAP
        )

    def _whole(self, source: cst.Call) -> cst.BaseExpression:
        """The largest expression around a source that is a dataset: its stages, and what joins it to others."""
        whole: cst.BaseExpression = source
        parent = self._walk.parents.get(source)
        while isinstance(parent, _INSIDE):
            if isinstance(parent, cst.Call):
                if self._infer.value(parent).kind != "dataset" or self._calls.targets(parent):
                    break
                wraps = wrapper(self._infer, parent)
                if wraps is not None and wraps.how.gives == "elements":
                    break  # a progress bar
                whole = parent
            parent = self._walk.parents.get(parent)
        return whole

    def _places(self, node: cst.BaseExpression) -> Iterator[tuple[cst.BaseExpression, Loop, Entered]]:
        """The places in training loops that build the dataset `node`, directly or through calls."""
        waiting: list[tuple[cst.BaseExpression, Entered]] = [(node, {})]
        for _ in range(MANY_WAYS):
            if not waiting:
                return
            place, entered = waiting.pop()
            if self._is_rare(place):
                continue
            loop = self._training_loop(place)
            function = self._calls.function_at(place)
            if loop is not None:
                yield place, loop, entered
            elif self._loops.innermost_loop(place) is None and function is not None:
                if function not in entered and len(entered) < CALLS_DEEP and not function.yields:
                    sites = self._calls.sites(function)
                    waiting += [(call, {**entered, function: call}) for call in sites if not has_stars(call)]

    @remembered
    def _is_rare(self, node: cst.CSTNode) -> bool:
        """Whether something keeps `node` from running on each step."""
        return self._is_guarded(node) or self._once.runs_seldom(node)

    def _is_guarded(self, node: cst.CSTNode) -> bool:
        # What a loop runs over stands outside that loop.
        guard_of = self._guards.guard_of
        return guard_of(node) is not None or guard_of(self._walk.statement_of(node)) is not None

    def _training_loop(self, node: cst.CSTNode) -> Loop | None:
        """The loop of steps or epochs of the same function that runs `node`, but for one that makes trials."""
        loops = self._loops
        loop = loops.innermost_loop(node)
        while loop is not None and loops.kind(loop) == "none" and not self._fits_once(loop):
            loop = loop.parent
        return None if loop is None or self._makes_trials(loop) else loop

    def _fits_once(self, loop: Loop) -> bool:
        """Whether each iteration of `loop` fits a model from outside it for one epoch."""
        return any(
            callee_name(call) == "fit"
            and isinstance(call.func, cst.Attribute)
            and self._is_one_epoch(call)
            and self._infer.value(call.func.value).kind == "model"
            and self._is_from_outside(call.func.value, loop)
            for call in loop.calls
        )

    def _is_one_epoch(self, fit: cst.Call) -> bool:
        epochs = keyword_argument(fit, "epochs")
        return not has_stars(fit) and (epochs is None or self._infer.integers.only(epochs) == 1)

    def _is_from_outside(self, node: cst.BaseExpression, loop: Loop) -> bool:
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        return isinstance(node, cst.Attribute) or (
            found is not None and not any(self._invariance.is_bound_in(b, loop) for b in found[1])
        )

    @remembered
    def _makes_trials(self, loop: Loop) -> bool:
        """Whether each iteration of `loop` trains for several epochs."""
        inside = [loop, *loop.inner]
        while any(inner not in inside for outer in inside for inner in outer.inner):
            inside += [inner for outer in inside for inner in outer.inner if inner not in inside]
        if any(self._loops.kind(inner) == "epoch" for inner in inside[1:]):
            return True
        calls = [call for inner in inside for call in inner.calls]
        seen: set[Function] = set()  # what runs no epochs at the first call runs none at the next one
        return any(self._runs_epochs(target, seen) for call in calls for target in self._calls.targets(call))

    def _runs_epochs(self, function: Function, seen: set[Function]) -> bool:
        if function in seen:
            return False
        seen.add(function)
        return any(self._loops.kind(loop) == "epoch" for loop in function.loops) or any(
            self._runs_epochs(target, seen) for call in function.calls for target in self._calls.targets(call)
        )


def _is_first(call: cst.Call) -> bool:
    """Whether `call` adds the first stage of an expression to a dataset that has a name: `for x in dataset.batch(32):`."""
    return isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Name | cst.Attribute)


# Whether an expression gives the same in each iteration of a loop.


# Methods that give something of an array, a list or a text, and change none of it.
_PURE_METHODS = methods("Dataset", "stage") | frozenset(
    ["astype", "copy", "flatten", "format", "get", "items", "join", "keys", "numpy", "ravel", "reshape", "split",
     "squeeze", "strip", "to_numpy", "tolist", "transpose", "values"]
)  # fmt: skip

# The call by which each function was entered.
Entered = Mapping[Function, cst.Call]


class Inputs:
    """Answers for one loop what is surely the same in each iteration. What is not in sight may change.

    `entered` are the functions through which the loop reaches the code that is asked about, and `touched` the
    names of what an iteration may change in place.
    """

    def __init__(
        self,
        infer: Inference,
        calls: CallGraph,
        invariance: Invariance,
        loop: Loop,
        entered: Entered,
        touched: set[str],
    ) -> None:
        self._infer = infer
        self._calls = calls
        self._walk = infer.walk
        self._is_bound_in = invariance.is_bound_in
        self._loop = loop
        self._entered = entered
        self._touched = touched
        self._functions: set[Function] = set()

    def are_same(self, node: cst.CSTNode) -> bool:
        """Whether what `node` reads and calls is the same in each iteration."""
        inside = set(descendants(node))
        here = set(descendants_here(node))
        return all(self._is_same(part, inside, called=part in here) for part in inside)

    def _is_same(self, part: cst.CSTNode, inside: set[cst.CSTNode], *, called: bool) -> bool:
        """`called` is false for code that only the pipeline runs: a lambda given to a stage."""
        match part:
            case cst.Call():
                return self._is_pure(part) or (not called and self._gets_elements(part, inside))
            case cst.Attribute():
                return self._is_same_attribute(part)
            case cst.Name() if part in self._walk.parents:
                return self._is_same_name(part, inside)
            case cst.NamedExpr() | cst.Await() | cst.Yield():
                return False
        return True

    def _is_pure(self, call: cst.Call) -> bool:
        """Whether `call` gives the same result for the same arguments, as far as can be told."""
        name = builtin_or_qualified(self._infer, call.func)
        if name:
            return has(name, "settled") and not has(name, "varies", "draws")
        targets = self._calls.targets(call)
        if targets:
            return all(self._is_pure_function(target) for target in targets)
        return isinstance(call.func, cst.Attribute) and call.func.attr.value in _PURE_METHODS

    def _is_pure_function(self, function: Function) -> bool:
        if function in self._functions:
            return True
        self._functions.add(function)
        if function.yields or function.scope.elsewhere:
            return False
        return all(map(self._is_pure, function.calls)) and self._reads_the_same(function)

    def _reads_the_same(self, function: Function) -> bool:
        """Whether what `function` reads from outside is the same in each iteration."""
        inside = set(descendants(function.node))
        return all(
            self._is_same_name(part, inside)
            for part in inside
            if isinstance(part, cst.Name) and part in self._walk.parents
        )

    def _traces_the_same(self, function: Function) -> bool:
        """Whether `function`, given to a stage, does the same in each iteration when it is traced."""
        inside = set(descendants(function.node))
        return all(self._is_pure(call) or self._gets_elements(call, inside) for call in function.calls)

    def _gets_elements(self, call: cst.Call, inside: set[cst.CSTNode]) -> bool:
        """Whether `call`, in traced code, works on what that code gets, and so is traced: it runs in the pipeline."""
        for name in names_read(call):
            found = self._infer.names.lookup(name.value, self._infer.names.scope_of(name))
            if found is not None and found[0].node in inside:
                return True
        return False

    def _is_same_attribute(self, node: cst.Attribute) -> bool:
        parent = self._walk.parents.get(node)
        is_method = isinstance(parent, cst.Call) and parent.func is node
        return is_method or bool(self._infer.names.dotted(node)) or node.attr.value not in self._touched

    def _is_same_name(self, name: cst.Name, inside: set[cst.CSTNode]) -> bool:
        found = self._infer.bindings_reaching(name)
        if found is None:
            return name.value not in self._touched  # a builtin, or from another cell of a notebook
        if found[0].node in inside:
            return True
        return all(self._is_same_binding(binding, found[0]) for binding in found[1])

    # What depends on itself changes.
    @remembered_in_circles(False)
    def _is_same_binding(self, binding: Binding, home: Scope) -> bool:
        if binding.kind == "import":
            return True
        if binding.kind in ("def", "class"):
            function = self._walk.functions.get(binding.node)
            return function is None or (self._reads_the_same(function) and self._traces_the_same(function))
        function = home.function
        if binding.kind == "param" and function is not None and function in self._entered:
            return self._is_same_argument(function, binding)
        if binding.name in self._touched and not (function is not None and _is_instance(function, binding)):
            return False
        if function in self._entered or self._is_bound_in(binding, self._loop):
            return binding.kind == "assign" and binding.value is not None and self.are_same(binding.value)
        # What another function binds may change with each call of that.
        return binding.at.block.function is function or binding.kind == "param"

    def _is_same_argument(self, function: Function, binding: Binding) -> bool:
        """Whether the call of `function` gives the parameter of `binding` the same value each time."""
        call = self._entered[function]
        if _is_instance(function, binding):
            return not isinstance(call.func, cst.Attribute) or self.are_same(call.func.value)
        if binding.name in self._touched or binding.name not in function.positional:
            return False
        given = argument(call, function.place_of(binding.name), binding.name)
        return binding.value is not None if given is None else self.are_same(given)


def _is_instance(function: Function, binding: Binding) -> bool:
    """Whether a parameter is the `self` of a method."""
    is_first = binding.kind == "param" and function.positional[:1] == [binding.name]
    return is_first and function.is_bound
