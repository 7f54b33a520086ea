"""Findings that reading could not know: what a run has seen, where it is certain and costs, or grows."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from types import MappingProxyType

from tflint_perf.catalogue.figures import count, size
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.measured.record import Event, EventKind, Kept, Line, Settled, Spot, Traced
from tflint_perf.observed import wording
from tflint_perf.observed.blocks import Rows
from tflint_perf.observed.evidence import FOUND, alike
from tflint_perf.observed.figures import counted
from tflint_perf.observed.settle import (
    Cost,
    Watched,
    name_of,
    own_time,
    runs_whole_call,
    said_of,
    traced_in_words,
)

# What takes less of a step is not worth a finding that nobody asked for.
LEAST = 0.05
# So many eager ops a step are no accident; so often a step is on each of them; so many bytes are a batch.
_MANY_OPS, _EACH, _BATCH = 16, 0.9, 100_000
# Of the tensors that stay, those of one holder are counted in samples: fewer than one a step may be one on each.
_KEPT = 0.5
# A trace now and then is one for a last, smaller batch.
_LEAST_TRACES, _TRACES_A_STEP = 3, 0.1
# Ops that only a model makes.
_OF_MODELS = ("MatMul", "Conv", "BatchMatMul", "DepthwiseConv", "FusedBatchNorm", "Cudnn", "_FusedMatMul")
_FIT = re.compile(r"\.fit(_generator)?\(")

# One event a step at least, of such a kind, is a finding by itself; so is an object made anew, and a trace for such a cause.
_BY_KIND: tuple[EventKind, ...] = ("copy", "file", "get weights", "gc")
_OBJECTS = ("Dataset", "Iterator", "Variable", "Layer", "Optimizer", "Metric")
_OF_ONE_BATCH: Mapping[str, str] = MappingProxyType(
    {"fit": "train_on_batch", "predict": "predict_on_batch", "evaluate": "test_on_batch"}
)
_CAUSES = ("new function object", "new Python value", "new shape")
_NOUNS: Mapping[EventKind, str] = MappingProxyType({"copy": "copy", "file": "file", "gc": "collection"})


def seen_in_a_run(
    watched: Watched, known: Iterable[tuple[str, Rows]], rules: AbstractSet[str] | None = None
) -> Iterator[Settled]:
    """What the run saw, of the given rules, where no finding is known that says the same; `known` are codes with their rows."""
    if not watched.step:
        return
    told = list(known)
    for one, where in _sorted(_all(watched, told)):
        if (rules is None or one.code in rules) and not _is_told(watched, one.code, where, told):
            told.append((one.code, where))
            yield one


_Found = tuple[Settled, Rows]


def _all(watched: Watched, known: Sequence[tuple[str, Rows]]) -> Iterator[_Found]:
    if not watched.record.is_long_enough:  # what was counted is certain, what was timed is not
        for one, rows in (*_traces(watched), *_kept(watched)):
            yield replace(one, seconds=0.0, why=wording.detail(one, watched.record)), rows
        return
    yield from _eager(watched, known)
    yield from _keras_calls(watched)
    yield from _by_kind(watched)
    yield from _conversions(watched)
    yield from _writes(watched)
    yield from _objects(watched)
    yield from _graph_ops(watched)
    yield from _traces(watched)
    yield from _kept(watched)


def _sorted(found: Iterable[_Found]) -> list[_Found]:
    return sorted(found, key=lambda pair: -pair[0].seconds)


def _is_told(watched: Watched, code: str, rows: Rows, told: Iterable[tuple[str, Rows]]) -> bool:
    """Whether a finding by the rule, or by one that looks at the same, stands at these rows or in the same block."""
    same = alike(code)
    around = watched.blocks.around(rows.spot)
    for other, at in told:
        if other not in same:
            continue
        if other == FOUND["eager Keras step"].code or at.spot in rows or rows.spot in at:
            return True
        # Of one rule, two lines of one block may both be meant; of two that are alike, it is one matter.
        if (other != code and at.spot in around) or (around.of == "function" and at.spot == around.spot):
            return True
    return False


def _made(
    watched: Watched, what: str, spot: Spot, cost: Cost, rows: Rows | None = None, names: Sequence[str] = ()
) -> _Found:
    """A finding; `names` fill in its message."""
    found = FOUND[what]
    settled = Settled(
        found.code,
        catalogue()[found.code].name,
        found.message.format(*names),
        spot,
        "seen in a run",
        cost.seconds,
        watched.why(cost),
        watched.blocks.line(spot),
    )
    return settled, rows or Rows(spot.file, spot.row, spot.row, spot.cell)


def _eager(watched: Watched, known: Sequence[tuple[str, Rows]]) -> Iterator[_Found]:
    """Code that runs op by op: a gradient step, a model, a loop."""
    record = watched.record
    blocks: dict[Rows, list[Line]] = {}
    for line in record.lines:
        if any(event.kind == "op" for event in line.events):
            blocks.setdefault(watched.blocks.around(line.spot), []).append(line)
    costs = {rows: _of_ops(watched, rows) for rows in blocks}
    dear = {rows: cost for rows, cost in costs.items() if cost is not None}
    if record.steps.loop is not None and _is_fit(watched, record.steps.loop):
        if dear:
            yield _under_keras(watched, record.steps.loop)
        return
    stepping = [rows for rows in dear if _is_step(watched, rows, blocks[rows])]
    for rows in stepping:
        spot = watched.blocks.tape_in(rows) or _costliest(blocks[rows]).spot
        yield _made(watched, "eager step", spot, dear[rows], rows)
    # The ops of a loss or a model in another function may be those of an eager step.
    told = {FOUND[what].code for what in ("eager step", "eager Keras step")}
    if stepping or any(code in told for code, _ in known):
        return
    # What runs below the call of a finding is told there.
    same = alike(FOUND["eager model"].code)
    elsewhere = [watched.scope(code, rows) for code, rows in known if code in same]
    for rows in sorted(dear, key=lambda rows: -dear[rows].seconds):
        cost = _of_ops(watched, rows, elsewhere)
        if cost is None:
            continue
        lines = _own_ops(watched, rows, elsewhere)
        if _is_model(lines):
            yield _made(watched, "eager model", _costliest(lines).spot, cost)
        elif rows.of == "loop" and record.steps.loop is not None and record.steps.loop not in rows:
            yield _made(watched, "eager loop", rows.spot, cost, rows)
        else:
            continue
        elsewhere.append(rows)


def _is_step(watched: Watched, rows: Rows, lines: Iterable[Line]) -> bool:
    """Whether gradients are made or applied in a block."""
    update = watched.record.steps.update
    return (
        _has(lines, "gradient")
        or (update is not None and update in rows)
        or watched.blocks.tape_in(rows) is not None
    )


def _is_fit(watched: Watched, loop: Spot) -> bool:
    """Whether the loop of steps is Keras's own, at the row of its call."""
    return watched.record.steps.kind == "keras" or _FIT.search(watched.blocks.line(loop)) is not None


