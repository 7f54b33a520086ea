"""A text made small while it keeps what is wrong with it."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.hunt.lines import rows_of


def shrunk(text: str, still: Callable[[str], bool], seconds: float = 20.0) -> str:
    """The text without the lines, and the halves of them, that `still` does not ask for: by delta debugging."""
    until = time.monotonic() + seconds
    rows = rows_of(text)
    size = max(len(rows) // 2, 1)
    while size and time.monotonic() < until:
        at, fewer = 0, False
        while at < len(rows) and time.monotonic() < until:
            tried = [*rows[:at], *rows[at + size :]]
            if still("".join(tried)):
                rows, fewer = tried, True
            else:
                at += size
        if not fewer:
            size //= 2
        elif size > len(rows) // 2:
            size = max(len(rows) // 2, 1)
    return "".join(rows)
