"""Steps that a loop may leave between the gradients and the update: compiled as far as the gradients, and the update by itself."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from .support import fixed, notes

HEAD = """\
import numpy as np
import tensorflow as tf


class Agent:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
        self.optimizer = tf.keras.optimizers.Adam()

    def train(self, dataset):
        for x, y in dataset:
"""
TAPE = """\
with tf.GradientTape() as tape:
    loss = tf.reduce_mean((self.model(x) - y) ** 2)
"""
GRADIENTS = "grads = tape.gradient(loss, self.model.trainable_variables)\n"
APPLY = "self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))\n"
TAIL = "\n\nagent = Agent()\nagent.train(tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(32))\n"


def agent(*step: str) -> str:
    return HEAD + indent("".join(step), " " * 12) + TAIL


JUMPS = {
    "continue": 'if not np.isfinite(loss.numpy()):\n    print("skipped")\n    continue\n',
    "break": "if loss < 0.1:\n    break\n",
    "return": "if loss > 100:\n    return loss\n",
}


@pytest.mark.parametrize("jump", JUMPS.values(), ids=JUMPS)
@pytest.mark.parametrize("is_ahead", [True, False], ids=["ahead of the gradients", "behind them"])
def test_a_jump_stays_where_the_host_decides_between_two_compiled_parts(jump: str, is_ahead: bool) -> None:
    step = (TAPE, jump, GRADIENTS, APPLY) if is_ahead else (TAPE, GRADIENTS, jump, APPLY)
    text = fixed("TFP101", agent(*step), bold=True)
    assert indent(TAPE + GRADIENTS + "return loss, grads\n", " " * 8) in text
    assert (
        text.count("def _train_step(self, x, y):\n")
        == text.count("def _update_model(self, gradients):\n")
        == 1
    )
    loop = "loss, grads = self._train_step(x, y)\n" + jump + "self._update_model(grads)\n"
    assert text.endswith(indent(loop, " " * 12) + TAIL)


STAY = {
    "the gradients are those of the last step where it jumps": agent(
        TAPE, JUMPS["continue"], GRADIENTS, APPLY
    ).replace(TAIL, "        print(grads)\n" + TAIL),
    "it changes what the gradients are asked of": agent(
        TAPE, "if loss > 9:\n    loss = loss / 2\n    if loss > 9:\n        break\n", GRADIENTS, APPLY
    ),
    "random numbers are drawn for what comes behind it": agent(
        TAPE,
        JUMPS["break"],
        "grads = [g + tf.random.normal(g.shape) for g in ",
        GRADIENTS[8:-1] + "]\n",
        APPLY,
    ),
}


@pytest.mark.parametrize("source", STAY.values(), ids=STAY)
def test_gradients_are_not_computed_ahead_of_a_jump_where_that_is_seen(source: str) -> None:
    assert "def _train_step" not in fixed("TFP101", source, bold=True)


def test_a_jump_under_the_tape_stands_in_the_way() -> None:
    source = agent(TAPE, indent(JUMPS["break"], "    "), GRADIENTS, APPLY)
    assert "def _train_step" not in fixed("TFP101", source, bold=True)
    assert "`break` leaves the step" in notes("TFP101", source)[0]


def test_what_stands_behind_a_jump_is_not_done_ahead_of_it() -> None:
    source = agent(TAPE, JUMPS["break"], "rate = np.sqrt(len(x))\n", "print(rate)\n", GRADIENTS, APPLY)
    text = dedent(fixed("TFP101", source, bold=True))
    assert text.index("break") < text.index("rate = np.sqrt(len(x))")
