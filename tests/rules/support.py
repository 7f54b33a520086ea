"""What rule tests ask: what is flagged, what a fix gives, and why there is none.

Each code whose fix is tried is fixed by all rules besides: what is left then must not be more than there was.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from textwrap import dedent

from tflint_perf import testing
from tflint_perf.catalogue.registry import all_rules
from tflint_perf.config.settings import Settings
from tflint_perf.lint.check import check_source
from tflint_perf.lint.fix import fix_source
from tflint_perf.testing import findings
from tflint_perf.text.source import Source

__all__ = ["brought_forth", "costs_told", "findings", "fixed", "flagged", "notes"]

# A model that is called in eager mode is passed over where something worse stands beside it: a layer that is made anew, or
# the graphs of TensorFlow 1.
_HIDDEN_BY = {"TFP107": frozenset({"TFP204", "TFP408"})}


def fixed(
    code: str, source: str, filename: str = "example.py", *, unsafe: bool = True, bold: bool = False
) -> str:
    """What `tflint_perf.testing.fixed` gives; no fix of any rule may bring forth a finding."""
    new = brought_forth(dedent(source))
    assert not new, f"the fixes of all rules bring forth {', '.join(sorted(new))}"
    return testing.fixed(code, source, filename, unsafe=unsafe, bold=bold)


@cache
def brought_forth(text: str) -> frozenset[str]:
    """The rules that find something in a source once `--select ALL --fix --unsafe-fixes` has run, and found nothing before."""
    rules = frozenset(all_rules())
    settings = Settings(root=Path(), rules=rules, fixable=rules)
    source = Source.from_bytes(text.encode(), "train.py")
    all_fixes = Settings(root=Path(), rules=rules, fixable=rules, fix="apply", unsafe_fixes=True)
    after = {finding.code for finding in fix_source(source, all_fixes).remaining}
    if not after:
        return frozenset()
    before = {finding.code for finding in check_source(source, settings).findings}
    return frozenset(code for code in after - before if not before & _HIDDEN_BY.get(code, frozenset()))


def costs_told(code: str, source: str) -> list[bool]:
    """Of each finding, whether what the rule's experiment measured is of such code."""
    return [finding.as_measured for finding in findings(code, source)]


def flagged(code: str, source: str) -> list[int]:
    """The rows that the rule flags."""
    return [finding.start.row for finding in findings(code, source)]


def notes(code: str, source: str) -> list[str]:
    """What the findings say beyond their message: why there is no fix."""
    return [finding.note for finding in findings(code, source) if finding.note is not None]
