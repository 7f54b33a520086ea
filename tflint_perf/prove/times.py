"""How long two versions take, pair by pair: a step, a whole stretch of steps, and the way to the last of them.

A median step lies where work moves between the first step and the others: with a shuffle in front of a map, the buffer is
filled with samples that are not mapped yet, which halves the time of an epoch and doubles the median step. So it is shown,
and the other two are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal

from tflint_perf.catalogue.figures import count, seconds
from tflint_perf.prove.trial import Trial, median_step
from tflint_perf.verify.records import Effect
from tflint_perf.verify.statistics import CONFIDENCE, judged_by, over_pairs

# What saves less than this share is not worth a change of the code, and cannot be told from a machine's moods.
LEAST_GAIN: Final = 0.01

Way = Literal["up", "flat", "down"]
TimeVerdict = Literal["faster", "slower", "no difference", "unknown"]


@dataclass(frozen=True, slots=True)
class Timed:
    """A figure before and after, medians over the runs in seconds, and how many times as fast it has become."""

    before: float
    after: float
    effect: Effect

    @property
    def way(self) -> Way:
        """Where it moved beyond doubt, as sure as a verdict on a claim is: what disturbs a machine lasts from run to run."""
        sure = judged_by(self.effect)
        if sure.low > 1 and self.effect.value >= 1 + LEAST_GAIN:
            return "up"
        if sure.high < 1 and self.effect.value <= 1 - LEAST_GAIN:
            return "down"
        return "flat"


@dataclass(frozen=True, slots=True)
class Times:
    """The times of two versions: `step` is the median, `stretch` the mean of the steps 2 to `steps`, `total` the way
    from the program's start to the end of the last of them, `first` that to the end of the first.

    `whole` says that the program came to its own end.
    """

    steps: int
    whole: bool
    step: Timed
    stretch: Timed
    total: Timed
    first: Timed


def compare_times(
    before: Sequence[Trial], after: Sequence[Trial], confidence: float = CONFIDENCE
) -> Times | None:
    """The times of pairs of runs; None where there are too few steps to tell."""
    whole = all(trial.whole for trial in (*before, *after))
    steps = min(trial.steps for trial in (*before, *after))
    if steps < 2:
        return None

    def timed(measure: Callable[[Trial], float]) -> Timed:
        here, there = ([max(measure(trial), 1e-9) for trial in side] for side in (before, after))
        ratios = [one / other for one, other in zip(here, there, strict=True)]
        return Timed(median(here), median(there), over_pairs(ratios, confidence))

    def last(trial: Trial) -> int:
        return trial.steps if whole else steps

    return Times(
        steps,
        whole,
        timed(median_step),
        timed(lambda trial: (trial.ends[last(trial) - 1] - trial.ends[0]) / (last(trial) - 1)),
        timed(lambda trial: trial.ends[last(trial) - 1]),
        timed(lambda trial: trial.ends[0]),
    )


def judge_times(times: Times) -> tuple[TimeVerdict, str]:
    """Whether a version is faster, and what is to be said of it beyond that."""
    stretch, total = times.stretch.way, times.total.way
    if times.whole and total != "flat":
        return ("faster" if total == "up" else "slower"), ""
    match stretch, total:
        case "up", "down":
            return (
                "faster",
                f"from step {_break_even(times)} on, since the start takes {_longer(times)} longer",
            )
        case "down", "up":
            return (
                "unknown",
                "work moves from the first step to the others: let --steps and --seconds cover whole epochs",
            )
        case ("up", _) | ("flat", "up"):
            return "faster", ""
        case "flat", "down":
            return "slower", f"the start takes {_longer(times)} longer, and the steps no less"
        case "down", _:
            return "slower", ""
    return "no difference", ""


def _longer(times: Times) -> str:
    return seconds(times.first.after - times.first.before)


def _break_even(times: Times) -> str:
    """The step from which on what the steps save has made good for the start."""
    saved = times.stretch.before - times.stretch.after
    lost = times.first.after - times.first.before
    return count(max(lost / saved, 1.0)) if saved > 0 else "?"
