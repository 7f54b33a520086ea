"""What a program writes to disk as it trains, besides scalars: summaries of tensors, weights, checkpoints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.execution.each_step import trains_for_epochs
from tflint_perf.analysis.execution.guards import Guards
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.once import Once
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import (
    argument,
    calls_below,
    keyword_argument,
    mentions,
    same_code,
    target_names,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass

WriteKind = Literal["summary", "weights", "flush"]

_SAVERS = ("save", "save_weights")


@dataclass(frozen=True, slots=True)
class Write:
    """A call that writes, and what it writes."""

    call: cst.Call
    kind: WriteKind


class Writes(Part):
    """Finds calls that write, and answers whether they do so on each step."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _guards: Guards
    _once: Once

    def __post_init__(self) -> None:
        self._on_each_step: dict[cst.CSTNode, bool] = {}

    def all(self) -> list[Write]:
        """Every call that writes weights, checkpoints or large summaries, in the order of the text."""
        return sorted(self._find(), key=lambda write: self._infer.place(write.call).order)

    def _find(self) -> Iterator[Write]:
        for call in self._walk.calls_named("histogram", "image"):
            if self._infer.names.is_call_that(call, "heavy-summary") and not self._is_compat(call.func):
                yield Write(call, "summary")
        for call in self._walk.calls_named(*_SAVERS):
            if isinstance(call.func, cst.Attribute) and self._saves(call, call.func.value):
                yield Write(call, "weights")
        for call in self._walk.calls.get("flush", ()):
            if isinstance(call.func, cst.Attribute) and self._is_writer(call, call.func.value):
                yield Write(call, "flush")

    def _is_writer(self, call: cst.Call, receiver: cst.BaseExpression) -> bool:
        """Whether `call` flushes a writer of summaries: `receiver` is made as one, or is given a summary beside the
        call, or `with writer.as_default():` stands around the call and a summary is written there."""
        value = self._infer.value(receiver)
        if value.known:
            return has(value.name, "summary-writer")
        if any(
            isinstance(given.func, cst.Attribute)
            and same_code(given.func.value, receiver)
            and self._calls.function_at(given) is self._calls.function_at(call)
            for given in self._walk.calls.get("add_summary", ())
        ):
            return True
        around = self._walk.parents.get(call)
        while around is not None and not isinstance(around, cst.FunctionDef):
            if isinstance(around, cst.With) and any(
                isinstance(item.item, cst.Call)
                and isinstance(item.item.func, cst.Attribute)
                and item.item.func.attr.value == "as_default"
                and same_code(item.item.func.value, receiver)
                for item in around.items
            ):
                return any(self._infer.names.is_call_that(below, "summary") for below in calls_below(around))
            around = self._walk.parents.get(around)
        return False

    def _is_compat(self, func: cst.BaseExpression) -> bool:
        """Whether `func` is a summary of TensorFlow 1, which makes an op and writes nothing."""
        return ".compat.v1." in (self._infer.names.dotted(func) or "")

    def _saves(self, call: cst.Call, receiver: cst.BaseExpression) -> bool:
        value = self._infer.value(receiver)
        if value.kind == "model":
            return not self._calls.targets(call)
        # A manager may be told to save only every so many steps.
        if not has(value.name, "checkpoints") or keyword_argument(call, "check_interval") is not None:
            return False
        return not any(
            keyword_argument(made, "checkpoint_interval") is not None for made in self._made(receiver)
        )

    def _made(self, receiver: cst.BaseExpression) -> Iterator[cst.Call]:
        """The calls that make what `receiver` is."""
        for binding in self._infer.given_to(receiver):
            if isinstance(binding.value, cst.Call):
                yield binding.value

    def runs_each_step(self, node: cst.CSTNode) -> bool:
        """Whether `node` runs on each step: per step, with no guard or other condition in front of it."""
        if not self._loops.is_per_step(node) or self._guards.guard_of(node) is not None:
            return False
        if isinstance(node, cst.Call) and (self._shows_each_item(node) or self._saves_another_model(node)):
            return False
        return not self._once.runs_seldom(node) and leads_to(node, self._on_each_step, self._each_step)

    def _saves_another_model(self, call: cst.Call) -> bool:
        """Whether each iteration saves a model that it has made: `model = make(); model.save(path)`."""
        if not isinstance(call.func, cst.Attribute) or not isinstance(call.func.value, cst.Name):
            return False
        receiver, loop = call.func.value, self._loops.innermost_loop(call)
        bindings = self._infer.bindings(receiver)
        if loop is None or not bindings or self._infer.value(receiver).kind != "model":
            return False
        return all(
            binding.kind == "assign" and isinstance(binding.value, cst.Call) and binding.at.block.loop is loop
            for binding in bindings
        )

    def _shows_each_item(self, call: cst.Call) -> bool:
        """Whether `call` writes a summary of each item of a loop, for a step around it: `image(f"digit {i}", …,
        step=epoch)`."""
        loop = self._loops.innermost_loop(call)
        name, step = argument(call, 0, "name"), keyword_argument(call, "step")
        if name is None or step is None or loop is None or isinstance(loop.node, cst.While):
            return False
        if self._loops.step_loop(call) is not loop:
            return False  # of variables, in each step
        items = {target.value for target in target_names(loop.node.target)}
        return mentions(name, items) and not mentions(step, items)

    def _each_step(self, node: cst.CSTNode) -> bool | list[cst.Call]:
        """Whether each step runs `node`, as far as its function shows; or else the calls of that function, any of which
        may do it."""
        loop = self._loops.step_loop(node)
        end = loop.node if loop is not None else None
        if not all(map(self._asks_whether_there, conditions(self._walk, node, end))):
            return False
        if loop is not None:
            return not (trains_for_epochs(loop) or self._is_called_behind_counter(loop.function))
        function = self._calls.function_at(node)
        if function is None:
            return False
        sites = [call for call in self._calls.sites(function) if self._loops.is_per_step(call)]
        callers = self._calls.callers_outside(function)
        if not sites:
            return not callers or any(caller.per_step and caller.always for caller in callers)
        return sites

    def _is_called_behind_counter(self, function: Function | None) -> bool:
        """Whether all calls of `function`, such as a validation, run under `if step % n`."""
        sites = self._calls.sites(function) if function is not None else []
        guards = [self._guards.guard_of(site) for site in sites]
        return bool(guards) and all(guard is not None and guard.counts for guard in guards)

    def _asks_whether_there(self, condition: cst.CSTNode) -> bool:
        """Whether `condition` only asks whether something exists: `if writer is not None`."""
        match condition:
            case cst.Comparison(
                left=left,
                comparisons=[
                    cst.ComparisonTarget(operator=cst.Is() | cst.IsNot(), comparator=cst.Name("None"))
                ],
            ):
                return not self._is_told_each_time(left)
        return False

    def _is_told_each_time(self, node: cst.BaseExpression) -> bool:
        """Whether a loop calls something again for the value of `node`: `reward = agent.play()`."""
        return any(
            binding.kind == "assign"
            and isinstance(binding.value, cst.Call)
            and binding.at.block.loop is not None
            for binding in self._infer.bindings(node)
        )
