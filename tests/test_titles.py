"""What an unsafe fix may change stands in its title."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tflint_perf.catalogue.registry import all_rules
from tflint_perf.testing import findings

ROOT = Path(__file__).parent.parent
FIXTURES = sorted(path.parent.name for path in (ROOT / "fixtures").glob("TFP*/slow.py"))
SOURCES = [*(ROOT / "rules").rglob("*.py"), *(ROOT / "tflint_perf" / "edit").glob("*.py")]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_who_makes_an_unsafe_fix_says_what_it_may_change(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Repair":
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            always_safe = isinstance(safe := given.get("safe"), ast.Constant) and safe.value is True
            assert always_safe or "may_change" in given, f"{path.name}:{node.lineno}"


@pytest.mark.parametrize("code", FIXTURES)
def test_the_title_of_an_unsafe_fix_says_what_it_may_change(code: str) -> None:
    source = (ROOT / "fixtures" / code / "slow.py").read_text(encoding="utf-8")
    fixes = [finding.fix for finding in findings(code, source) if finding.fix is not None]
    assert fixes or all_rules()[code].fixes == "none" or findings(code, source)
    for fix in fixes:
        assert ("; may change " in fix.message) is not fix.safe
