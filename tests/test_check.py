"""One source to findings."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import libcst as cst
import pytest

from tflint_perf.analysis.model import Model
from tflint_perf.catalogue.registry import all_rules
from tflint_perf.config.settings import Settings
from tflint_perf.lint import asking, check
from tflint_perf.lint.asking import InternalError
from tflint_perf.lint.check import check_source
from tflint_perf.rule import Report
from tflint_perf.text.source import Source

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
    check_source(source, settings())  # libcst keeps a few nodes of its own as the defaults of fields
    gc.disable()
    gc.freeze()  # what there is by now, which need not be looked through
    try:
        check_source(source, settings())
        assert [thing for thing in gc.get_objects() if isinstance(thing, cst.CSTNode)] == []
    finally:
        gc.unfreeze()
        gc.enable()


def test_a_rule_that_fails_is_named_with_what_went_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(rule: object, model: object) -> None:
        raise ValueError("no such thing")

    monkeypatch.setattr(asking, "_ask", broken)
    source = Source.from_bytes((FIXTURES / "TFP406" / "slow.py").read_bytes(), "slow.py")
    with pytest.raises(InternalError, match=r"TFP406: ValueError: no such thing \(test_check.py:\d+\)"):
        check_source(source, settings("TFP406"))


def test_a_rule_is_not_asked_about_a_file_without_its_triggers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(asking, "_ask", lambda rule, model: asked.append(rule.code) or [])
    check_source(
        Source.from_bytes(b"import tensorflow\ngc.collect()\n", "a.py"), settings("TFP101", "TFP406")
    )
    assert asked == ["TFP406"]


CLEAN = (
    b"import tensorflow as tf\n\n\ndef f(x):\n    for i in range(3):\n        x = tf.abs(x)\n    return x\n"
)


def test_a_clean_file_is_not_parsed_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "whole_module", whole := Counted(check.whole_module))
    assert check_source(Source.from_bytes(CLEAN, "a.py"), settings()).findings == ()
    assert whole.times == 0
    found = check_source(
        Source.from_bytes((FIXTURES / "TFP406" / "slow.py").read_bytes(), "a.py"), settings()
    )
    assert found.findings
    assert whole.times == 1


@pytest.mark.parametrize(
    "odd",
    [b"match x:\n    case 1:\n        pass\n", b"# tflint-perf: disable=TFP406\n"],
    ids=["match", "comment"],
)
def test_what_takes_the_whole_tree_gets_it(monkeypatch: pytest.MonkeyPatch, odd: bytes) -> None:
    monkeypatch.setattr(check, "whole_module", whole := Counted(check.whole_module))
    check_source(Source.from_bytes(CLEAN + odd, "a.py"), settings())
    assert whole.times == 1


def test_a_rule_that_asks_for_white_space_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = all_rules()["TFP406"]

    def check_rule(self: object, model: Model) -> Iterator[Report]:
        if model.module.header is not None:
            yield Report(model.calls_named("collect")[0], "found with its white space")

    monkeypatch.setattr(rule, "check", check_rule)
    source = Source.from_bytes((FIXTURES / "TFP406" / "slow.py").read_bytes(), "slow.py")
    (finding,) = check_source(source, settings("TFP406")).findings
    assert finding.message.startswith("found with its white space")


class Counted:
    """A function that counts how often it is called."""

    def __init__(self, function: Callable[[str], cst.Module]) -> None:
        self._function = function
        self.times = 0

    def __call__(self, text: str) -> cst.Module:
        self.times += 1
        return self._function(text)


def test_findings_come_in_the_order_of_the_text() -> None:
    # Defined anew, the first `train` would never run.
    first = (FIXTURES / "TFP406" / "slow.py").read_text().replace("def train(", "def train_and_collect(")
    text = first + "\n\n" + (FIXTURES / "TFP101" / "slow.py").read_text()
    findings = check_source(
        Source.from_bytes(text.encode(), "both.py"), settings("TFP101", "TFP406")
    ).findings
    assert [finding.code for finding in findings] == ["TFP406", "TFP101"]


CHAIN = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
dataset = (
    tf.data.Dataset.from_tensor_slices(load())
    .batch(32)
    .shuffle(1000)
)
model.fit(dataset)
model.fit(tf.data.Dataset.from_tensor_slices(load()).batch(32).shuffle(1000))
"""


def test_a_finding_in_a_chain_begins_at_the_method_that_stands_on_a_line_of_its_own() -> None:
    checked = check_source(Source.from_bytes(CHAIN.encode(), "chain.py"), settings("TFP509"))
    assert [(finding.start.row, finding.start.column) for finding in checked.findings] == [(7, 6), (10, 11)]
    assert checked.findings[0].lines == ("    .shuffle(1000)",)


@pytest.mark.parametrize("row", [7, 8])
def test_it_is_suppressed_there_and_at_the_end_of_the_statement(row: int) -> None:
    lines = CHAIN.splitlines()
    lines[row - 1] += "  # noqa: TFP509"
    checked = check_source(Source.from_bytes("\n".join(lines).encode(), "chain.py"), settings("TFP509"))
    assert [finding.start.row for finding in checked.findings] == [10]
