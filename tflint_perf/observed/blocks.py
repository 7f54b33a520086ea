"""Which rows of the program belong together: the function or the loop that a row stands in."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tflint_perf.errors import SourceError
from tflint_perf.measured.record import Spot
from tflint_perf.text.source import Source

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_TAPE = "GradientTape"
_GROW = frozenset({"append", "appendleft", "extend", "add", "insert", "update", "setdefault"})


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a file, or of a notebook's cell, from the first to the last; `of` tells a loop from a function,
    which has a `name`."""

    file: str
    first: int
    last: int
    cell: int | None = None
    of: str = "row"
    name: str = ""

    def __contains__(self, spot: Spot) -> bool:
        return (self.file, self.cell) == (spot.file, spot.cell) and self.first <= spot.row <= self.last

    @property
    def spot(self) -> Spot:
        return Spot(self.file, self.first, self.cell)


@dataclass(frozen=True, slots=True)
class _Parsed:
    """A file: its source, and its tree if it has one."""

    source: Source
    tree: ast.Module

    def text_row(self, spot: Spot) -> int:
        """A row counted through the whole text, which in a notebook joins its cells."""
        if spot.cell is None:
            return spot.row
        for row in range(1, self.source.row(len(self.source.text)) + 1):
            place = self.source.place(self.source.offset(row, 1))
            if (place.cell, place.row) == (spot.cell, spot.row):
                return row
        return 0

    def rows(self, file: str, node: ast.stmt) -> Rows:
        start, end = (
            self.source.place(self.source.offset(row, 1))
            for row in (_begins(node), node.end_lineno or node.lineno)
        )
        kind = "function" if isinstance(node, _FUNCTIONS) else "loop" if isinstance(node, _LOOPS) else "block"
        return Rows(file, start.row, end.row, start.cell, kind, getattr(node, "name", ""))


class Blocks:
    """The program's files as they lie on disk below `root`; each is read once."""

    def __init__(self, root: Path | str) -> None:
        self._root = Path(root)
        self._files: dict[str, _Parsed | None] = {}

    @cached_property
    def _real_root(self) -> str:
        return os.path.realpath(self._root)

    def named(self, path: str | Path) -> str:
        """A file as a record names it: relative to the root, with slashes; as a whole path if it lies elsewhere."""
        real = os.path.realpath(path)
        inside = os.path.relpath(real, self._real_root) if real.startswith(self._real_root + os.sep) else real
        return inside.replace(os.sep, "/")

    def path(self, file: str) -> Path:
        """Where a file of the record lies."""
        return self._root / file

    def around(self, spot: Spot) -> Rows:
        """The innermost function or loop around a row, or that begins there; the row itself where there is none."""
        return self._innermost(spot, (*_FUNCTIONS, *_LOOPS)) or Rows(spot.file, spot.row, spot.row, spot.cell)

    def function(self, spot: Spot) -> Rows | None:
        """The innermost function around a row."""
        return self._innermost(spot, _FUNCTIONS)

    def _innermost(self, spot: Spot, kinds: tuple[type[ast.stmt], ...]) -> Rows | None:
        parsed = self._parsed(spot.file)
        row = parsed.text_row(spot) if parsed is not None else 0
        found = [
            node
            for node in (ast.walk(parsed.tree) if parsed is not None else ())
            if isinstance(node, ast.stmt)
            and isinstance(node, kinds)
            and _begins(node) <= row <= (node.end_lineno or 0)
        ]
        return parsed.rows(spot.file, max(found, key=_begins)) if parsed is not None and found else None

    def tape_in(self, rows: Rows) -> Spot | None:
        """Where a gradient tape is opened in the rows: the `with` of the first one."""
        for parsed, node in self._statements(rows):
            if isinstance(node, ast.With) and any(_TAPE in ast.dump(item) for item in node.items):
                return parsed.rows(rows.file, node).spot
        return None

    def statement(self, spot: Spot) -> Rows:
        """The innermost statement that begins on a row or goes on there, without what is indented below it."""
        parsed = self._parsed(spot.file)
        row = parsed.text_row(spot) if parsed is not None else 0
        best: ast.stmt | None = None
        for node in ast.walk(parsed.tree) if parsed is not None else ():
            if isinstance(node, ast.stmt) and node.lineno <= row <= _header_end(node):
                best = node if best is None or node.lineno >= best.lineno else best
        if parsed is None or best is None:
            return Rows(spot.file, spot.row, spot.row, spot.cell)
        first = parsed.rows(spot.file, best)
        return Rows(spot.file, first.first, first.first + _header_end(best) - _begins(best), spot.cell)

    def growing(self, files: Iterable[str], name: str) -> Sequence[Spot]:
        """The rows on which a container of this name, or an attribute, grows."""
        found = []
        for file in dict.fromkeys(files):
            parsed = self._parsed(file)
            for node in ast.walk(parsed.tree) if parsed is not None else ():
                if parsed is not None and _grows(node, name):
                    place = parsed.source.place(parsed.source.offset(node.lineno, 1))  # type: ignore[attr-defined]
                    found.append(Spot(file, place.row, place.cell))
        return list(dict.fromkeys(found))

    def line(self, spot: Spot) -> str:
        """What stands on a row, without indentation."""
        return self.text(spot).strip()

    def text(self, spot: Spot) -> str:
        """What stands on a row; nothing where there is none."""
        parsed = self._parsed(spot.file)
        row = parsed.text_row(spot) if parsed is not None else 0
        if parsed is None or not 1 <= row <= parsed.source.row(len(parsed.source.text)):
            return ""
        return "".join(parsed.source.lines(row, row))

    def _statements(self, rows: Rows) -> Iterator[tuple[_Parsed, ast.stmt]]:
        """The statements that begin in the rows, in their order."""
        parsed = self._parsed(rows.file)
        if parsed is None:
            return
        first = parsed.text_row(rows.spot)
        last = first + rows.last - rows.first
        found = [
            node
            for node in ast.walk(parsed.tree)
            if isinstance(node, ast.stmt) and first <= node.lineno <= last
        ]
        for node in sorted(found, key=lambda node: node.lineno):
            yield parsed, node

    def _parsed(self, file: str) -> _Parsed | None:
        """A file with its tree; None where it can't be read, or isn't for this Python."""
        if file not in self._files:
            path = self.path(file)
            try:
                source = Source.from_bytes(path.read_bytes(), str(path))
                self._files[file] = _Parsed(source, ast.parse(source.text))
            except (OSError, SourceError, SyntaxError, ValueError, RecursionError):
                self._files[file] = None
        return self._files[file]


def _begins(node: ast.stmt) -> int:
    """The row of a statement's first decorator, or its own."""
    first: int = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
    return first


def _header_end(node: ast.stmt) -> int:
    """The last row of a statement before what is indented below it."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        return max(node.lineno, _begins(body[0]) - 1)
    return node.end_lineno or node.lineno


def _grows(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=attr, value=thing)):
            return attr in _GROW and _is_named(thing, name)
        case ast.AugAssign(target=thing):
            return _is_named(thing, name)
        case ast.Assign(targets=targets):
            return any(isinstance(one, ast.Subscript) and _is_named(one.value, name) for one in targets)
    return False


def _is_named(node: ast.expr, name: str) -> bool:
    match node:
        case ast.Subscript(value=whole):
            return _is_named(whole, name)
        case ast.Name(id=own) | ast.Attribute(attr=own):
            return own == name
    return False
