"""TFP401: what is flagged, what is left alone, and what the fix makes of it."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

_HEAD = """\
import collections
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
@tf.function
def train_step(x, y):
    return tf.reduce_mean(model(x) - y)
"""
_ROWS = _HEAD.count("\n")

ROLLOUT = """
horizon = {}
while True:
    rollout = []
    for _ in range(horizon):
        value = model(state)
        state, reward, done, _ = env.step(value)
        rollout.append((reward, value))
    update(np.concatenate([value for _, value in rollout]))
"""
FINDER = """
        class Finder:
            def find(self, image, sizes):
                outputs = []
                for size in sizes:
                    outputs.append(model(tf.image.resize(image, size)))
                for i in range(len(sizes)):
                    scores = outputs[i][0][..., 1]
                    self.keep(scores, sizes[i])
            def keep(self, scores, size):
                self.found = {library}.where(scores > 0.5)
        finder = Finder()
        for image in images:
            finder.find(image, read_sizes())
        """
SILENT = {
    "outputs of another framework": """
        import torch
        kept = []
        with torch.no_grad():
            for x, y in dataset:
                kept.append(model(x))
        """,
    "what a function collects for one array": """
        def features():
            found = []
            for x, y in dataset:
                found.append(model(x))
            return np.concatenate(found)
        """,
    "what one tensor takes the place of": """
        class Operator:
            def answer(self, inputs):
                self.values = []
                for x in inputs:
                    self.values.append(self.model(x[None]))
                self.values = tf.stack(self.values).numpy()
                return self.values
        """,
    "outputs of which parts go into ops right behind the loop": FINDER.format(library="tf"),
    "some hundred losses in all, in rows with others": """
        def fit(epochs=100):
            history = []
            for epoch in range(epochs):
                loss = tf.reduce_mean(train_step(x, y))
                history.append([loss, tf.reduce_max(y)])
            return np.array(history)
        """,
    "tensors that end in one by the list's own name": """
        def extract(dataset):
            outputs = []
            for x, y in dataset:
                outputs.append(model(x))
            outputs = tf.concat(outputs, axis=0)
            outputs = tf.transpose(outputs)
            return outputs.numpy()
        """,
    "the answers of an episode, an array at its end": """
        def play(policy):
            state, actions = env.reset(), []
            while True:
                action = model(state)
                state, reward, done, _ = env.step(action[0])
                actions.append(action)
                if done:
                    break
            return np.concatenate(actions)
        def gather():
            episodes = []
            while len(episodes) < 1000:
                episodes.append(play(model))
            return episodes
        """,
    "what each call of a function makes anew, which eager mode runs for the time being": """
        tf.config.run_functions_eagerly(True)
        class Team:
            @tf.function
            def values(self, states):
                best = []
                for agent in self.agents:
                    best.append(train_step(states, agent))
                return best
        """,
    "outputs of a model that is unrolled": """
        def build(network):
            actions = tf.keras.Input((5,))
            head = tf.keras.Sequential([tf.keras.layers.Dense(3)])
            hidden, unrolled = network(actions), []
            for action in tf.transpose(actions):
                hidden = head([hidden, action])
                unrolled.append(hidden * 0.5)
            return tf.keras.Model(inputs=actions, outputs=unrolled)
        """,
    "the weights of a network's layers": """
        class Net:
            def __init__(self, weights):
                self.num_layers = len(weights)
                self.weights = []
                for i in range(self.num_layers):
                    self.weights.append(tf.convert_to_tensor(weights[i]))
            def first(self):
                return self.weights[0]
        """,
    "numbers and NumPy values": """
        losses, means = [], []
        for x, y in dataset:
            loss = train_step(x, y)
            losses.append(loss.numpy())
            losses.append(float(loss))
            means += [np.mean(loss)]
        """,
    "what train_on_batch returns": """
        losses = []
        for x, y in dataset:
            losses.append(model.train_on_batch(x, y))
        """,
    "a dict of numbers of each step": """
        history = []
        for step, (x, y) in enumerate(dataset):
            history.append({"step": step, "loss": float(train_step(x, y))})
        """,
    "a few pictures to show": """
        shown = []
        count = 0
        most = 16
        for x, y in dataset:
            count += 1
            if count > most:
                break
            shown.append(train_step(x, y))
        """,
    "a list of each epoch's scalars": """
        for epoch in range(10):
            losses = []
            for x, y in dataset:
                losses.append(train_step(x, y))
            print(np.mean(losses))
        """,
    "one mean an epoch, of which the last is shown": """
        means = []
        for epoch in range(1, epochs + 1):
            losses = []
            for x, y in dataset:
                losses.append(train_step(x, y))
            means.append(tf.reduce_mean(losses))
            print("mean %f" % means[-1])
        """,
    "a list that each epoch empties": """
        losses = []
        for epoch in range(10):
            for x, y in dataset:
                losses.append(train_step(x, y))
            losses.clear()
        """,
    "a list of scalars in a function that the epoch loop calls": """
        def run_epoch():
            losses = []
            for x, y in dataset:
                losses.append(train_step(x, y))
            return np.mean(losses)
        for epoch in range(10):
            run_epoch()
        """,
    "inputs and layers of a model that is being built": """
        def build(n_layers):
            inputs, styles = [], []
            for i in range(n_layers):
                inputs.append(tf.keras.layers.Input([512]))
                styles.append(model(inputs[-1]))
            for name in features:
                inputs.append(tf.keras.Input([1]))
                model(inputs[-1])
            return tf.keras.Model(inputs, styles)
        """,
    "parts that one op joins behind the loop": """
        parts = []
        for x, y in dataset:
            parts.append(model(x))
        whole = tf.concat(parts, axis=0)
        def decode(start, steps):
            tokens, token = [], start
            for _ in range(steps):
                token = model(token)
                tokens.append(token)
            return tf.stack(tokens)
        """,
    "scalars for a mean, in an evaluation": """
        def evaluate(data):
            losses, ratios = [], []
            for x, y in dataset:
                losses.append(train_step(x, y))
                ratios.append(tf.image.psnr(x, model(x), 1.0)[0])
            return np.mean(losses), tf.reduce_mean(ratios)
        """,
    "queues of a greatest length, in a list": """
        class Memory:
            def __init__(self, n):
                self.queues = [collections.deque(maxlen=100) for _ in range(n)]
            def fill(self):
                for x, y in dataset:
                    self.queues[0].append(model(x))
        """,
    "batches of each episode, given to what copies them": """
        def replay(states, outputs):
            return np.vstack([output.numpy() for output in outputs])
        for episode in range(100):
            outputs = []
            for x, y in dataset:
                outputs.append(model(x))
            replay(y, outputs)
        """,
    "what a caller asks for": """
        def sample(x, steps, return_all=False):
            images = []
            for _ in range(steps):
                x = model(x)
                if return_all:
                    images.append(x)
            return tf.stack(images) if return_all else x
        """,
    "a list of one step": """
        for x, y in dataset:
            parts = []
            for part in tf.split(x, 4):
                parts.append(model(part))
            train_step(tf.concat(parts, 0), y)
        """,
    "a rollout of a few steps, made anew for each update": ROLLOUT.format(8),
    "rows of a Jacobian, joined at once": """
        def jacobian(x):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                outputs = model(x)
            rows = []
            for n in range(outputs.shape[1]):
                rows.append(-tf.convert_to_tensor(tape.gradient(outputs[:, n], x)))
            return np.array(rows)
        """,
    "parts of a tensor that is there anyway": """
        weights = 1.0 - tf.reduce_sum(targets, axis=-1)
        unrolled = []
        for k in range(actions.shape[1]):
            state, reward = model.predict_on_batch([state, actions[:, k]])
            unrolled.append((state, reward, weights[k, :]))
        for state, reward, weight in unrolled:
            print(np.sum(reward * weight))
        """,
    "a deque with a greatest length": """
        last = collections.deque(maxlen=100)
        for x, y in dataset:
            last.append(train_step(x, y))
        """,
    "a TensorArray": """
        losses = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for step, (x, y) in enumerate(dataset):
            losses = losses.write(step, train_step(x, y))
        """,
    "compiled code": """
        @tf.function
        def run(batches):
            losses = []
            for x, y in dataset:
                losses.append(train_step(x, y))
        run(dataset)
        """,
    "behind a counter": """
        losses = []
        for step, (x, y) in enumerate(dataset):
            loss = train_step(x, y)
            if step % 100 == 0:
                losses.append(loss)
        """,
    "losses of former steps that the gradient needs": """
        losses = []
        for x, y in dataset:
            with tf.GradientTape() as tape:
                losses.append(tf.reduce_mean(tf.square(model(x) - y)))
                loss = tf.reduce_sum(losses)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        """,
    "time steps under a tape": """
        for x, y in dataset:
            outputs = []
            with tf.GradientTape() as tape:
                for t in range(x.shape[1]):
                    outputs.append(model(x[:, t]))
                loss = tf.reduce_mean(tf.stack(outputs) - y)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        """,
    "a trajectory that the gradient needs": """
        for episode in range(100):
            state, rewards, chances = env.reset(), [], []
            with tf.GradientTape() as tape:
                while True:
                    chance = tf.math.log(model(state))
                    state, reward, done, _ = env.step(chance)
                    chances.append(chance)
                    if done:
                        break
                loss = tf.reduce_sum(chances)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        """,
    "heads of attention": """
        def attend(x, heads):
            results = []
            for head in range(heads):
                results.append(tf.matmul(x, x))
            return tf.concat(results, -1)
        attend(a, 8)
        """,
    "layers of a model": """
        def build(depth):
            outputs, x = [], tf.keras.Input((3,))
            for level in range(depth):
                x = tf.keras.layers.Dense(3)(x)
                outputs.append(x)
            return tf.keras.Model(x, outputs)
        build(depth)
        """,
    "a few tensors for another loop": """
        scales = []
        for power in range(4):
            scales.append(tf.constant(2.0**power))
        for scale in scales:
            print(scale)
        """,
    "a look at a few elements": """
        shown = []
        for x, y in dataset.take(9):
            shown.append(x)
        """,
    "an object with a method of that name": """
        class Memory:
            def __init__(self):
                self.losses = []
            def append(self, loss):
                self.losses = (self.losses + [loss])[-100:]
        memory = Memory()
        for x, y in dataset:
            memory.append(train_step(x, y))
        """,
    "a container of unknown kind": """
        log = make_log()
        for x, y in dataset:
            log.append(train_step(x, y))
        """,
    "values of unknown kind": """
        losses = []
        for x, y in dataset:
            losses.append(trainer.step(x, y))
        """,
}

FLAGGED = {
    "the answers of all episodes": (
        """
        actions = []
        for episode in range(1000):
            state, done = env.reset(), False
            while not done:
                action = model(state)
                state, reward, done, _ = env.step(action[0])
                actions.append(action)
        np.save("actions.npy", np.concatenate(actions))
        """,
        [8],
    ),
    "what outlives the calls of a function that eager mode runs": (
        """
        tf.config.run_functions_eagerly(True)
        losses = []
        @tf.function
        def fit():
            for x, y in dataset:
                losses.append(train_step(x, y))
        fit()
        print(losses)
        """,
        [7],
    ),
    "a step behind a counter that keeps its own": (
        """
        def generator_step(z):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(z))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
            return loss
        def critic_step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(critic(x))
            optimizer.apply_gradients(zip(tape.gradient(loss, critic.weights), critic.weights))
            return loss
        losses, seen = [], []
        for step, (x, y) in enumerate(dataset):
            shown = critic_step(x)
            if step % n_critic == 0:
                loss = generator_step(x)
                losses.append(loss)
                seen.append(shown)
        plt.plot(losses)
        """,
        [17],
    ),
    "one batch of each of many rounds": (
        """
        losses = []
        for step in range(100000):
            for x, y in dataset.take(1):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(tf.square(model(x) - y))
                optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
                losses.append(loss)
        """,
        [8],
    ),
    "losses for a plot, kept within the tape of each step": (
        """
        losses = []
        for x, y in dataset:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(model(x) - y))
                losses.append(loss)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        plt.plot(losses)
        """,
        [6],
    ),
    "losses that an agent keeps for a plot, within the tape of each step": (
        """
        class Agent:
            def __init__(self, model, optimizer):
                self.model, self.optimizer = model, optimizer
                self.losses = []

            def learn(self, states, targets):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((self.model(states) - targets) ** 2)
                    self.losses.append(loss)
                    gradients = tape.gradient(loss, self.model.trainable_variables)
                self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))

            def play(self, dataset):
                for states, targets in dataset:
                    self.learn(states, targets)
                print(self.losses[-1])
        """,
        [10],
    ),
    "as many steps as a large number says": (
        """
        losses = []
        for step, (x, y) in enumerate(dataset):
            if step > 100000:
                break
            losses.append(train_step(x, y))
        """,
        [6],
    ),
    "a dict of each step": (
        """
        history = []
        for step, (x, y) in enumerate(dataset):
            history.append({"step": step, "loss": train_step(x, y)})
        """,
        [4],
    ),
    "steps until the loss is small": (
        """
        losses = []
        for x, y in dataset:
            loss = train_step(x, y)
            losses.append(loss)
            if loss == 0:
                break
        """,
        [5],
    ),
    "losses": (
        """
        losses = []
        for x, y in dataset:
            loss = train_step(x, y)
            losses.append(loss)
        """,
        [5],
    ),
    "scalars of all epochs for a mean in each": (
        """
        def train(epochs):
            losses = []
            for epoch in range(epochs):
                for x, y in dataset:
                    losses.append(train_step(x, y))
                print(np.mean(losses))
        """,
        [6],
    ),
    "scalars for a mean, in training": (
        """
        def train(data):
            losses = []
            for x, y in dataset:
                losses.append(train_step(x, y))
            print(np.mean(losses))
        """,
        [5],
    ),
    "scalars that are returned": (
        """
        def train(data):
            losses = []
            for x, y in dataset:
                losses.append(train_step(x, y))
            print(np.mean(losses))
            return losses
        """,
        [5],
    ),
    "a dict of lists": (
        """
        history = {"loss": []}
        series = collections.defaultdict(list)
        for x, y in dataset:
            history["loss"].append(train_step(x, y))
            series["loss"].append(train_step(x, y))
        """,
        [5, 6],
    ),
    "added with a plus": (
        """
        answers = []
        for x, y in dataset:
            answers += [model(x)]
        """,
        [4],
    ),
    "a tuple with a tensor": (
        """
        kept = []
        for step, (x, y) in enumerate(dataset):
            kept.append((step, train_step(x, y)))
        """,
        [4],
    ),
    "an attribute": (
        """
        class Trainer:
            def __init__(self):
                self.history = []
            def step(self, x, y):
                self.history.append(train_step(x, y))
            def run(self):
                for x, y in dataset:
                    self.step(x, y)
        Trainer().run()
        """,
        [6],
    ),
    "a list above the epochs": (
        """
        losses = []
        for epoch in range(10):
            for x, y in dataset:
                losses.append(train_step(x, y))
        """,
        [5],
    ),
    "a list that is passed on": (
        """
        def run(losses):
            for x, y in dataset:
                losses.append(train_step(x, y))
        kept = []
        for epoch in range(10):
            run(kept)
        """,
        [4],
    ),
    "tensors made for a later loop": (
        """
        def run(iterations):
            factors, x = [], tf.constant(1.0)
            for _ in range(iterations):
                factors.append(tf.constant(2.0))
            for factor in factors:
                x = x * factor
            return x
        run(1000)
        """,
        [5],
    ),
    "a few of each batch, in one list": (
        """
        kept = []
        for x, y in dataset:
            found = model(x)
            for k in range(8):
                kept.append(found[k])
        """,
        [6],
    ),
    "parts of another tensor in each iteration": (
        """
        kept = []
        for k in range(steps):
            found = model(x)
            kept.append(found[k])
        """,
        [5],
    ),
}

HUNDRED = """\
    if len({0}) % 100 == 0:
        {0}[-100:] = [one.numpy() for one in {0}[-100:]]