def _under_keras(watched: Watched, loop: Spot) -> _Found:
    lines = [line for line in watched.record.lines if _has([line], "op")]
    events = [event for line in lines for event in line.events if event.kind == "op"]
    cost = Cost(min(sum(map(own_time, lines)), watched.step), said_of(events, "eager op"))
    return _made(watched, "eager Keras step", loop, cost)


def _of_ops(watched: Watched, rows: Rows, but: Collection[Rows] = ()) -> Cost | None:
    """What the lines of a block take that make many eager ops a step, `but` for what other rows run; None where they make few or
    take little."""
    cost = watched.of_eager_code(rows, but)
    own = (event for line in _own_ops(watched, rows, but) for event in line.events if event.kind == "op")
    few = sum(event.count for event in own) < _MANY_OPS
    return None if few or cost is None or cost.seconds < LEAST * watched.step else cost


def _own_ops(watched: Watched, rows: Rows, but: Collection[Rows]) -> list[Line]:
    """The lines of a block that make ops themselves."""
    return [line for line in watched.below(rows, but) if line.spot in rows and _has([line], "op")]


def _keras_calls(watched: Watched) -> Iterator[_Found]:
    for line, event in _dear_events(watched, "keras"):
        name = event.what.rpartition(".")[2]
        if name in _OF_ONE_BATCH and line.spot != watched.record.steps.loop:
            cost = Cost(event.seconds, counted(event.count, "call"))
            yield _made(watched, "Keras call", line.spot, cost, names=(name, _OF_ONE_BATCH[name]))


