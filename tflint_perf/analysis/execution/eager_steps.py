"""Code that eager code runs per step, where compiled code may run it, too: that does so only when it is traced."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.values.calls import CallGraph


class EagerSteps:
    """Answers whether what runs per step does so outside compiled code."""

    def __init__(self, calls: CallGraph, loops: Loops, compiled: Compiled) -> None:
        self._calls = calls
        self._loops = loops
        self._compiled = compiled
        self._known: dict[cst.CSTNode, bool] = {}

    def run(self, node: cst.CSTNode) -> bool:
        """Whether a step loop runs `node` outside compiled code, directly or through calls there."""
        return leads_to(node, self._known, self._runs)

    def _runs(self, node: cst.CSTNode) -> bool | list[cst.Call]:
        """Whether a step loop runs `node` outside compiled code, as far as its function shows; or else the calls of
        that function, any of which may do it."""
        if self._compiled.is_compiled(node) or not self._loops.is_per_step(node):
            return False
        function = self._calls.function_at(node)
        if function is None or self._loops.training_loop(node) is not None:
            return True
        sites = [site for site in self._calls.sites(function) if self._loops.is_per_step(site)]
        outside = [caller for caller in self._calls.callers_outside(function) if caller.per_step]
        if any(caller.state != "compiled" for caller in outside):
            return True
        # What a generator is asked for, or Keras calls with each batch, no call shows.
        return sites if sites or outside else True
