"""What a watched run leaves behind, and its form on file: `run.json`.

All times are in seconds, memory is in bytes, and what is said of a step is a mean over the steps that were looked at
unless it says otherwise. Rows count from 1; in a notebook they count inside the cell, and `cell` counts its cells from 1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, Literal

from tflint_perf.plain_data import plain
from tflint_perf.records import dataclass

SCHEMA = 1

# What the time of a step is divided into; each moment belongs to one of them, so they sum to the step.
Part = Literal[
    "input",  # waiting for the next batch of a dataset
    "dispatch",  # Python in TensorFlow and Keras, and what it takes to start an op
    "device",  # kernels, eager and in compiled functions; on a GPU, waiting for it too
    "tracing",  # making graphs of Python functions
    "copies",  # tensors to the host
    "conversions",  # host data to tensors
    "files",  # opening, reading and writing
    "gc",  # Python's garbage collector
    "rest",  # the program's other Python, and other libraries
]
PARTS: tuple[Part, ...] = (
    "input",
    "dispatch",
    "device",
    "tracing",
    "copies",
    "conversions",
    "files",
    "gc",
    "rest",
)

# What can be seen to happen at a line of the user's code.
EventKind = Literal[
    "op",  # an eager op; `what` is its type
    "function",  # a call of a compiled function; `what` is its name
    "copy",  # to the host; `what` is `numpy`, `float`, `bool`, `print`, `asarray` …
    "conversion",  # from the host; `what` is `ndarray`, `list`, `int` …
    "input",  # a batch taken from an iterator
    "trace",  # `what` is the name of the function
    "new",  # an object made; `what` is `Dataset`, `Iterator`, `Variable`, `Layer`, `Optimizer`, `Function`, `Session` …
    "graph op",  # an op added to a graph that sessions run; `what` is its type
    "file",  # a file opened; `what` is how
    "gc",  # `gc.collect()`
    "session",  # `Session.run`; `bytes` are those of what it was fed
    "keras",  # `fit`, `predict`, `evaluate`, `train_on_batch` … of a Keras model
    "summary",  # a summary written
    "checkpoint",  # weights or a checkpoint written or read
    "get weights",  # `get_weights` and `set_weights`
    "gradient",  # `what` is `persistent` where the tape is
    "random",  # NumPy's or Python's random numbers drawn on the host in bulk
]

# What steps were looked at for: their `time` alone, the `lines` that hold it, or `details`, each op and copy.
Look = Literal["time", "lines", "details"]
# Of fewer steps, those right behind the warm-up, the figures may be off by several times.
LEAST_LOOKS: Mapping[Look, int] = {"time": 5, "lines": 5, "details": 3}
# Why nothing is said of a finding then, as `Settled.why`.
TOO_FEW = "too few steps to tell"
NO_STEPS = "no steps were found, so there is nothing to compare it with"
FAILED_BEFORE = "the program failed before it got there"
# So many steps are enough, whatever a step takes.
ENOUGH_STEPS = 100

Ending = Literal["end", "steps", "seconds", "exit", "error", "signal"]
# `not judged`: its row ran, but a run cannot tell what it costs; or it might have run, had the program not failed.
Status = Literal["confirmed", "cheap", "not reached", "seen in a run", "not judged"]


@dataclass(frozen=True)
class Interval:
    """A figure with its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Spot:
    """A line of the program; `file` is relative to `Record.root`, with slashes, or absolute if it lies elsewhere."""

    file: str
    row: int
    cell: int | None = None


@dataclass(frozen=True)
class Event:
    """What happened at a line, a step: how often, how long, how many bytes. `seconds` include what it did itself."""

    kind: EventKind
    what: str
    count: float
    seconds: float
    size: float = 0.0


@dataclass(frozen=True)
class Line:
    """A line of the program and what it cost a step: `seconds` pass while it is the innermost line of the program. Now and then
    it is looked where a program is: `error` is the standard error of the seconds, from how many looks there were."""

    spot: Spot
    source: str
    seconds: float
    share: float
    events: tuple[Event, ...] = ()
    error: float = 0.0


@dataclass(frozen=True)
class Way:
    """What a line cost a step while `callers` had called it, the nearest first: its part of `Line.seconds`, and of the events that
    were told apart by that."""

    spot: Spot
    callers: tuple[Spot, ...]
    seconds: float
    events: tuple[Event, ...] = ()


@dataclass(frozen=True)
class Traced:
    """A Python function that was made a graph of.

    `causes` counts why: `first call`, `new shape`, `new dtype`, `new Python value`, `new function object`, `other`.
    `in_steps` is how often after the first five steps.
    """

    function: str
    spot: Spot | None
    called_at: Spot | None
    count: int
    in_steps: int
    seconds: float
    causes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Growth:
    """A figure over steps: `slope` a step, the points, and whether it grows beyond doubt and by what matters."""

    slope: Interval
    grows: bool
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Kept:
    """Tensors that stay alive from step to step, how many a step, and who holds them: `list `losses` of module train`."""

    count: float
    holder: str
    spot: Spot | None = None


@dataclass(frozen=True)
class Settled:
    """A finding, beside what the run saw. `seconds` a step are what mending could save at most; 0 where time is not it.

    `why` says what was seen in a few words: "3.1 of 8.2 ms a step", "traced 57 times in 200 steps". `source` are the
    finding's lines without indentation, by which it is found again when the file has changed around them.
    """

    code: str
    name: str
    message: str
    spot: Spot
    status: Status
    seconds: float
    why: str
    source: str = ""


