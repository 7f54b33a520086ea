"""IPython's magics in a notebook's cell, masked by Python text of the same length."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

Range = tuple[int, int]

# These run the cell as Python, in the notebook's own names. Others hand it to something else.
_PYTHON_CELLS = frozenset({"time", "timeit", "capture"})
_CELL_MAGIC = re.compile(r"[ \t]*%%(\w+)")
_NO_CODE = re.compile(r"[ \t]*(?:#.*)?$")
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|$)")
# `%magic`, `!command`, `?name`, and the calls without parentheses: none can begin a Python statement.
# Of magics without their `%`, only the usual one: the others could be names.
_LINE_MAGIC = re.compile(r"[ \t]*(?=[%!?,;/]|(?:pip|conda)[ \t]+(?:un)?install\b)")
_TIMED = re.compile(r"%time[ \t]+(?=[^\s\-!%])")
_HELP = re.compile(r"[ \t]*(?=[^#'\"]*\?[ \t]*$)")
_ASSIGNED_MAGIC = re.compile(r"=[ \t]*(?=[%!](?!=))")
# All that tells where a statement begins: escapes, strings' ends, comments, brackets; and assignments.
_TOKEN = re.compile(r"\\(?:.|$)|\"\"\"|'''|[\"'#()\[\]{}=]")


@dataclass(slots=True)
class _State:
    """What is open at the end of a line."""

    quote: str = ""
    depth: int = 0
    continued: bool = False

    def begins_statement(self) -> bool:
        return not (self.quote or self.depth or self.continued)

    def advance(self, line: str) -> int | None:
        """Go over a line, and stop where a magic is assigned (`x = !ls`)."""
        self.continued = False
        for token in _TOKEN.finditer(line):
            if token[0][0] == "\\":
                self.continued = token[0] == "\\"
            elif self.quote:
                self._in_string(token[0])
            elif token[0] == "#":
                break
            elif token[0] in "([{":
                self.depth += 1
            elif token[0] in ")]}":
                self.depth = max(self.depth - 1, 0)
            elif token[0] != "=":
                self.quote = token[0]
            elif not self.depth and (magic := _ASSIGNED_MAGIC.match(line, token.start())):
                return magic.end()
        if len(self.quote) == 1 and not self.continued:
            self.quote = ""  # never closed: a syntax error, which is for the parser to tell
        return None

    def _in_string(self, token: str) -> None:
        # Behind `"a`, three quotes close the string and are an empty one.
        if token == self.quote or token == 3 * self.quote:
            self.quote = ""


def mask(cell: str) -> tuple[str, tuple[Range, ...]] | None:
    """The cell with its magics masked, and where they are; None if a cell magic makes it no Python.

    Line magics, `!commands` and `name?` become statements that do nothing, but what `%time` runs stays.
    `x = !ls` becomes an assignment of something unknown. The mask is as long as what it hides.
    """
    masked: list[str] = []
    ranges: list[Range] = []
    state = _State()
    before_code = True
    in_magic = False  # the magic of the line before goes on
    for match in _LINE.finditer(cell):
        line, end = match.groups()
        cell_magic = _CELL_MAGIC.match(line) if before_code and not in_magic else None
        if cell_magic and cell_magic[1] not in _PYTHON_CELLS:
            return None
        if cell_magic or in_magic:
            hidden: tuple[int, str] | None = (0, " " * len(line))
        else:
            before_code = before_code and _NO_CODE.match(line) is not None
            hidden = _hidden(line, state)
        in_magic = hidden is not None and line.endswith("\\")
        if hidden is not None:
            at, cover = hidden
            line = line[:at] + cover + line[at + len(cover) :]
            ranges.append((match.start() + at, match.start() + at + len(cover)))
        masked += [line, end]
    return "".join(masked), tuple(ranges)


def _hidden(line: str, state: _State) -> tuple[int, str] | None:
    """Where the line has a magic, and what covers it."""
    if state.begins_statement() and (magic := _LINE_MAGIC.match(line) or _HELP.match(line)):
        at = magic.end()
        timed = _TIMED.match(line, at)
        if timed and _is_python(line[timed.end() :]):
            return at, "pass;".ljust(len(timed[0]))
        return at, _nothing("pass", len(line) - at)
    assigned = state.advance(line)
    return None if assigned is None else (assigned, _nothing("_", len(line) - assigned))


def _nothing(word: str, length: int) -> str:
    if length < len(word):
        word = "_"
    return f"{word}#".ljust(length)[:length]


def _is_python(statement: str) -> bool:
    try:
        ast.parse(statement)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
