"""What comes of asking for a fix: edits that make it, or why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tflint_perf.records import dataclass

if TYPE_CHECKING:
    import libcst as cst

    from tflint_perf.finding import Edit


@dataclass(frozen=True, slots=True)
class Repair:
    """A fix as a rule gives it: what it does, its edits, and whether it is safe.

    A *bold* one rewrites as an expert would who then runs the program: it rests on what reading cannot know.

    What an unsafe one may change is said in its title: `may_change` is what follows these words there, and `shown_by`
    the place in the code that it is known from. `in_parts` says that it mends parts of what was found, of whose whole the
    cost on record tells.
    """

    message: str
    edits: list[Edit]
    safe: bool
    may_change: str = ""
    shown_by: cst.CSTNode | None = None
    bold: bool = False
    in_parts: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a rule does not fix what it found; `node` is what stands in the way.

    `in_parts` says that it leaves no way to mend the whole of what was found, of which the cost on record tells.
    """

    reason: str
    node: cst.CSTNode | None = None
    in_parts: bool = False
