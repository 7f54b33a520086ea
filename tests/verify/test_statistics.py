"""Medians, slopes and their intervals."""

from __future__ import annotations

import random

import pytest

from tflint_perf.verify.records import Effect
from tflint_perf.verify.statistics import growth, lasting, over_pairs, slope

pytest.importorskip("scipy")

LINE = [(step, 3.0 + 2.0 * step) for step in range(20)]


def test_the_effect_is_the_median_inside_its_interval() -> None:
    effect = over_pairs([5.0, 1.0, 3.0, 2.0, 4.0])
    assert effect.value == 3
    assert effect.low <= effect.value <= effect.high


def test_the_interval_of_five_pairs_reaches_from_the_least_to_the_largest() -> None:
    effect = over_pairs([5.0, 1.0, 3.0, 2.0, 4.0])
    assert (effect.low, effect.high) == (1, 5)


@pytest.mark.parametrize(
    ("count", "asked", "outside", "sure"),
    [
        (5, 0.95, 0, 0.9375),
        (10, 0.975, 1, 0.9785),
        (20, 0.995, 3, 0.9974),
        (20, 0.95, 5, 0.9586),
        (1, 0.95, 0, 0.0),
    ],
)
def test_an_interval_says_how_sure_it_is(count: int, asked: float, outside: int, sure: float) -> None:
    effect = over_pairs([float(value) for value in range(count)], asked)
    assert (effect.low, effect.high) == (outside, count - 1 - outside)
    assert effect.confidence == pytest.approx(sure, abs=1e-4)


def test_noise_that_lasts_doubles_the_distance_of_both_bounds() -> None:
    effect = lasting(Effect(2.0, 1.0, 3.0))
    assert (effect.low, effect.value, effect.high) == pytest.approx((0.5, 2.0, 4.5))


def test_the_interval_narrows_with_more_pairs() -> None:
    few, many = (over_pairs([1.0 + index / count for index in range(count)]) for count in (5, 50))
    assert many.high - many.low < few.high - few.low


@pytest.mark.parametrize("values", [[2.0], [2.0] * 5])
def test_values_that_are_all_the_same_have_no_interval_around_them(values: list[float]) -> None:
    effect = over_pairs(values)
    assert (effect.value, effect.low, effect.high) == (2, 2, 2)


def test_the_same_values_give_the_same_interval_again() -> None:
    values = [1.0, 1.1, 1.3, 1.7, 1.9, 2.4, 2.6]
    assert over_pairs(values) == over_pairs(values)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("points", [[], [(3, 1.0)], [(3, 1.0), (3, 2.0)]])
def test_points_that_do_not_lie_beside_each_other_have_no_slope(points: list[tuple[float, float]]) -> None:
    assert slope(points) == Effect(0.0, 0.0, 0.0)
    assert growth(points).value == 1.0


def test_the_slope_of_a_line_is_found_in_spite_of_an_outlier() -> None:
    assert slope([*LINE, (20, 1_000.0)]).value == pytest.approx(2)


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([(step, 4.0) for step in range(20)], 1.0),
        ([(step, 1.0 + step) for step in range(201)], 176 / 26),
        ([(step, 201.0 - step) for step in range(201)], 26 / 176),
        ([(0, 1.0)], 1.0),
        ([], 1.0),
    ],
)
def test_growth_is_the_last_quarter_over_the_first(
    points: list[tuple[float, float]], expected: float
) -> None:
    assert growth(points).value == pytest.approx(expected)


def test_growth_of_a_series_that_bends_is_a_positive_number() -> None:
    bent = growth([(step, 1.0 + step**4) for step in range(40)])
    assert 1 < bent.low <= bent.value <= bent.high < float("inf")


def test_noise_that_grows_with_the_values_does_not_tilt_growth() -> None:
    """As many runs are found to grow more than they do as are found to grow less."""
    rng = random.Random(1)
    rate = (2 - 1) / (0.875 - 0.125 * 2)  # so that the last quarter is twice the first

    def run() -> list[tuple[float, float]]:
        return [(float(at), (1 + rate * at / 39) * (1 + rng.gauss(0, 0.2))) for at in range(40)]

    more = sum(growth(run()).value > 2 for _ in range(400))
    assert 160 < more < 240
