"""What a finding costs, as data and in words: by the experiment of its rule, and by a run of the user's own program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from math import inf
from typing import TYPE_CHECKING, Any

from tflint_perf.catalogue.cost import Cost, costs_said
from tflint_perf.catalogue.figures import number, seconds
from tflint_perf.finding import Finding, OwnCost

if TYPE_CHECKING:
    from tflint_perf.report import Entry

# What tells how many times as long a step takes: these figures can be compared with each other.
_OF_TIME = ("step time", "time per sample")
# A step that takes less than this many times as long is seldom worth a change of a program.
_LITTLE = 1.25
_DIGITS = 3


def as_objects(finding: Finding) -> list[dict[str, Any]]:
    """A figure a device, each with where it was measured: in the rule's "experiment", or in a "run" of the program."""
    found = [_as_object(cost) for cost in costs_said(finding.code, finding.message)]
    own = finding.own_cost
    if own is not None:
        found.append({"measured": "run", "metric": "step time", **asdict(own)})
    return found


def _as_object(cost: Cost) -> dict[str, Any]:
    told = {"measured": "experiment", **asdict(cost)}
    # Where a single size was measured, nothing is known of others.
    return told if cost.over_sizes else {key: told[key] for key in told if key not in ("over_sizes", "sizes")}


def in_words(finding: Finding) -> Iterator[str]:
    """The same, a line each: `step time 17.2× (16.3 to 18.1) on CPU (2 cores), confirmed by the rule's experiment on
    2030-01-02`."""
    yield from map(_said, costs_said(finding.code, finding.message))
    if finding.own_cost is not None:
        yield _own_said(finding.own_cost)


def _said(cost: Cost) -> str:
    low, value, high = (number(figure, _DIGITS) for figure in (cost.low, cost.value, cost.high))
    what = f"{'growth of ' if cost.kind == 'growth' else ''}{cost.metric}"
    by = f"{cost.verdict} by the rule's experiment on {cost.date}"
    return f"{what} {value}× ({low} to {high}) on {cost.device}, {by}"


def _own_said(own: OwnCost) -> str:
    time = ""
    if own.seconds and own.step_seconds:
        time = f"step time, at most {seconds(own.seconds)} of {seconds(own.step_seconds)}, "
    return f"{time}{own.status} by a run of this program on {own.device}"


def factor(finding: Finding) -> float | None:
    """How many times as long a step or a sample takes with what was found as without, at most, by a run of the program or
    else by the experiment on the device where it costs most; None where that was not measured."""
    own = finding.own_cost
    if own is not None:
        if own.status != "confirmed":
            return 1.0
        if not (own.seconds and own.step_seconds):
            return None
        rest = own.step_seconds - own.seconds
        return own.step_seconds / rest if rest > 0 else inf
    costs = costs_said(finding.code, finding.message)
    times = [cost.value for cost in costs if cost.metric in _OF_TIME and cost.verdict == "confirmed"]
    return max(times, default=None)


def is_little(finding: Finding) -> bool:
    """Whether it costs this program little by a run of it, or else where it stands, or wherever its rule was measured."""
    own = finding.own_cost
    if own is not None:
        return own.status != "confirmed"
    if finding.minor:
        return True
    said = costs_said(finding.code, finding.message)
    return bool(said) and all(cost.verdict == "refuted" or _is_short(cost) for cost in said)


def _is_short(cost: Cost) -> bool:
    """Whether it is time that is hardly noticed, at each size that was measured."""
    largest = max([cost.value, *(size.times for size in cost.sizes)])
    return cost.metric in _OF_TIME and cost.kind == "ratio" and largest < _LITTLE


def are_said(entries: Iterable[Entry]) -> bool:
    """Whether any finding says what an experiment measured."""
    return any(costs_said(entry.finding.code, entry.finding.message) for entry in entries)


def worst_first(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """First what a run of the program found to cost most, then by the figures of the rules for time, then other costs."""
    return tuple(sorted(entries, key=_rank))


def _rank(entry: Entry) -> tuple[int, float]:
    own = entry.finding.own_cost
    if entry.unread:
        return 0, 0.0  # of the others in the file nothing is known
    if own is not None:
        if own.status != "confirmed":
            return 5, 0.0
        return (1, -own.seconds) if own.seconds else (3, 0.0)
    if entry.of_program:
        return 6, 0.0
    said = costs_said(entry.finding.code, entry.finding.message)
    times = [
        cost.value
        for cost in said
        if cost.verdict == "confirmed" and cost.kind == "ratio" and cost.metric in _OF_TIME
    ]
    if times:
        return 2, -max(times)
    return (3, 0.0) if said else (4, 0.0)
