"""The finding, its source with the place marked, its fix, why it runs on each step, and its note."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from tflint_perf.report import Entry, Outcome, printable, told
from tflint_perf.report.concise import headline
from tflint_perf.report.step_loop_paths import said
from tflint_perf.report.style import Style

MOST_ROWS = 6
MOST_COLUMNS = 160
_TAB = "    "


def render(outcome: Outcome, style: Style) -> Iterator[str]:
    entries, lines = told(outcome)
    for entry in entries:
        yield from _block(entry, style)
        yield ""
    for line in lines:
        yield line
        yield ""


def _block(entry: Entry, style: Style) -> Iterator[str]:
    finding = entry.finding
    margin = len(str(finding.start.row + max(len(finding.lines) - 1, 0)))
    yield headline(entry, style)
    yield f"{' ' * margin}{style.frame('-->')} {entry.place}"
    if finding.lines:
        bar = f"{' ' * margin} {style.frame('|')}"
        yield bar
        yield from _source(entry, margin, style)
        yield bar
    if entry.fix is not None and finding.fix is not None:
        level = f" ({entry.fix} fix)" if entry.fix in ("unsafe", "bold") else ""
        yield f"{style.strong('help')}: {finding.fix.message}{level}"
    if finding.each_step:
        yield f"{style.strong('note')}: {printable(said(entry.path, finding))}"
    if finding.remark:
        yield f"{style.strong('note')}: {finding.remark}"


def _source(entry: Entry, margin: int, style: Style) -> Iterator[str]:
    finding = entry.finding
    first, rows = finding.start.row, len(finding.lines)
    if rows == 1:
        same_row = finding.end.row == first and finding.end.cell == finding.start.cell
        last = finding.end.column - 1 if same_row else len(finding.lines[0])
        line, before, width = _window(finding.lines[0], finding.start.column - 1, last)
        yield _row(first, margin, line, style)
        yield _row(None, margin, " " * before + style.caret("^" * width), style)
        return
    shown = [_drawn(line, MOST_COLUMNS) for line in finding.lines]
    for index in _kept(rows):
        if index is None:
            yield f"{'.' * 3:<{margin}} {style.frame('|')} {style.caret('|')}"
            continue
        yield _row(first + index, margin, f"{style.caret('/' if index == 0 else '|')} {shown[index]}", style)
    width = min(_width(_expanded(finding.lines[-1][: finding.end.column - 1])), MOST_COLUMNS)
    yield _row(None, margin, style.caret("|" + "_" * max(width, 1) + "^"), style)


def _kept(rows: int) -> Sequence[int | None]:
    """The indices of the lines to show; None stands for the ones that are left out in the middle."""
    if rows <= MOST_ROWS:
        return range(rows)
    head = MOST_ROWS - 2
    return [*range(head), None, rows - 1]


def _row(number: int | None, margin: int, text: str, style: Style) -> str:
    shown = "" if number is None else str(number)
    return f"{style.frame(f'{shown:>{margin}} |')} {text}".rstrip()


def _window(line: str, start: int, end: int) -> tuple[str, int, int]:
    """The part of the line around the finding as drawn, the width before the finding, and its width."""
    left = max(0, start - MOST_COLUMNS // 2) if len(line) > MOST_COLUMNS else 0
    part = line[left : left + MOST_COLUMNS]
    head = "…" if left else ""
    tail = "…" if left + MOST_COLUMNS < len(line) else ""
    before = _width(head + _expanded(part[: start - left]))
    marked = _width(_expanded(part[start - left : end - left]))
    return head + _expanded(part) + tail, before, max(marked, 1)


def _drawn(line: str, most: int) -> str:
    return _expanded(line[:most]) + ("…" if len(line) > most else "")


def _expanded(text: str) -> str:
    return printable(text.replace("\t", _TAB))


def _width(text: str) -> int:
    """The columns that a text takes in a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )
