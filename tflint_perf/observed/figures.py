"""Figures of a run in words: times beside the step's, events, growth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import log10
from typing import Protocol

from tflint_perf.catalogue.figures import change, count, number, seconds, size
from tflint_perf.measured.record import Event, EventKind, Growth, Interval

# What is less than this share of a step is none that anybody measures.
_LEAST_SHARE = 1e-3
_UNITS = (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6))

# What one event of a kind is called, where its `what` says no more.
_NOUNS: Mapping[EventKind, str] = {
    "op": "eager op",
    "function": "call of a compiled function",
    "copy": "copy to the host",
    "conversion": "conversion",
    "input": "batch",
    "trace": "trace",
    "new": "new object",
    "graph op": "op added to the graph",
    "file": "file opened",
    "gc": "collection",
    "session": "session run",
    "keras": "Keras call",
    "summary": "summary written",
    "checkpoint": "checkpoint",
    "get weights": "weights through the host",
    "gradient": "gradient",
    "random": "random draw",
}
_PLURALS = {
    "copy to the host": "copies to the host",
    "call of a compiled function": "calls of compiled functions",
    "batch": "batches",
    "op added to the graph": "ops added to the graph",
    "file opened": "files opened",
    "summary written": "summaries written",
    "weights through the host": "weights through the host",
}
# A growth by its name in a record: whether it is a time, a number of bytes or of things.
_BYTES, _THINGS = (
    frozenset({"host memory", "device memory"}),
    frozenset({"live tensors", "traces", "graph ops"}),
)


def beside(value: float, step: float) -> str:
    """A time as a part of a step, both in the step's unit: `3.1 of 8.2 ms`."""
    unit, scale = _unit(step)
    whole = f"{number(step / scale)} {unit}"
    if value < _LEAST_SHARE * step:
        return f"less than {number(_LEAST_SHARE * step / scale, 1)} of {whole}"
    # Beside a step that is given to a tenth, hundredths tell enough.
    return f"{number(value / scale, 1 if value < 0.1 * scale else 2)} of {whole}"


class TimeOf(Protocol):
    """Tells a time."""

    def __call__(self, value: float, error: float = 0.0, /) -> str:
        """The time, of which the standard error may be known: then with no more decimals than it allows."""
        ...


def in_unit_of(step: float) -> TimeOf:
    """Times in the unit of a step and with as many decimals, so that they can be compared line by line: `0.40 ms`."""
    unit, scale = _unit(step)
    most = 2 if step < 100 * scale else 1

    def time_of(value: float, error: float = 0.0, /) -> str:
        decimals = most if error <= 0 else min(max(round(-log10(error / scale)), 0), most)
        told = f"{value / scale:.{decimals}f}"
        return f"{told} {unit}" if float(told) or not error else f"<{10.0**-decimals:.{decimals}f} {unit}"

    return time_of


def percent(share: float) -> str:
    """A share of a step: `38%`, `0.4%`."""
    return f"{100 * share:.0f}%" if share >= 0.0095 else f"{100 * share:.1f}%"


def between(interval: Interval) -> str:
    """A time with its interval: `8.2 ms (8.1 to 8.4)`."""
    unit, scale = _unit(interval.value)
    value, low, high = (number(each / scale, 3) for each in (interval.value, interval.low, interval.high))
    return f"{value} {unit}" if low == high else f"{value} {unit} ({low} to {high})"


def counted(value: float, noun: str) -> str:
    """How many, by the step: `412 eager ops`, `0.5 files opened`."""
    return f"{count(value)} {noun if count(value) == '1' else plural(noun)}"


def plural(noun: str) -> str:
    return _PLURALS.get(noun, noun + "s")


def in_words(event: Event) -> str:
    """An event at a line: `412 eager ops`, `2 copies to the host (float)`, `new Dataset`."""
    noun = _NOUNS[event.kind]
    if event.kind == "new":
        often = "" if count(event.count) == "1" else f"{count(event.count)} "
        said = f"{often}new {event.what}"
    elif event.kind in ("keras", "function", "trace", "get weights") and event.what:
        often = "" if count(event.count) == "1" else f"{count(event.count)} × "
        said = f"{often}{'trace of ' if event.kind == 'trace' else ''}{event.what}"
    elif event.kind in ("copy", "conversion", "checkpoint", "summary") and event.what:
        said = f"{counted(event.count, noun)} ({event.what})"
    else:
        said = counted(event.count, noun)
    return f"{said}, {size(event.size)}" if event.size >= 1 else said


def cause_in_words(cause: str) -> str:
    """Why a function was traced again: `new shape`."""
    return "a reason that was not seen" if cause == "other" else cause


def events_in_words(events: Iterable[Event], most: int = 3) -> str:
    """The events at a line, ops and copies each as one, the costliest first."""
    merged: dict[tuple[EventKind, str], Event] = {}
    for event in events:
        # Ops go by many names, which say little beside how many there are.
        key = event.kind, "" if event.kind in ("op", "graph op", "gradient", "random") else event.what
        known = merged.get(key)
        merged[key] = Event(
            event.kind,
            key[1],
            event.count + (known.count if known else 0),
            event.seconds + (known.seconds if known else 0),
            event.size + (known.size if known else 0),
        )
    ordered = sorted(merged.values(), key=lambda event: -event.seconds)
    return ", ".join(in_words(event) for event in ordered[:most])


def slope(name: str, growth: Growth) -> str:
    """How fast it grows, with its interval: `+12 a step (11 to 13)`."""
    say = _sayer(name)
    value, low, high = (
        change(say(each)) for each in (growth.slope.value, growth.slope.low, growth.slope.high)
    )
    return f"{value} a step ({low} to {high})" if low != high else f"{value} a step"


def of_growth(name: str, value: float) -> str:
    """A value of a growth with its unit."""
    return _sayer(name)(value)


def _sayer(name: str) -> Callable[[float], str]:
    return size if name in _BYTES else count if name in _THINGS else seconds


def _unit(value: float) -> tuple[str, float]:
    return next((unit for unit in _UNITS if abs(value) >= unit[1]), _UNITS[-1])