"""

# What keeps one scalar of each step in a loop by itself, and in which list.
FIXED = {
    "a name": ("losses.append(loss)", "losses"),
    "a call": ("losses.append(tf.reduce_mean(x))", "losses"),
    "a sum": ("losses.append(loss + loss)", "losses"),
    "a plus": ("losses += [loss]", "losses"),
    "in a dict": ('history["loss"].append(loss)', 'history["loss"]'),
    "in a dict that makes lists": ('series["loss"].append(loss)', 'series["loss"]'),
    "with a comment": ("losses.append(loss)  # for the plot", "losses"),
}

# What looks at the list behind the loop, and does as well with numbers.
READS = [
    "plt.plot(losses)",
    "print(np.mean(losses), sum(losses), losses[-1])",
    "print(tf.reduce_mean(losses).numpy())",
    "total = tf.add_n(losses)\nprint(total.numpy())",
]

REFUSED = {
    "asked of what is made of it": (
        "losses.append(loss)",
        "mean = sum(losses) / len(losses)\nprint(mean.numpy())",
        "no fix: what is kept is used as a tensor",
    ),
    "batches": ("losses.append(model(x))", "", "no fix: what is kept may not be a scalar"),
    "given to a model": (
        "losses.append(loss)",
        "model(losses)",
        "no fix: what is kept is used as a tensor",
    ),
    "asked of": (
        "losses.append(loss)",
        "print(losses[-1].numpy())",
        "no fix: what is kept is used as a tensor",
    ),
    "asked of each": (
        "losses.append(loss)",
        "print([one.numpy() for one in losses])",
        "no fix: what is kept is used as a tensor",
    ),
    "a tuple": ("losses.append((0, loss))", "", "no fix: each step keeps several values together"),
    "several": ("losses.extend([loss, loss])", "", "no fix: each step keeps several values together"),
    "from the left": ("last.appendleft(loss)", "", "no fix: each step keeps several values together"),
    "a list that begins with something": (
        "given.append(loss)",
        "",
        "no fix: what the list holds at first is not known",
    ),
    "a queue": ("last.append(loss)", "", "no fix: what the list holds at first is not known"),
    "a list that is found anew each time": (
        "history[name()].append(loss)",
        "",
        "no fix: what the list holds at first is not known",
    ),
    "a list that grows elsewhere": (
        "losses.append(loss)",
        "losses.append(0.0)",
        "no fix: the list grows elsewhere, too",
    ),
    "two statements a line": (
        "losses.append(loss); print(x)",
        "",
        "no fix: the list grows within a larger statement",
    ),
}


_LISTS = """\
losses = []
given = [0.0]
last = collections.deque()
history = {"loss": [], "accuracy": []}
series = collections.defaultdict(list)
"""
# The lists are read: what nothing reads is dropped.
_SHOWN = "plt.plot(losses)\nplt.plot(given)\nplt.plot(last)\n"
_SHOWN += 'plt.plot(history["loss"])\nplt.plot(series["loss"])\n'


def _loop(body: str, rest: str = "") -> str:
    return f"{_HEAD}{_LISTS}for x, y in dataset:\n    loss = train_step(x, y)\n    {body}\n{rest}\n{_SHOWN}"


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_leaves_alone(source: str) -> None:
    assert flagged("TFP401", _HEAD + dedent(source)) == []


@pytest.mark.parametrize(("source", "rows"), FLAGGED.values(), ids=FLAGGED)
def test_flags(source: str, rows: list[int]) -> None:
    assert flagged("TFP401", _HEAD + dedent(source)) == [row + _ROWS for row in rows]


@pytest.mark.parametrize(("body", "kept"), FIXED.values(), ids=FIXED)
def test_numbers_are_copied_a_hundred_at_a_time(body: str, kept: str) -> None:
    after = fixed("TFP401", _loop(body))
    assert after == _loop(f"{body}\n{HUNDRED.format(kept)}".rstrip("\n"))
    assert flagged("TFP401", after) == flagged("TFP302", after) == []


@pytest.mark.parametrize("read", READS)
def test_what_takes_numbers_as_well_is_no_obstacle(read: str) -> None:
    assert "one.numpy()" in fixed("TFP401", _loop("losses.append(loss)", read))


EPOCHS = """\
def train(epochs):
    losses = []
    for epoch in range(epochs):
        for step, (x, y) in enumerate(dataset):
            loss = train_step(x, y)
            losses.append(loss)
            if step == 1000:
                break
        print(np.mean(losses))
    return losses
