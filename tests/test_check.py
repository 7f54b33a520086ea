"""One source to findings."""

from __future__ import annotations

import gc
from pathlib import Path

import libcst as cst
import pytest

from tflint_perf import check
from tflint_perf.check import InternalError, check_source
from tflint_perf.registry import all_rules
from tflint_perf.settings import Settings
from tflint_perf.source import Source

FIXTURES = Path(__file__).parent.parent / "fixtures"
ALL = frozenset(all_rules())


def settings(*codes: str) -> Settings:
    """Settings with these rules on, or all of them."""
    return Settings(root=Path(), rules=frozenset(codes) or ALL, fixable=ALL)


@pytest.mark.parametrize(
    "script", sorted(FIXTURES.glob("*/*.py")), ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_nothing_keeps_a_tree_once_its_file_is_checked(script: Path) -> None:
    source = Source.from_bytes(script.read_bytes(), str(script))
    check_source(source, settings())
    gc.collect()
    gc.disable()
    try:
        check_source(source, settings())
        kept = [thing for thing in gc.get_objects() if isinstance(thing, cst.CSTNode)]
    finally:
        gc.enable()
    # libcst keeps a few nodes of its own as the defaults of fields.
    assert len(kept) < 20


def test_a_rule_that_fails_is_named_with_what_went_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(rule: object, model: object) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr(check, "_ask", broken)
    source = Source.from_bytes((FIXTURES / "TFP406" / "slow.py").read_bytes(), "slow.py")
    with pytest.raises(InternalError, match=r"TFP406: ValueError: no such thing \(test_check.py:\d+\)"):
        check_source(source, settings("TFP406"))


def test_a_rule_is_not_asked_about_a_file_without_its_triggers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(check, "_ask", lambda rule, model: asked.append(rule.code) or [])
    check_source(
        Source.from_bytes(b"import tensorflow\ngc.collect()\n", "a.py"), settings("TFP101", "TFP406")
    )
    assert asked == ["TFP406"]


def test_findings_come_in_the_order_of_the_text() -> None:
    text = (
        (FIXTURES / "TFP406" / "slow.py").read_text() + "\n\n" + (FIXTURES / "TFP101" / "slow.py").read_text()
    )
    findings = check_source(
        Source.from_bytes(text.encode(), "both.py"), settings("TFP101", "TFP406")
    ).findings
    assert [finding.code for finding in findings] == ["TFP406", "TFP101"]
