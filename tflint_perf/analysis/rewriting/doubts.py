"""Why a fix is not known to be safe."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.records import dataclass


@dataclass(frozen=True, slots=True)
class Doubt:
    """What a fix may change, in words that follow "may change", and the place where that shows."""

    what: str
    node: cst.CSTNode | None = None


def if_it_changes(node: cst.CSTNode, shown: str) -> Doubt:
    """The doubt about a value that is not known to stay the same."""
    return Doubt(f"its result: nothing shows that {shown} stays the same", node)


@dataclass(frozen=True, slots=True)
class Move:
    """Where code is evaluated instead: above `loop`, together with statements that bind `names`, nodes of the tree.

    Without a loop it stays where it is, but runs at another time, once it is traced.
    """

    loop: Loop | None = None
    names: frozenset[cst.CSTNode] = frozenset()
