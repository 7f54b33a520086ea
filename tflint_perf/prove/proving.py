"""Which version runs next, and what all of them come to: fixes that do the same together, and each of them alone where one may
be at fault; then all that pay together."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tflint_perf.catalogue.rules import catalogue
from tflint_perf.measured.record import Spot
from tflint_perf.problems import ConfigError
from tflint_perf.prove.fixes import Alike, PlacedFix, Version, groups_of
from tflint_perf.prove.judging import (
    Baseline,
    Judged,
    is_hidden_by_rounding,
    is_left_open,
    is_of_some,
    judge,
)
from tflint_perf.prove.leaving_out import Search, suspects_of
from tflint_perf.prove.times import LEAST_GAIN
from tflint_perf.prove.trial import Trial
from tflint_perf.verify.runner import order
from tflint_perf.verify.statistics import LOOKS

# A version without any fix.
ORIGINAL: Version = frozenset()
# So many pairs are enough to tell by themselves what is plain.
_ENOUGH = 5
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
        """The original with its weights nudged."""

    def eagerly(self, fixes: Version) -> Trial:
        """Any version, with nothing of it compiled: for what it learns, not for how long it takes."""

    def version(self, fixes: Version) -> Trial:
        """Any version, as it is."""


@dataclass(frozen=True, slots=True)
class Options:
    """How often each version runs, and whether fixes are tried one by one."""

    pairs: int
    one_by_one: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a fix by itself, or of a group of them together; `apart` says that each was tried by itself after that."""

    fixes: Alike
    judged: Judged
    apart: bool = False


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found out: of each fix or group, and of those that pay together, with the runs that the last rests on.

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


def runs_needed(
    fixes: Sequence[PlacedFix], options: Options, others: Mapping[PlacedFix, PlacedFix] | None = None
) -> int:
    """How many runs a proof takes at most, if nothing is left open: where each group has a fix at fault, and nothing pays till
    all was tried."""
    if not fixes:
        return 0
    if not options.one_by_one:
        return 2 + 2 * options.pairs
    return 2 + _runs_left(groups_of(fixes), 0, options, others or {})


def _runs_left(
    groups: Sequence[Alike], paying: int, options: Options, others: Mapping[PlacedFix, PlacedFix]
) -> int:
    """How many runs are left at most before these groups are tried, with so many that pay already."""
    runs = 2 * options.pairs if paying + sum(map(len, groups)) > 1 else 0
    while groups:
        runs += options.pairs * (1 + len(groups))
        groups = _next(groups, [group for group in groups if len(group) > 1], others)
    return runs


