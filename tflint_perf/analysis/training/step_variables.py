"""Variables that count steps, on the device or off it, and what is read of them for a guard alone."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from tflint_perf.analysis.python.scopes import Scope
from tflint_perf.analysis.python.syntax import descendants, dotted_name, is_name
from tflint_perf.analysis.values.infer import Inference

_EQUAL_OPS = ("tf.equal", "tf.math.equal", "tf.not_equal", "tf.math.not_equal")


class StepVariables:
    """Answers whether a Python number would do where a program reads a variable."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer
        self._walk = infer.walk

    def is_one(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a variable, or of unknown kind and this file counts it up: `step.assign_add(1)`."""
        kind = self._infer.value(node).kind if isinstance(node, cst.Name | cst.Attribute) else ""
        return kind == "variable" or (kind == "unknown" and self._named(node) in self._counted_up)

    def is_in_guard(self, node: cst.BaseExpression, variable: cst.BaseExpression) -> bool:
        """Whether `node`, which reads a variable, stands in a test that asks for a multiple of it."""
        test = self.test_around(node)
        name = dotted_name(variable)
        return test is not None and any(
            isinstance(part, cst.BinaryOperation)
            and isinstance(part.operator, cst.Modulo)
            and dotted_name(_variable_of(part.left)) == name
            for part in descendants(test)
        )

    def test_around(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """The test of an `if` in which a value is only compared, by Python or by an op: `tf.equal(step % 100, 0)`."""
        current: cst.CSTNode = node
        parent = self._walk.parents.get(node)
        while isinstance(
            parent,
            cst.Comparison
            | cst.ComparisonTarget
            | cst.BinaryOperation
            | cst.BooleanOperation
            | cst.UnaryOperation
            | cst.Arg
            | cst.Call,
        ):
            match parent:
                case cst.Call() if self._infer.names.qualified(parent.func) not in _EQUAL_OPS:
                    return None
                case cst.BinaryOperation(operator=operator) if not isinstance(operator, cst.Modulo):
                    return None
            current, parent = parent, self._walk.parents.get(parent)
        if isinstance(parent, cst.If) and parent.test is current:
            return parent.test
        return None

    def _named(self, node: cst.BaseExpression) -> tuple[str, Scope | None]:
        """A variable's name and, of a plain name, where that is bound: another function may mean something else by it."""
        return dotted_name(node), self._infer.names.home(node) if isinstance(node, cst.Name) else None

    @cached_property
    def _counted_up(self) -> frozenset[tuple[str, Scope | None]]:
        """What the file adds to by `assign_add`: variables, wherever they come from."""
        return frozenset(
            self._named(call.func.value)
            for call in self._walk.calls.get("assign_add", ())
            if isinstance(call.func, cst.Attribute)
        )


def _variable_of(node: cst.BaseExpression) -> cst.BaseExpression:
    """The variable that `int(step)`, `step.numpy()` or `tf.cast(step, tf.int64)` reads."""
    match node:
        case cst.Call(func=cst.Attribute(value=value, attr=cst.Name("numpy")), args=[]):
            return value
        case cst.Call(args=[cst.Arg(value=value)]) if is_name(node.func, "int"):
            return _variable_of(value)
    return node
