"""Code that never runs."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.python.walk import Walk


def never_runs(walk: Walk, node: cst.CSTNode) -> bool:
    """Whether a `return`, `raise`, `break`, `continue` or `assert False` stands before a node in its block, or in one around
    it."""
    current: cst.CSTNode | None = node
    while current is not None:
        at = walk.at.get(current)
        if at is not None and at.block.left_at is not None and at.block.left_at < at.order:
            return True
        current = walk.parents.get(current)
    return False
