"""What stands against tracing the functions of a file, for the steps of other files that call them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_perf.analysis.links.summary import reached_with
from tflint_perf.analysis.python.obstacles import worst
from tflint_perf.analysis.values.outside import Hindrance, name_called
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.analysis.model import Model
    from tflint_perf.analysis.python.scopes import Function


@dataclass(frozen=True, slots=True)
class Seen:
    """A reason against tracing, and the row where it is seen."""

    reason: str
    row: int


@dataclass(frozen=True, slots=True)
class Hindrances:
    """The functions that tracing would change or break, by their names for other files, each with what stands against it.

    A function answers for itself, and for what has no name there; what it calls besides answers for itself. `traced` are
    those that TensorFlow itself compiles unless a program has all of them run in eager mode, which something is seen to
    stand against.
    """

    of: dict[str, Hindrance]
    traced: dict[str, Seen]


def hindrances(model: Model) -> Hindrances:
    """Those of all functions that other files may call."""
    return Hindrances(dict(_of_functions(model)), dict(_of_traced(model)))


def _of_functions(model: Model) -> Iterator[tuple[str, Hindrance]]:
    for function in model.walk.functions.values():
        name = name_called(function)
        found = _hindrance(model, function) if name else None
        if found is not None:
            yield name, found


def _of_traced(model: Model) -> Iterator[tuple[str, Seen]]:
    for function in filter(model.compiled.would_be_traced, model.walk.functions.values()):
        name = name_called(function)
        obstacle = model.tracing.sure_obstacle(function) if name else None
        if obstacle is not None:
            yield name, Seen(obstacle.reason, model.row(obstacle.node) or 1)


def _hindrance(model: Model, function: Function) -> Hindrance | None:
    """What stands against tracing a function, or one that runs with it; None for nothing."""
    found = worst(filter(None, map(model.tracing.obstacle_here, reached_with(model, function))))
    return Hindrance(found.reason, found.may) if found is not None else None
