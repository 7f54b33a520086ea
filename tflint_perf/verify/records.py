"""What experiments leave behind, and its form on file: `fixtures/evidence/<device>.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from tflint_perf.plain_data import plain
from tflint_perf.rule import Claim

SCHEMA = 1
_DIGITS = 4
_LEFT_OUT_IF_EMPTY = ("output", "size", "sizes", "date", "noise")
# A list of numbers, and a list of such lists: one line each.
_FLAT_LISTS = (re.compile(r"\[\s+([^\[\]{}\"]*?)\s+\]"), re.compile(r"\[\s+(\[[^{}\"]*?\])\s+\](?=[,\s])"))

# "agrees" is the best that a quick run can say: both scripts ran, and their losses are the same.
# "too noisy" is none: the machine was busy, and what was measured is not kept.
Verdict = Literal["confirmed", "refuted", "inconclusive", "too noisy", "not measurable", "failed", "agrees"]


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """Bytes on all GPUs together: what tensors take, what they took at most, what the driver has given away.

    The first two are TensorFlow's own count, the last is NVML's; None where nobody could tell.
    """

    current: int | None
    peak: int | None
    reserved: int | None


@dataclass(frozen=True, slots=True)
class Run:
    """One script, run once in a process of its own. Times are in seconds, memory is in bytes.

    `windows` are (first step, steps, seconds). `memory` is (step, resident bytes); its first entry is from
    before the first step. `counts` is (step, live tensors, traces, ops in all graphs), where the claim is about one of them;
    what was not counted is None. `growth` is how much
    slower the last quarter of the steps is than the first. `samples_per_step` is None where the script does
    not say; then a step of both scripts takes the same samples.
    """

    first_step: float
    step: float
    windows: tuple[tuple[int, int, float], ...]
    memory: tuple[tuple[int, int], ...]
    counts: tuple[tuple[int, int, int, int], ...]
    growth: float
    growth_low: float
    growth_high: float
    host_bytes_per_step: float
    live_tensors_per_step: float | None
    device_memory: DeviceMemory | None
    traces: int
    graph_ops: int | None
    wall: float
    samples_per_step: int | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """A run of the slow script and one of the fast script, one right after the other."""

    slow: Run
    fast: Run


@dataclass(frozen=True, slots=True)
class Effect:
    """A median over the pairs with its interval, and how sure that is of pairs that know nothing of each other.

    `confidence` is None on files from before it was kept, and where nothing was measured in pairs.
    """

    value: float
    low: float
    high: float
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Losses:
    """Whether both scripts computed the same, and the largest relative difference between two losses.

    `steps` is how many both did; None on files from before it was kept. `weights` is the largest difference of a
    trained variable at the end of them, by how far training moved it; None where that was not compared, for the
    reason in `not_compared`. `why` says what is not the same, or what explains a difference.
    """

    agree: bool
    difference: float
    steps: int | None = None
    weights: float | None = None
    not_compared: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Worse:
    """What the fast script does worse: medians of both, in seconds or bytes, and `effect`, fast over slow.

    `steps` is how many it takes until what is saved in a first step is lost in the others, or the other way round; None where
    the one does not make good for the other.
    """

    metric: str
    slow: float
    fast: float
    effect: Effect
    steps: float | None = None


@dataclass(frozen=True, slots=True)
class Sized:
    """What came of an experiment at one size; `what` that is in words, `at` how many `of` what grows, `step` what a step is.

    `slow` and `fast` are what the claim is about, pair by pair: seconds, bytes or numbers (a step, where growth is claimed).
    """

    name: str
    what: str
    of: str
    at: int
    grows: str
    step: str
    verdict: Verdict
    reason: str
    steps: int
    effect: Effect | None
    slow: tuple[float, ...]
    fast: tuple[float, ...]
    worse: tuple[Worse, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one experiment; `output` is the end of what a script wrote that failed.

    Where it has sizes, `size` is that of the verdict and the pairs, and `sizes` has all that were measured. `date` is when,
    where that is another day than the record's. `noise` is how many times as long the same work took at a time as at best.
    """

    verdict: Verdict
    reason: str
    claim: Claim
    steps: int
    effect: Effect | None = None
    losses: Losses | None = None
    pairs: tuple[Pair, ...] = ()
    output: str = ""
    worse: tuple[Worse, ...] = ()
    size: str = ""
    sizes: tuple[Sized, ...] = ()
    date: str = ""
    noise: float | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """Where experiments ran; `memory` in bytes, `driver` for a GPU only."""

    kind: Literal["cpu", "gpu"]
    name: str
    driver: str | None
    memory: int

    @property
    def slug(self) -> str:
        """The name of its evidence file: `cpu`, `nvidia-h200`."""
        return "cpu" if self.kind == "cpu" else re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


