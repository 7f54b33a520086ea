"""Which fixes may be applied under the present settings: one answer for fixing, `[*]` and every report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tflint_perf.config.settings import Settings
    from tflint_perf.finding import Finding

Applicability = Literal["safe", "unsafe"]


def applicability(finding: Finding, settings: Settings) -> Applicability | None:
    """How far the finding's fix is to be trusted, or None if it has none or its rule is not fixable.

    `extend-safe-fixes` and `extend-unsafe-fixes` overrule the rule; where both name it, unsafe wins.
    """
    if finding.fix is None or finding.code not in settings.fixable:
        return None
    if finding.code in settings.unsafe_by_request:
        return "unsafe"
    if finding.fix.safe or finding.code in settings.safe_by_request:
        return "safe"
    return "unsafe"


def is_applicable(finding: Finding, settings: Settings) -> bool:
    """Whether `--fix` would apply the finding's fix under these settings."""
    known = applicability(finding, settings)
    return known == "safe" or (known == "unsafe" and settings.unsafe_fixes)
