"""What a fix changed, as a unified diff that git can apply."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from tflint_perf.text.source import Source

# As git counts lines; `str.splitlines` would also split at form feeds.
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


def unified_diff(before: Source, after: Source) -> str:
    """The difference, by cells in a notebook; empty if there is none."""
    if not before.is_notebook:
        return "".join(_file_diff(before.written, after.written, before.path))
    new = dict(after.cells())
    return "".join(
        line
        for number, text in before.cells()
        for line in _file_diff(_closed(text), _closed(new.get(number, "")), f"{before.path}:cell {number}")
    )


def _closed(cell: str) -> str:
    """A cell's text with a line end at its end. Cells have none there, which is no news."""
    return cell if not cell or cell.endswith(("\n", "\r")) else f"{cell}\n"


def _file_diff(before: str, after: str, path: str) -> Iterator[str]:
    name = path.replace("\\", "/").lstrip("/")
    rows = difflib.unified_diff(_LINES.findall(before), _LINES.findall(after), f"a/{name}", f"b/{name}")
    for row in rows:
        yield row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n"
