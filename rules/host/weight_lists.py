"""Lists of weights that several statements make on their way from one model to another.

    w = online.get_weights()
    t = target.get_weights()
    for i in range(len(w)):
        t[i] = TAU * w[i] + (1 - TAU) * t[i]
    target.set_weights(t)

Also with `new = []` and `new.append(…)` in a loop over `zip(w, t)`.
"""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.python.scopes import Block
from tflint_perf.analysis.python.syntax import descendants, dotted_name
from tflint_perf.edit.editor import Editor
from tflint_perf.finding import Edit
from tflint_perf.records import dataclass

from .weight_copies import WeightCopy

_OLD, _NEW = "old", "new"


@dataclass(frozen=True, slots=True)
class Listed:
    """What such statements compute: `value` of each `new` and `old` weight, an expression that stands in the file.

    `named` are the nodes in it that mean one of the two. `edits` take the statements away.
    """

    source: cst.BaseExpression
    value: cst.BaseExpression
    named: dict[cst.CSTNode, str]
    edits: list[Edit]


def listed(edit: Editor, copy: WeightCopy) -> Listed | None:
    """What the statements above a copy make of the weights; None where they do anything else."""
    if not isinstance(copy.given, cst.Name):
        return None
    statement = edit.model.statement_of(copy.call)
    block = edit.model.walk.at[statement].block
    lists = _lists(block, statement)
    for loop in block.statements[: block.statements.index(statement)]:
        if isinstance(loop, cst.For) and loop.orelse is None:
            found = _by_index(edit, copy, loop, lists) or _by_appending(edit, copy, loop, lists)
            if found is not None:
                return found
    return None


@dataclass(frozen=True, slots=True)
class _List:
    """`name = holder.get_weights()`, or `name = []`, whose holder is None; or a list without a name, in `zip(…)`."""

    statement: cst.Assign | None
    holder: cst.BaseExpression | None


def _lists(block: Block, end: cst.CSTNode) -> dict[str, _List]:
    found: dict[str, _List] = {}
    for statement in block.statements[: block.statements.index(end)]:
        match statement:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))], value=value):
                holder = holder_of(value)
                if holder is not None or (isinstance(value, cst.List) and not value.elements):
                    found[name] = _List(statement, holder)
    return found


def holder_of(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The model of `model.get_weights()`."""
    match node:
        case cst.Call(func=cst.Attribute(value=holder, attr=cst.Name("get_weights")), args=[]):
            return holder
    return None


def _by_index(edit: Editor, copy: WeightCopy, loop: cst.For, lists: dict[str, _List]) -> Listed | None:
    """`for i in range(len(w)): t[i] = …`."""
    match loop:
        case cst.For(
            target=cst.Name(index),
            iter=cst.Call(
                func=cst.Name("range"),
                args=[cst.Arg(value=cst.Call(func=cst.Name("len"), args=[cst.Arg(value=cst.Name(counted))]))],
            ),
        ):
            pass
        case _:
            return None
    assert isinstance(copy.given, cst.Name)
    into = copy.given.value
    for line in _lines(loop):
        match line:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Subscript(value=cst.Name(name)) as written)], value=value
            ) if name == into and _index_of(written) == index:
                named: dict[cst.CSTNode, str] = {
                    node: node.value.value
                    for node in descendants(value)
                    if isinstance(node, cst.Subscript)
                    and isinstance(node.value, cst.Name)
                    and _index_of(node) == index
                }
                return _listed(edit, copy, loop, line, value, named, {into: into}, lists, {counted})
    return None


def _by_appending(edit: Editor, copy: WeightCopy, loop: cst.For, lists: dict[str, _List]) -> Listed | None:
    """`for a, b in zip(w, t): new.append(…)`."""
    match loop:
        case cst.For(
            target=cst.Tuple(elements=[cst.Element(value=cst.Name(one)), cst.Element(value=cst.Name(other))]),
            iter=cst.Call(func=cst.Name("zip"), args=[cst.Arg(value=first), cst.Arg(value=second)]),
        ):
            pass
        case _:
            return None
    assert isinstance(copy.given, cst.Name)
    holders = dict(lists)
    names: dict[str, str] = {}
    for name, gone_over in ((one, first), (other, second)):
        if isinstance(gone_over, cst.Name):
            names[name] = gone_over.value
        elif (holder := holder_of(gone_over)) is not None:
            names[name] = f"({name})"
            holders[f"({name})"] = _List(None, holder)
        else:
            return None
    for line in _lines(loop):
        match line:
            case cst.Expr(
                value=cst.Call(
                    func=cst.Attribute(value=cst.Name(into), attr=cst.Name("append")),
                    args=[cst.Arg(value=value)],
                )
            ) if into == copy.given.value and into in lists and lists[into].holder is None:
                named: dict[cst.CSTNode, str] = {
                    node: names[node.value]
                    for node in descendants(value)
                    if isinstance(node, cst.Name) and node.value in names
                }
                return _listed(edit, copy, loop, line, value, named, names, holders, set())
    return None


def _listed(
    edit: Editor,
    copy: WeightCopy,
    loop: cst.For,
    line: cst.CSTNode,
    value: cst.BaseExpression,
    named: dict[cst.CSTNode, str],
    names: dict[str, str],
    lists: dict[str, _List],
    counted: set[str],
) -> Listed | None:
    """Put it together, unless something else uses the lists."""
    target = dotted_name(copy.target)
    used = {*named.values(), *names.values()}
    alone = len(_lines(loop)) == 1
    if not used <= lists.keys() or (counted & used and not alone):  # what the loop goes on to count
        return None
    held = {name: holder for name in used if (holder := lists[name].holder) is not None}
    sources = {name for name, holder in held.items() if dotted_name(holder) != target}
    if len(sources) != 1 or not target:
        return None
    (source,) = sources
    assert isinstance(copy.given, cst.Name)
    statements = [lists[name].statement for name in {*used, copy.given.value}]
    gone = [statement for statement in statements if statement is not None]
    inside = {
        part
        for node in (*gone, loop if alone else line, edit.model.statement_of(copy.call))
        for part in descendants(node)
    }
    for statement in gone:
        (written,) = (part.target for part in statement.targets)
        assert isinstance(written, cst.Name)
        mentions = edit.model.names.mentions(written.value, edit.model.names.home(written))
        if not inside.issuperset(mentions):
            return None
    if any(edit.text(node).find("#") >= 0 for node in (*gone, loop if alone else line)):
        return None
    edits = [edit.remove_statement(statement) for statement in gone]
    edits.append(edit.remove_lines(loop) if alone else edit.remove_statement(line))
    return Listed(
        held[source], value, {node: _NEW if name == source else _OLD for node, name in named.items()}, edits
    )


def _lines(loop: cst.For) -> list[cst.CSTNode]:
    return [
        small
        for line in loop.body.body
        for small in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])
    ]


def _index_of(node: cst.Subscript) -> str:
    """`i` of `weights[i]`."""
    match node.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=cst.Name(name)))]:
            return name
    return ""
