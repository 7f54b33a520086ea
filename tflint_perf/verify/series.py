"""From a result on record to what a chart shows, run by run: step time over steps, and what the claim is about besides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from tflint_perf.catalogue.measured import Run, Side, runs_of

SIDES: tuple[Side, Side] = ("slow", "fast")
# From here on, a linear scale presses the fast script against the axis.
_FAR_APART = 6
# Beyond these shares of the points lies what a busy machine did to a window. It is left out where it would press the rest
# flat, being so many times as much, and the chart says so.
_USUAL = (0.02, 0.98)
_FLAT = 3
# What is counted as a run goes on: the place of each in `counts`, and how a chart of it is called.
_COUNTED: Mapping[str, tuple[int, str]] = {
    "live tensors": (1, "Live tensors"),
    "traces": (2, "Traces so far"),
    "graph ops": (3, "Ops in all graphs"),
}

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Line:
    """One run: (step, value) in the order of the steps. The `typical` run is the middle one of its script."""

    side: Side
    points: Sequence[Point]
    typical: bool


@dataclass(frozen=True, slots=True)
class Chart:
    """What one chart shows: both scripts of an experiment, or one program; values are seconds, bytes, or numbers of things.

    `left_out` is how many points lie above it.
    """

    title: str
    lines: Sequence[Line]
    low: float
    high: float
    last_step: float
    is_time: bool
    logarithmic: bool = False
    is_count: bool = False
    left_out: int = 0
    names: Mapping[Side, str] = field(default_factory=lambda: {side: side for side in SIDES})

    @property
    def sides(self) -> Sequence[Side]:
        """Those of which there are runs."""
        return [side for side in SIDES if any(line.side == side for line in self.lines)]

    def typical(self, side: Side) -> Line:
        return next(line for line in self.lines if line.side == side and line.typical)


def charts_of(result: Mapping[str, Any], names: Mapping[Side, str] | None = None) -> Sequence[Chart]:
    """The charts of one result: none when nothing ran to its end. `names` are what its sides are called there.

    Beside step time stands what a claim says of something else that can be followed: live tensors, traces, ops, or memory;
    where step time is claimed to grow, that is the memory of what makes it grow. Of a user's own program, which has `names`,
    both step time and memory are drawn.
    """
    if any(len(run["windows"]) < 2 for side in SIDES for run in runs_of(result, side)):
        return ()
    if not all(runs_of(result, side) for side in SIDES):
        return ()
    if names is not None:
        both = _step_time(result), _memory(result, of_program=True)
        return tuple(replace(chart, names=names) for chart in both)
    metric, kind = result["claim"]["metric"], result["claim"]["kind"]
    if metric in _COUNTED:
        return _step_time(result), _counted(result, metric)
    of_memory = metric == "host memory" or (metric, kind) == ("step time", "growth")
    return (_step_time(result), *([_memory(result, of_program=False)] if of_memory else []))


def last_steps(result: Mapping[str, Any]) -> Mapping[Side, int]:
    """How far the runs of each script came while they were timed, at most: slow ones are ended before their last step."""
    return {
        side: max(at + steps for run in runs_of(result, side) for at, steps, _ in run["windows"])
        for side in SIDES
    }


def _step_time(result: Mapping[str, Any]) -> Chart:
    lines = _lines(result, lambda run: [(at + n / 2, took / n) for at, n, took in run["windows"]])
    slow, fast = (median(y for line in lines if line.side == side for _, y in line.points) for side in SIDES)
    low, high, left_out = _range(lines)
    apart = max(slow, fast) / max(min(slow, fast), 1e-9) >= _FAR_APART
    if apart and result["claim"]["kind"] == "ratio" and low > 0:
        low, high = low / 1.4, high * 1.4
        return Chart(
            "Step time", lines, low, high, _last_step(result), True, logarithmic=True, left_out=left_out
        )
    return Chart("Step time", lines, 0.0, high * 1.12, _last_step(result), True, left_out=left_out)


def _counted(result: Mapping[str, Any], metric: str) -> Chart:
    """What is counted, from zero."""
    place, title = _COUNTED[metric]
    lines = _lines(result, lambda run: [(counts[0], counts[place]) for counts in run["counts"]])
    high = max(value for line in lines for _, value in line.points)
    return Chart(title, lines, 0.0, max(high, 1) * 1.08, _last_step(result), False, is_count=True)


def _memory(result: Mapping[str, Any], of_program: bool) -> Chart:
    """Memory from zero: of an experiment what it took since before its first step, of a program all that it has.

    Before its first step an experiment has TensorFlow in memory and has made nothing yet; a program has no such moment.
    """
    lines = _lines(result, _resident if of_program else _taken)
    high = max(value for line in lines for _, value in line.points)
    if of_program:
        return Chart("Memory of the process", lines, 0.0, high * 1.08, _last_step(result), False)
    # What takes less than a megabyte takes nothing that this axis could show.
    return Chart("Memory taken since the start", lines, 0.0, max(high, 1e6) * 1.08, _last_step(result), False)


def _resident(run: Run) -> Sequence[Point]:
    return [(at, held) for at, held in run["memory"] if at > 0]


def _taken(run: Run) -> Sequence[Point]:
    (_, before), *later = run["memory"]
    return [(at, max(held - before, 0)) for at, held in later]


def _last_step(result: Mapping[str, Any]) -> float:
    return float(max(last_steps(result).values()))


def _lines(result: Mapping[str, Any], points: Callable[[Run], Sequence[Point]]) -> Sequence[Line]:
    lines = []
    for side in SIDES:
        runs = sorted(runs_of(result, side), key=lambda run: run["step"])
        lines += [Line(side, points(run), rank == len(runs) // 2) for rank, run in enumerate(runs)]
    return lines


def _range(lines: Sequence[Line]) -> tuple[float, float, int]:
    """The least and the largest value to show, and how many lie above: none, unless they would press the rest flat."""
    values = sorted(y for line in lines for _, y in line.points)
    usual = [values[round(share * (len(values) - 1))] for share in _USUAL]
    typical = [_trimmed([y for _, y in line.points]) for line in lines if line.typical]
    high = max(usual[1], *(value for trimmed in typical for value in trimmed))
    if values[-1] <= high * _FLAT:
        return values[0], values[-1], 0
    return values[0], high, sum(value > high for value in values)


def _trimmed(values: Sequence[float]) -> Sequence[float]:
    ordered = sorted(values)
    cut = len(ordered) // 20
    return ordered[cut : len(ordered) - cut]
