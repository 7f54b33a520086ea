"""What a run can see of each rule, and what not and why: two tables with a row for every rule.

A rule that is about time is borne out by events at the lines of its finding, or by all the time that passes there; one
about tracing by functions that are traced again; one about memory by tensors that stay. The site's page on
`tflint-perf run` shows these tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from tflint_perf.measured.record import EventKind

# Where to look: the finding's own rows; the innermost function or loop around it; its rows and the functions of the same
# file that are called there; the rows of the statement; everywhere.
Scope = Literal["row", "block", "function", "calls", "program"]
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


_EAGER = (
    "the eager ops there and in what is called there, and the time of their lines, without waiting for input"
)
_INPUT = "the time that a step waits for its next batch: the most that a better pipeline can save"

SEEN: Mapping[str, Seen] = MappingProxyType(
    {
        "TFP101": Seen(
            Events("eager op", ("op",), "block", whole=True),
            f"In the function or loop around the tape: {_EAGER}.",
        ),
        "TFP102": Seen(Events("eager op", ("op",), "block", whole=True), f"In the loop: {_EAGER}."),
        "TFP103": Seen(
            Traces("function", first=True),
            "How long the function around the loop is traced, the first time too.",
        ),
        "TFP104": Seen(
            Events("eager op", ("op",), "program", whole=True),
            f"Eager ops anywhere in a step: {_EAGER}.",
        ),
        "TFP105": Seen(
            Events("call", ("keras",), what=("predict", "evaluate", "fit")), "The calls and their time."
        ),
        "TFP106": Seen(Events("eager op", ("op",), "block", whole=True), f"In the loop: {_EAGER}."),
        "TFP107": Seen(
            Events("eager op", ("op",), "function", whole=True),
            f"At the call, or in the function around it: {_EAGER}.",
        ),
        "TFP201": Seen(
            Traces("function", ("new function object", "first call")),
            "Traces in later steps of a function object that was not there before.",
        ),
        "TFP202": Seen(
            Traces("call", ("new Python value",)), "Traces in later steps because of another Python value."
        ),
        "TFP203": Seen(
            Adding(), "Ops added to the graph at the row, and that the graph grows with the steps."
        ),
        "TFP204": Seen(
            Events(
                "new object",
                ("new",),
                what=("Variable", "Layer", "Optimizer", "Metric", "Loss", "Model"),
                whole=True,
            ),
            "Variables, layers, optimizers, metrics and losses made at the row, and its time.",
        ),
        "TFP206": Seen(
            Traces("call", ("new shape", "new dtype")), "Traces in later steps because of another shape."
        ),
        "TFP301": Seen(
            Events("conversion", ("conversion",)), "Conversions at the row with their bytes and their time."
        ),
        "TFP302": Seen(Events("copy", ("copy",)), "Copies to the host at the row and their time."),
        "TFP303": Seen(
            Events("line", (), "calls", whole=True),
            "The time of the row and of the functions in the same file that it calls.",
        ),
        "TFP304": Seen(Events("file", ("file",), whole=True), "Files opened at the row, and its time."),
        "TFP306": Seen(
            Events("call", ("get weights",)), "Calls of `get_weights` and `set_weights` and their time."
        ),
        "TFP401": Seen(Holding(), "Tensors that stay from step to step, with who holds them."),
        "TFP402": Seen(
            Holding("tape"),
            "Tensors that stay from step to step, held by a tape or by nobody that has a name.",
        ),
        "TFP406": Seen(Events("collection", ("gc",)), "Collections at the row and their time."),
        "TFP408": Seen(
            Traces("program"),
            "The time of the row where `clear_session()` runs, and traces in later steps. The other reset does nothing.",
        ),
        "TFP409": Seen(
            Events("eager op", ("op",), whole=True), "Eager ops at the row that adds up, and its time."
        ),
        "TFP502": Seen(Waiting(), f"Of the whole program: {_INPUT}."),
        "TFP503": Seen(Waiting(), f"Of the whole program: {_INPUT}."),
        "TFP504": Seen(Waiting(), f"Of the whole program: {_INPUT}."),
        "TFP505": Seen(Waiting(), f"Of the whole program: {_INPUT}."),
        "TFP506": Seen(
            Events("new dataset", ("new",), what=("Dataset", "Iterator"), whole=True),
            "Datasets made at the row, and its time.",
        ),
        "TFP507": Seen(
            Events("new iterator", ("new",), what=("Iterator", "Dataset"), whole=True),
            "Iterators made at the row, and its time.",
        ),
        "TFP508": Seen(Waiting(), f"Of the whole program: {_INPUT}."),
        "TFP509": Seen(
            Waiting(),
            f"Of the whole program: {_INPUT}. Not what filling the buffer takes before the first step.",
        ),
        "TFP510": Seen(Waiting(), f"Of the whole program: {_INPUT}."),
        "TFP601": Seen(
            Events("check", ("op",), "program", what=("CheckNumerics",)),
            "Eager ops that check numerics, anywhere in a step, and their time.",
            "checks inside compiled functions are not seen one by one",
        ),
        "TFP603": Seen(
            Events("write", ("summary", "checkpoint")),
            "Summaries and checkpoints written at the row and their time.",
        ),
    }
)

# Why a run says nothing of the cost of the others.
UNSEEN: Mapping[str, str] = MappingProxyType(
    {
        "TFP205": "it runs once, while a function is traced, or stops the program: it is about what is computed",
        "TFP305": "feeding is a part of the session's call, which is not taken apart",
        "TFP403": "what a tape holds is gone by the end of its step, and the peak in between is not told apart",
        "TFP404": "memory of a GPU is reserved before the first step, which takes no longer for it",
        "TFP405": "TensorFlow raises there, so there is no run to look at",
        "TFP407": "a run is stopped long before such a loop has come round often enough",
        "TFP501": "a step is as long as its one sample needs; what it would be with a batch is seen only by trying",
        "TFP511": "it is done once, before the steps, and takes memory by the size of the data",
        "TFP602": "the names are gone from TensorFlow, which stops the program: it is about whether it runs",
        "TFP604": "what half precision would save is seen only by trying",
        "TFP605": "what single precision would save is seen only by trying",
        "TFP606": "the op takes next to nothing; it is about what is computed",
    }
)

# Rules that look at the same thing: where one has a finding, a run adds none by another for it.
ALIKE: tuple[frozenset[str], ...] = (
    frozenset({"TFP101", "TFP102", "TFP104", "TFP106", "TFP107", "TFP303", "TFP409"}),
    frozenset({"TFP201", "TFP202", "TFP206", "TFP204", "TFP408"}),
    frozenset({"TFP301", "TFP303", "TFP305", "TFP605", "TFP106"}),
    frozenset({"TFP302", "TFP106", "TFP409"}),
    frozenset({"TFP401", "TFP402", "TFP409"}),
    frozenset({"TFP506", "TFP507", "TFP501", "TFP105"}),
    frozenset({"TFP304", "TFP303"}),
    frozenset({"TFP603", "TFP306"}),
)


def alike(code: str) -> frozenset[str]:
    """The rules that look at the same thing as one of them, itself included."""
    return frozenset({code}).union(*(group for group in ALIKE if code in group))
