"""A fix and what is not known of it: safe where there is no doubt, else unsafe, with the doubt in its title."""

from __future__ import annotations

from tflint_perf.analysis.rewriting import Doubt
from tflint_perf.finding import Edit
from tflint_perf.repair import Repair

# What compiling code may change.
TRACED = "rounding, random draws, and when its Python code runs"


def judged(message: str, edits: list[Edit], doubt: Doubt | None) -> Repair:
    """A fix that is safe unless there is a doubt."""
    if doubt is None:
        return Repair(message, edits, safe=True)
    return Repair(message, edits, safe=False, may_change=doubt.what, shown_by=doubt.node)
