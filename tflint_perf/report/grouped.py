"""The findings file by file: the path, then a line for each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from tflint_perf.report import Entry, Outcome, in_cell, printable, told
from tflint_perf.report.concise import headline
from tflint_perf.report.style import Style


def render(outcome: Outcome, style: Style) -> Iterator[str]:
    shown, lines = told(outcome)
    shown.sort(key=lambda entry: entry.path)
    for path, group in groupby(shown, key=lambda entry: entry.path):
        entries = list(group)
        yield f"{style.strong(printable(path))}:"
        width = max(len(_place(entry)) for entry in entries)
        for entry in entries:
            yield f"  {_place(entry):<{width}} {headline(entry, style)}"
        yield ""
    for line in lines:
        yield line
        yield ""


def _place(entry: Entry) -> str:
    start = entry.finding.start
    return f"{in_cell(start)}{start.row}:{start.column}"
