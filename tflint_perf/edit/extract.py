"""Moving an inline step of a loop into a function of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from tflint_perf.edit.editor import Editor
from tflint_perf.model import Loop, Model
from tflint_perf.model.scopes import Binding, Block
from tflint_perf.model.syntax import descendants, names_read, names_written
from tflint_perf.rule import Refusal, Repair

_NOT_TENSORS = frozenset({"number", "string", "dict", "object", "session"})


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive statements of one block, in a loop."""

    statements: list[cst.CSTNode]
    # The outermost loop of the function around them: the new function goes above it, so that it is made once.
    loop: Loop

    @property
    def first(self) -> cst.CSTNode:
        return self.statements[0]

    @property
    def last(self) -> cst.CSTNode:
        return self.statements[-1]


def stretch_between(model: Model, first: cst.CSTNode, others: list[cst.CSTNode]) -> Stretch | None:
    """The statements from `first` to the last that holds one of `others`, in the block of `first`."""
    block = model.walk.at[first].block
    loop = model.loops.innermost_loop(first)
    if loop is None:
        return None
    while loop.parent is not None:
        loop = loop.parent
    indices = [block.statements.index(first)]
    for node in others:
        statement = _in_block(model, node, block)
        if statement is None:
            return None
        indices.append(block.statements.index(statement))
    return Stretch(block.statements[min(indices) : max(indices) + 1], loop)


def _in_block(model: Model, node: cst.CSTNode, block: Block) -> cst.CSTNode | None:
    """The statement of `block` that holds `node`."""
    current: cst.CSTNode | None = node
    while current is not None:
        at = model.walk.at.get(current)
        if at is not None and at.block is block:
            return current
        current = model.parent(current)
    return None


def extract(edit: Editor, stretch: Stretch, name: str) -> Repair | Refusal:
    """Move a stretch into a `@tf.function` above the loop, and call it where it stood."""
    model = edit.model
    obstacle = model.tracing.obstacle_in_statements(stretch.statements, model.function_at(stretch.first))
    if obstacle is not None:
        return Refusal(obstacle.reason, obstacle.node)
    for node in _nodes(stretch):
        if isinstance(node, cst.SimpleString | cst.FormattedString) and "\n" in edit.text(node):
            return Refusal("a string of several lines can't be moved", node)
    parameters = _parameters(model, stretch)
    if isinstance(parameters, Refusal):
        return parameters
    returned = _returned(model, stretch)
    if isinstance(returned, Refusal):
        return returned
    return _edits(edit, stretch, edit.fresh_name(name), parameters, returned)


def _nodes(stretch: Stretch) -> Iterator[cst.CSTNode]:
    for statement in stretch.statements:
        yield from descendants(statement)


def _parameters(model: Model, stretch: Stretch) -> list[str] | Refusal:
    """The names that the stretch reads and that the loops around it bind, in the order of their binding."""
    found: dict[str, None] = {}
    inside = set(_nodes(stretch))
    written = names_written(stretch.statements)
    for statement in stretch.statements:
        for node in names_read(statement):
            if node.value in found or not _is_read(model, node):
                continue
            bindings = _outer_bindings(model, node, inside)
            bound_in_loop = [b for b in bindings if _in_loop(model, b, stretch.loop)]
            if not bound_in_loop:
                if bindings and node.value in written and _reads_own_write(model, node, inside):
                    return Refusal(f"`{node.value}` is carried from step to step", node)
                continue
            if node.value in written and _reads_own_write(model, node, inside):
                return Refusal(f"`{node.value}` is carried from step to step", node)
            kind = model.value(node).kind
            if kind in _NOT_TENSORS:
                return Refusal(f"`{node.value}` is a Python {kind} that changes from step to step", node)
            if kind in ("model", "layer", "optimizer", "metric", "function", "compiled", "instance"):
                return Refusal(f"`{node.value}` is made anew in the loop", node)
            found[node.value] = None
    # As the loop binds them, which is how people name them.
    scope = model.names.scope_of(stretch.first)
    order = list(scope.bindings)
    return sorted(found, key=lambda name: order.index(name) if name in order else len(order))


