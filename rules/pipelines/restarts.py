"""Places that start a dataset's pipeline for the sake of one element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import libcst as cst

from tflint_perf.analysis.conventions import names_a_dataset
from tflint_perf.analysis.execution.invariance import Invariance
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.python.flow import encloses
from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.python.syntax import argument, callee_name, descendants, last_name
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import source
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass

_TAKES_NEXT = frozenset({"next", "get_next", "__next__"})
_DISTRIBUTES = frozenset(
    {
        "experimental_distribute_dataset",
        "distribute_dataset",
        "experimental_distribute_datasets_from_function",
        "distribute_datasets_from_function",
    }
)


@dataclass(frozen=True, slots=True)
class Restart:
    """One place that starts a pipeline.

    `node` is what is to be shown; `maker` the expression that makes the iterator, where there is one, and
    `dataset` the dataset in it.
    """

    node: cst.BaseExpression
    form: Literal["next", "name", "take", "single"]
    dataset: cst.BaseExpression
    maker: cst.BaseExpression | None = None


class Restarts(Part):
    """Finds the places that start a pipeline to take one element."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _invariance: Invariance

    def all(self) -> Iterator[Restart]:
        """Every place that restarts a dataset's pipeline for one element, by form."""
        yield from self._iterators()
        yield from self._loops_over_one()
        for call in self._walk.calls.get("get_single_element", ()):
            given = (
                call.func.value
                if isinstance(call.func, cst.Attribute) and not call.args
                else argument(call, 0, "dataset")
            )
            if given is not None and self._is_dataset(given):
                yield Restart(call, "single", given)

    def changes(self, restart: Restart) -> bool:
        """Whether the dataset of `restart` may be another one on each step."""
        return self._changes(restart.dataset, restart.node, set())

    def is_distributed(self, dataset: cst.BaseExpression) -> bool:
        """Whether `dataset` comes from a distribution strategy: such a one has no `repeat`."""
        match dataset:
            case cst.Call():
                return callee_name(dataset) in _DISTRIBUTES
            case cst.Name():
                bindings = self._infer.bindings(dataset)
            case cst.Attribute():
                classes = self._walk.classes.values()
                bindings = [binding for c in classes for binding in c.attributes.get(dataset.attr.value, ())]
            case _:
                return False
        return any(isinstance(b.value, cst.Call) and self.is_distributed(b.value) for b in bindings)

    # Forms

    def _iterators(self) -> Iterator[Restart]:
        for call in self._walk.calls_named(*_TAKES_NEXT):
            iterator = self._taken_from(call)
            if isinstance(iterator, cst.Name):
                yield from self._by_name(iterator)
            elif iterator is not None:
                dataset = self._dataset_in(iterator)
                if dataset is not None:
                    yield Restart(call, "next", dataset, iterator)

    def _taken_from(self, call: cst.Call) -> cst.BaseExpression | None:
        if isinstance(call.func, cst.Attribute):
            return call.func.value
        return (
            call.args[0].value
            if call.args and builtin_or_qualified(self._infer, call.func) == "next"
            else None
        )

    def _by_name(self, iterator: cst.Name) -> Iterator[Restart]:
        """The iterators with a name that a loop makes anew for each element: `iterator = iter(dataset)` in the loop of
        its `next(iterator)`."""
        loop = self._loops.step_loop(iterator)
        bindings = self._infer.bindings(iterator)
        if loop is None or len(bindings) != 1 or not self._invariance.is_bound_in(bindings[0], loop):
            return
        maker = bindings[0].value
        if maker is None or bindings[0].kind != "assign" or bindings[0].path != ():
            return
        dataset = self._dataset_in(maker)
        if dataset is not None and encloses(bindings[0].at.block, self._infer.place(iterator).block):
            yield Restart(maker, "name", dataset, maker)

    def _dataset_in(self, maker: cst.BaseExpression) -> cst.BaseExpression | None:
        """The dataset that `maker` makes an iterator of: `iter(d)`, `d.as_numpy_iterator()`."""
        if not isinstance(maker, cst.Call):
            return None
        given: cst.BaseExpression | None = None
        if isinstance(maker.func, cst.Attribute):
            if callee_name(maker) in ("as_numpy_iterator", "__iter__"):
                given = maker.func.value
        elif builtin_or_qualified(self._infer, maker.func) == "iter" and maker.args:
            given = maker.args[0].value
            inner = self._dataset_in(given)
            if inner is not None:
                return inner
        return given if given is not None and self._is_dataset(given) else None

    def _loops_over_one(self) -> Iterator[Restart]:
        for loop in self._walk.loops.values():
            iterable = source(self._infer, loop.iterable) if loop.iterable is not None else None
            taken = self._of_which_one_is_taken(iterable)
            if (
                isinstance(iterable, cst.Call)
                and taken is not None
                and (self._is_dataset(taken) or self._is_called_one(taken))
            ):
                yield Restart(iterable, "take", taken)

    def _of_which_one_is_taken(self, call: cst.CSTNode | None) -> cst.BaseExpression | None:
        """`dataset` of `dataset.take(1)`."""
        if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
            return None
        if callee_name(call) != "take" or self._infer.integers.only(argument(call, 0, "count")) != 1:
            return None
        return call.func.value

    def _is_dataset(self, node: cst.BaseExpression) -> bool:
        return self._infer.value(node).kind == "dataset"

    def _is_called_one(self, node: cst.BaseExpression) -> bool:
        """Whether `node`, of which a loop takes one element, is a dataset by its name alone."""
        known = not isinstance(node, cst.Name | cst.Attribute) or self._infer.value(node).known
        return not known and bool(names_a_dataset(last_name(node)))

    # The same dataset each time

    def _changes(self, node: cst.BaseExpression, place: cst.CSTNode, seen: set[Binding]) -> bool:
        loop = self._loops.step_loop(place)
        if loop is not None:
            return self._invariance.varies(node, loop)
        return self._invariance.asks_the_host(node) or any(
            self._name_changes(part, place, seen)
            for part in descendants(node)
            if isinstance(part, cst.Name) and part in self._walk.parents
        )

    def _name_changes(self, name: cst.Name, place: cst.CSTNode, seen: set[Binding]) -> bool:
        """Whether `name`, in a function that a step loop calls, may stand for another value on each call."""
        function = self._calls.function_at(place)
        for binding in self._infer.bindings(name):
            if binding.kind == "import" or (
                binding.at.block.function is not function and binding.kind != "param"
            ):
                continue
            if binding in seen:
                return True
            seen.add(binding)
            if binding.kind == "assign" and binding.value is not None:
                if self._changes(binding.value, place, seen):
                    return True
            elif binding.kind == "param" and function is not None:
                if function.owner is not None and function.positional[:1] == [binding.name]:
                    continue
                if self._argument_changes(function, binding.name, seen):
                    return True
            else:
                return True
        return False

    def _argument_changes(self, function: Function, parameter: str, seen: set[Binding]) -> bool:
        for given in self._calls.arguments(function, parameter):
            if self._loops.is_per_step(given) and self._changes(given, given, seen):
                return True
        return False
