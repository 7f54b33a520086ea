"""For tests of rules: what a rule flags, and what its fix gives."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from tflint_perf.config.settings import Settings
from tflint_perf.finding import Finding
from tflint_perf.lint.check import check_source
from tflint_perf.lint.fix import fix_source
from tflint_perf.text.source import Source

__all__ = ["findings", "fixed"]


def findings(code: str, source: str, filename: str = "example.py") -> list[Finding]:
    """The findings of one rule in a dedented source, in the order of the text.

    `finding.start.row` is where, `finding.message` what, `finding.fix` how to mend it, and `finding.note` why
    there is no fix. The rule is known by its code, also where it comes from another package.

    Raises:
        KeyError: there is no such rule.
        AssertionError: the source does not parse.
    """
    return _checked(_source(source, filename), _settings(code))


def fixed(
    code: str, source: str, filename: str = "example.py", *, unsafe: bool = True, bold: bool = False
) -> str:
    """The dedented source after all fixes of one rule, as `--fix --unsafe-fixes` makes them, without `unsafe` `--fix`.

    With `bold`, as `prove --bold-fixes` tries them.

    Raises:
        KeyError: there is no such rule.
        AssertionError: the source does not parse, a fix would do damage, or a second run would change more.
    """
    from dataclasses import replace

    settings = replace(_settings(code), fix="diff" if bold else "apply", unsafe_fixes=unsafe, bold_fixes=bold)
    result = fix_source(_source(source, filename), settings)
    _checked(result.source, settings)
    assert not result.problems, "\n".join(result.problems)
    return result.source.text


def _source(text: str, filename: str) -> Source:
    return Source.from_bytes(dedent(text).encode(), filename)


def _settings(code: str) -> Settings:
    from tflint_perf.catalogue.registry import all_rules

    if code not in all_rules():
        raise KeyError(f"no rule has the code {code}")
    return Settings(root=Path(), rules=frozenset({code}), fixable=frozenset({code}))


def _checked(source: Source, settings: Settings) -> list[Finding]:
    found = list(check_source(source, settings).findings)
    broken = [finding for finding in found if finding.code == "invalid-syntax"]
    assert not broken, f"{broken[0].start.row}: {broken[0].message}"
    return found
