"""What stands in the way of a rewrite."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from tflint_perf.records import dataclass


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something that tracing would change or break, and where it stands; `may` says that it may be none, as a run would show."""

    node: cst.CSTNode
    reason: str
    may: bool = False


def worst(obstacles: Iterable[Obstacle]) -> Obstacle | None:
    """The first that surely is one, or else the first that may be one."""
    first = None
    for obstacle in obstacles:
        if not obstacle.may:
            return obstacle
        first = first or obstacle
    return first
