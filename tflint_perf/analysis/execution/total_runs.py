"""How often a program runs code in all."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference


class Totals:
    """Answers how often a program runs code in all: the loops around it, and around the calls that lead to it, times each
    other."""

    def __init__(self, infer: Inference, calls: CallGraph, loops: Loops) -> None:
        self._infer = infer
        self._walk = infer.walk
        self._calls = calls
        self._loops = loops
        self._of_functions: dict[Function, int | None] = {}

    def at_most(self, node: cst.CSTNode) -> int | None:
        """How often a program that runs this file runs `node`, at most; None where that is not in sight."""
        times, function = 1, self._calls.function_at(node)
        for loop in loops_around(self._loops.innermost_loop(node)):
            most = self._infer.integers.length(loop.iterable)
            most = self._infer.integers.cut(loop.iterable) if most is None else most
            if most is None:
                return None
            times *= most
        called = self._of_function(function) if function is not None else 1
        return times * called if called is not None else None

    def _of_function(self, function: Function) -> int | None:
        if function not in self._of_functions:
            self._of_functions[function] = None  # what calls itself may do so any number of times
            self._of_functions[function] = self._counted(function)
        return self._of_functions[function]

    def _counted(self, function: Function) -> int | None:
        sites = self._calls.sites(function)
        if function.yields or self._calls.callers_outside(function):
            return None
        if not sites and (function.name == "main" or self._is_command(function)):
            return 1  # whoever starts it
        if not sites or not self._is_only_called(function):
            return None
        times = [self.at_most(site) for site in sites]
        known = [number for number in times if number is not None]
        return sum(known) if len(known) == len(times) else None

    def _is_command(self, function: Function) -> bool:
        """Whether a command line runs `function`, as a decorator says."""
        decorators = (given.decorator for given in function.decorators)
        made_by = (each.func if isinstance(each, cst.Call) else each for each in decorators)
        return any(has(self._infer.names.qualified(each), "makes-command") for each in made_by)

    def _is_only_called(self, function: Function) -> bool:
        """Whether the file does no more with `function` than to call it: what is handed it may call it any number of times."""
        walk = self._walk
        named = (walk.names if function.owner is None else walk.attributes).get(function.name, ())
        return all(isinstance(call := walk.parents.get(n), cst.Call) and call.func is n for n in named)
