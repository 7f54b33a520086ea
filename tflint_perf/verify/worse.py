"""What the fast script does worse than the slow one: times and memory that the claim is not about.

They are measured anyway. Something is worse when the whole interval of fast over slow says so, by a share that is worth a
word, and as surely as a verdict is (`statistics.lasting`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from tflint_perf.rule import Claim, Metric
from tflint_perf.verify.metrics import VALUES
from tflint_perf.verify.records import Pair, Worse
from tflint_perf.verify.statistics import LEAST_PAIRS, lasting, over_pairs

# What is less than this is not worth a word: times as much, and of each metric at least so much.
_LEAST_TIMES: Final = 1.05
_LEAST: Final[Mapping[Metric, float]] = {
    "time per sample": 0.0,
    "first step": 0.05,
    "host memory": 10e6,
    "peak device memory": 10e6,
}


def worse(claim: Claim, pairs: Sequence[Pair]) -> tuple[Worse, ...]:
    """What the fast script does worse, by pairs of runs that are timed; nothing where there are too few to tell."""
    if len(pairs) < LEAST_PAIRS:
        return ()
    found = []
    for metric, least in _LEAST.items():
        one = _compared(metric, pairs)
        if one is None or one.fast - one.slow < least or lasting(one.effect).low < _LEAST_TIMES:
            continue
        # A claim that does not hold says already that the fast script is no better at what it is about.
        if claim.kind == "growth" or _about(claim.metric) != _about(metric):
            found.append(one)
    return tuple(found)


def _compared(metric: Metric, pairs: Sequence[Pair]) -> Worse | None:
    measure = VALUES[metric]
    slow, fast = (
        [measure(run) for run in runs] for runs in zip(*((p.slow, p.fast) for p in pairs), strict=True)
    )
    here, there = ([value for value in values if value] for values in (slow, fast))
    if len(here) < len(pairs) or len(there) < len(pairs):
        return None
    ratios = [other / one for one, other in zip(here, there, strict=True)]
    steps = _even(pairs) if metric in ("time per sample", "first step") else None
    name = "step time" if metric == "time per sample" and _alike(pairs) else metric
    return Worse(name, median(here), median(there), over_pairs(ratios), steps)


def _even(pairs: Sequence[Pair]) -> float | None:
    """The step at which what one script saves in the first step is what it loses in the others; None if there is none."""
    if not _alike(pairs):
        return None
    first = median(pair.slow.first_step for pair in pairs) - median(pair.fast.first_step for pair in pairs)
    each = median(pair.fast.step for pair in pairs) - median(pair.slow.step for pair in pairs)
    return first / each if each and first / each > 0 else None


def _alike(pairs: Sequence[Pair]) -> bool:
    """Whether a step of both scripts takes as many samples."""
    return all(pair.slow.samples_per_step == pair.fast.samples_per_step for pair in pairs)


def _about(metric: str) -> str:
    return "step time" if metric == "time per sample" else metric.removeprefix("peak ")
