"""Putting statements of a loop behind a counter: `if step % 100 == 0:`."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.model import Loop
from tflint_perf.analysis.python.syntax import descendants
from tflint_perf.edit.editor import Editor
from tflint_perf.finding import Edit
from tflint_perf.repair import Refusal

_COUNTERS = ("step", "iteration", "batch_number")


def behind_counter(
    edit: Editor, statements: list[cst.CSTNode], loop: Loop, every: int
) -> list[Edit] | Refusal:
    """Put neighbouring statements in a loop behind `if <counter> % <every> == 0:`.

    Where the loop has no counter, its target becomes `<counter>, (<target>)` and what it runs over is enumerated.
    """
    refusal = _stays(edit, statements)
    if refusal is not None:
        return refusal
    runs = edit.model.iterations.at_most(loop)
    if runs is not None and runs <= every:
        return Refusal(f"the loop runs only {runs} times", loop.node)
    name, edits = _counter(edit, loop)
    if not name:
        return Refusal("no step counter is in scope", loop.node)
    first, last = statements[0], statements[-1]
    start, end = edit.lines_start(first), edit.lines_end(last)
    indent = edit.indent(first)
    deeper = edit.one_indent(indent)
    lines = edit.whole_text[start:end].splitlines(keepends=True)
    deep = (
        indent + deeper + line.removeprefix(indent) if line.startswith(indent) else deeper + line
        for line in lines
    )
    content = "".join(line if not line.strip() else new for line, new in zip(lines, deep, strict=True))
    newline = "\r\n" if content.endswith("\r\n") else "\n"
    return [*edits, edit.edit(start, end, f"{indent}if {name} % {every} == 0:{newline}{content}")]


def _stays(edit: Editor, statements: list[cst.CSTNode]) -> Refusal | None:
    """Why statements can't be indented."""
    for statement in statements:
        holder = edit.model.parent(statement)
        if isinstance(holder, cst.SimpleStatementLine | cst.SimpleStatementSuite):
            if len(holder.body) != 1:
                return Refusal("it shares its line with other statements", statement)
            holder = edit.model.parent(holder)
        if not isinstance(holder, cst.IndentedBlock):
            return Refusal("it is on the same line as the loop", statement)
        for part in descendants(statement):
            if isinstance(part, cst.SimpleString | cst.FormattedString) and "\n" in edit.text(part):
                return Refusal("a string of several lines can't be indented", part)
    return None


def _counter(edit: Editor, loop: Loop) -> tuple[str, list[Edit]]:
    """The name of the loop's counter, and the edits that make one."""
    known = edit.model.counters.name(loop)
    if known:
        return known, []
    node = loop.node
    if not isinstance(node, cst.For) or node.asynchronous is not None:
        return "", []
    name = next((wanted for wanted in _COUNTERS if not edit.model.names.is_used(wanted)), "")
    start, end = edit.outer_span(node.target)
    target = edit.whole_text[start:end]
    if isinstance(node.target, cst.Tuple) and not node.target.lpar:
        target = f"({target})"
    return name, [
        edit.edit(start, end, f"{name}, {target}"),
        *edit.wrap(node.iter, "enumerate(", ")"),
    ] if name else []
