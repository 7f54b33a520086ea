"""What a proof says of a fix whose later steps are faster, and whose run is too short to show it: in every form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.prove.support import ROUNDING, SAME, trial, trials
from tflint_perf.prove.document import About, document_of
from tflint_perf.prove.fixes import PlacedFix
from tflint_perf.prove.judging import Baseline, judge
from tflint_perf.prove.page import page_text
from tflint_perf.prove.proving import Outcome, Proof
from tflint_perf.prove.telling import markdown, text
from tflint_perf.prove.trial import Trial
from tflint_perf.report.style import Style

pytest.importorskip("scipy")  # the statistics, which `make quick` does not install

FIX = PlacedFix("train.py", 4, "TFP105", name="call", message="slow", title="Do it")
SAID = "its later steps take 3.0 ms instead of 10 ms, but the start takes 9."
ADVICE = "Longer runs show whether a slower start pays: --steps 5"


def found(after: list[Trial], before: list[Trial]) -> dict[str, Any]:
    judged = judge(Baseline(before[0], trial(apart=ROUNDING), tuple(before)), before, after)
    proof = Proof(before[0], (Outcome((FIX,), judged),))
    return document_of(proof, About(("train.py",), "CPU (made up)", {}, "2030-01-02", pairs=5))


def traced(ended: Any = "steps") -> dict[str, Any]:
    runs = trials(step=0.003, apart=SAME, ended=ended)
    slow = [replace(run, ends=(run.ends[0], *(end + 9 for end in run.ends[1:]))) for run in runs]
    return found(slow, trials(ended=ended))


def test_it_is_said_in_words_with_the_steps_to_ask_for() -> None:
    for said in (
        "\n".join(text(traced(), Style())),
        "\n".join(markdown(traced())),
        page_text(traced(), None),
    ):
        assert SAID in said
        assert ADVICE in said


def test_it_is_data_too_and_nothing_is_kept_for_it() -> None:
    document = traced()
    (fix,) = document["fixes"]
    assert (document["result"], fix["kept"], fix["status"]) == ("nothing pays", False, "slower")
    hidden = fix["times"]["hidden"]
    assert hidden["since"] == 51
    assert hidden["start"] == pytest.approx(9, rel=0.05)
    assert hidden["pays_from"] == pytest.approx(9 / 0.007, rel=0.05)
    assert hidden["steps"] == pytest.approx(4 * hidden["pays_from"], rel=0.05)
    assert hidden["seconds"] > hidden["steps"] * 0.01


def test_the_figures_show_the_later_steps_only_where_they_are_spoken_of() -> None:
    assert "a step, 51 to 100, mean" in page_text(traced(), None)
    assert "a step, 51 to 100, mean" not in page_text(found(trials(step=0.005, apart=SAME), trials()), None)


def test_a_program_that_ends_cannot_be_run_longer() -> None:
    said = "\n".join(text(traced("end"), Style()))
    assert f"it slows all 100 steps of the program: {SAID}" in said
    assert "--steps" not in said


@pytest.mark.parametrize("start", [9.0, 0.0], ids=["hidden", "nothing"])
def test_what_a_start_hides_of_a_fix_is_said_where_another_is_kept_instead(start: float) -> None:
    bold = replace(FIX, bold=True, title="Do it boldly")
    before = trials()
    baseline = Baseline(before[0], trial(apart=ROUNDING), tuple(before))
    slow = trials(step=0.003 if start else 0.02, apart=SAME)
    slow = [replace(run, ends=(run.ends[0], *(end + start for end in run.ends[1:]))) for run in slow]
    outcomes = [
        (bold, judge(baseline, before, slow)),
        (FIX, judge(baseline, before, trials(step=0.005, apart=SAME))),
    ]
    proof = Proof(
        before[0], tuple(Outcome((one,), judged) for one, judged in outcomes), (FIX,), outcomes[1][1]
    )
    document = document_of(proof, About(("train.py",), "CPU (made up)", {}, "2030-01-02", pairs=5))
    left_out = "\n".join(text(document, Style())).partition("Left out")[2]
    assert (f"Do it boldly: it slows 100 steps: {SAID}" in left_out) == bool(start)
    assert (ADVICE in left_out) == bool(start)
