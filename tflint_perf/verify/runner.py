"""Runs experiments: a fresh process a run, slow and fast in turn, and a verdict whatever happens."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tflint_perf.verify.experiment import Experiment
from tflint_perf.verify.machine import Machine
from tflint_perf.verify.metrics import COUNTED, run_of
from tflint_perf.verify.nursery import Nursery, NurseryError
from tflint_perf.verify.plan import Plan
from tflint_perf.verify.process import Child, DeviceKind, Failure
from tflint_perf.verify.records import Losses, Pair, Result
from tflint_perf.verify.statistics import LEAST_PAIRS, LOOKS, PAIRS_TO_SETTLE
from tflint_perf.verify.values import (
    Values,
    agreement,
    compare_losses,
    compare_values,
    disagreement,
    values_of,
)
from tflint_perf.verify.verdict import Judgement, judge, settled
from tflint_perf.verify.worse import worse

Side = Literal["slow", "fast"]
QUICK_STEPS = 20
# What runs longer hangs, also on a machine that is several times slower than one where the longest run takes a minute.
SECONDS_A_RUN = 300.0
# What a run is asked for unless the claim says otherwise. It ends sooner, once the steps that it has timed took
# so long, or less where they are much alike; where growth is claimed, it does not.
_STEPS, _SECONDS, _TOLD_AFTER = 500, 1.0, 0.4
_SECONDS_TO_SETTLE = 0.6
_STEPS_FOR_GROWTH = 600
_SAMPLES_FOR_GROWTH = 7
# Values are compared over so much of what the slow script does, and the rest is not timed: less where its steps are short.
_SECONDS_COMPARED, _SOONER = 5.0, (60, 1.5)
# On a GPU a fused kernel rounds in another way than single ones do, and training multiplies that from step to step.
_TOLERANCE_ON_GPU = 1e-4
# First uses of kernels that are to be there before a first step is timed.
_STEPS_BEFORE = 20


@dataclass(frozen=True, slots=True)
class Options:
    """How experiments are run. `timeout` is in seconds a run; `cores` processes are made ready at a time.

    `python` runs the scripts. Without a `machine`, it is not looked at whether that is calm. With `settle`, a verdict is all that is asked for: three pairs
    do where these leave no doubt, and runs are timed for a shorter time.
    """

    device: DeviceKind = "cpu"
    pairs: int = LEAST_PAIRS
    steps: int | None = None
    timeout: float = SECONDS_A_RUN
    quick: bool = False
    cores: int = 2
    machine: Machine | None = None
    settle: bool = False
    python: str = sys.executable

    @property
    def runs(self) -> int:
        """How many runs an experiment takes, if it leaves nothing open."""
        return 2 * (1 if self.quick else self.pairs)


def plan_of(experiment: Experiment, options: Options) -> Plan:
    """How many steps, and for how long."""
    claim = experiment.claim
    own = experiment.size.steps if experiment.size else None
    steps = options.steps or own or claim.steps
    if options.quick:
        return Plan(min(options.steps or QUICK_STEPS, steps or QUICK_STEPS))
    counted = claim.metric in COUNTED
    if claim.kind == "growth":
        return Plan(steps or _STEPS_FOR_GROWTH, samples=_SAMPLES_FOR_GROWTH if counted else 0)
    samples = 2 if counted else 0
    if steps:
        return Plan(steps, samples=samples)
    seconds = _SECONDS_TO_SETTLE if options.settle else _SECONDS
    return Plan(_STEPS, seconds, told_after=_TOLD_AFTER, samples=samples)


def run_experiment(
    experiment: Experiment, options: Options, on_run: Callable[[], None], nursery: Nursery | None = None
) -> Result:
    """Run all pairs and judge them. `on_run` is called after each run. What a script does never raises here.

    With a `nursery`, a run is a fork of it where the scripts allow it, which spares the import of TensorFlow.
    What the pairs leave open gets as many again, at most twice: a few disturbed runs decide less among more.
    """
    plan = plan_of(experiment, options)
    nothing = Result("failed", "", experiment.claim, plan.steps)
    if experiment.claim.needs_gpu and options.device == "cpu" and not options.quick:
        return replace(nothing, verdict="not measurable", reason="needs a GPU")
    running = _Running(experiment, options, nursery, on_run)
    try:
        losses = running.compare(plan)
        if running.hidden:
            reason = "its scripts hide the GPU; `--device cpu` measures it"
            return replace(nothing, verdict="not measurable", reason=reason)
        judgement = running.judge(plan, losses) if losses.agree and not options.quick else None
    except Failure as failure:
        return replace(nothing, reason=failure.reason, output=failure.output, pairs=tuple(running.pairs))
    losses = running.worst or losses
    measured = replace(nothing, losses=losses, pairs=tuple(running.pairs))
    if not losses.agree:
        return replace(measured, reason=disagreement(losses, experiment.claim.tolerance))
    if judgement is None:
        return replace(measured, verdict="agrees", reason=f"both scripts run, and {agreement(losses)}")
    return replace(
        measured,
        verdict=judgement.verdict,
        reason=judgement.reason,
        effect=judgement.effect,
        worse=worse(experiment.claim, running.pairs),
        noise=running.noise if options.machine is not None else None,
    )


class _Running:
    """One experiment as it goes: first what both scripts compute, then how long they take, pair by pair."""

    def __init__(
        self, experiment: Experiment, options: Options, nursery: Nursery | None, on_run: Callable[[], None]
    ) -> None:
        self.pairs: list[Pair] = []
        self.hidden = False
        self.worst: Losses | None = None
        self._experiment, self._options, self._on_run = experiment, options, on_run
        self._runs = Runs(experiment, options, nursery)
        self._steps = 0
        self._looks = len(options.machine.looks) if options.machine is not None else 0

    @property
    def noise(self) -> float:
        """How many times slower the machine was at times than at best."""
        machine = self._options.machine
        return machine.noise(self._looks) if machine is not None else 1.0

    def compare(self, plan: Plan) -> Losses:
        """Whether both scripts compute the same, over as many steps.

        It goes first, so that the kernels which a GPU compiles on first use are there when times are taken.

        Raises:
            Failure: a script did not run as it must.
        """
        quick, on_gpu = self._options.quick, self._options.device == "gpu"
        whole = replace(plan, all_losses=True, samples=0, told_after=None)
        slow_plan = whole
        if plan.seconds is not None:
            slow_plan = replace(whole, seconds=_SECONDS_COMPARED, sooner=_SOONER)
        if quick:  # nothing is timed, so they may run at the same time
            slow, fast = self._runs.of([Turn(side, whole, "values") for side in ("slow", "fast")])
            self.pairs.append(Pair(run_of(slow.measured), run_of(fast.measured)))
            self._on_run()
            self._on_run()
        else:
            (slow,) = self._runs.of([Turn("slow", slow_plan, "values")])
        self._steps = slow.values.steps
        as_many = replace(whole, until=self._steps, seconds=None)
        if not quick:
            (fast,) = self._runs.of([Turn("fast", as_many, "values")])
        self.hidden = slow.measured["hides_gpu"] or fast.measured["hides_gpu"]
        tolerance = max(self._experiment.claim.tolerance, _TOLERANCE_ON_GPU if on_gpu else 0.0)

        def control() -> Values:
            (nudged,) = self._runs.of([Turn("slow", as_many, "nudged")])
            return nudged.values

        found = compare_values(slow.values, fast.values, tolerance, control)
        if on_gpu and self._experiment.claim.metric == "first step" and not self.hidden:
            # Kernels that compute the same each time are others than those whose first use is timed next.
            before = replace(plan, seconds=None, samples=0, until=min(self._steps, _STEPS_BEFORE))
            list(self._runs.of([Turn(side, before) for side in ("slow", "fast")]))
        return found

    def judge(self, plan: Plan, losses: Losses) -> Judgement | None:
        """The verdict on as many pairs as it takes; None where losses part, as `worst` says then.

        Raises:
            Failure: a script did not run as it must.
        """
        judgement: Judgement | None = None
        # No step is timed that was not compared.
        plan = replace(plan, until=self._steps)
        if self._options.settle:
            if not self._run_pairs(plan, losses, PAIRS_TO_SETTLE):
                return None
            judgement = settled(self._experiment.claim, self.pairs, self.noise)
            if judgement is not None:
                return judgement
        for look, confidence in enumerate(LOOKS):
            if not self._run_pairs(plan, losses, self._options.pairs * 2**look):
                return None
            judgement = judge(self._experiment.claim, self.pairs, confidence, self.noise)
            if judgement.verdict != "inconclusive":
                break
        return judgement

    def _run_pairs(self, plan: Plan, losses: Losses, count: int) -> bool:
        """Run as many pairs as it takes to have so many; False as soon as their losses part, as `worst` says then."""
        for slow, fast in self._more_pairs(plan, count - len(self.pairs)):
            self.pairs.append(Pair(run_of(slow.measured), run_of(fast.measured)))
            # On a GPU, runs that are timed are not made to compute the same each time.
            if self._options.device == "cpu" and not self._as_before(slow, fast, losses):
                return False
        return True

    def _as_before(self, slow: Ran, fast: Ran, losses: Losses) -> bool:
        """Whether the losses of runs that are timed agree as well as those that were compared before."""
        allowed = max(self._experiment.claim.tolerance, 2 * losses.difference)
        found = compare_losses(slow.values.losses, fast.values.losses, allowed)
        if not found.agree:
            self.worst = replace(losses, agree=False, difference=found.difference, why="")
        return found.agree

    def _more_pairs(self, plan: Plan, how_many: int) -> Iterator[tuple[Ran, Ran]]:
        pair: dict[Side, Ran] = {}
        sides = order(how_many, len(self.pairs))
        for side, ran in zip(sides, self._runs.of([Turn(side, plan) for side in sides]), strict=True):
            pair[side] = ran
            self._on_run()
            if len(pair) == 2:
                yield pair["slow"], pair["fast"]
                pair = {}


def order(pairs: int, before: int = 0) -> list[Side]:
    """A B B A A B B A …: whatever drifts with time hits both sides alike; `before` is how many pairs there are already."""
    sides: tuple[Side, Side] = ("slow", "fast")
    return [
        side for pair in range(before, before + pairs) for side in (sides if pair % 2 == 0 else sides[::-1])
    ]


@dataclass(frozen=True, slots=True)
class Turn:
    """One run to come. Where `sees` says so, what the script trains is seen, nudged or not; that costs time."""

    side: Side
    plan: Plan
    sees: Literal["", "values", "nudged"] = ""


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that has ended: its raw figures, `drive.Measured` as a dictionary, and what it has computed."""

    measured: Mapping[str, Any]
    values: Values


