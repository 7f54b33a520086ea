"""Input pipelines: where a dataset is consumed, and what else is done with it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_perf.analysis.conventions import may_name_a_step
from tflint_perf.analysis.execution.guards import Guards
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.short_loops import only_inspects
from tflint_perf.analysis.pipelines.consumption import Consumption
from tflint_perf.analysis.pipelines.draws import Draws, drawn_from
from tflint_perf.analysis.pipelines.element_uses import ElementUses
from tflint_perf.analysis.pipelines.graph_inputs import GraphInputs
from tflint_perf.analysis.pipelines.stages import Stages
from tflint_perf.analysis.python.syntax import argument, target_names
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import with_targets
from tflint_perf.analysis.values.parts import Part

# What trains or infers goes by one of these.
_CONSUMERS = {"fit", "fit_generator", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch", "GradientTape",
              "function", "Model", "Sequential", "load_model", "applications", "hub"}  # fmt: skip


class Pipelines(Part):
    """Answers what becomes of a file's datasets."""

    _infer: Inference
    _loops: Loops
    _guards: Guards
    _stages: Stages
    _element_uses: ElementUses
    _draws: Draws
    _graph_inputs: GraphInputs

    def __post_init__(self) -> None:
        self._consumptions: list[Consumption] | None = None

    def consumptions(self) -> list[Consumption]:
        """Every place where a Keras model or a step consumes a dataset."""
        if self._consumptions is None:
            named = self._walk.calls.keys() | self._walk.attributes.keys() | self._walk.names.keys()
            # Nothing below this costs less than to see that a file has neither a model nor a step.
            consumes = named & _CONSUMERS or any(map(may_name_a_step, self._walk.calls))
            here = [*self._given_to_keras(), *self._iterated()] if consumes else []
            in_graphs = self._graph_inputs.consumptions()
            self._consumptions = [*here, *self._drawn(), *in_graphs, *self._given_to_other_files()]
        return self._consumptions

    def _given_to_keras(self) -> Iterator[Consumption]:
        for node, use in self._element_uses.arguments_of_keras():
            if self._infer.value(node).kind == "dataset":
                yield Consumption(node, self._infer.value(node), use)

    def _given_to_other_files(self) -> Iterator[Consumption]:
        """Datasets that functions of other files are given, and take elements from as they come."""
        for call in (call for calls in self._walk.calls.values() for call in calls if call.args):
            takers = [
                each
                for each in self._infer.value(call.func).alternatives
                if each.kind in ("function", "compiled", "class") and each.outside
            ]
            taken = dict.fromkeys(take for each in takers for take in self._infer.outside.takes(each.outside))
            for name, at in taken:
                node = argument(call, at if at >= 0 else None, name)
                if node is not None and self._infer.value(node).kind == "dataset":
                    yield Consumption(node, self._infer.value(node), "train")

    def _iterated(self) -> Iterator[Consumption]:
        for node, loop in self._walk.loops.items():
            if not isinstance(node, cst.For) or only_inspects(self._infer, loop):
                continue
            few = self._infer.integers.takes_few
            for dataset, target in with_targets(self._infer, node.iter, node.target):
                value = self._infer.value(dataset)
                if value.kind in ("dataset", "iterator") and target is not None and not few(dataset):
                    use = self._element_uses.use_in(node, {name.value for name in target_names(target)})
                    if use is not None:
                        yield Consumption(dataset, value, use, loop)

    def _drawn(self) -> Iterator[Consumption]:
        """Datasets whose elements are drawn one by one, as by `next(iterator)`, where that is done per step.

        What is drawn now and then, to show how the training gets on, is looked at.
        """
        for call in self._draws.all():
            if not self._loops.is_per_step(call) or self._guards.guard_of(call) is not None:
                continue
            node, loop, use = drawn_from(call), self._loops.innermost_loop(call), self._draws.use_of(call)
            handed_on = use is None and self._draws.is_handed_on(call)
            if (use or handed_on) and (loop is None or not only_inspects(self._infer, loop)):
                yield Consumption(node, self._infer.value(node), use or "train", loop, handed_on=handed_on)

    def is_used_otherwise(self, stage: cst.Call) -> bool:
        """Whether what `stage` gives goes into further stages, or into loops that neither train nor infer."""
        return self.is_looped_over_otherwise(stage) or any(self._stages.goes_on(stage))

    def is_looped_over_otherwise(self, stage: cst.Call) -> bool:
        """Whether what `stage` gives goes into loops that neither train nor infer."""
        return stage in self._looped_over_otherwise

    @cached_property
    def _looped_over_otherwise(self) -> frozenset[cst.Call]:
        consumed = {consumption.loop for consumption in self.consumptions()}
        return frozenset(
            pipeline[-1].call
            for loop in self._walk.loops.values()
            if loop.iterable is not None and loop not in consumed
            for node, _ in with_targets(self._infer, loop.iterable, None)
            for pipeline in self._infer.value(node).pipelines
        )
