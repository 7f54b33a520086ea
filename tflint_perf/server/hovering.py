"""What is said of the findings under the pointer: the finding, and its rule's page with what was measured."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from tflint_perf.catalogue.evidence import all_evidence
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.cli import pages
from tflint_perf.finding import Finding
from tflint_perf.lint.applicability import applicability
from tflint_perf.report.style import Style
from tflint_perf.server.linting import Linted


def hover(linted: Linted, uri: str, at: types.Position, markdown: bool) -> types.Hover | None:
    """The pages of the rules of the findings at a position; None where there is no finding."""
    snapshot = linted.snapshot
    under = [
        (finding, place)
        for finding in linted.findings
        if snapshot.part_of(finding.start).uri == uri and finding.code in catalogue()
        for place in [snapshot.range_of(finding.start, finding.end)]
        if _key(place.start) <= _key(at) <= _key(place.end)
    ]
    if not under:
        return None
    between = "\n\n---\n\n" if markdown else "\n\n"
    text = between.join("\n".join(_page(linted, finding, markdown)) for finding, _ in under)
    kind = types.MarkupKind.Markdown if markdown else types.MarkupKind.PlainText
    return types.Hover(types.MarkupContent(kind, text), under[0][1])


def _page(linted: Linted, finding: Finding, markdown: bool) -> Iterator[str]:
    yield f"**{finding.code}** {finding.message}" if markdown else f"{finding.code} {finding.message}"
    if finding.fix is not None and linted.settings is not None:
        known = applicability(finding, linted.settings)
        if known is not None:
            yield from ("", f"{finding.fix.message} ({known} fix).")
    if finding.remark is not None:
        yield from ("", f"{finding.remark[:1].upper()}{finding.remark[1:]}.")
    yield ""
    rule, evidence = catalogue()[finding.code], all_evidence()
    yield from (pages.rule_markdown(rule, evidence) if markdown else pages.rule_text(rule, evidence, Style()))


def _key(position: types.Position) -> tuple[int, int]:
    return position.line, position.character
