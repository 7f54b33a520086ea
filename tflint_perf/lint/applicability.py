"""Which fixes may be applied under the present settings: one answer for fixing, `[*]` and every report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tflint_perf.config.settings import Settings
    from tflint_perf.finding import Finding

Applicability = Literal["safe", "unsafe", "bold"]


def applicability(finding: Finding, settings: Settings) -> Applicability | None:
    """How far the finding's fix is to be trusted, or None if it has none or its rule is not fixable.

    `extend-safe-fixes` and `extend-unsafe-fixes` overrule the rule; where both name it, unsafe wins.
    A bold fix is bold whatever they name.
    """
    if finding.fix is None or finding.code not in settings.fixable:
        return None
    if finding.fix.bold:
        return "bold"
    if finding.code in settings.unsafe_by_request:
        return "unsafe"
    if finding.fix.safe or finding.code in settings.safe_by_request:
        return "safe"
    return "unsafe"


def is_applicable(finding: Finding, settings: Settings) -> bool:
    """Whether the finding's fix is made under these settings: by `--fix`, shown by `--diff`, or tried by `prove`.

    A bold one is shown, and never written unless it was proved.
    """
    match applicability(finding, settings):
        case "safe":
            return True
        case "unsafe":
            return settings.unsafe_fixes
        case "bold":
            return settings.bold_fixes and settings.fix == "diff"
    return False