@dataclass(frozen=True, slots=True)
class Record:
    """The results of one run of the verifier, by code or by the name of a belief or a pair."""

    device: Device
    versions: Mapping[str, str]
    date: str
    results: Mapping[str, Result] = field(default_factory=dict)
    schema: int = SCHEMA


def to_json(record: Record) -> str:
    """The text of an evidence file: keys sorted, a series on one line, floats to four digits."""
    return as_text(as_document(record)) + "\n"


def as_document(record: Record) -> dict[str, Any]:
    """The record as JSON knows it."""
    document: dict[str, Any] = plain(asdict(record), _DIGITS)
    for result in document["results"].values():
        for name in _LEFT_OUT_IF_EMPTY:
            if not result[name]:
                del result[name]
    return document


def as_text(document: Mapping[str, Any]) -> str:
    """JSON text that people can read and compare."""
    text = json.dumps(document, indent=1, sort_keys=True, allow_nan=False)
    for pattern in _FLAT_LISTS:
        text = pattern.sub(lambda match: f"[{' '.join(match[1].split())}]", text)
    return text


def from_json(text: str) -> Record:
    """The record in an evidence file.

    Raises:
        ValueError: it is none, or one of another schema.
    """
    try:
        document = json.loads(text)
        if document["schema"] != SCHEMA:
            raise ValueError(f"schema {document['schema']}, expected {SCHEMA}")
        results = {name: _result(item) for name, item in document["results"].items()}
        return Record(Device(**document["device"]), document["versions"], document["date"], results)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not an evidence file: {error!r}") from error


def read_record(path: Path) -> Record:
    """Like `from_json`, of a file."""
    return from_json(path.read_text(encoding="utf-8"))


def _result(item: Mapping[str, Any]) -> Result:
    return Result(
        **{
            **item,
            "claim": Claim(**item["claim"]),
            "effect": Effect(**item["effect"]) if item["effect"] else None,
            "losses": Losses(**item["losses"]) if item["losses"] else None,
            "worse": _worse(item),
            "sizes": tuple(map(_sized, item.get("sizes", ()))),
            "pairs": tuple(Pair(_run(pair["slow"]), _run(pair["fast"])) for pair in item["pairs"]),
        }
    )


def _sized(item: Mapping[str, Any]) -> Sized:
    effect = item["effect"]
    return Sized(
        **{
            **item,
            "effect": Effect(**effect) if effect else None,
            "slow": tuple(item["slow"]),
            "fast": tuple(item["fast"]),
            "worse": _worse(item),
        }
    )


def _worse(item: Mapping[str, Any]) -> tuple[Worse, ...]:
    return tuple(Worse(**{**one, "effect": Effect(**one["effect"])}) for one in item.get("worse", ()))


def _run(item: Mapping[str, Any]) -> Run:
    memory = item["device_memory"]
    return Run(
        **{
            **item,
            **{name: _rows(item[name]) for name in ("windows", "memory", "counts")},
            "device_memory": DeviceMemory(**memory) if memory else None,
        }
    )


def _rows(rows: Iterable[Iterable[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(tuple(row) for row in rows)
