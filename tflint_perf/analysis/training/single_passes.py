"""Single passes: loops of steps that train nothing, and that a program goes through once for each model that it trains.

Over a test set behind the last epoch, over a few results that are plotted, over the candidates for first weights. What a step of
such a loop costs is paid as often as the loop is long, where a step of training is paid for in each epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.once import extent
from tflint_perf.analysis.execution.sizes import is_of_environment
from tflint_perf.analysis.execution.steps import GradientSteps
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.reach import leads_to, remembered
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import is_name
from tflint_perf.analysis.training.file_reads import FileReads
from tflint_perf.analysis.training.programs import Programs
from tflint_perf.analysis.training.train_calls import TrainCalls
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference


class SinglePasses:
    """Answers whether what runs on each step does so in single passes alone."""

    def __init__(
        self,
        infer: Inference,
        calls: CallGraph,
        loops: Loops,
        steps: GradientSteps,
        file_reads: FileReads,
        programs: Programs,
    ) -> None:
        self._calls = calls
        self._loops = loops
        self._steps = steps
        self._file_reads = file_reads
        self._programs = programs
        self._train_calls = TrainCalls(infer, calls)
        self._walk = infer.walk
        self._called_beside: dict[Function, bool] = {}
        self._whole: dict[Function, bool] = {}

    def hold(self, node: cst.CSTNode, *, counted: bool = True) -> bool:
        """Whether only single passes over data, which train nothing, run `node` per step.

        `counted` says whether loops that count may be such passes, too: they may have as many small steps as they like, to make one
        result word by word, or out of noise.
        """
        loops = list(self._step_loops(node, set()))
        return bool(loops) and all(
            loop is not None and (counted or not self._loops.counts(loop)) and self._is_pass(loop)
            for loop in loops
        )

    def _step_loops(self, node: cst.CSTNode, seen: set[Function]) -> Iterator[Loop | None]:
        """The step loops that run `node`, here or through calls; None for one that is not in sight."""
        loop = self._loops.step_loop(node)
        if loop is not None and not loop.yields:
            yield loop
            return
        function = self._calls.function_at(node)
        if function is None or function in seen or self._loops.is_batch_callback(function):
            yield None
            return
        seen.add(function)
        if function.yields or any(caller.per_step for caller in self._calls.callers_outside(function)):
            yield None
        for site in self._calls.sites(function):
            if self._loops.is_per_step(site):
                yield from self._step_loops(site, seen)

    @remembered
    def _is_pass(self, loop: Loop) -> bool:
        return self._only_looks(loop) and self._is_beside(extent(self._walk, loop), loop)

    def _only_looks(self, loop: Loop) -> bool:
        """Whether `loop` comes to an end, and neither trains nor acts in an environment."""
        if isinstance(loop.node, cst.While) and is_name(loop.node.test, "True"):
            return False
        return not self._trains(loop) and not any(
            is_of_environment(call) or self._train_calls.may_train(call)
            for call in self._file_reads.calls_in(loop)
        )

    def _trains(self, loop: Loop) -> bool:
        if self._file_reads.is_trained_in(loop):
            return True
        run = {target for call in self._file_reads.calls_in(loop) for target in self._calls.targets(call)}
        return any(map(self._steps.of, run)) or any(
            loop in loops_around(self._loops.innermost_loop(step.tape))
            for step in self._steps.of(loop.function)
        )

    # Beside training

    def _is_beside(self, node: cst.CSTNode, own: Loop | None) -> bool:
        """Whether what stands beside `node`, but for the loop `own`, trains a model over epochs, or the program that comes by
        once trains somewhere."""
        for around in loops_around(self._loops.innermost_loop(node)):
            if any(map(self._trains_epochs_by, around.calls)):
                return True
            is_none = self._loops.kind(around) == "none"
            if is_none and self._has_epochs(around.inner, own):
                return True
            if not is_none or self._trains(around):
                return False
        function = self._calls.function_at(node)
        if function is None:
            return self._programs.trains_somewhere()
        return self._has_epochs_of_its_own(function, own) or self._is_called_beside(function)

    def _has_epochs_of_its_own(self, function: Function, own: Loop | None) -> bool:
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
        return any(leads_to(target, self._whole, self._trains_whole) for target in self._calls.targets(call))

    def _trains_whole(self, function: Function) -> bool | list[Function]:
        """Whether a function itself trains over epochs, or else the functions that it calls."""
        if self._has_epochs(function.loops, None):
            return True
        return [target for call in function.calls for target in self._calls.targets(call)]

    def _is_called_beside(self, function: Function) -> bool:
        """Whether everything that calls `function` does so once, beside training."""
        known = self._called_beside.get(function)
        if known is None:
            self._called_beside[function] = False  # functions that call each other
            sites, outside = self._calls.sites(function), self._calls.callers_outside(function)
            if any(caller.looped or caller.per_step or caller.may_be_per_step for caller in outside):
                known = False
            elif sites:
                known = all(self._is_beside(site, None) for site in sites)
            else:
                known = (bool(outside) or function.name == "main") and self._programs.trains_somewhere()
            self._called_beside[function] = known
        return known
