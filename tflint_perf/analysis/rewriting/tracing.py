"""What stands in the way of compiling eager code: things that tracing would change or break."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from functools import cached_property

import libcst as cst

from tflint_perf.analysis.apis.facts import has, last_names, methods
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.decided import Named, Told, is_left_out, none_known
from tflint_perf.analysis.python.obstacles import Obstacle, worst
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import (
    callee_name,
    descendants,
    is_constant,
)
from tflint_perf.analysis.rewriting.autograph import AutoGraph
from tflint_perf.analysis.rewriting.between_calls import BetweenCalls
from tflint_perf.analysis.rewriting.host_calls import HostCalls
from tflint_perf.analysis.rewriting.host_conditions import HostConditions
from tflint_perf.analysis.rewriting.in_place import InPlace
from tflint_perf.analysis.rewriting.passing import Passing
from tflint_perf.analysis.rewriting.side_effects import SideEffects
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass

# What acts by itself; of other code it is doubted that it gives the same later.
_DOES_SOMETHING = (cst.Call, cst.Assign, cst.AugAssign, cst.AnnAssign)

# Whether a trace holds for the very object that an attribute or a name stands for, so that another one has another trace.
TracedFor = Callable[[cst.BaseExpression], bool]


def never(node: cst.BaseExpression) -> bool:
    """That no trace is made for an object."""
    return False


_GIVEN_ANEW = "another model or optimizer is given later, and a trace for it can create no variables"


@dataclass(frozen=True, slots=True)
class _Look:
    """How code is looked at.

    `path` are the functions that lead there; None where what is called is not looked at. `inline` says that the code is
    statements, which become a function together with the others `within`. `as_seen` passes over attributes that other methods bind anew, where nothing shows that
    one of these runs between two calls. `sure` passes over what only may fail. Of the
    functions that a call may run, by which the program was set up, each has to be free of obstacles, unless `one_suffices`: a run
    shows which it is. `told` says what the constants are that a call gives the function: branches that it never takes don't count.
    `traced_for` says what may be another object on a later call, since that has a trace of its own.
    """

    path: tuple[Function, ...] | None
    inline: bool = False
    within: Collection[cst.CSTNode] | None = None
    as_seen: bool = False
    sure: bool = False
    one_suffices: bool = False
    told: Named = none_known
    traced_for: TracedFor = never


class Tracing(Part):
    """Looks along the call path of a piece of code for what tracing would change or break."""

    _infer: Inference
    _calls: CallGraph
    _compiled: Compiled
    _passing: Passing
    _in_place: InPlace

    def __post_init__(self) -> None:
        self._host_calls = HostCalls(self._infer, self._calls)
        self._between_calls = BetweenCalls(self._infer, self._calls, self._in_place)
        self._autograph = AutoGraph(self._infer, self._calls)
        self._host_conditions = HostConditions(self._infer, self._calls, self._between_calls)
        self._side_effects = SideEffects(self._infer, self._calls, self._between_calls)
        self._looked_at: set[cst.CSTNode] = set()

    def is_given_models(self, function: Function) -> bool:
        """Whether a function is given another model or optimizer on some later call."""
        return self._between_calls.object_given_anew(function) is not None

    def obstacle_in_function(
        self, function: Function, *, as_seen: bool = False, one_model: bool = False
    ) -> Obstacle | None:
        """The first obstacle to compiling a function, with all that it calls in this file; `as_seen` passes over attributes
        that other methods bind anew, where nothing shows that one of these runs between two calls; `one_model` supposes that
        it is compiled for each model that it is given."""
        node = function.node
        if isinstance(node, cst.FunctionDef) and node.asynchronous is not None:
            return Obstacle(node, "it is `async`")
        if function.yields:
            return Obstacle(function.yields[0], "it is a generator")
        host = self._host_arguments(function)
        if host is not None:
            return host
        another = self._between_calls.object_given_anew(function) if not one_model else None
        if another is not None:
            return Obstacle(another, _GIVEN_ANEW)
        return (
            self._setting_changed(_first(function.node.body))
            or next(filter(None, map(self._autograph.of_return, function.returns)), None)
            or self._in_body(function, _Look((function,), as_seen=as_seen, one_suffices=as_seen))
        )

    def obstacles_in(self, function: Function) -> list[Obstacle]:
        """Each obstacle to tracing a function in its own body and, for each of its calls, the worst in what that runs."""
        return list(self._obstacles_in(function.node.body, function, _Look((function,), one_suffices=True)))

    def obstacle_here(self, function: Function) -> Obstacle | None:
        """The first obstacle to tracing a function in its own body, whatever it calls."""
        if function.yields:
            return Obstacle(function.yields[0], "it is a generator")
        return self._in_body(function, _Look(None))

    def sure_obstacle(self, function: Function) -> Obstacle | None:
        """The first thing in a function, or in what it calls here, that fails in compiled code or runs once for all calls,
        whatever the program changes between them."""
        found = self._obstacles_in(
            function.node.body, function, _Look((function,), as_seen=True, sure=True, one_suffices=True)
        )
        return next((each for each in found if isinstance(each.node, _DOES_SOMETHING) and not each.may), None)

    def _setting_changed(self, code: cst.CSTNode) -> Obstacle | None:
        place = self._between_calls.setting_changed(code)
        if place is None:
            return None
        return Obstacle(place, f"`.{place.attr.value}` is set between calls, and a trace keeps the old value")

    def obstacle_in_call(self, call: cst.Call) -> Obstacle | None:
        """The first obstacle to compiling what `call` runs in this file."""
        bodies = (self._in_body(target, _Look((target,))) for target in self._calls.targets(call))
        return worst(filter(None, bodies))

    def obstacle_to_keeping(
        self, node: cst.BaseExpression, function: Function | None, *, as_seen: bool = False
    ) -> Obstacle | None:
        """Why a function beside `function` that is compiled once can't go by what `node` stands for there: it is another
        object on some later call; `as_seen` is as for `obstacle_in_function`, and lets it be given another one, for which there
        is another trace."""
        while isinstance(node, cst.Attribute):
            reason = self._side_effects.of_attribute(node, function, as_seen=as_seen)
            if reason:
                return Obstacle(node, reason)
            node = node.value
        if function is not None and not as_seen:
            another = self._between_calls.object_given_anew(function)
            if another is not None:
                return Obstacle(another, _GIVEN_ANEW)
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        if found is None or not isinstance(node, cst.Name):
            return None
        scope, bindings = found
        made_here = scope.function is not None and any(binding.kind != "param" for binding in bindings)
        if (
            len(bindings) > 1
            or any(self._between_calls.comes_again(binding.at) for binding in bindings)
            or (made_here and scope.function is not None and self._runs_again(scope.function))
        ):
            return Obstacle(node, f"`{node.value}` is another object on later calls")
        return None

    def _runs_again(self, function: Function) -> bool:
        """Whether a function is seen to be called from several places, or from a loop."""
        sites = self._calls.sites(function)
        return len(sites) > 1 or any(self._infer.place(site).block.loop is not None for site in sites)

    def _elsewhere(self, call: cst.Call, look: _Look) -> Obstacle | None:
        """What stands against tracing what a call runs in another file, itself or by a strategy."""
        for function in (call.func, self._calls.run_by_strategy(call)):
            paths = self._infer.value(function).paths if function is not None else ()
            found = [self._infer.outside.hindrance(path) for path in paths]
            if any(found) and not (look.one_suffices and not all(found)):
                return worst(Obstacle(call, each.reason, each.may) for each in found if each is not None)
        return None

    def obstacle_in_statements(
        self, statements: Iterable[cst.CSTNode], function: Function | None, *, moved: bool
    ) -> Obstacle | None:
        """The first obstacle to compiling some statements of one block, `moved` to a function of their own or where they
        are."""
        statements = list(statements)
        changed = self._setting_changed(statements[0])
        if changed is not None:
            return changed
        self._looked_at = set(statements)
        look = _inline(function, self._looked_at if moved else None)
        return worst(
            obstacle for statement in statements for obstacle in self._obstacles_in(statement, function, look)
        )

    def obstacles_in_statement(
        self,
        statement: cst.CSTNode,
        function: Function | None,
        within: Collection[cst.CSTNode],
        traced_for: TracedFor = never,
    ) -> list[Obstacle]:
        """Each obstacle to compiling a statement together with others, as far as a run does not decide whether it is one, but for
        settings that are changed between calls, and for objects that what it calls reads, `traced_for` each of which there is a
        trace."""
        self._looked_at = {statement}
        look = replace(_inline(function, within), one_suffices=True, traced_for=traced_for)
        return list(self._obstacles_in(statement, function, look))

    def _in_body(self, function: Function, look: _Look) -> Obstacle | None:
        """The first obstacle in a function, and in what it calls."""
        for test in self._host_conditions.of_returns(function):
            return Obstacle(test, "a condition on the host decides what is returned")
        return worst(
            self._obstacles_in(function.node.body, function, replace(look, inline=False, within=None))
        )

    def _obstacles_in(self, code: cst.CSTNode, function: Function | None, look: _Look) -> Iterator[Obstacle]:
        for node in descendants(code):
            if node in self._left_out:
                continue
            reason = self._reason(node, function, look)
            may = isinstance(node, cst.Call) and self._host_calls.may_be_known(node)
            found = Obstacle(node, reason, may) if reason else self._autograph.obstacle(node, function)
            below = None
            if (found is None or found.may) and isinstance(node, cst.Call):
                below = self._in_what_it_runs(node, function, look)
            if (found or below) and look.told is not none_known and is_left_out(self._walk, node, look.told):
                continue
            yield from filter(None, (found, below))

    @cached_property
    def _left_out(self) -> frozenset[cst.CSTNode]:
        """What no trace runs into: the branch of an `if` for eager code alone, `if tf.executing_eagerly():`."""
        found: set[cst.CSTNode] = set()
        for call in self._walk.calls_named(*last_names("asks-mode")):
            name, parent = self._infer.names.qualified(call.func), self._walk.parents.get(call)
            if isinstance(parent, cst.If) and parent.test is call and has(name, "asks-mode"):
                branch = parent.body if has(name, "eager-mode") else parent.orelse
                found.update(descendants(branch) if branch is not None else ())
        return frozenset(found)

    def _in_what_it_runs(self, call: cst.Call, function: Function | None, look: _Look) -> Obstacle | None:
        elsewhere = self._elsewhere(call, look)
        if elsewhere is not None:
            return elsewhere
        found = [self._in_target(call, target, function, look) for target in self._calls.targets(call)]
        if look.one_suffices and None in found:
            return None
        return worst(filter(None, found))

    def _in_target(
        self, call: cst.Call, target: Function, function: Function | None, look: _Look
    ) -> Obstacle | None:
        if look.path is None:
            return Obstacle(call, "an object is created on each step") if target.name == "__init__" else None
        if target in look.path:
            calls_itself = not look.inline or target is not function
            return Obstacle(call, f"`{target.name}` calls itself") if calls_itself else None
        if self._compiled.is_traced(target) and not self._is_only_traced_by_keras(target):
            return None
        if target.name == "__init__":
            return Obstacle(call, "an object is created on each step")
        told = self._told(target, call, look.told)
        return self._in_body(target, replace(look, path=(*look.path, target), within=None, told=told))

    def _told(self, target: Function, call: cst.Call, around: Named) -> Named:
        """What the parameters of a function are that a call gives constants, and nothing in it gives anything else."""
        given = Told(self._infer, self._calls).by_call(target, call, around)
        if given is None:
            return none_known
        return lambda name: given(name) if len(target.scope.bindings.get(name.value, ())) == 1 else None

    def _is_only_traced_by_keras(self, function: Function) -> bool:
        """Whether a method is traced where Keras calls it, as in `fit`, and runs in eager mode where the program does."""
        if function.owner is None or self._infer.function_value(function).kind == "compiled":
            return False
        return function.name in methods(self._infer.classes.keras_kind(function.owner), "compiled")

    def mixed_types(self, call: cst.Call) -> str:
        """Why a graph may refuse an op on an integer and a tensor, `tf.maximum(0, x)`; "" where it does not."""
        return self._host_calls.mixed_types(call)

    def numbers_in_graph(self, call: cst.Call) -> list[cst.BaseExpression]:
        """What `call` is given by place whose type a graph goes by, where the first tells that of the others."""
        return self._host_calls.numbers_in_graph(call)

    def _reason(self, node: cst.CSTNode, function: Function | None, look: _Look) -> str:
        match node:
            case cst.Call():
                reason = self._host_calls.reason(node, function, look.within)
                return reason or ("" if look.sure else self._host_calls.mixed_types(node))
            case cst.Assign() | cst.AugAssign() | cst.AnnAssign():
                return self._side_effects.of_write(node, function, look.within)
            case cst.Attribute():
                reason = self._side_effects.of_attribute(node, function, as_seen=look.as_seen)
                return "" if reason and look.traced_for(node) else reason
            case cst.Name():
                reason = self._side_effects.of_name(node)
                return "" if reason and look.traced_for(node) else reason
            case cst.Try() | cst.TryStar():
                return "`try` does not work across traced code"
            case cst.Global() | cst.Nonlocal():
                return self._side_effects.of_declaration(node, function)
            case cst.Yield() | cst.Await():
                return "`yield` and `await` can't be traced"
            case cst.Break() | cst.Continue() if look.inline and not self._in_inner_loop(
                node, self._looked_at
            ):
                return f"`{type(node).__name__.lower()}` leaves the step"
            case cst.Return() if look.inline:
                return "`return` leaves the step"
            case cst.If() if not look.inline:
                return self._host_conditions.reason(node, function)
            case cst.Del() if not isinstance(node.target, cst.Name | cst.Tuple):
                return "`del` of a part has no meaning in traced code"
        return ""

    def _in_inner_loop(self, node: cst.CSTNode, statements: set[cst.CSTNode]) -> bool:
        """Whether a `break` or `continue` belongs to a loop inside the statements looked at."""
        current: cst.CSTNode | None = node
        while current is not None and current not in statements:
            current = self._walk.parents.get(current)
            if isinstance(current, cst.For | cst.While):
                return True
        return isinstance(current, cst.For | cst.While)

    def _host_arguments(self, function: Function) -> Obstacle | None:
        """A Python value that callers change from call to call: each would be traced anew."""
        for call in self._calls.sites(function):
            for arg in call.args:
                for given, star in _handed_over(arg):
                    parts = self._parts_of_tuple(given) if star == "*" else None
                    for node in (given,) if parts is None else parts:
                        reason = self._of_argument(node, star if parts is None else "")
                        if reason:
                            return Obstacle(node, reason)
        for parameter in function.parameters:
            name = parameter.name.value
            uses = self._passing.uses(function, name)
            unpacked = next(filter(self._is_unpacked, uses), None)
            if unpacked is not None and not self._is_sequence(unpacked, function):
                return Obstacle(
                    unpacked, f"`*{name}` unpacks what may be an array, which compiled code gets as a tensor"
                )
            if self._passing.meets_tensors(uses):
                return Obstacle(
                    parameter, f"`{name}` is a NumPy array used with tensors, perhaps of another type"
                )
            converted = self._passing.converted(uses)
            if converted is not None:
                return Obstacle(
                    converted, f"`{name}` may be an array of another type, which only eager code converts"
                )
        return None

    def _of_argument(self, node: cst.BaseExpression, star: str) -> str:
        """Why what a call is given, or unpacks, is no tensor of one type on all calls; "" where nothing says so."""
        if star and self._hands_over_arrays(node):
            return f"`{star}` passes what may be arrays of another type than the tensors"
        if is_constant(node) or self._is_fixed(node):
            return ""
        python = self._passing.python_value(node)
        kind = self._infer.value(node).kind
        if kind == "instance" and self._is_made_in_loop(node):
            return "an object is created for each call, and each would be retraced"
        if not python or kind in ("object", "instance", "string"):
            return ""
        if star == "**":
            return "`**` passes what may be Python values, and each would be retraced"
        return f"{python} is passed, and each would be retraced"

    def _parts_of_tuple(self, node: cst.BaseExpression) -> list[cst.BaseExpression] | None:
        """What stands in the tuple that `node` is, here or by its name; None for what is none, as far as can be seen."""
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        values = [b.value for b in found[1] if b.kind == "assign" and b.path == ()] if found else [node]
        if found is not None and len(values) != len(found[1]):
            return None
        match values:
            case [cst.Tuple(elements=elements)] if all(isinstance(e, cst.Element) for e in elements):
                return [element.value for element in elements]
        return None

    def _is_unpacked(self, use: cst.Name) -> bool:
        """Whether a parameter is unpacked: `tf.reshape(x, (-1, *shape))`."""
        parent = self._walk.parents.get(use)
        return isinstance(parent, cst.StarredElement) or (isinstance(parent, cst.Arg) and parent.star == "*")

    def _is_sequence(self, use: cst.Name, function: Function) -> bool:
        """Whether a parameter is known to be one of Python's; its default tells nothing of what other files give."""
        given = self._infer.value(use).kind in ("list", "tuple")
        return given and not self._calls.callers_outside(function)

    def _hands_over_arrays(self, node: cst.BaseExpression) -> bool:
        """Whether what is unpacked is the result of a call that is not known to give tensors: a sample of a memory."""
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        values = [b.value for b in found[1] if b.kind == "assign"] if found is not None else [node]
        value = self._infer.value(node)
        tensors = value.kind == "tensor" or (
            bool(value.items) and all(item.kind == "tensor" for item in value.items or ())
        )
        return not tensors and any(
            isinstance(each, cst.Call) and callee_name(each) not in ("next", "get_next") for each in values
        )

    def _is_made_in_loop(self, node: cst.BaseExpression) -> bool:
        """Whether an object is made, or taken from several, for each call."""
        if isinstance(node, cst.Call | cst.Subscript):
            return True
        return any(b.kind == "for" or b.at.block.loop is not None for b in self._infer.bindings(node))

    def _is_fixed(self, node: cst.BaseExpression) -> bool:
        """Whether a name is bound once, outside every loop."""
        if isinstance(node, cst.Comparison | cst.BooleanOperation):
            return True
        if not isinstance(node, cst.Name):
            return isinstance(node, cst.Attribute)
        bindings = self._infer.bindings(node)
        return (
            len(bindings) == 1
            and bindings[0].kind in ("assign", "param")
            and (bindings[0].at.block.loop is None)
        )


def _first(body: cst.CSTNode) -> cst.CSTNode:
    """The first statement of a body."""
    return body.body[0] if isinstance(body, cst.IndentedBlock | cst.SimpleStatementSuite) else body


def _handed_over(arg: cst.Arg) -> Iterator[tuple[cst.BaseExpression, str]]:
    """What an argument gives, with the stars by which it is unpacked: `**{"x": x, **more}` gives `x`, and unpacks `more`."""
    waiting = [(arg.value, arg.star)]
    while waiting:
        node, star = waiting.pop(0)
        if star == "**" and isinstance(node, cst.Dict):
            waiting += [
                (e.value, "**" if isinstance(e, cst.StarredDictElement) else "") for e in node.elements
            ]
        else:
            yield node, star


def _inline(function: Function | None, within: Collection[cst.CSTNode] | None) -> _Look:
    """How statements of a function, or outside all, are looked at."""
    return _Look((function,) if function is not None else (), inline=True, within=within)