@dataclass(frozen=True)
class Steps:
    """How steps were found: `kind` is `optimizer`, `session`, `gradient` or `told`, or `keras` where they are batches of `fit`.

    `loop` is the row of the loop whose rounds are the steps, or of the call (`fit`) that has the loop inside; `update` the
    line in it that applies gradients.
    """

    count: int
    kind: str
    loop: Spot | None
    update: Spot | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Record:
    """A program, watched. `program` is as it was given, `root` the absolute folder that its files are relative to.

    `step` is the median, or the mean where some steps do much that others don't, and `median_step` the median in any case;
    `mean_step` is what all steps after the warm-up took by step: more, where some are traced or wait.
    `observer` is how many times as long a step takes with the observer in it as without, timing and details apart.
    `detail` is the same of the few steps in which all was looked at, beside others that do as much. `parts` sum to `step`;
    `parts_sum` is what those of the few steps sum to, when the observer's own time has been taken off, of what others that do as
    much take; `looked_sum` is what they sum to in `step`s, which may do more or less. `looked_at` is how many steps were looked at
    for what; records of old do not say. `between` are the lines that run between epochs, where time that is in no figure
    for a step goes: `seconds` each time, and the share of all that. `ways` are the lines by who has called them.
    """

    program: tuple[str, ...]
    root: str
    date: str
    versions: Mapping[str, str]
    device: str
    ended: Ending
    code: int
    wall: float
    steps: Steps
    first_step: float | None = None
    step: Interval | None = None
    mean_step: float | None = None
    median_step: float | None = None
    parts: Mapping[Part, float] = field(default_factory=dict)
    parts_sum: float | None = None
    looked_sum: float | None = None
    observer: Interval | None = None
    detail: float | None = None
    lines: tuple[Line, ...] = ()
    traces: tuple[Traced, ...] = ()
    growth: Mapping[str, Growth] = field(default_factory=dict)
    kept: tuple[Kept, ...] = ()
    reached: tuple[Spot, ...] = ()
    findings: tuple[Settled, ...] = ()
    looked_at: Mapping[Look, int] = field(default_factory=dict)
    between: tuple[Line, ...] = ()
    ways: tuple[Way, ...] = ()
    schema: int = SCHEMA

    @property
    def has_failed(self) -> bool:
        """Whether the program did not get as far as it should have."""
        return self.ended in ("error", "signal") or (self.ended == "exit" and self.code != 0)

    @property
    def is_long_enough(self) -> bool:
        """Whether enough steps were looked at to say what lines and findings cost."""
        return not self.looked_at or all(
            self.looked_at.get(look, 0) >= least for look, least in LEAST_LOOKS.items()
        )


def to_json(record: Record) -> str:
    """The text of a `run.json`."""
    return json.dumps(plain(asdict(record), 6), indent=1, allow_nan=False) + "\n"


def from_json(text: str) -> Record:
    """The record in a `run.json`.

    Raises:
        ValueError: it is none, or one of another schema.
    """
    try:
        document = json.loads(text)
        if document["schema"] != SCHEMA:
            raise ValueError(f"schema {document['schema']}, expected {SCHEMA}")
        return _record(document)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a record of a run: {error!r}") from error


def read_record(path: Path) -> Record:
    """Like `from_json`, of a file."""
    return from_json(path.read_text(encoding="utf-8"))


def _record(item: Mapping[str, Any]) -> Record:
    steps = item["steps"]
    return Record(
        **{
            **item,
            "program": tuple(item["program"]),
            "steps": Steps(
                **{
                    **steps,
                    "loop": _spot(steps["loop"]),
                    "update": _spot(steps["update"]),
                    "notes": tuple(steps["notes"]),
                }
            ),
            "step": _interval(item["step"]),
            "observer": _interval(item["observer"]),
            "lines": tuple(map(_line, item["lines"])),
            "between": tuple(map(_line, item.get("between", ()))),
            "ways": tuple(map(_way, item.get("ways", ()))),
            "traces": tuple(
                Traced(**{**one, "spot": _spot(one["spot"]), "called_at": _spot(one["called_at"])})
                for one in item["traces"]
            ),
            "growth": {name: _growth(one) for name, one in item["growth"].items()},
            "kept": tuple(Kept(**{**one, "spot": _spot(one["spot"])}) for one in item["kept"]),
            "reached": tuple(Spot(**one) for one in item["reached"]),
            "findings": tuple(Settled(**{**one, "spot": Spot(**one["spot"])}) for one in item["findings"]),
        }
    )


def _line(item: Mapping[str, Any]) -> Line:
    events = tuple(Event(**event) for event in item["events"])
    return Line(**{**item, "spot": Spot(**item["spot"]), "events": events})


def _way(item: Mapping[str, Any]) -> Way:
    callers = tuple(Spot(**spot) for spot in item["callers"])
    events = tuple(Event(**event) for event in item["events"])
    return Way(Spot(**item["spot"]), callers, item["seconds"], events)


def _growth(item: Mapping[str, Any]) -> Growth:
    points = tuple((float(step), float(value)) for step, value in item["points"])
    return Growth(Interval(**item["slope"]), item["grows"], points)


def _spot(item: Mapping[str, Any] | None) -> Spot | None:
    return Spot(**item) if item is not None else None


def _interval(item: Mapping[str, Any] | None) -> Interval | None:
    return Interval(**item) if item is not None else None
