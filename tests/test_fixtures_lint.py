"""The pairs as the linter sees them: each slow script has its own defect and no other, and its fix gives the fast one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.rules.support import brought_forth
from tflint_perf.catalogue.registry import all_rules
from tflint_perf.config.settings import Settings
from tflint_perf.lint.check import check_source
from tflint_perf.lint.fix import fix_source
from tflint_perf.text.source import Source

FIXTURES = Path(__file__).parent.parent / "fixtures"
RULES = all_rules()
ALL = frozenset(RULES)
SETTINGS = Settings(root=FIXTURES, rules=ALL, fixable=ALL)
WITH_CLAIM = [code for code, rule in RULES.items() if rule.claim is not None]


def source(code: str, name: str) -> Source:
    """One script of a pair."""
    path = FIXTURES / code / f"{name}.py"
    return Source.from_bytes(path.read_bytes(), str(path))


def test_every_rule_with_a_claim_has_a_pair_and_every_pair_a_rule() -> None:
    pairs = {path.parent.name for path in FIXTURES.glob("*/slow.py")}
    assert pairs == {path.parent.name for path in FIXTURES.glob("*/fast.py")} == set(WITH_CLAIM)


@pytest.mark.parametrize("code", WITH_CLAIM)
def test_the_slow_script_gets_its_own_code_and_no_other(code: str) -> None:
    found = check_source(source(code, "slow"), SETTINGS).findings
    assert {finding.code for finding in found} == {code}


@pytest.mark.parametrize("code", WITH_CLAIM)
def test_the_fast_script_gets_nothing(code: str) -> None:
    assert check_source(source(code, "fast"), SETTINGS).findings == ()


@pytest.mark.parametrize("code", [code for code in WITH_CLAIM if RULES[code].fixes != "none"])
def test_fixing_the_slow_script_gives_the_fast_one_to_the_letter(code: str) -> None:
    fixed = fix_source(source(code, "slow"), replace(SETTINGS, fix="apply", unsafe_fixes=True))
    assert fixed.source.text == source(code, "fast").text


OTHERS = [*FIXTURES.glob("beliefs/*/*.py"), FIXTURES.parent / "docs" / "example" / "train.py"]


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: str(path.relative_to(FIXTURES.parent)))
def test_no_fix_brings_forth_a_finding(path: Path) -> None:
    assert brought_forth(path.read_text(encoding="utf-8")) == frozenset()


@pytest.mark.parametrize("code", [code for code in WITH_CLAIM if RULES[code].fixes == "unsafe"])
def test_an_unsafe_fix_waits_until_it_is_asked_for(code: str) -> None:
    fixed = fix_source(source(code, "slow"), replace(SETTINGS, fix="apply"))
    assert fixed.source.text == source(code, "slow").text
