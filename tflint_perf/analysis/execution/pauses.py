"""Loops that pause: each iteration sleeps for half a second or more, beside which milliseconds are nothing.

pauses.are_around(node)    # in `while True: act(model(x)); time.sleep(60)`
"""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.reach import leads_to, remembered
from tflint_perf.analysis.python.scopes import Binding, Loop
from tflint_perf.analysis.python.syntax import argument, is_name
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.integers import FEW
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.written import bindings_of

# Seconds, beside which some milliseconds are nothing.
_LONG = 0.5


class Pauses(Part):
    """Answers whether what runs on each step does so between pauses alone."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops

    def __post_init__(self) -> None:
        self._run_on: dict[cst.CSTNode, bool] = {}

    def are_around(self, node: cst.CSTNode) -> bool:
        """Whether the program pauses between two steps that run `node`, or a few runs of it."""
        return self._loops.is_per_step(node) and not leads_to(node, self._run_on, self._runs_on)

    def _runs_on(self, node: cst.CSTNode) -> bool | list[cst.Call]:
        """Whether `node` runs again and again without a pause, or else the calls of its function that steps make."""
        times = 1
        for loop in loops_around(self._loops.innermost_loop(node)):
            if self.pauses(loop):
                return False
            times *= self._infer.integers.length(loop.iterable) or FEW + 1
            if times > FEW:
                return True
        function = self._calls.function_at(node)
        outside = [c for c in self._calls.callers_outside(function) if c.per_step] if function else []
        sites = [s for s in self._calls.sites(function) if self._loops.is_per_step(s)] if function else []
        return sites if (sites or outside) and all(caller.paused for caller in outside) else True

    @remembered
    def pauses(self, loop: Loop) -> bool:
        """Whether each iteration of `loop` sleeps for long, or until a time that it works out anew."""
        return any(
            self._infer.names.is_call_that(call, "pauses")
            and self._is_long(call, loop)
            and not any(conditions(self._infer.walk, call, loop.node, exits=False))
            for call in loop.calls
        )

    def _is_long(self, call: cst.Call, loop: Loop) -> bool:
        delay = argument(call, 0, "delay")
        made = bindings_of(self._infer, delay) if isinstance(delay, cst.Name) else []
        if any(loop in loops_around(binding.at.block.loop) for binding in made):
            # The time that is left until the next one is due: what the step takes is no longer waited for.
            return isinstance(loop.node, cst.While) and is_name(loop.node.test, "True")
        match made:
            case [Binding(kind="assign", path=(), value=cst.Float() as seconds)]:
                return float(seconds.value) >= _LONG
        if isinstance(delay, cst.Float):
            return float(delay.value) >= _LONG
        return min(self._infer.integers.values(delay), default=0) >= _LONG