def _by_kind(watched: Watched) -> Iterator[_Found]:
    for kind in _BY_KIND:
        for line in watched.record.lines:
            if runs_whole_call(line):
                continue
            events = [event for event in line.events if event.kind == kind]
            if kind == "gc" and "collect(" not in line.source:
                continue  # by what is called there, which has a reason to
            # To open a file takes less than to read it.
            time = own_time(line) if kind == "file" else sum(event.seconds for event in events)
            # A collection takes so long that it need not be one a step to take much of it.
            often = kind == "gc" or sum(event.count for event in events) >= _EACH
            if events and often and time >= LEAST * watched.step:
                yield _made(watched, kind, line.spot, Cost(time, _said(events, _NOUNS.get(kind, "call"))))


def _conversions(watched: Watched) -> Iterator[_Found]:
    for line in watched.record.lines:
        events = [event for event in line.events if event.kind == "conversion"]
        time, held = sum(event.seconds for event in events), sum(event.size for event in events)
        if time < LEAST * watched.step or held < _BATCH or runs_whole_call(line):
            continue
        cost = Cost(time, _said(events, "conversion"))
        yield _made(watched, "conversion", line.spot, cost, names=(size(held),))


def _writes(watched: Watched) -> Iterator[_Found]:
    for line in watched.record.lines:
        events = [
            event
            for event in line.events
            if event.kind == "checkpoint" or (event.kind == "summary" and "scalar" not in event.what.lower())
        ]
        time = sum(event.seconds for event in events)
        if events and time >= LEAST * watched.step and sum(event.count for event in events) >= _EACH:
            yield _made(watched, "write", line.spot, Cost(time, _said(events, "write")))


def _objects(watched: Watched) -> Iterator[_Found]:
    for line in watched.record.lines:
        if runs_whole_call(line):
            continue
        made = {event.what: event for event in line.events if event.kind == "new" and event.count >= _EACH}
        # What an assignment gives is an object of that kind, too, but only a new variable has a handle made.
        if not any(event.what == "VarHandleOp" for event in line.events):
            made.pop("Variable", None)
        # What starts a pipeline anew often makes a stage for it, too: `dataset.take(1)`.
        names = [name for name in _OBJECTS if name in made and not (name == "Dataset" and "Iterator" in made)]
        time = own_time(line)
        for name in names[:1]:
            if time >= LEAST * watched.step:
                said = counted(made[name].count, f"new {name.lower()}")
                yield _made(watched, f"new {name}", line.spot, Cost(time, said))


def _graph_ops(watched: Watched) -> Iterator[_Found]:
    growth = watched.record.growth.get("graph ops")
    if growth is None or not growth.grows:
        return
    for line in watched.record.lines:
        events = [event for event in line.events if event.kind == "graph op"]
        number = sum(event.count for event in events)
        if number >= _EACH:
            time = sum(event.seconds for event in events)
            cost = Cost(min(time, watched.step), f"+{counted(number, 'op')} in the graph a step", grows=True)
            yield _made(watched, "graph op", line.spot, cost)


