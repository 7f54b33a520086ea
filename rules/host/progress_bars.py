"""Values that are shown on a progress bar, and bars that count how often they are called."""

from __future__ import annotations

from typing import TypeGuard

import libcst as cst

from tflint_perf.analysis.conventions import names_a_progress_bar
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.syntax import callee_name, dotted_name, last_name

_SETS_TEXT = frozenset({"set_postfix", "set_postfix_str", "set_description", "set_description_str"})
_GOES_ON = frozenset({"update", "add"})
_PLACES_OF_TEXT = frozenset({"postfix", "desc", "description"})
_BY_THEN = "that of a few steps ago, which is there by then"


def remedy_on_bar(model: Model, shown: cst.CSTNode, statement: cst.CSTNode, every: int, guard: str) -> str:
    """What to do where a progress bar is given the value `shown` on each step, with the text of a guard that counts the steps;
    "" where no bar is."""
    if isinstance(statement, cst.Assign) and any(_is_text_of_bar(one.target) for one in statement.targets):
        return f"set it every {every} steps{guard}, or set {_BY_THEN}"
    node: cst.CSTNode | None = shown
    while node is not None and node is not statement:
        if _is_call_of_bar(node):
            if counts_its_calls(node):
                named = f"`{dotted_name(node.func)}`" if dotted_name(node.func) else "the bar"
                return f"{named} counts its calls, so keep them, and give it a new value every {every} steps, or {_BY_THEN}"
            return f"set it every {every} steps{guard}, or set {_BY_THEN}"
        node = model.parent(node)
    return ""


def counts_its_calls(node: cst.CSTNode) -> TypeGuard[cst.Call]:
    """Whether a call moves a progress bar on by one: `bar.update(1)`, `bar.add(1, values)`, but not Keras's
    `bar.update(step, values)`, which says where the bar is."""
    if not _is_call_of_bar(node) or callee_name(node) not in _GOES_ON:
        return False
    return callee_name(node) == "add" or len(node.args) < 2


def _is_call_of_bar(node: cst.CSTNode) -> TypeGuard[cst.Call]:
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return False
    name = callee_name(node)
    return name in _SETS_TEXT or (name in _GOES_ON and bool(names_a_progress_bar(last_name(node.func.value))))


def _is_text_of_bar(target: cst.BaseExpression) -> bool:
    """`bar.desc`, `bar.postfix["loss"]`."""
    while isinstance(target, cst.Subscript):
        target = target.value
    return (
        isinstance(target, cst.Attribute)
        and target.attr.value in _PLACES_OF_TEXT
        and bool(names_a_progress_bar(last_name(target.value)))
    )
