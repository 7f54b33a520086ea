"""Layout of code that no fix can be written into: lines whose indentation is not what stands in front of their code."""

from __future__ import annotations

import re
import tokenize
from collections.abc import Sequence
from itertools import accumulate

_LINE = r"(?:^|(?<=[\r\n]))"
# Python counts the columns anew behind a form feed; libcst drops it, or takes it for a column.
_FEED = re.compile(rf"{_LINE}[ \t\f]*\f(?=[ \t]*[^\s#])")
# A statement whose first line is a backslash alone has that line's indentation.
_JOINED = re.compile(rf"{_LINE}[ \t\f]*\\(?=[\r\n]|$)")
# A backslash that joins a line to no code: what is inserted below it would go on in it.
_JOINED_TO_NOTHING = re.compile(r"\\(?:\r\n|\r(?!\n)|\n)[ \t\f]*(?=[\r\n#]|$)")
_ROW = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
# Columns behind it are those of the next tab stop for Python, and others for everybody else.
_TAB = re.compile(rf"{_LINE}[ \t\f]* \t[ \t]*(?=[^\s#])")


def odd_line(text: str) -> tuple[int, str] | None:
    """The offset of the first such line, and what is odd about it."""
    for pattern, what in (
        (_FEED, "a form feed is before code"),
        (_JOINED, "a line is only a backslash"),
        (_TAB, "a tab follows spaces before code"),
    ):
        found = pattern.search(text)
        if found is not None:
            return found.start(), what
    joined = [found.start() for found in _JOINED_TO_NOTHING.finditer(text)]
    between = _between_tokens(text, joined) if joined else None
    return (between, "a backslash joins a line to one without code") if between is not None else None


def _between_tokens(text: str, offsets: Sequence[int]) -> int | None:
    """The first of the offsets at which no token stands: neither a string nor a comment, which may hold any character."""
    rows = _ROW.findall(text)
    starts = [0, *accumulate(map(len, rows))]
    try:
        spans = [
            (starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1])
            for token in tokenize.generate_tokens(iter([*rows, ""]).__next__)
            if token.string.strip()
        ]
    except (tokenize.TokenError, SyntaxError, IndexError):
        return offsets[0]
    return next((at for at in offsets if not any(start <= at < end for start, end in spans)), None)


def without_feeds(text: str) -> str:
    """The text as a parser reads it that knows no form feeds: each line of code with its own indentation alone."""
    return _FEED.sub("", text)