@dataclass(frozen=True, slots=True)
class Runs:
    """Runs the scripts of an experiment, each in a process of its own."""

    experiment: Experiment
    options: Options
    nursery: Nursery | None

    def of(self, turns: Sequence[Turn]) -> Iterator[Ran]:
        """What each run came to, one after the other.

        As many processes as there are cores are started at a time, import TensorFlow side by side, and then wait
        for their turn: nothing else goes on while one is measured.

        Raises:
            Failure: a script did not run as it must.
        """
        preload = self.experiment.imports_may_come_first()
        ahead = max(1, self.options.cores) if preload else 1
        for start in range(0, len(turns), ahead):
            with tempfile.TemporaryDirectory(prefix="tflint-perf-") as scratch, ExitStack() as stack:
                runs = [
                    stack.enter_context(self._started(turn, Path(scratch), number, preload))
                    for number, turn in enumerate(turns[start : start + ahead])
                ]
                for run in runs:
                    run.wait_until_ready()
                if self.options.quick:  # nothing is timed, so they may run at the same time
                    for run in runs:
                        run.begin()
                for run in runs:
                    self._look_at_machine()
                    yield run.ran()

    def _look_at_machine(self) -> None:
        if self.options.machine is not None and not self.options.quick:
            self.options.machine.look()

    def _started(self, turn: Turn, scratch: Path, number: int, preload: bool) -> _Run:
        gpu = self.options.device == "gpu"
        script, out = self.experiment.script(turn.side), scratch / f"learned{number}.npz"
        request = {
            "script": str(script),
            "plan": asdict(turn.plan),
            "preload": preload,
            "gpu": gpu,
            "exact": gpu and bool(turn.sees),
            "constants": dict(self.experiment.size.constants) if self.experiment.size else {},
            "learned": {"out": str(out), "nudge": turn.sees == "nudged"} if turn.sees else None,
        }
        folder = Path.cwd() if self.experiment.own else scratch
        try:
            nursery = self.nursery if preload else None
            child = Child(request, self.options.device, folder, scratch, nursery, self.options.python)
        except NurseryError:  # it has died, of what another script did; this one can do without
            child = Child(request, self.options.device, folder, scratch, python=self.options.python)
        return _Run(child, script, turn.plan, out, self.options)


