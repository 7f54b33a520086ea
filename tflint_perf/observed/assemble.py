"""From what the observer wrote down to a record: medians, intervals, and parts of a step without the observer's own time."""

from __future__ import annotations

import datetime
import linecache
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any

from tflint_perf.measured.record import (
    PARTS,
    Event,
    Growth,
    Interval,
    Kept,
    Line,
    Part,
    Record,
    Spot,
    Steps,
    Traced,
)
from tflint_perf.observe.user_code import cell_of
from tflint_perf.observe.watcher import UNEVEN
from tflint_perf.verify.statistics import growth, over_pairs, slope

_MEGABYTE = 2**20
# Of a timer's own time, how much lies in what it times; the rest is spent once that is over, in what is around it.
_INSIDE = 0.3
# How many times as long a timer may take as in a loop of its own, at most.
_DEEP = 10.0
_BLOCKS = 20
_LEAST_STEPS = 5
_STEADY = 5
# A line that holds less of a step is left out, unless something is known to happen there.
_LEAST_SHARE = 0.001
_PLAIN, _TIMED, _CLOSE = "plain", "timed", "close"


def record_of(seen: Mapping[str, Any], program: Sequence[str], root: Path) -> Record:
    """The record of a run, from the observer's document. Findings are left to `settle`."""
    modes: Sequence[str] = seen["modes"]
    steps = [(ended, seconds, modes[mode], updates) for ended, seconds, mode, updates in seen["steps"]]
    times = {
        mode: [seconds for _, seconds, other, _ in steps if other == mode]
        for mode in (_PLAIN, _TIMED, _CLOSE)
    }
    usual = times[_PLAIN] or times[_TIMED] or [seconds for _, seconds, _, _ in steps[1:]]
    uneven = _are_uneven(usual)
    step = _typical(usual, fmean if uneven else median) if usual else None
    parts = parts_of(seen, step.value, uneven=uneven) if step and seen["close"]["steps"] else {}
    whole = sum(parts.values())
    return Record(
        program=tuple(program),
        root=str(root),
        date=datetime.date.today().isoformat(),
        versions=dict(seen["versions"]),
        device=seen["device"],
        ended=seen["how"],
        code=seen["code"],
        wall=seen["wall"],
        steps=_steps(seen),
        first_step=seen["first_step"],
        step=step,
        median_step=median(usual) if usual else None,
        mean_step=_mean([seconds for _, seconds, mode, _ in steps if mode in (_PLAIN, _TIMED)] or usual),
        parts={part: seconds / whole * step.value for part, seconds in parts.items()}
        if step and whole
        else {},
        parts_sum=whole / step.value if step and whole else None,
        observer=_observer(seen, steps, step.value if step else 0.0),
        detail=(fmean if uneven else median)(times[_CLOSE]) / step.value
        if times[_CLOSE] and step and step.value
        else None,
        lines=_lines(seen, root, step.value if step else 0.0),
        traces=_traces(seen),
        growth=_growth(seen, steps),
        kept=_kept(seen),
        reached=tuple(_spot(place) for place in seen["reached"]),
        looked_at={
            "time": len(times[_PLAIN]),
            "lines": len(times[_TIMED]),
            "details": seen["close"]["steps"],
        },
    )


