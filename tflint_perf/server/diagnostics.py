"""Findings as an editor shows them."""

from __future__ import annotations

from pathlib import Path

from lsprotocol import types
from pygls.uris import from_fs_path

from tflint_perf.catalogue.own_rules import OWN_RULES
from tflint_perf.config.settings import Settings
from tflint_perf.finding import Finding, Via
from tflint_perf.report import Entry
from tflint_perf.report.step_loop_paths import part_said, path_of
from tflint_perf.server.documents import Snapshot
from tflint_perf.server.linting import Linted
from tflint_perf.server.staying import Staying
from tflint_perf.text.syntax import CODE as INVALID_SYNTAX

SOURCE = "tflint-perf"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}


def diagnostic(snapshot: Snapshot, finding: Finding, settings: Settings) -> types.Diagnostic:
    """One finding; what the engine itself reports, suppressions without effect, is shown as superfluous code."""
    entry = Entry.of(str(snapshot.path), finding, settings)
    unneeded = finding.code in OWN_RULES and finding.fix is not None
    return types.Diagnostic(
        snapshot.range_of(finding.start, finding.end),
        finding.message,
        severity=_SEVERITIES[entry.severity],
        code=finding.code,
        code_description=types.CodeDescription(entry.url) if entry.url else None,
        source=SOURCE,
        tags=[types.DiagnosticTag.Unnecessary] if unneeded else None,
        related_information=[_related(snapshot, via) for via in finding.each_step] or None,
    )


def _related(snapshot: Snapshot, via: Via) -> types.DiagnosticRelatedInformation:
    """A part of the way that makes a finding run on each step: its line, which an editor leads to."""
    uri, row = snapshot.uri, via.row
    if via.file:
        path = path_of(snapshot.name, via)
        uri = from_fs_path(path) or Path(path).as_uri()
        # Of a notebook that may not be open, the whole file is shown.
        row = via.row if via.cell is None else 1
    elif snapshot.parts:
        uri = snapshot.parts[via.cell - 1 if via.cell is not None else 0].uri
    line = types.Range(types.Position(row - 1, 0), types.Position(row, 0))
    return types.DiagnosticRelatedInformation(types.Location(uri, line), part_said(via))


def diagnostics(
    linted: Linted, staying: Staying, syntax_errors: bool
) -> dict[str, tuple[types.Diagnostic, ...]]:
    """What to show by the URI of each part of the document, also for those without a finding.

    A part that does not parse shows what was last found in it, and what is wrong with its syntax unless `syntax_errors`
    is off.
    """
    found: dict[str, list[types.Diagnostic]] = {part.uri: [] for part in linted.snapshot.parts}
    if linted.settings is not None:
        for finding in linted.findings:
            uri = linted.snapshot.part_of(finding.start).uri
            found[uri].append(diagnostic(linted.snapshot, finding, linted.settings))
    shown = {}
    for part in linted.snapshot.parts:
        faults = [each for each in found[part.uri] if each.code == INVALID_SYNTAX]
        if not faults:
            staying.keep(part.uri, part.text, found[part.uri])
            shown[part.uri] = tuple(found[part.uri])
        else:
            shown[part.uri] = (
                *staying.shown(part.uri, part.text),
                *(faults if syntax_errors else ()),
            )
    return shown
