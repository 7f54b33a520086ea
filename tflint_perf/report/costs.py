"""What a finding costs, as data and in words: by the experiment of its rule, and by a run of the user's own program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from math import inf
from typing import TYPE_CHECKING, Any

from tflint_perf.catalogue.cost import (
    HOW_TO_READ_ARROWS,
    MEASURED_WITH,
    NOT_YOUR_COSTS,
    Cost,
    cost_on_record,
    figures_on_record,
)
from tflint_perf.catalogue.figures import seconds
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.finding import Finding

if TYPE_CHECKING:
    from tflint_perf.report import Entry
    from tflint_perf.report.style import Style

# What tells how many times as long a step takes: these figures can be compared with each other.
_OF_TIME = ("step time", "time per sample")
# A step that takes less than this many times as long is seldom worth a change of a program.
_LITTLE = 1.25
_PLACES = 3


def as_objects(finding: Finding) -> list[dict[str, Any]]:
    """A figure a device, each with where it was measured: in the rule's "experiment", or in a "run" of the program."""
    found = [_as_object(cost) for cost in _figures(finding)]
    own = finding.own_cost
    if own is not None:
        found.append({"measured": "run", "metric": "step time", **asdict(own)})
    return found


def _as_object(cost: Cost) -> dict[str, Any]:
    told = {"measured": "experiment", **asdict(cost)}
    # Where a single size was measured, nothing is known of others.
    return told if cost.over_sizes else {key: told[key] for key in told if key not in ("over_sizes", "sizes")}


def in_words(finding: Finding) -> Iterator[str]:
    """What a run of this program said, in a line: `step time, at most 16 ms of 20 ms, confirmed by a run of this program on CPU`.

    A rule's experiment is left out: below a finding, its figure would read as one of this program."""
    own = finding.own_cost
    if own is None:
        return
    time = ""
    if own.seconds and own.step_seconds:
        time = f"step time, at most {seconds(own.seconds)} of {seconds(own.step_seconds)}, "
    yield f"{time}{own.status} by a run of this program on {own.device}"


def of_rules(entries: Iterable[Entry], style: Style) -> Iterator[str]:
    """What the rules of some findings were measured to cost in their own scripts: a line a rule, with how to read it.

    It tells of findings that are as in such a script alone, and of which where a rule has others; of those that a run of the
    program judged, nothing."""
    entries = [entry for entry in entries if entry.finding.own_cost is None]
    codes = sorted({entry.finding.code for entry in entries if _figures(entry.finding)})
    if not codes:
        return
    yield f"Measured in the rules' own small scripts, not in your program ({MEASURED_WITH}):"
    said = [f"{cost_on_record(code)}{_of_some(code, entries)}" for code in codes]
    names = {entry.finding.code: entry.finding.name for entry in entries}
    yield from (f"  {style.code(code)} {names[code]}, {cost}" for code, cost in zip(codes, said, strict=True))
    if others := _not_measured({entry.finding.code for entry in entries} - set(codes)):
        yield f"  No figures: {', '.join(f'{style.code(code)} ({why})' for code, why in others)}"
    has_figures = any("→" in cost or "+" in cost for cost in said)
    yield f"{HOW_TO_READ_ARROWS if has_figures else ''}{NOT_YOUR_COSTS}"


def _not_measured(codes: Iterable[str]) -> list[tuple[str, str]]:
    """The rules among `codes` that claim to cost something, and why no figure is told of them."""
    rules = catalogue()
    claiming = sorted(code for code in codes if code in rules and rules[code].claim is not None)
    return [
        (code, "other code was measured" if figures_on_record(code) else "not measured") for code in claiming
    ]


def _of_some(code: str, entries: Sequence[Entry]) -> str:
    """Which findings of a rule are of the form that was measured, where others are not."""
    found = [entry for entry in entries if entry.finding.code == code]
    places = [entry.place for entry in found if entry.finding.as_measured]
    if len(places) == len(found) or found[0].of_program:
        return ""
    more = f" and {len(places) - _PLACES} more" if len(places) > _PLACES else ""
    return f"; only such code as at {', '.join(places[:_PLACES])}{more} was measured, not that of the rule's other findings"


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
    times = [
        cost.value for cost in _figures(finding) if cost.metric in _OF_TIME and cost.verdict == "confirmed"
    ]
    return max(times, default=None)


def is_little(finding: Finding) -> bool:
    """Whether it costs this program little by a run of it, or else where it stands, or wherever its rule was measured."""
    own = finding.own_cost
    if own is not None:
        return own.status != "confirmed"
    if finding.minor:
        return True
    said = _figures(finding)
    return bool(said) and all(cost.verdict == "refuted" or _is_short(cost) for cost in said)


def _is_short(cost: Cost) -> bool:
    """Whether it is time that is hardly noticed, at each size that was measured."""
    largest = max([cost.value, *(size.times for size in cost.sizes)])
    return cost.metric in _OF_TIME and cost.kind == "ratio" and largest < _LITTLE


def _figures(finding: Finding) -> Sequence[Cost]:
    """What the rule's experiment measured of such code; none where the finding is of another form."""
    return figures_on_record(finding.code) if finding.as_measured else ()


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
    said = _figures(entry.finding)
    times = [
        cost.value
        for cost in said
        if cost.verdict == "confirmed" and cost.kind == "ratio" and cost.metric in _OF_TIME
    ]
    if times:
        return 2, -max(times)
    return (3, 0.0) if said else (4, 0.0)
