"""Through which parameters other files give the object that an expression stands for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.python.syntax import part_at
from tflint_perf.analysis.values.outside import name_given

if TYPE_CHECKING:
    from tflint_perf.analysis.model import Model
    from tflint_perf.analysis.values.calls import CallGraph
    from tflint_perf.analysis.values.infer import Inference

# Names, attributes and calls are followed no deeper than this.
_DEEPEST = 4


def parameters_behind(model: Model, node: cst.BaseExpression) -> set[tuple[str, str, int]]:
    """The parameters that an expression, a name or `self.agent`, may have its value from: each by the name of its function,
    as other files know that, its own name, and its place in a call."""
    return {
        (name, parameter, function.place_of(parameter))
        for function, parameter in behind(model.infer, model.calls, node)
        if (name := name_given(function))
    }


def behind(
    infer: Inference, calls: CallGraph, node: cst.BaseExpression | None, depth: int = 0
) -> Iterator[tuple[Function, str]]:
    """The same parameters by their functions and names, also of functions that other files can't name."""
    if depth > _DEEPEST:
        return
    found = infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
    bindings: list[Binding] = found[1] if found is not None else []
    if isinstance(node, cst.Attribute):
        bindings = infer.classes.bindings_of(node)
    for binding in bindings:
        function = found[0].function if found is not None else None
        if binding.kind == "param" and function is not None:
            yield function, binding.name
            for given in calls.arguments(function, binding.name):
                yield from behind(infer, calls, given, depth + 1)
        elif binding.kind == "assign" and binding.value is not None:
            yield from behind(infer, calls, part_at(binding.value, binding.path), depth + 1)
