"""Rewriting code that keeps a tensor of each step so that it keeps numbers, which it copies to the host many at a time."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.model import Loop, Model
from tflint_perf.analysis.python.syntax import (
    descendants_here,
    is_name,
    key_of,
    last_name,
    part_at,
    same_code,
    target_names,
)
from tflint_perf.analysis.values.new_containers import new_container
from tflint_perf.edit import Editor
from tflint_perf.finding import Edit
from tflint_perf.rule import Refusal, Repair

from .containers import Addition, Containers

# A hundred scalars are little to keep, and to wait for the device once in a hundred steps is little, too.
_EVERY = 100
_LEAVES = (cst.Return, cst.Raise, cst.Yield, cst.Await)
_GROWS = ("append", "appendleft", "extend", "insert")


def copy_at_once(edit: Editor, addition: Addition) -> Repair | Refusal:
    """Copy the numbers of each epoch when it is over, where its loop is in sight, or else a hundred at a time."""
    grown = _grown(addition)
    if grown is None:
        return Refusal("each step keeps several values together", addition.node)
    statement = edit.model.statement_of(addition.node)
    if not _is_alone(edit.model, statement, addition):
        return Refusal("the list grows within a larger statement", addition.node)
    loop = _loop_of_epoch(edit.model, addition) if grown is addition.container else None
    if loop is not None:
        return _once_an_epoch(edit, addition, loop)
    return _by_the_hundred(edit, addition, grown, statement)


def _grown(addition: Addition) -> cst.BaseExpression | None:
    """What grows by one value: `history["loss"]` of `history["loss"].append(loss)`."""
    match addition.node:
        case cst.Call(func=cst.Attribute(value=grown, attr=cst.Name("append")), args=[cst.Arg(value=value)]):
            return grown if addition.added == (value,) else None
        case cst.AugAssign(target=grown, value=cst.List(elements=[cst.Element()])):
            return grown
    return None


def _is_alone(model: Model, statement: cst.CSTNode, addition: Addition) -> bool:
    """Whether a statement does nothing else, and has its lines for itself."""
    if statement is not addition.node and getattr(statement, "value", None) is not addition.node:
        return False
    line = model.parent(statement)
    return (
        isinstance(line, cst.SimpleStatementLine)
        and len(line.body) == 1
        and isinstance(model.parent(line), cst.IndentedBlock)
    )


def _repair(message: str, edits: list[Edit], but: str = "") -> Repair:
    changes = f"what the list holds: numbers in the place of tensors{but}"
    return Repair(message, edits, safe=False, may_change=changes)


def _one_of(name: str) -> str:
    """What a comprehension calls one of what a list holds: a name of its own there, that the list must not go by."""
    return "each" if "one" in name.split(".") else "one"


# Once an epoch


def _once_an_epoch(edit: Editor, addition: Addition, loop: Loop) -> Repair:
    name = edit.text(addition.container)
    of_epoch = _free(edit, f"{_word_for(loop.parent)}_{name}", addition.node)
    one = _one_of(name)
    edits = [
        edit.insert_above(loop.node, f"{of_epoch} = []\n"),
        edit.replace(addition.container, of_epoch),
        edit.insert_below(loop.node, f"{name}.extend({one}.numpy() for {one} in {of_epoch})\n"),
    ]
    return _repair("Copy the numbers of an epoch to the host at its end", edits)


def _free(edit: Editor, wanted: str, node: cst.CSTNode) -> str:
    """A name for a list of the function's own, which other functions may have for theirs."""
    names = edit.model.names
    taken = names.lookup(wanted, names.scope_of(node)) is not None
    return edit.fresh_name(wanted, node) if taken else wanted


def _word_for(loop: Loop | None) -> str:
    """What a round of a loop is called by what counts them: `epoch`."""
    if loop is None or not isinstance(loop.node, cst.For):
        return "new"
    word = next((name.value.strip("_") for name in target_names(loop.node.target)), "")
    return word if len(word) > 2 else "new"


def _loop_of_epoch(model: Model, addition: Addition) -> Loop | None:
    """The loop of the steps of an epoch, if what is kept of them may be copied behind it: nothing looks at the list before
    that, and no way leads past it."""
    loop = model.loops.innermost_loop(addition.node)
    if loop is None or loop.parent is None or not isinstance(addition.container, cst.Name):
        return None
    if (model.loops.kind(loop), model.loops.kind(loop.parent)) != ("step", "epoch"):
        return None
    if not isinstance(model.parent(loop.node), cst.IndentedBlock) or _is_tried(model, loop.node):
        return None
    if any(isinstance(node, _LEAVES) for node in descendants_here(loop.node)):
        return None
    function = model.function_at(addition.node)
    others = [use for use in model.own(Containers).uses(addition.container) if use is not addition.container]
    if any(model.function_at(use) is not function or _is_below(model, use, loop.node) for use in others):
        return None
    return loop


