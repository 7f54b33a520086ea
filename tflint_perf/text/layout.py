"""Layout of code that no fix can be written into: lines whose indentation is not what stands in front of their code."""

from __future__ import annotations

import re

_LINE = r"(?:^|(?<=[\r\n]))"
# Python counts the columns anew behind a form feed; libcst drops it, or takes it for a column.
_FEED = re.compile(rf"{_LINE}[ \t\f]*\f(?=[ \t]*[^\s#])")
# A statement whose first line is a backslash alone has that line's indentation.
_JOINED = re.compile(rf"{_LINE}[ \t\f]*\\(?=[\r\n]|$)")
# A header that a backslash joins to a blank line: its body begins in the line below that, for Python.
_JOINED_TO_NOTHING = re.compile(r":[ \t]*\\(?:\r\n|\r|\n)[ \t\f]*(?=[\r\n])")
# Columns behind it are those of the next tab stop for Python, and others for everybody else.
_TAB = re.compile(rf"{_LINE}[ \t\f]* \t[ \t]*(?=[^\s#])")


def odd_line(text: str) -> tuple[int, str] | None:
    """The offset of the first such line, and what is odd about it."""
    for pattern, what in (
        (_FEED, "a form feed stands in front of code"),
        (_JOINED, "a line is a backslash alone"),
        (_JOINED_TO_NOTHING, "a backslash joins a header to a blank line"),
        (_TAB, "a tab stands behind spaces in front of code"),
    ):
        found = pattern.search(text)
        if found is not None:
            return found.start(), what
    return None


def without_feeds(text: str) -> str:
    """The text as a parser reads it that knows no form feeds: each line of code with its own indentation alone."""
    return _FEED.sub("", text)
