"""What a finding costs, as data: by the experiment of its rule, and by a run of the user's own program."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tflint_perf.catalogue.cost import Cost, costs_said
from tflint_perf.finding import Finding

if TYPE_CHECKING:
    from tflint_perf.report import Entry

# What tells how many times as long a step takes: these figures can be compared with each other.
_OF_TIME = ("step time", "time per sample")


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
