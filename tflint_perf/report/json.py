"""A list of objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tflint_perf.finding import Edit, Place
from tflint_perf.report import Entry, Outcome, costs, step_loop_paths
from tflint_perf.report.style import Style


def render(outcome: Outcome, style: Style) -> Iterator[str]:
    yield json.dumps([as_object(entry) for entry in outcome.findings], indent=2)


def as_object(entry: Entry) -> dict[str, Any]:
    """A finding; rows and columns count from 1, ends are exclusive."""
    finding = entry.finding
    fix = None
    if entry.fix is not None and finding.fix is not None:
        fix = {
            "applicability": entry.fix,
            "message": finding.fix.message,
            "edits": [_edit(edit) for edit in finding.fix.edits],
        }
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "filename": entry.path,
        "cell": finding.start.cell,
        "location": _location(finding.start),
        "end_location": _location(finding.end),
        "severity": entry.severity,
        "url": entry.url,
        "noqa_row": finding.noqa_row,
        "note": finding.remark,
        "each_step": step_loop_paths.as_objects(entry.path, finding),
        "cost": costs.as_objects(finding),
        "fix": fix,
    }


def _edit(edit: Edit) -> dict[str, Any]:
    return {
        "location": _location(edit.start),
        "end_location": _location(edit.end),
        "cell": edit.start.cell,
        "content": edit.content,
    }


def _location(place: Place) -> dict[str, int]:
    return {"row": place.row, "column": place.column}
