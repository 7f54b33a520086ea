"""Programs and records of runs, made by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from tflint_perf.finding import Finding, Place
from tflint_perf.measured.record import (
    Event,
    EventKind,
    Growth,
    Interval,
    Kept,
    Line,
    Record,
    Settled,
    Spot,
    Steps,
    Traced,
    Way,
)
from tflint_perf.observed.blocks import Blocks
from tflint_perf.observed.seen import seen_in_a_run
from tflint_perf.observed.settle import Located, Watched, in_order

STEP = 8e-3
FLAT = Growth(Interval(0.0, 0.0, 0.0), False, ((0, 100.0), (200, 100.0)))
RISING = Growth(Interval(1.0, 0.9, 1.1), True, ((0, 100.0), (200, 300.0)))

PROGRAM = """\
import tensorflow as tf

losses = []


class Net(tf.keras.Model):
    def call(self, x):
        return tf.nn.relu(x @ self.w)


def train_step(x, y):
    with tf.GradientTape() as tape:
        predictions = model(x)
        loss = loss_of(y, predictions)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


def loss_of(y, predictions):
    return tf.reduce_mean((y - predictions) ** 2)


for x, y in dataset:
    x = tf.convert_to_tensor(x)
    loss = train_step(x, y)
    losses.append(loss)
    print(float(loss))
    for k in range(100):
        x = x * 2.0
"""
TAPE, GRADIENT, APPLY, LOSS_OF, LOOP, CONVERT, CALL, APPEND, PRINT, INNER, DOUBLE = (
    12, 15, 16, 21, 24, 25, 26, 27, 28, 29, 30,
)  # fmt: skip


# Who calls the rows of a function.
CALLERS: Mapping[range, tuple[int, ...]] = MappingProxyType(
    {range(8, 9): (13, CALL), range(12, 18): (CALL,), range(21, 22): (14, CALL)}
)


def event(
    kind: EventKind, what: str = "", count: float = 1.0, seconds: float = 0.0, size: float = 0.0
) -> Event:
    return Event(kind, what, count, seconds, size)


def line(row: int, seconds: float, *events: Event, file: str = "train.py") -> Line:
    source = PROGRAM.splitlines()[row - 1].strip() if row <= len(PROGRAM.splitlines()) else ""
    return Line(Spot(file, row), source, seconds, seconds / STEP, events)


def ways(lines: Iterable[Line]) -> tuple[Way, ...]:
    """The one way that leads to each line."""
    return tuple(
        Way(one.spot, tuple(Spot("train.py", row) for row in _callers(one)), one.seconds, one.events)
        for one in lines
    )


def _callers(one: Line) -> tuple[int, ...]:
    return next((callers for rows, callers in CALLERS.items() if one.spot.row in rows), ())


def record(root: Path, *lines: Line, **fields: Any) -> Record:
    """A run of 200 steps of 8 ms each; what is not said did not happen."""
    made = Record(
        program=("train.py",),
        root=str(root),
        date="2030-01-02",
        versions={"tensorflow": "9.8.7", "keras": "6.5.4", "python": "3.21.0"},
        device="CPU (synthetic)",
        ended="steps",
        code=0,
        wall=12.0,
        steps=Steps(200, "optimizer", Spot("train.py", LOOP), Spot("train.py", APPLY)),
        first_step=2.0,
        step=Interval(STEP, 7.9e-3, 8.2e-3),
        parts={"dispatch": 5e-3, "device": 2e-3, "rest": 1e-3},
        observer=Interval(1.02, 1.01, 1.04),
        detail=1.5,
        lines=lines,
        ways=ways(lines),
        reached=tuple(Spot("train.py", row) for row in range(1, len(PROGRAM.splitlines()) + 1)),
    )
    return replace(made, **fields)


def finding(code: str, row: int, last: int | None = None, message: str = "it is slow; mend it") -> Finding:
    rows = PROGRAM.splitlines()[row - 1 : last or row]
    indent = len(rows[0]) - len(rows[0].lstrip())
    start, end = Place(0, row, indent + 1), Place(1, last or row, len(rows[-1]) + 1)
    return Finding(code, code.lower(), message, start, end, tuple(rows), last or row)


def write(folder: Path, text: str = PROGRAM) -> Blocks:
    (folder / "train.py").write_text(text, encoding="utf-8")
    return Blocks(folder)


def settled(run: Record, blocks: Blocks, *findings: Finding) -> list[Settled]:
    watched = Watched(run, blocks)
    path = str(Path(run.root) / "train.py")
    return [watched.settled(Located(path, one)) for one in findings]


def seen(run: Record, blocks: Blocks, *known: Finding) -> list[Settled]:
    """What the run saw beside the findings that are known and reached."""
    watched = Watched(run, blocks)
    path = str(Path(run.root) / "train.py")
    told = [(one.code, watched.rows(Located(path, one))) for one in known]
    return list(in_order(seen_in_a_run(watched, told)))


def codes(found: Iterable[Settled]) -> list[tuple[str, int]]:
    return [(one.code, one.spot.row) for one in found]


def traced(row: int | None, called: int | None, causes: Mapping[str, int], seconds: float = 1.0) -> Traced:
    count = sum(causes.values())
    spot, at = (Spot("train.py", each) if each is not None else None for each in (row, called))
    return Traced("train_step", spot, at, count, max(count - 1, 0), seconds, causes)


def kept(holder: str, row: int | None, count: float = 12.0) -> Kept:
    return Kept(count, holder, Spot("train.py", row) if row is not None else None)


EAGER = (
    line(13, 2e-3, event("op", "MatMul", 20, 1e-3)),
    line(GRADIENT, 1.5e-3, event("op", "MatMul", 40, 1e-3)),
    line(APPLY, 1e-3, event("op", "AssignSubVariableOp", 50, 0.5e-3)),
)
