"""Single passes: loops of steps that train nothing, and that a program goes through once for each model that it trains.

Over a test set behind the last epoch, over a few results that are plotted, over the candidates for first weights, over files each
of which is looked at by itself; or over what a program is given that applies a model which was trained before. What a step of such a loop costs is paid as often as the loop is
long, where a step of training is paid for in each epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, partial

import libcst as cst

from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.once import extent
from tflint_perf.analysis.execution.short_loops import runs_over_files
from tflint_perf.analysis.execution.sizes import is_of_environment
from tflint_perf.analysis.execution.steps import GradientStep, GradientSteps
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.reach import leads_to, remembered
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import argument, is_name
from tflint_perf.analysis.training.programs import Programs
from tflint_perf.analysis.training.train_calls import TrainCalls
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass


@dataclass(frozen=True, slots=True)
class Passes:
    """Which loops may be single passes.

    `counted` ones count: they may have as many small steps as they like, to make one result word by word, or out of noise. Those
    `of_results` are all that a program does which applies a model that was trained before.
    """

    counted: bool = True
    of_results: bool = True


_ALL = Passes()


class SinglePasses(Part):
    """Answers whether what runs on each step does so in single passes alone."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _steps: GradientSteps
    _train_calls: TrainCalls
    _programs: Programs

    def __post_init__(self) -> None:
        self._run_again: dict[Passes, dict[cst.CSTNode, bool]] = {}
        self._called_again: dict[Function, bool] = {}
        self._training: dict[Function, bool] = {}
        self._doing_more: dict[Function, bool] = {}
        self._training_epochs: dict[Function, bool] = {}

    def hold(self, node: cst.CSTNode, allowed: Passes = _ALL) -> bool:
        """Whether only single passes over data, which train nothing, run `node` per step.

        `allowed` are the loops that may be such passes.
        """
        known = self._run_again.setdefault(allowed, {})
        return self._loops.is_per_step(node) and not leads_to(
            node, known, partial(self._is_run_again, allowed=allowed)
        )

    @remembered
    def only_looks(self, loop: Loop) -> bool:
        """Whether `loop` comes to an end, and neither trains nor acts in an environment."""
        if isinstance(loop.node, cst.While) and is_name(loop.node.test, "True"):
            return False
        return not self._trains(loop) and not any(
            self._is_more(call)
            or any(leads_to(f, self._doing_more, self._does_more) for f in self._calls.targets(call))
            for call in calls_in(loop)
        )

    def _is_run_again(self, node: cst.CSTNode, *, allowed: Passes) -> bool | list[cst.Call]:
        """Whether a step loop that is no single pass runs `node`, or else the calls of its function that step loops make."""
        loop = self._loops.step_loop(node)
        if loop is not None and not loop.yields:
            return (not allowed.counted and self._loops.counts(loop)) or not self._is_pass(loop, allowed)
        function = self._calls.function_at(node)
        if function is None or function.yields or self._loops.is_batch_callback(function):
            return True
        outside = [caller for caller in self._calls.callers_outside(function) if caller.per_step]
        if not all(caller.passing and allowed == _ALL for caller in outside):
            return True
        # What gives a loop its batches is called by none.
        return [site for site in self._calls.sites(function) if self._loops.is_per_step(site)] or not outside

    def _is_pass(self, loop: Loop, allowed: Passes) -> bool:
        if not self.only_looks(loop):
            return False
        if allowed.of_results and (self._programs.applies_only() or runs_over_files(self._infer, loop)):
            return True
        return self._is_beside(loop)

    @remembered
    def _is_beside(self, loop: Loop) -> bool:
        return self._is_beside_training(extent(self._walk, loop), loop)

    # What a loop does

    def _is_more(self, call: cst.Call) -> bool:
        return is_of_environment(call) or self._train_calls.may_train(call)

    def _does_more(self, function: Function) -> bool | list[Function]:
        """Whether a function itself does so, or else the functions that it calls."""
        return any(map(self._is_more, function.calls)) or self._called_by(function)

    @remembered
    def _trains(self, loop: Loop) -> bool:
        """Whether an iteration of `loop` trains, here or in what it calls."""
        return any(map(self._trains_by, calls_in(loop))) or any(
            loop in loops_around(self._loops.innermost_loop(step.tape))
            for step in self._steps.of(loop.function)
        )

    def _trains_by(self, call: cst.Call) -> bool:
        return self._train_calls.trains(call) or any(
            leads_to(function, self._training, self._trains_in) for function in self._calls.targets(call)
        )

    def _trains_in(self, function: Function) -> bool | list[Function]:
        """Whether `function` itself trains, or else the functions that it calls."""
        if self._steps.of(function) or any(map(self._train_calls.trains, function.calls)):
            return True
        if any(step.function is function for step in self._of_variables):
            return True
        return self._called_by(function)

    @cached_property
    def _of_variables(self) -> list[GradientStep]:
        """The tapes whose function gives back gradients of variables: who asks for these learns by them, in a way of its own."""
        return [
            step
            for step in self._steps.given_back
            if any(self._is_of_variables(argument(call, 1, "sources")) for call in step.gradients)
        ]

    def _is_of_variables(self, sources: cst.BaseExpression | None) -> bool:
        of = self._infer.value(sources).element if sources is not None else None
        return of is not None and of.kind == "variable"

    def _called_by(self, function: Function) -> list[Function]:
        return [target for call in function.calls for target in self._calls.targets(call)]

    # Beside training

    def _is_beside_training(self, node: cst.CSTNode, own: Loop) -> bool:
        """Whether what stands beside `node`, but for the loop `own`, trains a model over epochs, or a program that trains
        comes by once."""
        beside = self._is_beside_in_loops(node, own)
        if beside is not None:
            return beside
        function = self._calls.function_at(node)
        if function is None:
            return self._programs.trains_somewhere()
        return self._has_epochs_of_its_own(function, own) or not leads_to(
            function, self._called_again, self._is_called_again
        )

    def _is_beside_in_loops(self, node: cst.CSTNode, own: Loop | None = None) -> bool | None:
        """Whether a loop around `node` in the same function trains a whole model in each iteration; False where one that trains
        step by step repeats it, None where there is neither."""
        for around in loops_around(self._loops.innermost_loop(node)):
            if any(map(self._trains_epochs_by, around.calls)):
                return True
            is_none = self._loops.kind(around) == "none"
            if is_none and self._has_epochs(around.inner, own):
                return True
            if not is_none or self._trains(around):
                return False
        return None

    def _has_epochs_of_its_own(self, function: Function, own: Loop | None = None) -> bool:
        return self._has_epochs(function.loops, own) or any(map(self._trains_epochs_by, function.calls))

    def _has_epochs(self, loops: Iterable[Loop], own: Loop | None) -> bool:
        """Whether one of `loops` trains over epochs."""
        return any(
            loop is not own and self._loops.kind(loop) == "epoch" and self._trains(loop) for loop in loops
        )

    def _trains_epochs_by(self, call: cst.Call) -> bool:
        """Whether `call` trains a model over epochs, itself or in what it runs."""
        if self._loops.batches.are_all_taken_by(call) or self._loops.actions.trains_whole(call):
            return True
        return any(
            leads_to(target, self._training_epochs, self._trains_epochs)
            for target in self._calls.targets(call)
        )

    def _trains_epochs(self, function: Function) -> bool | list[Function]:
        """Whether `function` itself trains over epochs, or else the functions that it calls."""
        return self._has_epochs(function.loops, None) or self._called_by(function)

    def _is_called_again(self, function: Function) -> bool | list[Function]:
        """Whether `function` is called more than once for each model that is trained, or else which functions call it."""
        sites, outside = self._calls.sites(function), self._calls.callers_outside(function)
        if any(caller.looped or caller.per_step or caller.may_be_per_step for caller in outside):
            return True
        if not sites:
            return not (outside or function.name == "main") or not self._programs.trains_somewhere()
        beside = {site: self._is_beside_in_loops(site) for site in sites}
        callers = [self._calls.function_at(site) for site in sites if beside[site] is None]
        if False in beside.values() or (None in callers and not self._programs.trains_somewhere()):
            return True
        return [caller for caller in callers if caller and not self._has_epochs_of_its_own(caller)]


def calls_in(loop: Loop) -> Iterator[cst.Call]:
    """All calls that an iteration of `loop` makes itself."""
    yield from loop.calls
    for inner in loop.inner:
        yield from calls_in(inner)
