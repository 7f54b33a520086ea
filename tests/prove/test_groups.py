"""Fixes that do the same are tried together, and one by one only where that may find the one at fault."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from tests.prove.support import NONE, OTHER, ROUNDING, SAME, trial
from tflint_perf.measured.record import Spot
from tflint_perf.prove.document import About, document_of
from tflint_perf.prove.fixes import PlacedFix, Version, groups_of
from tflint_perf.prove.page import page_text
from tflint_perf.prove.proving import (
    ORIGINAL,
    Options,
    Outcome,
    Proof,
    Stopped,
    prove,
    runs_needed,
)
from tflint_perf.prove.telling import markdown, text, told
from tflint_perf.prove.trial import Trial
from tflint_perf.report.style import Style
from tflint_perf.verify.learning import Apart

pytest.importorskip("scipy")  # the statistics, which `make quick` does not install

BROKEN = "ValueError: no"
# What it draws is drawn in another order, so it learns other numbers.
DRAWS = replace(OTHER, draws_apart=True)


def fix(row: int, title: str = "Do it", **more: Any) -> PlacedFix:
    return PlacedFix(
        "train.py", row, **{"code": "TFP105", "name": "call", "message": "slow", "title": title, **more}
    )


ALIKE = tuple(fix(row) for row in (4, 9, 12))
FIRST, SECOND, THIRD = ALIKE
ELSE = fix(20, code="TFP406", name="gc-in-loop", message="needless", title="Remove it")


@dataclass
class Made:
    """Runs that are made up: `run` says what a version's are, from its fixes and how many runs there were."""

    run: Callable[[Version, int], Trial]
    ran: list[Version] = field(default_factory=list)
    has_gpu: bool = False
    # The files that are reached; all where it is empty.
    files: Collection[str] = ()
    # What comes of a version where nothing is compiled, and how far rounding goes.
    eager: Apart = NONE
    rounding: Apart = ROUNDING
    traces: int = 0
    ran_eagerly: list[Version] = field(default_factory=list)

    def reference(self, probes: Sequence[Spot]) -> tuple[Trial, Collection[Spot]]:
        return trial(traces=self.traces), [
            spot for spot in probes if not self.files or spot.file in self.files
        ]

    def control(self) -> Trial:
        return trial(apart=self.rounding)

    def eagerly(self, fixes: Version) -> Trial:
        self.ran_eagerly.append(fixes)
        return trial(apart=self.eager)

    def version(self, fixes: Version) -> Trial:
        self.ran.append(fixes)
        return self.run(fixes, len(self.ran)) if fixes else trial(seed=len(self.ran))

    @property
    def versions(self) -> list[Version]:
        """What was run beside the original, each once, in the order of its first run."""
        return [version for version in dict.fromkeys(self.ran) if version]


def taking(step: float, of: Collection[PlacedFix] = ALIKE, **more: Any) -> Made:
    """Steps take `step` seconds with any of these fixes."""
    return Made(
        lambda fixes, seed: trial(step if fixes & set(of) else 0.01, seed=seed, apart=SAME, **more),
    )


def at_fault(fault: PlacedFix, **what: Any) -> Made:
    """Steps take half as long with any fix, but for what this one does."""
    slows = what.pop("step", 0.005)
    return Made(
        lambda fixes, seed: trial(
            slows if fault in fixes else 0.005,
            seed=seed,
            **{"apart": SAME, **(what if fault in fixes else {})},
        )
    )


def of_each(proof: Proof) -> dict[PlacedFix, str]:
    """What came of each fix that was tried by itself."""
    return {outcome.fixes[0]: outcome.judged.status for outcome in proof.outcomes if len(outcome.fixes) == 1}


def of_groups(proof: Proof) -> list[Outcome]:
    return [outcome for outcome in proof.outcomes if len(outcome.fixes) > 1]


def shown(proof: Proof) -> dict[str, Any]:
    about = About(("train.py",), "CPU (made up)", {}, "2030-01-02", pairs=5)
    return document_of(proof, about)


# What rounding hides.

CHAOS = Apart((0.3,), (1e-5,))


