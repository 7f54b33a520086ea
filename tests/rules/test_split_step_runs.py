"""Programs before and after their bold fixes: they print the same."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.forked import Forks
from tests.rules.support import fixed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed"),
]

ACTOR_CRITIC = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)


class Agent:
    def __init__(self):
        self.gamma = 0.99
        self.action = None
        self.losses = []
        inputs = tf.keras.Input((4,))
        hidden = tf.keras.layers.Dense(16, activation="relu")(inputs)
        outputs = [tf.keras.layers.Dense(1)(hidden), tf.keras.layers.Dense(2, activation="softmax")(hidden)]
        self.actor_critic = tf.keras.Model(inputs, outputs)
        self.optimizer = tf.keras.optimizers.Adam(1e-3)

    def choose_action(self, observation):
        state = tf.convert_to_tensor([observation], dtype=tf.float32)
        _, probs = self.actor_critic(state)
        self.action = tf.argmax(probs[0])
        return self.action.numpy()

    def learn(self, state, reward, after, done):
        state = tf.convert_to_tensor([state], dtype=tf.float32)
        after = tf.convert_to_tensor([after], dtype=tf.float32)
        with tf.GradientTape() as tape:
            value, probs = self.actor_critic(state)
            value_after, _ = self.actor_critic(after)
            log_prob = tf.math.log(probs[0, self.action])
            delta = reward + self.gamma * tf.squeeze(value_after) * (1 - int(done)) - tf.squeeze(value)
            loss = delta**2 - log_prob * delta
        gradients = tape.gradient(loss, self.actor_critic.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.actor_critic.trainable_variables))
        self.losses.append(loss.numpy())


agent, rng = Agent(), np.random.default_rng(0)
state = rng.normal(size=4)
for step in range(8):
    action = agent.choose_action(state)
    after = rng.normal(size=4)
    agent.learn(state, float(action == 0), after, step % 5 == 4)
    state = after
print(np.round(agent.losses, 4))
"""

REPLAY = """
import random
from collections import deque

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)


class Learner:
    def __init__(self):
        self.memory = deque(maxlen=500)
        self.gamma, self.epsilon = 0.95, 1.0
        self.model, self.target = self.build(), self.build()
        self.optimizer = tf.keras.optimizers.Adam(1e-2)
        self.loss_fn = tf.keras.losses.MeanSquaredError()

    def build(self):
        return tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])

    def act(self, state):
        if np.random.rand() < self.epsilon:
            return random.randrange(2)
        return int(np.argmax(self.model(state[np.newaxis])[0]))

    def replay(self, size):
        batch = random.sample(self.memory, size)
        states, rewards, after, dones = (np.array([one[at] for one in batch]) for at in (0, 2, 3, 4))
        actions = np.array([one[1] for one in batch])
        best = tf.reduce_max(self.target(after), axis=1)
        targets = rewards + (1 - dones) * self.gamma * best
        with tf.GradientTape() as tape:
            q = tf.reduce_sum(self.model(states) * tf.one_hot(actions, 2), axis=1)
            loss = self.loss_fn(targets, q)
            self.loss = float(loss)
        gradients = tape.gradient(loss, self.model.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        for kept, learned in zip(self.target.variables, self.model.variables):
            kept.assign(0.9 * kept + 0.1 * learned)
        self.epsilon *= 0.9


learner, rng = Learner(), np.random.default_rng(0)
state = rng.normal(size=4)
for step in range(28):
    action, after = learner.act(state), rng.normal(size=4)
    learner.memory.append((state, action, float(action), after, step % 20 == 19))
    state = after
    if step >= 20:
        learner.replay(16)
print(round(learner.loss, 4), np.round(learner.target.get_weights()[1], 4))
"""

