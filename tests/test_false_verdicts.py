"""How often noise decides a verdict, in few draws of `benchmarks/false_verdicts.py`."""

from __future__ import annotations

import pytest

pytest.importorskip("scipy")

from benchmarks.false_verdicts import KINDS, PROMISED, Kind, lines, shares

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


def test_the_table_has_a_row_for_each_kind() -> None:
    assert len(list(lines(0 + 1))) == len(KINDS) + 2