@pytest.mark.parametrize("one_by_one", [True, False])
@pytest.mark.parametrize(
    ("eager", "traces", "status"),
    [(NONE, 0, "pays"), (OTHER, 0, "unknown"), (NONE, 3, "unknown")],
    ids=["the same", "another", "the program compiles, too"],
)
def test_where_rounding_hides_what_is_learned_one_run_that_is_not_compiled_tells(
    eager: Apart, traces: int, status: str, one_by_one: bool
) -> None:
    running = Made(
        lambda fixes, seed: trial(0.005, seed=seed, apart=CHAOS), eager=eager, rounding=CHAOS, traces=traces
    )
    proof = prove([FIRST], running, Options(pairs=5, one_by_one=one_by_one))
    judged = proof.whole or proof.outcomes[0].judged
    assert judged.status == status
    assert running.ran_eagerly == ([] if traces else [frozenset([FIRST])])


# Which fixes do the same.


@pytest.mark.parametrize(
    "other",
    [
        fix(9, bold=True),
        fix(9, safe=False),
        fix(9, code="TFP101"),
        fix(9, "Compile `other` with `@tf.function`"),
    ],
    ids=["only a run can judge it", "unsafe", "of another rule", "it says something else"],
)
def test_fixes_of_different_kinds_are_no_group(other: PlacedFix) -> None:
    assert groups_of([fix(4), other]) == [(fix(4),), (other,)]


def test_fixes_that_say_the_same_are_a_group_whatever_they_may_change_and_wherever() -> None:
    alike = [fix(4, "Do it; may change rounding (line 3)"), fix(9, "Do it"), replace(fix(2), file="two.py")]
    assert groups_of(alike) == [tuple(alike)]


# What is run.


def test_a_group_that_pays_is_kept_as_a_whole_by_its_own_runs() -> None:
    made = taking(0.005)
    proof = prove(ALIKE, made, Options(5))
    assert proof.proved == ALIKE
    assert made.versions == [frozenset(ALIKE)]
    assert len(made.ran) == 2 * 5
    (outcome,) = proof.outcomes
    assert outcome == Outcome(ALIKE, proof.whole)  # type: ignore[arg-type]


def test_a_group_that_pays_is_proved_again_with_what_else_does() -> None:
    made = Made(
        lambda fixes, seed: trial(
            0.01 / (2 if FIRST in fixes else 1) / (3 if ELSE in fixes else 1), seed=seed, apart=SAME
        )
    )
    proof = prove([*ALIKE, ELSE], made, Options(5))
    assert made.versions == [frozenset(ALIKE), frozenset({ELSE}), frozenset({*ALIKE, ELSE})]
    assert proof.proved == (*ALIKE, ELSE)


@pytest.mark.parametrize(
    ("what", "status"),
    [
        ({"failure": BROKEN}, "breaks"),
        ({"apart": OTHER}, "different"),
        ({"apart": DRAWS}, "unknown"),
        ({"apart": Apart(mismatch="steps")}, "unknown"),
        ({"step": 0.02}, "slower"),
    ],
)
def test_where_one_of_a_group_is_at_fault_it_is_found_and_the_others_are_kept(
    what: dict[str, Any], status: str
) -> None:
    proof = prove(ALIKE, at_fault(SECOND, **what), Options(5))
    (group,) = of_groups(proof)
    assert (group.judged.status, group.apart) == (status, True)
    assert of_each(proof) == {FIRST: "pays", SECOND: status, THIRD: "pays"}
    assert proof.proved == (FIRST, THIRD)


def test_a_group_that_makes_no_difference_is_not_tried_one_by_one() -> None:
    made = taking(0.01)
    proof = prove(ALIKE, made, Options(5))
    assert made.versions == [frozenset(ALIKE)]
    assert [(one.fixes, one.judged.status, one.apart) for one in proof.outcomes] == [
        (ALIKE, "no difference", False)
    ]


def test_what_is_unknown_of_the_program_itself_is_not_looked_for_in_the_fixes_of_a_group() -> None:
    class Chance(Made):
        def version(self, fixes: Version) -> Trial:
            apart = Apart((0.1 * len(self.ran),), (1e-5,), NONE.losses)
            return replace(Made.version(self, fixes), apart=apart)

    made = Chance(taking(0.005).run)
    proof = prove(ALIKE, made, Options(5))
    assert made.versions == [frozenset(ALIKE)]
    assert [one.judged.status for one in proof.outcomes] == ["unknown"]