PREDICTIONS = """
import random

import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)


class Agent:
    def __init__(self):
        self.memory = []
        self.model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
        self.model.compile(loss="mse", optimizer=tf.keras.optimizers.SGD(0.1))

    def act(self, state):
        return int(np.argmax(self.model.predict(state, verbose=0)[0]))

    def replay(self, size):
        for state, action, after in random.sample(self.memory, size):
            best = np.amax(self.model.predict(after, verbose=0)[0])
            wanted = self.model.predict(state, verbose=0)
            wanted[0][action] = action + 0.9 * best
            self.model.train_on_batch(state, wanted)


agent, rng = Agent(), np.random.default_rng(0)
state = rng.normal(size=(1, 4))
while len(agent.memory) < 7:
    action, after = agent.act(state), rng.normal(size=(1, 4))
    agent.memory.append((state, action, after))
    state = after
    if len(agent.memory) > 5:
        agent.replay(3)
print(np.round(agent.model.get_weights()[0], 4))
"""

FITS = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
model = tf.keras.Sequential(
    [
        tf.keras.Input((4,)),
        tf.keras.layers.Dense(16, activation="relu", kernel_regularizer="l2"),
        tf.keras.layers.Dropout(DROPOUT, seed=3),
        tf.keras.layers.Dense(2),
    ]
)
model.compile(loss="mse", optimizer=tf.keras.optimizers.Adam(1e-2), metrics=["mae"])
states, wanted = np.random.rand(256, 4), np.random.rand(256, 2)
for step in range(6):
    chosen = np.random.randint(0, 256, 16)
    model.fit(
        states[chosen], wanted[chosen], sample_weight=chosen / 256, epochs=1, verbose=0, shuffle=False
    )
print(np.round(model.get_weights()[2], 4))
"""

BATCHES = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(3), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(1e-2)
x, y = np.random.rand(256, 8), np.random.rand(256, 1)
losses = []
for step in range(8):
    chosen = np.random.randint(0, 256, 32)
    inputs, targets = x[chosen], y[chosen]
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(inputs) - targets))
        losses.append(loss.numpy())
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
print(np.round(losses, 4))
"""


MASKED = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)


def masked(answers, labels, mask):
    losses = tf.keras.losses.sparse_categorical_crossentropy(labels, answers, from_logits=True)
    return tf.reduce_sum(losses * mask) / tf.reduce_sum(tf.cast(mask, tf.float32))


def train(model, optimizer, sentences, padding):
    losses = []
    for start in range(0, len(sentences) - 15, 16):
        batch = sentences[start : start + 16]
        with tf.GradientTape() as tape:
            answers = model(batch[:, :-1])
            labels = batch[:, 1:]
            mask = np.where(labels == padding, 0, 1)
            loss = masked(answers, labels, mask)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        losses.append(loss.numpy())
    return losses


model = tf.keras.Sequential(
    [tf.keras.Input((7,), dtype="int64"), tf.keras.layers.Embedding(20, 8), tf.keras.layers.Dense(20)]
)
sentences = np.random.randint(0, 20, (80, 8))
for epoch in range(2):
    losses = train(model, tf.keras.optimizers.SGD(0.5), sentences, 0)
print(np.round(losses[-3:], 4))
"""

SPREAD = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def compute_loss(self, x, y):
        return tf.reduce_mean(tf.square(self.model(x) - y))

    def compute_gradients(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.compute_loss(x, y)
        return loss, tape.gradient(loss, self.model.trainable_variables)

    def apply(self, gradients):
        self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))

    def train_batch(self, x, y):
        loss, gradients = self.compute_gradients(x, y)
        self.apply(gradients)
        return loss

    def load(self, path):
        self.model = tf.keras.models.load_model(path)


trainer = Trainer(
    tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(3), tf.keras.layers.Dense(1)]),
    tf.keras.optimizers.Adam(1e-2),
)
data = tf.data.Dataset.from_tensor_slices((np.random.rand(160, 8), np.random.rand(160, 1))).batch(32)
for x, y in data.repeat(2):
    loss = trainer.train_batch(tf.cast(x, tf.float32), tf.cast(y, tf.float32))
print(np.round(loss.numpy(), 4))
"""

IN_A_LOOP = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)


