"""Giving a call one more argument, in the layout that the call has, or one that its line has room for."""

from __future__ import annotations

import re

import libcst as cst

from tflint_perf.edit.editor import Editor
from tflint_perf.edit.lines import line_end, line_start
from tflint_perf.finding import Edit

# Longer lines are broken, one argument a line.
WIDTH = 88
# What may stand between an argument and the end of its line.
_AFTER_ARGUMENT = re.compile(r"[ \t]*(?P<comma>,?)[ \t]*(?:#[^\r\n]*)?(?=[\r\n])")


def for_all_shapes(edit: Editor) -> str:
    """The option by which one trace of a `tf.function` does for all shapes, as the TensorFlow spells it that the project asks
    for: `reduce_retracing` came with 2.9 (its release notes)."""
    name = "experimental_relax_shapes" if edit.model.infer.outside.needs_older(2, 9) else "reduce_retracing"
    return f"{name}=True"


def add_argument(edit: Editor, call: cst.Call, argument: str) -> list[Edit]:
    """Give a call, which has arguments, one more: on a line of its own where the last one has that."""
    text, last = edit.whole_text, call.args[-1]
    end = edit.outer_end(last.value)
    start = edit.start(last)
    line = text[line_start(text, start) : start]
    if line.strip():
        added = f", {argument}"
        row = text[line_start(text, end) : line_end(text, end)].rstrip()
        broken = _broken(edit, call, argument) if len(row) + len(added) > WIDTH else None
        return broken or [edit.edit(end, end, added)]
    added = f"\n{line}{argument}"
    rest = _AFTER_ARGUMENT.match(text, end)
    if rest is None or rest.end() == end:
        return [edit.edit(end, end, f",{added}")]
    if rest["comma"]:
        return [edit.edit(rest.end(), rest.end(), f"{added},")]
    return [edit.edit(end, end, ","), edit.edit(rest.end(), rest.end(), added)]


def _broken(edit: Editor, call: cst.Call, argument: str) -> list[Edit] | None:
    """The arguments, with one more, a line each; None where they stand on several lines already, or with a comment."""
    text = edit.whole_text
    opened, closed = edit.outer_end(call.func), edit.end(call)
    opened = text.index("(", opened) + 1
    closed -= 1
    inside = text[opened:closed]
    if "\n" in inside.strip() or "#" in inside or "\\" in inside:
        return None
    row = text[line_start(text, opened) : opened]
    outer = row[: len(row) - len(row.lstrip())]
    inner = outer + edit.one_indent(outer)
    given = [text[edit.start(arg) : edit.outer_end(arg.value)] for arg in call.args]
    lines = "".join(f"{inner}{each},\n" for each in [*given, argument])
    return [edit.edit(opened, closed, f"\n{lines}{outer}")]
