"""How a `tf.function` meets arguments of other shapes: what it was told about them, and whether it reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import argument, callee_name, descendants, keyword_argument

if TYPE_CHECKING:
    from tflint_perf.analysis.model import Model

_FOR_ALL_SHAPES = ("input_signature", "reduce_retracing", "experimental_relax_shapes")
# Who asks for these wants a number, not a dimension that is left open.
_ASKS_FOR_SHAPE = frozenset({"shape", "get_shape", "unstack", "len", "as_list"})


class Retracing:
    """Answers what made a compiled function, and whether it can do with shapes that are left open."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def makers(self, function: Function | None) -> list[cst.BaseExpression]:
        """The decorators and calls in sight that make a `tf.function` of a function."""
        model, found = self._model, list[cst.BaseExpression]()
        if function is None:
            return found
        found += [d.decorator for d in function.decorators if model.infer.compiles(d.decorator)]
        for maker in model.calls_to("tf.function"):
            given = argument(maker, 0, "func")
            if given is not None and model.value(given).function is function:
                found.append(maker)
        return [maker for maker in found if model.qualified(getattr(maker, "func", maker)) == "tf.function"]

    def shape_read(self, function: Function) -> cst.CSTNode | None:
        """Where a function, or one of this file that it calls, asks for a static shape."""
        return self._shape_read(function, set())

    def _shape_read(self, function: Function, seen: set[Function]) -> cst.CSTNode | None:
        seen.add(function)
        for node in descendants(function.node.body):
            if self._asks_for_shape(node):
                return node
        for call in function.calls:
            for target in self._model.calls.targets(call):
                if target not in seen and (found := self._shape_read(target, seen)) is not None:
                    return found
        return None

    def _asks_for_shape(self, node: cst.CSTNode) -> bool:
        model = self._model
        match node:
            case cst.Attribute():
                return node.attr.value in _ASKS_FOR_SHAPE and not model.qualified(node)
            case cst.Call():
                if callee_name(node) in _ASKS_FOR_SHAPE:
                    return model.qualified(node.func) != "tf.shape"
                # Of an axis whose length is left open, nobody knows whether it goes.
                return model.qualified(node.func) == "tf.squeeze" and len(node.args) == 1
        return False


def serves_all_shapes(maker: cst.BaseExpression) -> bool:
    """Whether what makes a `tf.function` tells it what to do with other shapes."""
    return isinstance(maker, cst.Call) and (
        any(keyword_argument(maker, keyword) is not None for keyword in _FOR_ALL_SHAPES)
        or any(arg.star for arg in maker.args)
    )
