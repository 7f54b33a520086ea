"""What a run hands to a report: plain data that travels between processes."""

from __future__ import annotations

from typing import Literal

from tflint_perf.records import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A point in a source.

    `offset` counts characters of `Source.text` from 0; `row` and `column` count from 1, inside the cell
    when the source is a notebook; `cell` counts a notebook's cells from 1 and is None in a `.py` file.
    """

    offset: int
    row: int
    column: int
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the text from `start` up to (not including) `end` by `content`."""

    start: Place
    end: Place
    content: str


@dataclass(frozen=True, slots=True)
class Fix:
    """Edits that belong together: all are applied, or none.

    A fix is *safe* when the values that the program computes stay the same, and *bold* when only a run of the program
    can tell whether it works at all: `--fix` makes none of those, `prove` tries them.
    """

    message: str
    edits: tuple[Edit, ...]
    safe: bool
    bold: bool = False


# "fit" is a call of Keras that has the loop inside, "callback" a method that Keras calls for each batch.
ViaKind = Literal["loop", "fit", "callback", "call", "inner"]


@dataclass(frozen=True, slots=True)
class Via:
    """What makes code run on each step: the loop of steps, a call on the way from it, or a loop inside in which it runs several times.

    `name` is what is called, as it is spelled, and `code` the line that it stands on. `file` is the path of another file, from
    the folder of the one that this is said of; "" for the same file. `always` says that what it leads to runs each time,
    behind no condition.
    """

    kind: ViaKind
    name: str
    row: int
    cell: int | None = None
    file: str = ""
    code: str = ""
    always: bool = True


@dataclass(frozen=True, slots=True)
class OwnCost:
    """What a run of the user's own program said of a finding: the `status` as in `Settled`, and how many `seconds` of the
    `step_seconds` of a step mending it could save at most; 0 where time is not it."""

    status: str
    seconds: float
    step_seconds: float | None
    device: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a rule applies.

    `note` says what the message has no room for, for instance why there is no fix. `lines` are the source
    lines from `start.row` to `end.row`. `other` is the fix to try where `fix` does not pay, if bold fixes are asked for. `noqa_row` is the row at whose end a `# noqa` suppresses it.
    `each_step` says why it runs on each step, from the loop down to the call of the function that it is in; () where
    that is not so, or not what it is about. `own_cost` is there where a run of the program judged it. `to_prove` says that there
    is no fix but a bold one, and that nobody has asked for those; `minor`, that its place costs little in any program. `beside` says what else the remedy goes with.
    `as_measured` says that its form is the one of the rule's experiment, so that the cost on record is of such code.
    """

    code: str
    name: str
    message: str
    start: Place
    end: Place
    lines: tuple[str, ...]
    noqa_row: int
    fix: Fix | None = None
    note: str | None = None
    other: Fix | None = None
    each_step: tuple[Via, ...] = ()
    own_cost: OwnCost | None = None
    to_prove: bool = False
    minor: bool = False
    beside: str = ""
    as_measured: bool = False

    @property
    def remark(self) -> str | None:
        """What the remedy goes with, the note, and how a bold fix is had where there is no other."""
        tries = (
            "`tflint-perf prove --bold-fixes` tries one that only a run can judge" if self.to_prove else ""
        )
        return "; ".join(filter(None, [self.beside, self.note, tries])) or None
