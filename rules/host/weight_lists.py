"""Lists of weights that several statements make on their way from one model to another.

    w = online.get_weights()
    t = target.get_weights()
    for i in range(len(w)):
        t[i] = TAU * w[i] + (1 - TAU) * t[i]
    target.set_weights(t)

The loop may go over `zip(w, t)`, over one of the lists, or over either with `enumerate` or a counter of its own; it may
append to a new list, or be a comprehension.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field

import libcst as cst

from tflint_perf.analysis.python.scopes import Block
from tflint_perf.analysis.python.syntax import (
    callee_name,
    descendants,
    dotted_name,
    integer,
    is_name,
    statements_of,
)
from tflint_perf.edit.editor import Editor
from tflint_perf.finding import Edit
from tflint_perf.records import dataclass

from .weight_copies import VARIABLES, WeightCopy

_OLD, _NEW = "old", "new"
# What such statements call, none of which changes a weight before others are read.
_HARMLESS = frozenset({"get_weights", "set_weights", "range", "len", "zip", "enumerate", "append", "float"})


@dataclass(frozen=True, slots=True)
class Listed:
    """What such statements compute: `value` of each `new` and `old` weight, an expression that stands in the file; None
    where the weights are taken as they are.

    `named` are the nodes in it that mean one of the two. `edits` take the statements away.
    """

    source: cst.BaseExpression
    value: cst.BaseExpression | None
    named: dict[cst.CSTNode, str]
    edits: list[Edit]


def listed(edit: Editor, copy: WeightCopy) -> Listed | None:
    """What the statements above a copy make of the weights; None where they do anything else."""
    statement = edit.model.statement_of(copy.call)
    block = edit.model.walk.at[statement].block
    above = block.statements[: block.statements.index(statement)]
    lists = _lists(above)
    made = _comprehension(above, copy) or _taken_whole(lists, copy)
    if made is not None:
        return _Found(edit, copy, made, lists).listed()
    for loop in above:
        if isinstance(loop, cst.For) and loop.orelse is None:
            made = _by_loop(block, loop, copy, lists)
            found = _Found(edit, copy, made, lists).listed() if made is not None else None
            if found is not None:
                return found
    return None


@dataclass(frozen=True, slots=True)
class _List:
    """`name = holder.get_weights()`, or `name = []`, whose holder is None; or a list without a name, in `zip(…)`."""

    statement: cst.Assign | None
    holder: cst.BaseExpression | None


def _lists(above: Sequence[cst.CSTNode]) -> dict[str, _List]:
    found: dict[str, _List] = {}
    for statement in above:
        match statement:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))], value=value):
                holder = holder_of(value)
                if holder is not None or (isinstance(value, cst.List) and not value.elements):
                    found[name] = _List(statement, holder)
    return found


def holder_of(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The model of `model.get_weights()`, or of `model.weights` and the like."""
    match node:
        case cst.Attribute(value=holder, attr=cst.Name(name)) if name in VARIABLES:
            return holder
        case cst.Call(func=cst.Attribute(value=holder, attr=cst.Name("get_weights")), args=[]):
            return holder
    return None


@dataclass(frozen=True, slots=True)
class _Made:
    """Where the weights are made: in the statements `gone`, which nothing needs then, and in some `lines` of a `loop`.

    `named` says of nodes in `value` of which list they are an item, `into` which list is filled, `unnamed` which lists are made
    where they are gone over. `counted` are lists of which the loop takes the length.
    """

    value: cst.BaseExpression | None
    named: dict[cst.CSTNode, str]
    into: str = ""
    gone: tuple[cst.CSTNode, ...] = ()
    loop: cst.For | None = None
    lines: tuple[cst.CSTNode, ...] = ()
    unnamed: dict[str, _List] = field(default_factory=dict)
    counted: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Header:
    """What a loop goes over: `over` says of which list each of its names is an item, `index` is the name that counts them."""

    over: dict[str, str]
    index: str = ""
    unnamed: dict[str, _List] = field(default_factory=dict)
    counted: frozenset[str] = frozenset()


