"""Whether two scripts compute the same, and scripts that are fast because they do less."""

from __future__ import annotations

import math
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.forked import Forks
from tests.verify.support import OPTIONS, STEP_TIME, experiment, fake_tensorflow, script
from tflint_perf.verify.experiment import Experiment
from tflint_perf.verify.learning import Learned, share
from tflint_perf.verify.runner import run_experiment
from tflint_perf.verify.values import Values, agreement, compare_losses, compare_values

np = pytest.importorskip("numpy")
pytest.importorskip("psutil")


STEPS = 20
QUICK = replace(OPTIONS, quick=True)
runs_tensorflow = pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed")

# A linear regression: `{each}` is what a step does, with `inputs`, `targets` and the number of the `step`.
TRAINS = """
import numpy as np
import tensorflow as tf

rng = np.random.default_rng(1)
INPUTS = rng.normal(size=(20, 32, 8)).astype(np.float32)
TARGETS = INPUTS @ rng.normal(size=(8, 1)).astype(np.float32) + rng.normal(size=(20, 32, 1)).astype(np.float32)


def by_hand():
    weights = np.zeros((8, 1), np.float32)
    for inputs, targets in zip(INPUTS, TARGETS):
        errors = inputs @ weights - targets
        yield np.mean(errors**2)
        weights -= 0.1 * 2 / len(inputs) * inputs.T @ errors


def train(steps):
    weights = tf.Variable(tf.zeros((8, 1)))
    optimizer = tf.keras.optimizers.SGD(0.1)

    def loss_of(inputs, targets):
        return tf.reduce_mean((inputs @ weights - targets) ** 2)

    @tf.function
    def train_step(inputs, targets):
        with tf.GradientTape() as tape:
            loss = loss_of(inputs, targets)
        optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
        return loss

    losses = list(by_hand())
    for step, (inputs, targets) in enumerate(zip(INPUTS, TARGETS)):
        {each}
        yield loss
"""
HONEST = "loss = train_step(inputs, targets)"
# What a script does that does less, and what is said of it.
CHEATS = {
    "stops computing after step 12": ("loss = train_step(inputs, targets) if step < 12 else 0.0", "losses"),
    "repeats the last loss": ("loss = train_step(inputs, targets) if step < 12 else loss", "losses"),
    "does fewer steps": (
        "if step == 12: return\n        loss = train_step(inputs, targets)",
        "yields 12 losses",
    ),
    "computes the forward pass only": ("loss = loss_of(inputs, targets)", "trains nothing"),
    "skips every other update": (
        "loss = (train_step if step % 2 else loss_of)(inputs, targets)",
        "losses",
    ),
    "trains on half of each batch": ("loss = train_step(inputs[:16], targets[:16])", "losses"),
    "yields what was computed elsewhere": ("loss = losses[step]", "trains nothing"),
    "leaves the last update out": (
        "loss = (train_step if step < 19 else loss_of)(inputs, targets)",
        "weights differ by",
    ),
    "trains one variable of a size, and another to be seen": (
        "optimizer.learning_rate = 0.1 if step < 15 else 0.05\n        train_step(inputs, targets)\n"
        "        loss = losses[step]",
        "weights differ by",
    ),
}


def pair(folder: Path, fast: str) -> Experiment:
    slow, other = (
        script(folder, name, each, text=TRAINS) for name, each in (("slow", HONEST), ("fast", fast))
    )
    return Experiment("TFP999", "made-up", slow, other, STEP_TIME)


@pytest.mark.slow
@runs_tensorflow
@pytest.mark.parametrize("cheat", CHEATS)
def test_a_script_that_does_less_fails(cheat: str, tmp_path: Path, forks: Forks) -> None:
    each, said = CHEATS[cheat]
    result = run_experiment(pair(tmp_path, each), QUICK, lambda: None, forks.nursery)
    assert result.verdict == "failed"
    assert said in result.reason


@pytest.mark.slow
@runs_tensorflow
def test_a_script_that_does_the_same_in_another_way_agrees(tmp_path: Path, forks: Forks) -> None:
    by_parts = "loss = train_step(inputs[::-1], targets[::-1])"  # sums in another order
    result = run_experiment(pair(tmp_path, by_parts), QUICK, lambda: None, forks.nursery)
    assert result.verdict == "agrees"
    assert result.losses is not None
    assert result.losses.weights is not None
    assert result.losses.weights < 1e-4
    assert "the losses of 20 steps and the trained weights agree" in result.reason


