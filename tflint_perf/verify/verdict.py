"""From measured pairs to a verdict.

A claim of a ratio looks at slow over fast in each pair; one of growth at how much the metric grows in the slow
script. The median over the pairs has an interval of 95%, and of more where more pairs are looked at because the first
left it open. The claim is

- confirmed when the whole interval lies at or beyond `least`,
- refuted when it lies short of it,
- inconclusive when `least` is inside.

A claim of growth is also that the fast script does not grow so: it is refuted when that one grows as much, and
inconclusive when that cannot be told.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tflint_perf.rule import Claim
from tflint_perf.verify.metrics import SERIES, VALUES
from tflint_perf.verify.records import Effect, Losses, Pair, Run, Verdict
from tflint_perf.verify.statistics import CONFIDENCE, growth, over_pairs


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: Verdict
    reason: str
    effect: Effect | None = None


def judge(claim: Claim, pairs: Sequence[Pair], confidence: float = CONFIDENCE) -> Judgement:
    """What the pairs say of the claim, by intervals of so much confidence."""
    if claim.kind == "growth":
        return _judge_growth(claim, pairs, confidence)
    ratios = [_ratio(claim, pair) for pair in pairs]
    known = [ratio for ratio in ratios if ratio is not None]
    if len(known) < len(ratios):
        return Judgement("not measurable", f"{claim.metric} could not be measured here")
    return judge_effect(claim, over_pairs(known, confidence))


def judge_effect(claim: Claim, effect: Effect, control: Effect | None = None) -> Judgement:
    """What an interval says of the claim; `control` is the growth of the fast script."""
    verdict, reason = _against(claim.least, effect, control)
    return Judgement(verdict, reason, effect)


def _against(least: float, effect: Effect, control: Effect | None) -> tuple[Verdict, str]:
    claimed = f"the claim is {least:g}×"
    interval = f"{effect.value:.3g}× ({effect.low:.3g} to {effect.high:.3g})"
    if effect.high < least:
        return "refuted", f"{interval}; {claimed} at least"
    if control is not None and control.low >= least:
        return "refuted", f"the fast script grows as well: {control.value:.3g}×; {claimed}"
    if effect.low < least:
        return "inconclusive", f"{interval}; {claimed} at least"
    if control is not None and control.high >= least:
        return "inconclusive", f"the fast script may grow as well: up to {control.high:.3g}×; {claimed}"
    return "confirmed", f"{interval}; {claimed} at least"


def _judge_growth(claim: Claim, pairs: Sequence[Pair], confidence: float) -> Judgement:
    series = SERIES.get(claim.metric)
    if series is None:
        return Judgement(
            "not measurable", f"{claim.metric} is measured once a run, so its growth is not known"
        )
    if any(len(series(run)) < 2 for pair in pairs for run in (pair.slow, pair.fast)):
        return Judgement("inconclusive", "too few steps to tell growth")
    slow, fast = (
        [growth(series(run)).value for run in runs] for runs in zip(*map(_runs, pairs), strict=True)
    )
    return judge_effect(claim, over_pairs(slow, confidence), over_pairs(fast, confidence))


def _runs(pair: Pair) -> tuple[Run, Run]:
    return pair.slow, pair.fast


def _ratio(claim: Claim, pair: Pair) -> float | None:
    slow, fast = (VALUES[claim.metric](run) for run in _runs(pair))
    return slow / fast if slow is not None and fast else None


def compare_losses(slow: Mapping[int, float], fast: Mapping[int, float], tolerance: float) -> Losses:
    """The losses of the steps that both runs looked at, by step; the difference is relative to the larger one."""
    steps = slow.keys() & fast.keys()
    difference = max((_difference(slow[step], fast[step]) for step in steps), default=math.inf)
    return Losses(difference <= tolerance, difference)


def _difference(one: float, other: float) -> float:
    if not (math.isfinite(one) and math.isfinite(other)):
        return math.inf
    return abs(one - other) / max(abs(one), abs(other)) if one != other else 0.0
