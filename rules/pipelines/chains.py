"""Changing chains of method calls: `a.map(f).batch(n)` to `a.batch(n).map(f)`, `a.prefetch(n)` to `a.batch(m).prefetch(n)`."""

from __future__ import annotations

import re

import libcst as cst

from tflint_perf.analysis.python.scopes import Block
from tflint_perf.analysis.python.syntax import is_name
from tflint_perf.edit.editor import Editor
from tflint_perf.finding import Edit
from tflint_perf.rule import Refusal

from .links import assigned_name, gap_behind, receiver_end

# What may end the line behind a link.
_LINE_END = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?:\r\n|\r|\n)")


def insert_in_front(edit: Editor, call: cst.Call, link: str) -> Edit:
    """Put a link like `.batch(n)` in front of that of `call`, on a line of its own where that has one."""
    start = receiver_end(edit, call)
    gap = gap_behind(edit.model.text, start)
    dot = start + len(gap)
    if "\n" in gap:
        link += (" \\" if "\\" in gap else "") + gap[gap.rindex("\n") :]
    return edit.edit(dot, dot, link)


def move_behind(edit: Editor, call: cst.Call, target: cst.Call) -> list[Edit] | Refusal:
    """Edits that move `call`'s link behind that of `target`, which comes after it in the same chain or in one of
    the next statements."""
    if call in _links(target):
        return _move_in_chain(edit, call, target)
    return _move_to_statement(edit, call, target)


def move_in_front(edit: Editor, call: cst.Call, target: cst.Call) -> list[Edit] | Refusal:
    """Edits that move `call`'s link in front of that of `target`, which comes before it in the same chain or in one of
    the statements before."""
    if target in _links(call):
        return _move_up_in_chain(edit, call, target)
    return _move_up_to_statement(edit, call, target)


