"""Runs that nobody ran: trials made up for tests, and a watcher that only reads what it is to run."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from pathlib import Path

import numpy as np

from tflint_perf.measured.record import Ending, Growth, Interval, Record, Spot, Steps, Traced
from tflint_perf.observed.process import NotWatchedError, Seen
from tflint_perf.observed.request import Request
from tflint_perf.prove.trial import Trial
from tflint_perf.verify.learning import Apart

# What is found here has two fixes, of which the bold one goes further.
PREDICTS = """\
import numpy as np
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
state = np.zeros((1, 4))
for step in range(10_000):
    answer = model.predict(state)
    state = environment.step(answer)
    model.train_on_batch(state, answer)
"""

ROUNDING = Apart((1e-6,), (1e-5,), ((1, 0.0), (2, 1e-7)))
SAME = Apart((2e-6,), (1e-5,), ((1, 0.0), (2, 1e-7)))
NONE = Apart((0.0,), (1e-5,), ((1, 0.0), (2, 0.0)))
OTHER = Apart((0.3,), (1e-5,), ((1, 0.0), (2, 0.2)))


def trial(
    step: float = 0.01,
    *,
    first: float = 3.0,
    steps: int = 100,
    ended: Ending = "steps",
    apart: Apart | None = NONE,
    noise: float = 0.01,
    seed: int = 0,
    traces: int = 1,
    leak: float = 0.0,
    printed: Sequence[str] = (),
    failure: str = "",
    code: int = 0,
) -> Trial:
    """A run whose steps take `step` seconds but for some noise, after `first` seconds to the first."""
    chance = random.Random(f"{seed} {step}")
    factor = 1 + chance.uniform(-noise, noise)
    times = [step * factor * (1 + chance.uniform(-noise, noise)) for _ in range(steps - 1)]
    ends = tuple(accumulate([first * (1 + chance.uniform(-noise, noise)), *times]))
    return Trial(
        ended,
        code,
        ends[-1],
        ends,
        traces,
        tuple((at, 5e8 + leak * at) for at in range(0, steps, 10)),
        leak,
        leak > 0,
        tuple(printed),
        apart,
        failure,
    )


def trials(
    count: int = 5, step: float = 0.01, first: float = 3.0, ended: Ending = "steps", **more: object
) -> list[Trial]:
    """So many of them, no two alike."""
    return [replace(trial(step, first=first, ended=ended, seed=at), **more) for at in range(count)]  # type: ignore[arg-type]


@dataclass(slots=True)
class Watcher:
    """Stands in for `watch`: what a run shows depends on words that stand in the program that it is given.

    `factors` tell how many times as long a step takes with a word in it, `learns` what is added to what it learns, `fails`
    with what it breaks, `prints` what it prints besides. `rows` are reached; all where it is None.
    """

    factors: Mapping[str, float] = field(default_factory=dict)
    learns: Mapping[str, float] = field(default_factory=dict)
    fails: Mapping[str, str] = field(default_factory=dict)
    prints: Mapping[str, str] = field(default_factory=dict)
    rows: frozenset[int] | None = None
    step: float = 0.01
    by_chance: bool = False
    device: str = "CPU (synthetic)"
    on_run: Callable[[Request, str], None] = lambda request, text: None
    seen: list[Request] = field(default_factory=list)

    def __call__(self, request: Request) -> Seen:
        assert request.folder is not None and request.learning is not None
        script = request.folder / request.program[0]
        text = script.read_text(encoding="utf-8")
        self.on_run(request, text)
        self.seen.append(request)
        number = len(self.seen)
        for word, failure in self.fails.items():
            if word in text and failure == "dies":
                raise NotWatchedError("took more than 60 s")
        failure = next((said for word, said in self.fails.items() if word in text), "")
        step = self.step
        for word, factor in self.factors.items():
            step *= factor if word in text else 1.0
        run = trial(step, steps=min(request.steps or 100, 100), seed=number, traces=0)
        self._learn(request, text, number)
        said = [line for word, line in self.prints.items() if word in text]
        out = "".join(f"{line}\n" for line in [*said, *(f"step {at} loss 0.5" for at in (1, 2, 3))])
        probes = [spot for spot in request.probes if self.rows is None or spot.row in self.rows]
        return Seen(
            replace(record_of(request, run, "error" if failure else "steps", probes), device=self.device),
            1 if failure else 0,
            run.ends,
            not failure,
            out,
            f"Traceback\n{failure}\n" if failure else "",
        )

    def _learn(self, request: Request, text: str, number: int) -> None:
        assert request.learning is not None
        first, last = np.zeros(8, np.float32), np.linspace(1, 2, 8, dtype=np.float32)
        last = last * np.float32(1 + (1e-6 if request.learning.nudge else 0.0))
        for word, added in self.learns.items():
            last = last + np.float32(added if word in text else 0.0)
        if self.by_chance:
            last = last + np.float32(0.1 * number)
        losses = [[at, 1.0 / at, 0] for at in range(1, 101)]
        np.savez(request.learning.out, first0=first, last0=last, losses=losses)


def record_of(request: Request, run: Trial, ended: Ending, reached: Sequence[Spot]) -> Record:
    """The record of a made-up run."""
    root = request.folder or Path.cwd()
    return Record(
        request.program,
        str(root),
        "2030-01-02",
        {"tensorflow": "9.8.7", "python": "3.21.0"},
        "CPU (synthetic)",
        ended,
        0,
        run.wall,
        Steps(run.steps, "optimizer", None, None),
        traces=(Traced("train", None, None, run.traces, 0, 0.1),),
        growth={"host memory": Growth(Interval(run.memory_slope, 0, 0), run.grows, run.memory)},
        reached=tuple(reached),
    )
