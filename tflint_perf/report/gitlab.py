"""A report of GitLab's Code Quality (GitLab's documentation, *Code Quality report format*).

Code Climate's specification, on which that is built, has room for `content`, in which the cost and the rule's page
stand. GitLab compares the reports of two branches by fingerprint: one stays the same when code above the finding changes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from tflint_perf.lint.identity import Identity, identities
from tflint_perf.report import Entry, Outcome, costs, in_cell
from tflint_perf.report.style import Style

_SEVERITIES = {"error": "major", "warning": "minor", "info": "info"}


def render(outcome: Outcome, style: Style) -> Iterator[str]:
    issues = []
    for path, group in groupby(outcome.findings, key=lambda entry: entry.path):
        entries = list(group)
        shown = _relative(path)
        known = identities(entry.finding for entry in entries)
        issues += [_issue(entry, shown, identity) for entry, identity in zip(entries, known, strict=True)]
    yield json.dumps(issues, indent=2)


def _issue(entry: Entry, path: str, identity: Identity) -> dict[str, Any]:
    finding = entry.finding
    place, lines = "", {"begin": finding.start.row, "end": finding.end.row}
    if finding.start.cell is not None:
        # GitLab shows a notebook's JSON, in which the rows of cells mean nothing.
        place = f"{in_cell(finding.start)}{finding.start.row}:{finding.start.column}: "
        lines = {"begin": 1, "end": 1}
    body = _body(entry)
    return {
        "description": f"{place}{finding.code} {finding.message}",
        "check_name": finding.code,
        "categories": ["Bug Risk" if entry.unread else "Performance"],
        "severity": _SEVERITIES[entry.severity],
        "fingerprint": _fingerprint(path, identity),
        "location": {"path": path, "lines": lines},
    } | ({"content": {"body": body}} if body else {})


def _body(entry: Entry) -> str:
    """What was measured, and the rule's page, as Markdown; "" where nothing is known of either."""
    cost = "".join(f"- {line}\n" for line in costs.in_words(entry.finding))
    page = f"[{entry.finding.code} {entry.finding.name}]({entry.url})\n" if entry.url else ""
    return "\n".join(filter(None, [f"Measured:\n\n{cost}" if cost else "", page]))


def _fingerprint(path: str, identity: Identity) -> str:
    known = json.dumps([path, *identity]).encode()
    return hashlib.sha256(known).hexdigest()


def _relative(path: str) -> str:
    """The path from the project's folder, which a job of GitLab names, or else from here."""
    start = os.environ.get("CI_PROJECT_DIR") or Path.cwd()
    return Path(os.path.relpath(path, start)).as_posix()
