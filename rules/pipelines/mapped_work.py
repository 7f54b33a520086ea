"""What a function that is given to `Dataset.map` does that takes its time."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from tflint_perf.analysis.pipelines.elementwise import mapped_function
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.python.syntax import callee_name
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Stage

_READING = ("reads-file", "decodes", "decodes-images", "decodes-audio", "resizes")


class MappedWork(Part):
    """Answers whether a mapped function is seen to read, decode or resize, or to look something up in a table."""

    same_for_all_callers = True

    _infer: Inference
    _calls: CallGraph

    def __post_init__(self) -> None:
        self._reading: dict[cst.Call, bool] = {}
        self._picturing: dict[cst.Call, bool] = {}
        self._looking_up: dict[cst.Call, bool] = {}

    def reads_or_decodes(self, stage: Stage) -> bool:
        """Whether the function of the stage reads a file, decodes what it gets, or resizes an image."""
        return bool(stage.call.args) and self._does(stage.call.args[0].value, self._reading, self._reads)

    def decodes_images(self, stage: Stage) -> bool:
        """Whether the function of the stage decodes images."""
        return bool(stage.call.args) and self._does(
            stage.call.args[0].value, self._picturing, self._is_of_images
        )

    def looks_up(self, given: cst.BaseExpression) -> bool:
        """Whether the function `given` looks something up in a table, or is a layer that does."""
        return self._is_table(given) or self._does(given, self._looking_up, self._is_look_up)

    def _does(
        self, given: cst.BaseExpression, known: dict[cst.Call, bool], ask: Callable[[cst.Call], bool]
    ) -> bool:
        function = self._infer.value(given).function or mapped_function(self._infer, given)
        if function is None:
            return isinstance(given, cst.Call) and any(
                self._does(arg.value, known, ask) for arg in given.args[:1]
            )

        def leads(call: cst.Call) -> bool | list[cst.Call]:
            return ask(call) or [below for target in self._calls.targets(call) for below in target.calls]

        return any(leads_to(call, known, leads) for call in function.calls)

    def _reads(self, call: cst.Call) -> bool:
        return self._infer.names.is_call_that(call, *_READING)

    def _is_of_images(self, call: cst.Call) -> bool:
        return self._infer.names.is_call_that(call, "decodes-images")

    def _is_look_up(self, call: cst.Call) -> bool:
        called = call.func
        return callee_name(call) == "lookup" or self._is_table(
            called.value if isinstance(called, cst.Attribute) else called
        )

    def _is_table(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is made as a table, or as a layer with one."""
        return any(
            self._infer.names.is_call_that(binding.value, "looks-up")
            for binding in self._infer.given_to(node)
        )
