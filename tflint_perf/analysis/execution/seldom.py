"""What step loops reach, but seldom run: behind guards, caches and ways out, here and wherever they call it."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.execution.guards import Guards
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.once import Once
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.values.calls import CallGraph


class Seldom:
    """Answers whether code runs seldom."""

    def __init__(self, calls: CallGraph, loops: Loops, guards: Guards, once: Once) -> None:
        self._calls = calls
        self._loops = loops
        self._guards = guards
        self._once = once
        self._called_seldom: dict[Function, bool] = {}

    def runs(self, node: cst.CSTNode) -> bool:
        """Whether something keeps `node` from running on each step, here or wherever a step loop calls it."""
        if self._guards.guard_of(node) is not None or self._once.runs_seldom(node):
            return True
        function = self._calls.function_at(node)
        if function is None or self._loops.innermost_loop(node) is not None:
            return False
        known = self._called_seldom.get(function)
        if known is None:
            self._called_seldom[function] = False  # functions that call each other
            sites = [site for site in self._calls.sites(function) if self._loops.is_per_step(site)]
            outside = [caller for caller in self._calls.callers_outside(function) if caller.per_step]
            known = self._called_seldom[function] = (
                bool(sites or outside)
                and all(map(self.runs, sites))
                and all(caller.guarded for caller in outside)
            )
        return known
