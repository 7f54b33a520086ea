"""Datasets that a file makes for others: what its functions give, and what its names and attributes hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from functools import cached_property

import libcst as cst

from tflint_perf.analysis.pipelines.consumption import Consumption
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.values.bound_values import value_of_binding
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.outside import name_outside
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Value, is_stream
from tflint_perf.records import dataclass


@dataclass(frozen=True, slots=True)
class Offer:
    """A dataset that other files get by `name`, as the `part` of a tuple ("[1]") or as it is (""). `node` is where
    it stands last in this file."""

    name: str
    part: str
    node: cst.BaseExpression
    value: Value


class ExportedDatasets(Part):
    """Answers which of a file's datasets other files consume."""

    _infer: Inference
    _calls: CallGraph

    def consumptions(self, wanted: Callable[[Value], bool]) -> Iterator[Consumption]:
        """The offered datasets that other files consume as they are, of those that are `wanted`."""
        for offer in self._all:
            if wanted(offer.value):
                for consumer in self._calls.consumers_outside(offer.name):
                    if consumer.which in (offer.part, "*"):
                        yield Consumption(offer.node, offer.value, "train")
                        break

    def names_of(self, nodes: Set[cst.CSTNode]) -> set[str]:
        """The names by which other files get a dataset that one of `nodes` has a part in."""
        return {
            offer.name
            for offer in self._all
            if offer.node in nodes
            or any(stage.call in nodes for way in offer.value.pipelines for stage in way)
        }

    @cached_property
    def _all(self) -> list[Offer]:
        return [*self._given_by_functions(), *self._held_by_names(), *self._held_by_attributes()]

    def _given_by_functions(self) -> Iterator[Offer]:
        for function in self._walk.functions.values():
            name = name_outside(function)
            if name and function.returns and not function.yields:
                value = self._infer.returned(function)
                if is_stream(value):
                    yield Offer(name, "", _returned(function, None), value)
                for at, part in enumerate(value.items or ()):
                    if is_stream(part):
                        yield Offer(name, f"[{at}]", _returned(function, at), part)

    def _held_by_names(self) -> Iterator[Offer]:
        top = self._walk.top
        for name, bindings in top.bindings.items():
            last = bindings[-1] if bindings else None
            if last is not None and last.kind == "assign" and last.value is not None:
                value = value_of_binding(self._infer, last, top)
                if is_stream(value):
                    yield Offer(name, "", last.value, value)

    def _held_by_attributes(self) -> Iterator[Offer]:
        for klass in self._walk.classes.values():
            for name, bindings in klass.attributes.items() if klass.function is None else ():
                value = self._infer.classes.member(self._infer.classes.instance_of(klass), name)
                node = bindings[-1].value if bindings else None
                if value is not None and is_stream(value) and node is not None:
                    yield Offer(f"{klass.name}.{name}", "", node, value)


def _returned(function: Function, at: int | None) -> cst.BaseExpression:
    """What the first `return` of `function` gives, or a part of that."""
    given = next(statement.value for statement in function.returns if statement.value is not None)
    if at is not None and isinstance(given, cst.Tuple) and at < len(given.elements):
        return given.elements[at].value
    return given
