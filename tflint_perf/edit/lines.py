"""Lines of a text, by offsets: where they begin and end, and what stands above and below them."""

from __future__ import annotations

import re

_LINE_END = re.compile(r"\r\n|\r|\n")
_BLANK = re.compile(r"[ \t]*(?:\r\n|\r|\n)")
_COMMENT = re.compile(r"[ \t]*#")
_FIRST_LINES = re.compile(r"(?:#!.*\n)?(?:[ \t\f]*#.*?coding[:=][ \t]*[-\w.]+.*\n)?")


def line_start(text: str, offset: int) -> int:
    """The start of the line that `offset` is in."""
    start = text.rfind("\n", 0, offset) + 1
    # Not through the whole text: most have no carriage return.
    return max(start, text.rfind("\r", start, offset) + 1)


def line_end(text: str, offset: int) -> int:
    """The offset behind the end of the line that `offset` is in."""
    match = _LINE_END.search(text, offset)
    return match.end() if match else len(text)


def line_above(text: str, start: int) -> int:
    """The start of the line above the one that begins at `start`; 0 above the first."""
    return line_start(text, start - (2 if text.endswith("\r\n", 0, start) else 1)) if start else 0


def start_of_comments(text: str, start: int) -> int:
    """The start of the comment lines that stand directly above the line that begins at `start`.

    Those that must be the first of a file, which say what runs it and how it is encoded, stay where they are.
    """
    first = _FIRST_LINES.match(text)
    end = first.end() if first is not None else 0
    while start > end:
        above = line_above(text, start)
        if not _COMMENT.match(text, above, start):
            return start
        start = above
    return start


def before_blank_lines(text: str, start: int) -> int:
    """The start of the blank lines that end at `start`, which begins a line."""
    while start > 0:
        above = line_above(text, start)
        if text[above:start].strip():
            return start
        start = above
    return start


def past_blank_lines(text: str, start: int) -> int:
    """Where the blank lines end that begin at `start`, which begins a line."""
    while (match := _BLANK.match(text, start)) is not None:
        start = match.end()
    return start
