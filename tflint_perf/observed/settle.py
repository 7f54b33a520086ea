"""From a run's record to what it says of each finding: confirmed, cheap, not reached; and of what reading could not know."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import TypeVar

from tflint_perf.catalogue.figures import count, seconds, size
from tflint_perf.finding import Finding
from tflint_perf.lint.identity import content
from tflint_perf.measured.record import (
    FAILED_BEFORE,
    NO_STEPS,
    TOO_FEW,
    Event,
    EventKind,
    Kept,
    Line,
    Part,
    Record,
    Settled,
    Spot,
    Status,
    Traced,
    Way,
)
from tflint_perf.observed.blocks import Blocks, Rows
from tflint_perf.observed.evidence import (
    SEEN,
    UNSEEN,
    Adding,
    Events,
    Evidence,
    Holding,
    Seen,
    Traces,
    Waiting,
)
from tflint_perf.observed.figures import beside, cause_in_words, counted, plural

_Timed = TypeVar("_Timed", Line, Way)
# A finding that takes less of a step is cheap.
CHEAP = 0.02
# Time in these is not the lines' own: a better line would not save it.
_NOT_OWN = frozenset({"input", "trace"})
# Kinds of events that make up a part of the step by themselves.
# Times a step from which on something counts as happening in steps, and not once in a while.
_OFTEN = 0.5
_PART_OF: Mapping[EventKind, Part] = MappingProxyType(
    {"copy": "copies", "conversion": "conversions", "gc": "gc", "input": "input"}
)
_NO_EVIDENCE = "what a run can see of this rule is not known"
# A list that keeps a tensor of each step makes them more by one, as far as samples show it.
_STAYS = 0.5
# In few steps, so many traces are no matter of a last, smaller batch.
_LEAST_TRACES = 3
# A first trace that takes less is not worth a word, and neither is a small part of a first step that is long.
_LEAST_TRACE, _LEAST_PART = 0.5, 0.1


@dataclass(frozen=True, slots=True)
class Located:
    """A finding, in the file that it is in: a path from here."""

    path: str
    finding: Finding


@dataclass(frozen=True, slots=True)
class Cost:
    """What was seen of a finding: seconds a step, whether it makes something grow, and in words what it was."""

    seconds: float
    said: str = ""
    grows: bool = False


def settle(record: Record, findings: Iterable[Located], blocks: Blocks) -> tuple[Settled, ...]:
    """What the run says of findings in its program, the costliest first."""
    watched = Watched(record, blocks)
    return in_order(watched.settled(located) for located in findings)


def in_order(settled: Iterable[Settled]) -> tuple[Settled, ...]:
    """By what mending would save a step at most; what grows comes before what is cheap."""
    ranks: dict[Status, int] = {
        "confirmed": 0,
        "seen in a run": 0,
        "cheap": 1,
        "not judged": 2,
        "not reached": 3,
    }
    return tuple(
        sorted(
            settled,
            key=lambda one: (
                ranks[one.status],
                -one.seconds,
                one.spot.file,
                one.spot.cell or 0,
                one.spot.row,
                one.code,
            ),
        )
    )


class Watched:
    """A record, asked about places in the program."""

    def __init__(self, record: Record, blocks: Blocks) -> None:
        self.blocks = blocks
        self.record = replace(
            _as_unobserved(record),
            reached=tuple(
                replace(spot, file=blocks.named(blocks.path(spot.file))) for spot in record.reached
            ),
        )

    @cached_property
    def step(self) -> float:
        """What a step takes, in seconds; 0 where none was found."""
        return self.record.step.value if self.record.step is not None else 0.0

    def spot(self, located: Located) -> Spot:
        """Where a finding stands, as the record says it."""
        start = located.finding.start
        return Spot(self.blocks.named(located.path), start.row, start.cell)

    def rows(self, located: Located) -> Rows:
        """The rows of a finding."""
        spot, end = self.spot(located), located.finding.end
        last = end.row if end.cell == spot.cell else spot.row
        return Rows(spot.file, spot.row, max(last, spot.row), spot.cell)

    def settled(self, located: Located) -> Settled:
        """What the run says of one finding."""
        status, cost, why = self._judged(located)
        finding = located.finding
        return Settled(
            finding.code,
            finding.name,
            finding.message,
            self.spot(located),
            status,
            cost,
            why,
            content(finding),
        )

    def _judged(self, located: Located) -> tuple[Status, float, str]:
        code, rows = located.finding.code, self.rows(located)
        if not self.is_reached(rows):
            return self._unreached()
        seen = SEEN.get(code)
        if seen is None:
            return "not judged", 0.0, UNSEEN.get(code, _NO_EVIDENCE)
        if not self.step:
            return "not judged", 0.0, NO_STEPS
        cost = self.cost(seen.evidence, rows, content(located.finding))
        if not self.record.is_long_enough:
            # What was counted is certain, what was timed is not.
            if cost is not None and cost.grows:
                return "confirmed", 0.0, cost.said
            return "not judged", 0.0, TOO_FEW
        if isinstance(seen.evidence, Holding) and not self._knows_what_stays():
            return "not judged", 0.0, TOO_FEW
        cheap = cost is None or not (cost.grows or cost.seconds >= CHEAP * self.step)
        if cheap and (between := self._between(rows)) >= CHEAP * self.step:
            return "not judged", 0.0, f"it runs between epochs, {seconds(between)} each time, and in no step"
        if cost is None:
            return self._nothing_of(seen)
        if cost.grows or cost.seconds >= CHEAP * self.step:
            return "confirmed", cost.seconds, self.why(cost)
        said = cost.said if not cost.seconds else self.why(cost)
        return "cheap", cost.seconds, f"seen, but {said}"

    def _unreached(self) -> tuple[Status, float, str]:
        """What is said of rows that did not run: they might have, had the program got further."""
        if self.record.has_failed:
            return "not judged", 0.0, FAILED_BEFORE
        if not self.record.steps.count:
            return "not judged", 0.0, NO_STEPS
        return "not reached", 0.0, "not reached"

    def _between(self, rows: Rows) -> float:
        """Seconds that pass in some rows, or in the function that they are in, each time that an epoch is over."""
        around = self._function_or_row(rows)
        return sum(
            line.seconds
            for line in self.record.between
            if (line.spot in rows or line.spot in around) and line.spot != self.record.steps.loop
        )

    def why(self, cost: Cost) -> str:
        """A cost in a few words: `3.1 of 8.2 ms a step: 412 eager ops`."""
        if not cost.seconds:
            return cost.said
        time = f"{beside(cost.seconds, self.step)} a step"
        return f"{time}: {cost.said}" if cost.said else time

    def _knows_what_stays(self) -> bool:
        """Whether tensors become more beyond doubt, or surely not by one every other step."""
        growth = self.record.growth.get("live tensors")
        if growth is None:
            return not self.record.looked_at
        return growth.grows or (len(growth.points) > 1 and growth.slope.high < _STAYS)

    def _nothing_of(self, seen: Seen) -> tuple[Status, float, str]:
        if seen.otherwise:
            return "not judged", 0.0, seen.otherwise
        match seen.evidence:
            case Events(noun=noun):
                what = f"no {noun}"
            case Traces():
                what = "nothing was traced again for it"
            case Holding():
                what = "no tensor stayed"
            case Adding():
                what = "the graph did not grow"
            case Waiting():
                what = "no waiting for input"
        return "cheap", 0.0, f"seen, but {what} in the steps that were looked at"

    def is_reached(self, rows: Rows) -> bool:
        """Whether one of the rows ran. What is in a traced function is known by the trace: AutoGraph runs a copy of it."""
        return (
            any(spot in rows for spot in self.record.reached)
            or any(line.spot in rows for line in self.record.lines)
            or any(rows.spot in function for function in self._traced)
        )

    @cached_property
    def _traced(self) -> list[Rows]:
        """The functions that were made graphs of."""
        around = (self.blocks.function(one.spot) for one in self.record.traces if one.spot is not None)
        return [rows for rows in around if rows is not None]

    def cost(self, evidence: Evidence, rows: Rows, source: str = "") -> Cost | None:
        """What was seen of a finding at these rows; None where nothing was."""
        match evidence:
            case Events():
                return self._of_events(evidence, rows)
            case Traces():
                return (
                    self._of_first_trace(rows) if evidence.first else self._of_traces(evidence, rows, source)
                )
            case Holding():
                return self._of_kept(evidence, rows, source)
            case Adding():
                return self._of_graph(rows)
            case Waiting():
                return self._of_input()

    def lines_in(self, scope: Iterable[Rows]) -> list[Line]:
        """The lines of the record in some rows, each once."""
        several = list(scope)
        return [line for line in self.record.lines if any(line.spot in rows for rows in several)]

    def _of_events(self, evidence: Events, rows: Rows) -> Cost | None:
        match evidence.scope:
            case "block":
                return self.of_eager_code(self.blocks.around(rows.spot))
            case "calls":
                return self.of_eager_code(rows) if evidence.kinds else self._of_calls(rows)
            case "row":
                lines = self.lines_in((rows,))
            case "program":
                lines = list(self.record.lines)
        events = [event for line in lines for event in line.events if is_of(event, evidence)]
        if not events:
            return None
        having = [line for line in lines if any(is_of(event, evidence) for event in line.events)]
        time = sum(map(own_time, having)) if evidence.whole else sum(event.seconds for event in events)
        return Cost(min(time, self.step), said_of(events, evidence.noun))

    def of_eager_code(self, rows: Rows, but: Collection[Rows] = ()) -> Cost | None:
        """What runs op by op on some rows takes, with all that is called there, `but` for what other rows run."""
        lines = self.below(rows, but)
        if not any(line.spot in self._making_ops for line in lines):
            return None
        # What else stands in a loop, an environment's step for instance, would not be compiled with the ops.
        whole = rows if rows.of == "function" else None
        having = [
            line
            for line in lines
            if line.spot in self._making_ops or (whole is not None and line.spot in whole)
        ]
        events = [event for line in lines for event in line.events]
        return Cost(min(sum(map(own_time, having)), self.step), said_of(events, "eager op"))

    def below(self, rows: Rows, but: Collection[Rows] = (), *, own_code: bool = True) -> list[Line]:
        """The lines that ran while one of the rows did, these themselves and what was called there, each with what it took then;
        without what ran while others did. What a call of Keras's or of a session starts by itself is no code of the user's.
        """
        found: dict[Spot, list[Way]] = {}
        for way in self.record.ways:
            stack = (way.spot, *way.callers)
            ends = [at for at, spot in enumerate(stack) if spot in rows]
            if (
                ends
                and not (own_code and self._whole_calls.intersection(stack[: ends[-1] + 1]))
                and not any(spot in other for spot in stack for other in but)
            ):
                found.setdefault(way.spot, []).append(way)
        return [_together(spot, ways, self.step) for spot, ways in found.items()]

    @cached_property
    def _making_ops(self) -> frozenset[Spot]:
        """The lines that make eager ops, whoever called them: what runs once in a while is seen in few of the steps that tell."""
        return frozenset(
            line.spot for line in self.record.lines if any(event.kind == "op" for event in line.events)
        )

    @cached_property
    def _whole_calls(self) -> frozenset[Spot]:
        return frozenset(line.spot for line in self.record.lines if runs_whole_call(line))

    def scope(self, code: str, rows: Rows) -> Rows:
        """The rows whose time is that of a finding by a rule."""
        match SEEN.get(code):
            case Seen(evidence=Events(scope="block")):
                return self.blocks.around(rows.spot)
        return rows

    def _function_or_row(self, rows: Rows) -> Rows:
        """The function that a call stands in, or its row where that is in the loop of steps itself."""
        around, loop = self.blocks.around(rows.spot), self.record.steps.loop
        if around.of == "function" and (loop is None or loop not in around):
            return around
        return rows

    def _of_calls(self, rows: Rows) -> Cost | None:
        lines = self.below(self.blocks.statement(rows.spot), own_code=False)
        if not lines:
            return None
        around = self.blocks.function(rows.spot)
        called = (self.blocks.function(line.spot) for line in lines)
        names = dict.fromkeys(f"`{one.name}`" for one in called if one is not None and one != around)
        said = f"with {', '.join(names)}" if names else ""
        return Cost(min(sum(map(own_time, lines)), self.step), said)

    def _of_traces(self, evidence: Traces, rows: Rows, source: str) -> Cost | None:
        if evidence.by == "program":
            return self._of_reset(evidence, rows) if "clear_session" in source else None
        return self._of_traces_again(evidence, rows)

    def _of_reset(self, evidence: Traces, rows: Rows) -> Cost | None:
        """What `clear_session()` takes by itself, and by the traces that it makes necessary."""
        own, again = sum(map(own_time, self.lines_in((rows,)))), self._of_traces_again(evidence, rows)
        if again is None:
            return Cost(min(own, self.step)) if own else None
        return Cost(min(own + again.seconds, self.step), again.said, again.grows)

    def _of_traces_again(self, evidence: Traces, rows: Rows) -> Cost | None:
        again = [
            traced
            for traced in self.record.traces
            if traced.in_steps
            and (not evidence.causes or any(map(traced.causes.get, evidence.causes)))
            and self._is_at(traced, evidence, rows)
        ]
        if not again:
            return None
        steps = max(self.record.steps.count, 1)
        time = sum(traced.seconds * traced.in_steps / max(traced.count, 1) for traced in again) / steps
        traces = sum(traced.in_steps for traced in again)
        is_sure = self.record.is_long_enough or traces >= _LEAST_TRACES
        grows = is_sure and traces >= 0.1 * steps
        return Cost(min(time, self.step), traced_in_words(again, traces, steps), grows)

    def _is_at(self, traced: Traced, evidence: Traces, rows: Rows) -> bool:
        if evidence.by == "program":
            return True
        if traced.called_at is not None and traced.called_at in rows:
            return True
        if traced.spot is None:
            return False
        if evidence.by == "function" and rows.spot in self.blocks.around(traced.spot):
            return True
        if traced.spot in rows:
            return True
        # A function object that is made here, of a function that stands elsewhere.
        made = [event for line in self.lines_in((rows,)) for event in line.events if event.kind == "new"]
        return evidence.by == "function" and any(event.what == "Function" for event in made)

    def _of_first_trace(self, rows: Rows) -> Cost | None:
        around = [
            traced
            for traced in self.record.traces
            if traced.spot is not None and rows.spot in self.blocks.around(traced.spot)
        ]
        if not around:
            return None
        time = sum(traced.seconds for traced in around)
        first = self.record.first_step or 0.0
        said = f"traced in {seconds(time)}, once" + (
            f", of a first step of {seconds(first)}" if first >= time else ""
        )
        return Cost(0.0, said, grows=time >= _LEAST_TRACE or (first > 0 and time >= _LEAST_PART * first))

    def _of_kept(self, evidence: Holding, rows: Rows, source: str) -> Cost | None:
        kept = _held(self.record.kept, evidence, rows, source)
        if not kept:
            return None
        more = sum(one.count for one in kept)
        growth = self.record.growth.get("live tensors")
        memory = self.record.growth.get("host memory")
        said = f"+{counted(more, 'tensor')} a step, held by {kept[0].holder}"
        if memory is not None and memory.grows and memory.slope.value > 0:
            said += f"; memory +{size(memory.slope.value)} a step"
        return Cost(0.0, said, grows=growth is None or growth.grows)

    def _of_graph(self, rows: Rows) -> Cost | None:
        events = [
            event for line in self.lines_in((rows,)) for event in line.events if event.kind == "graph op"
        ]
        if not events:
            return None
        growth = self.record.growth.get("graph ops")
        number = sum(event.count for event in events)
        time = sum(event.seconds for event in events)
        said = f"+{counted(number, 'op')} in the graph a step"
        return Cost(min(time, self.step), said, grows=growth is not None and growth.grows)

    def _of_input(self) -> Cost | None:
        time = self.record.parts.get("input", 0.0)
        return Cost(time, "waiting for input, of all its pipelines") if time > 0 else None


def _as_unobserved(record: Record) -> Record:
    """The record, its lines and the ways to them with the time of their events as it would be in a usual step that nobody looks at closely.

    Events of a kind that is a part of the step together take no more than that part, which leaves out odd steps. What is
    rarer than steps is one of those, and stays as it is: a mean over all of them.
    """
    looked = record.looked_sum or record.parts_sum
    scale = min(1 / looked, 1.0) if looked else 1.0
    often = {
        (line.spot, event.kind, event.what)
        for line in record.lines
        for event in line.events
        if event.count >= _OFTEN
    }
    scales: dict[str, float] = {}
    for kind, part in _PART_OF.items():
        taken = scale * sum(
            event.seconds
            for line in record.lines
            for event in line.events
            if event.kind == kind and event.count >= _OFTEN
        )
        most = record.parts.get(part)
        scales[kind] = scale * min(most / taken, 1.0) if most is not None and taken else scale

    def scaled(one: _Timed) -> _Timed:
        events = tuple(
            replace(event, seconds=event.seconds * scales.get(event.kind, scale))
            if (one.spot, event.kind, event.what) in often
            else event
            for event in one.events
        )
        return replace(one, events=events)

    return replace(record, lines=tuple(map(scaled, record.lines)), ways=tuple(map(scaled, record.ways)))


def _together(spot: Spot, ways: Iterable[Way], step: float) -> Line:
    """What a line took by some of the ways that lead to it."""
    taken, sums = 0.0, dict[tuple[EventKind, str], tuple[float, float, float]]()
    for way in ways:
        taken += way.seconds
        for event in way.events:
            number, time, held = sums.get((event.kind, event.what), (0.0, 0.0, 0.0))
            sums[event.kind, event.what] = number + event.count, time + event.seconds, held + event.size
    events = tuple(Event(kind, what, *found) for (kind, what), found in sums.items())
    return Line(spot, "", taken, taken / step if step else 0.0, events)


def name_of(kept: Kept) -> str:
    """What the program calls that which holds tensors: `losses` of "list `losses`"; "" where nobody knows."""
    return next(iter(kept.holder.split("`")[1:2]), "")


def _held(kept: Sequence[Kept], evidence: Holding, rows: Rows, source: str) -> list[Kept]:
    """Those of the tensors that stay which are those of a finding at these rows."""
    if evidence.holder:
        found = [one for one in kept if evidence.holder in one.holder.lower()]
    else:
        found = [
            one for one in kept if (name := name_of(one)) and re.search(rf"\b{re.escape(name)}\b", source)
        ]
    # Where nobody knows who holds them, it is what is known to keep them.
    return found or [one for one in kept if not name_of(one)]


def is_of(event: Event, evidence: Events) -> bool:
    """Whether an event is one of those that a rule is borne out by."""
    return event.kind in evidence.kinds and (not evidence.what or event.what.startswith(evidence.what))


def runs_whole_call(line: Line) -> bool:
    """Whether a line has `fit`, `predict` or a session run: what these do by themselves there is their own matter."""
    return any(event.kind in ("keras", "session") for event in line.events)


def own_time(line: Line) -> float:
    """The time of a line without what it waits for; what is known of its events, where nobody looked at the line."""
    by_kind: dict[str, float] = {}
    for event in line.events:
        by_kind[event.kind] = by_kind.get(event.kind, 0.0) + event.seconds
    waits = sum(by_kind.pop(kind, 0.0) for kind in _NOT_OWN)
    # Not their sum: one may be a part of another, as ops are of a call of Keras.
    return max(line.seconds - waits, *by_kind.values(), 0.0)


def said_of(events: Iterable[Event], noun: str) -> str:
    """Events of one rule in words: `412 eager ops`, `2 conversions, 19 MB`."""
    own = list(events)
    # The first kind is what the rule is about, the others are what comes with it.
    if noun == "eager op":
        own = [event for event in own if event.kind == "op"]
    number, held = sum(event.count for event in own), sum(event.size for event in own)
    if not own or count(number) == "0":
        return f"size {size(held)}" if held else ""
    return f"{counted(number, noun)}, {size(held)}" if held >= 1 else counted(number, noun)


def traced_in_words(traced: Sequence[Traced], times: int, steps: int) -> str:
    """`traced 57 times in 200 steps: new Python value`."""
    causes: dict[str, int] = {}
    for one in traced:
        for cause, number in one.causes.items():
            if cause != "first call" or len(one.causes) == 1:
                causes[cause] = causes.get(cause, 0) + number
    cause = max(causes, key=lambda name: causes[name], default="")
    said = f"traced {times:,} {'time' if times == 1 else 'times'} in {steps:,} {plural('step')}"
    return f"{said}: {cause_in_words(cause)}" if cause else said
