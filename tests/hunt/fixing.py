"""A program with the fixes made that the tool takes for safe."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from tflint_perf.catalogue.registry import all_rules
from tflint_perf.config.settings import Settings
from tflint_perf.lint.fix import fix_source
from tflint_perf.text.source import Source

ALL = frozenset(all_rules())
# Those of which a fix may be safe.
SAFE = frozenset(code for code, rule in all_rules().items() if rule.fixes in ("safe", "both"))


def fixed(text: str, fixable: Collection[str] = SAFE) -> tuple[str, list[str]]:
    """The program after its safe fixes, of these rules, and the codes of those that were made."""
    codes = frozenset(fixable) & SAFE
    settings = Settings(root=Path(), rules=codes, fixable=codes)
    done = fix_source(Source.from_bytes(text.encode(), "program.py"), settings)
    return done.source.text, [finding.code for finding in done.applied]