def test_what_two_runs_of_the_original_differed_in_is_not_forgotten_when_something_else_is_tried() -> None:
    class Chance(Made):
        def version(self, fixes: Version) -> Trial:
            run = Made.version(self, fixes)
            by_chance = not fixes and len(self.ran) <= 4
            return replace(run, apart=Apart((0.1,), (1e-5,), NONE.losses)) if by_chance else run

    made = Chance(taking(0.005, of=(*LESS, *LESS.values())).run)
    proof = prove(list(LESS), made, Options(5), LESS)
    assert made.versions == [frozenset(LESS), frozenset(LESS.values())]
    assert [one.judged.status for one in proof.outcomes] == ["unknown", "unknown"]


def test_a_group_whose_start_hides_what_it_saves_is_not_tried_one_by_one() -> None:
    def traced(fixes: Version, seed: int) -> Trial:
        run = trial(0.001, seed=seed, apart=SAME)
        return replace(run, ends=(run.ends[0], *(end + 9.0 for end in run.ends[1:])))

    made = Made(traced)
    proof = prove(ALIKE, made, Options(5))
    assert made.versions == [frozenset(ALIKE)]
    (outcome,) = proof.outcomes
    assert outcome.judged.status == "slower"
    assert "but the start takes 9.0 s longer: it would pay from step" in outcome.judged.why


def test_where_few_pairs_leave_a_group_open_it_gets_as_many_again_and_a_single_fix_does_not() -> None:
    made = taking(0.0075, of=(*ALIKE, ELSE))
    proof = prove([*ALIKE, ELSE], made, Options(3))
    (group,) = of_groups(proof)
    assert (group.judged.status, group.judged.pairs) == ("pays", 6)
    assert of_each(proof) == {ELSE: "no difference"}
    assert [made.ran.count(version) for version in made.versions] == [6, 3]
    assert proof.proved == ALIKE


def test_a_group_that_does_not_look_faster_is_not_run_again() -> None:
    made = taking(0.0101)
    prove(ALIKE, made, Options(3))
    assert made.ran.count(frozenset(ALIKE)) == 3


# Bold fixes, and what else there is for each.
LESS = {fix(row, bold=True): fix(row, "Do less") for row in (4, 9, 12)}


def test_where_a_bold_group_does_not_pay_what_else_there_is_is_tried_as_a_group() -> None:
    less = frozenset(LESS.values())
    made = Made(lambda fixes, seed: trial(0.005 if fixes <= less else 0.01, seed=seed, apart=SAME))
    proof = prove(list(LESS), made, Options(5), LESS)
    assert made.versions == [frozenset(LESS), less]
    assert set(proof.proved) == less


def test_where_one_of_a_bold_group_breaks_what_else_there_is_is_tried_for_that_alone() -> None:
    bold = list(LESS)
    made = at_fault(bold[1], failure=BROKEN)
    proof = prove(bold, made, Options(5), LESS)
    assert set(proof.proved) == {bold[0], LESS[bold[1]], bold[2]}
    assert made.versions == [
        frozenset(bold),
        *(frozenset({one}) for one in bold),
        frozenset({LESS[bold[1]]}),
        frozenset(proof.proved),
    ]


@pytest.mark.parametrize(
    "made",
    [
        taking(0.005),
        taking(0.01),
        at_fault(SECOND, failure=BROKEN),
        Made(lambda fixes, seed: trial(0.005, seed=seed, apart=SAME, failure=BROKEN)),
        Made(lambda fixes, seed: trial(0.02, seed=seed, apart=SAME)),
    ],
    ids=["it pays", "no difference", "one breaks", "all break", "all are slower"],
)
@pytest.mark.parametrize("others", [{}, LESS], ids=["no others", "others"])
def test_no_more_is_run_than_was_said_at_first_or_later(
    made: Made, others: dict[PlacedFix, PlacedFix]
) -> None:
    made = replace(made, ran=[])
    fixes = [*(list(LESS) if others else ALIKE), ELSE]
    said = [runs_needed(fixes, Options(5), others)]
    prove(fixes, made, Options(5), others, lambda left: said.append(2 + len(made.ran) + left))
    assert said == sorted(said, reverse=True)
    assert 2 + len(made.ran) <= said[-1]


def test_before_all_that_pays_is_proved_together_it_is_known_how_many_runs_are_left() -> None:
    made, said = taking(0.005, of=(*ALIKE, ELSE)), list[int]()
    prove([*ALIKE, ELSE], made, Options(5), expect=lambda left: said.append(len(made.ran) + left))
    assert len(made.ran) == said[-1] < said[0]


