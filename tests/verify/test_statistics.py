"""Medians, slopes and their intervals."""

from __future__ import annotations

import pytest

from tflint_perf.verify.statistics import growth, over_pairs, slope

pytest.importorskip("scipy")

LINE = [(step, 3.0 + 2.0 * step) for step in range(20)]


def test_the_effect_is_the_median_inside_its_interval() -> None:
    effect = over_pairs([5.0, 1.0, 3.0, 2.0, 4.0])
    assert effect.value == 3
    assert effect.low <= effect.value <= effect.high


def test_the_interval_of_five_pairs_reaches_from_the_least_to_the_largest() -> None:
    effect = over_pairs([5.0, 1.0, 3.0, 2.0, 4.0])
    assert (effect.low, effect.high) == (1, 5)


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
