"""Each probe against a script whose answer is known."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.forked import Forks
from tests.verify.support import script
from tflint_perf.verify.metrics import run_of
from tflint_perf.verify.nursery import Nursery
from tflint_perf.verify.process import Child
from tflint_perf.verify.records import Run

pytestmark = pytest.mark.slow

pytest.importorskip("psutil")
pytest.importorskip("scipy")

MEGABYTE = 1_000_000
# What a step does, by what is known of it.
KEEPS_A_MEGABYTE = "kept.append(bytes([1]) * 1_000_000)"
SLEEPS = "time.sleep(0.005)"
SLOWS_DOWN = "takes(2 * 1.01**step)"
STAYS = "takes(2)"

# Seven traces of `double`, and two tensors kept a step.
TRACES_AND_KEEPS = """
import tensorflow as tf

kept = []

@tf.function
def double(x):
    return x + x

def train(steps):
    for step in range(steps):
        double(min(step, 6))
        kept.extend([tf.constant(1.0), tf.constant(2.0)])
        yield 1.0
"""
# A function that is made, traced and dropped each step, and three ops a step added to a graph.
DROPS_AND_GROWS = """
import tensorflow as tf

def train(steps):
    graph = tf.Graph()
    for step in range(steps):
        tf.function(lambda x: x + x)(tf.constant(1.0))
        with graph.as_default():
            tf.constant(1.0) + 2.0
        yield 1.0
"""
TENSORFLOW_STEPS = 20
runs_tensorflow = pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed")


def measure(path: Path, steps: int, nursery: Nursery | None = None) -> Run:
    plan = {"steps": steps, "seconds": None, "samples": 2}
    request = {"script": str(path), "plan": plan, "preload": False, "gpu": False}
    child = Child(request, "cpu", path.parent, path.parent, nursery)
    try:
        child.wait_until_ready()
        child.begin()
        return run_of(child.finish(120))
    finally:
        child.close()


@cache
def measured(each: str, steps: int = 100) -> Run:
    with TemporaryDirectory() as folder:
        path = script(Path(folder), "script", each)
        path.write_text("kept = []\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
        return measure(path, steps)


@cache
def traced(text: str, forks: Forks) -> Run:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "script.py"
        path.write_text(text, encoding="utf-8")
        return measure(path, TENSORFLOW_STEPS, forks.nursery)


def test_a_script_that_leaks_a_megabyte_a_step_measures_a_megabyte_a_step() -> None:
    assert measured(KEEPS_A_MEGABYTE).host_bytes_per_step == pytest.approx(MEGABYTE, rel=0.1)


def test_a_script_that_keeps_nothing_leaks_nothing() -> None:
    assert abs(measured(STAYS).host_bytes_per_step) < 0.01 * MEGABYTE


def test_a_step_that_takes_5_ms_measures_5_ms() -> None:
    assert measured("takes(5)").step == pytest.approx(0.005, rel=0.01)


def test_the_clock_is_that_of_the_machine() -> None:
    """No sleep is shorter than it was asked to be; how much longer is for the machine to say."""
    run = measured(SLEEPS + "; drive.perf_counter_ns = time.perf_counter_ns", 20)
    assert 0.005 <= run.step < 5


def test_a_slowdown_of_1_percent_a_step_is_found() -> None:
    run = measured(SLOWS_DOWN)
    assert run.growth == pytest.approx(1.01**75, rel=0.1)
    assert run.growth_low > 1.3


def test_a_flat_step_time_is_found_flat() -> None:
    run = measured(STAYS)
    assert run.growth == pytest.approx(1, abs=0.01)


def test_the_first_step_is_timed_apart() -> None:
    run = measured("takes(200 if step == 0 else 1)")
    assert run.first_step == pytest.approx(0.2, rel=0.01)
    assert run.step == pytest.approx(0.001, rel=0.01)


def test_windows_leave_out_the_warm_up_and_take_all_other_steps() -> None:
    first, *_ = windows = measured(STAYS).windows
    assert first[0] == 11
    assert sum(steps for _, steps, _ in windows) == 100 - 11


def test_memory_is_told_from_before_the_first_step_on() -> None:
    steps = [step for step, _ in measured(KEEPS_A_MEGABYTE).memory]
    assert steps[0] == 0
    assert steps[-1] == 100


@runs_tensorflow
def test_a_function_traced_seven_times_counts_seven(forks: Forks) -> None:
    assert traced(TRACES_AND_KEEPS, forks).traces == 7


@runs_tensorflow
def test_a_script_that_keeps_two_tensors_a_step_has_two_more_alive_a_step(forks: Forks) -> None:
    assert traced(TRACES_AND_KEEPS, forks).live_tensors_per_step == pytest.approx(2)


@runs_tensorflow
def test_a_function_that_is_made_anew_and_dropped_counts_each_time(forks: Forks) -> None:
    assert traced(DROPS_AND_GROWS, forks).traces == TENSORFLOW_STEPS


@runs_tensorflow
def test_three_ops_a_step_added_to_a_graph_are_counted(forks: Forks) -> None:
    (first, _, _, few), *_, (last, _, _, many) = traced(DROPS_AND_GROWS, forks).counts
    own = 3 * (last - first)
    assert many - few >= own
    assert traced(DROPS_AND_GROWS, forks).graph_ops == many


@runs_tensorflow
def test_tensors_that_are_dropped_are_not_counted(forks: Forks) -> None:
    assert traced(DROPS_AND_GROWS, forks).live_tensors_per_step == 0
