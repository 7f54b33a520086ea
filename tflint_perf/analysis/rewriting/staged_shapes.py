"""Expressions that have the shape of a tensor that they are computed from."""

from __future__ import annotations

from typing import Literal

import libcst as cst

from tflint_perf.analysis.python.syntax import argument, descendants, integer
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.scalars import Scalars

# "same": the shape of the name asked about; "other": a shape that is not known to be that.
Shape = Literal["same", "scalar", "other"]

# Ops of one tensor that keep its shape, by the last part of their names.
_UNARY = frozenset({"abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "exp", "expm1", "floor",
                    "log", "log1p", "log_sigmoid", "negative", "round", "rsqrt", "sigmoid", "sign", "sin",
                    "sinh", "softplus", "softsign", "sqrt", "square", "tan", "tanh", "relu", "relu6", "elu",
                    "selu", "gelu", "silu", "swish", "leaky_relu", "softmax", "log_softmax", "l2_normalize",
                    "stop_gradient", "identity", "clip_by_value", "clip_by_norm", "reciprocal"})  # fmt: skip
_BINARY = frozenset({"add", "subtract", "multiply", "divide", "maximum", "minimum", "pow", "divide_no_nan",
                     "multiply_no_nan"})  # fmt: skip
_PRODUCTS = frozenset(["matmul", "matvec"])
_OPERATORS = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.Power)
# Functions that make a tensor of the shape that they are told.
_MAKERS = frozenset(
    ["tf.zeros", "tf.ones", "tf.fill", "tf.random.normal", "tf.random.uniform", "tf.random.truncated_normal"]
)
_LIKE = frozenset(["tf.zeros_like", "tf.ones_like"])
_SPACES = ("tf.", "keras.activations.", "keras.ops.")


def keeps_shape(
    infer: Inference,
    scalars: Scalars,
    node: cst.BaseExpression,
    name: str,
    *,
    full: bool,
    augments: bool = False,
) -> bool:
    """Whether `node`, computed from the tensor `name`, has its shape; as `name += node` where it `augments`.

    `full` says that no axis of `name` is to be stretched, so that what is added to it has no larger shape.
    """
    shapes = _Shapes(infer, scalars, name, full)
    if augments:
        return shapes.together("same", shapes.of(node)) == "same"
    return shapes.of(node) == "same"


def full_tensor(infer: Inference, node: cst.BaseExpression) -> bool:
    """Whether a tensor is made with a shape of several axes, none of which is 1 in sight."""
    if not isinstance(node, cst.Call):
        return False
    name = infer.names.qualified(node.func)
    if name in _LIKE:
        return True
    shape = argument(node, 0, "dims" if name == "tf.fill" else "shape")
    if name not in _MAKERS or shape is None:
        return False
    if isinstance(shape, cst.Tuple | cst.List):
        return bool(shape.elements) and all(integer(element.value) != 1 for element in shape.elements)
    return any(isinstance(part, cst.Attribute) and part.attr.value == "shape" for part in descendants(shape))


class _Shapes:
    def __init__(self, infer: Inference, scalars: Scalars, name: str, full: bool) -> None:
        self._infer = infer
        self._scalars = scalars
        self._name = name
        self._full = full

    def of(self, node: cst.BaseExpression) -> Shape:
        match node:
            case cst.Name() if node.value == self._name:
                return "same"
            case cst.UnaryOperation(operator=cst.Minus()):
                return self.of(node.expression)
            case cst.BinaryOperation(operator=cst.MatrixMultiply()):
                return self._product(node.left, node.right)
            case cst.BinaryOperation() if isinstance(node.operator, _OPERATORS):
                return self.together(self.of(node.left), self.of(node.right))
            case cst.Call():
                found = self._of_call(node)
                if found != "other":
                    return found
        return "scalar" if self._is_scalar(node) else "other"

    def together(self, left: Shape, right: Shape) -> Shape:
        """The shape of an element-wise op on two values."""
        if left == right:
            return left
        if "same" in (left, right):
            return "same" if self._full or "scalar" in (left, right) else "other"
        return "other"

    def _of_call(self, call: cst.Call) -> Shape:
        qualified = self._infer.names.qualified(call.func)
        name = qualified.rsplit(".", 1)[-1]
        if not qualified.startswith(_SPACES) or not call.args:
            return "other"
        given = [arg.value for arg in call.args if arg.keyword is None]
        if name == "cast" and given:
            # Of a tensor that iterations hand on it changes the type.
            return "scalar" if self.of(given[0]) == "scalar" else "other"
        if name in _UNARY and given:
            return self.of(given[0])
        if name in _BINARY and len(given) == 2:
            return self.together(self.of(given[0]), self.of(given[1]))
        if name in _PRODUCTS and len(given) == 2:
            return self._product(*given)
        return "other"

    def _product(self, left: cst.BaseExpression, right: cst.BaseExpression) -> Shape:
        """A product that is multiplied by the same matrix again has kept its shape: else it would not fit."""
        return "same" if "same" in (self.of(left), self.of(right)) else "other"

    def _is_scalar(self, node: cst.BaseExpression) -> bool:
        return self._infer.value(node).kind == "number" or self._scalars.is_scalar(node) is True
