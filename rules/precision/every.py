"""Statements that are put behind a counter together: those next to one another, with the blocks that hold only such."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.syntax import statements_of
from tflint_perf.edit.behind import behind_counter
from tflint_perf.edit.editor import Editor
from tflint_perf.finding import Edit
from tflint_perf.rule import Refusal

Chosen = Callable[[cst.CSTNode], bool]


def every(edit: Editor, statement: cst.CSTNode, chosen: Chosen, steps: int) -> list[Edit] | Refusal:
    """Run a statement of a step loop only every so many steps, and with it its neighbours that are `chosen`."""
    model = edit.model
    loop = model.loops.step_loop(statement)
    if loop is None:
        return Refusal("it runs in a function that the loop calls")
    while (around := _block_of_such(model, statement, loop.node, chosen)) is not None:
        statement = around
    statements = model.walk.at[statement].block.statements
    first = last = statements.index(statement)
    while first > 0 and _is_such(statements[first - 1], chosen):
        first -= 1
    while last + 1 < len(statements) and _is_such(statements[last + 1], chosen):
        last += 1
    return behind_counter(edit, statements[first : last + 1], loop, steps)


def _block_of_such(
    model: Model, statement: cst.CSTNode, loop: cst.CSTNode, chosen: Chosen
) -> cst.CSTNode | None:
    """The `for` or `with` around a statement, inside the step loop, that holds nothing but what is chosen."""
    owner = model.walk.at[statement].block.owner
    return owner if owner is not loop and _is_such(owner, chosen) else None


def _is_such(node: cst.CSTNode, chosen: Chosen) -> bool:
    if isinstance(node, cst.For | cst.With) and not (isinstance(node, cst.For) and node.orelse):
        return all(_is_such(statement, chosen) for statement in statements_of(node.body))
    return chosen(node)
