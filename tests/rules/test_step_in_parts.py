"""Steps that can't be compiled as one: their passes through a model and their optimizer are, by a bold fix."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import fixed

AGENT = dedent("""\
    import numpy as np
    import tensorflow as tf


    class Net(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.hidden = tf.keras.layers.Dense(8)
            self.norm = tf.keras.layers.BatchNormalization()
            self.out = tf.keras.layers.Dense(3)

        def call(self, x, training=False):
            return self.out(self.norm(self.hidden(x), training=training))


    class Agent:
        def __init__(self):
            self.online, self.target = Net(), Net()
            self.optimizer = tf.keras.optimizers.Adam()

        def learn(self, states, actions, rewards, after):
            with tf.GradientTape() as tape:
                values = self.online(states, training=True)
                wanted = values.numpy()  # in place
                best = np.argmax(self.online(after, training=False).numpy(), axis=1)
                ahead = self.target(after, training=False).numpy()
                rows = np.arange(len(actions))
                wanted[rows, actions] = rewards + 0.9 * ahead[rows, best]
                loss = tf.reduce_mean(tf.keras.losses.huber(wanted, values))
            gradients = tape.gradient(loss, self.online.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.online.trainable_variables))
            return loss


    agent = Agent()
    for states, actions, rewards, after in memory:
        agent.learn(states, actions, rewards, after)
""")


def test_what_the_host_comes_between_is_compiled_in_parts() -> None:
    """A pass with batch norm may not run twice, ahead of the tape and under it."""
    text = fixed("TFP101", AGENT, bold=True)
    assert (
        "@tf.function(reduce_retracing=True)\n"
        "def run_online(model, inputs):\n"
        "    return model(inputs, training=True)\n"
    ) in text
    assert (
        "    @tf.function\n"
        "    def _update_online(self, gradients):\n"
        "        self.optimizer.apply_gradients(zip(gradients, self.online.trainable_variables))\n"
    ) in text
    assert text.partition("        with tf.GradientTape() as tape:\n")[2].partition("\n\n")[0] == (
        "            values = run_online(self.online, states)\n"
        "            wanted = values.numpy()  # in place\n"
        "            best = np.argmax(run_online_2(self.online, after).numpy(), axis=1)\n"
        "            ahead = run_target(self.target, after).numpy()\n"
        "            rows = np.arange(len(actions))\n"
        "            wanted[rows, actions] = rewards + 0.9 * ahead[rows, best]\n"
        "            loss = tf.reduce_mean(tf.keras.losses.huber(wanted, values))\n"
        "        gradients = tape.gradient(loss, self.online.trainable_variables)\n"
        "        self._update_online(gradients)\n"
        "        return loss"
    )


def test_what_is_fixed_is_left_alone() -> None:
    once = fixed("TFP101", AGENT, bold=True)
    assert fixed("TFP101", once, bold=True) == once


# A loss that takes parts of the batch one by one, and what calls it.
BOXES = dedent("""\
    import numpy as np
    import tensorflow as tf


    def loss_of(model, images, boxes):
        total = 0.0
        found = model(images)
        for number in range(len(boxes)):
            mask = np.zeros((7, 7))
            mask[int(boxes[number, 0] * 7.0), 0] = 1
            total += tf.reduce_sum(found[number] * mask)
        return total


    def train_step(model, optimizer, images, boxes):
        with tf.GradientTape() as tape:
            loss = loss_of(model, images, boxes)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss


    model = tf.keras.Sequential([tf.keras.layers.Dense(7)])
    optimizer = tf.keras.optimizers.Adam()
    for images, boxes in dataset:
        train_step(model, optimizer, images, tf.convert_to_tensor(boxes))
""")


def test_what_a_model_is_given_besides_its_inputs_is_handed_on() -> None:
    source = BOXES.replace("model(images)", "model(images, boxes, training=True)")
    text = fixed("TFP101", source, bold=True)
    assert "def run_model(model, inputs, boxes):\n    return model(inputs, boxes, training=True)\n" in text
    assert "    found = run_model(model, images, boxes)\n" in text


def test_a_model_is_compiled_that_a_function_under_the_tape_calls() -> None:
    text = fixed("TFP101", BOXES, bold=True)
    assert (
        "@tf.function(reduce_retracing=True)\ndef run_model(model, inputs):\n    return model(inputs)\n"
        in text
    )
    assert "    found = run_model(model, images)\n" in text
    assert (
        "@tf.function\n"
        "def update_model(optimizer, model, gradients):\n"
        "    optimizer.apply_gradients(zip(gradients, model.trainable_variables))\n"
    ) in text
    assert "    update_model(optimizer, model, gradients)\n" in text


STAYS = {
    "losses that layers leave on the model": (
        "total = 0.0\n    found",
        "total = sum(model.losses)\n    found",
    ),
    "a number that a model is given besides its inputs": ("model(images)", "model(images, len(boxes))"),
    "a gradient of what the model gives": (
        "tape.gradient(loss, model.trainable_variables)",
        "tape.gradient(loss, loss)",
    ),
    "gradients of each output": ("tape.gradient(", "tape.jacobian("),
    "a model of several inputs by name": ("model(images)", "model(inputs=images)"),
}


@pytest.mark.parametrize(("old", "new"), STAYS.values(), ids=STAYS.keys())
def test_what_a_function_of_its_own_would_do_otherwise_stays(old: str, new: str) -> None:
    source = BOXES.replace(old, new)
    assert source != BOXES
    assert fixed("TFP101", source, bold=True) == source


UPDATES = {
    "a tuple of both": (
        "zip(gradients, model.trainable_variables)",
        "((g, v) for g, v in zip(gradients, model.trainable_variables) if g is not None)",
    ),
    "variables of a name of their own": (
        "    gradients = tape.gradient(loss, model.trainable_variables)\n"
        "    optimizer.apply_gradients(zip(gradients, model.trainable_variables))",
        "    trained = model.trainable_variables\n"
        "    gradients = tape.gradient(loss, trained)\n"
        "    optimizer.apply_gradients(zip(gradients, trained))",
    ),
}


@pytest.mark.parametrize(("old", "new"), UPDATES.values(), ids=UPDATES.keys())
def test_an_update_of_other_form_stays(old: str, new: str) -> None:
    source = BOXES.replace(old, new)
    text = fixed("TFP101", source, bold=True)
    assert "run_model(model, images)" in text
    assert "update" not in text
    assert new in text