"""
OF_EPOCHS = """\
def train(epochs):
    losses = []
    for epoch in range(epochs):
        epoch_losses = []
        for step, (x, y) in enumerate(dataset):
            loss = train_step(x, y)
            epoch_losses.append(loss)
            if step == 1000:
                break
        losses.extend(one.numpy() for one in epoch_losses)
        print(np.mean(losses))
    return losses
"""


def test_numbers_of_an_epoch_are_copied_at_its_end() -> None:
    after = fixed("TFP401", _HEAD + EPOCHS)
    assert after == _HEAD + OF_EPOCHS
    assert flagged("TFP401", after) == flagged("TFP302", after) == []


def test_each_function_has_its_own_list_of_an_epoch() -> None:
    again = EPOCHS.replace("train(", "train_again(")
    after = fixed("TFP401", _HEAD + EPOCHS + again)
    assert after == _HEAD + OF_EPOCHS + OF_EPOCHS.replace("train(", "train_again(")


def test_a_name_that_is_taken_is_not_taken_again() -> None:
    after = fixed("TFP401", _HEAD + "epoch_losses = {}\n" + EPOCHS)
    assert "epoch_losses_2 = []" in after


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "if step == 1000:",
            "if step % 100 == 0:\n                print(np.mean(losses))\n            if step == 1000:",
        ),
        ("                break", "                return losses"),
        ("            if step == 1000:", "            yield loss\n            if step == 1000:"),
        (
            "def train(epochs):\n    losses = []",
            "def train(epochs):\n    losses = []\n    def last():\n        return losses[-1]",
        ),
    ],
    ids=["a look at the list", "a way past the end", "a generator", "another function that looks"],
)
def test_what_may_be_looked_at_within_an_epoch_is_copied_by_the_hundred(old: str, new: str) -> None:
    source = _HEAD + EPOCHS.replace(old, new)
    after = fixed("TFP401", source)
    assert "epoch_losses" not in after
    assert "            if len(losses) % 100 == 0:\n" in after
    assert flagged("TFP401", after) == flagged("TFP302", after) == []


def test_what_is_looked_at_after_an_interruption_is_copied_by_the_hundred() -> None:
    lines = EPOCHS.splitlines(keepends=True)
    loop = "".join(f"    {line}" for line in lines[2:-1])
    source = "".join(
        [_HEAD, *lines[:2], "    try:\n", loop, "    except KeyboardInterrupt:\n        pass\n", lines[-1]]
    )
    assert "if len(losses) % 100 == 0:" in fixed("TFP401", source)


def test_an_attribute_is_copied_by_the_hundred() -> None:
    source = _HEAD + dedent(FLAGGED["an attribute"][0]).replace("train_step(x, y)", "tf.reduce_mean(x)")
    after = fixed("TFP401", source)
    assert (
        "        if len(self.history) % 100 == 0:\n            self.history[-100:] = [one.numpy() for one in self.history[-100:]]\n"
        in after
    )
    assert flagged("TFP401", after) == flagged("TFP302", after) == []


def test_a_loop_of_few_steps_is_left_as_it_is() -> None:
    loop = "losses = []\nfor step in range({}):\n    x, y = next(batches)\n    losses.append(tf.reduce_mean(train_step(x, y)))\n"
    assert flagged("TFP401", _HEAD + loop.format(50)) == []  # little is kept
    first, *lines = loop.format(50).splitlines(keepends=True)
    again = f"{first}def learn():\n{''.join('    ' + line for line in lines)}while True:\n    learn()\n"
    assert notes("TFP401", _HEAD + again) == ["no fix: the loop runs 50 times alone (line 11)"]
    assert "if len(losses) % 100 == 0:" in fixed("TFP401", _HEAD + loop.format(5000))


@pytest.mark.parametrize(
    ("added", "instead"),
    [("loss", "numbers, copied to the host many at a time"), ("model(x)", "NumPy values")],
)
def test_the_message_says_what_to_keep(added: str, instead: str) -> None:
    (finding,) = findings("TFP401", _loop(f"losses.append({added})"))
    assert finding.message.endswith(f"; keep {instead}")


UNREAD = """\
def train(dataset):
    losses, seen = [], 0
    kept = []  # of each step
    for x, y in dataset:
        loss = train_step(x, y)
        kept.append(loss)
        losses.append(train_step(x, y))
        seen += 1
    return seen
