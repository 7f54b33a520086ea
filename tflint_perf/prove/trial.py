"""One run of one version of the program, as plain data: what is compared, and nothing of how it was run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from tflint_perf.measured.record import Ending
from tflint_perf.observed.process import Seen
from tflint_perf.verify.learning import Apart
from tflint_perf.verify.records import Run
from tflint_perf.verify.statistics import growth, slope

_MEMORY = "host memory"
# Steps at the beginning that are left out of the median and of growth: compiling, buffers that fill.
_WARM_UP = 5
_WINDOWS = 24
# What Keras puts behind an error of a layer, and the codes by which it shows one in bold.
_ARGUMENTS = "Arguments received by "
_STYLES = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Trial:
    """A run that has ended. Times are in seconds, memory is in bytes.

    `ends` is when each step ended, from the start of the program. `memory` is (step, resident bytes). `grows` says that
    memory does, beyond doubt. `failure` is what went wrong in one line, empty where nothing did. `apart` is how far it
    learned from the first run of the original; None where that is not known. `output` is the end of what it wrote.
    """

    ended: Ending
    code: int
    wall: float
    ends: tuple[float, ...]
    traces: int = 0
    memory: tuple[tuple[float, float], ...] = ()
    memory_slope: float = 0.0
    grows: bool = False
    printed: tuple[str, ...] = ()
    apart: Apart | None = None
    failure: str = ""
    output: str = ""

    @property
    def steps(self) -> int:
        """How many training steps it did."""
        return len(self.ends)

    @property
    def whole(self) -> bool:
        """Whether the program came to its own end."""
        return self.ended in ("end", "exit")


def trial_of(seen: Seen, printed: Sequence[str], apart: Apart | None) -> Trial:
    """What a run came to."""
    record = seen.record
    memory = record.growth.get(_MEMORY)
    failed = record.ended in ("error", "signal")
    return Trial(
        ended=record.ended,
        code=seen.code,
        wall=record.wall,
        ends=seen.ends,
        traces=sum(traced.count for traced in record.traces),
        memory=memory.points if memory else (),
        memory_slope=memory.slope.value if memory else 0.0,
        grows=memory.grows if memory else False,
        printed=tuple(printed),
        apart=apart,
        failure=(last_said(seen.stderr) or f"ended with exit code {seen.code}") if failed else "",
        output="\n".join(seen.stderr.splitlines()[-20:]) if failed else "",
    )


def last_said(output: str) -> str:
    """What an error says in its last line. Behind that, Keras lists what a layer was called with."""
    lines = [line.strip() for line in _STYLES.sub("", output).splitlines() if line.strip()]
    begins = [at for at, line in enumerate(lines) if line.startswith(_ARGUMENTS)]
    if begins and all(line.startswith("•") for line in lines[begins[-1] + 1 :]):
        del lines[begins[-1] :]
    return lines[-1] if lines else ""


def failed_trial(reason: str) -> Trial:
    """A run that left nothing behind."""
    return Trial("error", 1, 0.0, (), failure=reason)


def step_times(trial: Trial) -> list[float]:
    """How long each step took but the first, whose beginning nobody knows."""
    return [end - start for start, end in pairwise(trial.ends)]


def median_step(trial: Trial) -> float:
    """The median step, without those at the beginning; 0 where there are too few."""
    times = step_times(trial)
    return median(times[_WARM_UP:] or times or [0.0])


def as_run(trial: Trial) -> Run:
    """The run in the form in which `verify` judges and draws: the steps in windows, without the first."""
    windows = _windows(trial)
    rates = growth([(first + steps / 2, seconds / steps) for first, steps, seconds in windows[1:]])
    memory = tuple((int(step), int(size)) for step, size in trial.memory) or (
        (0, 0),
        (max(trial.steps, 1), 0),
    )
    return Run(
        first_step=trial.ends[0] if trial.ends else trial.wall,
        step=median_step(trial),
        windows=windows,
        memory=memory,
        counts=((trial.steps, 0, trial.traces, 0),),
        growth=rates.value,
        growth_low=rates.low,
        growth_high=rates.high,
        host_bytes_per_step=trial.memory_slope or slope(memory[1:]).value,
        live_tensors_per_step=0.0,
        device_memory=None,
        traces=trial.traces,
        graph_ops=0,
        wall=trial.wall,
    )


def _windows(trial: Trial) -> tuple[tuple[int, int, float], ...]:
    size = max(1, (trial.steps - 1) // _WINDOWS)
    starts = range(1, trial.steps, size)
    return tuple(
        (start, last - start, trial.ends[last - 1] - trial.ends[start - 1])
        for start in starts
        if (last := min(start + size, trial.steps)) > start
    )