def _typical(times: Sequence[float], of: Callable[[Sequence[float]], float]) -> Interval:
    """The median or mean step, with an interval over blocks of steps: steps next to each other are much alike."""
    size = max(1, len(times) // _BLOCKS)
    blocks = [of(times[start : start + size]) for start in range(0, len(times) - size + 1, size)]
    found, value = over_pairs(blocks), of(times)
    return Interval(value, min(found.low, value), max(found.high, value))


def _are_uneven(times: Sequence[float]) -> bool:
    """Whether the mean step says more than the median: some steps do much that others don't, as where a whole episode is played
    between two of them. A few may be longer for what else the machine does."""
    most = sorted(times)[: len(times) - max(1, len(times) // 50)]
    return bool(most) and fmean(most) > UNEVEN * median(times)


def _mean(times: Sequence[float]) -> float | None:
    return sum(times) / len(times) if times else None


def _observer(
    seen: Mapping[str, Any], steps: Sequence[tuple[float, float, str, int]], step: float
) -> Interval | None:
    """How many times as long a timed step takes as a plain one, from neighbouring stretches of both.

    What timers take that have nothing to do is there in both, and is added.
    """
    blocks = [
        (mode, median([seconds for _, seconds, _, _ in block]))
        for mode, block in ((mode, list(group)) for mode, group in groupby(steps, lambda step: step[2]))
        if mode in (_PLAIN, _TIMED)
    ]
    ratios = [
        (second / first if after == _TIMED else first / second)
        for (before, first), (after, second) in pairwise(blocks)
        if before != after and first > 0 and second > 0
    ]
    if not ratios:
        return None
    found = over_pairs(ratios)
    close = seen["close"]
    timers = sum(count for _, _, count in close["entries"]) / max(close["steps"], 1)
    idle = timers * close["idle"] / step if step else 0.0
    return Interval(found.value + idle, found.low + idle, found.high + idle)


def parts_of(seen: Mapping[str, Any], step: float, *, uneven: bool = False) -> dict[Part, float]:
    """Seconds by part of a step that takes `step` seconds, in the mean where steps are uneven."""
    close = seen["close"]
    count = close["steps"]
    a_step = defaultdict(float, _usual(close["by_step"], uneven=uneven))
    timer = _timer(close, sum(a_step.values()) - step)
    for outer, inner, entries in close["entries"]:
        a_step[inner] -= timer * _INSIDE * entries / count
        a_step[outer] -= timer * (1 - _INSIDE) * entries / count
    a_step = defaultdict(float, {part: max(seconds, 0.0) for part, seconds in a_step.items()})
    parts: dict[Part, float] = dict.fromkeys(PARTS, 0.0)
    for part in ("input", "tracing", "copies", "conversions", "files", "gc", "device"):
        parts[part] = a_step.get(part, 0.0)
    parts["device"] += a_step.get("function", 0.0)
    _split_ops(parts, a_step.get("op", 0.0), seen["profile"])
    _tell_input(parts, seen["profile"], step)
    kinds: Mapping[str, float] = seen["looks"]["kinds"]
    whole = sum(kinds.values())
    python = a_step.get("python", 0.0)
    for kind in ("dispatch", "files", "rest"):
        share = kinds.get(kind, 0.0) / whole if whole else float(kind == "dispatch")
        parts[kind] += python * share
    return parts


def _timer(close: Mapping[str, Any], longer: float) -> float:
    """What a timer takes in this program, where a step that is looked at closely takes so much longer.

    The deeper the calls, the longer the way to the user's line: what it takes in a loop of its own is the least.
    """
    timers: float = sum(entries for _, _, entries in close["entries"]) / close["steps"]
    least: float = close["timer"]
    return min(max(longer / timers, least), _DEEP * least) if timers else least


def _usual(steps: Sequence[Mapping[str, float]], *, uneven: bool) -> dict[str, float]:
    """The mean by part of the middle half of the steps: a busy machine makes some that are like no other. Of all, where steps
    are uneven."""
    ordered = sorted(steps, key=lambda parts: sum(parts.values()))
    cut = 0 if uneven else len(ordered) // 4
    middle = ordered[cut : len(ordered) - cut] or ordered
    names = {name for parts in middle for name in parts}
    return {name: sum(parts.get(name, 0.0) for parts in middle) / len(middle) for name in names}


def _split_ops(parts: dict[Part, float], ops: float, profile: Mapping[str, Any]) -> None:
    """An eager op is its kernel, and what it takes to start it; TensorFlow's profiler knows how much is which."""
    seconds = profile["events"]
    functions = seconds.get("functions", 0.0)
    kernels = max(seconds.get("EagerKernelExecute", 0.0) - functions, 0.0)
    whole = max(seconds.get("EagerExecute", 0.0) - functions, 0.0)
    share = min(kernels / whole, 1.0) if whole else 0.5
    parts["device"] += ops * share
    parts["dispatch"] += ops * (1 - share)


def _tell_input(parts: dict[Part, float], profile: Mapping[str, Any], step: float) -> None:
    """Waiting for a batch, as the profiler saw it, also inside a compiled function.

    A step that is looked at closely takes longer, so that less is left to wait for.
    """
    if not profile["seconds"]:
        return
    waited = profile["events"].get("IteratorGetNextOp", 0.0) / profile["seconds"] * step
    inside = min(max(waited - parts["input"], 0.0), parts["device"])
    parts["device"] -= inside
    parts["input"] = max(waited, parts["input"]) if inside == 0 else parts["input"] + inside


def _steps(seen: Mapping[str, Any]) -> Steps:
    notes = list(seen["notes"])
    if seen["others"]:
        notes.append(f"{seen['others']} updates in other threads are not counted")
    kind = seen["kind"] or "none"
    return Steps(
        count=len(seen["steps"]),
        kind=kind,
        loop=_spot(seen["loop"]) if seen["loop"] else None,
        update=_spot(seen["update"]) if seen["update"] else None,
        notes=tuple(notes),
    )


def _spot(place: Sequence[Any]) -> Spot:
    file, cell = cell_of(place[0])
    return Spot(file, int(place[1]), cell)


def _lines(seen: Mapping[str, Any], root: Path, step: float) -> tuple[Line, ...]:
    looks, close = seen["looks"], seen["close"]
    seconds = {(file, row): spent for file, row, spent in looks["lines"]}
    events: dict[tuple[str, int], list[Event]] = defaultdict(list)
    for kind, what, file, row, count, spent, size in close["events"]:
        each = 1 / max(close["steps"], 1)
        events[file, row].append(Event(kind, what, count * each, max(spent, 0.0) * each, size * each))
    later = max(len(seen["steps"]) - _STEADY, 1)
    for kind, what, file, row, count, spent, size in seen["ever"]:
        if kind == "file":
            later = max(close["steps"], 1)  # files are looked at in those steps alone
        events[file, row].append(Event(kind, what, count / later, spent / later, size / later))
        later = max(len(seen["steps"]) - _STEADY, 1)
    whole = looks["seconds"] or 1.0
    lines = []
    for place in {**seconds, **events}:
        if place[0] == "?":
            continue
        share = seconds.get(place, 0.0) / whole
        if share >= _LEAST_SHARE or place in events:
            happened = sorted(events[place], key=lambda event: -event.seconds)
            lines.append(Line(_spot(place), _source(root, place), share * step, share, tuple(happened)))
    return tuple(sorted(lines, key=lambda line: (-line.seconds, line.spot.file, line.spot.row)))


def _source(root: Path, place: tuple[str, int]) -> str:
    file, cell = cell_of(place[0])
    if cell is not None:
        return ""
    return linecache.getline(str(root / file), place[1]).strip()


def _traces(seen: Mapping[str, Any]) -> tuple[Traced, ...]:
    def key(trace: Mapping[str, Any]) -> tuple[str, str, int]:
        return trace["function"], trace["file"] or "", trace["row"]

    found = []
    for (function, file, row), group in groupby(sorted(seen["traces"], key=key), key):
        traces = list(group)
        where = Counter(tuple(trace["at"]) for trace in traces if trace["at"])
        called = where.most_common(1)[0][0] if where else None
        found.append(
            Traced(
                function=function,
                spot=_spot((file, row)) if file else None,
                called_at=_spot(called) if called else None,
                count=len(traces),
                in_steps=sum(trace["step"] >= _STEADY for trace in traces),
                seconds=sum(trace["seconds"] for trace in traces),
                causes=dict(Counter(trace["cause"] for trace in traces)),
            )
        )
    return tuple(sorted(found, key=lambda trace: (-trace.in_steps, -trace.count, trace.function)))


def _growth(seen: Mapping[str, Any], steps: Sequence[tuple[float, float, str, int]]) -> dict[str, Growth]:
    times = [(float(at), seconds) for at, (_, seconds, mode, _) in enumerate(steps, 1) if mode == _PLAIN]
    found: dict[str, Growth] = {}
    if len(times) >= 4 * _LEAST_STEPS:
        ratio = growth(times)
        found["step time"] = _grown(_thinned(times), ratio.low > 1.15)
    memory = [(float(step), float(size)) for step, size in seen["memory"] if step > _STEADY and size]
    found["host memory"] = _grown(memory, _rises(memory, 5 * _MEGABYTE, 0.01))
    columns = {"live tensors": 2, "traces": 3, "graph ops": 4, "device memory": 5}
    samples = [row for row in seen["samples"] if row[0] >= _STEADY]
    for name, column in columns.items():
        points = [(float(row[0]), float(row[column])) for row in samples]
        least = {"live tensors": 5.0, "traces": 3.0, "graph ops": 10.0}.get(name, 5.0 * _MEGABYTE)
        found[name] = _grown(points, _rises(points, least, 0.0, of_steps=0.1 if column in (2, 3) else 0.0))
    return {name: one for name, one in found.items() if one.points}


def _grown(points: Sequence[tuple[float, float]], grows: bool) -> Growth:
    found = slope(points)
    return Growth(Interval(found.value, found.low, found.high), bool(grows), tuple(points))


def _rises(points: Sequence[tuple[float, float]], least: float, share: float, of_steps: float = 0.0) -> bool:
    """Whether a count goes up beyond doubt, and by enough to matter: so much in all, such a share, so much a step."""
    if len(points) < 3:
        return False
    found = slope(points)
    (first, start), (last, end) = points[0], points[-1]
    enough = max(least, share * start, of_steps * (last - first))
    later = points[len(points) // 2]
    # Also in the second half: what a program sets up at its start is no growth.
    return found.low > 0 and end - start >= enough and end - later[1] >= enough / 3


def _thinned(points: Sequence[tuple[float, float]], most: int = 200) -> list[tuple[float, float]]:
    """Medians of stretches, at most so many."""
    size = max(1, len(points) // most)
    stretches = [points[start : start + size] for start in range(0, len(points), size)]
    return [
        (median(step for step, _ in stretch), median(value for _, value in stretch)) for stretch in stretches
    ]


def _kept(seen: Mapping[str, Any]) -> tuple[Kept, ...]:
    samples: Iterable[Sequence[float]] = [row for row in seen["samples"] if row[0] >= _STEADY]
    points = [(float(row[0]), float(row[2])) for row in samples]
    if not seen["holders"] or len(points) < 2:
        return ()
    a_step, whole = slope(points).value, sum(count for _, _, count in seen["holders"])
    return tuple(
        Kept(a_step * count / whole, holder, _spot(place) if place[0] != "?" else None)
        for holder, place, count in seen["holders"]
    )
