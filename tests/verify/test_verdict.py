"""Verdicts on synthetic measurements."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import pytest

from tests.verify.support import RUN, with_growth
from tflint_perf.rule import Claim
from tflint_perf.verify import statistics, verdict
from tflint_perf.verify.records import DeviceMemory, Effect, Pair, Run
from tflint_perf.verify.statistics import LEAST_PAIRS, LOOKS
from tflint_perf.verify.verdict import judge, judge_effect

pytest.importorskip("scipy")
np = pytest.importorskip("numpy")

TWICE = Claim("step time", least=2.0)
GROWS = Claim("step time", least=1.5, kind="growth")
DRAWS = 1_000
WINDOWS = 20
BETWEEN = np.triu_indices(WINDOWS, 1)  # each two windows, once


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (2.3, 2.6, "confirmed"),
        (2.0, 2.0, "confirmed"),
        (1.9, 2.1, "inconclusive"),
        (2.01, 2.3, "inconclusive"),
        (1.0, 2.0, "inconclusive"),
        (1.6, 1.8, "refuted"),
        (0.4, 0.6, "refuted"),
    ],
)
def test_the_whole_interval_decides(low: float, high: float, verdict: str) -> None:
    assert judge_effect(TWICE, Effect((low + high) / 2, low, high)).verdict == verdict


@pytest.mark.parametrize(
    ("control", "verdict"),
    [((0.9, 1.1), "confirmed"), ((1.4, 1.6), "inconclusive"), ((1.6, 1.7), "refuted")],
)
def test_a_growth_is_confirmed_only_where_the_fast_script_does_not_grow(
    control: tuple[float, float], verdict: str
) -> None:
    judgement = judge_effect(GROWS, Effect(3.0, 2.9, 3.1), Effect(sum(control) / 2, *control))
    assert judgement.verdict == verdict


def test_a_slow_script_that_does_not_grow_refutes_whatever_the_fast_one_does() -> None:
    assert judge_effect(GROWS, Effect(1.0, 0.9, 1.1), Effect(3.0, 2.9, 3.1)).verdict == "refuted"


def test_the_reason_tells_the_figure_and_the_claim() -> None:
    assert judge_effect(TWICE, Effect(1.5, 1.4, 1.6)).reason == "1.5× (1.4 to 1.6); the claim is 2× at least"


@pytest.mark.parametrize(
    ("claim", "slow", "expected"),
    [
        (Claim("time per sample", 2.0), replace(RUN, step=0.04, samples_per_step=2), 2.0),
        (Claim("first step", 2.0), replace(RUN, first_step=5.0), 10.0),
        (Claim("traces", 2.0), replace(RUN, traces=7), 7.0),
        (Claim("graph ops", 2.0), replace(RUN, graph_ops=200), 4.0),
        (Claim("live tensors", 2.0), replace(RUN, counts=((0, 30, 1, 1), (9, 90, 1, 1))), 3.0),
        (Claim("host memory", 2.0), replace(RUN, memory=((0, 0), (9, 500_000_000))), 5.0),
    ],
)
def test_a_ratio_is_that_of_the_metric_claimed(claim: Claim, slow: Run, expected: float) -> None:
    pairs = [Pair(slow, RUN)] * LEAST_PAIRS
    effect = judge(claim, pairs).effect
    assert effect is not None
    assert effect.value == pytest.approx(expected)


@pytest.mark.parametrize(("metric", "expected"), [("device memory", 8.0), ("peak device memory", 3.0)])
def test_memory_of_the_device_is_the_drivers_count_and_its_peak_that_of_tensorflow(
    metric: str, expected: float
) -> None:
    slow, fast = (
        replace(RUN, device_memory=DeviceMemory(1, peak, kept)) for peak, kept in ((9, 800), (3, 100))
    )
    effect = judge(Claim(metric, 2.0), [Pair(slow, fast)] * LEAST_PAIRS).effect
    assert effect is not None
    assert effect.value == pytest.approx(expected)


@pytest.mark.parametrize(("metric", "column"), [("live tensors", 1), ("traces", 2), ("graph ops", 3)])
def test_a_count_that_rises_with_the_steps_grows(metric: str, column: int) -> None:
    rows = [[step, 30, 1, 50] for step in range(0, 700, 100)]
    for row in rows:
        row[column] += row[0]
    slow = replace(RUN, counts=tuple(map(tuple, rows)))
    claim = Claim(metric, 1.5, kind="growth")
    assert judge(claim, [Pair(slow, RUN)] * LEAST_PAIRS).verdict == "confirmed"
    assert judge(claim, [Pair(RUN, RUN)] * LEAST_PAIRS).verdict == "refuted"
    assert judge(claim, [Pair(slow, slow)] * LEAST_PAIRS).verdict == "refuted"


def test_what_the_device_does_not_tell_is_not_measurable() -> None:
    assert judge(Claim("device memory", 2.0), [Pair(RUN, RUN)] * LEAST_PAIRS).verdict == "not measurable"


def in_a_few_looks(claim: Claim, pair: Callable[[], Pair]) -> str:
    """The verdict that an experiment comes to on pairs that are measured as they are asked for."""
    pairs: list[Pair] = []
    verdict = "inconclusive"
    for confidence in LOOKS:
        pairs += [pair() for _ in range(len(pairs) or LEAST_PAIRS)]
        verdict = judge(claim, pairs, confidence).verdict
        if verdict != "inconclusive":
            break
    return verdict


def noisy_ratio(rng: random.Random, true: float) -> str:
    """A verdict on runs whose step times spread by a fifth, and drift from pair to pair by as much."""

    def pair() -> Pair:
        drift = math.exp(rng.gauss(0, 0.2))
        slow, fast = (step * drift * math.exp(rng.gauss(0, 0.2)) for step in (0.01 * true, 0.01))
        return Pair(replace(RUN, step=slow), replace(RUN, step=fast))

    return in_a_few_looks(TWICE, pair)


def noisy_growth(rng: random.Random, true: float) -> str:
    """A verdict on runs of few windows, a fifth of noise on each; the fast script is flat."""
    rate = (true - 1) / (0.875 - 0.125 * true)  # so that the last quarter is `true` times the first

    def run(rate: float) -> Run:
        return with_growth(rate, [rng.gauss(0, 0.2) for _ in range(WINDOWS)])

    return in_a_few_looks(GROWS, lambda: Pair(run(rate), run(0)))


def quick_slope(points: Sequence[tuple[float, float]]) -> Effect:
    """What `slope` finds, without the interval, at which no verdict looks."""
    steps, values = np.asarray(points).T
    earlier, later = BETWEEN
    value = float(np.median((values[later] - values[earlier]) / (steps[later] - steps[earlier])))
    return Effect(value, value, value)


@pytest.fixture
def quick_statistics(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same figures for less: slopes without intervals, and the growth of a run once."""
    once = cache(statistics.growth)
    monkeypatch.setattr(statistics, "slope", quick_slope)
    monkeypatch.setattr(verdict, "growth", lambda points: once(tuple(points)))


def test_a_slope_without_its_interval_is_the_same_slope() -> None:
    rng = random.Random(1)
    for _ in range(20):
        points = [(step, rng.gauss(1, 0.2)) for step in range(WINDOWS)]
        assert quick_slope(points).value == pytest.approx(statistics.slope(points).value)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_statistics")
@pytest.mark.parametrize(
    ("draw", "draws", "just_short", "clear", "nothing"),
    [(noisy_ratio, DRAWS, 1.999, 4.0, 1.0), (noisy_growth, DRAWS // 2, 1.499, 3.0, 1.0)],
)
def test_noise_confirms_a_false_claim_in_fewer_than_5_of_100_draws(
    draw: Callable[[random.Random, float], str], draws: int, just_short: float, clear: float, nothing: float
) -> None:
    rng = random.Random(1)
    # An effect that is short of the claim by a hair is the worst case.
    assert Counter(draw(rng, just_short) for _ in range(draws))["confirmed"] < 0.05 * draws
    # A test that confirms nothing would pass that too.
    assert Counter(draw(rng, clear) for _ in range(100))["confirmed"] > 90
    assert Counter(draw(rng, nothing) for _ in range(100))["refuted"] > 90
