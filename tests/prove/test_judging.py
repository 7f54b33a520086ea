"""What is to be done with a version, from its runs beside those of the original."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.prove.support import NONE, OTHER, ROUNDING, SAME, trial, trials
from tflint_perf.prove.judging import Baseline, Judged, judge
from tflint_perf.prove.trial import Trial, as_run
from tflint_perf.verify.learning import Apart

pytest.importorskip("scipy")  # the statistics, which `make quick` does not install

BEFORE = trials()
BASELINE = Baseline(trial(), trial(apart=ROUNDING), tuple(BEFORE))


def judged(after: list[Trial], baseline: Baseline = BASELINE) -> Judged:
    return judge(baseline, BEFORE, after)


def test_what_is_faster_and_learns_the_same_pays() -> None:
    found = judged(trials(step=0.005, apart=SAME))
    assert (found.status, found.why) == ("pays", "faster")


def test_what_is_as_fast_makes_no_difference() -> None:
    found = judged([trial(seed=at + 50, apart=SAME) for at in range(5)])
    assert (found.status, found.why) == ("no difference", "it makes no difference here")


def test_what_runs_too_unevenly_to_tell_is_not_said_to_make_no_difference() -> None:
    found = judged(
        [trial(step, seed=at + 50, apart=SAME) for at, step in enumerate([0.005, 0.015, 0.01, 0.006, 0.018])]
    )
    assert found.status == "no difference"
    assert found.why.startswith("no difference was seen between runs that differ: 0.5")


def test_what_is_slower_is_said_to_be() -> None:
    assert judged(trials(step=0.02, apart=SAME)).status == "slower"


@pytest.mark.parametrize("step", [0.005, 0.01, 0.02])
def test_what_learns_something_else_is_different_however_fast_it_is(step: float) -> None:
    found = judged(trials(step=step, apart=OTHER))
    assert found.status == "different"
    assert found.why.startswith("it learns something else: ")
    assert found.times is not None


def test_what_prints_something_else_is_different() -> None:
    baseline = replace(
        BASELINE,
        reference=trial(printed=["a 1", "end"]),
        control=trial(apart=ROUNDING, printed=["a 1", "end"]),
        again=tuple(trials(printed=("a 1", "end"))),
    )
    assert judged(trials(step=0.005, apart=SAME, printed=("a 1", "end")), baseline).status == "pays"
    found = judged(trials(step=0.005, apart=SAME, printed=("b 1", "end")), baseline)
    assert (found.status, found.why) == (
        "different",
        "it prints something else: line 1: `b 1` instead of `a 1`",
    )


def test_what_fails_once_breaks() -> None:
    runs = [*trials(4, step=0.005, apart=SAME), trial(failure="ValueError: no")]
    found = judged(runs)
    assert (found.status, found.why) == ("breaks", "it breaks the program: ValueError: no")


def test_another_exit_code_breaks() -> None:
    baseline = replace(BASELINE, reference=trial(ended="end"))
    found = judged(trials(apart=SAME, ended="end", code=3), baseline)
    assert (found.status, found.why) == ("breaks", "it breaks the program: exit code 3 instead of 0")


def test_where_the_program_does_not_reproduce_itself_nothing_pays() -> None:
    baseline = replace(BASELINE, again=tuple(trials(apart=Apart((0.2,), (1e-5,)))))
    for apart in (NONE, OTHER):
        assert judged(trials(step=0.005, apart=apart), baseline).status == "unknown"


def test_fewer_traces_pay() -> None:
    before = trials(traces=100)
    found = judge(replace(BASELINE, again=tuple(before)), before, trials(apart=SAME, traces=1))
    assert (found.status, found.why) == ("pays", "1 trace instead of 100")


def test_memory_that_no_longer_grows_pays() -> None:
    before = [trial(leak=1e5, seed=at) for at in range(5)]
    found = judge(replace(BASELINE, again=tuple(before)), before, trials(apart=SAME))
    assert (found.status, found.why) == ("pays", "memory grows by nothing instead of +100 kB a step")


def test_memory_that_is_saved_for_slower_steps_does_not_pay_and_says_so() -> None:
    before = [trial(leak=1e5, seed=at) for at in range(5)]
    found = judge(replace(BASELINE, again=tuple(before)), before, trials(step=0.02, apart=SAME))
    assert found.status == "slower"
    assert found.why == "it slows the program, though memory grows by nothing instead of +100 kB a step"


def test_a_run_is_drawn_as_those_of_verify_are() -> None:
    run = as_run(trial(0.01, steps=200, leak=1e5, noise=0.0))
    assert run.step == pytest.approx(0.01)
    assert run.first_step == pytest.approx(3.0)
    assert sum(steps for _, steps, _ in run.windows) == 199
    assert run.host_bytes_per_step == 1e5
    assert as_run(trial(steps=1)).windows == ()


def test_what_a_start_hides_is_said_of_what_is_left_out() -> None:
    slow = [
        replace(run, ends=(run.ends[0], *(end + took for end in run.ends[1:])))
        for run, took in zip(trials(step=0.003, apart=SAME), (0.5, 0.6, 0.69, 0.75, 0.8), strict=True)
    ]
    found = judged(slow)
    assert found.status == "no difference"
    assert found.why.startswith("no difference over 100 steps: its later steps take 3.0 ms instead of 10 ms")
    slower = judged([replace(run, ends=(run.ends[0], *(end + 9 for end in run.ends[1:]))) for run in slow])
    assert slower.status == "slower"
    assert slower.why.startswith(
        "it slows 100 steps: its later steps take 3.0 ms instead of 10 ms, but the start takes 9."
    )
