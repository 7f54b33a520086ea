"""Lines and statements of a text, as mutations want them."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import warnings
from collections.abc import Iterator

_ROW = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


def rows_of(text: str) -> list[str]:
    """The lines of a text with their ends, as Python counts them: a form feed ends none."""
    return _ROW.findall(text)


def parsed(text: str) -> ast.Module:
    """The tree of a text.

    Raises:
        SyntaxError, ValueError, RecursionError: this Python does not take it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def compiles(text: str) -> bool:
    """Whether this Python takes the text; nothing of it runs."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            compile(text, "<text>", "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True


def bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of a tree: of the module, and of each compound statement."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def first_row(statement: ast.stmt) -> int:
    """The row, from 0, on which a statement begins, its decorators included."""
    decorators = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(node.lineno for node in decorators)]) - 1


def last_row(statement: ast.stmt) -> int:
    """The row, from 0, behind the statement."""
    return statement.end_lineno or statement.lineno


def own_rows(rows: list[str], statement: ast.stmt) -> bool:
    """Whether a statement shares its lines with no other."""
    first, last = rows[first_row(statement)], rows[last_row(statement) - 1]
    before = (
        first.encode()[: statement.col_offset].decode() if not hasattr(statement, "decorator_list") else ""
    )
    behind = last.encode()[statement.end_col_offset or 0 :].decode().strip()
    return not before.strip() and (not behind or behind.startswith("#"))


def indent_of(row: str) -> str:
    """The white space that a line begins with."""
    return row[: len(row) - len(row.lstrip(" \t\f"))]


def in_strings(text: str) -> set[int]:
    """The rows, from 0, that begin inside a string of several lines."""
    inside: set[int] = set()
    for token in tokens(text):
        if token.end[0] > token.start[0] and token.type not in (tokenize.NEWLINE, tokenize.NL):
            inside.update(range(token.start[0], token.end[0]))
    return inside


def tokens(text: str) -> list[tokenize.TokenInfo]:
    """The tokens of a text; those up to where the tokenizer gives up."""
    found: list[tokenize.TokenInfo] = []
    try:
        for token in tokenize.generate_tokens(io.StringIO("".join(plain(text))).readline):
            found.append(token)
    except (tokenize.TokenError, SyntaxError):
        pass
    return found


def plain(text: str) -> list[str]:
    """The lines of a text, all ending in a newline: the tokenizer knows no lone carriage return."""
    return [row.rstrip("\r\n") + "\n" if row.endswith(("\r", "\n")) else row for row in rows_of(text)]
