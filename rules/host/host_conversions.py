"""Batches of host data that the loop itself converts to tensors for its step, and whether they are there before it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_perf.analysis.conventions import names_a_number
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.guards import Guards
from tflint_perf.analysis.execution.invariance import Invariance
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.sizes import has_environment
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.python.syntax import calls_below, is_constant, last_name
from tflint_perf.analysis.training.feeds import Feeds
from tflint_perf.analysis.training.training_steps import TrainingSteps
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.library_calls import LibraryCalls
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass

_TENSORS = ("tensor", "variable")


@dataclass(frozen=True, slots=True)
class Conversion:
    """A call that makes a tensor of host data on each step; `unchanged` where it is the same data each time."""

    call: cst.Call
    unchanged: bool


class HostConversions(Part):
    """Finds the conversions of batches that a gradient step or a model uses."""

    _infer: Inference
    _calls: CallGraph
    _compiled: Compiled
    _loops: Loops
    _guards: Guards
    _invariance: Invariance
    _feeds: Feeds
    _training_steps: TrainingSteps
    _library_calls: LibraryCalls

    def all(self) -> Iterator[Conversion]:
        """The conversions in eager code that runs per step."""
        for call in self._library_calls.that("makes-tensor", "casts"):
            given = call.args[0].value if call.args else None
            if (
                given is None
                or is_constant(given)
                or not self._compiled.is_eager(call)
                or not self._is_per_step(call)
            ):
                continue
            unchanged = self._is_unchanged_array(given)
            if not unchanged:
                if not self._is_host_batch(call, given):
                    continue
                unchanged = self._is_made_of_unchanged(given)
            if not self._loops.batches.is_made_one_of(call) and self._feeds_a_step(call):
                yield Conversion(call, unchanged)

    def _is_per_step(self, call: cst.Call) -> bool:
        """Whether `call` runs per step, or beside a gradient step that a loop repeats or may repeat."""
        return self._loops.is_per_step(call) or (
            self._training_steps.hold(call)
            and (self._loops.may_be_per_step(call) or self._loops.is_repeated(call))
        )

    def _feeds_a_step(self, call: cst.Call) -> bool:
        """Whether a step uses the result of `call`. A gradient step behind a guard is one all the same, and takes this
        batch."""
        feeds = self._feeds
        guarded = self._guards.guard_of(call) is not None
        return feeds.a_gradient_step(call) if guarded else feeds.a_step(call)

    def _is_host_batch(self, call: cst.Call, node: cst.BaseExpression) -> bool:
        value = self._infer.value(node)
        is_cast = self._infer.names.is_call_that(call, "casts")
        match value.kind:
            case "array":
                on_host = True
            case "list":
                # Of tensors, one is made on the device.
                of = value.element
                on_host = (of is None or of.kind not in _TENSORS or of.host) and not self._gets_tensors(node)
            case "tensor":
                # An element of a dataset. A function that gets it, a loss for instance, may get any tensor. To cast it
                # behind the copy to the device is as good as before: eight bits are fewer bytes than the floats of them.
                on_host = value.host and not is_cast and self._loops.step_loop(call) is not None
            case "unknown":
                # A batch that is made a tensor was none, unless a step is known to give a tensor.
                on_host = (
                    not is_cast
                    and not self._loops.batches.is_length(node)
                    and not self._may_be_tensor(node, 0)
                )
            case _:
                on_host = False
        if not on_host:
            return False
        size = self._loops.batches.size(node)
        # What a gradient step is fed, and is no setting of it, is a batch.
        return size == "batch" or (
            size == "unknown"
            and value.kind != "tensor"
            and (value.kind == "array" or not is_cast)
            and not names_a_number(last_name(node))
            and self._feeds.a_gradient_step(call, elsewhere=True)
            and not self._feeds.is_differentiated(call)
        )

    def _gets_tensors(self, node: cst.BaseExpression) -> bool:
        """Whether tensors may be put into the list `node`, of which one is made on the device."""
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        return found is not None and any(
            self._may_be_tensor(put.value, 0)
            for binding in found[1]
            for put in self._infer.contents.puts(binding, found[0])
        )

    def _may_be_tensor(self, node: cst.BaseExpression, depth: int) -> bool:
        """Whether `node` is a tensor, a part of one or computed with one, where a name has it from one of several places."""
        value = self._infer.value(node)
        if value.kind != "unknown" or depth > CALLS_DEEP:
            return value.kind in _TENSORS and not value.host
        match node:
            case cst.BinaryOperation(left=left, right=right) | cst.IfExp(body=left, orelse=right):
                return any(self._may_be_tensor(side, depth) for side in (left, right))
            case cst.Subscript(value=whole):
                return self._may_be_tensor(whole, depth)
            case cst.Name():
                given = list(self._given(node))
                # Where a step is known to get an array, that is copied.
                return any(self._may_be_tensor(each, depth + 1) for each in given) and not any(
                    self._infer.value(each).kind == "array" for each in given
                )
        return False

    def _given(self, name: cst.Name) -> Iterator[cst.BaseExpression]:
        """What a name is assigned as a whole, or a parameter is given by the calls that run per step."""
        for binding in self._infer.bindings(name):
            if binding.kind == "assign" and binding.value is not None and binding.path == ():
                yield binding.value
            elif (function := self._infer.names.function_with.get(binding.node)) is not None:
                sites = [site for site in self._calls.sites(function) if self._loops.is_per_step(site)]
                yield from self._calls.arguments(function, binding.name, sites)

    def _is_made_of_unchanged(self, node: cst.BaseExpression) -> bool:
        """Whether the step loop makes `node` from the same data in each iteration, by numbers that it does not change:
        labels, as many ones as a batch has samples."""
        loop = self._loops.step_loop(node)
        if loop is None or isinstance(node, cst.Name | cst.Attribute | cst.Subscript):
            return False
        return (
            all(self._infer.names.is_call_that(call, "computes-values") for call in calls_below(node))
            and not self._invariance.asks_the_host(node)
            and self._invariance.change(node, loop) is None
        )

    def _is_unchanged_array(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a NumPy array with a name, which stays the same in the step loop."""
        loop = self._loops.step_loop(node)
        if (
            loop is None
            or not isinstance(node, cst.Name | cst.Attribute)
            or self._infer.value(node).kind != "array"
        ):
            return False
        return self._loops.batches.size(node) not in (
            "scalar",
            "sample",
        ) and not self._invariance.varies(node, loop)


