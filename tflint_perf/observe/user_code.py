"""Which code is the user's, and where in it something happens."""

from __future__ import annotations

import ast
import linecache
import os
import sys
import sysconfig
from collections import Counter
from collections.abc import Iterator
from types import CodeType, FrameType

# A file and a row. Rows count from 1; a cell of a notebook is a file of its own (`cell_name`).
Row = tuple[str, int]
# A line that runs and those that have called it, the innermost first and each once; nothing where none is the user's.
Stack = tuple[Row, ...]

_LIBRARIES = ("site-packages", "dist-packages")
_UNKNOWN = object()
_CELL = "\N{NO-BREAK SPACE}cell "


def cell_name(notebook: str, cell: int) -> str:
    """The name under which the code of a notebook's cell is compiled; `cell` counts from 1."""
    return f"{notebook}{_CELL}{cell}"


def cell_of(name: str) -> tuple[str, int | None]:
    """The file, and the number of the cell where it is one."""
    file, marked, cell = name.partition(_CELL)
    return file, int(cell) if marked else None


class Places:
    """Tells the user's files, those below `root`, from the libraries', wherever these lie."""

    def __init__(self, root: str) -> None:
        self._root = os.path.realpath(root) + os.sep
        self._standard = os.path.realpath(sysconfig.get_paths()["stdlib"]) + os.sep
        self._prefix = os.path.realpath(sys.prefix) + os.sep
        self._observer = os.path.dirname(os.path.realpath(__file__)) + os.sep
        self._known: dict[str, object] = {}
        self._loops: dict[str, list[tuple[int, int, int]]] = {}
        self._statements: dict[str, list[tuple[int, int, str]]] = {}
        self._said: dict[Row, str] = {}

    def name_of(self, filename: str) -> str | None:
        """The file's name relative to the root, with slashes; None if it is none of the user's."""
        name = self._known.get(filename, _UNKNOWN)
        if name is _UNKNOWN:
            name = self._known[filename] = self._name(filename)
        return name  # type: ignore[return-value]

    def _name(self, filename: str) -> str | None:
        file, cell = cell_of(filename)
        if file.startswith("<"):
            return None
        real = os.path.realpath(file)
        inside = real.startswith(self._root) and not real.startswith((self._standard, self._observer))
        if real.startswith(self._prefix) and self._prefix.startswith(self._root):
            inside = False  # an environment that lies in the project
        if not inside or any(part in _LIBRARIES for part in real.split(os.sep)):
            return None
        name = real[len(self._root) :].replace(os.sep, "/")
        return name if cell is None else cell_name(name, cell)

    def innermost(self, frame: FrameType | None) -> FrameType | None:
        """The innermost frame of the user's own code, from `frame` on outwards."""
        known = self._known
        while frame is not None:
            name = known.get(frame.f_code.co_filename, _UNKNOWN)
            if name is _UNKNOWN:
                name = self.name_of(frame.f_code.co_filename)
            if name is not None:
                return frame
            frame = frame.f_back
        return None

    def row(self, frame: FrameType) -> Row:
        """Where a frame of the user's is now."""
        return self.name_of(frame.f_code.co_filename) or "?", frame.f_lineno

    def rows(self, frame: FrameType | None) -> Stack:
        """Where the user's frames are now, from `frame` on outwards."""
        known = self._known
        found: dict[Row, None] = {}  # a function that calls itself is at a row many times
        while frame is not None:
            filename = frame.f_code.co_filename
            name = known.get(filename, _UNKNOWN)
            if name is _UNKNOWN:
                name = self.name_of(filename)
            if name is not None:
                found[name, frame.f_lineno] = None  # type: ignore[index]
            frame = frame.f_back
        return tuple(found)

    def stack(self, frame: FrameType | None) -> Iterator[FrameType]:
        """The user's frames from `frame` on, the innermost first."""
        frame = self.innermost(frame)
        while frame is not None:
            yield frame
            frame = self.innermost(frame.f_back)

    def loops_around(self, frame: FrameType) -> list[int]:
        """The rows of the `for` and `while` statements whose body the frame is in, the innermost first."""
        filename, function = frame.f_code.co_filename, frame.f_code.co_firstlineno
        if filename not in self._loops:
            self._loops[filename] = _loops_in("".join(linecache.getlines(filename)))
        row = frame.f_lineno
        around = [
            (loop, first)
            for first, last, loop in self._loops[filename]
            if first <= row <= last and loop >= _start_of(frame, function)
        ]
        return [loop for loop, _ in sorted(around, key=lambda found: -found[1])]

    def statement(self, filename: str, row: int) -> str:
        """What the innermost statement around a row says, wherever it stands; several that say the same are numbered."""
        said = self._said.get((filename, row))
        if said is None:
            if filename not in self._statements:
                self._statements[filename] = _statements_in("".join(linecache.getlines(filename)))
            around = [
                (last - first, said)
                for first, last, said in self._statements[filename]
                if first <= row <= last
            ]
            said = self._said[filename, row] = min(around, default=(0, ""))[1]
        return said

    def first_loop_in(self, code: CodeType) -> Row | None:
        """The outermost loop that a function of the user's has first; None if it has none."""
        name = self.name_of(code.co_filename)
        if name is None:
            return None
        try:
            tree = ast.parse("".join(linecache.getlines(code.co_filename)))
        except (SyntaxError, ValueError):
            return None
        for node in ast.walk(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if code.co_firstlineno in (node.lineno, *(one.lineno for one in node.decorator_list)):
                    loops = [one.lineno for one in ast.walk(node) if isinstance(one, (ast.For, ast.While))]
                    return (name, min(loops)) if loops else None
        return None


def _start_of(frame: FrameType, first: int) -> int:
    return 0 if frame.f_code.co_name == "<module>" else first


def _loops_in(source: str) -> list[tuple[int, int, int]]:
    """Of each loop, the first and the last row of its body, and the row that it begins in."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    return [
        (node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno, node.lineno)
        for node in ast.walk(tree)
        if isinstance(node, (ast.For, ast.While, ast.AsyncFor))
    ]


def _statements_in(source: str) -> list[tuple[int, int, str]]:
    """Of each statement, its first and last row, and what it says: of one that has others inside, only up to these."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    rows = source.splitlines()
    seen: Counter[str] = Counter()
    found = []
    for node in sorted(
        (one for one in ast.walk(tree) if isinstance(one, ast.stmt)), key=lambda one: one.lineno
    ):
        said = rows[node.lineno - 1].strip() if hasattr(node, "body") else ast.unparse(node)
        found.append((node.lineno, node.end_lineno or node.lineno, f"{said} {seen[said]}"))
        seen[said] += 1
    return found
