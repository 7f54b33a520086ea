"""Variables of an optimizer that a compiled step is given, which may be another one later: made ahead of the call."""

from __future__ import annotations

import pytest

from .support import fixed

TRAINER = """\
import tensorflow as tf


class Trainer:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(2)])
        self.optimizer = tf.keras.optimizers.Adam()

    def step(self, x, y, optimizer):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.model(x) - y) ** 2)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        {optimizer}.apply_gradients(zip(gradients, self.model.trainable_variables))
        self.losses.append(loss.numpy())

    def fit(self, rate):
        self.losses = []
        optimizer = tf.keras.optimizers.Adam(rate)
        for x, y in tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(32):
            self.step(x, y, optimizer)

    def restart(self):
        {restarts}


trainer = Trainer()
trainer.fit(0.1)
{later}
"""
CALL = """\
        if self.model.built:
            {optimizer}.build(self.model.trainable_variables)
        loss = self._train_step(
"""


@pytest.mark.parametrize(
    ("optimizer", "restarts", "later"),
    [
        ("optimizer", "pass", "trainer.fit(0.01)"),
        ("self.optimizer", "self.optimizer = tf.keras.optimizers.Adam()", ""),
    ],
    ids=["one of each training", "one that a method makes anew"],
)
def test_another_optimizer_has_its_variables_before_its_trace(
    optimizer: str, restarts: str, later: str
) -> None:
    source = TRAINER.format(optimizer=optimizer, restarts=restarts, later=later)
    assert CALL.format(optimizer=optimizer).rstrip() in fixed("TFP101", source, bold=True)


@pytest.mark.parametrize("optimizer", ["optimizer", "self.optimizer"])
def test_the_only_one_makes_them_in_the_first_trace(optimizer: str) -> None:
    text = fixed("TFP101", TRAINER.format(optimizer=optimizer, restarts="pass", later=""), bold=True)
    assert "loss = self._train_step(" in text
    assert ".build(" not in text


def test_an_update_apart_has_them_made_for_it_as_well() -> None:
    source = TRAINER.format(
        optimizer="self.optimizer",
        restarts="self.optimizer = tf.keras.optimizers.Adam()",
        later="",
    ).replace(
        "        gradients = tape", "        if loss > 9:\n            return\n        gradients = tape"
    )
    made = """\
        if self.model.built:
            self.optimizer.build(self.model.trainable_variables)
        self._update_model(self.optimizer, gradients)
"""
    assert made in fixed("TFP101", source, bold=True)


def test_an_update_apart_by_the_only_one_makes_them_itself() -> None:
    source = TRAINER.format(optimizer="optimizer", restarts="pass", later="").replace(
        "        gradients = tape", "        if loss > 9:\n            return\n        gradients = tape"
    )
    text = fixed("TFP101", source, bold=True)
    assert "self._update_model(optimizer, gradients)" in text
    assert ".build(" not in text
