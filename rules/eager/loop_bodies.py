"""Loops whose body is more than a few ops: a layer, a model, a compiled function, or a gradient."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.execution.given_models import GivenModels
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part

# What runs a model, or a step, when it is called.
_LARGE = frozenset({"model", "layer", "compiled"})


class LargeBodies(Part):
    """Answers whether the body of a loop calls a layer, a model or a compiled function, or opens a tape."""

    _infer: Inference
    _calls: CallGraph
    _given_models: GivenModels

    def __post_init__(self) -> None:
        self._known: dict[cst.Call, bool] = {}

    def has(self, loop: Loop) -> bool:
        """Whether the body of `loop` does such a thing, itself or in a function of this file."""
        return any(leads_to(call, self._known, self._is_large) for call in loop.calls) or any(
            map(self.has, loop.inner)
        )

    def _is_large(self, call: cst.Call) -> bool | list[cst.Call]:
        if self._infer.value(call.func).kind in _LARGE or self._given_models.has(call.func):
            return True
        if self._infer.value(call).kind == "tape":
            return True
        return [below for target in self._calls.targets(call) for below in target.calls]
