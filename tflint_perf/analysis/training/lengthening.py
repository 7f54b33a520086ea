"""Inputs that get longer with each call, as text does that a model writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.python.syntax import callee_name, descendants, names_read

if TYPE_CHECKING:
    from tflint_perf.analysis.execution.loops import Loops

_JOINING = frozenset({"concat", "concatenate", "append", "vstack", "hstack", "stack", "pad"})


def gets_longer(loops: Loops, call: cst.Call) -> bool:
    """Whether the loop around a call joins something to what it gives that call."""
    loop = loops.innermost_loop(call)
    if loop is None:
        return False
    read = {name.value for arg in call.args for name in names_read(arg.value)}
    for node in descendants(loop.node):
        if isinstance(node, cst.Assign) and isinstance(node.value, cst.Call):
            written = {name.value for target in node.targets for name in names_read(target.target)}
            again = {name.value for name in names_read(node.value)}
            if callee_name(node.value) in _JOINING and read & written & again:
                return True
        if isinstance(node, cst.Call) and callee_name(node) == "append":
            if isinstance(node.func, cst.Attribute) and read & {n.value for n in names_read(node.func.value)}:
                return True
    return False
