"""What stands in the way of a rewrite."""

from __future__ import annotations

import libcst as cst

from tflint_perf.records import dataclass


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Something that tracing would change or break, and where it stands."""

    node: cst.CSTNode
    reason: str
