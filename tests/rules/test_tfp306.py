"""TFP306: what is flagged, what is left alone, and what the fix makes of it."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

_HEAD = """\
import numpy as np
import tensorflow as tf


model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
target = tf.keras.models.clone_model(model)
dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
@tf.function
def train_step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - target(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
"""
_ROWS = _HEAD.count("\n")

SILENT = {
    "variables assigned one by one in a compiled function": """
        @tf.function
        def follow():
            for t, w in zip(target.variables, model.variables):
                t.assign(0.01 * w + 0.99 * t)
        for x in dataset:
            train_step(x)
            follow()
        """,
    "lists of anything that a function is given": """
        def follow(targets, weights, tau):
            for t, w in zip(targets, weights):
                t.assign(w * tau + t * (1 - tau))
        for x in dataset:
            train_step(x)
            follow(target.variables, model.variables, 0.01)
            follow(cells, model.variables, 0.01)
        """,
    "variables assigned every so many steps": """
        for step, x in enumerate(dataset):
            train_step(x)
            if step % 100 == 0:
                for t, w in zip(target.variables, model.variables):
                    t.assign(w)
        """,
    "variables assigned once an epoch": """
        for epoch in range(10):
            for x in dataset:
                train_step(x)
            for t, w in zip(target.variables, model.variables):
                t.assign(w)
        """,
    "variables of what is no model": """
        for x in dataset:
            train_step(x)
            for t, w in zip(averages.variables, state.variables):
                t.assign(w)
        """,
    "variables changed at random": """
        for x in dataset:
            train_step(x)
            for t, w in zip(target.variables, model.variables):
                t.assign(w + tf.random.normal(w.shape))
        """,
    "a loop that does something else, too": """
        for x in dataset:
            train_step(x)
            for t, w in zip(target.variables, model.variables):
                print(w.shape)
                t.assign(w)
        """,
    "variables of a model that each step makes": """
        for x in dataset:
            fast = tf.keras.models.clone_model(model)
            train_step(x)
            for t, w in zip(fast.variables, model.variables):
                t.assign(w)
        """,
    "a model that each step makes, for which what assigns to it would be traced again": """
        def copied(model):
            copy = tf.keras.models.clone_model(model)
            copy.set_weights(model.get_weights())
            return copy
        for x in dataset:
            train_step(x)
            print(copied(model)(x))
        """,
    "another model's weights, of which each step makes one": """
        for x in dataset:
            fast = tf.keras.models.clone_model(model)
            train_step(x)
            model.set_weights([0.9 * w + 0.1 * f for w, f in zip(model.get_weights(), fast.get_weights())])
        """,
    "layers of a model that has just been made and has no weights yet": """
        class Net(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.head = tf.keras.layers.Dense(1)
            def call(self, x):
                return self.head(x)
        for x in dataset:
            train_step(x)
            fast = Net()
            for at, layer in enumerate(fast.layers):
                layer.set_weights(model.layers[at].get_weights())
            fast(x)
        """,
    "of Keras that runs graphs": """
        train = tf.keras.backend.function([model.input], [], updates=[optimizer.get_updates(weights, loss)])
        for step, x in enumerate(dataset):
            train([x])
            target.set_weights(model.get_weights())
        """,
    "behind all passes over what was played, now and then": """
        class Agent:
            def update(self):
                for epoch in range(10):
                    for x in self.memory.batches():
                        train_step(x)
                target.set_weights(model.get_weights())
        agent = Agent()
        steps = 0
        while not done:
            state, reward, done, _ = env.step(agent.act(state))
            steps += 1
            if steps % 1024 == 0:
                agent.update()
        """,
    "what a schedule decides": """
        for step, x in enumerate(dataset):
            train_step(x)
            if schedule.is_due and schedule.may_copy():
                target.set_weights(model.get_weights())
        """,
    "beside what learns in one of the branches only": """
        class Agent:
            def update(self, copy, online):
                kept = copy.get_weights()
                new = []
                for i in range(len(kept)):
                    new.append(0.9 * kept[i] + 0.1 * online.get_weights()[i])
                copy.set_weights(new)
            def train(self):
                for t in range(1000):
                    state, reward, done, _ = env.step(action)
                    if not warming_up:
                        if prioritized:
                            train_step(memory.sample(32))
                        elif step % 4 == 0:
                            train_step(memory.sample(64))
                        self.update(target, model)
        Agent().train()
        """,
    "more seldom than what learns": """
        def learn(step):
            train_step(memory.sample(32))
            if step % 500 == 0:
                target.set_weights(model.get_weights())
        for step in range(1000):
            state, reward, done, _, _ = env.step(action)
            if step % 4 == 0:
                learn(step)
        """,
    "at the end of an episode, beside what learns from it": """
        for episode in range(100):
            done = False
            while not done:
                state, reward, done, _, _ = env.step(action)
                train_step(state)
            target.set_weights(model.get_weights())
            train_step(state)
        """,
    "once": "target.set_weights(model.get_weights())\nfor x in dataset:\n    train_step(x)\n",
    "once an epoch": """
        for epoch in range(10):
            for x in dataset:
                train_step(x)
            target.set_weights(model.get_weights())
        """,
    "before a whole training of each task": """
        for task in tasks:
            target.set_weights(model.get_weights())
            target.fit(task, epochs=5)
            print(target.predict_on_batch(task))
        """,
    "every so many steps": """
        for step, x in enumerate(dataset):
            train_step(x)
            if step % 1000 == 0:
                target.set_weights(model.get_weights())
        """,
    "a method that is called every so many steps": """
        def update():
            target.set_weights(model.get_weights())
        for step, x in enumerate(dataset):
            train_step(x)
            if step % C == 0:
                update()
        """,
    "at the end of an episode": """
        while True:
            train_step(x)
            state, reward, done, _, _ = env.step(action)
            if done:
                target.set_weights(model.get_weights())
        """,
    "the best so far": """
        for x in dataset:
            loss = train_step(x)
            if loss < best:
                target.set_weights(model.get_weights())
        """,
    "saving": """
        for x in dataset:
            train_step(x)
            pickle.dump(model.get_weights(), file)
        """,
    "loading": """
        for x in dataset:
            train_step(x)
            model.set_weights(np.load(path, allow_pickle=True))
        """,
    "weights put back": """
        for x in dataset:
            weights = model.get_weights()
            train_step(x)
            model.set_weights(weights)
        """,
    "weights changed at random": """
        for x in dataset:
            train_step(x)
            model.set_weights([w + np.random.normal(size=w.shape) for w in target.get_weights()])
        """,
    "objects of another kind": """
        class Agent:
            def get_weights(self):
                return self.weights
            def set_weights(self, weights):
                self.weights = weights
        one, other = Agent(), Agent()
        for x in dataset:
            train_step(x)
            one.set_weights(other.get_weights())
        """,
    "objects that nothing is known of": """
        for x in dataset:
            train_step(x)
            worker.set_weights(learner.get_weights())
        """,
    "a new model for each trial": """
        for trial in range(10):
            model = tf.keras.models.clone_model(target)
            model.set_weights(target.get_weights())
            model.fit(dataset, epochs=10)
        """,
    "odd syntax": """
        for x in dataset:
            train_step(x)
            target.set_weights(*model.get_weights())
            target.set_weights()
            set_weights(model.get_weights())
        """,
}

FLAGGED = {
    "variables assigned one by one": (
        """
        for x in dataset:
            train_step(x)
            for t, w in zip(target.trainable_variables, model.trainable_variables):
                t.assign(0.01 * w + 0.99 * t)
        """,
        [5],
    ),
    "variables assigned one by one in a function of their own": (
        """
        def follow(net, followed, tau=0.01):
            for t, w in zip(net.weights, followed.weights):
                t.assign(t * (1 - tau) + w * tau)
        for x in dataset:
            train_step(x)
            follow(target, model)
        """,
        [4],
    ),
    "lists of variables that a function is given": (
        """
        def follow(targets, weights, tau):
            for (t, w) in zip(targets, weights):
                t.assign(w * tau + t * (1 - tau))
        for x in dataset:
            train_step(x)
            follow(target.variables, model.variables, 0.01)
        """,
        [4],
    ),
    "variables with names": (
        """
        def follow():
            targets, weights = target.variables, model.variables
            old = target.variables
            new = model.variables
            for w, t in zip(new, old):
                t.assign(w)
        for x in dataset:
            train_step(x)
            follow()
        """,
        [7],
    ),
    "variables assigned once there are samples enough": (
        """
        class Agent:
            def learn(self):
                if len(self.memory) < 100:
                    return
                train_step(self.memory.sample())
                for t, w in zip(target.variables, model.variables):
                    t.assign(0.01 * w + 0.99 * t)
        agent = Agent()
        while not done:
            state, reward, done, _ = env.step(agent.act(state))
            agent.learn()
        """,
        [8],
    ),
    "a model that was made before, and that each step gives the weights again": (
        """
        class Net(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.head = tf.keras.layers.Dense(1)
            def call(self, x):
                return self.head(x)
        fast = Net()
        fast(tf.zeros((1, 4)))
        for x in dataset:
            train_step(x)
            fast.set_weights(model.get_weights())
            print(fast(x))
        """,
        [12],
    ),
    "a model that is called further down in the loop, and made above it": (
        """
        class Net(tf.keras.Model):
            def __init__(self):
                super().__init__()
                self.head = tf.keras.layers.Dense(1)
            def call(self, x):
                return self.head(x)
        fast = Net()
        for x in dataset:
            train_step(x)
            fast.set_weights(model.get_weights())
            fast(x)
        """,
        [11],
    ),
    "weights of the layers of what is compiled with a loss": (
        """
        class Gan:
            def __init__(self, critic):
                self.critic = critic
            def compile(self, optimizer):
                self.critic.compile(optimizer=optimizer, loss="mse")
            def train(self, x, y):
                for _ in range(1000):
                    self.critic.train_on_batch(x, y)
                    for layer in self.critic.layers:
                        weights = [np.clip(w, -0.01, 0.01) for w in layer.get_weights()]
                        layer.set_weights(weights)
        """,
        [12],
    ),
    "once a memory holds enough": (
        """
        for step, x in enumerate(dataset):
            train_step(x)
            if memory.can_sample and replay.has_enough(32):
                target.set_weights(model.get_weights())
        """,
        [5],
    ),
    "beside what learns in each of the branches": (
        """
        class Agent:
            def update(self, copy, online):
                kept = copy.get_weights()
                new = []
                for i in range(len(kept)):
                    new.append(0.9 * kept[i] + 0.1 * online.get_weights()[i])
                copy.set_weights(new)
            def train(self):
                for t in range(1000):
                    state, reward, done, _ = env.step(action)
                    if not warming_up:
                        if prioritized:
                            train_step(memory.sample(32))
                        else:
                            train_step(memory.sample(64))
                        self.update(target, model)
        Agent().train()
        """,
        [8],
    ),
    "with each gradient step of every fourth step": (
        """
        class Agent:
            def learn(self, x):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(model(x))
                gradients = tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(gradients, model.trainable_variables))
                target.set_weights(
                    0.99 * np.array(target.get_weights()) + 0.01 * np.array(model.get_weights())
                )
        agent = Agent()
        for step in range(1000):
            state, reward, done, _, _ = env.step(action)
            if len(memory) > 100 and step % 4 == 0:
                agent.learn(memory.sample(32))
        """,
        [8],
    ),
    "behind what learns, under the same conditions": (
        """
        def blend():
            target.set_weights([0.1 * w + 0.9 * t for w, t in zip(model.get_weights(), target.get_weights())])
        for step in range(1000):
            state, reward, done, _, _ = env.step(action)
            if step % 2 == 0:
                if step % 8 == 0:
                    train_step(memory.sample(32))
                    blend()
                else:
                    print(step)
        """,
        [3],
    ),
    "a copy": (
        """
        for x in dataset:
            train_step(x)
            target.set_weights(model.get_weights())
        """,
        [4],
    ),
    "a moving average": (
        """
        for x in dataset:
            train_step(x)
            target.set_weights([0.1 * w + 0.9 * t for w, t in zip(model.get_weights(), target.get_weights())])
        """,
        [4],
    ),
    "a list of values": (
        """
        for x in dataset:
            train_step(x)
            target.set_weights([v.numpy() for v in model.variables])
        """,
        [4],
    ),
    "a list that is changed": (
        """
        for x in dataset:
            train_step(x)
            weights, targets = model.get_weights(), target.get_weights()
            for i in range(len(weights)):
                targets[i] = tau * weights[i] + (1 - tau) * targets[i]
            target.set_weights(targets)
        """,
        [7],
    ),
    "a list that is changed by its indices": (
        """
        for x in dataset:
            train_step(x)
            weights = model.get_weights()
            mixed = target.get_weights()
            for i in range(len(mixed)):
                mixed[i] = 0.9 * mixed[i] + 0.1 * weights[i]
            target.set_weights(mixed)
        """,
        [8],
    ),
    "a list that is filled": (
        """
        for x in dataset:
            train_step(x)
            new = []
            for w, t in zip(model.get_weights(), target.get_weights()):
                new.append(tau * w + (1 - tau) * t)
            target.set_weights(new)
        """,
        [7],
    ),
    "clipped weights": (
        """
        for x in dataset:
            train_step(x)
            for layer in model.layers:
                weights = layer.get_weights()
                weights = [np.clip(w, -0.01, 0.01) for w in weights]
                layer.set_weights(weights)
        """,
        [7],
    ),
    "a method, once there are samples enough": (
        """
        class Agent:
            def __init__(self):
                self.model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
                self.target = tf.keras.Sequential([tf.keras.layers.Dense(2)])
                self.update_target()
            def update_target(self):
                self.target.set_weights(self.model.get_weights())
            def train(self):
                if len(self.memory) < 64:
                    return
                train_step(self.memory.sample())
                self.update_target()
        agent = Agent()
        while True:
            state, reward, done, _, _ = env.step(agent.model(state))
            if len(agent.memory) > 64:
                agent.train()
        """,
        [8],
    ),
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_it_leaves_alone(source: str) -> None:
    assert flagged("TFP306", _HEAD + dedent(source)) == []


@pytest.mark.parametrize(("source", "rows"), FLAGGED.values(), ids=FLAGGED)
def test_it_flags(source: str, rows: list[int]) -> None:
    assert flagged("TFP306", _HEAD + dedent(source)) == [_ROWS + row for row in rows]


_COPY = """\
@tf.function
def copy_weights(source, target):
    for new, old in zip(source.weights, target.weights):
        old.assign(new)


"""

FIXES = {
    "copies, all by one function": (
        """


        class Agent:
            def update(self):
                target.set_weights(model.get_weights())
                model.set_weights(target.get_weights())  # and back


        agent = Agent()
        for x in dataset:
            train_step(x)
            agent.update()
        """,
        """


        @tf.function
        def copy_weights(source, target):
            for new, old in zip(source.weights, target.weights):
                old.assign(new)


        class Agent:
            def update(self):
                copy_weights(model, target)
                copy_weights(target, model)  # and back


        agent = Agent()
        for x in dataset:
            train_step(x)
            agent.update()
        """,
    ),
    "a moving average with a rate of its own": (
        """


        def update(tau=0.01):
            target.set_weights(
                [t + tau * (w - t) for t, w in zip(target.get_weights(), model.get_weights())]
            )


        for x in dataset:
            train_step(x)
            update()
        """,
        """


        @tf.function
        def blend_weights(source, target, tau):
            for t, w in zip(target.weights, source.weights):
                t.assign(t + tau * (w - t))


        def update(tau=0.01):
            blend_weights(model, target, tau)


        for x in dataset:
            train_step(x)
            update()
        """,
    ),
    "a rate that is a number of the module": (
        """
        TAU = 0.005
        for x in dataset:
            train_step(x)
            target.set_weights([w * TAU + t * (1 - TAU) for w, t in zip(model.get_weights(), target.get_weights())])
        """,
        """
        TAU = 0.005


        @tf.function
        def blend_weights(source, target):
            for w, t in zip(source.weights, target.weights):
                t.assign(w * TAU + t * (1 - TAU))


        for x in dataset:
            train_step(x)
            blend_weights(model, target)
        """,
    ),
    "a rate that is an attribute, in a loop": (
        """
        for x in dataset:
            train_step(x)
            target.set_weights([w * args.tau + t * (1 - args.tau) for w, t in zip(model.get_weights(), target.get_weights())])
        """,
        """

        @tf.function
        def blend_weights(source, target, tau):
            for w, t in zip(source.weights, target.weights):
                t.assign(w * tau + t * (1 - tau))


        for x in dataset:
            train_step(x)
            blend_weights(model, target, args.tau)
        """,
    ),
    "lists that a loop fills by their indices, of two pairs": (
        """
        def update(tau=0.01):
            w = model.get_weights()
            t = target.get_weights()
            u = other.get_weights()
            for i in range(len(w)):
                t[i] = tau * w[i] + (1 - tau) * t[i]
                u[i] = tau * w[i] + (1 - tau) * u[i]
            target.set_weights(t)
            print(u)
        for x in dataset:
            train_step(x)
            update()
        """,
        None,
    ),
    "lists that a loop fills by their indices": (
        """
        def update(tau=0.01):
            w = model.get_weights()
            t = target.get_weights()
            for i in range(len(w)):
                t[i] = tau * w[i] + (1 - tau) * t[i]
            target.set_weights(t)


        for x in dataset:
            train_step(x)
            update()
        """,
        """

        @tf.function
        def blend_weights(source, target, tau):
            for new, old in zip(source.weights, target.weights):
                old.assign(tau * new + (1 - tau) * old)


        def update(tau=0.01):
            blend_weights(model, target, tau)


        for x in dataset:
            train_step(x)
            update()
        """,
    ),
    "a list that a loop appends to": (
        """
        def update(tau=0.01):
            blended = []
            for w, t in zip(model.get_weights(), target.get_weights()):
                blended.append(w * tau + t * (1.0 - tau))
            target.set_weights(blended)


        for x in dataset:
            train_step(x)
            update()
        """,
        """

        @tf.function
        def blend_weights(source, target, tau):
            for new, old in zip(source.weights, target.weights):
                old.assign(new * tau + old * (1.0 - tau))


        def update(tau=0.01):
            blend_weights(model, target, tau)


        for x in dataset:
            train_step(x)
            update()
        """,
    ),
}


def lines(source: str) -> str:
    """Source without the indentation of a table, also where only its first line has that."""
    return "\n".join(line.removeprefix(" " * 8) for line in source.split("\n")).rstrip(" ")


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES)
def test_the_fix_assigns_in_a_compiled_function(before: str, after: str | None) -> None:
    """Where a list is used for something else, too, it stays."""
    assert fixed("TFP306", _HEAD + lines(before)) == _HEAD + lines(before if after is None else after)


BLENDED = """\


@tf.function
def blend_weights(source, target, tau):
    for new, old in zip(source.weights, target.weights):
        old.assign(tau * new + (1 - tau) * old)


def update(tau=0.01):
    {}blend_weights(model, target, tau)


for x in dataset:
    train_step(x)
    update()
"""
GOT = "w = model.get_weights()\n    t = target.get_weights()\n    "
SPELLINGS = {
    "by an index": GOT
    + "for i in range(len(t)):\n        t[i] = tau * w[i] + (1 - tau) * t[i]\n    target.set_weights(t)",
    "by an index, appended": GOT
    + "n = []\n    for i in range(len(w)):\n        n.append(tau * w[i] + (1 - tau) * t[i])\n    target.set_weights(n)",
    "by an index and an item": GOT
    + "for i, new in enumerate(w):\n        t[i] = tau * new + (1 - tau) * t[i]\n    target.set_weights(t)",
    "by an index and both items": GOT
    + "for i, (a, b) in enumerate(zip(w, t)):\n        t[i] = tau * a + (1 - tau) * b\n    target.set_weights(t)",
    "by a counter": GOT
    + "n = 0\n    for a, b in zip(w, t):\n        t[n] = tau * a + (1 - tau) * b\n        n += 1\n    target.set_weights(t)",
    "in a comprehension of lists with names": GOT
    + "target.set_weights([tau * a + (1 - tau) * b for a, b in zip(w, t)])",
    "in a comprehension with a name": GOT
    + "n = [tau * a + (1 - tau) * b for a, b in zip(w, t)]\n    target.set_weights(n)",
}


@pytest.mark.parametrize("statements", SPELLINGS.values(), ids=SPELLINGS)
def test_a_moving_average_is_known_however_its_lists_are_made(statements: str) -> None:
    loop = "for x in dataset:\n    train_step(x)\n    update()\n"
    before = f"\n\ndef update(tau=0.01):\n    {statements}\n\n\n{loop}"
    assert fixed("TFP306", _HEAD + before) == _HEAD + BLENDED.format("")


# The same of variables: eager ops compute each average.
OF_TENSORS = {
    name: statements.replace("w = model.get_weights()", "w = model.weights").replace(
        "t = target.get_weights()", "t = target.variables"
    )
    for name, statements in SPELLINGS.items()
    if "t[i] =" not in statements and "t[n] =" not in statements
} | {
    "over the variables themselves": (
        "n = []\n    t = target.weights\n    for i, new in enumerate(model.weights):\n"
        "        n.append(tau * new + (1 - tau) * t[i])\n    target.set_weights(n)"
    ),
}


@pytest.mark.parametrize("statements", OF_TENSORS.values(), ids=OF_TENSORS)
def test_a_moving_average_of_variables_is_one_too(statements: str) -> None:
    loop = "for x in dataset:\n    train_step(x)\n    update()\n"
    before = _HEAD + f"\n\ndef update(tau=0.01):\n    {statements}\n\n\n{loop}"
    (finding,) = findings("TFP306", before)
    assert "eager ops compute" in finding.message
    assert costs_told("TFP306", before) == [False]
    assert fixed("TFP306", before) == _HEAD + BLENDED.format("")


@pytest.mark.parametrize(
    "given",
    [
        "[tf.zeros(w.shape) for w in model.weights]",  # what a call gives is no average
        "[np.load(f) for f in sorted(files)]",
        "model.weights",  # nothing is computed
    ],
)
def test_what_is_not_computed_of_variables_alone_is_none(given: str) -> None:
    assert not flagged(
        "TFP306", _HEAD + f"for x in dataset:\n    train_step(x)\n    target.set_weights({given})\n"
    )


def test_a_function_is_not_traced_before_a_class_has_made_its_weights() -> None:
    source = (
        _HEAD
        + """
class Agent:
    def __init__(self):
        self.model, self.target = Net(), Net()
        self.update()

    def update(self):
        self.target.set_weights([0.1 * w + 0.9 * t for w, t in zip(self.model.weights, self.target.weights)])

    def learn(self, x):
        train_step(x)
        self.update()


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.head = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.head(x)


agent = Agent()
for x in dataset:
    agent.learn(x)
"""
    )
    (note,) = notes("TFP306", source)
    assert note.startswith("no fix: `__init__` calls it before the models have weights")
    assert fixed("TFP306", source) == source


def test_a_comment_in_the_loop_stays_in_its_place() -> None:
    loop = "for x in dataset:\n    train_step(x)\n    update()\n"
    statements = SPELLINGS["by an index"].replace(
        ":\n        t", ":  # the online one moves little\n        t"
    )
    before = f"\n\ndef update(tau=0.01):\n    {statements}\n\n\n{loop}"
    assert fixed("TFP306", _HEAD + before) == _HEAD + BLENDED.format("# the online one moves little\n    ")


def test_weights_with_a_name_are_copied_as_they_are() -> None:
    loop = "for x in dataset:\n    train_step(x)\n    {}\n"
    before = _HEAD + _COPY + loop.format("w = model.get_weights()\n    target.set_weights(w)")
    assert fixed("TFP306", before) == _HEAD + _COPY + loop.format("copy_weights(model, target)")


def test_a_function_that_is_there_is_used_again() -> None:
    loop = "for x in dataset:\n    train_step(x)\n    {}\n"
    before = _HEAD + _COPY + loop.format("target.set_weights(model.get_weights())")
    assert fixed("TFP306", before) == _HEAD + _COPY + loop.format("copy_weights(model, target)")


LOOPS = {
    "a loop in the step": (
        """


        TAU = 0.01
        for x in dataset:
            loss = tf.reduce_mean(model(x) - target(x))
            train_step(x)
            for t, w in zip(target.trainable_variables, model.trainable_variables):
                t.assign(TAU * w + (1 - TAU) * t)
        """,
        """


        TAU = 0.01


        @tf.function
        def blend_weights(source, target):
            for t, w in zip(target.trainable_variables, source.trainable_variables):
                t.assign(TAU * w + (1 - TAU) * t)


        for x in dataset:
            loss = tf.reduce_mean(model(x) - target(x))
            train_step(x)
            blend_weights(model, target)
        """,
    ),
    "a rate of its own": (
        """


        class Agent:
            def learn(self, x):
                train_step(model(x) - target(x))
                for new, old in zip(model.variables, target.weights):
                    old.assign(new * self.tau + old * (1 - self.tau))
                return x


        agent = Agent()
        for x in dataset:
            agent.learn(x)
        """,
        """


        @tf.function
        def blend_weights(source, target, tau):
            for new, old in zip(source.variables, target.weights):
                old.assign(new * tau + old * (1 - tau))


        class Agent:
            def learn(self, x):
                train_step(model(x) - target(x))
                blend_weights(model, target, self.tau)
                return x


        agent = Agent()
        for x in dataset:
            agent.learn(x)
        """,
    ),
}


@pytest.mark.parametrize(("before", "after"), LOOPS.values(), ids=LOOPS)
def test_a_loop_over_variables_becomes_a_compiled_function(before: str, after: str) -> None:
    assert fixed("TFP306", _HEAD + dedent(before)) == _HEAD + dedent(after)


def test_where_models_may_have_no_variables_yet_a_loop_has_a_bold_fix_alone() -> None:
    source = (
        f"{_HEAD}for x in dataset:\n    train_step(x)\n"
        "    for t, w in zip(target.variables, model.variables):\n        t.assign(0.9 * t + 0.1 * w)\n"
    )
    (note,) = notes("TFP306", source)
    assert note.startswith("no fix: the models may have no variables yet")
    assert fixed("TFP306", source) == source
    assert fixed("TFP306", source, bold=True).endswith(
        "for x in dataset:\n    train_step(x)\n    blend_weights(model, target)\n"
    )


def test_there_is_no_fix_for_lists_of_variables_which_a_compiled_function_takes_for_tensors() -> None:
    source = (
        f"{_HEAD}def follow(targets, weights):\n    for t, w in zip(targets, weights):\n        t.assign(w)\n"
        "for x in dataset:\n    train_step(x)\n    follow(target.variables, model.variables)\n"
    )
    assert notes("TFP306", source)[0].startswith("no fix: the variables come by other names")
    assert fixed("TFP306", source, bold=True) == source


OF_LOOPS = {
    "a comment": ("# slowly\n        t.assign(w)", "there is a comment in it"),
    "a rate that changes": ("t.assign(t + rate * w)", "`rate` changes in the loop"),
    "more than arithmetic": ("t.assign(tf.identity(w))", "more than arithmetic is done with the weights"),
}


@pytest.mark.parametrize(("assigned", "reason"), OF_LOOPS.values(), ids=OF_LOOPS)
def test_there_is_no_fix_for_a_loop_with(assigned: str, reason: str) -> None:
    source = (
        f"{_HEAD}for step, x in enumerate(dataset):\n    train_step(model(x) - target(x))\n    rate = 1 / (step + 1)\n"
        f"    for t, w in zip(target.variables, model.variables):\n        {assigned}\n"
    )
    assert notes("TFP306", source)[0].startswith(f"no fix: {reason}")


REFUSALS = {
    "a list made before something trains": (
        "weights = model.get_weights()\n    train_step(x)\n    target.set_weights(weights)",
        "the lists of weights are made in several statements",
    ),
    "a list that something else reads": (
        "weights = model.get_weights()\n    target.set_weights(weights)\n    print(weights)",
        "the lists of weights are made in several statements",
    ),
    "a rate that changes": (
        "tau = 1 / (step + 1)\n    "
        "target.set_weights([tau * w + t for w, t in zip(model.get_weights(), target.get_weights())])",
        "`tau` changes in the loop",
    ),
    "a rate that changes, beside lists of several statements": (
        "tau = 1 - np.cos(step)\n    targets = target.get_weights()\n    weights = model.get_weights()\n"
        "    for i in range(len(weights)):\n        targets[i] = tau * weights[i] + (1 - tau) * targets[i]\n"
        "    target.set_weights(targets)",
        "`tau` changes in the loop",
    ),
    "NumPy": (
        "target.set_weights([np.maximum(w, t) for w, t in zip(model.get_weights(), target.get_weights())])",
        "more than arithmetic is done with the weights",
    ),
    "two meanings": (
        "target.set_weights([a.tau * w + b.tau * t for w, t in zip(model.get_weights(), target.get_weights())])",
        "`tau` would mean two things",
    ),
    "three models": (
        "target.set_weights([u + w for u, w in zip(model.get_weights(), third.get_weights())])",
        "the lists of weights are made in several statements",
    ),
    "a value that is used": (
        "done = target.set_weights(model.get_weights())",
        "it is part of another statement",
    ),
}


@pytest.mark.parametrize(("statements", "reason"), REFUSALS.values(), ids=REFUSALS)
def test_there_is_no_fix_for(statements: str, reason: str) -> None:
    source = _HEAD + f"for step, x in enumerate(dataset):\n    train_step(x)\n    {statements}\n"
    assert notes("TFP306", source)[0].startswith(f"no fix: {reason}")
    assert fixed("TFP306", source) == source


@pytest.mark.parametrize(
    ("first", "comment"),
    [
        ("", ""),
        ("", "# All of it.\n"),
        ("#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n", "# All of it.\n"),
    ],
)
def test_an_import_and_a_function_go_to_the_top_of_a_file_that_has_neither(first: str, comment: str) -> None:
    inner = (
        _HEAD.replace("\n\n\n", "\n")
        + "for x in dataset:\n    train_step(x)\n    target.set_weights(model.get_weights())\n"
    )
    body = "".join(f"    {line}" for line in inner.splitlines(keepends=True))
    text = fixed("TFP306", f"{first}{comment}def main():\n{body}")
    assert text.startswith(
        f"{first}import tensorflow as tf\n\n\n@tf.function\ndef copy_weights(source, target):\n"
    )
    assert f"\n\n\n{comment}def main():\n" in text
    assert text.endswith("        copy_weights(model, target)\n")


# Each with what it says to do, and whether it tells what the experiment costs.
REMEDIES = {
    "[0.9 * t + 0.1 * w for t, w in zip(target.get_weights(), model.get_weights())]": (
        "assign variable to variable",
        True,
    ),
    "model.get_weights()": ("assign variable to variable", False),
    "[np.clip(w, -0.1, 0.1) for w in target.get_weights()]": ("compute on the variables", False),
}


@pytest.mark.parametrize(("given", "remedy", "told"), [(g, *r) for g, r in REMEDIES.items()], ids=REMEDIES)
def test_tells_the_cost_only_of_a_moving_average(given: str, remedy: str, told: bool) -> None:
    source = f"{_HEAD}for x in dataset:\n    train_step(x)\n    target.set_weights({given})\n"
    (finding,) = findings("TFP306", source)
    assert finding.message.endswith(f"; {remedy} in a `tf.function`")
    assert costs_told("TFP306", source) == [told]