# Whether a dataset could hold what is converted. What is new on each step none can: samples of a memory, say, or what the
# program has just played.


_CONSTRUCTORS = frozenset({"__init__", "build", "setup"})


class StandingData(Part):
    """Answers whether a batch is a part of data that stand before the step, so that a dataset can hold them."""

    _infer: Inference
    _calls: CallGraph

    def give(self, node: cst.BaseExpression) -> bool:
        """Whether the batch `node` is a slice of standing data, or what a loop or `next` takes of them, also where a step
        computes with it. What a program plays, it makes as it goes."""
        return not self._plays and self._is_part(node, 0)

    @cached_property
    def _plays(self) -> bool:
        return has_environment(self._walk.calls)

    @cached_property
    def _filled(self) -> frozenset[str]:
        """The attributes that methods fill as the program goes: `self.states[i] = state`, `self.memory.append(…)`."""
        places = [
            target.target.value
            for statement in self._walk.at
            if isinstance(statement, cst.Assign)
            for target in statement.targets
            if isinstance(target.target, cst.Subscript)
        ]
        places += [
            call.func.value
            for call in self._walk.calls.get("append", ())
            if isinstance(call.func, cst.Attribute)
        ]
        return frozenset(
            place.attr.value
            for place in places
            if isinstance(place, cst.Attribute)
            and (function := self._calls.function_at(place)) is not None
            and function.name not in _CONSTRUCTORS
        )

    def _is_part(self, node: cst.BaseExpression, depth: int) -> bool:
        if depth > CALLS_DEEP:
            return False
        match node:
            case cst.Subscript() if not takes_part(node):
                return self._is_part(node.value, depth + 1)
            case cst.Subscript():
                return not (isinstance(node.value, cst.Attribute) and node.value.attr.value in self._filled)
            case cst.Name():
                found = self._infer.bindings_reaching(node)
                return found is not None and any(
                    self._is_bound_to_part(binding, found[0].function, depth) for binding in found[1]
                )
            case cst.Call(func=cst.Name("next")):
                return True
            case cst.Call() if self._infer.names.is_call_that(node, "draws-doubles"):
                return True  # noise in place of data, as examples have it
            case cst.Call():
                parts = [arg.value for arg in node.args]
                if not self._infer.names.is_call_that(node, "computes-values"):
                    parts = [node.func.value] if isinstance(node.func, cst.Attribute) else []
                return any(self._is_part(part, depth + 1) for part in parts)
            case (
                cst.BinaryOperation(left=cst.List() as repeated)
                | cst.BinaryOperation(right=cst.List() as repeated)
            ):
                return self._is_part(repeated, depth + 1)
            case cst.BinaryOperation(left=left, right=right):
                return any(self._is_part(side, depth + 1) for side in (left, right))
            case cst.List() | cst.Tuple():
                return any(self._is_part(element.value, depth + 1) for element in node.elements)
        return False

    def _is_bound_to_part(self, binding: Binding, function: Function | None, depth: int) -> bool:
        match binding.kind:
            case "for":
                return True
            case "assign" | "comprehension":
                return binding.value is not None and self._is_part(binding.value, depth + 1)
            case "param":
                given = self._calls.arguments(function, binding.name) if function is not None else []
                return any(self._is_part(each, depth + 1) for each in given)
        return False


def takes_part(node: cst.Subscript) -> bool:
    """Whether a subscript takes a part of what it is of: `x[:, None]` has all of `x`, and one more axis."""
    return not all(_takes_all(part.slice) for part in node.slice)


def _takes_all(place: cst.BaseSlice) -> bool:
    match place:
        case cst.Slice(lower=None, upper=None):
            return True
        case cst.Index(value=cst.Ellipsis()):
            return True
        case cst.Index(value=value):
            return last_name(value) in ("None", "newaxis")
    return False
