"""Objects that a compiled step is handed so that each has a trace: what its functions read, and a method or a function binds anew."""

from __future__ import annotations

import pytest

from .support import fixed

AGENT = """\
import tensorflow as tf


class Agent:
    def __init__(self):
        self.model, self.target = build(), build()
        self.optimizer = tf.keras.optimizers.Adam()
        self.scale = 1.0

    def loss(self, x, y):
        error = self.target(x) + y - self.model(x)
        return tf.reduce_mean(error**2){scaled}

    def learn(self, x, y):
        with tf.GradientTape() as tape:
            loss = {loss}
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))

    def load(self, path):
        {binds}


def build():
    return tf.keras.Sequential([tf.keras.layers.Dense(2)])


agent = Agent()
other = Agent()
for x, y in tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(32):
    agent.learn(x, y)
    if x[0, 0] > 3:
        agent.load("best.keras")
"""


def agent(binds: str, loss: str = "self.loss(x, y)", scaled: str = "") -> str:
    return AGENT.format(binds=binds, loss=loss, scaled=scaled)


def test_a_model_that_a_method_of_the_step_reads_is_handed_over_for_a_trace_of_its_own() -> None:
    text = fixed("TFP101", agent("self.model = tf.keras.models.load_model(path)"), bold=True)
    assert "self._train_step(x, y, self.model)" in text
    assert "def _train_step(self, x, y, model):\n        with tf" in text


def test_so_is_one_that_only_that_method_reads() -> None:
    text = fixed("TFP101", agent("self.target = tf.keras.models.load_model(path)"), bold=True)
    assert "self._train_step(x, y, self.target)" in text
    head = "def _train_step(self, x, y, target):\n        # Each `target` has a trace: what is called reads it.\n"
    assert head in text


@pytest.mark.parametrize(
    "source",
    [
        agent("self.scale = 0.5 * self.scale", scaled=" * self.scale"),
        agent("self.model = tf.keras.models.load_model(path)", "other.loss(x, y)"),
    ],
    ids=["a number, each of which would have a trace", "a model of another object"],
)
def test_nothing_else_is(source: str) -> None:
    text = fixed("TFP101", source, bold=True)
    assert "_train_step" not in text


MODULE = """\
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()


def load(path):
    global model
    model = tf.keras.models.load_model(path)


def loss_of(x, y):
    return tf.reduce_mean(tf.square(model(x) - y))


def step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_of(x, y)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for x, y in tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(32):
    print(step(x, y))
    if x[0, 0] > 3:
        load("best.keras")
"""


def test_a_model_of_the_module_that_a_function_binds_anew_is_handed_over() -> None:
    text = fixed("TFP101", MODULE, bold=True)
    assert "    loss = train_step(x, y, model)\n" in text


PARTS = """\
import tensorflow as tf


class Network:
    def __init__(self):
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
        self.optimizer = tf.keras.optimizers.Adam()

    def load(self, path):
        self.model = tf.keras.models.load_model(path)


class Agent:
    def __init__(self):
        self.critic = Network()

    def learn(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self.critic.model(x) - y) ** 2)
        gradients = tape.gradient(loss, self.critic.model.trainable_variables)
        self.critic.optimizer.apply_gradients(zip(gradients, self.critic.model.trainable_variables))
        print(loss.numpy())


agent = Agent()
for x, y in tf.data.Dataset.from_tensor_slices((inputs, labels)).batch(32):
    agent.learn(x, y)
    if x[0, 0] > 3:
        agent.critic.load("best.keras")
"""


def test_so_is_one_of_an_object_that_the_own_object_has() -> None:
    text = fixed("TFP101", PARTS, bold=True)
    assert "    loss = self._train_step(self.critic.model, x, y)\n" in text
    assert "    gradients = tape.gradient(loss, critic_model.trainable_variables)\n" in text
    assert "self.critic.optimizer.apply_gradients(zip(gradients, critic_model.trainable_variables))\n" in text
