"""How often noise decides a verdict, in few draws of `benchmarks/false_verdicts.py`."""

from __future__ import annotations

import random

import pytest

pytest.importorskip("scipy")

from benchmarks.false_verdicts import KINDS, NOISES, PROMISED, Kind, called, lines, shares
from tflint_perf.verify.statistics import PAIRS_TO_SETTLE

# Growth takes a hundred times as long to draw; `tests/verify/test_verdict.py` draws that with less.
RATIOS = [kind for kind in KINDS if not kind.growth]


@pytest.mark.parametrize("kind", RATIOS, ids=lambda kind: kind.name)
def test_a_claim_that_is_wrong_by_a_hair_is_taken_for_right_in_5_of_100_experiments_at_most(
    kind: Kind,
) -> None:
    found = shares(kind, 300)
    assert found["short"] <= PROMISED
    assert found["true"] <= PROMISED
    # A judge that decides nothing would pass that too.
    assert found["clear"] > 0.95
    assert found["nothing"] > 0.75


def test_growth_keeps_the_promise_as_well() -> None:
    lasting = next(kind for kind in KINDS if kind.growth and "last" in kind.name)
    assert shares(lasting, 30)["short"] <= PROMISED


@pytest.mark.parametrize("name", NOISES)
def test_prove_calls_a_fix_that_changes_nothing_faster_as_seldom(name: str) -> None:
    kind = Kind(name, 1.0, NOISES[name])
    rng = random.Random(1)
    assert sum(called(kind, rng, 1.0) == "up" for _ in range(300)) / 300 <= PROMISED
    assert sum(called(kind, rng, 1.5) == "up" for _ in range(300)) / 300 > 0.95


@pytest.mark.parametrize("name", NOISES)
def test_as_few_pairs_as_prove_takes_are_fooled_no_more_often_and_show_what_is_large(name: str) -> None:
    kind = Kind(name, 1.0, NOISES[name])
    rng = random.Random(1)
    assert sum(called(kind, rng, 1.0, PAIRS_TO_SETTLE) == "up" for _ in range(300)) / 300 <= PROMISED
    assert sum(called(kind, rng, 3.0, PAIRS_TO_SETTLE) == "up" for _ in range(300)) / 300 > 0.95


def test_the_table_has_a_row_for_each_kind() -> None:
    assert len(list(lines(0 + 1))) == len(KINDS) + 2
