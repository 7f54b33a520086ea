"""Moving code that a loop does not change above that loop, or a function that needs nothing of the one around it out of that."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import libcst as cst

from tflint_perf.analysis.execution.invariance import bound_names
from tflint_perf.analysis.model import Loop, Model
from tflint_perf.analysis.python.scopes import Binding
from tflint_perf.analysis.python.syntax import descendants, target_names
from tflint_perf.analysis.rewriting import Doubt
from tflint_perf.edit.editor import Editor
from tflint_perf.edit.lines import before_blank_lines, past_blank_lines
from tflint_perf.finding import Edit
from tflint_perf.records import dataclass
from tflint_perf.repair import Refusal

_COMMENT = re.compile(r"([ \t]*)#[^\r\n]*(?:\r\n|\r|\n|$)")

Objection = Callable[[Loop], Refusal | None]


@dataclass(frozen=True, slots=True)
class Hoisted:
    """Edits that move code above `loop`, and why that is not known to leave everything as it is."""

    edits: list[Edit]
    loop: Loop
    doubt: Doubt | None


def hoist(edit: Editor, statement: cst.CSTNode, objection: Objection | None = None) -> Hoisted | Refusal:
    """Move a statement, with its comments, above the outermost loop of its function in which it is invariant.

    `objection` may refuse a loop for a reason of the rule's own. A `def` gets a blank line behind it.
    """
    model = edit.model
    loop = model.loops.innermost_loop(statement)
    if loop is None:
        return Refusal("it is in no loop of its function")
    refusal = _stays(edit, statement, loop) or _obstacle(model, statement, loop, objection)
    if refusal is not None:
        return refusal
    while loop.parent is not None and _is_direct(model, loop.node, loop.parent):
        if _obstacle(model, statement, loop.parent, objection) is not None:
            break
        loop = loop.parent
    moved = _move(edit, statement, statement, loop.node)
    return Hoisted(moved, loop, model.rewriting.doubt_of_moving([statement], loop))


def hoist_chain(edit: Editor, statements: Sequence[cst.Assign], loop: Loop) -> Hoisted | Refusal:
    """Move statements that follow each other, `x = …` and `x = x.stage(…)`, above a loop that does not change what
    they read. Nothing else may bind their name."""
    model = edit.model
    for statement in statements:
        refusal = _stays(edit, statement, loop)
        if refusal is not None:
            return refusal
    block = model.walk.at[statements[0]].block
    if len(block.statements) == len(statements):
        return Refusal("nothing would be left in the loop", loop.node)
    (name,) = target_names(statements[0].targets[0].target)
    ours = {below for statement in statements for below in descendants(statement)}
    for binding in block.scope.bindings.get(name.value, []):
        if binding.node not in ours:
            return Refusal(f"`{name.value}` is also bound elsewhere", binding.node)
    moved = _move(edit, statements[0], statements[-1], loop.node)
    return Hoisted(moved, loop, model.rewriting.doubt_of_moving(statements, loop))


def hoist_out(edit: Editor, made: cst.FunctionDef) -> list[Edit] | Refusal:
    """Move a function, with its comments, to the top of the module, above the function or class that it is defined in.

    Only one that reads nothing of the functions around it can go: no parameter, no local name.
    """
    model = edit.model
    outer = model.function_at(made)
    if outer is None or not isinstance(outer.node, cst.FunctionDef):
        return Refusal("it is in no function")
    block = model.walk.at[made].block
    if block.owner is not outer.node:
        return Refusal("it is under a condition or in a block", block.owner)
    top: cst.CSTNode = outer.node
    while not isinstance(around := model.walk.at[top].block.owner, cst.Module):
        if not isinstance(around, cst.FunctionDef | cst.ClassDef):
            return Refusal("it is under a condition or in a block", around)
        top = around
    stays = _needs_what_is_around(model, made, top)
    if stays is not None:
        return stays
    if len(block.statements) == 1:
        return Refusal("nothing would be left of the function around it", outer.node)
    return _long_string(edit, made) or _move(edit, made, made, top)


def _needs_what_is_around(model: Model, made: cst.FunctionDef, top: cst.CSTNode) -> Refusal | None:
    """Why a function would mean something else above `top`."""
    parts = list(descendants(made))
    inside = set(parts)
    for name in (part for part in parts if isinstance(part, cst.Name)):
        home = model.names.home(name)
        bindings = home.bindings.get(name.value, []) if home is not None else []
        if home is not model.walk.top and any(binding.node not in inside for binding in bindings):
            return Refusal(f"it reads `{name.value}` of the function around it", name)
    for scope in model.walk.scopes.values():
        for binding in scope.bindings.get(made.name.value, ()):
            if binding.node is not made:
                return Refusal(f"`{made.name.value}` is also bound elsewhere", binding.node)
    above = model.walk.at[top].order
    for name in _read_at_once(model, made):
        bound = model.names.lookup(name.value, model.walk.at[made].block.scope)
        if bound is not None and bound[0] is not model.walk.top:
            return Refusal(f"it reads `{name.value}` of the function around it", name)
        for binding in bound[1] if bound is not None else ():
            if binding.at.order > above:
                return Refusal(f"`{name.value}` is bound further down", binding.node)
    return None


def _read_at_once(model: Model, made: cst.FunctionDef) -> Iterator[cst.Name]:
    """The names that are read where a function is defined: in decorators, default values and annotations."""
    parameters = model.walk.functions[made].parameters
    annotations = [*(param.annotation for param in parameters), made.returns]
    parts: list[cst.CSTNode | None] = [*made.decorators, *(param.default for param in parameters)]
    # No code to the model, but Python runs it.
    parts += [annotation.annotation for annotation in annotations if annotation is not None]
    for part in filter(None, parts):
        yield from (below for below in descendants(part) if isinstance(below, cst.Name))


def hoist_expression(edit: Editor, node: cst.BaseExpression, name: str, loop: Loop) -> Hoisted | Refusal:
    """Give an invariant expression of a statement in a loop a fresh name above it, and use that in its place."""
    model = edit.model
    statement = model.statement_of(node)
    refusal = _in_block(model, statement, loop) or _long_string(edit, node) or change(model, node, loop)
    if refusal is not None:
        return refusal
    first, *others = edit.text(node).splitlines(keepends=True)
    text = "".join([first, *(line.removeprefix(edit.indent(statement)) for line in others)])
    fresh = edit.fresh_name(name)
    moved = [edit.insert_above(loop.node, f"{fresh} = {text}\n"), edit.replace(node, fresh)]
    return Hoisted(moved, loop, model.rewriting.doubt_of_moving([node], loop))


def change(model: Model, node: cst.CSTNode, loop: Loop) -> Refusal | None:
    """Why `node` means something else in each iteration of `loop`."""
    found = model.invariance.change(node, loop)
    if found is not None:
        return Refusal(found.reason, found.node)
    changed = model.in_place.change_below(node, loop)
    return Refusal("the loop may change what it reads", changed) if changed is not None else None


def _stays(edit: Editor, statement: cst.CSTNode, loop: Loop) -> Refusal | None:
    """Why a statement can't be moved, wherever to."""
    model = edit.model
    refusal = _in_block(model, statement, loop)
    if refusal is not None:
        return refusal
    line = model.parent(statement)
    if isinstance(line, cst.SimpleStatementLine):
        if len(line.body) != 1:
            return Refusal("it shares its line with other statements", statement)
        line = model.parent(line)
    if not isinstance(line, cst.IndentedBlock):
        return Refusal("it is on the same line as the loop", statement)
    if len(line.body) == 1:
        return Refusal("nothing would be left in the loop", loop.node)
    return _long_string(edit, statement)


