"""Which version runs next, and what all of them come to: each fix alone, then those that pay together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from tflint_perf.catalogue.rules import catalogue
from tflint_perf.measured.record import Spot
from tflint_perf.problems import ConfigError
from tflint_perf.prove.fixes import PlacedFix
from tflint_perf.prove.judging import Baseline, Judged, judge
from tflint_perf.prove.times import LEAST_GAIN
from tflint_perf.prove.trial import Trial
from tflint_perf.verify.runner import order
from tflint_perf.verify.statistics import LOOKS

# The original without fixes, and one or all of them.
Version = frozenset[PlacedFix]
ORIGINAL: Version = frozenset()
# After so many rounds it is known whether the program gives the same twice.
_KNOWN_AFTER = 2


class Stopped(BaseException):  # a wish of the user's, not an error
    """It is to end, and what is known by then is told. `number` is that of the signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Running(Protocol):
    """Runs a version once, in a copy of its own."""

    def reference(self, probes: Sequence[Spot]) -> tuple[Trial, Collection[Spot]]:
        """The first run of the original, which settles how many steps the others do; and which of the rows it reached.

        Raises:
            ConfigError: it does not run, or does not train.
        """

    @property
    def has_gpu(self) -> bool:
        """Whether the first run of the original saw a GPU."""

    def control(self) -> Trial:
        """The original with its first weights nudged."""

    def version(self, fixes: Version) -> Trial:
        """Any version, as it is."""


@dataclass(frozen=True, slots=True)
class Options:
    """How often each version runs, and whether fixes are tried one by one."""

    pairs: int
    one_by_one: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one fix by itself."""

    fix: PlacedFix
    judged: Judged


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found out: of each fix, and of those that pay together, with the runs that the last rests on.

    `whole` is None where no fix was left to be proved together with others. `before` and `after` are its pairs of runs.
    `reference` is the first run of the original; None where there was nothing to fix, so that nothing ran. `stopped` is the
    number of the signal that ended it early: what is said of a fix is then what was known by then, and nothing is proved.
    """

    reference: Trial | None
    outcomes: tuple[Outcome, ...]
    kept: tuple[PlacedFix, ...] = ()
    whole: Judged | None = None
    before: tuple[Trial, ...] = ()
    after: tuple[Trial, ...] = ()
    stopped: int = 0

    @property
    def proved(self) -> tuple[PlacedFix, ...]:
        """The fixes that may be applied."""
        return self.kept if self.whole is not None and self.whole.pays and not self.stopped else ()


def runs_needed(fixes: int, options: Options) -> int:
    """How many runs a proof takes at most, if nothing is left open."""
    if not fixes:
        return 0
    alone = options.pairs * (fixes + 1) if options.one_by_one else 0
    together = 2 * options.pairs if fixes > 1 or not options.one_by_one else 0
    return 2 + alone + together


def prove(
    fixes: Sequence[PlacedFix],
    running: Running,
    options: Options,
    others: Mapping[PlacedFix, PlacedFix] | None = None,
) -> Proof:
    """Try each fix by itself, then those that pay together. `others` says what to try where one does not pay.

    Raises:
        ConfigError: the original does not run.
        Stopped: it is to end, and nothing is known yet.
    """
    if not fixes:
        return Proof(None, ())
    reference, rows = running.reference([spot for fix in fixes for spot in spots_of(fix)])
    reached = frozenset(rows)
    idle = {fix: _why_not_run(fix, reached, running.has_gpu) for fix in fixes}
    seen = [fix for fix in fixes if idle[fix] is None]
    unseen = tuple(Outcome(fix, judged) for fix, judged in idle.items() if judged is not None)
    if not seen:
        return Proof(reference, unseen)
    baseline = Baseline(reference, running.control())
    if not options.one_by_one:
        return _together(tuple(seen), unseen, baseline, running, options)
    baseline, tried, stopped = _alone(seen, baseline, running, options)
    again = (
        [others[fix] for fix, (judged, _, _) in tried.items() if not judged.pays and fix in others]
        if others
        else []
    )
    if again and not stopped:
        baseline, more, stopped = _alone(again, baseline, running, options)
        tried |= more
    outcomes = tuple(Outcome(fix, judged) for fix, (judged, _, _) in tried.items())
    kept = tuple(outcome.fix for outcome in outcomes if outcome.judged.pays)
    everything = tuple(sorted((*outcomes, *unseen), key=lambda outcome: outcome.fix))
    if not kept or stopped:
        return Proof(reference, everything, stopped=stopped)
    if len(kept) == 1:  # which has just been proved
        judged, before, after = tried[kept[0]]
        return Proof(reference, everything, kept, judged, before, after)
    return _together(kept, everything, baseline, running, options)