@pytest.mark.parametrize(
    ("slow", "fast", "agree"),
    [
        ({0: 1.0, 1: 0.5}, {0: 1.0, 1: 0.5}, True),
        ({0: 1.0, 1: 0.5}, {0: 1.000001, 1: 0.5}, True),
        ({0: 1.0, 1: 0.5}, {0: 1.0, 1: 0.50001}, False),
        ({0: 0.0}, {0: 0.0}, True),
        ({0: -1.0}, {0: 1.0}, False),
        ({0: 1.0, 7: 3.0}, {0: 1.0, 9: 4.0}, False),
        ({0: 1.0, 7: 3.0}, {0: 1.0, 7: 3.0, 9: 4.0}, True),
        ({0: 1.0}, {1: 1.0}, False),
        ({0: math.nan}, {0: math.nan}, False),
        ({0: math.inf}, {0: math.inf}, False),
    ],
)
def test_losses_agree_when_those_of_all_steps_do_that_both_reached(
    slow: dict[int, float], fast: dict[int, float], agree: bool
) -> None:
    assert compare_losses(slow, fast, 1e-5).agree == agree


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A TensorFlow for the scripts' processes, quick to import."""
    monkeypatch.setenv("PYTHONPATH", str(fake_tensorflow(tmp_path)))


@pytest.mark.slow
@pytest.mark.usefixtures("fake")
@pytest.mark.parametrize(
    ("each", "reason"),
    [
        ("if step == 12: return", "fast.py: `train(20)` ends after 12 steps, and 20 are compared"),
        ("step < 12 and takes(1)\n        yield 1 / 13 if step > 12 else 1 / (1 + step)\n        continue", "the losses differ by 0.35; the claim allows 1e-05"),
    ],
)  # fmt: skip
def test_a_script_that_stops_early_is_not_timed(tmp_path: Path, each: str, reason: str) -> None:
    result = run_experiment(experiment(tmp_path, "takes(16)", each), OPTIONS, lambda: None)
    assert (result.verdict, result.reason, result.pairs) == ("failed", reason, ())


@pytest.mark.slow
@pytest.mark.usefixtures("fake")
def test_no_step_is_timed_that_was_not_compared(tmp_path: Path) -> None:
    subject = experiment(tmp_path, "takes(400)", "takes(1)", replace(STEP_TIME, steps=None))
    result = run_experiment(subject, OPTIONS, lambda: None)
    assert result.losses is not None
    steps = result.losses.steps
    assert steps is not None
    assert steps < 100
    assert {pair.fast.windows[-1][0] + pair.fast.windows[-1][1] for pair in result.pairs} == {steps}


def values(last: float, losses: float = 0.0, steps: int = STEPS, variables: int = 1) -> Values:
    """A run whose variables went from 0 to `last`, and whose losses are so much larger than they would be."""
    found = {step: (1 + losses) / (1 + step) for step in range(steps)}
    first, final = (tuple(np.full(4, value) for _ in range(variables)) for value in (0.0, last))
    return Values(steps, found, Learned(first, final, {step: (loss,) for step, loss in found.items()}, steps))


def never() -> Values:
    raise AssertionError("no third run is needed")


def test_what_is_within_the_tolerance_needs_no_third_run() -> None:
    found = compare_values(values(1.0), values(1.00001, 1e-6), 1e-5, never)
    assert (found.agree, found.steps, found.not_compared) == (True, STEPS, "")
    assert found.weights == pytest.approx(1e-5)


@pytest.mark.parametrize(("rounding", "agree"), [(1e-3, True), (1e-5, False)])
def test_weights_may_be_apart_as_far_as_rounding_takes_them(rounding: float, agree: bool) -> None:
    found = compare_values(values(1.0), values(1.005), 1e-5, lambda: values(1.0 + rounding))
    assert found.agree == agree
    assert (
        found.why
        == f"weights differ by 0.5% of what training moved them; rounding alone goes {share(rounding)}"
    )


def test_losses_may_be_apart_as_far_as_rounding_takes_them() -> None:
    slow, fast, nudged = values(1.0), values(1.0, 1e-4), values(1.0, 5e-5)
    assert compare_values(slow, fast, 1e-5, lambda: nudged).agree
    assert not compare_values(slow, fast, 1e-5, lambda: slow).agree


def test_other_variables_are_not_compared_and_that_is_said() -> None:
    found = compare_values(values(1.0), values(1.0, variables=3), 1e-5, never)
    assert (found.agree, found.weights) == (True, None)
    assert agreement(found) == (
        "the losses of 20 steps agree; trained weights were not compared: "
        "the fast script trains 3 variables instead of 1"
    )


def test_a_script_without_variables_is_compared_by_its_losses() -> None:
    found = compare_values(values(1.0, variables=0), values(1.0, variables=0), 1e-5, never)
    assert (found.agree, found.not_compared) == (True, "no variable was seen to be trained")


def test_where_variables_are_others_losses_are_compared_all_the_same() -> None:
    found = compare_values(values(1.0), values(1.0, 1e-3, variables=3), 1e-5, lambda: values(1.0))
    assert not found.agree
