"""Runs versions of the program, each in a copy of its own, and makes trials of what is seen."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tflint_perf.measured.record import Record, Spot
from tflint_perf.observed.process import NotWatchedError, Seen
from tflint_perf.observed.request import Learning, Request
from tflint_perf.problems import ConfigError
from tflint_perf.prove.fixes import Version
from tflint_perf.prove.place import Copy, Scratch
from tflint_perf.prove.printed import lines_of
from tflint_perf.prove.proving import ORIGINAL
from tflint_perf.prove.trial import Trial, failed_trial, trial_of
from tflint_perf.verify.learning import Learned, apart, read_learned

# A version that takes so many times as long as the original, and this many seconds more, is given up.
_TIMES_AS_LONG, _AND_SECONDS = 4.0, 60.0
_LEAST_STEPS = 2


@dataclass(slots=True)
class Runner:
    """Runs versions. `made` gives the files that change in one; `on_run` is told what runs before each run.

    `steps` and `seconds` say how long the first run of the original goes on, whichever is first; the others do as many steps
    as it did. `timeout` is in seconds a run.
    """

    scratch: Scratch
    made: Callable[[Version], Mapping[str, bytes]]
    watch: Callable[[Request], Seen]
    python: str
    steps: int
    seconds: float
    timeout: float | None
    seed: int = 0
    on_run: Callable[[str], None] = lambda what: None
    record: Record | None = None
    _done: int | None = None
    _wall: float = 0.0
    _first: Learned | None = None
    _optimizers: int = 0
    _texts: dict[Version, Mapping[str, bytes]] = field(default_factory=dict)

    def reference(self, probes: Sequence[Spot]) -> tuple[Trial, Collection[Spot]]:
        """The first run of the original, and which of the rows it reached.

        Raises:
            ConfigError: it does not run, or does not train.
        """
        self.on_run("the original")
        copy = self.scratch.copy({})
        there = tuple(replace(spot, file=str(copy.root / spot.file)) for spot in probes)
        try:
            seen, learned = self._watched(copy, nudge=False, probes=there)
        except NotWatchedError as error:
            raise ConfigError(str(error), "prove") from None
        trial = trial_of(seen, lines_of(seen.stdout), None)
        if trial.failure:
            raise ConfigError(f"the program fails as it is: {trial.failure}", self.scratch.project.program[0])
        if trial.steps < _LEAST_STEPS:
            raise ConfigError(_no_steps(trial, seen.record), self.scratch.project.program[0])
        # What ends by itself is to do so each time: stopped at its last step, it would lack the last update.
        self._done = self.steps if trial.whole else trial.steps
        self.record, self._wall, self._first = seen.record, trial.wall, learned
        self._optimizers = seen.optimizers
        root = Path(seen.record.root)
        reached = {
            (_inside(root / spot.file, copy.root), spot.row, spot.cell) for spot in seen.record.reached
        }
        return trial, [spot for spot in probes if (spot.file, spot.row, spot.cell) in reached]

    @property
    def has_gpu(self) -> bool:
        """Whether the first run of the original saw a GPU."""
        return self.record is not None and not self.record.device.startswith("CPU")

    def control(self) -> Trial:
        """The original with its weights nudged."""
        self.on_run("the original, nudged")
        return self._trial({}, nudge=True)

    def eagerly(self, fixes: Version) -> Trial:
        """Any version, with nothing of it compiled."""
        self.on_run(f"{_named(fixes)}, run eagerly")
        return self._trial(self._text_of(fixes), eagerly=True)

    def version(self, fixes: Version) -> Trial:
        """Any version, as it is; what goes wrong is in the trial."""
        self.on_run(_named(fixes))
        return self._trial(self._text_of(fixes))

    def _text_of(self, fixes: Version) -> Mapping[str, bytes]:
        if fixes not in self._texts:
            self._texts[fixes] = self.made(fixes) if fixes else {}
        return self._texts[fixes]

    def _trial(self, changed: Mapping[str, bytes], nudge: bool = False, eagerly: bool = False) -> Trial:
        try:
            seen, learned = self._watched(self.scratch.copy(changed), nudge, eagerly=eagerly)
        except NotWatchedError as error:
            return failed_trial(str(error))
        distance = apart(self._first, learned) if self._first is not None and learned is not None else None
        return trial_of(seen, lines_of(seen.stdout), distance)

    def _watched(
        self, copy: Copy, nudge: bool, probes: tuple[Spot, ...] = (), eagerly: bool = False
    ) -> tuple[Seen, Learned | None]:
        out = self.scratch.folder / "learned.npz"
        out.unlink(missing_ok=True)
        first = self._done is None
        drawn = self._first.drawn if self._first is not None else None
        seen = self.watch(
            Request(
                program=copy.program,
                python=self.python,
                folder=copy.folder,
                environment=copy.environment,
                steps=self.steps if first else self._done,
                seconds=self.seconds if first else None,
                timeout=self.timeout if first else self._limit(),
                probes=probes,
                details=False,
                learning=Learning(
                    out, self.seed, nudge, eagerly, tuple(sorted(drawn)) if drawn is not None else None
                ),
                quiet=True,
                optimizers=self._optimizers,
            )
        )
        return seen, read_learned(out, len(seen.ends)) if seen.learned else None

    def _limit(self) -> float:
        limit = _TIMES_AS_LONG * self._wall + _AND_SECONDS
        return limit if self.timeout is None else min(limit, self.timeout)


def _inside(path: Path, root: Path) -> str:
    path = path.resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _named(fixes: Version) -> str:
    if fixes == ORIGINAL:
        return "the original"
    if len(fixes) == 1:
        return next(iter(fixes)).label
    codes = {fix.code for fix in fixes}
    return f"{codes.pop()} in {len(fixes)} places" if len(codes) == 1 else f"{len(fixes)} fixes together"


def _no_steps(trial: Trial, record: Record) -> str:
    seen = "one training step was" if trial.steps == 1 else "no training steps were"
    # Not for want of time: there were none to see.
    missing = f": run it so that it makes {_LEAST_STEPS} updates or more" if trial.whole else ""
    to_the_end = ", to the end of the program" if trial.whole else ""
    notes = "".join(f"; {note}" for note in record.steps.notes)
    return f"{seen} seen in {trial.wall:.0f} s{to_the_end}{missing}{notes}"
