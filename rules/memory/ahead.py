"""Moving a statement, with what it needs, ahead of others of its block."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.flow import encloses
from tflint_perf.analysis.python.syntax import names_read, names_written
from tflint_perf.edit.editor import Editor
from tflint_perf.edit.lines import before_blank_lines, past_blank_lines
from tflint_perf.finding import Edit
from tflint_perf.rule import Refusal

# Says what keeps a statement from running earlier; None where it may.
Objection = Callable[[cst.CSTNode], Refusal | None]


def move_ahead(
    edit: Editor, late: cst.CSTNode, early: cst.CSTNode, objection: Objection
) -> list[Edit] | Refusal:
    """Move the statement that holds `late` above the one that holds `early`, which runs before it.

    What stands between them and makes what it reads goes with it, if `objection` allows.
    """
    found = _statements_between(edit.model, late, early)
    if found is None:
        return Refusal("they are in different functions", early)
    between, moved = found[:-1], [found[-1]]
    if not between:
        return Refusal("both are in one statement", early)
    for statement in reversed(between):
        if names_written([statement]) & _names_in(moved):
            moved.insert(0, statement)
    if between[0] in moved:
        return Refusal("it needs what that statement computes", between[0])
    stays = [statement for statement in between if statement not in moved]
    for statement in moved:
        refusal = objection(statement) or _depends(edit, statement, stays)
        if refusal is not None:
            return refusal
    if _shares_its_line(edit, between[0]):
        return Refusal("what it must come before shares its line with other statements", between[0])
    return _move(edit, moved, between[0])


def _statements_between(model: Model, late: cst.CSTNode, early: cst.CSTNode) -> Sequence[cst.CSTNode] | None:
    """The statements from the one that holds `early` to the one that holds `late`, of the innermost common block."""
    block = model.walk.at[model.statement_of(early)].block
    target = model.walk.at[model.statement_of(late)].block
    while not encloses(block, target):
        if block.parent is None:
            return None
        block = block.parent
    first, last = _holder(model, early, block.statements), _holder(model, late, block.statements)
    if first is None or last is None:
        return None
    return block.statements[block.statements.index(first) : block.statements.index(last) + 1]


def _holder(model: Model, node: cst.CSTNode, statements: list[cst.CSTNode]) -> cst.CSTNode | None:
    current: cst.CSTNode | None = node
    while current is not None and not any(current is statement for statement in statements):
        current = model.parent(current)
    return current


def _shares_its_line(edit: Editor, statement: cst.CSTNode) -> bool:
    line = edit.model.parent(statement)
    return isinstance(line, cst.SimpleStatementSuite) or (
        isinstance(line, cst.SimpleStatementLine) and len(line.body) != 1
    )


def _names_in(statements: Sequence[cst.CSTNode]) -> set[str]:
    return {name.value for statement in statements for name in names_read(statement)}


def _depends(edit: Editor, statement: cst.CSTNode, stays: Sequence[cst.CSTNode]) -> Refusal | None:
    """Why a statement can't change places with those that stay."""
    if _shares_its_line(edit, statement):
        return Refusal("it shares its line with other statements", statement)
    if edit.cell(statement) != edit.cell(stays[0]):
        return Refusal("they are in different cells", stays[0])
    written = names_written([statement])
    for other in stays:
        if written & _names_in([other]) or names_written([other]) & _names_in([statement]):
            return Refusal("the code in between depends on it", other)
    return None


def _move(edit: Editor, moved: Sequence[cst.CSTNode], above: cst.CSTNode) -> list[Edit]:
    text = edit.whole_text
    spans = [(edit.lines_start(statement), edit.lines_end(statement)) for statement in moved]
    content = "".join(text[start:end] for start, end in spans)
    if not content.endswith(("\n", "\r")):
        content += "\n"
    if past_blank_lines(text, spans[-1][1]) > spans[-1][1] or not isinstance(
        moved[-1], cst.BaseSmallStatement
    ):
        content += "\n"
    removed = []
    for start, end in spans:
        # Of blank lines above and below, those below remain.
        first = before_blank_lines(text, start) if past_blank_lines(text, end) > end else start
        removed.append(edit.edit(first, end, ""))
    place = edit.lines_start(above)
    return [edit.edit(place, place, content), *removed]
