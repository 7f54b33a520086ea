"""What rule tests ask: what is flagged, what a fix gives, and why there is none."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from tflint_perf.check import check_source
from tflint_perf.finding import Finding
from tflint_perf.settings import Settings
from tflint_perf.source import Source


def findings(code: str, source: str) -> list[Finding]:
    """The findings of one rule in dedented source."""
    settings = Settings(root=Path(), rules=frozenset({code}), fixable=frozenset({code}))
    return list(check_source(Source.from_bytes(dedent(source).encode(), "example.py"), settings).findings)


def flagged(code: str, source: str) -> list[int]:
    """The rows that the rule flags."""
    return [finding.start.row for finding in findings(code, source)]


def notes(code: str, source: str) -> list[str]:
    """What the findings say beyond their message: why there is no fix."""
    return [finding.note for finding in findings(code, source) if finding.note is not None]


def fixed(code: str, source: str) -> str:
    """The source after the fixes of all findings, unsafe ones too; edits that several fixes share are made once."""
    text = Source.from_bytes(dedent(source).encode(), "example.py")
    edits = [edit for finding in findings(code, source) if finding.fix for edit in finding.fix.edits]
    return text.apply(dict.fromkeys(edits)).text
