"""The two statistics that verdicts rest on. SciPy does the work."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any

from tflint_perf.verify.records import Effect

CONFIDENCE = 0.95
# For each look at what the ones before left open, with twice as many pairs: whoever looks often is fooled more often.
LOOKS = (CONFIDENCE, 0.99, 0.995)
# A median of fewer has no interval of 95%: all five lie on one side of it in 1 of 16 draws.
LEAST_PAIRS = 5
_RESAMPLES = 9_999
_FIRST_QUARTER, _LAST_QUARTER = 0.125, 0.875  # their middles


def over_pairs(values: Sequence[float], confidence: float = CONFIDENCE) -> Effect:
    """The median with its interval by bootstrap: the percentiles of the medians of resamples.

    With one value, or equal ones, the interval is that value.
    """
    middle = median(values)
    if min(values) == max(values):
        return Effect(middle, middle, middle)
    import numpy as np
    from scipy import stats

    resampled: Any = stats.bootstrap(
        (np.asarray(values),),
        np.median,
        confidence_level=confidence,
        n_resamples=_RESAMPLES,
        method="percentile",
        rng=np.random.default_rng(1),  # the same figures give the same interval
    )
    interval = resampled.confidence_interval
    return Effect(middle, float(interval.low), float(interval.high))


def slope(points: Sequence[tuple[float, float]]) -> Effect:
    """The Theil-Sen slope with its 95% interval; 0 for fewer than two points."""
    if len(points) < 2:
        return Effect(0.0, 0.0, 0.0)
    import numpy as np
    from scipy import stats

    steps, values = zip(*points, strict=True)
    with np.errstate(invalid="ignore"):  # too few points for an interval, which `_finite` sees
        found: Any = stats.theilslopes(values, steps, alpha=CONFIDENCE)
    return Effect(float(found[0]), *sorted((_finite(found[2]), _finite(found[3]))))


def growth(points: Sequence[tuple[float, float]]) -> Effect:
    """How much larger the last quarter of a series is than its first, by its Theil-Sen line: 1 is flat.

    The line passes through both medians. Where it falls below all that was seen, as it does at the ends of a
    series that bends, the smallest value seen is taken.
    """
    if len(points) < 2:
        return Effect(1.0, 1.0, 1.0)
    steps, values = zip(*points, strict=True)
    first, last = float(min(steps)), float(max(steps))
    centre, middle, least = float(median(steps)), float(median(values)), max(float(min(values)), 1e-12)

    def ratio(rate: float) -> float:
        early, late = (
            max(middle + rate * (first + part * (last - first) - centre), least)
            for part in (_FIRST_QUARTER, _LAST_QUARTER)
        )
        return late / early

    rates = slope(points)
    return Effect(ratio(rates.value), ratio(rates.low), ratio(rates.high))


def _finite(value: float) -> float:
    return float(value) if math.isfinite(value) else 0.0