def test_as_many_are_run_as_was_said_where_each_group_has_a_fix_at_fault() -> None:
    # Alone each of the three is slower; so is what else there is.
    made = Made(lambda fixes, seed: trial(0.02, seed=seed, apart=SAME))
    prove(list(LESS), made, Options(5), LESS)
    rounds = 5 * ((1 + 1) + (1 + 3) + (1 + 1) + (1 + 3))
    assert 2 + len(made.ran) == 2 + rounds
    assert runs_needed(list(LESS), Options(5), LESS) == 2 + rounds + 2 * 5


def test_who_ends_it_is_told_of_the_group_so_far() -> None:
    def run(fixes: Version, seed: int) -> Trial:
        if seed > 5:
            raise Stopped(2)
        return trial(0.004, seed=seed, apart=SAME)

    proof = prove(ALIKE, Made(run), Options(5))
    assert proof.stopped == 2
    assert [(one.fixes, one.judged.pairs, one.apart) for one in proof.outcomes] == [(ALIKE, 2, False)]
    (row,) = [line for line in text(shown(proof), Style()) if "TFP105" in line]
    assert row.startswith("  TFP105 call ×3  train.py:4, 9, 12  2.")
    assert row.endswith("after 2 runs: faster")


# What is said.


def test_each_fix_of_a_group_has_an_entry_that_points_to_the_figures_of_the_group() -> None:
    found = shown(prove([*ALIKE, ELSE], taking(0.005), Options(5)))
    assert [(one["row"], one["status"], one["kept"], one["group"]) for one in found["fixes"]] == [
        (4, "pays", True, 0),
        (9, "pays", True, 0),
        (12, "pays", True, 0),
        (20, "no difference", False, None),
    ]
    assert [one["times"] is None for one in found["fixes"]] == [True, True, True, False]
    (group,) = found["groups"]
    assert (group["fixes"], group["one_by_one"], group["status"]) == ([0, 1, 2], False, "pays")
    assert group["times"]["stretch"]["effect"]["low"] > 1.5
    json.dumps(found)


def test_fixes_of_a_group_that_were_tried_one_by_one_have_figures_of_their_own() -> None:
    found = shown(prove(ALIKE, at_fault(SECOND, apart=OTHER), Options(5)))
    assert [(one["status"], one["group"], one["times"] is None) for one in found["fixes"]] == [
        ("pays", 0, False),
        ("different", 0, False),
        ("pays", 0, False),
    ]
    assert found["groups"][0]["one_by_one"] is True


def test_a_group_is_one_row_with_one_figure() -> None:
    found = shown(prove([*ALIKE, ELSE], taking(0.004), Options(5)))
    lines = list(text(found, Style()))
    assert lines[0].startswith("train.py: 3 of 4 fixes pay: 2.")
    (row,) = [line for line in lines if "TFP105" in line]
    assert row.startswith("  TFP105 call ×3  train.py:4, 9, 12  ")
    (row,) = [line for line in markdown(found) if "TFP105" in line]
    assert row.startswith("| TFP105 call ×3 | train.py:4, 9, 12 | 2.")
    page = page_text(found, None)
    assert page.count("call ×3") == 2  # a row of the table, and a section
    assert page.count("Slow.") == 1
    assert "Together they pay: faster" in page


def test_a_group_that_is_left_out_is_one_row_as_well() -> None:
    found = shown(prove(ALIKE, taking(0.01), Options(5)))
    (row,) = [line for line in markdown(found) if "TFP105" in line]
    assert row.startswith("| TFP105 call ×3 | train.py:4, 9, 12 | ")
    assert row.endswith(" | it makes no difference here |")
    assert next(markdown(found)) == "**`train.py`: none of 3 fixes is shown to pay**"


def test_why_a_group_was_tried_one_by_one_is_said_and_each_has_its_row() -> None:
    found = shown(prove(ALIKE, at_fault(SECOND, failure=BROKEN), Options(5)))
    lines = list(text(found, Style()))
    said = (
        "TFP105 was tried in 3 places together, and then one by one: it breaks the program: ValueError: no."
    )
    assert said in lines
    assert [row["places"][0]["row"] for row in told(found)] == [4, 9, 12]
    assert "×3" not in "\n".join(lines)


