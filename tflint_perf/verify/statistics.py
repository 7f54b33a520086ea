"""The two statistics that verdicts rest on. SciPy does the work.

`benchmarks/false_verdicts.py` tries them on noise of many kinds, and prints how often a false claim passes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from statistics import median
from typing import Any

from tflint_perf.verify.records import Effect

CONFIDENCE = 0.95
# What is asked for at each look at what the ones before left open, with twice as many pairs: whoever looks often is fooled
# more often. Five pairs can give 93.75% at most, of ten the second to the ninth give 97.9%, of twenty the fourth to the
# seventeenth 99.74%.
LOOKS = (CONFIDENCE, 0.975, 0.995)
# All of so many pairs lie on one side of the median in 1 of 16 experiments, and on the wrong side in 1 of 32.
LEAST_PAIRS = 5
# Fewer do where they leave no doubt: where the interval says the same with its figures so many times too large, or too small.
PAIRS_TO_SETTLE, NO_DOUBT = 3, 1.5
# Between the intervals of four pairs, 87.5%, and of five, 93.75%.
_OF_ENOUGH = 0.9
# What disturbs a machine lasts from one pair to the next, and then pairs tell less than as many that know nothing of each
# other. Where half of the noise is still there a pair later, bounds twice as far from the median hold as often.
_LASTING = 2.0
_FIRST_QUARTER, _LAST_QUARTER = 0.125, 0.875  # their middles


def over_pairs(values: Sequence[float], confidence: float = CONFIDENCE) -> Effect:
    """The median with its interval: two of the values, as far inside as `confidence` allows.

    The effect says how sure the interval is of pairs that know nothing of each other, whatever the noise is like; where there
    are too few for what is asked, it reaches from the least to the largest, and says how much that is.
    """
    middle, ordered = median(values), sorted(values)
    outside, chance = _outside(len(ordered), confidence)
    return Effect(middle, ordered[outside], ordered[-1 - outside], 1 - 2 * chance)


@cache
def _outside(count: int, confidence: float) -> tuple[int, float]:
    """How many values may lie beyond either bound, and how likely the median does too: tosses of a coin."""
    from scipy import stats

    tosses: Any = stats.binom(count, 0.5)
    allowed = (1 - confidence) / 2
    outside = 0
    while 2 * outside + 3 < count and tosses.cdf(outside + 1) <= allowed:
        outside += 1
    return outside, float(tosses.cdf(outside))


def lasting(effect: Effect) -> Effect:
    """The interval of a ratio as it is where noise lasts from pair to pair: both bounds twice as many times away."""
    low, high = (effect.value * (bound / effect.value) ** _LASTING for bound in (effect.low, effect.high))
    return Effect(effect.value, low, high, effect.confidence)


def moved(effect: Effect, times: float) -> Effect:
    """The interval where its figures may be so many times too large, or too small."""
    return replace(effect, low=effect.low / times, high=effect.high * times)


def is_of_few(effect: Effect) -> bool:
    """Whether there were fewer pairs than a verdict takes that leaves some doubt."""
    return effect.confidence is not None and effect.confidence < _OF_ENOUGH


def judged_by(effect: Effect) -> Effect:
    """The interval of a ratio that a difference from 1 is judged by: where noise lasts, and of few pairs without any doubt."""
    sure = lasting(effect)
    return moved(sure, NO_DOUBT) if is_of_few(effect) else sure


def slope(points: Sequence[tuple[float, float]]) -> Effect:
    """The Theil-Sen slope with its 95% interval; 0 where there are no two points beside each other."""
    if len({step for step, _ in points}) < 2:
        return Effect(0.0, 0.0, 0.0)
    import numpy as np
    from scipy import stats

    steps, values = zip(*points, strict=True)
    with np.errstate(invalid="ignore"):  # too few points for an interval, which `_finite` sees
        found: Any = stats.theilslopes(values, steps, alpha=CONFIDENCE)
    return Effect(float(found[0]), *sorted((_finite(found[2]), _finite(found[3]))))


def growth(points: Sequence[tuple[float, float]]) -> Effect:
    """How much larger the last quarter of a series is than its first, by its Theil-Sen line: 1 is flat.

    As many values lie above the line as below, which noise that grows with the values does not tilt. Where the line falls
    below all that was seen, as it does at the ends of a series that bends, the smallest value seen is taken.
    """
    if len(points) < 2:
        return Effect(1.0, 1.0, 1.0)
    steps, values = zip(*points, strict=True)
    first, last = float(min(steps)), float(max(steps))
    least = max(float(min(values)), 1e-12)

    def ratio(rate: float) -> float:
        start = median(value - rate * (step - first) for step, value in points)
        early, late = (
            max(start + rate * part * (last - first), least) for part in (_FIRST_QUARTER, _LAST_QUARTER)
        )
        return late / early

    rates = slope(points)
    return Effect(ratio(rates.value), ratio(rates.low), ratio(rates.high))


def _finite(value: float) -> float:
    return float(value) if math.isfinite(value) else 0.0