def _is_read(model: Model, node: cst.Name) -> bool:
    """Whether a name is read where it stands: not a target, and not a parameter of an inner function."""
    child: cst.CSTNode = node
    parent = model.parent(node)
    while isinstance(parent, cst.Element | cst.Tuple | cst.List | cst.StarredElement):
        child, parent = parent, model.parent(parent)
    if isinstance(parent, cst.AssignTarget | cst.AnnAssign | cst.AsName):
        return isinstance(parent, cst.AnnAssign) and parent.target is not child
    return not (isinstance(parent, cst.For | cst.CompFor) and parent.target is child)


def _outer_bindings(model: Model, node: cst.Name, inside: set[cst.CSTNode]) -> list[Binding]:
    """The bindings outside the stretch whose value a name in it may have."""
    found = model.infer.bindings_reaching(node)
    if found is None or found[0].node in inside:
        return []
    return [binding for binding in found[1] if binding.node not in inside]


def _reads_own_write(model: Model, node: cst.Name, inside: set[cst.CSTNode]) -> bool:
    """Whether a name may hold what an earlier run of the stretch gave it."""
    found = model.infer.bindings_reaching(node)
    order = model.infer.place(node).order
    return found is not None and any(b.node in inside and b.at.order >= order for b in found[1])


def _in_loop(model: Model, binding: Binding, outermost: Loop) -> bool:
    """Whether a binding lies in the loop, its target included."""
    if binding.node is getattr(outermost.node, "target", None) or binding.at is outermost.at:
        return True
    loop = binding.at.block.loop
    while loop is not None:
        if loop is outermost:
            return True
        loop = loop.parent
    return False


def _returned(model: Model, stretch: Stretch) -> list[str] | Refusal:
    """The names that the stretch binds and that are read after it, in the order of their binding."""
    inside = set(_nodes(stretch))
    names: dict[str, None] = {}
    for name in _in_order(stretch):
        for use in model.walk.names.get(name, ()):
            if use in inside or not _is_read(model, use):
                continue
            found = model.infer.bindings_reaching(use)
            if found is not None and any(binding.node in inside for binding in found[1]):
                names[name] = None
    for name in names:
        for node in inside:
            if isinstance(node, cst.Name) and node.value == name and not _is_read(model, node):
                kind = model.value(node).kind
                if kind in _NOT_TENSORS or kind in ("tape", "function", "array"):
                    return Refusal(f"`{name}` is read after the step and is no tensor", node)
    return list(names)


def _in_order(stretch: Stretch) -> list[str]:
    order: dict[str, None] = {}
    for statement in stretch.statements:
        for node in descendants(statement):
            for name in names_written([node]) if isinstance(node, cst.AssignTarget | cst.AsName) else ():
                order[name] = None
        for name in sorted(names_written([statement])):
            order[name] = None
    return list(order)


def _shapes_vary(model: Model, stretch: Stretch, parameters: list[str]) -> bool:
    loop = model.loops.innermost_loop(stretch.first)
    return (loop is not None and model.shapes.vary_in(loop)) or any(
        isinstance(node, cst.Name)
        and node.value in parameters
        and model.shapes.is_as_long_as_an_episode(node)
        for node in _nodes(stretch)
    )


def _edits(edit: Editor, stretch: Stretch, name: str, parameters: list[str], returned: list[str]) -> Repair:
    decorator, imports = edit.spell("function")
    if _shapes_vary(edit.model, stretch, parameters):
        decorator += "(reduce_retracing=True)"
    old, new = edit.indent(stretch.first), edit.one_indent()
    body = edit.lines(stretch.first, stretch.last)
    lines = [
        new + line[len(old) :] if line.startswith(old) and line.strip() else line
        for line in body.splitlines(keepends=True)
    ]
    if not lines[-1].endswith(("\n", "\r")):
        lines[-1] += "\n"
    results = ", ".join(returned)
    # PEP 8: two blank lines around a function of the module, one around an inner one.
    gap = "\n" if edit.indent(stretch.loop.node) else "\n\n"
    before = gap[edit.blank_lines_above(stretch.loop.node) :]
    head = f"{before}@{decorator}\ndef {name}({', '.join(parameters)}):\n"
    tail = (f"{new}return {results}\n" if returned else "") + gap
    call = f"{results} = " if returned else ""
    start = edit.lines_start(stretch.first)
    end = edit.lines_end(stretch.last)
    return Repair(
        f"Move the step to a `@{decorator}` above the loop",
        [
            *imports,
            edit.insert_above(stretch.loop.node, head + "".join(lines) + tail),
            edit.edit(start, end, f"{old}{call}{name}({', '.join(parameters)})\n"),
        ],
        safe=False,
    )
