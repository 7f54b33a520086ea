"""What a run can see of each rule, and what not and why: the rows of `evidence.toml`, which names every rule.

A rule that is about time is borne out by events at the lines of its finding, or by all the time that passes there; one
about tracing by functions that are traced again; one about memory by tensors that stay. The site's page on
`tflint-perf run` shows these tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Literal

from tflint_perf.config.reading import toml_of
from tflint_perf.measured.record import EventKind

# Where to look: the finding's own rows; the innermost function or loop around it; its rows, with all that is called there;
# everywhere.
Scope = Literal["row", "block", "calls", "program"]
# By what a traced function is found: the call, the function itself, or any.
TracedBy = Literal["call", "function", "program"]


@dataclass(frozen=True, slots=True)
class Events:
    """Events of some kinds in the scope; `what` narrows them, by how it begins.

    The cost is the time of those events or, with `whole`, all time on the lines of the scope, but for waiting for input.
    `noun` is what one of them is called.
    """

    noun: str
    kinds: tuple[EventKind, ...]
    scope: Scope = "row"
    what: tuple[str, ...] = ()
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Traces:
    """Functions that are traced again for one of these causes, any if there is none; `first` where the first trace counts."""

    by: TracedBy
    causes: tuple[str, ...] = ()
    first: bool = False


@dataclass(frozen=True, slots=True)
class Holding:
    """Tensors that stay from step to step, held at the finding's rows; `holder` where only such a holder counts."""

    holder: str = ""


@dataclass(frozen=True, slots=True)
class Adding:
    """Ops that are added to the graph at the finding's rows, which grows with the steps."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The part of a step in which it waits for its next batch, whatever keeps the pipeline."""


Evidence = Events | Traces | Holding | Adding | Waiting


@dataclass(frozen=True, slots=True)
class Seen:
    """What bears a rule out, and that in a sentence. `otherwise` is why nothing seen need not mean that it costs nothing."""

    evidence: Evidence
    says: str
    otherwise: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """Which rule speaks for what a run alone has seen, and what it says."""

    code: str
    message: str


def _evidence(row: Mapping[str, Any]) -> Evidence:
    match row["by"]:
        case "events":
            what, whole = tuple(row.get("what", ())), row.get("whole", False)
            return Events(row["noun"], tuple(row["kinds"]), row.get("scope", "row"), what, whole)
        case "traces":
            return Traces(row["at"], tuple(row.get("causes", ())), row.get("first", False))
        case "holding":
            return Holding(row.get("holder", ""))
        case "adding":
            return Adding()
        case "waiting":
            return Waiting()
    raise ValueError(f"no way of bearing out a rule: {row['by']}")


_TABLE = toml_of(files(__package__ or "").joinpath("evidence.toml").read_text(encoding="utf-8"))
_RULES: Mapping[str, Mapping[str, Any]] = _TABLE["rules"]

SEEN: Mapping[str, Seen] = MappingProxyType(
    {
        code: Seen(_evidence(row), row["says"], row.get("otherwise", ""))
        for code, row in _RULES.items()
        if "by" in row
    }
)
# Why a run says nothing of the cost of the others.
UNSEEN: Mapping[str, str] = MappingProxyType(
    {code: row["unseen"] for code, row in _RULES.items() if "unseen" in row}
)
# Rules that look at the same thing: where one has a finding, a run adds none by another for it.
ALIKE: tuple[frozenset[str], ...] = tuple(map(frozenset, _TABLE["alike"]))
# What a run alone has seen, by what it is.
FOUND: Mapping[str, Found] = MappingProxyType({name: Found(**row) for name, row in _TABLE["found"].items()})


def alike(code: str) -> frozenset[str]:
    """The rules that look at the same thing as one of them, itself included."""
    return frozenset({code}).union(*(group for group in ALIKE if code in group))
