"""Runs experiments: a fresh process a run, slow and fast in turn, and a verdict whatever happens."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from tflint_perf.verify.experiment import Experiment
from tflint_perf.verify.metrics import COUNTED, run_of
from tflint_perf.verify.nursery import Nursery, NurseryError
from tflint_perf.verify.plan import Plan
from tflint_perf.verify.process import Child, DeviceKind, Failure
from tflint_perf.verify.records import Losses, Pair, Result
from tflint_perf.verify.statistics import LEAST_PAIRS, LOOKS
from tflint_perf.verify.verdict import Judgement, compare_losses, judge

Side = Literal["slow", "fast"]
QUICK_STEPS = 20
# What runs longer hangs, also on a machine that is several times slower than one where the longest run takes a minute.
SECONDS_A_RUN = 300.0
# What a run is asked for unless the claim says otherwise. It ends sooner, once the steps that it has timed took
# so long; where growth is claimed, it does not.
_STEPS, _SECONDS = 500, 1.0
_STEPS_FOR_GROWTH = 600
_SAMPLES_FOR_GROWTH = 7
# On a GPU losses are compared in runs of their own, which are made to compute the same each time.
# There a fused kernel rounds in another way than single ones do, and training multiplies that from step to step.
_STEPS_COMPARED, _TOLERANCE_ON_GPU = 20, 1e-4


@dataclass(frozen=True, slots=True)
class Options:
    """How experiments are run. `timeout` is in seconds a run; `cores` processes are made ready at a time.

    With `exact`, runs compute the same each time, also on a GPU: for their losses, not for their times.
    """

    device: DeviceKind = "cpu"
    pairs: int = LEAST_PAIRS
    steps: int | None = None
    timeout: float = SECONDS_A_RUN
    quick: bool = False
    cores: int = 2
    exact: bool = False

    @property
    def runs(self) -> int:
        """How many runs an experiment takes, if it leaves nothing open."""
        return 2 * (1 if self.quick else self.pairs)


def plan_of(experiment: Experiment, options: Options) -> Plan:
    """How many steps, and for how long."""
    claim = experiment.claim
    steps = options.steps or claim.steps
    if options.quick:
        return Plan(min(options.steps or QUICK_STEPS, steps or QUICK_STEPS))
    if claim.kind == "growth":
        return Plan(steps or _STEPS_FOR_GROWTH, samples=_SAMPLES_FOR_GROWTH if claim.metric in COUNTED else 2)
    return Plan(steps) if steps else Plan(_STEPS, _SECONDS)


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
    pairs: list[Pair] = []
    losses: list[Losses] = []
    compared_apart = options.device == "gpu" and not options.quick

    def measure(how_many: int) -> Losses:
        """Run so many more pairs, and give the worst agreement of all so far."""
        for slow, fast in measured_pairs(experiment, plan, replace(options, pairs=how_many), on_run, nursery):
            if not compared_apart:
                losses.append(_compared(experiment, slow, fast))
            pairs.append(Pair(run_of(slow), run_of(fast)))
            if not losses[-1].agree:
                break
        return max(losses, key=lambda found: found.difference)

    judgement: Judgement | None = None
    try:
        if compared_apart:
            exact, hidden = _exactly(experiment, plan, options, nursery)
            if hidden:
                reason = "its scripts hide the GPU; `--device cpu` measures it"
                return replace(nothing, verdict="not measurable", reason=reason)
            losses.append(exact)
        for confidence in LOOKS:
            if not all(found.agree for found in losses):
                worst = losses[-1]
                break
            worst = measure(len(pairs) or options.pairs)
            if options.quick or not worst.agree:
                break
            judgement = judge(experiment.claim, pairs, confidence)
            if judgement.verdict != "inconclusive":
                break
    except Failure as failure:
        return replace(nothing, reason=failure.reason, output=failure.output, pairs=tuple(pairs))
    measured = replace(nothing, losses=worst, pairs=tuple(pairs))
    if not worst.agree:
        return replace(measured, reason=_disagreement(worst, experiment.claim.tolerance))
    if options.quick or judgement is None:
        return replace(measured, verdict="agrees", reason="both scripts run, and their losses agree")
    return replace(measured, verdict=judgement.verdict, reason=judgement.reason, effect=judgement.effect)


def _exactly(
    experiment: Experiment, plan: Plan, options: Options, nursery: Nursery | None
) -> tuple[Losses, bool]:
    """How the losses of a pair agree that computes the same each time, and whether it hides the GPU.

    It goes first, so that the kernels which a GPU compiles on first use are there when times are taken.

    Raises:
        Failure: a script did not run as it must.
    """
    short = Plan(min(plan.steps, _STEPS_COMPARED))
    once = replace(options, pairs=1, exact=True)
    ((slow, fast),) = measured_pairs(experiment, short, once, lambda: None, nursery)
    hidden = slow["hides_gpu"] or fast["hides_gpu"]
    if experiment.claim.metric == "first step" and not hidden:
        # Kernels that compute the same each time are others than those whose first use is timed next.
        list(measured_pairs(experiment, short, replace(once, exact=False), lambda: None, nursery))
    return _compared(experiment, slow, fast, _TOLERANCE_ON_GPU), hidden


def _disagreement(losses: Losses, tolerance: float) -> str:
    if math.isinf(losses.difference):
        return "the losses are not all finite, or were not seen at the same steps"
    return f"the losses differ by {losses.difference:.2g}; the claim allows {tolerance:g}"


def order(pairs: int) -> list[Side]:
    """A B B A A B B A …: whatever drifts with time hits both sides alike."""
    sides: tuple[Side, Side] = ("slow", "fast")
    return [side for pair in range(pairs) for side in (sides if pair % 2 == 0 else sides[::-1])]


def measured_pairs(
    experiment: Experiment,
    plan: Plan,
    options: Options,
    on_run: Callable[[], None],
    nursery: Nursery | None = None,
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The raw figures of slow and fast, pair by pair: `drive.Measured`, with its losses, as a dictionary.

    Raises:
        Failure: a script did not run as it must.
    """
    sides = order(options.runs // 2)
    runs = _runs(experiment, plan, options, sides, nursery)
    pair: dict[Side, dict[str, Any]] = {}
    for side, measured in zip(sides, runs, strict=True):
        pair[side] = measured
        on_run()
        if len(pair) == 2:
            yield pair["slow"], pair["fast"]
            pair = {}


def _runs(
    experiment: Experiment, plan: Plan, options: Options, sides: Sequence[Side], nursery: Nursery | None
) -> Iterator[dict[str, Any]]:
    """The figures of each run, one after the other.

    As many processes as there are cores are started at a time, import TensorFlow side by side, and then wait
    for their turn: nothing else goes on while one is measured.
    """
    preload = experiment.imports_may_come_first()
    nursery = nursery if preload else None
    ahead = max(1, options.cores) if preload else 1
    for start in range(0, len(sides), ahead):
        turn = [experiment.script(side) for side in sides[start : start + ahead]]
        with tempfile.TemporaryDirectory(prefix="tflint-perf-") as scratch, ExitStack() as stack:
            folders = (Path.cwd() if experiment.own else Path(scratch), Path(scratch))
            children = [
                stack.enter_context(_Run(script, plan, preload, options, folders, nursery)) for script in turn
            ]
            for child in children:
                child.wait_until_ready()
            if options.quick:  # nothing is timed, so they may run at the same time
                for child in children:
                    child.begin()
            for child in children:
                yield child.figures()


class _Run:
    """One child, with its script's name on whatever goes wrong."""

    def __init__(
        self,
        script: Path,
        plan: Plan,
        preload: bool,
        options: Options,
        folders: tuple[Path, Path],
        nursery: Nursery | None,
    ) -> None:
        gpu = options.device == "gpu"
        request = {
            "script": str(script),
            "plan": asdict(plan),
            "preload": preload,
            "gpu": gpu,
            "exact": gpu and (options.exact or options.quick),
        }
        self._script, self._plan, self._options = script, plan, options
        try:
            self._child = Child(request, options.device, *folders, nursery)
        except NurseryError:  # it has died, of what another script did; this one can do without
            self._child = Child(request, options.device, *folders)
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

    def figures(self) -> dict[str, Any]:
        with self._named():
            if not self._begun:
                self.begin()
            measured = self._child.finish(self._options.timeout)
            self._child.close()  # so that it is gone before the next one is measured
            if self._options.quick and measured["yields"] != self._plan.steps:
                raise Failure(f"`train({self._plan.steps})` yields {measured['yields']} losses")
            if not measured["windows"]:
                raise Failure(f"ends after {measured['yields']} steps, too few to be timed")
            return measured

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except Failure as failure:
            raise Failure(f"{self._script.name}: {failure.reason}", failure.output) from None


def _compared(
    experiment: Experiment, slow: Mapping[str, Any], fast: Mapping[str, Any], least_tolerance: float = 0.0
) -> Losses:
    one, other = (dict(measured["losses"]) for measured in (slow, fast))
    return compare_losses(one, other, max(experiment.claim.tolerance, least_tolerance))
