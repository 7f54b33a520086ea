"""From the runs of a version beside those of the original to what is to be done with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal

from tflint_perf.catalogue.figures import change, size
from tflint_perf.prove.printed import Printed, compare_printed
from tflint_perf.prove.times import LEAST_GAIN, Times, compare_times, hidden_gain, judge_times
from tflint_perf.prove.trial import Trial
from tflint_perf.report.summary import counted
from tflint_perf.verify.learning import Sameness, sameness
from tflint_perf.verify.records import Effect
from tflint_perf.verify.statistics import CONFIDENCE, is_of_few, judged_by, over_pairs

Status = Literal[
    "pays",
    "no difference",
    "slower",
    "different",
    "breaks",
    "unknown",  # it cannot be told whether it learns the same, or whether it is faster
    "not reached",
    "needs a GPU",
]


# An interval within these bounds of 1 says that there is no difference, a wider one that none was seen.
_EVEN: Final = 0.95


@dataclass(frozen=True, slots=True)
class Held:
    """What a version does to memory and to traces: medians over its runs, before and after.

    `growth` is bytes a step, `saved` how much less it is, by pairs. `grew` and `grows` say whether it does beyond doubt.
    """

    growth: tuple[float, float]
    saved: Effect
    grew: bool
    grows: bool
    traces: tuple[float, float]
    fewer_traces: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """What came of a version: `why` says it in a few words, beside the figures as far as there are any."""

    status: Status
    why: str
    pairs: int = 0
    times: Times | None = None
    held: Held | None = None
    learned: Sameness | None = None
    printed: Printed | None = None
    output: str = ""

    @property
    def pays(self) -> bool:
        """Whether it is to be kept."""
        return self.status == "pays"


@dataclass(frozen=True, slots=True)
class Baseline:
    """The runs of the original that others are held against.

    `reference` is the first, which what is learned is compared with; `control` has its weights nudged; `again` are
    those that were timed.
    """

    reference: Trial
    control: Trial
    again: tuple[Trial, ...] = ()


def judge(
    baseline: Baseline,
    before: Sequence[Trial],
    after: Sequence[Trial],
    confidence: float = CONFIDENCE,
    eagerly: Trial | None = None,
) -> Judged:
    """What runs of a version say, `after`, each with the run of the original next to it, `before`; `eagerly` is one where nothing
    of it was compiled."""
    broken = next((trial for trial in after if _breaks(trial, baseline.reference)), None)
    if broken is not None:
        why = broken.failure or f"exit code {broken.code} instead of {baseline.reference.code}"
        return Judged("breaks", f"it breaks the program: {why}", len(after), output=broken.output)
    learned = sameness(
        [trial.apart for trial in after],
        baseline.control.apart,
        [trial.apart for trial in baseline.again],
        eagerly.apart if eagerly is not None else None,
    )
    whole = all(trial.whole for trial in (baseline.reference, *baseline.again, *after))
    printed = compare_printed(
        [trial.printed for trial in (baseline.reference, *baseline.again)],
        baseline.control.printed,
        [trial.printed for trial in after],
        whole=whole,
    )
    times, held = compare_times(before, after, confidence), compare_held(before, after, confidence)
    status, why = _status(times, held, learned, printed)
    return Judged(status, why, len(after), times, held, learned, printed)


def is_hidden_by_rounding(judged: Judged, baseline: Baseline) -> bool:
    """Whether a run of the version in which nothing is compiled could tell whether it learns the same, as nothing of the original is."""
    return judged.learned is not None and judged.learned.hidden and not baseline.reference.traces


def _breaks(trial: Trial, original: Trial) -> bool:
    return bool(trial.failure) or (trial.whole and original.whole and trial.code != original.code)


def _status(times: Times | None, held: Held, learned: Sameness, printed: Printed) -> tuple[Status, str]:
    if learned.verdict == "different":
        return "different", f"it learns something else: {learned.why}"
    if printed.verdict == "different" and not learned.draws_apart:
        return "different", f"it prints something else: {printed.why}"
    if learned.verdict == "unknown":
        return "unknown", f"it is unclear whether it learns the same: {learned.why}"
    if times is None:
        return "unknown", "there are too few steps to time"
    verdict, more = judge_times(times)
    gains = [*(["faster"] if verdict == "faster" else []), *held_gains(held)]
    if verdict == "slower":
        kept = f", though {' and '.join(held_gains(held))}" if held_gains(held) else ""
        slows = f"it slows {_all(times) if hidden_gain(times) else 'the program'}"
        return "slower", f"{slows}{f': {more}' if more else ''}{kept}"
    if verdict == "unknown":
        return "unknown", f"it is unclear whether it is faster: {more}"
    if gains:
        return "pays", "; ".join([*gains[:1], *([more] if more else []), *gains[1:]])
    if more:
        return "no difference", f"no difference over {_all(times)}: {more}"
    low, high = times.stretch.effect.low, times.stretch.effect.high
    if is_of_few(times.stretch.effect):
        return "no difference", f"so few runs leave it open: {low:.2f}× to {high:.2f}×"
    sure = judged_by(times.stretch.effect)
    if min(sure.low, 1 / sure.high) > _EVEN:
        return "no difference", "it makes no difference here"
    between = f"{low:.2f}× to {high:.2f}×"
    if low > 1:
        return "no difference", f"all pairs of runs were faster, though not beyond doubt: {between}"
    return "no difference", f"no difference was seen between runs that differ: {between}"


def _all(times: Times) -> str:
    return f"all {times.steps} steps of the program" if times.whole else f"{times.steps} steps"


def is_of_some(judged: Judged) -> bool:
    """Whether what came of several fixes together may be the doing of some of them, so that it is to be found out of which.

    A slow start is no fault: it is made good for, or not, by more steps.
    """
    learned, times = judged.learned, judged.times
    match judged.status:
        case "breaks" | "different":
            return True
        case "slower":
            return times is None or hidden_gain(times) is None
        case "unknown":
            # The rest is of the program itself, or of steps that are too few.
            other_steps = learned is not None and learned.apart is None and learned.control is not None
            return other_steps or (learned is not None and learned.draws_apart)
    return False


def is_left_open(judged: Judged) -> bool:
    """Whether no run says that a version is not faster, so that as many again may show that it is."""
    if judged.status != "no difference" or judged.times is None:
        return False
    effects = (judged.times.stretch.effect, judged.times.total.effect)
    return any(effect.low > 1 and effect.value >= 1 + LEAST_GAIN for effect in effects)


def compare_held(before: Sequence[Trial], after: Sequence[Trial], confidence: float = CONFIDENCE) -> Held:
    """What became of memory and traces, pair by pair."""
    saved = [one.memory_slope - other.memory_slope for one, other in zip(before, after, strict=True)]
    traces = tuple([trial.traces for trial in side] for side in (before, after))
    return Held(
        (_middle([trial.memory_slope for trial in before]), _middle([trial.memory_slope for trial in after])),
        over_pairs(saved, confidence),
        _most([trial.grows for trial in before]),
        _most([trial.grows for trial in after]),
        (_middle(traces[0]), _middle(traces[1])),
        max(traces[1]) < min(traces[0]),
    )


def held_gains(held: Held) -> list[str]:
    """What a version saves of memory and traces, in words."""
    gains = []
    before, after = held.growth
    if held.grew and held.saved.low > 0 and (not held.grows or after <= before / 2):
        gains.append(
            f"memory grows by {_a_step(after) if held.grows else 'nothing'} instead of {_a_step(before)}"
        )
    if held.fewer_traces:
        gains.append(f"{counted(round(held.traces[1]), 'trace')} instead of {held.traces[0]:,.0f}")
    return gains


def _a_step(value: float) -> str:
    return f"{change(size(value))} a step"


def _middle(values: Sequence[float]) -> float:
    return float(median(values))


def _most(flags: Sequence[bool]) -> bool:
    return sum(flags) * 2 > len(flags)
