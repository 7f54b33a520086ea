"""What rule tests ask: what is flagged, what a fix gives, and why there is none."""

from __future__ import annotations

from tflint_perf.testing import findings, fixed

__all__ = ["findings", "fixed", "flagged", "notes"]


def flagged(code: str, source: str) -> list[int]:
    """The rows that the rule flags."""
    return [finding.start.row for finding in findings(code, source)]


def notes(code: str, source: str) -> list[str]:
    """What the findings say beyond their message: why there is no fix."""
    return [finding.note for finding in findings(code, source) if finding.note is not None]
