"""Adding another link behind the last one of a chain: `a.batch(n)` to `a.batch(n).prefetch(m)`."""

from __future__ import annotations

import re

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.syntax import is_name
from tflint_perf.edit.arguments import WIDTH
from tflint_perf.edit.editor import Editor
from tflint_perf.edit.lines import line_end, line_start
from tflint_perf.finding import Edit
from tflint_perf.rule import Refusal

# What may stand between two links of a chain.
_GAP = re.compile(r"(?:\s|\\\r?\n|#[^\r\n]*)*")
# What may stand between a link and the end of its line.
_LINE_REST = re.compile(r"[ \t]*(?:#[^\r\n]*)?(?=[\r\n]|$)")
# In TensorFlow 2.4 and later, and in 1.13 and later.
_NEWER, _OLDER = "data.AUTOTUNE", "data.experimental.AUTOTUNE"


def append(edit: Editor, call: cst.Call, link: str) -> Edit:
    """Put a link like `.prefetch(n)` behind that of `call`, on a line of its own where that has one.

    What its line has no room for becomes a statement of its own, where the line is `name = …`.
    """
    text, end = edit.model.text, edit.end(call)
    gap = gap_behind(text, receiver_end(edit, call))
    if "\n" not in gap:
        return _statement_of_its_own(edit, call, link) or edit.edit(end, end, link)
    if "\\" in gap:
        return edit.edit(end, end, " \\" + gap[gap.rindex("\n") :] + link)
    rest = _LINE_REST.match(text, end)
    at = rest.end() if rest is not None else end
    return edit.edit(at, at, gap[gap.rindex("\n") :] + link)


def _statement_of_its_own(edit: Editor, call: cst.Call, link: str) -> Edit | None:
    """`name = name.prefetch(n)` below the line of `name = …`; None where that has room for the link, or something else beside it."""
    text, statement = edit.whole_text, edit.model.statement_of(call)
    name, end = assigned_name(statement), edit.end(call)
    if name is None or not isinstance(statement, cst.Assign) or statement.value is not call:
        return None
    last = text[line_start(text, end) : line_end(text, end)].rstrip("\r\n")
    indent = text[line_start(text, edit.start(statement)) : edit.start(statement)]
    behind = line_start(text, end) + len(last)
    if len(last) + len(link) <= WIDTH or indent.strip() or _beside(text[end:behind]):
        return None
    return edit.edit(behind, behind, f"\n{indent}{name} = {name}{link}")


def _beside(rest: str) -> bool:
    """Whether more than a comment stands behind a statement on its line."""
    return bool(rest.strip()) and not rest.strip().startswith("#")


def has_no_autotune(edit: Editor, node: cst.CSTNode) -> Refusal | None:
    """Why `tf.data.AUTOTUNE` can't be written: the project asks for a TensorFlow that has none."""
    if edit.model.infer.outside.needs_older(1, 13):
        return Refusal("the project asks for a TensorFlow before 1.13, which has no `AUTOTUNE`", node)
    return None


def autotune(edit: Editor, node: cst.CSTNode) -> tuple[str, list[Edit]]:
    """How code at `node` says `tf.data.AUTOTUNE`, and the import to add where the file has no way to.

    A name that the file gave it comes first. What is written for TensorFlow 1 has it under `experimental` only.
    """
    model = edit.model
    order = model.infer.place(node).order
    uses = model.walk.attributes.get("AUTOTUNE", ())
    for use in uses:
        statement = model.parent(use)
        name = assigned_name(statement) if statement is not None else None
        if statement is None or name is None or not has(model.qualified(use), "autotune"):
            continue
        bindings = model.walk.top.bindings.get(name, [])
        at = model.walk.at[statement]
        if len(bindings) == 1 and at.order < order and at.block is model.walk.body:
            return name, []
    named = [model.names.dotted(use) or "" for use in uses]
    experimental = named and all("experimental" in name for name in named)
    return edit.spell(_OLDER if experimental or _is_old(model) else _NEWER, node)


def name_of_autotune(model: Model) -> str:
    """The name below `tf` that `AUTOTUNE` has in the version that the file is written for."""
    return _OLDER if _is_old(model) else _NEWER


def _is_old(model: Model) -> bool:
    return model.programs.is_graph_code() or model.versions.is_version_1()


def stages_of_name(model: Model, statement: cst.CSTNode) -> list[cst.Assign]:
    """A statement `x = …` and those directly behind it that put stages on it, `x = x.batch(n)`."""
    name, block = assigned_name(statement), model.walk.at[statement].block
    found: list[cst.Assign] = []
    for later in block.statements[block.statements.index(statement) :]:
        if not isinstance(later, cst.Assign) or name is None or assigned_name(later) != name:
            break
        if found and not is_name(_beginning(later.value), name):
            break
        found.append(later)
    return found


def assigned_name(statement: cst.CSTNode) -> str | None:
    """The plain name that a statement gives a value; None for any other statement."""
    match statement:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
            return name
    return None


def _beginning(node: cst.BaseExpression) -> cst.BaseExpression:
    """What a chain of calls begins with."""
    while isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        node = node.func.value
    return node


def receiver_end(edit: Editor, call: cst.Call) -> int:
    """Where the link of `call` begins, behind what it is called on and the parentheses around that."""
    assert isinstance(call.func, cst.Attribute)
    return edit.outer_end(call.func.value)


def gap_behind(text: str, start: int) -> str:
    """The white space and comments behind a link."""
    match = _GAP.match(text, start)
    return match[0] if match is not None else ""
