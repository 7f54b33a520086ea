"""Scripts for the verifier to run, and a TensorFlow that is not one, so that most tests need not wait for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

from tflint_perf.rule import Claim
from tflint_perf.verify.experiment import Experiment
from tflint_perf.verify.nursery import Nursery
from tflint_perf.verify.process import new_nursery
from tflint_perf.verify.records import Run
from tflint_perf.verify.runner import Options

STEPS = 20
STEP_TIME = Claim("step time", least=2.0, steps=STEPS)
OPTIONS = Options(cores=2, timeout=60)

# Losses that fall; `{each}` is what a step does, with `step` its number. The clock is made up: a look at it takes a
# microsecond, a step besides as many milliseconds as it says, on whatever machine.
SCRIPT = """
import os, sys, time
from tflint_perf.verify import drive

now = 0

def clock():
    global now
    now += 1_000
    return now

def takes(milliseconds):
    global now
    now += int(milliseconds * 1_000_000)

drive.perf_counter_ns = clock

def train(steps):
    for step in range(steps):
        {each}
        yield 1 / (1 + step)
"""

FAKE_TENSORFLOW = """
__version__ = "9.8.7"


class Graph:
    pass


class config:
    @staticmethod
    def list_physical_devices(kind):
        return []

    @staticmethod
    def get_visible_devices(kind):
        return config.list_physical_devices(kind)
"""

RUN = Run(
    first_step=0.5,
    step=0.01,
    windows=tuple((at, 10, 0.1) for at in range(0, 100, 10)),
    memory=((0, 500_000_000), (10, 600_000_000), (100, 600_000_000)),
    counts=((10, 30, 1, 50), (50, 30, 1, 50), (100, 30, 1, 50)),
    growth=1.0,
    growth_low=1.0,
    growth_high=1.0,
    host_bytes_per_step=0.0,
    live_tensors_per_step=0.0,
    device_memory=None,
    traces=1,
    graph_ops=50,
    wall=1.5,
)


def script(folder: Path, name: str, each: str = "pass", *, text: str = SCRIPT) -> Path:
    """Write a script whose every step does `each`."""
    path = folder / f"{name}.py"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text).replace("{each}", each), encoding="utf-8")
    return path


def experiment(folder: Path, slow: str = "pass", fast: str = "pass", claim: Claim = STEP_TIME) -> Experiment:
    """Two scripts that differ in what a step does."""
    return Experiment("TFP999", "made-up", script(folder, "slow", slow), script(folder, "fast", fast), claim)


def fake_tensorflow(folder: Path, text: str = FAKE_TENSORFLOW) -> Path:
    """A package `tensorflow`, and a `keras` beside it; the folder to import them from."""
    for name in ("tensorflow", "keras"):
        package = folder / "fake" / name
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text(text if name == "tensorflow" else "", encoding="utf-8")
    return folder / "fake"


@contextmanager
def nursery() -> Iterator[Nursery | None]:
    """What `verify` forks for each run on a CPU, where it can."""
    made = new_nursery()
    try:
        yield made
    finally:
        if made is not None:
            made.close()


def with_growth(rate: float, noise: list[float]) -> Run:
    """A run with as many windows as there is noise, whose step time grows by `rate` from the first to the last."""
    last = len(noise) - 1
    times = [0.01 * (1 + rate * at / last) * (1 + error) for at, error in enumerate(noise)]
    return replace(RUN, windows=tuple((at, 1, time) for at, time in enumerate(times)))
