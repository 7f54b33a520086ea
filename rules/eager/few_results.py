"""Loops that look at a few results: a person sees them, and no training waits for them."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.execution.guards import Guards
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.once import extent
from tflint_perf.analysis.execution.short_loops import acts
from tflint_perf.analysis.execution.total_runs import Totals
from tflint_perf.analysis.execution.trains import trains_by
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import argument
from tflint_perf.analysis.training.programs import Programs
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import counts_to, source
from tflint_perf.analysis.values.values import Pipeline

_FEW = 10
# So many in all take a few seconds, of which to compile, or to call something else, saves a part.
_FEW_IN_ALL = 100


class FewResults:
    """Answers whether code is there for a few results."""

    needs = ("infer", "calls", "loops", "guards", "totals", "programs")

    def __init__(
        self,
        infer: Inference,
        calls: CallGraph,
        loops: Loops,
        guards: Guards,
        totals: Totals,
        programs: Programs,
    ) -> None:
        self._infer = infer
        self._calls = calls
        self._loops = loops
        self._guards = guards
        self._totals = totals
        self._programs = programs
        self._walk = infer.walk

    def is_for_few(self, node: cst.CSTNode) -> bool:
        """Whether only loops that look at a few results run `node`, here or where its function is called, or the program
        asks for less than a hundred in all."""
        if self._are_few_in_all(node):
            return True
        loop = self._loops.innermost_loop(node)
        function = self._calls.function_at(node)
        if loop is not None or function is None or self._calls.callers_outside(function):
            return self.looks_at_few(loop)
        sites = [
            self._loops.innermost_loop(s) for s in self._calls.sites(function) if self._loops.is_per_step(s)
        ]
        return bool(sites) and all(map(self.looks_at_few, sites))

    def _are_few_in_all(self, node: cst.CSTNode) -> bool:
        """Whether a program runs `node` less than a hundred times, by loops that train nothing."""
        if self._is_there_for_more(self._calls.function_at(node)):
            return False
        total = self._totals.at_most(node)
        if total is None or total >= _FEW_IN_ALL:
            return False
        loops = self._loops.running(node)
        return bool(loops) and not any(map(self._trains_or_acts, loops))

    def _is_there_for_more(self, function: Function | None) -> bool:
        """Whether a function is there to be asked again: it is a method of a model, or its program only shows what a
        model can do that was trained before."""
        if function is None or function.name == "main":
            return False
        return self._infer.classes.is_method_of_model(function) or self._programs.applies_only()

    def _trains_or_acts(self, loop: Loop) -> bool:
        return any(self._trains(one) or acts(one) for one in loops_around(loop))

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