class _Run:
    """One child, with its script's name on whatever goes wrong."""

    def __init__(self, child: Child, script: Path, plan: Plan, out: Path, options: Options) -> None:
        self._child, self._script, self._plan, self._out, self._options = child, script, plan, out, options
        self._begun = False

    def __enter__(self) -> _Run:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.close()

    def wait_until_ready(self) -> None:
        with self._named():
            self._child.wait_until_ready()

    def begin(self) -> None:
        self._begun = True
        self._child.begin()

    def ran(self) -> Ran:
        with self._named():
            if not self._begun:
                self.begin()
            measured = self._child.finish(self._options.timeout)
            self._child.close()  # so that it is gone before the next one is measured
            self._refuse_less(measured)
            return Ran(measured, values_of(measured, self._out))

    def _refuse_less(self, measured: Mapping[str, Any]) -> None:
        """A script that is over too soon has done less, however fast it was."""
        done, plan = measured["yields"], self._plan
        if measured["ended"] and plan.until is None and (self._options.quick or plan.seconds is None):
            raise Failure(f"`train({plan.steps})` yields {done} losses")
        if measured["ended"] and plan.until is not None:
            raise Failure(f"`train({plan.steps})` ends after {done} steps, and {plan.until} are compared")
        if not measured["windows"]:
            raise Failure(f"ends after {done} steps, too few to be timed")

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except Failure as failure:
            raise Failure(f"{self._script.name}: {failure.reason}", failure.output) from None
