"""Batches of host data that the loop itself converts to tensors for its step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.conventions import names_a_number
from tflint_perf.analysis.python.syntax import calls_below, is_constant, last_name
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.analysis.model import Model


@dataclass(frozen=True, slots=True)
class Conversion:
    """A call that makes a tensor of host data on each step; `unchanged` where it is the same data each time."""

    call: cst.Call
    unchanged: bool


class HostConversions:
    """Finds the conversions of batches that a gradient step or a model uses."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def all(self) -> Iterator[Conversion]:
        """The conversions in eager code that runs per step."""
        model = self._model
        for call in model.calls_that("makes-tensor", "casts"):
            given = call.args[0].value if call.args else None
            if given is None or is_constant(given) or not model.is_eager(call) or not self._is_per_step(call):
                continue
            unchanged = self._is_unchanged_array(given)
            if not unchanged:
                if not self._is_host_batch(call, given):
                    continue
                unchanged = self._is_made_of_unchanged(given)
            if not model.loops.batches.is_made_one_of(call) and self._feeds_a_step(call):
                yield Conversion(call, unchanged)

    def _is_per_step(self, call: cst.Call) -> bool:
        """Whether `call` runs per step, or beside a gradient step that a loop repeats or may repeat."""
        model = self._model
        return model.is_per_step(call) or (
            model.training_steps.hold(call)
            and (model.loops.may_be_per_step(call) or model.loops.is_repeated(call))
        )

    def _feeds_a_step(self, call: cst.Call) -> bool:
        """Whether a step uses the result of `call`. A gradient step behind a guard is one all the same, and takes this
        batch."""
        feeds = self._model.feeds
        guarded = self._model.guard_of(call) is not None
        return feeds.a_gradient_step(call) if guarded else feeds.a_step(call)

    def _is_host_batch(self, call: cst.Call, node: cst.BaseExpression) -> bool:
        model, value = self._model, self._model.value(node)
        is_cast = has(model.qualified(call.func), "casts")
        match value.kind:
            case "array":
                on_host = True
            case "list":
                # Of tensors, one is made on the device.
                of = value.element
                on_host = of is None or of.kind not in ("tensor", "variable") or of.host
            case "tensor":
                # An element of a dataset. A function that gets it, a loss for instance, may get any tensor. To cast it
                # behind the copy to the device is as good as before: eight bits are fewer bytes than the floats of them.
                on_host = value.host and not is_cast and model.loops.step_loop(call) is not None
            case "unknown":
                # A batch that is made a tensor was none.
                on_host = not is_cast and not model.loops.batches.is_length(node)
            case _:
                on_host = False
        if not on_host:
            return False
        size = model.loops.batches.size(node)
        # What a gradient step is fed, and is no setting of it, is a batch.
        return size == "batch" or (
            size == "unknown"
            and value.kind != "tensor"
            and (value.kind == "array" or not is_cast)
            and not names_a_number(last_name(node))
            and model.feeds.a_gradient_step(call)
            and not model.feeds.is_differentiated(call)
        )

    def _is_made_of_unchanged(self, node: cst.BaseExpression) -> bool:
        """Whether the step loop makes `node` from the same data in each iteration, by numbers that it does not change:
        labels, as many ones as a batch has samples."""
        model, loop = self._model, self._model.loops.step_loop(node)
        if loop is None or isinstance(node, cst.Name | cst.Attribute | cst.Subscript):
            return False
        return (
            all(has(model.qualified(call.func), "computes-values") for call in calls_below(node))
            and not model.invariance.asks_the_host(node)
            and model.invariance.change(node, loop) is None
        )

    def _is_unchanged_array(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a NumPy array with a name, which stays the same in the step loop."""
        model = self._model
        loop = model.loops.step_loop(node)
        if (
            loop is None
            or not isinstance(node, cst.Name | cst.Attribute)
            or model.value(node).kind != "array"
        ):
            return False
        return model.loops.batches.size(node) not in (
            "scalar",
            "sample",
        ) and not model.invariance.varies(node, loop)