def compute_gradients(model, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    return tape.gradient(loss, model.trainable_variables), loss


model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(3), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(1e-2)
x, y = np.random.rand(208, 8).astype("float32"), np.random.rand(208, 1).astype("float32")
data = tf.data.Dataset.from_tensor_slices((x, y)).batch(48)
for epoch in range(2):
    for x, y in data:
        gradients, loss = compute_gradients(model, x, y)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    print(np.round(loss.numpy(), 4))
"""

# Were a gradient to go through what NumPy computed, it would learn something else.
TWINS = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = tf.keras.layers.Dense(16, activation="relu"), tf.keras.layers.Dense(3)

    def call(self, x):
        return self.out(self.hidden(x))


class Learner:
    def __init__(self):
        self.net, self.steps = Net(), 0
        self.optimizer = tf.keras.optimizers.Adam(1e-2)

    def learn(self, states, actions, rewards, after):
        self.steps += 1
        with tf.GradientTape() as tape:
            q = tf.reduce_sum(self.net(states) * tf.one_hot(actions, 3), axis=1)
            q_after = self.net(after)
            chosen = np.argmax(q_after, axis=-1)
            best = np.max(q_after.numpy(), axis=1)
            mean = np.mean(q_after, axis=-1, keepdims=True)
            second = tf.reduce_sum(q_after * tf.one_hot(chosen, 3), axis=1)
            targets = rewards + 0.5 * best + 0.3 * tf.stop_gradient(second) + 0.1 * mean[:, 0]
            loss = tf.reduce_mean(tf.square(targets - q))
        gradients = tape.gradient(loss, self.net.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.net.trainable_variables))
        return loss


learner, rng = Learner(), np.random.default_rng(0)
for step in range(8):
    states, after = rng.normal(size=(16, 4)).astype("float32"), rng.normal(size=(16, 4)).astype("float32")
    loss = learner.learn(states, rng.integers(0, 3, 16), rng.normal(size=16), after)
print(np.round(loss.numpy(), 4), np.round(learner.net.get_weights()[1][:4], 4))
"""

ATTENDING = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)


class Attention(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.query = tf.keras.layers.Dense(4)
        self.seen = None

    def call(self, x):
        scores = tf.matmul(self.query(x), x, transpose_b=True)
        self.seen = tf.nn.softmax(tf.where(scores < -3, -1, scores))
        return tf.matmul(self.seen, x)


class Learner:
    def __init__(self):
        self.attend, self.optimizer = Attention(), tf.keras.optimizers.Adam(1e-2)

    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.maximum(0, 1 - y * self.attend.call(x)))
        gradients = tape.gradient(loss, self.attend.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.attend.trainable_variables))
        return loss


learner = Learner()
x = tf.constant(np.random.default_rng(0).normal(size=(64, 3, 4)), tf.float32)
for batch in tf.data.Dataset.from_tensor_slices((x, tf.sign(x))).batch(16).repeat(2):
    loss = learner.step(*batch)
learner.attend.call(x)
print(np.round(loss.numpy(), 4), np.round(learner.attend.seen.numpy()[0], 4))
"""

TARGETS = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)


class Learner:
    def __init__(self):
        self.q, self.other = self.build(), self.build()
        self.optimizer = tf.keras.optimizers.Adam(1e-2)

    def build(self):
        return tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(3)])

    def learn(self, states, actions, rewards, after):
        with tf.GradientTape() as tape:
            values = self.q(states)
            probs = tf.nn.softmax(values[0])
            drawn = np.random.choice(3, p=probs.numpy())
            target = values.numpy()
            best = self.other(after).numpy().max(axis=1)
            target[np.arange(16), actions] = rewards + 0.9 * best
            loss = tf.reduce_mean((target - values) ** 2) - tf.math.log(probs[drawn])
        gradients = tape.gradient(loss, self.q.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.q.trainable_variables))
        return loss


learner, rng = Learner(), np.random.default_rng(0)
for step in range(8):
    states, after = rng.normal(size=(16, 4)).astype("float32"), rng.normal(size=(16, 4)).astype("float32")
    loss = learner.learn(states, rng.integers(0, 3, 16), rng.normal(size=16), after)
print(np.round(loss.numpy(), 4), np.round(learner.q.get_weights()[1], 4))
"""