def test_of_a_bold_group_and_what_else_there_is_each_says_what_it_does() -> None:
    made = Made(lambda fixes, seed: trial(0.01, seed=seed, apart=SAME))
    rows = [line for line in markdown(shown(prove(list(LESS), made, Options(5), LESS))) if "TFP105" in line]
    assert [row.rsplit(" | ", 1)[-1].partition(":")[0] for row in rows] == ["Do less", "Do it"]


def test_many_places_are_cut_short_in_a_narrow_column_alone() -> None:
    many = [*(fix(row) for row in range(1, 8)), replace(fix(3), file="two.py")]
    found = shown(prove(many, taking(0.005, of=many), Options(5)))
    (row,) = [line for line in text(found, Style()) if "TFP105" in line]
    assert "call ×8  train.py:1, 2, 3, 4, 5, …  " in row
    (row,) = [line for line in markdown(found) if "TFP105" in line]
    assert "| train.py:1, 2, 3, 4, 5, 6, 7; two.py:3 |" in row
    page = page_text(found, None)
    assert "train.py:1, 2, 3, 4, 5, …<" in page
    assert "At train.py:1, 2, 3, 4, 5, 6, 7; two.py:3." in page


def test_more_runs_of_a_group_are_told_apart_from_those_of_each_version() -> None:
    about = About(("train.py",), "CPU (made up)", {}, "2030-01-02", pairs=3)
    found = document_of(prove([*ALIKE, ELSE], taking(0.0075), Options(3)), about)
    assert (
        "3 runs of each version in turn with the original, 6 runs where all of these were faster, though not beyond doubt."
        in "\n".join(markdown(found))
    )


def test_all_at_once_makes_no_groups() -> None:
    made = taking(0.005)
    proof = prove([*ALIKE, ELSE], made, Options(5, one_by_one=False))
    assert made.versions == [frozenset({*ALIKE, ELSE})]
    assert shown(proof)["groups"] == []
    assert made.ran.count(ORIGINAL) == 5


def uneven(pairs_faster: Sequence[float]) -> Made:
    """Any fix makes the steps of its runs so many times as fast, one run after the other."""
    factors = iter(pairs_faster)
    return Made(
        lambda fixes, seed: trial(0.01 / next(factors) if fixes else 0.01, seed=seed, noise=0.0, apart=SAME)
    )


def test_a_fix_that_was_faster_in_all_of_enough_pairs_gets_as_many_again() -> None:
    made = uneven([1.1, 1.9, 1.2, 1.8, 1.3, *[1.5] * 5])
    proof = prove([ELSE], made, Options(5))
    (outcome,) = proof.outcomes
    assert outcome.judged.pairs == 10
    assert outcome.judged.pays


def test_what_stays_open_is_said_to_be_faster_though_not_beyond_doubt() -> None:
    made = uneven([1.02, 9.0, 1.05, 1.03, 8.0] * 2)
    (outcome,) = prove([ELSE], made, Options(5)).outcomes
    assert outcome.judged.status == "no difference"
    assert outcome.judged.why.startswith("all pairs of runs were faster, though not beyond doubt: 1.0")


def test_what_the_run_does_not_get_to_is_one_row_and_counts_for_nothing() -> None:
    far = [replace(fix(row, f"Do {row}"), file=f"other{row}.py") for row in range(1, 8)]
    made = Made(
        lambda fixes, seed: trial(0.005 if fixes else 0.01, seed=seed, apart=SAME), files=["train.py"]
    )
    found = document_of(prove([ELSE, *far], made, Options(5)), About(("train.py",), "", {}, ""))
    told = "\n".join(text(found, Style()))
    assert "1 of 1 fix pays" in told
    assert told.count("the run does not get there") == 1
    assert "7 fixes" in told
    assert "other1.py, other2.py, other3.py, other4.py, other5.py, …" in told


def test_what_a_slow_step_hides_is_to_be_proved_again() -> None:
    made = taking(0.005)
    found = document_of(prove([*ALIKE, ELSE], made, Options(5)), About(("train.py",), "", {}, ""))
    assert "once these are applied, prove again" in "\n".join(text(found, Style()))
    alone = document_of(prove(ALIKE, taking(0.005), Options(5)), About(("train.py",), "", {}, ""))
    assert "prove again" not in "\n".join(text(alone, Style()))


def test_bold_fixes_that_were_not_asked_for_are_named() -> None:
    about = About(("train.py",), "", {}, "", bold=2)
    assert "2 more fixes could be tried with the --bold-fixes option." in text(
        document_of(Proof(None, ()), about), Style()
    )
