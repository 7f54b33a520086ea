"""The Reviewdog Diagnostic Format: one object with all findings (reviewdog's `DiagnosticResult`).

Its reader refuses members that it does not know, so costs stand in the messages, below the finding. Its columns count bytes of UTF-8, so they are worked out from the source lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tflint_perf.finding import Edit, Finding, Place, Via
from tflint_perf.report import Entry, Outcome, costs, in_cell
from tflint_perf.report.step_loop_paths import part_said, path_of
from tflint_perf.report.style import Style


def render(outcome: Outcome, style: Style) -> Iterator[str]:
    result = {
        "source": {"name": "tflint-perf"},
        "severity": "WARNING",
        "diagnostics": [_diagnostic(entry) for entry in outcome.findings],
    }
    yield json.dumps(result, indent=2)


def _diagnostic(entry: Entry) -> dict[str, Any]:
    finding = entry.finding
    message = finding.message
    location: dict[str, Any] = {"path": entry.path}
    suggestions: list[dict[str, Any]] | None = None
    if finding.start.cell is not None:
        # Reviewdog sees a notebook's JSON, in which the rows of cells mean nothing.
        message = f"{in_cell(finding.start)}{finding.start.row}:{finding.start.column}: {message}"
    else:
        start, end = _position(finding.start, finding), _position(finding.end, finding)
        location["range"] = {"start": start, "end": end}
        if entry.fix is not None and finding.fix is not None:
            suggestions = _suggestions(finding.fix.edits, finding)
    cost = "".join(f"\n- {line}" for line in costs.in_words(finding))
    diagnostic = {
        "message": f"{message}\n\nMeasured:\n{cost}" if cost else message,
        "location": location,
        "severity": entry.severity.upper(),
        "code": {"value": finding.code} | ({"url": entry.url} if entry.url else {}),
    }
    related = [_related(entry.path, via) for via in finding.each_step]
    return (
        diagnostic
        | ({"suggestions": suggestions} if suggestions else {})
        | ({"relatedLocations": related} if related else {})
    )


def _related(path: str, via: Via) -> dict[str, Any]:
    """A part of the way that makes a finding run on each step."""
    location: dict[str, Any] = {"path": path_of(path, via)}
    if via.cell is not None:
        return {"message": f"cell {via.cell}:{via.row}: {part_said(via)}", "location": location}
    return {"message": part_said(via), "location": location | {"range": {"start": {"line": via.row}}}}


def _suggestions(edits: tuple[Edit, ...], finding: Finding) -> list[dict[str, Any]] | None:
    """All edits, or None: half a fix is none, and of some the columns cannot be known here."""
    suggestions = []
    for edit in edits:
        start, end = _position(edit.start, finding), _position(edit.end, finding)
        if not ("column" in start and "column" in end):
            return None
        suggestions.append({"range": {"start": start, "end": end}, "text": edit.content})
    return suggestions


def _position(place: Place, finding: Finding) -> dict[str, int]:
    """A place with its column in bytes; without one where its line is not among those of the finding."""
    if place.column == 1:
        return {"line": place.row, "column": 1}
    index = place.row - finding.start.row
    if not 0 <= index < len(finding.lines):
        return {"line": place.row}
    before = finding.lines[index][: place.column - 1]
    return {"line": place.row, "column": len(before.encode(errors="surrogatepass")) + 1}
