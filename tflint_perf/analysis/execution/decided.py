"""Conditions that constants in the code decide: switches at the top of a file, options that callers give."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.names import Names
from tflint_perf.analysis.python.scopes import Binding, Function, Scope
from tflint_perf.analysis.python.syntax import argument, has_stars, integer, string
from tflint_perf.analysis.python.walk import Walk
from tflint_perf.analysis.values.caller import Caller, passed_as
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass

# A constant, in a tuple of its own; None for what is none.
Constant = tuple[object] | None
Named = Callable[[cst.Name], Constant]
_WORDS: dict[str, tuple[object]] = {"True": (True,), "False": (False,), "None": (None,)}


def none_known(name: cst.Name) -> Constant:
    """What a name is of which nothing is known."""
    return None


class Decided(Part):
    """Answers which conditions come out one way whenever the program is run, or on each of its steps."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops

    def never_runs(self, node: cst.CSTNode) -> bool:
        """Whether a constant condition keeps `node` from running: behind `if not use_gpu:`, where all callers say
        `True`."""
        return is_left_out(self._infer.walk, node, lambda name: self._of_name(name, 0, steps=False))

    def is_left_out_of_steps(self, node: cst.CSTNode) -> bool:
        """Whether constants that callers pass on each step keep `node` from running there; others may pass something else,
        to build a model, say."""
        return is_left_out(self._infer.walk, node, lambda name: self._of_name(name, 0, steps=True))

    def _of_name(self, name: cst.Name, depth: int, *, steps: bool) -> Constant:
        """The one constant that a name stands for, as far as this file and those that call it show."""
        found = self._infer.bindings_reaching(name)
        if found is None or depth > CALLS_DEEP:
            return None
        given = [each for binding in found[1] for each in self._given(binding, found[0], steps)]
        constants = {
            constant_of(each, lambda other: self._of_name(other, depth + 1, steps=steps))
            if each is not None
            else None
            for each in given
        }
        return constants.pop() if len(constants) == 1 else None

    def _given(self, binding: Binding, scope: Scope, steps: bool) -> list[cst.BaseExpression | None]:
        """The expressions that a binding may have its value from, None among them where one is not in sight."""
        if binding.kind == "assign" and binding.path == ():
            return [binding.value]
        if binding.kind != "param" or scope.function is None:
            return [None]
        callers, sites = self._calls.callers_outside(scope.function), None
        if steps:
            callers = tuple(caller for caller in callers if caller.per_step)
            sites = list(filter(self._loops.is_per_step, self._calls.sites(scope.function)))
        here = self._calls.arguments(scope.function, binding.name, sites)
        if not here and (sites or (sites is None and self._calls.sites(scope.function))):
            return [None]  # one of them hides it
        return [*here, *(_passed(caller, scope.function, binding.name) for caller in callers)] or [None]


def _passed(caller: Caller, function: Function, name: str) -> cst.BaseExpression | None:
    """What a call in another file passes as a parameter, or leaves as it is by default; None where that is no constant."""
    if caller.how != "call":
        return None
    passed = passed_as(caller, name, function.place_of(name))
    if passed is not None:
        return cst.Name(passed.constant) if passed.constant else None
    return next((param.default for param in function.parameters if param.name.value == name), None)


@dataclass(frozen=True, slots=True)
class Given:
    """What a call gives a function as constants. Two calls that give the same are alike."""

    names: Names
    scope: Scope
    constants: frozenset[tuple[str, tuple[object]]]

    def __call__(self, name: cst.Name) -> Constant:
        """What a name is that stands in the function; None where it is another's, or nothing is known of it."""
        found = self.names.lookup(name.value, self.names.scope_of(name))
        own = found is not None and found[0] is self.scope
        return dict(self.constants).get(name.value) if own else None


class Told:
    """Answers what the names in a function are that a call gives it as constants, or that have such by default."""

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._calls = calls

    def to(self, function: Function, node: cst.BaseExpression) -> Given | None:
        """The same where `node` stands for the function, or is the call that makes it: `make_parser(training=False)`."""
        bindings = self._infer.bindings(node)
        if len(bindings) == 1 and bindings[0].path == ():
            node = bindings[0].value or node
        makers = self._calls.targets(node) if isinstance(node, cst.Call) else []
        if len(makers) == 1 and isinstance(node, cst.Call):
            return self.by_call(makers[0], node)
        return self.by_call(function, None)

    def by_call(self, function: Function, call: cst.Call | None, around: Named = none_known) -> Given | None:
        """What the parameters are that `call` gives or leaves as they are by default; None where none is known.

        `around` says what names are where the call stands.
        """
        told: dict[str, tuple[object]] = {}
        for param in function.parameters:
            name = param.name.value
            at = function.place_of(name)
            given = argument(call, at if at >= 0 else None, name) if call is not None else None
            if given is None and (call is None or not has_stars(call)):
                given = param.default
            constant = constant_of(given, around) if given is not None else None
            if constant is not None:
                told[name] = constant
        if not told:
            return None
        return Given(self._infer.names, function.scope, frozenset(told.items()))


def is_left_out(walk: Walk, node: cst.CSTNode, named: Named) -> bool:
    """Whether `node`, or the function that it is in, stands in a branch that is not taken, by what `named` says of the names
    in its conditions."""
    child, current = node, walk.parents.get(node)
    while current is not None:
        if isinstance(current, cst.If | cst.IfExp) and child is not current.test:
            holds = constant_of(current.test, named)
            if holds is not None and bool(holds[0]) != (child is current.body):
                return True
        child, current = current, walk.parents.get(current)
    return False


def constant_of(node: cst.BaseExpression, named: Named) -> Constant:
    """What an expression is, if it is a constant, or names, `not`, `and`, `or` and comparisons of such."""
    match node:
        case cst.BooleanOperation():
            return _of_both(node, constant_of(node.left, named), constant_of(node.right, named))
        case cst.Name():
            return _WORDS[node.value] if node.value in _WORDS else named(node)
        case cst.Integer():
            return (integer(node),)
        case cst.SimpleString():
            text = string(node)
            return (text,) if text is not None else None
        case cst.UnaryOperation(operator=cst.Not()):
            denied = constant_of(node.expression, named)
            return (not denied[0],) if denied is not None else None
        case cst.Comparison(comparisons=[comparison]):
            left, right = constant_of(node.left, named), constant_of(comparison.comparator, named)
            if left is None or right is None:
                return None
            if isinstance(comparison.operator, cst.Equal | cst.Is):
                return (left == right,)
            if isinstance(comparison.operator, cst.NotEqual | cst.IsNot):
                return (left != right,)
    return None


def _of_both(node: cst.BooleanOperation, left: Constant, right: Constant) -> Constant:
    """What `and` or `or` gives of these: one of them may decide it alone."""
    decides = isinstance(node.operator, cst.Or)
    if any(each is not None and bool(each[0]) is decides for each in (left, right)):
        return (decides,)
    return (not decides,) if left is not None and right is not None else None
