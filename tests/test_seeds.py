"""The code of five articles about slow training, and what must be said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.support import brought_forth
from tflint_perf.catalogue.registry import all_rules
from tflint_perf.config.settings import Settings
from tflint_perf.lint.check import check_source
from tflint_perf.text.source import Source

pytestmark = pytest.mark.slow

SEEDS = Path(__file__).parent.parent.parent / "shared" / "seeds"
RULES = frozenset(all_rules())

# Script, codes that it must get (as often as they stand here), and codes that it must not get.
TABLE = [
    ("000_1", "TFP404 TFP502", "TFP101"),
    ("000_2", "TFP502", "TFP404"),
    ("000_3", "TFP406 TFP502", "TFP404"),
    ("001_1", "TFP301 TFP301 TFP303", ""),
    ("001_2", "TFP601", "TFP101"),
    ("001_3", "", "TFP5 TFP501 TFP502"),
    ("002_1", "TFP101 TFP503", "TFP502 TFP501"),
    ("002_2", "TFP101 TFP409", ""),
    ("002_3", "", "TFP"),
    ("003_1", "TFP102 TFP302", ""),
    ("003_2", "TFP401 TFP102 TFP302", ""),
    ("003_3", "TFP103 TFP205", "TFP102"),
    ("004_1", "TFP101", ""),
    ("004_2", "TFP101 TFP506", "TFP501 TFP502"),
    ("004_3", "TFP602", ""),
]


there_are_seeds = pytest.mark.skipif(
    not SEEDS.is_dir(),
    reason="the articles' code is not part of the project: no folder shared/seeds beside it",
)


@there_are_seeds
@pytest.mark.parametrize("script", [script for script, _, _ in TABLE])
def test_no_fix_of_an_article_s_code_brings_forth_a_finding(script: str) -> None:
    assert brought_forth((SEEDS / f"{script}.py").read_text(encoding="utf-8")) == frozenset()


@there_are_seeds
@pytest.mark.parametrize(("script", "wanted", "unwanted"), TABLE)
def test_an_article_gets_what_its_code_deserves(script: str, wanted: str, unwanted: str) -> None:
    path = SEEDS / f"{script}.py"
    source = Source.from_bytes(path.read_bytes(), str(path))
    found = [finding.code for finding in check_source(source, Settings(root=SEEDS, rules=RULES)).findings]
    for code in {code for code in wanted.split() if code in RULES}:
        assert found.count(code) == wanted.split().count(code), code
    assert [code for code in found if code.startswith(tuple(unwanted.split()))] == []
