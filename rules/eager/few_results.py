"""Loops that look at a few results: a person sees them, and no training waits for them."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.execution.guards import Guards
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.once import extent
from tflint_perf.analysis.execution.trains import trains_by
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import argument
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import counts_to, source
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Pipeline

_FEW = 10


class FewResults(Part):
    """Answers whether code is there for a few results."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _guards: Guards

    def is_for_few(self, node: cst.CSTNode) -> bool:
        """Whether only loops that look at a few results run `node`, here or where its function is called."""
        loop = self._loops.innermost_loop(node)
        function = self._calls.function_at(node)
        if loop is not None or function is None or self._calls.callers_outside(function):
            return self.looks_at_few(loop)
        sites = [
            self._loops.innermost_loop(s) for s in self._calls.sites(function) if self._loops.is_per_step(s)
        ]
        return bool(sites) and all(map(self.looks_at_few, sites))

    def looks_at_few(self, loop: Loop | None) -> bool:
        """Whether `loop` looks at a few results, or runs under a flag or for the best score. A counter of the loop
        around it guards none."""
        if loop is None:
            return False
        iterable = loop.iterable
        guard = self._guards.guard_of(loop.node)
        if guard is not None and isinstance(guard.node, cst.Name | cst.Attribute | cst.Comparison):
            return True
        stop = counts_to(self._infer, iterable)
        is_sliced = iterable is not None and isinstance(source(self._infer, iterable), cst.Subscript)
        if stop is not None or is_sliced:
            integers = self._infer.integers
            count = integers.most(stop) if stop is not None else integers.length(iterable)
            few = count is not None and count <= _FEW and not self._trains(loop)
            return few and not self._is_for_each_step(loop)
        pipelines = self._infer.value(source(self._infer, iterable)).pipelines if iterable is not None else ()
        return bool(pipelines) and all(map(self._takes_few, pipelines))

    def _is_for_each_step(self, loop: Loop) -> bool:
        """Whether `loop` runs again on each step of a loop around it that looks at more, or whenever its function is
        called on a step."""
        outer, function = (
            self._loops.training_loop(extent(self._walk, loop)),
            self._calls.function_at(loop.node),
        )
        if outer is None and function is not None:
            sites = self._calls.sites(function)
            return any(
                self._loops.is_per_step(site) and self._guards.guard_of(site) is None for site in sites
            )
        if outer is None or self._loops.kind(outer) != "step" or self.looks_at_few(outer):
            return False
        # It may count as a loop of steps for the sake of this one alone.
        takes = outer.iterable is not None and self._loops.takes_batches(outer.iterable)
        return takes or any(map(self._loops.actions.acts, outer.calls))

    def _trains(self, loop: Loop) -> bool:
        """Whether `loop` makes gradient steps, in functions of this file or by Keras: then it looks at nothing."""
        waiting, seen = [loop], set[Function]()
        while waiting:
            current = waiting.pop()
            waiting += current.inner
            calls = [*current.calls]
            while calls:
                call = calls.pop()
                by = trains_by(self._infer, call)
                if by in ("update", "batch") or (by == "fit" and self._loops.batches.are_taken_by(call)):
                    return True
                for function in self._calls.targets(call):
                    if function not in seen:
                        seen.add(function)
                        calls += function.calls
        return False

    def _takes_few(self, pipeline: Pipeline) -> bool:
        last = pipeline[-1]
        given = argument(last.call, 0, "count") if last.name == "take" else None
        count = self._infer.integers.most(given) if given is not None else None
        return count is not None and 0 <= count <= _FEW