def prove(
    fixes: Sequence[PlacedFix],
    running: Running,
    options: Options,
    others: Mapping[PlacedFix, PlacedFix] | None = None,
    expect: Callable[[int], None] = lambda runs: None,
) -> Proof:
    """Try each group of fixes by itself, and one by one the fixes of those in which one may be at fault, then all that pay together.

    `others` says what to try where a fix does not pay; `expect` is told how many runs are left at most whenever more is known.

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
    outcomes = [Outcome((fix,), judged) for fix, judged in idle.items() if judged is not None]
    if not seen:
        return Proof(reference, tuple(outcomes))
    baseline = Baseline(reference, running.control())
    others = others or {}
    if not options.one_by_one:
        return _all_but_few(tuple(seen), tuple(outcomes), baseline, running, options, others, expect)
    paying: dict[Alike, _Tried] = {}
    groups, stopped = groups_of(seen), 0
    while groups and not stopped:
        expect(_runs_left(groups, len(paying), options, others))
        baseline, tried, stopped = _in_turn(groups, baseline, running, options)
        left_out = [group for group in groups if not tried[group][0].pays]
        apart = (
            [] if stopped else [group for group in left_out if len(group) > 1 and is_of_some(tried[group][0])]
        )
        outcomes += [Outcome(group, tried[group][0], group in apart) for group in groups]
        paying |= {group: tried[group] for group in groups if group not in left_out}
        groups = _next(left_out, apart, others)
    kept = tuple(sorted(fix for group in paying for fix in group))
    everything = tuple(sorted(outcomes, key=lambda outcome: outcome.fixes))
    if not kept or stopped:
        return Proof(reference, everything, stopped=stopped)
    if len(paying) == 1:  # which has just been proved
        ((judged, before, after),) = paying.values()
        return Proof(reference, everything, kept, judged, before, after)
    expect(2 * options.pairs)
    return _together(kept, everything, baseline, running, options)


def _next(
    left_out: Sequence[Alike], apart: Collection[Alike], others: Mapping[PlacedFix, PlacedFix]
) -> list[Alike]:
    """What is tried after what was left out: the fixes of these groups one by one, and instead of the rest what else there is."""
    instead = [others[fix] for group in left_out if group not in apart for fix in group if fix in others]
    return [*((fix,) for group in apart for fix in group), *groups_of(instead)]


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


def _in_turn(
    groups: Sequence[Alike], baseline: Baseline, running: Running, options: Options
) -> tuple[Baseline, dict[Alike, _Tried], int]:
    """Each group by itself, beside runs of the original that all of them share; last, the signal that has ended it early.

    What was faster in all pairs, though not beyond doubt, gets as many again; a single fix does not where few were asked for.
    """
    earlier = baseline.again
    before: list[Trial] = []
    after: dict[Alike, list[Trial]] = {group: [] for group in groups}
    done: dict[Alike, Judged] = {}
    eager: dict[Alike, Trial] = {}
    left, stopped = list(groups), 0
    try:
        for turn in range(2 * options.pairs):
            left = [group for group in left if group not in done]
            if turn == options.pairs:
                left = [
                    group
                    for group in left
                    if is_left_open(judge(baseline, before, after[group], eagerly=eager.get(group)))
                    and (len(group) > 1 or options.pairs >= _ENOUGH)
                ]
            if not left:
                break
            versions: list[Alike] = [(), *left]
            # A F1 F2, F2 F1 A, as in `order`: whatever drifts with time hits all alike.
            for group in versions if turn % 2 == 0 else versions[::-1]:
                trial = running.version(frozenset(group)) if group else _original(running)
                (after[group] if group else before).append(trial)
            baseline = replace(baseline, again=(*earlier, *before))
            for group in left:
                judged = judge(baseline, before[: len(after[group])], after[group], eagerly=eager.get(group))
                if group not in eager and is_hidden_by_rounding(judged, baseline):
                    eager[group] = running.eagerly(frozenset(group))
                if judged.status == "breaks" or (judged.status == "different" and turn + 1 >= _KNOWN_AFTER):
                    done[group] = judged
    except Stopped as stop:
        stopped, baseline = stop.number, replace(baseline, again=(*earlier, *before))
    tried = {
        group: _in_pairs(
            baseline,
            before,
            runs,
            done.get(group),
            LOOKS[1] if len(runs) > options.pairs else LOOKS[0],
            eager.get(group),
        )
        for group, runs in after.items()
    }
    return baseline, tried, stopped


def _in_pairs(
    baseline: Baseline,
    before: Sequence[Trial],
    after: Sequence[Trial],
    judged: Judged | None = None,
    confidence: float = LOOKS[0],
    eagerly: Trial | None = None,
) -> _Tried:
    """What runs of a version say beside as many of the original, unless that is known."""
    pairs = min(len(before), len(after))
    one, other = tuple(before[:pairs]), tuple(after[:pairs])
    if judged is None:
        judged = (
            judge(baseline, one, other, confidence, eagerly)
            if pairs
            else Judged("unknown", "it was not run to its end")
        )
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
    eager: Trial | None = None
    try:
        for confidence in LOOKS:
            for side in order(len(before) or options.pairs):
                if side == "slow":
                    before.append(_original(running))
                else:
                    after.append(running.version(version))
                if _is_given_up(baseline, before, after):
                    break
            timed = Baseline(baseline.reference, baseline.control, (*baseline.again, *before))
            beside = before[: len(after)] or [baseline.reference]
            judged = judge(timed, beside, after, confidence, eager)
            if eager is None and is_hidden_by_rounding(judged, timed):
                eager = running.eagerly(version)
                judged = judge(timed, beside, after, confidence, eager)
            if judged.status != "no difference" or not _may_pay(judged):
                break
    except Stopped as stop:
        timed = Baseline(baseline.reference, baseline.control, (*baseline.again, *before))
        judged, one, other = _in_pairs(timed, before, after, eagerly=eager)
        return Proof(baseline.reference, outcomes, kept, judged, one, other, stop.number)
    return Proof(baseline.reference, outcomes, kept, judged, tuple(before[: len(after)]), tuple(after))


def _all_but_few(
    fixes: tuple[PlacedFix, ...],
    outcomes: tuple[Outcome, ...],
    baseline: Baseline,
    running: Running,
    options: Options,
    others: Mapping[PlacedFix, PlacedFix],
    expect: Callable[[int], None],
) -> Proof:
    """All at once, and where that does not do because of some, without these; `others` are tried instead of them."""
    proof = _together(fixes, outcomes, baseline, running, options)
    judged = proof.whole
    if judged is None or proof.stopped or not is_of_some(judged):
        return proof
    if len(fixes) == 1 and fixes[0] not in others:
        return proof
    baseline = replace(baseline, again=(*baseline.again, *proof.before))
    by_time = judged.status == "slower"
    attempt = _timed if by_time else _tried_once
    search = Search(lambda version: attempt(version, baseline, running, options), {frozenset(fixes): judged})
    # Each is asked about by itself and as the last of a part, at most.
    expect(2 * (2 * options.pairs if by_time else 1) * len(fixes) + 2 * options.pairs)
    stopped = 0
    try:
        search.admit(fixes, suspects_of(fixes, judged))
        search.admit([others[fix] for fix in search.left_out if fix in others])
    except Stopped as stop:
        stopped = stop.number
    # The runs are those of several fixes, so that no figures are told of one.
    left_out = [
        Outcome((fix,), Judged(of.status, of.why, output=of.output)) for fix, of in search.left_out.items()
    ]
    everything = tuple(sorted((*outcomes, *left_out), key=lambda outcome: outcome.fixes))
    if stopped:
        return replace(proof, outcomes=everything, stopped=stopped)
    if not search.kept:
        return Proof(baseline.reference, everything)
    if not left_out:
        return proof
    expect(2 * options.pairs)
    kept = tuple(sorted(search.kept))
    return _all_but_few(kept, everything, baseline, running, options, {}, expect)


def _timed(version: Version, baseline: Baseline, running: Running, options: Options) -> Judged:
    """What a version's runs say in turn with the original, as those of all that pay do."""
    proof = _together(tuple(sorted(version)), (), baseline, running, options)
    if proof.stopped or proof.whole is None:
        raise Stopped(proof.stopped)
    return proof.whole


