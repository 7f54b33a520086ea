"""The stages of pipelines: what lies in front of one, what is put on it, and which give on batches what they give on elements."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_perf.analysis.apis.facts import methods
from tflint_perf.analysis.pipelines.elementwise import (
    arity,
    is_elementwise,
    mapped_function,
    mapped_method,
    parts_of_element,
)
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import callee_name
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Pipeline, Stage


class Stages(Part):
    """Answers what stands around a stage in the pipelines of a file."""

    _infer: Inference

    def before(self, call: cst.Call) -> list[Pipeline]:
        """The pipelines that may build the dataset that `call` gives, up to the stage that it adds."""
        found = list(self._infer.value(call).pipelines)
        if found:
            return found
        # A dataset of unknown origin: as far back as one expression goes.
        chain: list[Stage] = []
        node: cst.BaseExpression = call
        while (
            isinstance(node, cst.Call)
            and isinstance(node.func, cst.Attribute)
            and callee_name(node) in methods("Dataset", "stage")
        ):
            chain.insert(0, Stage(callee_name(node), node))
            node = node.func.value
        return [tuple(chain)] if self._infer.value(node).kind == "dataset" and chain else []

    def is_elementwise(self, given: cst.BaseExpression, before: Pipeline) -> bool:
        """Whether the function `given`, mapped over batches, computes the same as on each element. `before` are the
        stages in front of it."""
        function = mapped_function(self._infer, given) or mapped_method(self._infer, given)
        path = self._infer.value(given).outside if function is None else ""
        count = self.elementwise_arity(function) if function else self._infer.outside.mapped(path).elementwise
        return count > 0 and parts_of_element(before) in (None, count)

    def elementwise_arity(self, function: Function) -> int:
        """How many parameters `function` has, if it gives on a batch what it gives on each element; 0 for others."""
        return (arity(function) or 0) if is_elementwise(self._infer, function) else 0

    def goes_on(self, stage: cst.Call) -> Iterator[cst.Call]:
        """The stages that are added directly to `stage`."""
        yield from self._next.get(stage, ())

    @cached_property
    def _next(self) -> dict[cst.Call, dict[cst.Call, None]]:
        found: dict[cst.Call, dict[cst.Call, None]] = {}
        calls = self._walk.calls_named(*methods("Dataset", "stage"))
        for call in calls:
            for pipeline in self.before(call):
                if len(pipeline) > 1 and pipeline[-1].call is call:
                    found.setdefault(pipeline[-2].call, {})[call] = None
        return found
