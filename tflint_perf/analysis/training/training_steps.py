"""The training step: what runs each time that a gradient step does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.steps import GradientSteps
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part


class TrainingSteps(Part):
    """Answers whether a place belongs to a training step."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _steps: GradientSteps

    def hold(self, node: cst.CSTNode) -> bool:
        """Whether `node` runs in a training step: beside a gradient step, or in what that calls.

        A method that no loop here reaches, of a class whose base is in another file, is part of a library: who
        uses it decides what its step is.
        """
        function = self._calls.function_at(node)
        if self._is_of_library(function) and not self._loops.is_per_step(node):
            return False
        if function is not None and function in self._called:
            return True
        return any(
            self._runs_with(node, self._loops.step_loop(step.tape)) for step in self._steps.of(function)
        )

    def gives(self, node: cst.BaseExpression) -> cst.Call | None:
        """The call of a function with a gradient step whose result, or a part of it, a name stands for."""
        made = [binding.value for binding in self._infer.bindings(node)]
        call = made[0] if len(made) == 1 else None
        if not isinstance(call, cst.Call):
            return None
        trains = any(self._steps.of(target) for target in self._calls.targets(call))
        return call if trains else None

    def _is_of_library(self, function: Function | None) -> bool:
        while function is not None and function.owner is None:
            function = function.outer
        return (
            function is not None
            and function.owner is not None
            and self._infer.classes.has_foreign_base(function.owner)
        )

    def _runs_with(self, node: cst.CSTNode, loop: Loop | None) -> bool:
        """Whether `node` runs as often as the body of `loop`, or as code in no loop of the same function."""
        return loop is None or self._loops.step_loop(node) is loop

    @cached_property
    def _called(self) -> set[Function]:
        """The functions that training steps call, through any number of calls."""
        found: set[Function] = set()
        waiting = list(self._calls_of_steps())
        while waiting:
            for function in self._calls.targets(waiting.pop()):
                if function not in found:
                    found.add(function)
                    waiting += function.calls
        return found

    def _calls_of_steps(self) -> Iterator[cst.Call]:
        for step in self._steps.all():
            loop = self._loops.step_loop(step.tape)
            calls = self._walk.module_calls if step.function is None else step.function.calls
            yield from (call for call in calls if self._runs_with(call, loop))