def _tried_once(version: Version, baseline: Baseline, running: Running, options: Options) -> Judged:
    """What one run of a version says, which is enough to see what it learns; where rounding hides that, one more."""
    before, after = baseline.again[-1:], [running.version(version)]
    judged = judge(baseline, before, after)
    if not is_hidden_by_rounding(judged, baseline):
        return judged
    return judge(baseline, before, after, eagerly=running.eagerly(version))


def _is_given_up(baseline: Baseline, before: Sequence[Trial], after: Sequence[Trial]) -> bool:
    """Whether it is known before all of its runs that a version does something else than the original."""
    if not after or after[-1].failure:
        return bool(after)
    if len(after) < _KNOWN_AFTER or len(before) < _KNOWN_AFTER:
        return False
    baseline = replace(baseline, again=(*baseline.again, *before))
    pairs = min(len(before), len(after))
    judged = judge(baseline, before[:pairs], after[:pairs])
    if judged.status == "slower" or is_hidden_by_rounding(judged, baseline):
        return False  # more runs may show otherwise
    return is_of_some(judged)


def _may_pay(judged: Judged) -> bool:
    """Whether more pairs could show that a version is faster."""
    times = judged.times
    return times is not None and max(times.stretch.effect.value, times.total.effect.value) >= 1 + LEAST_GAIN


def _original(running: Running) -> Trial:
    trial = running.version(ORIGINAL)
    if trial.failure:
        raise ConfigError(f"the program without fixes failed in a later run: {trial.failure}", "prove")
    return trial
