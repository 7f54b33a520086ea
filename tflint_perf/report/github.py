"""Commands to a workflow of GitHub Actions, which shows them as annotations.

The form and its escapes are those of GitHub's documentation, *Workflow commands for GitHub Actions*.
"""

from __future__ import annotations

from collections.abc import Iterator

from tflint_perf.report import Entry, Outcome, costs
from tflint_perf.report.style import Style

_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def render(outcome: Outcome, style: Style) -> Iterator[str]:
    for entry in outcome.findings:
        properties = ",".join(f"{name}={_property(value)}" for name, value in _properties(entry).items())
        # The log shows the message alone, so the place stands in it once more.
        lines = [f"{entry.place}: {entry.finding.code} {entry.finding.message}"]
        lines += [f"measured: {line}" for line in costs.in_words(entry.finding)]
        message = "\n".join(lines)
        yield f"::{_command(entry, outcome)} {properties}::{_data(message)}"


def _command(entry: Entry, outcome: Outcome) -> str:
    """The severity that was chosen; of a finding that nobody has given one, an error where it makes the step fail."""
    return _COMMANDS[entry.chosen or ("error" if outcome.fails(entry) else entry.severity)]


def _properties(entry: Entry) -> dict[str, str]:
    finding = entry.finding
    properties = {"title": f"tflint-perf ({finding.code})", "file": entry.path}
    if finding.start.cell is not None:
        # GitHub shows a notebook's JSON, in which the rows of cells mean nothing.
        return properties | {"line": "1", "col": "1", "endLine": "1", "endColumn": "1"}
    return properties | {
        "line": str(finding.start.row),
        "col": str(finding.start.column),
        "endLine": str(finding.end.row),
        "endColumn": str(finding.end.column),
    }


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