"""


def test_a_list_of_a_script_that_nothing_reads_is_dropped() -> None:
    source = _loop("losses.append(loss)").replace("plt.plot(losses)\n", "")
    (found,) = findings("TFP401", source)
    assert found.message.endswith("; nothing reads it, so drop it")
    assert "losses.append" not in fixed("TFP401", source)


def test_a_list_of_a_script_that_a_function_reads_is_not() -> None:
    source = _loop("losses.append(loss)").replace("plt.plot(losses)\n", "def show():\n    plt.plot(losses)\n")
    assert "one.numpy()" in fixed("TFP401", source)


def test_a_list_that_nothing_reads_is_dropped_and_no_step_with_it() -> None:
    source = _loop("pass") + UNREAD
    after = fixed("TFP401", source)
    assert "kept" not in after
    assert "of each step" in after
    assert "losses.append(train_step(x, y))" in after


@pytest.mark.parametrize(
    "read", ["print(kept)", "return kept", "self.show(kept)", "del kept[0]", "return locals()"]
)
def test_a_list_that_something_reads_is_not(read: str) -> None:
    source = _loop("pass") + UNREAD.replace("    return seen", f"    {read}")
    assert "kept.append(loss" in fixed("TFP401", source)


@pytest.mark.parametrize(("body", "rest", "note"), REFUSED.values(), ids=REFUSED)
def test_says_why_it_does_not_fix(body: str, rest: str, note: str) -> None:
    (said,) = notes("TFP401", _loop(body, rest))
    assert said.startswith(note)


@pytest.mark.parametrize(("added", "told"), [("train_step(x, y)", True), ("model(x)", False)])
def test_tells_the_cost_only_of_tensors_of_one_number(added: str, told: bool) -> None:
    assert costs_told("TFP401", _loop(f"losses.append({added})")) == [told]


def test_a_loss_of_each_sample_is_no_number() -> None:
    source = """
        each = tf.keras.losses.MeanSquaredError(reduction="none")
        losses = []
        for x, y in dataset:
            losses.append(each(y, model(x)))
        print(losses)
        """
    (finding,) = findings("TFP401", _HEAD + dedent(source))
    assert finding.message.endswith("; keep NumPy values")
    assert costs_told("TFP401", _HEAD + dedent(source)) == [False]


# How many tensors a loop keeps, with what is said of it.
NUMBERS = {
    "a count": (
        "for i in range(5000):\n    losses.append(train_step(x, y))",
        "at most 5,000 of one number each",
    ),
    "a bar and epochs": (
        "for epoch in range(10):\n    for i in tqdm(range(200)):\n        losses.append(train_step(x, y))",
        "at most 2,000 of one number each",
    ),
    "more than a few megabytes": ("for i in range(10**7):\n    losses.append(train_step(x, y))", ""),
    "who knows how many": ("for x, y in dataset:\n    losses.append(train_step(x, y))", ""),
    "a count of larger tensors": ("for i in range(5000):\n    losses.append(model(x))", ""),
    "a count as often as someone calls": (
        "def train():\n    for i in range(5000):\n        losses.append(train_step(x, y))\nwhile True:\n    train()",
        "",
    ),
}


@pytest.mark.parametrize(("loop", "kept"), NUMBERS.values(), ids=NUMBERS)
def test_says_how_many_numbers_there_are_at_most_where_the_code_shows_it(loop: str, kept: str) -> None:
    (finding,) = findings("TFP401", f"{_HEAD}from tqdm import tqdm\nlosses = []\n{loop}\nplot(losses)\n")
    assert f"a tensor from each step, {kept or 'and its memory'}; keep " in finding.message
    assert finding.minor is bool(kept)
