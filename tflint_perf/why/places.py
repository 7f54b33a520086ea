"""Where the things stand that questions are about: nodes of the tree, and records of the analysis that hold one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.scopes import Block, Scope
from tflint_perf.text.positions import Positions, Span
from tflint_perf.text.source import Source

# So much of an answer is looked through for nodes.
_MOST, _DEEPEST = 500, 4
_LONGEST = 50


@dataclass(frozen=True, slots=True)
class Spot:
    """A piece of code, shortened to one line, and its row; None where it stands in no text, as what another file has."""

    source: str
    row: int | None = None
    cell: int | None = None


class Places:
    """Where nodes stand, for people and by offset."""

    def __init__(self, model: Model, source: Source) -> None:
        self._source = source
        self._module = model.module
        self._positions = Positions(model.module, model.text)
        statements = ((node, self.extent(node)) for node in model.walk.at)
        self._statements = [(node, extent) for node, extent in statements if extent is not None]

    def spans(self) -> list[Span]:
        """The statements as suppressions see them."""
        return [extent for _, extent in self._statements]

    def extent(self, node: cst.CSTNode) -> Span | None:
        """The extent of a node; None where it is in no text."""
        try:
            at = self._positions
            return at.span(node)
        except KeyError:
            return None

    def spot(self, node: cst.CSTNode) -> Spot:
        """A node for people."""
        extent = self.extent(node)
        if extent is None:
            return Spot(shortened(self._module.code_for_node(node)))
        start, code = extent.start, self._source.written[extent.start : extent.header_end]
        name = self._named(node, extent)
        if name is not None and len(" ".join(code.split())) > _LONGEST:
            # Of a chain of calls, the last one counts, which begins where a finding of it begins.
            tail = shortened(self._source.written[name : extent.end], _LONGEST // 2)
            head = code[: name - extent.start].rstrip(" .\n")
            code = f"{shortened(head, _LONGEST - len(tail) - 1)}.{tail}"
        if name is not None and self._source.row(name) > self._source.row(start):
            start = name
        place = self._source.place(start)
        return Spot(shortened(code), place.row, place.cell)

    def _named(self, node: cst.CSTNode, span: Span) -> int | None:
        """Where the name of the method stands that a chain of calls ends with."""
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
            return None
        name = self.extent(node.func.attr)
        return None if name is None or name.start < span.start else name.start

    def rows(self, span: Span) -> Iterator[tuple[int, int | None]]:
        """The rows of a statement, of a compound one those of its header, each with its cell."""
        source = self._source
        for row in range(source.row(span.start), source.row(max(span.header_end - 1, span.start)) + 1):
            place = source.place(source.offset(row, 1))
            yield place.row, place.cell

    def is_around(self, node: cst.CSTNode, other: cst.CSTNode) -> bool:
        """Whether a node is another one, or around it."""
        outer, inner = self.extent(node), self.extent(other)
        return (
            outer is not None and inner is not None and outer.start <= inner.start and inner.end <= outer.end
        )

    def statements_on(self, row: int) -> list[Span]:
        """The statements, compound ones by their headers, that stand on a row of the text."""
        return [
            extent
            for _, extent in self._statements
            if self._source.row(extent.start) <= row <= self._source.row(max(extent.header_end - 1, 0))
        ]

    def statement_at(self, offset: int) -> Span | None:
        """The innermost statement around an offset, compound ones by their headers."""
        found = [extent for _, extent in self._statements if extent.start <= offset < extent.end]
        return max(found, key=lambda extent: extent.start, default=None)


@dataclass(frozen=True, slots=True)
class Here:
    """The statements that one asks about."""

    statements: tuple[Span, ...]
    places: Places

    def rows(self) -> Iterator[tuple[int, int | None]]:
        """The rows of the statements, each with its cell."""
        for own in self.statements:
            yield from self.places.rows(own)

    def holds(self, node: cst.CSTNode) -> bool:
        """Whether a node is one of the statements, or stands in one, of a compound one in its header."""
        extent = self.places.extent(node)
        return extent is not None and any(
            own.start <= extent.start < own.header_end and extent.header_end <= own.header_end
            for own in self.statements
        )

    def lies_in(self, node: cst.CSTNode) -> bool:
        """Whether a node is around the statements."""
        extent = self.places.extent(node)
        return extent is not None and any(
            extent.start <= own.start and own.end <= extent.end for own in self.statements
        )


def node_of(thing: object) -> cst.CSTNode | None:
    """The node that something is, or stands for: a loop is its `for`."""
    nodes = _nodes_of(thing)
    own = getattr(thing, "node", None)
    return own if own in nodes else next(iter(nodes), None)


def _nodes_of(thing: object) -> list[cst.CSTNode]:
    """A node itself, or those that a record of the analysis holds."""
    if isinstance(thing, cst.Module | Scope | Block):
        return []
    if isinstance(thing, cst.CSTNode):
        return [thing]
    if not dataclasses.is_dataclass(thing) or isinstance(thing, type):
        return []
    values = (getattr(thing, own.name, None) for own in dataclasses.fields(thing))
    return [value for value in values if isinstance(value, cst.CSTNode)]


def is_structure(thing: object) -> bool:
    """Whether something tells where in the code things are, and nothing of what they are."""
    return isinstance(thing, cst.Module) or type(thing).__module__.startswith("tflint_perf.analysis.python")


def nodes_in(thing: object) -> Iterator[cst.CSTNode]:
    """The nodes in an answer, which may be a collection of them."""
    left = [_MOST]

    def below(thing: object, depth: int) -> Iterator[cst.CSTNode]:
        left[0] -= 1
        if left[0] < 0 or depth > _DEEPEST:
            return
        nodes = _nodes_of(thing)
        if nodes:
            yield from nodes
        elif isinstance(thing, Mapping):
            for key, value in list(thing.items()):
                yield from below(key, depth + 1)
                yield from below(value, depth + 1)
        elif isinstance(thing, list | tuple | set | frozenset):
            for part in thing:
                yield from below(part, depth + 1)

    return below(thing, 0)


def shortened(code: str, most: int = _LONGEST) -> str:
    """Code on one line, without its end where it is long."""
    line = " ".join(code.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