def _header(target: cst.BaseExpression, gone_over: cst.BaseExpression) -> _Header | None:
    match target, gone_over:
        case cst.Name(index), cst.Call(
            func=cst.Name("range"),
            args=[cst.Arg(value=cst.Call(func=cst.Name("len"), args=[cst.Arg(value=cst.Name(counted))]))],
        ):
            return _Header({}, index, counted=frozenset([counted]))
        case cst.Tuple(elements=[cst.Element(value=cst.Name(index)), cst.Element(value=inner)]), cst.Call(
            func=cst.Name("enumerate"), args=[cst.Arg(value=behind)]
        ):
            return _items(inner, behind, index)
    return _items(target, gone_over, "")


def _items(target: cst.BaseExpression, gone_over: cst.BaseExpression, index: str) -> _Header | None:
    """`a, b` over `zip(w, t)`, or `a` over `w`."""
    match target, gone_over:
        case cst.Tuple(
            elements=[cst.Element(value=cst.Name(one)), cst.Element(value=cst.Name(other))]
        ), cst.Call(func=cst.Name("zip"), args=[cst.Arg(value=first), cst.Arg(value=second)]):
            pairs = [(one, first), (other, second)]
        case cst.Name(one), _:
            pairs = [(one, gone_over)]
        case _:
            return None
    over: dict[str, str] = {}
    unnamed: dict[str, _List] = {}
    for name, each in pairs:
        if isinstance(each, cst.Name):
            over[name] = each.value
        elif (holder := holder_of(each)) is not None:
            over[name] = f"({name})"
            unnamed[f"({name})"] = _List(None, holder)
        else:
            return None
    return _Header(over, index, unnamed)


def _named(value: cst.BaseExpression, header: _Header, index: str) -> dict[cst.CSTNode, str]:
    """The items in an expression, by the names of the loop or by its index, each with its list."""
    found: dict[cst.CSTNode, str] = {}
    for node in descendants(value):
        if isinstance(node, cst.Name) and node.value in header.over:
            found[node] = header.over[node.value]
        elif isinstance(node, cst.Subscript) and isinstance(node.value, cst.Name) and index:
            if _index_of(node) == index:
                found[node] = node.value.value
    return found


def _by_loop(block: Block, loop: cst.For, copy: WeightCopy, lists: dict[str, _List]) -> _Made | None:
    """`t[i] = …`, or `new.append(…)`, in a loop."""
    header = _header(loop.target, loop.iter)
    if header is None or not isinstance(copy.given, cst.Name):
        return None
    into = copy.given.value
    counting = _counting(block, loop) if not header.index else None
    index = counting[0] if counting is not None else header.index
    begins, counts = ((counting[1],), (counting[2],)) if counting is not None else ((), ())
    for line in statements_of(loop.body):
        match line:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Subscript(value=cst.Name(name)) as written)], value=value
            ) if name == into and index and _index_of(written) == index:
                pass
            case cst.Expr(
                value=cst.Call(
                    func=cst.Attribute(value=cst.Name(name), attr=cst.Name("append")),
                    args=[cst.Arg(value=value)],
                )
            ) if name == into and into in lists and lists[into].holder is None:
                pass
            case _:
                continue
        named = _named(value, header, index)
        return _Made(value, named, into, begins, loop, (line, *counts), header.unnamed, header.counted)
    return None


def _counting(block: Block, loop: cst.For) -> tuple[str, cst.CSTNode, cst.CSTNode] | None:
    """A counter that begins at 0 above a loop and is raised at the end of each round: its name and both statements."""
    last = statements_of(loop.body)[-1]
    match last:
        case cst.AugAssign(target=cst.Name(name), operator=cst.AddAssign(), value=one) if integer(one) == 1:
            pass
        case _:
            return None
    for statement in block.statements[: block.statements.index(loop)]:
        match statement:
            case cst.Assign(targets=[cst.AssignTarget(target=target)], value=zero):
                if is_name(target, name) and integer(zero) == 0:
                    return name, statement, last
    return None


def _comprehension(above: Sequence[cst.CSTNode], copy: WeightCopy) -> _Made | None:
    """`[… for a, b in zip(w, t)]`, given as it is or by a name."""
    made, gone = copy.given, None
    if isinstance(made, cst.Name):
        for statement in above:
            match statement:
                case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value):
                    if is_name(target, copy.given.value if isinstance(copy.given, cst.Name) else ""):
                        made, gone = value, statement
    match made:
        case cst.ListComp(elt=value, for_in=cst.CompFor(target=target, iter=over, ifs=[], inner_for_in=None)):
            header = _header(target, over)
        case _:
            return None
    if header is None:
        return None
    into = copy.given.value if isinstance(copy.given, cst.Name) else ""
    named = _named(value, header, header.index)
    return _Made(
        value, named, into, (gone,) if gone is not None else (), None, (), header.unnamed, header.counted
    )


