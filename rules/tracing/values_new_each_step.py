"""Python values that are new on each step, so that each step is traced, and those that are one of a few."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has
from tflint_perf.analysis.execution.iterations import FEW
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.python_numbers import Numbers
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.scopes import Binding, Function, Loop
from tflint_perf.analysis.python.syntax import callee_name, calls_below, is_constant, is_name, same_code
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import is_count
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part

_ARITHMETIC = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.Power)
_COUNTING = (cst.AddAssign, cst.SubtractAssign, cst.MultiplyAssign, cst.DivideAssign, cst.PowerAssign)
# What keeps a number within bounds, or in steps.
_BOUNDS = frozenset(
    {"clip", "clip_by_value", "min", "max", "minimum", "maximum", "round", "floor", "ceil", "sign", "where"}
)
# What is traced anew for each of its kind.
_OBJECTS = frozenset({"model", "layer", "optimizer", "loss", "metric", "instance", "function", "compiled"})


class NewValues(Part):
    """Answers whether a Python value is one that no earlier step had, or one of a few that are written in the source."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _numbers: Numbers

    def __post_init__(self) -> None:
        self._asked: set[cst.CSTNode] = set()

    def come_each_step(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is known to be new each time: a counter that goes on, a draw, a loss, and arithmetic with them."""
        if node in self._asked or len(self._asked) > NAMES_DEEP:
            return False
        self._asked.add(node)
        try:
            return self._is_new(node)
        finally:
            self._asked.discard(node)

    def _is_new(self, node: cst.BaseExpression) -> bool:
        match node:
            case cst.Name():
                return self._is_new_name(node)
            case cst.Attribute():
                return self._is_counter_of_object(node)
            case cst.UnaryOperation(operator=cst.Minus() | cst.Plus(), expression=inner):
                return self.come_each_step(inner)
            case cst.BinaryOperation(operator=operator) if isinstance(operator, _ARITHMETIC):
                return self._is_new_sum(node)
            case cst.FormattedString():
                return any(
                    part.format_spec is None and self.come_each_step(part.expression)
                    for part in node.parts
                    if isinstance(part, cst.FormattedStringExpression)
                )
            case cst.Call():
                return self._is_new_result(node)
        return False

    def _is_new_sum(self, node: cst.BinaryOperation) -> bool:
        sides = (node.left, node.right)
        if any(
            self.come_each_step(side) and self._numbers.changes(other) is None
            for side, other in (sides, sides[::-1])
        ):
            return True
        # `epoch * steps + step`, whose second part starts again.
        return isinstance(node.operator, cst.Add) and any(
            isinstance(whole, cst.BinaryOperation)
            and isinstance(whole.operator, cst.Multiply)
            and any(map(self._is_counter, (whole.left, whole.right)))
            and self._is_counter(rest)
            for whole, rest in (sides, sides[::-1])
        )

    def _is_counter(self, node: cst.BaseExpression) -> bool:
        bindings = self._infer.bindings(node)
        return len(bindings) == 1 and is_count(self._infer, bindings[0])

    def _is_new_result(self, call: cst.Call) -> bool:
        name = builtin_or_qualified(self._infer, call.func)
        given = [arg.value for arg in call.args]
        if name in ("float", "str") and len(given) == 1:
            return self.come_each_step(given[0]) or (name == "float" and self._is_of_tensor(given[0]))
        if callee_name(call) == "item" and isinstance(call.func, cst.Attribute) and not name:
            return self._is_unbounded(call)
        if fact(name, "number") == "float":
            return (
                has(name, "draws-on-host")
                or has(name, "clock")
                or any(self.come_each_step(one) for one in given)
            )
        targets = self._calls.targets(call)
        returned = [found.value for target in targets for found in target.returns]
        return bool(returned) and all(value is not None and self.come_each_step(value) for value in returned)

    def _is_of_tensor(self, node: cst.BaseExpression) -> bool:
        return self._infer.value(node).kind == "tensor" and self._is_unbounded(node)

    @staticmethod
    def _is_unbounded(node: cst.BaseExpression) -> bool:
        return all(callee_name(call) not in _BOUNDS for call in calls_below(node))

    # Names

    def _is_new_name(self, node: cst.Name) -> bool:
        bindings = self._infer.bindings(node)
        loop = self._loops.innermost_loop(node)
        match bindings:
            case [given_to_it] if given_to_it.kind == "param":
                function = self._calls.function_at(node)
                given = self._calls.arguments(function, node.value) if function is not None else []
                return bool(given) and all(map(self.come_each_step, given))
            case [counted] if is_count(self._infer, counted):
                return loop is not None and self._counts(loop, counted) and not self._starts_again(loop)
        before = [binding for binding in bindings if binding.at.block.loop is None]
        within = [binding for binding in bindings if binding.at.block.loop is loop and binding not in before]
        if not within or len(before) + len(within) < len(bindings):
            return False  # or it starts again in a loop around this one
        if not all(self._is_always_bound(binding, loop) for binding in within):
            return False
        if any(self._goes_on(binding) for binding in within):
            return not any(self._is_repeated(binding.at.block.function) for binding in before)
        return all(binding.value is not None and self.come_each_step(binding.value) for binding in within)

    @staticmethod
    def _counts(loop: Loop, binding: Binding) -> bool:
        return loop.iterable is not None and loop.iterable is binding.value

    def _starts_again(self, loop: Loop) -> bool:
        """Whether a loop around `loop`, here or where its function is called, has it count from the start."""
        return loop.parent is not None or self._is_repeated(loop.function)

    def _is_repeated(self, function: Function | None, depth: int = 0) -> bool:
        """Whether a loop calls `function`."""
        if function is None or depth > NAMES_DEEP:
            return False
        return any(caller.looped for caller in self._calls.callers_outside(function)) or any(
            self._loops.innermost_loop(site) is not None
            or self._is_repeated(self._calls.function_at(site), depth + 1)
            for site in self._calls.sites(function)
        )

    def _is_always_bound(self, binding: Binding, loop: Loop | None) -> bool:
        """Whether each iteration gives the name that value, as a whole."""
        end = loop.node if loop is not None else None
        return binding.path == () and not any(conditions(self._infer.walk, binding.node, end))

    def _goes_on(self, binding: Binding) -> bool:
        """Whether a binding counts: `step += 1`, `rate = rate * 0.9`."""
        if binding.value is None:
            return False
        if binding.kind == "augment":
            statement = self._infer.walk.parents.get(binding.node)
            counts = isinstance(statement, cst.AugAssign) and isinstance(statement.operator, _COUNTING)
            return counts and self._numbers.changes(binding.value) is None
        match binding.value:
            case cst.BinaryOperation(operator=operator, left=left, right=right):
                sides = ((left, right), (right, left))
                return isinstance(operator, _ARITHMETIC) and any(
                    is_name(own, binding.name) and self._numbers.changes(other) is None
                    for own, other in sides
                )
        return False

    def _is_counter_of_object(self, node: cst.Attribute) -> bool:
        """Whether `node` is counted up without a condition, and set otherwise only where its object is made."""
        bindings = self._infer.classes.bindings_of(node)
        counting = [binding for binding in bindings if binding.kind == "augment"]
        made = [binding for binding in bindings if binding not in counting]
        return (
            bool(counting)
            and all(self._goes_on(binding) and self._is_always_bound(binding, None) for binding in counting)
            and all(
                binding.at.block.function is None or binding.at.block.function.name == "__init__"
                for binding in made
            )
        )

    # With objects

    def come_with_objects(self, call: cst.Call, node: cst.BaseExpression) -> bool:
        """Whether `call` gets, beside the number `node`, a model or its like that this picks, here or where the function
        around it is called: another object is traced anew in any case."""
        others = [arg.value for arg in call.args if arg.value is not node]
        if any(self._picks(node, other) for other in others):
            return True
        function = self._calls.function_at(call)
        given = [self._given_by_sites(function, each) for each in (node, *others)] if function else []
        return bool(given and given[0]) and all(
            any(self._picks(number, passed[at]) for passed in given[1:] if passed)
            for at, number in enumerate(given[0])
        )

    def _given_by_sites(self, function: Function, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """What each call in the file gives for `node`, a parameter; empty where it is none, or one call hides it."""
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        if found is None or [b.kind for b in found[1]] != ["param"] or found[0].function is not function:
            return []
        given = self._calls.arguments(function, found[1][0].name)
        return given if len(given) == len(self._calls.sites(function)) else []

    def _picks(self, number: cst.BaseExpression, node: cst.BaseExpression) -> bool:
        match node:
            case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(index))]):
                return same_code(index, number) and self._infer.value(node).kind in _OBJECTS
        return False

    # A few

    def are_few(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is one of a few numbers or strings that are written in the source: `0.1 if step < 100 else 0.01`."""
        number = self._written(node, 0)
        return number is not None and number <= FEW

    def _written(self, node: cst.BaseExpression | None, depth: int) -> int | None:
        """How many values `node` may have at most, all written in the source; None where it may have others."""
        if node is None or depth > NAMES_DEEP:
            return None
        if is_constant(node):
            return 1
        match node:
            case cst.IfExp(body=first, orelse=second) | cst.BooleanOperation(left=first, right=second):
                return self._together([first, second], depth)
            case cst.Comparison():
                return 2
            case cst.Name():
                found = self._infer.bindings_reaching(node)
                if found is None or any(
                    binding.kind != "assign" or binding.path != () or binding.value is None
                    for binding in found[1]
                ):
                    return None
                return self._together([binding.value for binding in found[1]], depth)
            case cst.Call():
                targets = self._calls.targets(node)
                if any(target.yields for target in targets):
                    return None
                return self._together([f.value for target in targets for f in target.returns], depth)
        return None

    def _together(self, nodes: Sequence[cst.BaseExpression | None], depth: int) -> int | None:
        numbers = [self._written(node, depth + 1) for node in nodes]
        known = [number for number in numbers if number is not None]
        return sum(known) if known and len(known) == len(numbers) else None