def _why_not_run(fix: PlacedFix, reached: Collection[Spot], has_gpu: bool) -> Judged | None:
    """What is known of a fix without a run of it."""
    if not any(spot in reached for spot in spots_of(fix)):
        return Judged("not reached", "the run does not get there")
    rule = catalogue().get(fix.code)
    if not has_gpu and rule is not None and rule.claim is not None and rule.claim.needs_gpu:
        return Judged("needs a GPU", "what it saves is seen on a GPU, and the run had none")
    return None


def spots_of(fix: PlacedFix) -> Iterator[Spot]:
    """The rows of what was found."""
    for row in range(fix.row, max(fix.last_row, fix.row) + 1):
        yield Spot(fix.file, row, fix.cell)


_Tried = tuple[Judged, tuple[Trial, ...], tuple[Trial, ...]]


def _alone(
    fixes: Sequence[PlacedFix], baseline: Baseline, running: Running, options: Options
) -> tuple[Baseline, dict[PlacedFix, _Tried], int]:
    """Each fix by itself, beside runs of the original that all of them share; last, the signal that has ended it early."""
    before: list[Trial] = []
    after: dict[PlacedFix, list[Trial]] = {fix: [] for fix in fixes}
    done: dict[PlacedFix, Judged] = {}
    stopped = 0
    try:
        for turn in range(options.pairs):
            left = [fix for fix in fixes if fix not in done]
            if not left:
                break
            versions: list[PlacedFix | None] = [None, *left]
            # A F1 F2, F2 F1 A, as in `order`: whatever drifts with time hits all alike.
            for fix in versions if turn % 2 == 0 else versions[::-1]:
                trial = _original(running) if fix is None else running.version(frozenset({fix}))
                (before if fix is None else after[fix]).append(trial)
            baseline = Baseline(baseline.reference, baseline.control, tuple(before))
            for fix in left:
                judged = judge(baseline, before[: len(after[fix])], after[fix])
                if judged.status == "breaks" or (judged.status == "different" and turn + 1 >= _KNOWN_AFTER):
                    done[fix] = judged
    except Stopped as stop:
        stopped, baseline = stop.number, Baseline(baseline.reference, baseline.control, tuple(before))
    tried = {fix: _in_pairs(baseline, before, after[fix], done.get(fix)) for fix in fixes}
    return baseline, tried, stopped


def _in_pairs(
    baseline: Baseline, before: Sequence[Trial], after: Sequence[Trial], judged: Judged | None = None
) -> _Tried:
    """What runs of a version say beside as many of the original, unless that is known."""
    pairs = min(len(before), len(after))
    one, other = tuple(before[:pairs]), tuple(after[:pairs])
    if judged is None:
        judged = judge(baseline, one, other) if pairs else Judged("unknown", "it was not run to its end")
    return judged, one, other


def _together(
    kept: tuple[PlacedFix, ...],
    outcomes: tuple[Outcome, ...],
    baseline: Baseline,
    running: Running,
    options: Options,
) -> Proof:
    """All that pay at once; what the pairs leave open gets as many again, as in `verify`."""
    version = frozenset(kept)
    before: list[Trial] = []
    after: list[Trial] = []
    judged: Judged | None = None
    try:
        for confidence in LOOKS:
            for side in order(len(before) or options.pairs):
                if side == "slow":
                    before.append(_original(running))
                else:
                    after.append(running.version(version))
                if after and after[-1].failure:
                    break
            timed = Baseline(baseline.reference, baseline.control, (*baseline.again, *before))
            judged = judge(timed, before[: len(after)] or [baseline.reference], after, confidence)
            if judged.status != "no difference" or not _may_pay(judged):
                break
    except Stopped as stop:
        timed = Baseline(baseline.reference, baseline.control, (*baseline.again, *before))
        judged, one, other = _in_pairs(timed, before, after)
        return Proof(baseline.reference, outcomes, kept, judged, one, other, stop.number)
    return Proof(baseline.reference, outcomes, kept, judged, tuple(before[: len(after)]), tuple(after))


def _may_pay(judged: Judged) -> bool:
    """Whether more pairs could show that a version is faster."""
    times = judged.times
    return times is not None and max(times.stretch.effect.value, times.total.effect.value) >= 1 + LEAST_GAIN


def _original(running: Running) -> Trial:
    trial = running.version(ORIGINAL)
    if trial.failure:
        raise ConfigError(f"the program without fixes failed in a later run: {trial.failure}", "prove")
    return trial
