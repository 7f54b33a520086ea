"""IPython's magics in a notebook's cell, masked by Python text of the same length."""

from __future__ import annotations

import ast
import re

from tflint_perf.records import dataclass

Range = tuple[int, int]

# These run the cell as Python, in the notebook's own names. Others hand it to something else.
_PYTHON_CELLS = frozenset(
    {"time", "timeit", "capture", "prun", "debug", "memit", "snakeviz", "pyinstrument", "scalene", "wandb"}
)
_CELL_MAGIC = re.compile(r"[ \t]*(?=%%(\S+))")
_NO_CODE = re.compile(r"[ \t]*(?:#.*)?$")
_LINE = re.compile(r"([^\r\n]*)(\r\n|\r|\n|$)")
# `%magic`, `!command`, `?name`, and the calls without parentheses: none can begin a Python statement.
# Of magics without their `%`, only the usual one: the others could be names.
_LINE_MAGIC = re.compile(r"[ \t]*(?=[%!?,;/]|(?:pip|conda)[ \t]+(?:un)?install\b)")
# Magics and commands that IPython runs without their sign, where the line is no Python.
_BARE_MAGIC = re.compile(
    r"[ \t]*(?=(?:cat|cd|conda|cp|env|history|ll|load_ext|ls|man|matplotlib|mkdir|more|mv|pip|pylab|reload_ext|rm|rmdir"
    r"|run|tensorboard|tensorflow_version|time|timeit|who|whos)[ \t]+"
    r"(?!(?:in|is|and|or|if|not)\b)(?:--?\w|[\w./~$\\]))"
)
_TIMED = re.compile(r"%time[ \t]+(?=[^\s\-!%])")
_ENVIRONMENT = re.compile(r"%(?:set_)?env[ \t]+(\w+)(?:[ \t]*=[ \t]*|[ \t]+)(\S*)[ \t]*$")
_PLAIN = re.compile(r"[\w.,:/-]*")
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

    Line magics, `!commands` and `name?` become statements that do nothing, but what `%time` runs stays, and
    what `%env` sets is said. `x = !ls` becomes an assignment of something unknown. The mask is as long as what
    it hides. The range of a magic for the whole cell begins before the cell: nothing may be put there.
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
        if in_magic:
            hidden: tuple[int, str] | None = (0, " " * len(line))
        elif cell_magic:
            hidden = cell_magic.end(), _nothing("pass", len(line) - cell_magic.end())
        else:
            before_code = before_code and _NO_CODE.match(line) is not None
            hidden = _hidden(line, state)
        in_magic = hidden is not None and line.endswith("\\")
        if hidden is not None:
            at, cover = hidden
            line = line[:at] + cover + line[at + len(cover) :]
            ranges.append((-1 if cell_magic else match.start() + at, match.start() + at + len(cover)))
        masked += [line, end]
    return "".join(masked), tuple(ranges)


def _hidden(line: str, state: _State) -> tuple[int, str] | None:
    """Where the line has a magic, and what covers it."""
    if state.begins_statement():
        if magic := _LINE_MAGIC.match(line) or _HELP.match(line):
            return magic.end(), _cover(line, magic.end())
        if (magic := _BARE_MAGIC.match(line)) and not _is_python(line.strip()):
            return magic.end(), _nothing("pass", len(line) - magic.end())
    assigned = state.advance(line)
    return None if assigned is None else (assigned, _nothing("_", len(line) - assigned))


def _cover(line: str, at: int) -> str:
    """What covers the magic that begins at `at`."""
    timed = _TIMED.match(line, at)
    if timed and _is_python(line[timed.end() :]):
        return "pass;".ljust(len(timed[0]))
    length = len(line) - at
    if setting := _ENVIRONMENT.match(line, at):
        return _said(setting[1], setting[2], length)
    return _nothing("pass", length)


def _said(name: str, value: str, length: int) -> str:
    """A variable of the environment and its value, as far as there is room for them."""
    whole = f'_["{name}"]="{value}"'
    if name == "CUDA_VISIBLE_DEVICES" and value == "-1":
        whole = f'_["{name}"]=""'  # which hides all GPUs as well, and has room
    fits = len(whole) <= length and _PLAIN.fullmatch(value)
    return (whole if fits else f'"{name}"#').ljust(length)


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