def _traces(watched: Watched) -> Iterator[_Found]:
    steps = max(watched.record.steps.count, 1)
    for traced in watched.record.traces:
        if traced.in_steps < _LEAST_TRACES:
            continue
        time = traced.seconds * traced.in_steps / max(traced.count, 1) / steps
        if traced.in_steps < _TRACES_A_STEP * steps and time < LEAST * watched.step:
            continue
        cause = max(traced.causes, key=lambda name: (name in _CAUSES, traced.causes[name]), default="")
        spot = _where_traced(watched, traced, cause)
        if cause in _CAUSES[:1] and any(
            line.spot == spot and runs_whole_call(line) for line in watched.record.lines
        ):
            continue  # a function that Keras makes for itself
        if cause in _CAUSES and spot is not None:
            said = traced_in_words((traced,), traced.in_steps, steps)
            cost = Cost(min(time, watched.step), said, grows=True)
            yield _made(watched, cause, spot, cost, names=(traced.function,))


def _where_traced(watched: Watched, traced: Traced, cause: str) -> Spot | None:
    if cause != "new function object":
        return traced.called_at or traced.spot
    made = [
        line.spot
        for line in watched.record.lines
        for event in line.events
        if event.kind == "new" and event.what == "Function"
    ]
    # Of several places where functions are made, none is known to be that of this one.
    return made[0] if len(set(made)) == 1 else traced.spot or traced.called_at


def _kept(watched: Watched) -> Iterator[_Found]:
    growth = watched.record.growth.get("live tensors")
    if growth is None or not growth.grows:
        return
    memory = watched.record.growth.get("host memory")
    for kept in watched.record.kept:
        is_tape = "tape" in kept.holder.lower()
        spot = _where_opened(watched, kept) if is_tape else _where_kept(watched, kept)
        if spot is None or kept.count < _KEPT:
            continue
        said = f"+{counted(kept.count, 'tensor')} a step, held by {kept.holder}"
        if memory is not None and memory.grows and memory.slope.value > 0:
            said += f"; memory +{size(memory.slope.value)} a step"
        cost = Cost(0.0, said, grows=True)
        yield _made(watched, "kept by a tape" if is_tape else "kept", spot, cost, names=(kept.holder,))


def _where_opened(watched: Watched, kept: Kept) -> Spot | None:
    """The row where the tape is opened that holds the tensors, in the function that has it or the whole file."""
    if kept.spot is None:
        return None
    inside = watched.blocks.function(kept.spot) or Rows(kept.spot.file, 1, sys.maxsize, kept.spot.cell)
    return watched.blocks.tape_in(inside) or kept.spot


def _where_kept(watched: Watched, kept: Kept) -> Spot | None:
    """The one row where what holds the tensors grows; None where there are several, or none is seen."""
    files = (kept.spot.file,) if kept.spot is not None else (line.spot.file for line in watched.record.lines)
    found = watched.blocks.growing(files, name_of(kept)) if name_of(kept) else ()
    return found[0] if len(found) == 1 else None


def _dear_events(watched: Watched, kind: EventKind) -> Iterator[tuple[Line, Event]]:
    """Events of a kind that happen on each step and take a part of it that matters."""
    for line in watched.record.lines:
        for event in line.events:
            if event.kind == kind and event.count >= _EACH and event.seconds >= LEAST * watched.step:
                yield line, event


def _said(events: Sequence[Event], noun: str) -> str:
    return said_of(events, noun) or count(sum(event.count for event in events))


def _has(lines: Iterable[Line], *kinds: EventKind) -> bool:
    return any(event.kind in kinds for line in lines for event in line.events)


def _is_model(lines: Iterable[Line]) -> bool:
    return any(
        event.kind == "op" and event.what.startswith(_OF_MODELS) for line in lines for event in line.events
    )


def _costliest(lines: Sequence[Line]) -> Line:
    return max(lines, key=own_time)
