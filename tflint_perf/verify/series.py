"""From a result on record to what a chart shows: step time over steps and memory over steps, run by run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from tflint_perf.catalogue.measured import Run, Side, runs_of

SIDES: tuple[Side, Side] = ("slow", "fast")
# From here on, a linear scale presses the fast script against the axis.
_FAR_APART = 6
# Beyond these shares of the points, what a busy machine did to a window: cut off, so that the rest can be seen.
_SHOWN = (0.02, 0.98)
# A resident set that moves by less than this share did not move.
_LEAST_SPAN = 0.04

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Line:
    """One run: (step, value) in the order of the steps. The `typical` run is the middle one of its script."""

    side: Side
    points: Sequence[Point]
    typical: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """What one chart shows: both scripts of an experiment, or one program; values are seconds, bytes, or numbers of things."""

    title: str
    lines: Sequence[Line]
    low: float
    high: float
    last_step: float
    is_time: bool
    logarithmic: bool = False
    is_count: bool = False
    names: Mapping[Side, str] = field(default_factory=lambda: {side: side for side in SIDES})

    @property
    def sides(self) -> Sequence[Side]:
        """Those of which there are runs."""
        return [side for side in SIDES if any(line.side == side for line in self.lines)]

    def typical(self, side: Side) -> Line:
        return next(line for line in self.lines if line.side == side and line.typical)


def charts_of(result: Mapping[str, Any], names: Mapping[Side, str] | None = None) -> Sequence[Chart]:
    """The charts of one result: none when nothing ran to its end. `names` are what its sides are called there."""
    if any(len(run["windows"]) < 2 for side in SIDES for run in runs_of(result, side)):
        return ()
    if not all(runs_of(result, side) for side in SIDES):
        return ()
    charts = _step_time(result), _memory(result)
    return charts if names is None else tuple(replace(chart, names=names) for chart in charts)


def _step_time(result: Mapping[str, Any]) -> Chart:
    lines = _lines(result, lambda run: [(at + n / 2, took / n) for at, n, took in run["windows"]])
    slow, fast = (median(y for line in lines if line.side == side for _, y in line.points) for side in SIDES)
    low, high = _range(lines)
    apart = max(slow, fast) / max(min(slow, fast), 1e-9) >= _FAR_APART
    if apart and result["claim"]["kind"] == "ratio" and low > 0:
        return Chart("Step time", lines, low / 1.4, high * 1.4, _last_step(result), True, logarithmic=True)
    return Chart("Step time", lines, 0.0, high * 1.12, _last_step(result), True)


def _memory(result: Mapping[str, Any]) -> Chart:
    # The first entry is from before the first step, when nothing had been made yet.
    lines = _lines(result, lambda run: [(at, size) for at, size in run["memory"] if at > 0])
    held = [value for line in lines for _, value in line.points]
    low, high = min(held), max(held)
    room = max(_LEAST_SPAN * high - (high - low), 0.16 * (high - low)) / 2
    return Chart("Memory of the process", lines, max(low - room, 0), high + room, _last_step(result), False)


def _last_step(result: Mapping[str, Any]) -> float:
    return max(
        float(at + steps)
        for side in SIDES
        for run in runs_of(result, side)
        for at, steps, _ in run["windows"]
    )


def _lines(result: Mapping[str, Any], points: Callable[[Run], Sequence[Point]]) -> Sequence[Line]:
    lines = []
    for side in SIDES:
        runs = sorted(runs_of(result, side), key=lambda run: run["step"])
        lines += [Line(side, points(run), rank == len(runs) // 2) for rank, run in enumerate(runs)]
    return lines


def _range(lines: Sequence[Line]) -> Point:
    """The least and the largest value, but for a few outliers of runs that are not the typical one."""
    values = sorted(y for line in lines for _, y in line.points)
    typical = [y for line in lines if line.typical for _, y in line.points]
    low, high = (values[round(share * (len(values) - 1))] for share in _SHOWN)
    return min(low, *_trimmed(typical)), max(high, *_trimmed(typical))


def _trimmed(values: Sequence[float]) -> Sequence[float]:
    ordered = sorted(values)
    cut = len(ordered) // 20
    return ordered[cut : len(ordered) - cut]
