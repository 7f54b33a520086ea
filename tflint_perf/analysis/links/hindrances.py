"""What stands against tracing the functions of a file, for the steps of other files that call them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tflint_perf.analysis.links.summary import reached_with
from tflint_perf.analysis.values.outside import name_called
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
    """The functions that tracing would change or break, by their names for other files, each with the reason.

    A function answers for itself, and for what has no name there; what it calls besides answers for itself. `traced` are
    those that TensorFlow itself compiles unless a program has all of them run in eager mode, which something is seen to
    stand against.
    """

    reasons: dict[str, str]
    traced: dict[str, Seen]


def hindrances(model: Model) -> Hindrances:
    """Those of all functions that other files may call."""
    return Hindrances(dict(_reasons(model)), dict(_of_traced(model)))


def _reasons(model: Model) -> Iterator[tuple[str, str]]:
    for function in model.walk.functions.values():
        name = name_called(function)
        reason = _reason(model, function) if name else ""
        if reason:
            yield name, reason


def _of_traced(model: Model) -> Iterator[tuple[str, Seen]]:
    for function in filter(model.compiled.would_be_traced, model.walk.functions.values()):
        name = name_called(function)
        obstacle = model.tracing.sure_obstacle(function) if name else None
        if obstacle is not None:
            yield name, Seen(obstacle.reason, model.row(obstacle.node) or 1)


def _reason(model: Model, function: Function) -> str:
    """The first obstacle in a function, or in one that runs with it; "" where there is none."""
    ways = map(model.tracing.obstacle_here, reached_with(model, function))
    return next((obstacle.reason for obstacle in ways if obstacle is not None), "")