EVALUATING = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
model = tf.keras.Sequential([tf.keras.layers.Dense(16), tf.keras.layers.Dropout(0.5), tf.keras.layers.Dense(3)])
optimizer = tf.keras.optimizers.Adam()
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
accuracy, mean = tf.keras.metrics.SparseCategoricalAccuracy(), tf.keras.metrics.Mean()
rng = np.random.default_rng(0)
x, y = rng.normal(size=(72, 4)).astype("float32"), rng.integers(0, 3, 72)
training = tf.data.Dataset.from_tensor_slices((x, y)).batch(16)
tests = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
for epoch in range(2):
    for images, labels in training:
        with tf.GradientTape() as tape:
            loss = loss_fn(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        mean(loss)
    print(mean.result().numpy().round(4))
    mean.reset_state()
    for images, labels in tests:
        logits = model(images, training=False)
        loss = loss_fn(labels, logits)
        mean.update_state(loss)
        accuracy(labels, logits)
    for images, labels in tests:
        with tf.GradientTape() as tape:
            logits = model(images, training=False)
        accuracy.update_state(labels, logits)
    print(epoch, np.round([loss, mean.result(), accuracy.result()], 4))
    mean.reset_state()
"""


# Its statistics change with each pass in training, which may not run twice.
NORMALIZED = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = tf.keras.layers.Dense(8, activation="relu"), tf.keras.layers.Dense(3)
        self.norm = tf.keras.layers.BatchNormalization()

    def call(self, x, training=False):
        return self.out(self.norm(self.hidden(x), training=training))


class Learner:
    def __init__(self):
        self.online, self.target = Net(), Net()
        self.optimizer = tf.keras.optimizers.Adam(1e-3)

    def learn(self, states, actions, rewards, after):
        with tf.GradientTape() as tape:
            values = self.online(states, training=True)
            wanted = values.numpy()
            best = np.argmax(self.online(after, training=False).numpy(), axis=1)
            ahead = self.target(after, training=False).numpy()
            rows = np.arange(len(actions))
            wanted[rows, actions] = rewards + 0.9 * ahead[rows, best]
            loss = tf.keras.losses.huber(wanted, values)
        gradients = tape.gradient(loss, self.online.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.online.trainable_variables))
        return loss


learner, rng = Learner(), np.random.default_rng(0)
for step in range(8):
    states, after = rng.normal(size=(16, 4)), rng.normal(size=(16, 4))
    loss = learner.learn(states, rng.integers(0, 3, 16), rng.normal(size=16), after)
print(np.round(np.mean(loss), 4), np.round(learner.online.get_weights()[1], 4))
"""


SEVERAL = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)


