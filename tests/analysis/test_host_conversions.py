"""Conversions of host batches that feed a step."""

from __future__ import annotations

import pytest
from tflint_perf.rules.host.host_conversions import HostConversions

from tests.analysis.support import model_of

MODEL = """
model = keras.Sequential([keras.layers.Dense(3)])
optimizer = keras.optimizers.Adam()

def train_step(x, rate=0.1):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x)) * rate
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))

images = np.random.rand(6400, 28)
"""


def conversions(source: str) -> list[tuple[str, bool]]:
    """What is converted, and whether it is the same each time."""
    model = model_of(MODEL + source)
    return [
        (model.module.code_for_node(found.call.args[0].value), found.unchanged)
        for found in model.own(HostConversions).all()
    ]


FOUND = {
    "a slice": (
        "for i in range(0, len(images), 32):\n    train_step(tf.constant(images[i : i + 32]))\n",
        [("images[i : i + 32]", False)],
    ),
    "what the loop leaves as it is": (
        "for _ in range(1000):\n    train_step(tf.convert_to_tensor(images))\n",
        [("images", True)],
    ),
    "an element of a dataset": (
        "dataset = tf.data.Dataset.from_tensor_slices(images).batch(32)\n"
        "for x in dataset:\n    x = tf.convert_to_tensor(x)\n    train_step(x)\n",
        [("x", False)],
    ),
    "a batch of unknown origin in the step itself": (
        "def fit(x):\n    x = tf.convert_to_tensor(x)\n"
        "    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean(model(x))\n"
        "    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))\n"
        "for _ in range(1000):\n    fit(load())\n",
        [("x", False)],
    ),
}
NOT_FOUND = {
    "a number": "for i in range(1000):\n    train_step(images, tf.constant(0.1 * i))\n",
    "a setting": "for i in range(1000):\n    train_step(images, tf.convert_to_tensor(learning_rate))\n",
    "what no step uses": "for i in range(0, len(images), 32):\n    print(tf.constant(images[i : i + 32]))\n",
    "one sample": "for i in range(1000):\n    model(tf.constant([images[i]]))\n",
    "once": "train_step(tf.constant(images[:32]))\n",
    "compiled code": (
        "@tf.function\ndef step(x):\n    train_step(tf.convert_to_tensor(x))\n"
        "for i in range(0, len(images), 32):\n    step(images[i : i + 32])\n"
    ),
    "what is a tensor": "for _ in range(1000):\n    train_step(tf.convert_to_tensor(tf.random.normal([32, 3])))\n",
}


@pytest.mark.parametrize(("source", "expected"), FOUND.values(), ids=FOUND)
def test_conversions_of_batches_are_found(source: str, expected: list[tuple[str, bool]]) -> None:
    assert conversions(source) == expected


@pytest.mark.parametrize("source", NOT_FOUND.values(), ids=NOT_FOUND)
def test_others_are_left(source: str) -> None:
    assert conversions(source) == []
