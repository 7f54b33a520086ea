"""Code that eager code runs per step, where compiled code may run it, too: that does so only when it is traced."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.tapes import is_under_tape
from tflint_perf.analysis.execution.trains import FITS
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part


class EagerSteps(Part):
    """Answers whether what runs per step does so outside compiled code."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _compiled: Compiled

    def __post_init__(self) -> None:
        self._known: dict[cst.CSTNode, bool] = {}
        self._has_other_way: dict[Function, bool] = {}
        self._is_taped: dict[Function, bool] = {}

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

    def train(self, function: Function) -> bool:
        """Whether gradient steps in eager mode run `function`, a Keras `call` or what that calls, and nothing is known to run it
        in another way: no `fit`, and no compiled code."""
        if self._infer.walk.calls_named(*FITS):
            return False
        return not leads_to(function, self._has_other_way, self._other_ways) and leads_to(
            function, self._is_taped, self._tapes_or_callers
        )

    def _other_ways(self, function: Function) -> bool | list[Function]:
        """Whether anything but eager code is known to run `function`, or else what calls it."""
        state = self._compiled.state(function)
        if state == "eager":
            return []
        traced = self._compiled.is_traced(function) and not self._compiled.is_left_to_keras(function)
        if state == "unknown" or traced:
            return True
        sites, outside = self._calls.sites(function), self._calls.callers_outside(function)
        if any(caller.how != "call" or caller.state != "eager" for caller in outside):
            return True
        return self._callers(function) if sites or outside else True

    def _tapes_or_callers(self, function: Function) -> bool | list[Function]:
        """Whether a gradient tape records a call of `function`, or else what calls it."""
        if any(caller.taped for caller in self._calls.callers_outside(function)):
            return True
        if any(is_under_tape(self._infer, site) for site in self._calls.sites(function)):
            return True
        return self._callers(function)

    def _callers(self, function: Function) -> list[Function]:
        callers = (self._calls.function_at(site) for site in self._calls.sites(function))
        return [caller for caller in callers if caller is not None]