class Heads(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.heads = [tf.keras.layers.Dense(units) for units in (2, 3)]

    def call(self, x):
        return [head(x) for head in self.heads]


def loss_of(outputs, targets):
    parts = [tf.reduce_mean((output - target) ** 2) for output, target in zip(outputs, targets)]
    return tf.add_n([weight * part for weight, part in enumerate(parts, 1)])


def train(model, batches):
    optimizer = tf.keras.optimizers.Adam(0.1)

    def step(x, first, second):
        with tf.GradientTape() as tape:
            loss = loss_of(model(x), (first, second))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    for x, first, second in batches:
        loss = step(x, first, second)
    print(round(float(loss), 4))


rng = np.random.default_rng(0)
arrays = [rng.normal(size=(80, width)).astype("float32") for width in (4, 2, 3)]
train(Heads(), tf.data.Dataset.from_tensor_slices(tuple(arrays)).batch(8))
"""

FOLDS = """
import numpy as np
import tensorflow as tf


def step(model, optimizer, x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


def train(fold):
    tf.keras.utils.set_random_seed(fold)
    model, optimizer = tf.keras.Sequential([tf.keras.layers.Dense(1)]), tf.keras.optimizers.Adam()
    for epoch in range(2):
        for x, y in tf.data.Dataset.from_tensor_slices((xs[fold::3], ys[fold::3])).batch(8):
            loss = step(model, optimizer, x, y)
    print(fold, round(float(loss), 4))


rng = np.random.default_rng(0)
xs, ys = rng.normal(size=(108, 4)).astype("float32"), rng.normal(size=(108, 1)).astype("float32")
for fold in range(3):
    train(fold)
"""

PRIORITIES = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)


class Learner:
    def __init__(self):
        self.scale = np.array([0.5, 2.0], dtype="float32")
        self.priorities = np.ones(100)
        self.model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
        self.optimizer = tf.keras.optimizers.Adam(0.1)

    def read(self, x, as_text=False):
        q = self.model(x) * np.asarray(self.scale)
        if as_text:
            return str(np.round(q.numpy(), 3))
        return q

    def cost(self, x, y):
        error = y - tf.reduce_sum(self.read(x), axis=1)
        priorities = np.abs(error) + 0.01
        return tf.reduce_mean(error**2 / float(len(x))), priorities

    def learn(self, x, y, rows):
        with tf.GradientTape() as tape:
            loss, priorities = self.cost(x, y)
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss, priorities


learner, rng = Learner(), np.random.default_rng(0)
xs, ys = rng.normal(size=(100, 4)).astype("float32"), rng.normal(size=100).astype("float32")
for step in range(8):
    rows = rng.choice(100, 16, p=learner.priorities / learner.priorities.sum())
    loss, learner.priorities[rows] = learner.learn(tf.constant(xs[rows]), tf.constant(ys[rows]), rows)
print(round(float(loss), 4), np.round(learner.priorities.sum(), 3), learner.read(xs[:2], True))
"""

DECODING = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)


class Decoder(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.cell, self.head = tf.keras.layers.GRUCell(8), tf.keras.layers.Dense(5)

    def call(self, x, features, states, training=None):
        out, states = self.cell(tf.concat([x, features], axis=-1), states)
        return self.head(out), states


class Translator:
    def __init__(self):
        self.decoder = Decoder()


def decode(translator, decoder, features, words):
    x, states = np.zeros((1, 5), "float32"), [tf.zeros((1, 8))]
    for word in range(words):
        y, states = decoder(x, features, states, training=False)
        x = np.eye(5, dtype="float32")[np.argmax(translator.decoder(x, features, states=states)[0], axis=1)]
        print(word, np.round(y.numpy(), 3))


translator = Translator()
for sentence in range(3):
    decode(translator, translator.decoder, tf.random.normal((1, 4)), int("6"))
"""

WATCHED = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)


class Network(tf.Module):
    def __init__(self):
        self.first = tf.Variable(tf.random.normal((2, 8)))
        self.last = tf.Variable(tf.random.normal((8, 1)))

    def __call__(self, x):
        return tf.tanh(x @ self.first) @ self.last

    def loss_of(self, points):
        g = tf.Variable(points, dtype="float32")
        x, t = g[:, 0:1], g[:, 1:2]
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            tape.watch(t)
            u = self(tf.concat([x, t], axis=1))
        residual = tape.gradient(u, x) + tape.gradient(u, t) - np.sin(3.0 * x)
        return tf.reduce_mean(residual**2)

    def learn(self, points):
        with tf.GradientTape() as tape:
            loss = self.loss_of(points)
        gradients = tape.gradient(loss, self.trainable_variables)
        optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return loss.numpy()


network, optimizer = Network(), tf.keras.optimizers.SGD(0.01)
points = np.random.default_rng(0).normal(size=(50, 2))
for step in range(10):
    loss = network.learn(points)
print(round(float(loss), 4), np.round(network.last[:, 0], 3))
"""

# Another model and optimizer for each trial, a loss that each step makes, and a loop that ends by what the step computes.
RESTARTED = """
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(3)


class Agent:
    def __init__(self):
        self.reset()

    def reset(self):
        layers = [tf.keras.layers.Dense(8, activation="tanh"), tf.keras.layers.Dense(2)]
        self.model = tf.keras.Sequential([tf.keras.Input((3,)), *layers])
        self.optimizer = tf.keras.optimizers.Adam(0.01)

    def loss(self, x, y):
        answers = self.model(x)
        return tf.reduce_mean(tf.abs(answers - y))

    def train(self, x, y, epochs):
        for epoch in range(epochs):
            huber = tf.keras.losses.Huber()
            with tf.GradientTape() as tape:
                loss = self.loss(x, y) + huber(y, self.model(x))
            if loss < 0.55:
                print("learned", epoch)
                break
            gradients = tape.gradient(loss, self.model.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
        return loss


agent, rng = Agent(), np.random.default_rng(0)
for trial in range(3):
    x = rng.normal(size=(16, 3)).astype("float32")
    loss = agent.train(tf.constant(x), tf.constant(x[:, :2]), 60)
    print(trial, round(float(loss), 4))
    agent.reset()
"""


@pytest.mark.parametrize(
    "source",
    [
        ACTOR_CRITIC,
        REPLAY,
        BATCHES,
        MASKED,
        SPREAD,
        IN_A_LOOP,
        TWINS,
        ATTENDING,
        TARGETS,
        EVALUATING,
        NORMALIZED,
        SEVERAL,
        FOLDS,
        PRIORITIES,
        DECODING,
        WATCHED,
        RESTARTED,
    ],
    ids=[
        "actor-critic",
        "replay",
        "batches",
        "masked",
        "spread",
        "in a loop",
        "twins",
        "attending",
        "targets",
        "evaluating",
        "normalized",
        "several",
        "folds",
        "priorities",
        "decoding",
        "watched",
        "restarted",
    ],
)
def test_a_program_prints_the_same_after_its_bold_fixes(source: str, tmp_path: Path, forks: Forks) -> None:
    source = _of_any_length(source)
    after = fixed("TFP107", fixed("TFP101", source, bold=True), bold=True)
    assert "tf.function" in after
    assert_prints_the_same(source, after, tmp_path, forks)


# Two objects share a model.
SHARED = (
    PREDICTIONS.replace("def __init__(self):", "def __init__(self, model):")
    .replace(
        "self.model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])",
        "self.model = model",
    )
    .replace(
        "agent, rng = Agent(), ",
        "model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])\n"
        "other, agent, rng = Agent(model), Agent(model), ",
    )
)
# Each object has a model and a method of its own.
TWO_AGENTS = PREDICTIONS.replace("agent, rng = Agent(), ", "other, agent, rng = Agent(), Agent(), ").replace(
    "agent.act(state), ", "(agent if len(agent.memory) % 2 else other).act(state), "
)


@pytest.mark.parametrize(
    ("source", "call"),
    [
        (PREDICTIONS, "self._run_model("),
        (TWO_AGENTS, "self._run_model("),
        (SHARED, "run_model(self.model, "),
    ],
    ids=["one model", "a model for each object", "a model for two objects"],
)
def test_calls_that_share_a_compiled_function_give_what_they_gave(
    source: str, call: str, tmp_path: Path, forks: Forks
) -> None:
    source = _of_any_length(source)
    after = fixed("TFP105", source, bold=True)
    assert (after.count("@tf.function"), after.count(call)) == (1, 2)
    assert_prints_the_same(source, after, tmp_path, forks)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_a_compiled_gradient_step_learns_what_fit_learned(
    dropout: float, tmp_path: Path, forks: Forks
) -> None:
    before = _of_any_length(FITS.replace("DROPOUT", str(dropout)))
    after = fixed("TFP105", before, bold=True)
    assert ("GradientTape" in after, ".fit(" in after) == (True, False)
    assert_prints_the_same(before, after, tmp_path, forks)


def _of_any_length(source: str) -> str:
    """The program with numbers of steps that nobody sees before it runs: so few would need no mending."""
    return re.sub(r"^(for \w+ in range)\((\d+)\):$", r'\1(int("\2")):', source, flags=re.MULTILINE)


def assert_prints_the_same(before: str, after: str, folder: Path, forks: Forks) -> None:
    printed = {}
    for name, text in (("before", before), ("after", after)):
        file = folder / f"{name}.py"
        file.write_text(text, encoding="utf-8")
        ran = forks.run(file.name, folder=folder)
        assert ran.returncode == 0, f"{text}\n{ran.stderr[-2000:]}"
        printed[name] = ran.stdout
    assert printed["after"] == printed["before"] != ""
