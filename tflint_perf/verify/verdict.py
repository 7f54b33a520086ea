"""From measured pairs to a verdict.

A claim of a ratio looks at slow over fast in each pair; one of growth at how much the metric grows in the slow
script. The median over the pairs has an interval, of five pairs from the least to the largest, which is 93.75%, and of more
where more pairs are looked at because the first left it open. What disturbs a machine may last from pair to pair, so a
verdict needs an interval with bounds twice as far from the median (`statistics.lasting`). The claim is

- confirmed when all of that lies at or beyond `least`,
- refuted when it lies short of it,
- inconclusive when `least` is inside.

Where the machine itself was slower at times than at others (`machine`), figures of time may be wrong by as much. A verdict
that would not hold then is none: the machine is too noisy to judge.

A claim of growth is also that the fast script does not grow so: it is refuted when that one grows as much, and
inconclusive when that cannot be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tflint_perf.rule import Claim
from tflint_perf.verify.metrics import SERIES, VALUES
from tflint_perf.verify.records import Effect, Pair, Run, Verdict
from tflint_perf.verify.statistics import CONFIDENCE, NO_DOUBT, growth, lasting, moved, over_pairs

# What another program on the same cores moves.
TIMES = frozenset({"step time", "time per sample", "first step"})


@dataclass(frozen=True, slots=True)
class Judgement:
    verdict: Verdict
    reason: str
    effect: Effect | None = None


def judge(
    claim: Claim, pairs: Sequence[Pair], confidence: float = CONFIDENCE, noise: float = 1.0
) -> Judgement:
    """What the pairs say of the claim, by intervals of so much confidence.

    `noise` is how many times slower the machine was at times than at best.
    """
    noise = noise if claim.metric in TIMES else 1.0
    if claim.kind == "growth":
        return _judge_growth(claim, pairs, confidence, noise)
    ratios = [_ratio(claim, pair) for pair in pairs]
    known = [ratio for ratio in ratios if ratio is not None]
    if len(known) < len(ratios):
        return Judgement("not measurable", f"{claim.metric} could not be measured here")
    return judge_effect(claim, over_pairs(known, confidence), noise=noise)


def settled(claim: Claim, pairs: Sequence[Pair], noise: float = 1.0) -> Judgement | None:
    """The verdict on fewer pairs than it takes, where these leave no doubt; None where they do.

    It must hold if all figures were half as large again, or two thirds: three pairs are then wrong less often than five are
    without that.
    """
    found = judge(claim, pairs)
    if found.effect is None:
        return None
    times = noise if claim.metric in TIMES else 1.0
    return without_doubt(claim, found.effect, judge_control(claim, pairs), times)


def without_doubt(
    claim: Claim, effect: Effect, control: Effect | None = None, noise: float = 1.0
) -> Judgement | None:
    """The same of an interval."""
    found = judge_effect(claim, effect, control)
    verdict, _ = _against(claim.least, effect, control, noise * NO_DOUBT)
    return found if verdict == found.verdict != "inconclusive" else None


def judge_effect(
    claim: Claim, effect: Effect, control: Effect | None = None, noise: float = 1.0
) -> Judgement:
    """What an interval says of the claim; `control` is the growth of the fast script."""
    verdict, reason = _against(claim.least, effect, control)
    if noise > 1:
        if verdict == "inconclusive" or _against(claim.least, effect, control, noise)[0] != verdict:
            seen = f"for a quarter of the time, the same work took {noise:.1f} times as long as at best"
            return Judgement("too noisy", f"machine too noisy to judge: {seen}; {reason}", effect)
    return Judgement(verdict, reason, effect)


def _against(least: float, effect: Effect, control: Effect | None, noise: float = 1.0) -> tuple[Verdict, str]:
    claimed = f"the claim is {least:g}×"
    interval = f"{effect.value:.3g}× ({effect.low:.3g} to {effect.high:.3g})"
    sure = moved(lasting(effect), noise)
    other = moved(lasting(control), noise) if control is not None else None
    if sure.high < least:
        return "refuted", f"{interval}; {claimed} at least"
    if other is not None and other.low >= least:
        return "refuted", f"the fast script grows as well: {other.value:.3g}×; {claimed}"
    if sure.low < least:
        near = " and too near for noise that lasts" if not effect.low < least <= effect.high else ""
        return "inconclusive", f"{interval}; {claimed} at least{near}"
    if other is not None and other.high >= least:
        return "inconclusive", f"the fast script may grow as well: up to {other.high:.3g}×; {claimed}"
    return "confirmed", f"{interval}; {claimed} at least"


def judge_control(claim: Claim, pairs: Sequence[Pair], confidence: float = CONFIDENCE) -> Effect | None:
    """How much the fast script grows, where a growth is claimed."""
    if claim.kind != "growth":
        return None
    return over_pairs([growth(SERIES[claim.metric](pair.fast)).value for pair in pairs], confidence)


def _judge_growth(claim: Claim, pairs: Sequence[Pair], confidence: float, noise: float) -> Judgement:
    series = SERIES.get(claim.metric)
    if series is None:
        return Judgement(
            "not measurable", f"{claim.metric} is measured once a run, so its growth is not known"
        )
    if any(len(series(run)) < 2 for pair in pairs for run in (pair.slow, pair.fast)):
        return Judgement("inconclusive", "too few steps to tell growth")
    slow = [growth(series(pair.slow)).value for pair in pairs]
    return judge_effect(claim, over_pairs(slow, confidence), judge_control(claim, pairs, confidence), noise)


def _runs(pair: Pair) -> tuple[Run, Run]:
    return pair.slow, pair.fast


def _ratio(claim: Claim, pair: Pair) -> float | None:
    slow, fast = (VALUES[claim.metric](run) for run in _runs(pair))
    return slow / fast if slow is not None and fast else None
