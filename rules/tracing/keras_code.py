"""Code of Keras layers, losses and metrics that only Keras runs, though no model that traces it is in sight."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import methods
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.symbolic import ASKS_THE_MODE, Symbolic
from tflint_perf.analysis.python.reach import remembered_in_circles
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import callee_name
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part

# What Keras builds models of.
_BUILDING_BLOCKS = frozenset({"layer", "loss", "metric"})


class KerasCode(Part):
    """Answers which functions Keras alone runs: `Layer.call`, and what nothing else calls."""

    _infer: Inference
    _calls: CallGraph
    _compiled: Compiled
    _symbolic: Symbolic

    def functions(self) -> Iterator[Function]:
        """Those that are not known to be traced anyway."""
        return (
            function
            for function in self._infer.walk.functions.values()
            if not self._symbolic.is_traced(function) and self._is_run_by_keras(function)
        )

    @remembered_in_circles(False)
    def _is_run_by_keras(self, function: Function | None) -> bool:
        if function is None or self._compiled.state(function) != "compiled":
            return False
        if any(callee_name(call) in ASKS_THE_MODE for call in function.calls):
            return False
        callers = self._calls.callers_outside(function)
        if any(caller.how != "compile" and caller.state != "compiled" for caller in callers):
            return False
        sites = self._calls.sites(function)
        return (bool(sites) or self._is_method_of_block(function)) and all(map(self._is_in_graph, sites))

    def _is_method_of_block(self, function: Function) -> bool:
        kind = self._infer.classes.keras_kind(function.owner) if function.owner is not None else ""
        return kind in _BUILDING_BLOCKS and function.name in methods(kind, "compiled")

    def _is_in_graph(self, call: cst.Call) -> bool:
        """Whether `call` is in code that is traced, or in a function that builds a model from its inputs on."""
        function = self._calls.function_at(call)
        return function is not None and (
            self._symbolic.is_traced(function)
            or self._is_run_by_keras(function)
            or any(self._infer.names.is_call_that(other, "input") for other in function.calls)
        )
