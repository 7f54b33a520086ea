"""Loops that take a batch on each of their steps: those that train, and those that validate in between."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.guards import Guards
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.analysis.training.file_reads import FileReads
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference


class BatchLoops:
    """Answers which loops are such."""

    def __init__(
        self,
        infer: Inference,
        calls: CallGraph,
        compiled: Compiled,
        loops: Loops,
        guards: Guards,
        file_reads: FileReads,
    ) -> None:
        self._walk = infer.walk
        self._calls = calls
        self._compiled = compiled
        self._loops = loops
        self._guards = guards
        self._file_reads = file_reads

    def takes_batches(self, loop: Loop) -> bool:
        """Whether each iteration of `loop`, in eager code, is a step that trains or validates."""
        return (
            self._loops.kind(loop) == "step"
            and self._compiled.is_eager(loop.node)
            and (self._file_reads.is_trained_in(loop) or self._validates(loop))
        )

    def _validates(self, loop: Loop) -> bool:
        """Whether `loop` iterates over other batches in each epoch of a training, here or in a function for that."""
        places: list[cst.CSTNode] = [loop.node]
        if loop.parent is None and loop.function is not None:
            places = [*self._calls.sites(loop.function)]
        return not loop.yields and any(map(self._runs_each_epoch, places))

    def _runs_each_epoch(self, node: cst.CSTNode) -> bool:
        """Whether each epoch of a training runs `node`."""
        epoch = self._loops.innermost_loop(node)
        return (
            epoch is not None
            and self._loops.kind(epoch) == "epoch"
            and self._file_reads.is_trained_in(epoch)
            and self._guards.guard_of(node) is None
            and all(map(self._file_reads.usually, conditions(self._walk, node, epoch.node, exits=False)))
        )