def _is_tried(model: Model, node: cst.CSTNode) -> bool:
    """Whether the same function may catch what breaks off a statement: Ctrl+C, and then the curve is drawn."""
    current: cst.CSTNode | None = node
    while current is not None and not isinstance(current, cst.FunctionDef):
        if isinstance(current, cst.Try | cst.TryStar):
            return True
        current = model.parent(current)
    return False


def _is_below(model: Model, node: cst.CSTNode, above: cst.CSTNode) -> bool:
    current: cst.CSTNode | None = node
    while current is not None and current is not above:
        current = model.parent(current)
    return current is above


# A hundred at a time


def _by_the_hundred(
    edit: Editor, addition: Addition, grown: cst.BaseExpression, statement: cst.CSTNode
) -> Repair | Refusal:
    model = edit.model
    loop = model.loops.innermost_loop(addition.node)
    runs = model.iterations.at_most(loop) if loop is not None and loop.parent is None else None
    if loop is not None and runs is not None and runs <= _EVERY:
        return Refusal(f"the loop runs {runs} times alone", loop.node)
    if not _is_plain(grown) or not _begins_empty(model, addition, grown):
        return Refusal("what the list holds at first is not known", grown)
    other = _other_growth(model, addition, grown)
    if other is not None:
        return Refusal("the list grows elsewhere, too", other)
    name = edit.text(grown)
    one = _one_of(name)
    last = f"{name}[-{_EVERY}:]"
    deeper = edit.one_indent(edit.indent(statement))
    lines = f"if len({name}) % {_EVERY} == 0:\n{deeper}{last} = [{one}.numpy() for {one} in {last}]\n"
    return _repair(
        f"Copy the numbers to the host {_EVERY} at a time",
        [edit.insert_below(statement, lines)],
        f", but for the last {_EVERY - 1} at most",
    )


def _is_plain(node: cst.BaseExpression) -> bool:
    """Whether reading a list again gives the same: `losses`, `self.losses`, `history["loss"]`."""
    while not isinstance(node, cst.Name):
        if isinstance(node, cst.Subscript) and key_of(node) is None:
            return False
        if not isinstance(node, cst.Subscript | cst.Attribute):
            return False
        node = node.value
    return True


def _begins_empty(model: Model, addition: Addition, grown: cst.BaseExpression) -> bool:
    made = [
        part_at(binding.value, binding.path)
        if binding.kind == "assign" and binding.value is not None
        else None
        for binding in model.own(Containers).bindings(addition.container)
    ]
    if grown is addition.container:
        return bool(made) and all(_is_empty_list(model, value) for value in made)
    return bool(made) and all(_holds_empty_lists(model, value) for value in made)


def _is_empty_list(model: Model, value: cst.CSTNode | None) -> bool:
    match value:
        case cst.List():
            return not value.elements
        case cst.Call(args=[]):
            made = new_container(model.infer, value)
            return is_name(value.func, "list") and made is not None and made.is_empty
    return False


def _holds_empty_lists(model: Model, value: cst.CSTNode | None) -> bool:
    match value:
        case cst.Dict():
            return bool(value.elements) and all(_is_empty_list(model, one.value) for one in value.elements)
        case cst.Call(args=[cst.Arg(value=cst.Name("list"), star="")]):
            made = new_container(model.infer, value)
            return made is not None and made.kind == "dict" and made.is_empty
    return False


def _other_growth(model: Model, addition: Addition, grown: cst.BaseExpression) -> cst.CSTNode | None:
    """Where else the same list grows."""
    for use in model.own(Containers).uses(addition.container):
        outer: cst.CSTNode = use
        parent = model.parent(outer)
        while isinstance(parent, cst.Subscript) and parent.value is outer:
            outer, parent = parent, model.parent(parent)
        grows = isinstance(parent, cst.AugAssign) or (
            isinstance(parent, cst.Attribute) and last_name(parent) in _GROWS
        )
        if grows and use is not addition.container and same_code(outer, grown):
            return outer
    return None
