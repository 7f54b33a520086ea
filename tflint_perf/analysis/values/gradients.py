"""What gradients are asked of: whatever `tape.gradient(loss, …)` takes is a tensor that was just computed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.conventions import names_a_tape, names_one_loss
from tflint_perf.analysis.python.scopes import Binding, Scope
from tflint_perf.analysis.python.syntax import argument, last_name, string
from tflint_perf.analysis.values.values import TENSOR, Value

if TYPE_CHECKING:
    from tflint_perf.analysis.values.infer import Inference

_TENSORS = Value("list", element=TENSOR)
_BY_NAME = Value("dict", element=TENSOR)


class Gradients:
    """Answers what a gradient tells of a value of which nothing else is known."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer
        self._walk = infer.walk

    def told(self, binding: Binding) -> Value | None:
        """A tensor, or tensors, where a tape is asked for the gradient of what a binding gives; None elsewhere."""
        return self._told.get(binding)

    @cached_property
    def _told(self) -> dict[Binding, Value]:
        told: dict[Binding, Value] = {}
        for call in self._walk.calls.get("gradient", ()):
            if isinstance(call.func, cst.Attribute) and self._is_tape(call.func.value):
                for name, value in _asked(argument(call, 0, "target")):
                    found = self._infer.bindings_reaching(name)
                    for binding in found[1] if found is not None else ():
                        if found is not None and binding.kind == "assign":
                            told.setdefault(binding, value)
                            for other in _losses_beside(binding, found[0]):
                                told.setdefault(other, TENSOR)
        return told

    def _is_tape(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a tape, by the `with` that gives it its name, or by that name."""
        if any(binding.kind == "with" for binding in self._infer.bindings(node)):
            return True
        return bool(names_a_tape(last_name(node)))


def _losses_beside(binding: Binding, scope: Scope) -> Iterator[Binding]:
    """The other losses that the same call gives: `loss, kl_loss, logits = losses(…)`."""
    if not binding.path or not isinstance(binding.value, cst.Call):
        return
    for name, bindings in scope.bindings.items():
        if names_one_loss(name):
            yield from (other for other in bindings if other.value is binding.value and other.path)


def _asked(node: cst.BaseExpression | None) -> Iterator[tuple[cst.Name, Value]]:
    match node:
        case cst.Name():
            yield node, TENSOR
        case cst.Subscript(value=cst.Name() as holder, slice=[cst.SubscriptElement(cst.Index(index))]):
            yield holder, _TENSORS if string(index) is None else _BY_NAME
        case cst.List() | cst.Tuple():
            for part in node.elements:
                yield from _asked(part.value)
