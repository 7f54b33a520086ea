"""One line a finding: `path:row:col: CODE [*] message`, and its severity where that was chosen or is `info`."""

from __future__ import annotations

from collections.abc import Iterator

from tflint_perf.report import Entry, Outcome, told
from tflint_perf.report.style import Style


def render(outcome: Outcome, style: Style) -> Iterator[str]:
    entries, lines = told(outcome)
    for entry in entries:
        yield f"{style.strong(entry.place)}: {headline(entry, style)}"
    yield from lines


def headline(entry: Entry, style: Style) -> str:
    """`CODE [*] message [severity]`; a syntax error has a colon after its name instead of a code.

    The severity is there where the settings give the rule one, or where it is less than a warning by itself.
    """
    code = entry.finding.code + (":" if entry.unread else "")
    mark = f"{style.fixable('[*]')} " if entry.marked else ""
    return f"{style.code(code)} {mark}{entry.finding.message}{entry.severity_mark}"