def _links(call: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The calls that a chain is made of, and what it begins with, last link first."""
    links = [call]
    while isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute):
        call = call.func.value
        links.append(call)
    return links


def _move_in_chain(edit: Editor, call: cst.Call, target: cst.Call) -> list[Edit] | Refusal:
    text, start, end = edit.model.text, receiver_end(edit, call), edit.end(call)
    links = _links(target)
    if any(link.lpar for link in links[1 : links.index(call) + 2]):
        return Refusal("it is in parentheses")
    gap = gap_behind(text, start)
    tail, target_tail = _LINE_END.match(text, end), _LINE_END.match(text, edit.end(target))
    if "\n" in gap and "\\" not in gap and tail is not None and target_tail is not None:
        # Each link on a line of its own: its comments go with it.
        first = text.index("\n", start) + 1
        moved = text[first : tail.end()]
        return [edit.edit(first, tail.end(), ""), edit.edit(target_tail.end(), target_tail.end(), moved)]
    if "#" in gap or (tail is not None and "#" in tail[0]):
        return Refusal("there is a comment after it", call)
    return [edit.edit(start, end, ""), edit.edit(edit.end(target), edit.end(target), text[start:end])]


def _move_up_in_chain(edit: Editor, call: cst.Call, target: cst.Call) -> list[Edit] | Refusal:
    text, start, end = edit.model.text, receiver_end(edit, call), edit.end(call)
    links = _links(call)
    if any(link.lpar for link in links[1 : links.index(target) + 2]):
        return Refusal("it is in parentheses")
    front = receiver_end(edit, target)
    gap, target_gap, tail = gap_behind(text, start), gap_behind(text, front), _LINE_END.match(text, end)
    if "\n" in gap and "\n" in target_gap and "\\" not in gap + target_gap and tail is not None:
        # Each link on a line of its own: its comments go with it.
        first, above = text.index("\n", start) + 1, text.index("\n", front) + 1
        return [edit.edit(above, above, text[first : tail.end()]), edit.edit(first, tail.end(), "")]
    if "#" in gap or ("\n" in gap and tail is not None and "#" in tail[0]):
        return Refusal("there is a comment on it", call)
    return [insert_in_front(edit, target, text[start + len(gap) : end]), edit.edit(start, end, "")]


def _move_to_statement(edit: Editor, call: cst.Call, target: cst.Call) -> list[Edit] | Refusal:
    """Move a link that ends a statement `x = ….map(f)` into the later one `x = x.batch(n)`."""
    model = edit.model
    first, last = model.statement_of(call), model.statement_of(target)
    name = assigned_name(first)
    block = model.walk.at[first].block
    if name is None or not isinstance(first, cst.Assign) or first.value is not call or call.lpar:
        return Refusal("the two are too far apart")
    if not _only_goes_on(block, first, last, name):
        return Refusal("the two are too far apart")
    assert isinstance(last, cst.Assign)
    text, start, end = model.text, receiver_end(edit, call), edit.end(call)
    gap = gap_behind(text, start)
    receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
    becomes_nothing = is_name(receiver, name)
    if becomes_nothing and last.value is target and _has_own_line(edit, first) and _has_own_line(edit, last):
        moved = (edit.lines_start(first), edit.lines_end(first))
        return [
            edit.edit(*moved, ""),
            edit.edit(edit.lines_end(last), edit.lines_end(last), text[slice(*moved)]),
        ]
    if "#" in gap or (receiver is not None and receiver.lpar):
        return Refusal("there is a comment before it", call)
    insertion = edit.edit(edit.end(target), edit.end(target), text[start + len(gap) : end])
    return [edit.remove_statement(first) if becomes_nothing else edit.edit(start, end, ""), insertion]


def _move_up_to_statement(edit: Editor, call: cst.Call, target: cst.Call) -> list[Edit] | Refusal:
    """Move a link of a statement `x = x.shuffle(n)` into the earlier one `x = ….map(f)`."""
    model = edit.model
    first, last = model.statement_of(target), model.statement_of(call)
    name = assigned_name(first)
    if name is None or not isinstance(first, cst.Assign) or target not in _links(first.value):
        return Refusal("the two are too far apart")
    if not _only_goes_on(model.walk.at[first].block, first, last, name) or call.lpar or target.lpar:
        return Refusal("the two are too far apart")
    if edit.cell(first) != edit.cell(last):
        return Refusal("the two are in different cells")
    assert isinstance(last, cst.Assign) and isinstance(call.func, cst.Attribute)
    alone = last.value is call and is_name(call.func.value, name)
    target_alone = (
        first.value is target and isinstance(target.func, cst.Attribute) and is_name(target.func.value, name)
    )
    text, start, end = model.text, receiver_end(edit, call), edit.end(call)
    if alone and target_alone and _has_own_line(edit, first) and _has_own_line(edit, last):
        moved, above = (edit.lines_start(last), edit.lines_end(last)), edit.lines_start(first)
        return [edit.edit(above, above, text[slice(*moved)]), edit.edit(*moved, "")]
    gap = gap_behind(text, start)
    if "#" in gap:
        return Refusal("there is a comment before it", call)
    link = insert_in_front(edit, target, text[start + len(gap) : end])
    return [link, edit.remove_statement(last) if alone else edit.edit(start, end, "")]


def _only_goes_on(block: Block, first: cst.CSTNode, last: cst.CSTNode, name: str) -> bool:
    """Whether all statements behind `first` up to `last` have the form `x = x.stage(…)`."""
    if last not in block.statements:
        return False
    between = block.statements[block.statements.index(first) + 1 : block.statements.index(last) + 1]
    return bool(between) and all(
        assigned_name(statement) == name
        and isinstance(statement, cst.Assign)
        and is_name(_links(statement.value)[-1], name)
        for statement in between
    )


def _has_own_line(edit: Editor, statement: cst.CSTNode) -> bool:
    line = edit.model.parent(statement)
    alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
    return alone and edit.model.text[: edit.lines_end(statement)].endswith(("\n", "\r"))