def _in_block(model: Model, statement: cst.CSTNode, loop: Loop) -> Refusal | None:
    """Why a statement does not run in each iteration, in the context of the loop itself."""
    if isinstance(loop.node, cst.CompFor) or not _is_direct(model, statement, loop):
        owner = model.walk.at[statement].block.owner
        return Refusal("it is under a condition or in a block of the loop", owner)
    return None


def _long_string(edit: Editor, node: cst.CSTNode) -> Refusal | None:
    for part in descendants(node):
        if isinstance(part, cst.SimpleString | cst.FormattedString) and not _is_docstring(edit.model, part):
            if "\n" in edit.text(part):
                return Refusal("a string of several lines can't be moved", part)
    return None


def _is_docstring(model: Model, node: cst.CSTNode) -> bool:
    statement = model.parent(node)
    if not isinstance(statement, cst.Expr):
        return False
    line = model.parent(statement)
    body = model.parent(line) if line is not None else None
    return isinstance(body, cst.IndentedBlock) and body.body[0] is line


def _is_direct(model: Model, statement: cst.CSTNode, loop: Loop) -> bool:
    """Whether a statement stands in the body of a loop itself, in no block inside it."""
    block = model.walk.at[statement].block
    return block.owner is loop.node and block.branch == "body"


def _obstacle(
    model: Model, statement: cst.CSTNode, loop: Loop, objection: Objection | None
) -> Refusal | None:
    names = bound_names(statement)
    if names is None:
        return Refusal("only what is assigned to a plain name can be moved", statement)
    changed = change(model, statement, loop)
    if changed is not None:
        return changed
    for name in names:
        other = _other_binding(model, statement, name, loop)
        if other is not None:
            return Refusal(f"`{name.value}` is also bound elsewhere", other.node)
    return objection(loop) if objection is not None else None


