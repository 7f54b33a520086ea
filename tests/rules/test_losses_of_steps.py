"""Losses that each step makes above its tape: made in the compiled function, once a trace."""

from __future__ import annotations

import pytest

from .support import fixed

SCRIPT = """\
import tensorflow as tf


class Agent:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
        self.optimizer = tf.keras.optimizers.Adam()
        self.losses = []

    def learn(self, x, y):
        {made}
        with tf.GradientTape() as tape:
            loss = loss_fn(y, self.model(x))
        grads = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(grads, self.model.trainable_variables))
        self.losses.append({kept})


agent = Agent()
for x, y in tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(32):
    agent.learn(x, y)
"""
MADE = "loss_fn = tf.keras.losses.{}"


@pytest.mark.parametrize("made", ["Huber()", "BinaryCrossentropy(from_logits=True)"])
def test_a_loss_that_each_step_makes_goes_into_the_compiled_function(made: str) -> None:
    source = SCRIPT.format(made=MADE.format(made), kept="loss.numpy()")
    text = fixed("TFP101", source, bold=True)
    start = f"        {MADE.format(made)}\n        with tf.GradientTape() as tape:\n"
    assert f"    def _train_step(self, y, x):\n{start}" in text
    assert text.count(made) == 1


@pytest.mark.parametrize(
    ("made", "kept"),
    [
        ("loss_fn = tf.keras.losses.Huber()", "loss_fn(y, y).numpy()"),
        ("loss_fn = tf.keras.metrics.MeanSquaredError()", "loss.numpy()"),
    ],
    ids=["the host asks it as well", "a metric, which has variables"],
)
def test_nothing_else_goes_there(made: str, kept: str) -> None:
    assert f"):\n        {made}\n        with tf" not in fixed(
        "TFP101", SCRIPT.format(made=made, kept=kept), bold=True
    ).replace("def learn(self, x, y):\n        " + made, "")
