"""Whether a version is faster: over a whole stretch and to its end, not by its median step."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

import pytest

from tests.prove.support import trial, trials
from tflint_perf.prove.times import Times, compare_times, judge_times
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
