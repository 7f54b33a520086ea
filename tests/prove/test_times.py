"""Whether a version is faster: over a whole stretch and to its end, not by its median step."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any

import pytest

from tests.prove.support import trial, trials
from tflint_perf.prove.times import Times, compare_times, hidden_gain, judge_times
from tflint_perf.prove.trial import Trial

pytest.importorskip("scipy")  # the statistics, which `make quick` does not install


def compared(before: list[Trial], after: list[Trial]) -> Times:
    times = compare_times(before, after)
    assert times is not None
    return times


def test_the_same_times_make_no_difference() -> None:
    before, after = trials(), [trial(0.01, seed=at + 50) for at in range(5)]
    assert judge_times(compared(before, after)) == ("no difference", "")


def test_what_lies_below_one_percent_makes_no_difference() -> None:
    before = [trial(0.01, noise=0.0, seed=at) for at in range(5)]
    after = [trial(0.00995, noise=0.0, first=2.99, seed=at) for at in range(5)]
    times = compared(before, after)
    assert times.stretch.effect.low > 1
    assert judge_times(times)[0] == "no difference"


def test_half_the_step_is_faster_by_two() -> None:
    times = compared(trials(), trials(step=0.005))
    assert 1.9 < times.stretch.effect.low < times.stretch.effect.high < 2.1
    assert judge_times(times)[0] == "faster"


def test_longer_steps_are_slower() -> None:
    assert judge_times(compared(trials(), trials(step=0.02)))[0] == "slower"


def test_a_start_that_takes_longer_is_made_good_for_from_a_step_on() -> None:
    before = [trial(0.01, noise=0.0, seed=at) for at in range(5)]
    times = compared(before, [trial(0.005, first=5.0, noise=0.0, seed=at) for at in range(5)])
    verdict, said = judge_times(times)
    assert verdict == "faster"
    assert said == "from step 400 on, since the start takes 2.0 s longer"


def test_a_start_that_takes_longer_for_nothing_is_slower() -> None:
    assert judge_times(compared(trials(), trials(first=5.0)))[0] == "slower"


def test_a_program_that_ends_is_judged_by_all_of_its_time() -> None:
    times = compared(trials(ended="end"), trials(step=0.005, first=5.0, ended="end"))
    assert times.whole
    assert judge_times(times)[0] == "slower"


def test_work_that_moves_from_the_first_step_to_the_others_cannot_be_told() -> None:
    verdict, said = judge_times(compared(trials(first=9.0), trials(step=0.02, first=3.0)))
    assert verdict == "unknown"
    assert "whole epochs" in said


def test_a_median_that_doubles_does_not_hide_that_an_epoch_takes_half() -> None:
    # In each epoch of 50 steps, one fills a buffer in 2 s and the others take 1 ms; then all take 20 ms.
    def epochs(times: list[float], at: int) -> Trial:
        return replace(trial(seed=at), ends=tuple(accumulate([3.0 + 0.01 * at, *times * 2])))

    before = [epochs([2.0, *[0.001] * 49], at) for at in range(5)]
    after = [epochs([0.02] * 50, at) for at in range(5)]
    times = compared(before, after)
    assert times.step.way == "down"
    assert judge_times(times)[0] == "faster"


def test_runs_of_different_length_are_compared_over_the_steps_that_both_have() -> None:
    times = compared(trials(), [trial(0.01, steps=60, seed=at) for at in range(5)])
    assert times.steps == 60
    assert judge_times(times)[0] == "no difference"


def test_one_step_is_too_few() -> None:
    assert compare_times([trial(steps=1)], [trial(steps=1)]) is None


def tracing(
    seconds: float, step: float, *, at: int = 2, steps: int = 25, count: int = 5, **more: Any
) -> list[Trial]:
    """Runs whose step `at` takes so much longer, as where a function is traced."""

    def traced(run: Trial) -> Trial:
        late = (end + seconds if number >= at else end for number, end in enumerate(run.ends, 1))
        return replace(run, ends=tuple(late))

    return [traced(trial(step, steps=steps, seed=seed, **more)) for seed in range(count)]


def test_steps_that_are_faster_after_a_start_that_takes_longer_are_told_with_the_step_from_which_they_pay() -> (
    None
):
    before = [trial(0.012, steps=25, noise=0.0) for _ in range(5)]
    times = compared(before, tracing(1.9, 0.003, noise=0.0))
    verdict, said = judge_times(times)
    assert verdict == "slower"
    # 1.9 s are saved by 211 steps of 9 ms; the second step takes the 1.9 s and saves 9 ms, too.
    assert (
        said
        == "its later steps take 3.0 ms instead of 12 ms, but the start takes 1.9 s longer: it would pay from step 210 on"
    )
    hidden = hidden_gain(times)
    assert hidden is not None
    assert hidden.pays_from == pytest.approx(1.9 / 0.009 + 1)
    assert (hidden.since, hidden.steps) == (13, 850)


def test_so_many_steps_as_are_advised_show_that_a_version_is_faster() -> None:
    for seconds, step in ((1.9, 0.003), (0.6, 0.008)):
        hidden = hidden_gain(compared(trials_of(0.012, 25), tracing(seconds, step)))
        assert hidden is not None
        times = compared(trials_of(0.012, hidden.steps), tracing(seconds, step, steps=hidden.steps))
        assert judge_times(times)[0] == "faster"
        assert hidden_gain(times) is None
        assert hidden.seconds > times.stretch.before * hidden.steps


def trials_of(step: float, steps: int, count: int = 5, **more: Any) -> list[Trial]:
    return [trial(step, steps=steps, seed=seed + 50, **more) for seed in range(count)]


def test_what_a_start_has_been_made_good_for_is_not_said_to_pay_later() -> None:
    before = [trial(0.012, steps=25, noise=0.0) for _ in range(5)]
    after = [tracing(took, 0.003, noise=0.0, count=1)[0] for took in (0.05, 0.1, 0.15, 0.25, 0.3)]
    verdict, said = judge_times(compared(before, after))
    assert verdict == "no difference"
    assert said == "its later steps take 3.0 ms instead of 12 ms, which are too few to show beside the start"


@pytest.mark.parametrize(
    "after",
    [
        tracing(1.9, 0.003, at=20),
        [
            replace(one, ends=tuple(end + 0.3 * (at // 5) for at, end in enumerate(one.ends)))
            for one in tracing(0, 0.003)
        ],
        tracing(1.9, 0.0125),
    ],
    ids=["in the last steps", "again and again", "for nothing"],
)
def test_steps_of_which_some_take_longer_later_too_are_not_said_to_pay(after: list[Trial]) -> None:
    times = compared(trials_of(0.012, 25), after)
    assert judge_times(times)[0] == "slower"
    assert hidden_gain(times) is None


def test_a_later_step_that_takes_long_by_itself_does_not_make_the_others_faster() -> None:
    # In the original every tenth step fills something in half a second; then all steps take a share of that.
    def refilled(run: Trial) -> Trial:
        return replace(run, ends=tuple(end + 0.5 * (at // 10) for at, end in enumerate(run.ends)))

    before = [refilled(run) for run in trials_of(0.001, 22)]
    times = compared(before, tracing(2.0, 0.02, steps=22))
    assert (times.later.way, times.step.way) == ("up", "down")
    assert hidden_gain(times) is None


def test_what_few_runs_cannot_show_of_later_steps_is_not_said() -> None:
    for step, told in ((0.009, False), (0.003, True)):
        times = compared(trials_of(0.012, 25, 3), tracing(1.9, step, count=3))
        assert (hidden_gain(times) is not None) == told


def test_what_is_faster_has_nothing_hidden() -> None:
    assert hidden_gain(compared(trials(), trials(step=0.005))) is None
    assert hidden_gain(compared(trials(), trials(step=0.005, first=5.0))) is None


def test_a_program_that_ends_before_its_start_is_made_good_for_is_told_from_which_step_it_would_pay() -> None:
    before, after = (
        [trial(step, first=first, ended="end", noise=0.0) for _ in range(5)]
        for step, first in ((0.01, 3.0), (0.005, 5.0))
    )
    verdict, said = judge_times(compared(before, after))
    assert verdict == "slower"
    assert said.endswith("the start takes 2.0 s longer: it would pay from step 400 on")