def _other_binding(model: Model, statement: cst.CSTNode, name: cst.Name, loop: Loop) -> Binding | None:
    """A binding of the name that would meet the moved one: in the loop, or seen by the same reader."""
    inside = set(descendants(statement))
    scope = model.walk.at[statement].block.scope
    bindings = scope.bindings.get(name.value, [])
    ours = [binding for binding in bindings if binding.node in inside]
    for binding in bindings:
        if binding not in ours and model.invariance.is_bound_in(binding, loop):
            return binding
    for node in model.walk.names.get(name.value, ()) if len(bindings) > len(ours) else ():
        reaching = model.infer.bindings_reaching(node)
        if reaching is not None and reaching[0] is scope and any(binding in ours for binding in reaching[1]):
            for binding in reaching[1]:
                if binding not in ours:
                    return binding
    return None


def _move(edit: Editor, statement: cst.CSTNode, last: cst.CSTNode, below: cst.CSTNode) -> list[Edit]:
    """Move the lines from one statement to another above `below`, a loop or what else they stand in."""
    text = edit.whole_text
    start, end = edit.lines_start(statement), _end_with_comments(edit, last)
    old = edit.indent(statement)
    lines = text[start:end].splitlines(keepends=True)
    content = "".join(line.removeprefix(old) for line in lines)
    if not content.endswith(("\n", "\r")):
        content += "\n"
    is_def = isinstance(statement, cst.FunctionDef)
    if is_def:
        at_top = isinstance(edit.model.walk.at[below].block.owner, cst.Module)
        content += "\n\n" if at_top and isinstance(below, cst.FunctionDef | cst.ClassDef) else "\n"
        above = edit.lines_start(below)
        if not _is_first(edit.model, below) and before_blank_lines(text, above) == above:
            content = "\n" + content
    first = _is_first(edit.model, statement)
    if is_def or first:
        end = past_blank_lines(text, end)
    if first:
        start = before_blank_lines(text, start)
    return [edit.insert_above(below, content), edit.edit(start, end, "")]


def _is_first(model: Model, statement: cst.CSTNode) -> bool:
    """Whether a statement is the first of its block."""
    return model.walk.at[statement].block.statements[0] is statement


def _end_with_comments(edit: Editor, statement: cst.CSTNode) -> int:
    """The end of a statement's lines, and of comments below a `def` that are indented as its body is."""
    end = edit.lines_end(statement)
    if not isinstance(statement, cst.FunctionDef):
        return end
    text, indent = edit.whole_text, len(edit.indent(statement))
    at = end
    while True:
        after = past_blank_lines(text, at)
        comment = _COMMENT.match(text, after)
        if comment is None or len(comment[1]) <= indent or comment.end() == after:
            return end
        end = at = comment.end()
