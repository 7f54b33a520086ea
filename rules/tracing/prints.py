"""`print` in compiled code as `tf.print`."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.python.syntax import callee_name, has_stars
from tflint_perf.edit.editor import Editor
from tflint_perf.finding import Edit
from tflint_perf.rule import Refusal, Repair

_TAKES_VALUE = ("numpy", "item")
_KEYWORDS = frozenset({"sep", "end"})


def print_in_graph(edit: Editor, call: cst.Call) -> Repair | Refusal:
    """Make `tf.print` of a `print`: without `.numpy()`, and with the parts of an f-string one by one."""
    spelled, imports = edit.spell("print", call)
    edits = [*imports, edit.replace(call.func, spelled)]
    keywords = {arg.keyword.value for arg in call.args if arg.keyword is not None}
    if has_stars(call) or not keywords <= _KEYWORDS:
        return Refusal("`tf.print` does not take the same arguments", call)
    for arg in call.args:
        if arg.keyword is not None:
            continue
        value = arg.value
        if isinstance(value, cst.FormattedString):
            alone = len(call.args) == 1
            found = _parts(edit, value) if alone else "an f-string is among other arguments"
            if isinstance(found, str):
                return Refusal(found, value)
            edits.append(found)
        elif isinstance(value, cst.BinaryOperation | cst.ConcatenatedString) or callee_name_of(value) in (
            "format",
            "str",
        ):
            return Refusal("its text is put together while the function is traced", value)
        elif callee_name_of(value) in _TAKES_VALUE:
            edits.append(edit.replace(value, _without_call(edit, value)))
    return Repair(
        f"Use `{spelled}`",
        edits,
        safe=False,
        may_change="what is printed: on each run, not once while it is traced",
    )


def callee_name_of(node: cst.BaseExpression) -> str:
    """The last part of what is called; "" for anything but a call."""
    return callee_name(node) if isinstance(node, cst.Call) else ""


def _without_call(edit: Editor, node: cst.BaseExpression) -> str:
    """`x` for `x.numpy()`."""
    if (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and callee_name(node) in _TAKES_VALUE
    ):
        base = node.func.value
        return f"({edit.text(base)})" if base.lpar else edit.text(base)
    return edit.text(node)


def _parts(edit: Editor, node: cst.FormattedString) -> Edit | str:
    """An edit that gives the parts of an f-string one by one; why there is none."""
    if "\n" in edit.text(node) or "\\" in edit.text(node):
        return "the f-string has several lines or escapes"
    quote = node.end
    parts: list[str] = []
    for part in node.parts:
        if isinstance(part, cst.FormattedStringText):
            text = part.value.replace("{{", "{").replace("}}", "}")
            parts.append(f"{quote}{text}{quote}")
        elif isinstance(part, cst.FormattedStringExpression):
            if part.format_spec is not None or part.conversion is not None or part.equal is not None:
                return "`tf.print` has no format specifiers"
            parts.append(_without_call(edit, part.expression))
    return edit.replace(node, ", ".join([*parts, 'sep=""']))
