"""For every rule it is said what a run sees of it, or why it sees nothing."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from tflint_perf.catalogue.own_rules import OWN_RULES
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.measured.record import EventKind
from tflint_perf.observed.evidence import ALIKE, FOUND, SEEN, UNSEEN, Events, alike

RULES = {code for code, rule in catalogue().items() if rule.plugin is None and code not in OWN_RULES}
PAGE = Path(__file__).parents[2] / "docs" / "run.md"


def test_each_rule_stands_in_one_of_the_two_tables() -> None:
    said = SEEN.keys() | UNSEEN.keys()
    table = "tflint_perf/observed/evidence.toml: its head explains the words"
    missing = sorted(RULES - said)
    assert not missing, f'write [rules.{missing[0]}] with unseen = "…", or with says and by, in {table}'
    assert said <= RULES, f"there is no rule {min(said - RULES)}: take it out of {table}"
    assert not SEEN.keys() & UNSEEN.keys()


def test_rules_that_are_alike_are_rules() -> None:
    assert frozenset().union(*ALIKE) <= RULES
    assert alike("TFP101") >= {"TFP101", "TFP107"}
    assert alike("TFP601") == {"TFP601"}


@pytest.mark.parametrize("code", SEEN)
def test_evidence_is_of_kinds_that_are_recorded_and_said_in_a_sentence(code: str) -> None:
    seen = SEEN[code]
    if isinstance(seen.evidence, Events):
        assert set(seen.evidence.kinds) <= set(get_args(EventKind))
    assert seen.says[0].isupper() and seen.says.endswith(".")
    assert not seen.otherwise.endswith(".")


@pytest.mark.parametrize("what", FOUND)
def test_what_a_run_alone_sees_is_of_a_rule_that_it_can_see(what: str) -> None:
    found = FOUND[what]
    assert found.code in SEEN
    assert "; " in found.message and not found.message.endswith(".")


@pytest.mark.parametrize("code", UNSEEN)
def test_a_reason_is_a_clause(code: str) -> None:
    assert len(UNSEEN[code]) > 20 and not UNSEEN[code].endswith(".")


def test_the_page_shows_the_tables() -> None:
    assert "<!-- what a run sees of each rule -->" in PAGE.read_text(encoding="utf-8")


def test_every_kind_of_evidence_is_judged() -> None:
    assert {type(seen.evidence).__name__ for seen in SEEN.values()} == {
        "Events", "Traces", "Holding", "Adding", "Waiting",
    }  # fmt: skip
