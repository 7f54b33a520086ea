"""What the bound of a loop is made of: lengths, sizes that a trace knows, arithmetic."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.python.syntax import callee_name


def measured(node: cst.BaseExpression) -> cst.Name | None:
    """`x` in `len(x)` and `x.shape[0]`."""
    match node:
        case cst.Call(func=cst.Name("len"), args=[cst.Arg(value=cst.Name() as name)]):
            return name
        case cst.Subscript(
            value=cst.Attribute(value=cst.Name() as name, attr=cst.Name("shape")),
            slice=[cst.SubscriptElement(cst.Index(cst.Integer("0")))],
        ):
            return name
    return None


def is_shape(node: cst.BaseExpression) -> bool:
    """`x.shape`, `x.get_shape()`, `x.shape.as_list()`: sizes that are known when a function is traced."""
    if isinstance(node, cst.Call):
        return callee_name(node) in ("get_shape", "as_list") and isinstance(node.func, cst.Attribute)
    return isinstance(node, cst.Attribute) and node.attr.value == "shape"


def computed(operator: cst.BaseBinaryOp, left: int, right: int) -> int | None:
    match operator:
        case cst.Add():
            return left + right
        case cst.Subtract():
            return left - right
        case cst.Multiply():
            return left * right
        case cst.FloorDivide() if right:
            return left // right
    return None
