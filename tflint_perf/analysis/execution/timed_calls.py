"""What a program itself takes the time of."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import has, last_names
from tflint_perf.analysis.python.scopes import At
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import builtin_or_qualified


def clocks(infer: Inference) -> Iterator[cst.Call]:
    """The calls that ask Python for the time."""
    for call in infer.walk.calls_named(*last_names("clock")):
        if has(builtin_or_qualified(infer, call.func), "clock"):
            yield call


def is_only_timed(infer: Inference, call: cst.Call) -> bool:
    """Whether `call` only runs to be timed: what it gives is thrown away, and its function looks at a clock before and
    after it, or before and after a loop that does nothing else."""
    match infer.walk.parents.get(call):
        case cst.Expr() | cst.Assign(targets=[cst.AssignTarget(target=cst.Name("_"))]):
            read = [infer.place(clock) for clock in clocks(infer)]
            return bool(read) and any(_stands_between(at, read) for at in _around(infer, call))
    return False


def _around(infer: Inference, call: cst.Call) -> Iterator[At]:
    """Where a call stands, and the loops around it of which it is the whole body."""
    at = infer.place(call)
    yield at
    while len(at.block.statements) == 1 and isinstance(at.block.owner, cst.For):
        at = infer.place(at.block.owner)
        yield at


def _stands_between(at: At, read: list[At]) -> bool:
    orders = [clock.order for clock in read if clock.block is at.block]
    return any(order < at.order for order in orders) and any(order > at.order for order in orders)
