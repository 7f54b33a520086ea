"""SARIF 2.1.0 (OASIS, *Static Analysis Results Interchange Format*)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from tflint_perf.catalogue.rules import catalogue
from tflint_perf.finding import Fix, Place, Via
from tflint_perf.report import Entry, Outcome, costs
from tflint_perf.report.step_loop_paths import part_said, path_of
from tflint_perf.report.style import Style
from tflint_perf.version import __version__

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_BASE = "%SRCROOT%"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


def render(outcome: Outcome, style: Style) -> Iterator[str]:
    addresses = {entry.finding.code: entry.url for entry in outcome.findings}
    codes = sorted(addresses)
    run = {
        "tool": {
            "driver": {
                "name": "tflint-perf",
                "semanticVersion" if __version__.count(".") == 2 else "version": __version__,
                "rules": [_rule(code) | _page(addresses[code]) for code in codes],
            }
        },
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_BASE: {"uri": Path.cwd().as_uri() + "/"}},
        "invocations": [
            {
                "executionSuccessful": not outcome.failures,
                "toolExecutionNotifications": [
                    {"level": "error", "message": {"text": failure}} for failure in outcome.failures
                ],
            }
        ],
        "results": [_result(entry, codes.index(entry.finding.code)) for entry in outcome.findings],
    }
    yield json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(code: str) -> dict[str, Any]:
    rule = catalogue().get(code)
    if rule is None:
        text = "The file does not parse."
        return {"id": code, "name": code, "shortDescription": {"text": text}, "help": {"text": text}}
    return {
        "id": code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.summary},
        "help": {"text": rule.explanation, "markdown": rule.explanation},
        "defaultConfiguration": {"level": "warning"},
    }


def _page(address: str | None) -> dict[str, Any]:
    return {"helpUri": address} if address else {}


def _result(entry: Entry, rule_index: int) -> dict[str, Any]:
    finding = entry.finding
    artifact = _artifact(entry.path)
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": artifact, "region": _region(finding.start, finding.end)}
    }
    message = finding.message
    if finding.start.cell is not None:
        location["logicalLocations"] = [_cell(finding.start.cell)]
        message = f"cell {finding.start.cell}: {message}"
    result = {
        "ruleId": finding.code,
        "ruleIndex": rule_index,
        "level": _LEVELS[entry.severity],
        "message": {"text": message},
        "locations": [location],
    }
    if finding.each_step:
        result["relatedLocations"] = [
            _related(number, entry.path, via) for number, via in enumerate(finding.each_step)
        ]
    properties: dict[str, Any] = {"cost": cost} if (cost := costs.as_objects(finding)) else {}
    # In a notebook the places of edits are those of cells, which SARIF cannot say of a replacement.
    if finding.fix is not None and entry.fix is not None and finding.start.cell is None:
        result["fixes"] = [_fix(finding.fix, artifact)]
        properties["applicability"] = entry.fix
    if properties:
        result["properties"] = properties
    return result


def _related(number: int, path: str, via: Via) -> dict[str, Any]:
    """A part of the way that makes a finding run on each step."""
    location: dict[str, Any] = {
        "id": number,
        "physicalLocation": {
            "artifactLocation": _artifact(path_of(path, via)),
            "region": {"startLine": via.row},
        },
        "message": {"text": part_said(via)},
    }
    if via.cell is not None:
        location["logicalLocations"] = [_cell(via.cell)]
    return location


def _cell(number: int) -> dict[str, str]:
    return {"name": f"cell {number}", "fullyQualifiedName": f"cell {number}"}


def _fix(fix: Fix, artifact: dict[str, str]) -> dict[str, Any]:
    replacements = [
        {"deletedRegion": _region(edit.start, edit.end), "insertedContent": {"text": edit.content}}
        for edit in fix.edits
    ]
    return {
        "description": {"text": fix.message},
        "artifactChanges": [{"artifactLocation": artifact, "replacements": replacements}],
    }


def _region(start: Place, end: Place) -> dict[str, int]:
    return {
        "startLine": start.row,
        "startColumn": start.column,
        "endLine": end.row,
        "endColumn": end.column,
    }


def _artifact(path: str) -> dict[str, str]:
    """The file relative to the folder of the run, or by its whole URI if it lies elsewhere."""
    pure, here = PurePath(path), Path.cwd()
    if pure.is_absolute():
        if not pure.is_relative_to(here):
            return {"uri": pure.as_uri()}
        pure = pure.relative_to(here)
    elif ".." in pure.parts:
        return {"uri": (here / path).resolve().as_uri()}
    return {"uri": quote(pure.as_posix(), errors="surrogateescape"), "uriBaseId": _BASE}
