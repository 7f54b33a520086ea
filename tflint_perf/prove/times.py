"""How long two versions take, pair by pair: a step, a whole stretch of steps, and the way to the last of them.

A median step lies where work moves between the first step and the others: with a shuffle in front of a map, the buffer is
filled with samples that are not mapped yet, which halves the time of an epoch and doubles the median step. So it is shown,
and the other two are judged.

Of few steps they hide what later steps save, where a function is traced first: that is said, with the step from which on it
would pay, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from statistics import median
from typing import Final, Literal

from tflint_perf.catalogue.figures import count, seconds
from tflint_perf.prove.trial import Trial, median_step
from tflint_perf.verify.records import Effect
from tflint_perf.verify.statistics import CONFIDENCE, judged_by, over_pairs

# What saves less than this share is not worth a change of the code, and cannot be told from a machine's moods.
LEAST_GAIN: Final = 0.01
# After so many times the steps in which a slow start is made good for, three quarters of what the steps save are gained.
_TIMES_EVEN: Final = 4.0
# The first run of the original may take longer than those that were timed.
_TIME_TO_SPARE: Final = 1.25

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
    from the program's start to the end of the last of them, `first` that to the end of the first, `later` the mean of the
    steps from the middle on.

    `whole` says that the program came to its own end.
    """

    steps: int
    whole: bool
    step: Timed
    stretch: Timed
    total: Timed
    first: Timed
    later: Timed

    @property
    def middle(self) -> int:
        """The step before the later ones."""
        return _middle(self.steps)


@dataclass(frozen=True, slots=True)
class Hidden:
    """What the start of a run hides: beyond doubt the later steps, from `since` on, are faster, but not the way to the last.

    The start takes `start` seconds longer, which is made good for in the step `pays_from`. To see it, a run needs about
    `steps` steps, or `seconds`.
    """

    since: int
    start: float
    pays_from: float
    steps: int
    seconds: int


def _middle(steps: int) -> int:
    return max(steps // 2, 1)


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
        timed(
            lambda trial: (
                (trial.ends[last(trial) - 1] - trial.ends[_middle(steps) - 1])
                / (last(trial) - _middle(steps))
            )
        ),
    )


def judge_times(times: Times) -> tuple[TimeVerdict, str]:
    """Whether a version is faster, and what is to be said of it beyond that."""
    verdict, more = _judge(times)
    hidden = hidden_gain(times)
    return verdict, more if hidden is None else _in_words(hidden, times)


def hidden_gain(times: Times) -> Hidden | None:
    """What the later steps of a version save that is not faster, where both their median and their mean do beyond doubt."""
    faster_later = times.step.way == "up" and times.later.way == "up"
    if not faster_later or _judge(times)[0] not in ("no difference", "slower"):
        return None
    even = _even_at(times, times.later)
    steps = _rounded_up(_TIMES_EVEN * max(even, times.steps))
    return Hidden(
        times.middle + 1,
        even * (times.later.before - times.later.after),
        even,
        steps,
        ceil(_TIME_TO_SPARE * steps * times.stretch.before),
    )


def _in_words(hidden: Hidden, times: Times) -> str:
    said = f"its later steps take {seconds(times.later.after)} instead of {seconds(times.later.before)}"
    if hidden.pays_from <= times.steps:
        return f"{said}, which are too few to show beside the start"
    return f"{said}, but the start takes {seconds(hidden.start)} longer: it would pay from step {count(hidden.pays_from)} on"


def _rounded_up(value: float) -> int:
    """To two figures: 852 to 860."""
    unit = 10 ** max(floor(log10(value)) - 1, 0)
    return int(ceil(value / unit) * unit)


def _judge(times: Times) -> tuple[TimeVerdict, str]:
    stretch, total = times.stretch.way, times.total.way
    if times.whole and total != "flat":
        return ("faster" if total == "up" else "slower"), ""
    match stretch, total:
        case "up", "down":
            return (
                "faster",
                f"from step {count(max(_even_at(times, times.stretch), 1.0))} on, since the start takes {_longer(times)} longer",
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


def _even_at(times: Times, steps: Timed) -> float:
    """The step in which what such steps save has made good for the start."""
    saved = max(steps.before - steps.after, 1e-9)
    return times.steps + (times.total.after - times.total.before) / saved
