"""From what the observer wrote down to a record: medians, intervals, and parts of a step without the observer's own time."""

from __future__ import annotations

import datetime
import linecache
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from math import sqrt
from pathlib import Path
from statistics import fmean, median
from typing import Any

from tflint_perf.catalogue.figures import seconds as in_words
from tflint_perf.measured.record import (
    PARTS,
    Event,
    EventKind,
    Growth,
    Interval,
    Kept,
    Line,
    Part,
    Record,
    Spot,
    Steps,
    Traced,
    Way,
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
# Rows that ran, as the observer names them: the innermost first.
_Stack = tuple[tuple[str, int], ...]
_Typical = Callable[[Sequence[float]], float]
_PLAIN, _TIMED, _CLOSE, _DISTURBED = "plain", "timed", "close", "disturbed"
# Where fewer steps make graphs, these are none of the usual ones.
_OFTEN_TRACED = 0.1
# How far the work of steps that do the same may be apart; of steps that are compared for want of such.
_SAME_WORK, _LIKE_WORK = 1.1, 1.5
_LEAST_LIKE = 3
# A step that is looked at closely is compared with so many of those next to it: what slows a machine lasts.
_NEXT_TO_IT = 8


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was seen: `work` is how many ops and functions it started, 0 where that was not counted."""

    number: int
    ended: float
    seconds: float
    mode: str
    work: int

    def is_like(self, other: Step, times: float) -> bool:
        """Whether one does at most so many times what the other does."""
        less, more = sorted((self.work, other.work))
        return more <= times * less or more == less


def steps_of(seen: Mapping[str, Any]) -> list[Step]:
    """The steps of a run, in the order in which they were made."""
    work = seen.get("work") or [0] * len(seen["steps"])
    return [
        Step(number, ended, seconds, seen["modes"][mode], started)
        for number, ((ended, seconds, mode, _), started) in enumerate(zip(seen["steps"], work, strict=True))
    ]


def record_of(seen: Mapping[str, Any], program: Sequence[str], root: Path) -> Record:
    """The record of a run, from the observer's document. Findings are left to `settle`."""
    every = steps_of(seen)
    steps = _without_rare_traces(seen, every)
    times = {mode: [step.seconds for step in steps if step.mode == mode] for mode in (_PLAIN, _TIMED, _CLOSE)}
    usual = times[_PLAIN] or times[_TIMED] or [step.seconds for step in steps[1:]]
    uneven = _are_uneven(steps)
    of: _Typical = fmean if uneven else median
    step = _typical([one.seconds for one in _all_alike(steps)] if uneven else usual, of) if usual else None
    looks = _Close(seen, steps, step.value, uneven=uneven) if step and seen["close"]["steps"] else None
    parts = parts_of(seen, looks.expected, looks.weights) if looks else {}
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
        steps=_steps(seen, traced=sum(one is not told for one, told in zip(every, steps, strict=True))),
        first_step=seen["first_step"],
        step=step,
        median_step=median(usual) if usual else None,
        mean_step=_mean([one.seconds for one in every if one.mode in (_PLAIN, _TIMED)] or usual),
        parts={part: seconds / whole * step.value for part, seconds in parts.items()}
        if step and whole
        else {},
        parts_sum=looks.sum_of_parts() if looks and whole else None,
        looked_sum=looks.sum_in_steps() if looks and whole else None,
        observer=_observer(seen, steps, step.value if step else 0.0),
        detail=looks.times_as_long() if looks and whole else None,
        lines=_lines(seen, root, step.value if step else 0.0),
        ways=_ways(seen, step.value if step else 0.0),
        between=_between(seen, root),
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


def _without_rare_traces(seen: Mapping[str, Any], steps: Sequence[Step]) -> list[Step]:
    """The steps, of which those are told to be disturbed that make a graph where few do: a last, smaller batch, for instance."""
    traced = {trace["step"] for trace in seen["traces"]}
    usual = [one for one in steps if one.mode in (_PLAIN, _TIMED)]
    rare = {one.number for one in usual if one.number in traced}
    if len(rare) >= max(_OFTEN_TRACED * len(usual), 1 + _OFTEN_TRACED):
        return list(steps)
    return [replace(one, mode=_DISTURBED) if one.number in rare else one for one in steps]


def _typical(times: Sequence[float], of: _Typical) -> Interval:
    """The median or mean step, with an interval over blocks of steps: steps next to each other are much alike."""
    size = max(1, len(times) // _BLOCKS)
    blocks = [of(times[start : start + size]) for start in range(0, len(times) - size + 1, size)]
    found, value = over_pairs(blocks), of(times)
    return Interval(value, min(found.low, value), max(found.high, value))


def _are_uneven(steps: Sequence[Step]) -> bool:
    """Whether the mean step says more than the median: some steps do much that others don't, as where a whole episode is played
    between two of them. A few of those that do as much as most may be longer for what else the machine does."""
    alike = _all_alike(steps)
    if not alike:
        return False
    most = _LIKE_WORK * median(one.work for one in alike)
    long = [one.seconds for one in alike if one.work > most]
    usual = sorted(one.seconds for one in alike if one.work <= most and one.mode != _CLOSE)
    usual = usual[: len(usual) - max(1, len(usual) // 50)]
    return bool(usual) and fmean(long + usual) > UNEVEN * median(one.seconds for one in alike)


def _mean(times: Sequence[float]) -> float | None:
    return sum(times) / len(times) if times else None


def _observer(seen: Mapping[str, Any], steps: Sequence[Step], step: float) -> Interval | None:
    """How many times as long a timed step takes as a plain one, from neighbouring stretches of both.

    What timers take that have nothing to do is there in both, and is added.
    """
    blocks = [
        (mode, median([one.seconds for one in block]))
        for mode, block in ((mode, list(group)) for mode, group in groupby(steps, lambda one: one.mode))
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


def _all_alike(steps: Sequence[Step]) -> list[Step]:
    """Where steps are uneven, all that were not disturbed: how many do much tells more than what timers add to a few."""
    return [one for one in steps if one.mode in (_PLAIN, _TIMED, _CLOSE)] or list(steps[1:])


class _Close:
    """The steps that were looked at closely, and what they are held against: others that do as much.

    Steps often differ in what they do, as where episodes are played between some of them, or become longer. Parts are those of
    few steps: what they sum to is told of steps that do more or less.
    """

    def __init__(self, seen: Mapping[str, Any], steps: Sequence[Step], step: float, *, uneven: bool) -> None:
        self._by_step: Sequence[Mapping[str, float]] = seen["close"]["by_step"]
        self._seen, self._step, self._uneven, self._all = seen, step, uneven, _all_alike(steps)
        self._steps = [one for one in steps if one.mode == _CLOSE]
        self._others = [one for one in steps if one.mode in (_PLAIN, _TIMED)]
        if len(self._steps) != len(self._by_step):  # nobody knows which they are
            self._steps = [
                Step(at, 0.0, sum(parts.values()), _CLOSE, 0) for at, parts in enumerate(self._by_step)
            ]
        held = [self._held_against(one) for one in self._steps]
        self._is_held = [seconds is not None for seconds in held]
        self._expected = [
            self._by_itself(at) if seconds is None else seconds for at, seconds in enumerate(held)
        ]
        self.weights = self._shares() if uneven else self._middle()

    def _held_against(self, step: Step) -> float | None:
        """How long a step that does as much takes when nobody looks; None where there is none."""
        if not self._others:
            return self._step
        like = [one for one in self._others if one.is_like(step, _SAME_WORK)]
        if len(like) < _LEAST_LIKE:
            like = [one for one in self._others if one.is_like(step, _LIKE_WORK)]
        if not like:
            return None
        if _are_uneven(like):
            return fmean(_usual(like))
        nearest = sorted(like, key=lambda one: abs(one.number - step.number))
        few = max(min(_NEXT_TO_IT, len(like) // 2), _LEAST_LIKE)
        return median(one.seconds for one in nearest[:few])

    def _by_itself(self, at: int) -> float:
        """How long a step that is like no other takes without its timers, at the least that these take."""
        share = _share_of_timers(self._seen, [float(other == at) for other in range(len(self._steps))])
        timers: float = sum(entries for _, _, entries in self._seen["close"]["entries"]) * share
        least: float = self._seen["close"]["timer"]
        return max(self._steps[at].seconds - timers * least, 0.0)

    def _shares(self) -> list[float]:
        """How much each counts where steps are uneven: for all that do as much, by their time."""
        weights = [0.0] * len(self._steps)
        for one in self._all:
            nearest = min(_apart(one, close) for close in self._steps)
            like = [at for at, close in enumerate(self._steps) if _apart(one, close) == nearest]
            whole = sum(self._steps[at].seconds for at in like) or 1.0
            for at in like:
                weights[at] += one.seconds / whole / len(self._all)
        return weights

    def _middle(self) -> list[float]:
        """How much each counts where they are even: a busy machine makes some that are like no other."""
        pairs = zip(self._by_step, self._expected, strict=True)
        return _of_the_middle([sum(parts.values()) / (expected or 1.0) for parts, expected in pairs])

    @property
    def expected(self) -> float:
        """How long they take when nobody looks."""
        return sum(weight * seconds for weight, seconds in zip(self.weights, self._expected, strict=True))

    def sum_of_parts(self) -> float:
        """What their parts sum to, of what steps take that do as much when nobody looks."""
        return sum(parts_of(self._seen, self.expected, self.weights).values()) / self.expected

    def sum_in_steps(self) -> float:
        """What the parts of all of them sum to, in steps: of the middle half by their time where steps are even."""
        alike = [1 / len(self._steps)] * len(self._steps) if self._uneven else None
        return sum(parts_of(self._seen, self._step, alike).values()) / self._step

    def times_as_long(self) -> float | None:
        """How many times as long as such ones those take that can be held against others."""
        held = [at for at, is_held in enumerate(self._is_held) if is_held and self.weights[at]]
        expected = sum(self.weights[at] * self._expected[at] for at in held)
        return sum(self.weights[at] * self._steps[at].seconds for at in held) / expected if expected else None


def _usual(steps: Sequence[Step]) -> list[float]:
    """The times of those that nobody looked at, or of all where there are none."""
    return [one.seconds for one in steps if one.mode == _PLAIN] or [one.seconds for one in steps]


def _apart(one: Step, other: Step) -> float:
    less, more = sorted((one.work, other.work))
    return (more + 1) / (less + 1)


def _of_the_middle(values: Sequence[float]) -> list[float]:
    """A weight for each: those of the middle half count alike, and the others not at all."""
    ordered = sorted(range(len(values)), key=lambda at: values[at])
    cut = len(ordered) // 4
    middle = ordered[cut : len(ordered) - cut] or ordered
    return [1 / len(middle) if at in middle else 0.0 for at in range(len(values))]


def parts_of(
    seen: Mapping[str, Any], step: float, weights: Sequence[float] | None = None
) -> dict[Part, float]:
    """Seconds by part of a step that takes `step` seconds: of those looked at closely, as each is weighted."""
    close = seen["close"]
    by_step: Sequence[Mapping[str, float]] = close["by_step"]
    weights = weights or _of_the_middle([sum(parts.values()) for parts in by_step])
    a_step: dict[str, float] = defaultdict(float)
    for weight, found in zip(weights, by_step, strict=True):
        for name, seconds in found.items():
            a_step[name] += weight * seconds
    share = _share_of_timers(seen, weights)
    timer = _timer(close, sum(a_step.values()) - step, share)
    for outer, inner, entries in close["entries"]:
        a_step[inner] -= timer * _INSIDE * entries * share
        a_step[outer] -= timer * (1 - _INSIDE) * entries * share
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


def _share_of_timers(seen: Mapping[str, Any], weights: Sequence[float]) -> float:
    """How many of all timers a step has: as many as it has of all that the steps started, where that was counted."""
    work = [one.work for one in steps_of(seen) if one.mode == _CLOSE]
    if len(work) != len(weights) or not sum(work):
        return sum(weights) / len(weights)
    return sum(weight * started for weight, started in zip(weights, work, strict=True)) / sum(work)


def _timer(close: Mapping[str, Any], longer: float, share: float) -> float:
    """What a timer takes in this program, where a step that is looked at closely takes so much longer.

    The deeper the calls, the longer the way to the user's line: what it takes in a loop of its own is the least.
    """
    timers: float = sum(entries for _, _, entries in close["entries"]) * share
    least: float = close["timer"]
    return min(max(longer / timers, least), _DEEP * least) if timers else least


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


def _steps(seen: Mapping[str, Any], traced: int) -> Steps:
    notes = list(seen["notes"])
    if between := _epochs(seen):
        notes.append(
            f"what is done between epochs takes {in_words(fmean(between))} each time (of {len(between)}), "
            "and is in no figure for a step"
        )
    if traced:
        notes.append(f"steps in which a graph was made are rare ({traced}), and in no figure for a step")
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
    seconds = {rows[0]: spent for rows, spent in _looked(seen, 1).items()}
    events: dict[tuple[str, int], list[Event]] = defaultdict(list)
    events.update((rows[0], happened) for rows, happened in _happened(seen, 1).items())
    later = max(len(seen["steps"]) - _STEADY, 1)
    for kind, what, file, row, count, spent, size in seen["ever"]:
        if kind == "file":
            later = max(close["steps"], 1)  # files are looked at in those steps alone
        events[file, row].append(Event(kind, what, count / later, spent / later, size / later))
        later = max(len(seen["steps"]) - _STEADY, 1)
    whole = looks["seconds"] or 1.0
    lines = []
    for place in {**seconds, **events}:
        if place[0] == "?":  # what was counted in each step, where no line of the user's ran
            continue
        share = seconds.get(place, 0.0) / whole
        if share >= _LEAST_SHARE or place in events:
            happened = sorted(events[place], key=lambda event: -event.seconds)
            error = step * sqrt(max(share * (1 - share), 0.0) * looks.get("squares", 0.0)) / whole
            lines.append(
                Line(_spot(place), _source(root, place), share * step, share, tuple(happened), error)
            )
    return tuple(sorted(lines, key=lambda line: (-line.seconds, line.spot.file, line.spot.row)))


def _ways(seen: Mapping[str, Any], step: float) -> tuple[Way, ...]:
    """The lines by who has called them."""
    seconds, events = _looked(seen, None), _happened(seen, None)
    whole = seen["looks"]["seconds"] or 1.0
    ways = (
        Way(
            _spot(rows[0]),
            tuple(map(_spot, rows[1:])),
            seconds.get(rows, 0.0) / whole * step,
            tuple(sorted(events.get(rows, ()), key=lambda event: -event.seconds)),
        )
        for rows in {**seconds, **events}
    )
    return tuple(sorted(ways, key=lambda way: (-way.seconds, way.spot.file, way.spot.row)))


def _looked(seen: Mapping[str, Any], most: int | None) -> dict[_Stack, float]:
    """Seconds of looks by the rows that ran, so many of them at most from the innermost on."""
    found: dict[_Stack, float] = defaultdict(float)
    for rows, spent in seen["looks"]["lines"]:
        found[_stack(rows, most)] += spent
    return found


def _happened(seen: Mapping[str, Any], most: int | None) -> dict[_Stack, list[Event]]:
    """What happened, a step, where a step was looked at closely: by the rows that ran, so many of them at most."""
    close = seen["close"]
    sums: dict[tuple[_Stack, EventKind, str], list[float]] = {}
    for kind, what, rows, *found in close["events"]:
        if rows:  # none where no line of the user's ran
            key = _stack(rows, most), kind, what
            sums[key] = [before + one for before, one in zip(sums.get(key, (0, 0, 0)), found, strict=True)]
    each = 1 / max(close["steps"], 1)
    events: dict[_Stack, list[Event]] = defaultdict(list)
    for (place, kind, what), (count, spent, size) in sums.items():
        events[place].append(Event(kind, what, count * each, max(spent, 0.0) * each, size * each))
    return events


def _stack(rows: Sequence[Sequence[Any]], most: int | None) -> _Stack:
    return tuple((file, row) for file, row in rows[:most])


def _between(seen: Mapping[str, Any], root: Path) -> tuple[Line, ...]:
    """The lines that hold the time between epochs, each with its seconds each time."""
    times = _epochs(seen)
    found: Counter[tuple[str, int]] = Counter()
    for rows, spent in seen["between"]["lines"] if times else ():
        found[tuple(rows[0])] += spent
    whole = sum(found.values()) or 1.0
    lines = (
        Line(_spot(place), _source(root, place), spent / len(times), spent / whole)
        for place, spent in found.items()
    )
    return tuple(sorted(lines, key=lambda line: (-line.seconds, line.spot.file, line.spot.row)))


def _epochs(seen: Mapping[str, Any]) -> Sequence[float]:
    times: Sequence[float] = seen.get("between", {}).get("times", ())
    return times


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


def _growth(seen: Mapping[str, Any], steps: Sequence[Step]) -> dict[str, Growth]:
    times = [(float(one.number + 1), one.seconds) for one in steps if one.mode == _PLAIN]
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
