"""How often a program runs code in all.

totals.at_most(node)  # 12 in `for epoch in range(3): for x in dataset.take(4): …`
"""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.reach import remembered_in_circles
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import descendants
from tflint_perf.analysis.training.programs import Programs
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part

# An eager step, a wait for the device or a call of `predict` costs some milliseconds, up to fifty: a hundred of them take
# a few seconds in all, no longer than TensorFlow takes to start.
FEW_IN_ALL = 100


class Totals(Part):
    """Answers how often a program runs code in all: the loops around it, and around the calls that lead to it, times each
    other."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _programs: Programs

    def are_few(self, node: cst.CSTNode) -> bool:
        """Whether a program is seen to run `node`, and the loops in it, a hundred times in all at most."""
        if self._is_there_for_more(self._calls.function_at(node)):
            return False
        inner = (
            self._walk.loops[part] for part in descendants(node) if isinstance(part, cst.For | cst.While)
        )
        counts = [self.at_most(node), *map(self._iterations_in_all, inner)]
        return all(times is not None and times <= FEW_IN_ALL for times in counts)

    def _iterations_in_all(self, loop: Loop) -> int | None:
        once, times = self._iterations(loop), self.at_most(loop.node)
        return once * times if once is not None and times is not None else None

    def at_most(self, node: cst.CSTNode) -> int | None:
        """How often a program that runs this file runs `node`, at most; None where that is not in sight."""
        within, function = self.within(node), self._calls.function_at(node)
        called = self._of_function(function) if function is not None else 1
        return within * called if within is not None and called is not None else None

    def within(self, node: cst.CSTNode) -> int | None:
        """How often a call of the function around `node` runs it, at most."""
        times = 1
        for loop in loops_around(self._loops.innermost_loop(node)):
            most = self._iterations(loop)
            if most is None:
                return None
            times *= most
        return times

    def _iterations(self, loop: Loop) -> int | None:
        integers = self._infer.integers
        most = integers.length(loop.iterable)
        return integers.cut(loop.iterable) if most is None else most

    def _is_there_for_more(self, function: Function | None) -> bool:
        """Whether a function is there to be asked again: it is a method of a model, or its program only shows what a
        model can do that was trained before."""
        if function is None or function.name == "main":
            return False
        return self._infer.classes.is_method_of_model(function) or self._programs.applies_only()

    # What calls itself may do so any number of times.
    @remembered_in_circles(None)
    def _of_function(self, function: Function) -> int | None:
        sites, outside = self._calls.sites(function), self._calls.callers_outside(function)
        if function.yields or (outside and function.owner is not None):
            return None  # other files may call a method of what is not seen to be an object of its class
        if not sites and not outside and (function.name == "main" or self._is_command(function)):
            return 1  # whoever starts it
        if not (sites or outside) or not self.is_only_called(function):
            return None
        times = [*map(self.at_most, sites), *(caller.times for caller in outside)]
        known = [number for number in times if number is not None]
        return sum(known) if len(known) == len(times) else None

    def _is_command(self, function: Function) -> bool:
        """Whether a command line runs `function`, as a decorator says."""
        decorators = (given.decorator for given in function.decorators)
        made_by = (each.func if isinstance(each, cst.Call) else each for each in decorators)
        return any(has(self._infer.names.qualified(each), "makes-command") for each in made_by)

    def is_only_called(self, function: Function) -> bool:
        """Whether the file does no more with `function` than to call it where it is seen: what is handed it may call it any
        number of times."""
        walk, sites = self._walk, set(self._calls.sites(function))
        named = (walk.names if function.owner is None else walk.attributes).get(function.name, ())
        return all(
            isinstance(call := walk.parents.get(name), cst.Call) and call.func is name and call in sites
            for name in named
        )