def _taken_whole(lists: dict[str, _List], copy: WeightCopy) -> _Made | None:
    """`w = online.get_weights()`, given as it is."""
    name = copy.given.value if isinstance(copy.given, cst.Name) else ""
    if name not in lists or lists[name].holder is None:
        return None
    return (
        _Made(None, {copy.given: name})
        if dotted_name(lists[name].holder) != dotted_name(copy.target)
        else None
    )


class _Found:
    """Puts together what was found, unless something else uses the lists."""

    def __init__(self, edit: Editor, copy: WeightCopy, made: _Made, lists: dict[str, _List]) -> None:
        self._edit = edit
        self._copy = copy
        self._made = made
        self._lists = {**lists, **made.unnamed}

    def listed(self) -> Listed | None:
        made, target = self._made, dotted_name(self._copy.target)
        used = set(made.named.values()) | ({made.into} if made.into in self._lists else set())
        if not used <= self._lists.keys() or (made.counted & used and not self._is_alone):
            return None  # what the loop goes on to count
        held = {name: holder for name in used if (holder := self._lists[name].holder) is not None}
        sources = {name for name, holder in held.items() if dotted_name(holder) != target}
        if len(sources) != 1 or not target:
            return None
        (source,) = sources
        counted = made.counted if self._is_alone else frozenset()
        gone = [*made.gone, *self._statements({*used, *counted})]
        if not self._is_all(gone) or self._may_change_between(gone):
            return None
        edits = [self._edit.remove_statement(statement) for statement in gone]
        named = {node: _NEW if name == source else _OLD for node, name in made.named.items()}
        return Listed(held[source], made.value, named, [*edits, *self._without_loop()])

    @property
    def _is_alone(self) -> bool:
        """Whether the loop does nothing else."""
        return self._made.loop is None or len(statements_of(self._made.loop.body)) == len(self._made.lines)

    def _statements(self, names: Collection[str]) -> list[cst.CSTNode]:
        made = (self._lists[name].statement for name in sorted(names) if name in self._lists)
        return [statement for statement in made if statement is not None]

    def _is_all(self, gone: Sequence[cst.CSTNode]) -> bool:
        """Whether nothing but what goes mentions what the statements bind."""
        loop, lines = self._made.loop, self._made.lines
        going = [*gone, *([loop] if loop is not None and self._is_alone else lines)]
        going.append(self._edit.model.statement_of(self._copy.call))
        inside = {part for node in going for part in descendants(node)}
        for statement in gone:
            assert isinstance(statement, cst.Assign)
            written = statement.targets[0].target
            assert isinstance(written, cst.Name)
            names = self._edit.model.names
            if not inside.issuperset(names.mentions(written.value, names.home(written))):
                return False
        return all("#" not in self._edit.text(node) for node in (*gone, *lines))

    def _may_change_between(self, gone: Sequence[cst.CSTNode]) -> bool:
        """Whether something may train a model between the copy of its weights and their use."""
        walk, end = self._edit.model.walk, self._edit.model.statement_of(self._copy.call)
        statements = walk.at[end].block.statements
        first = min((statements.index(one) for one in gone), default=len(statements))
        return any(
            isinstance(part, cst.Call) and callee_name(part) not in _HARMLESS
            for statement in statements[first : statements.index(end)]
            for part in descendants(statement)
        )

    def _without_loop(self) -> list[Edit]:
        """The edits that take the loop away, and leave its comments in its place."""
        edit, loop = self._edit, self._made.loop
        if loop is None:
            return []
        if not self._is_alone:
            return [edit.remove_statement(line) for line in self._made.lines]
        start, end = edit.start(loop) - len(edit.indent(loop)), edit.lines_end(loop)
        rows = edit.whole_text[start:end].splitlines()
        comments = [row[row.index("#") :] for row in rows if "#" in row]
        return [edit.edit(start, end, "".join(f"{edit.indent(loop)}{comment}\n" for comment in comments))]


def _index_of(node: cst.Subscript) -> str:
    """`i` of `weights[i]`."""
    match node.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=cst.Name(name)))]:
            return name
    return ""
