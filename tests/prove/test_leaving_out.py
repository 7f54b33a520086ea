"""Where all fixes together do not do because of a few, these are found in few runs, and the others are proved."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import pytest

from tests.prove.support import OTHER, SAME, trial
from tests.prove.test_groups import BROKEN, DRAWS, Made, of_each, shown
from tests.prove.test_groups import fix as placed
from tflint_perf.edit.judged import TRACED
from tflint_perf.prove.fixes import PlacedFix, Version
from tflint_perf.prove.proving import ORIGINAL, Options, Proof, Stopped, prove
from tflint_perf.prove.telling import text
from tflint_perf.prove.trial import Trial
from tflint_perf.report.style import Style
from tflint_perf.verify.learning import Apart

pytest.importorskip("scipy")  # the statistics, which `make quick` does not install

EIGHT = [placed(row, f"Compile `step_{row}`; may change {TRACED}", code="TFP101") for row in range(1, 9)]
ORDER = placed(20, "Move the `shuffle`; may change the order of the elements", code="TFP509")
ALL_AT_ONCE = Options(5, one_by_one=False)


def at_fault(faults: Collection[PlacedFix], **what: Any) -> Made:
    """Steps take half as long with any fix, but for what each of these does."""
    slows = what.pop("step", 0.005)

    def run(fixes: Version, seed: int) -> Trial:
        guilty = bool(fixes & set(faults))
        return trial(slows if guilty else 0.005, seed=seed, **{"apart": SAME, **(what if guilty else {})})

    return Made(run)


def runs(made: Made) -> int:
    """How often a version with fixes was run."""
    return sum(version != ORIGINAL for version in made.ran)


def rows_left_out(proof: Proof) -> dict[int, str]:
    return {fix.row: status for fix, status in of_each(proof).items()}


@pytest.mark.parametrize(
    ("what", "status"),
    [
        ({"failure": BROKEN}, "breaks"),
        ({"apart": OTHER}, "different"),
        ({"apart": DRAWS}, "unknown"),
        ({"step": 0.05}, "slower"),
    ],
)
@pytest.mark.parametrize("fault", [EIGHT[0], EIGHT[4], EIGHT[7]], ids=["first", "inside", "last"])
def test_the_one_at_fault_is_left_out_and_the_others_are_proved(
    fault: PlacedFix, what: dict[str, Any], status: str
) -> None:
    proof = prove(EIGHT, at_fault([fault], **what), ALL_AT_ONCE)
    assert rows_left_out(proof) == {fault.row: status}
    assert set(proof.proved) == set(EIGHT) - {fault}


@pytest.mark.parametrize("fault", EIGHT, ids=lambda fix: str(fix.row))
def test_of_eight_fixes_the_one_that_breaks_is_found_in_few_runs(fault: PlacedFix) -> None:
    made = at_fault([fault], failure=BROKEN)
    prove(EIGHT, made, ALL_AT_ONCE)
    assert runs(made) <= 1 + 6 + 5  # all of them, the search, the proof of the others


def test_two_at_fault_are_both_left_out() -> None:
    proof = prove(EIGHT, at_fault([EIGHT[1], EIGHT[6]], failure=BROKEN), ALL_AT_ONCE)
    assert rows_left_out(proof) == {2: "breaks", 7: "breaks"}
    assert len(proof.proved) == 6


def test_a_fix_that_says_that_it_changes_the_order_is_left_out_first() -> None:
    made = at_fault([ORDER], apart=OTHER)
    proof = prove([*EIGHT, ORDER], made, ALL_AT_ONCE)
    assert made.versions == [frozenset([*EIGHT, ORDER]), frozenset(EIGHT)]
    assert rows_left_out(proof) == {20: "different"}
    assert runs(made) == 2 + 1 + 5


def test_a_fix_that_says_so_and_is_not_at_fault_is_kept() -> None:
    proof = prove([*EIGHT, ORDER], at_fault([EIGHT[2]], apart=OTHER), ALL_AT_ONCE)
    assert rows_left_out(proof) == {3: "different"}
    assert ORDER in proof.proved


def test_of_what_breaks_the_program_bold_fixes_are_left_out_first() -> None:
    bold = placed(30, bold=True, safe=False)
    made = at_fault([bold], failure=BROKEN)
    proof = prove([*EIGHT, bold], made, ALL_AT_ONCE)
    assert made.versions == [frozenset([*EIGHT, bold]), frozenset(EIGHT)]
    assert rows_left_out(proof) == {30: "breaks"}


@pytest.mark.parametrize("more", [[], EIGHT], ids=["alone", "beside others"])
def test_what_else_there_is_for_what_was_left_out_is_tried(more: list[PlacedFix]) -> None:
    bold, less = placed(30, bold=True, safe=False), placed(30, "Do less", safe=False)
    proof = prove([*more, bold], at_fault([bold], failure=BROKEN), ALL_AT_ONCE, {bold: less})
    assert set(proof.proved) == {*more, less}


def test_nothing_is_left_out_of_what_only_makes_no_difference() -> None:
    made = Made(lambda fixes, seed: trial(0.01, seed=seed, apart=SAME))
    proof = prove(EIGHT, made, ALL_AT_ONCE)
    assert made.versions == [frozenset(EIGHT)]
    assert (proof.outcomes, proof.proved) == ((), ())


def test_where_each_is_at_fault_nothing_is_left_to_prove() -> None:
    proof = prove(EIGHT[:3], at_fault(EIGHT, failure=BROKEN), ALL_AT_ONCE)
    assert (proof.kept, proof.whole) == ((), None)
    found = shown(proof)
    assert found["result"] == "nothing pays"
    assert next(text(found, Style())) == "train.py: none of 3 fixes is shown to pay"


def test_what_was_left_out_and_why_is_told() -> None:
    lines = list(text(shown(prove([*EIGHT, ORDER], at_fault([ORDER], apart=OTHER), ALL_AT_ONCE)), Style()))
    assert lines[0].startswith("train.py: 8 of 9 fixes pay: 2.")
    (row,) = [line for line in lines if "TFP509" in line]
    assert row.startswith("  TFP509 call  train.py:20 ")
    assert row.endswith("  it learns something else: the losses part at step 2")
    assert "×" not in row  # the figures of several are not those of one
    assert any("steps, 5 runs of each version in turn with the original. " in line for line in lines)


def test_what_is_known_when_it_is_stopped_in_the_search_is_told() -> None:
    made = at_fault([EIGHT[0], EIGHT[7]], failure=BROKEN)
    run: Callable[[Version, int], Trial] = made.run

    def stopped(fixes: Version, seed: int) -> Trial:
        if fixes and len(fixes) > 1 and EIGHT[7] in fixes and EIGHT[0] not in fixes:
            raise Stopped(2)
        return run(fixes, seed)

    proof = prove(EIGHT, replace(made, run=stopped, ran=[]), ALL_AT_ONCE)
    assert proof.stopped == 2
    assert rows_left_out(proof) == {1: "breaks"}
    assert proof.proved == ()


def test_what_rounding_hides_is_no_fault_of_a_fix_that_learns_the_same_eagerly() -> None:
    # Further than ten times what rounding does, and not than a hundred times.
    nudged, compiled = Apart((1e-4,), (1e-5,)), Apart((5e-3,), (1e-5,))

    def run(fixes: Version, seed: int) -> Trial:
        broken = BROKEN if EIGHT[3] in fixes else ""
        return trial(0.005, seed=seed, traces=0, apart=compiled, failure=broken)

    proof = prove(EIGHT, Made(run, rounding=nudged), ALL_AT_ONCE)
    assert rows_left_out(proof) == {4: "breaks"}
    assert len(proof.proved) == 7


@pytest.mark.parametrize("faults", [EIGHT, EIGHT[::2], EIGHT[3:4]], ids=["all", "every other", "one"])
def test_no_more_is_run_than_was_said_when_the_search_began(faults: list[PlacedFix]) -> None:
    made, said = at_fault(faults, failure=BROKEN), list[int]()
    prove(EIGHT, made, ALL_AT_ONCE, expect=lambda left: said.append(len(made.ran) + left))
    assert len(made.ran) <= said[0]
