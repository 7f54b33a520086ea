"""One line a finding: `path:row:col: CODE [*] message`."""

from __future__ import annotations

from collections.abc import Iterator

from tflint_perf.report import Entry, Outcome
from tflint_perf.report.style import Style


def render(outcome: Outcome, style: Style) -> Iterator[str]:
    for entry in outcome.findings:
        yield f"{style.strong(entry.place)}: {headline(entry, style)}"


def headline(entry: Entry, style: Style) -> str:
    """`CODE [*] message`; a syntax error has a colon after its name instead of a code."""
    code = entry.finding.code + (":" if entry.severity == "error" else "")
    mark = f"{style.fixable('[*]')} " if entry.marked else ""
    return f"{style.code(code)} {mark}{entry.finding.message}"
