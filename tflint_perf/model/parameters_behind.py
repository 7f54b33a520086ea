"""Through which parameters other files give the object that an expression stands for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.model.outside import name_outside
from tflint_perf.model.scopes import Binding, Function

if TYPE_CHECKING:
    from tflint_perf.model import Model

# Names, attributes and calls are followed no deeper than this.
_DEEPEST = 4


def parameters_behind(model: Model, node: cst.BaseExpression) -> set[tuple[str, str, int]]:
    """The parameters that an expression, a name or `self.agent`, may have its value from: each by the name of its function,
    as other files know that, its own name, and its place in a call."""
    return {
        (name, parameter, function.place_of(parameter))
        for function, parameter in _behind(model, node, 0)
        if (name := _name(function))
    }


def _behind(model: Model, node: cst.BaseExpression | None, depth: int) -> Iterator[tuple[Function, str]]:
    if depth > _DEEPEST:
        return
    found = model.infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
    bindings: list[Binding] = found[1] if found is not None else []
    if isinstance(node, cst.Attribute):
        bindings = model.infer.classes.bindings_of(node)
    for binding in bindings:
        function = found[0].function if found is not None else None
        if binding.kind == "param" and function is not None:
            yield function, binding.name
            for given in model.calls.arguments(function, binding.name):
                yield from _behind(model, given, depth + 1)
        elif binding.kind == "assign" and binding.path == ():
            yield from _behind(model, binding.value, depth + 1)


def _name(function: Function) -> str:
    """The name by which other files call a function; of a constructor, that of its class comes first."""
    owner = function.owner
    if function.name == "__init__" and owner is not None and owner.function is None:
        return f"{owner.name}.__init__"
    return name_outside(function)
