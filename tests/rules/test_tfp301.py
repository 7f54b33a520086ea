"""TFP301: what is flagged, what is left alone, and what the fix makes of it."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

_HEAD = """\
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
(images, labels), _ = tf.keras.datasets.mnist.load_data()
@tf.function
def train_step(x, y):
    return tf.reduce_mean(model(x) - y)
"""
_ROWS = _HEAD.count("\n")

SILENT = {
    "one picture, of which a batch is made next": """
        while True:
            picture = camera.get_pictures()
            picture = picture / 255.0
            x = tf.convert_to_tensor(picture, dtype=tf.float32)
            x = tf.expand_dims(x, 0)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x))
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        """,
    "what another batch of the same name takes the place of": """
        for step in range(1000):
            if step % 100 == 0:
                z = np.zeros([16, 100])
                z = tf.constant(z)
                show(model(z))
            z = next(batches)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(z))
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        """,
    "a list of tensors": """
        for x, y in dataset:
            with tf.GradientTape() as tape:
                errors = tf.stop_gradient(y - model(x))
                advantages, advantage = [], 0.0
                for error in reversed(errors):
                    advantage = error + 0.9 * advantage
                    advantages.append(advantage)
                advantages = tf.convert_to_tensor(advantages[::-1])
                loss = tf.reduce_mean(advantages * model(x))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        """,
    "a list of sums that begin with what a model gives, or with a number": """
        for x, y in dataset:
            rewards = play(x)
            value = 0.0 if ended(rewards) else tf.squeeze(model(x), 0)
            returns = []
            for reward in rewards:
                value = reward + 0.9 * value
                returns.append(value)
            returns = tf.convert_to_tensor(returns)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(returns * model(x))
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        """,
    "columns of a tensor, in a function that somebody else calls with what nobody knows": """
        class Solver:
            def residual(self, points):
                x = tf.convert_to_tensor(points[:, 0:1])
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    u = model(x)
                return tape.gradient(u, x)
            def loss(self, points):
                return tf.reduce_mean(self.residual(points))
            def fit(self, points):
                points = tf.convert_to_tensor(points)
                for step in range(1000):
                    batch = self.mini_batch(points)
                    with tf.GradientTape() as tape:
                        loss = self.loss(batch)
                    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
            def mini_batch(self, points):
                return tf.gather(points, np.random.randint(0, 900, 32))
            def predict(self, batch):
                return self.residual(batch).numpy()
        solver = Solver()
        solver.fit(load())
        for batch in batches:
            solver.predict(batch)
        """,
    "a sample that grows in a decoding loop": """
        tokens = tf.concat((tf.reshape(prompt, (1, 9)), tf.zeros((1, 91), tf.int64)), axis=-1)
        text = tokens.numpy()
        for at in range(9, 100):
            text[0, at] = np.argmax(model(tokens)[0, at])
            tokens = tf.convert_to_tensor(text)
        """,
    "one number for each action": """
        for step, (x, y) in enumerate(dataset):
            model(tf.constant([0.5] * n_actions))
        """,
    "what a rollout ends with, once": """
        def learn(states):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(tf.convert_to_tensor(states)))
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        states = []
        while not done:
            state, reward, done, _ = env.step(action)
            states.append(state)
        learn(states)
        """,
    "an object of which the first batch is shown": """
        class Pairs:
            def __init__(self, rows, batch_size):
                self.rows = list(rows)
                self.batch_size = batch_size
                self.at = 0
            def __iter__(self):
                return self
            def __next__(self):
                rows = self.rows[self.at : self.at + self.batch_size]
                self.at += self.batch_size
                return tf.convert_to_tensor(np.array(rows)), 1
        pairs = Pairs(rows, 32)
        print(next(pairs))
        for epoch in range(9):
            for x in dataset:
                train_step(x, x)
        """,
    "a batch for an evaluation behind a counter": """
        for step in range(9000):
            if step % 100 == 0:
                index = np.random.randint(0, 900, size=64)
                print(model(tf.convert_to_tensor(images[index])))
        """,
    "observations in a list, one by one": """
        class Agent:
            def act(self, observation):
                states = []
                states.append(tf.convert_to_tensor(observation[None]))
                return model(states)
        agent = Agent()
        while True:
            observation, reward, done, _ = env.step(agent.act(observation))
        """,
    "once, before the loop": """
        x, y = tf.convert_to_tensor(images), tf.convert_to_tensor(labels)
        for epoch in range(100):
            train_step(x, y)
        """,
    "an input that a tape watches": """
        def gradients_of(image):
            x = tf.convert_to_tensor(image)
            with tf.GradientTape() as tape:
                tape.watch(x)
                found = model(x)
            return tape.gradient(found, x)
        for i in range(1000):
            image += gradients_of(image)
        """,
    "an action that is drawn, or found by the largest of all values": """
        import random

        def act(state):
            if np.random.rand() < 0.1:
                return random.randrange(4)
            return np.argmax(model(state)[0])

        def learn(state, action):
            action = tf.convert_to_tensor(action)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(state)[0][action])
            optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))

        while True:
            action = act(state)
            state = env.step(action)[0]
            learn(state, action)
    """,
    "scalars": """
        for step, (x, y) in enumerate(dataset):
            train_step(tf.cast(step, tf.float32), tf.constant(0.5))
        """,
    "how many there are": """
        @tf.function
        def update(x, size):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x)) / size
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        for step, image in enumerate(dataset):
            current_batch_size = image.shape[0]
            update(image, tf.constant(current_batch_size, dtype=tf.int64))
            update(image, tf.constant(image.shape[0]))
            rows = image.shape[0]
            update(image, tf.constant(rows))
        """,
    "one sample": """
        for image in images:
            model(tf.convert_to_tensor(image[None]))
            model(tf.convert_to_tensor(np.expand_dims(image, 0)))
            model(tf.constant([image]))
        """,
    "one observation of one agent, with what it did last": """
        def choose(agent, observation, last):
            inputs = np.hstack((observation, last))
            return model(tf.expand_dims(tf.convert_to_tensor(inputs, dtype=tf.float32), 0))
        while True:
            for agent in range(agents):
                actions[agent] = choose(agent, env.get_obs(agent), actions[agent])
            env.step(actions)
        """,
    "an environment's observation": """
        def act(state):
            return np.argmax(model(tf.convert_to_tensor([state], dtype=tf.float32)))
        state, _ = env.reset()
        while True:
            state, reward, done, _ = env.step(act(state))
            value = model(tf.expand_dims(tf.convert_to_tensor(state), 0))
        """,
    "compiled code": """
        @tf.function
        def step(x):
            return model(tf.cast(x, tf.float32))
        for x in tf.data.Dataset.from_tensor_slices(images).batch(32):
            step(x)
        """,
    "a map of the pipeline": """
        data = tf.data.Dataset.from_tensor_slices((images, labels))
        data = data.map(lambda x, y: (tf.cast(x, tf.float32), y)).batch(32)
        for x, y in data:
            train_step(x, y)
        """,
    "what no step uses": """
        for x, y in tf.data.Dataset.from_tensor_slices((images, labels)).batch(32):
            train_step(x, y)
            counts = tf.cast(y, tf.int64)
            print(counts)
        """,
    "tensors that the device made": """
        for x, y in tf.data.Dataset.from_tensor_slices((images, labels)).batch(32):
            train_step(tf.cast(x / 2, tf.float32), y)
        """,
    "behind a counter": """
        for step, (x, y) in enumerate(tf.data.Dataset.from_tensor_slices((images, labels)).batch(32)):
            train_step(x, y)
            if step % 100 == 0:
                model(tf.convert_to_tensor(np.random.normal(size=(16, 100))))
        """,
    "the transitions of one batch of a replay memory": """
        for state, value in replay_memory.get_batch(32):
            x = tf.convert_to_tensor(state)
            model.fit(x, value)
        """,
    "once an epoch": """
        for epoch in range(10):
            for x, y in dataset:
                train_step(x, y)
            noise = tf.convert_to_tensor(np.random.normal(size=(batch_size, 100)))
            model(noise)
        """,
    "elements of a dataset, cast on the device": """
        for x, y in tf.data.Dataset.from_tensor_slices((images, labels)).batch(32):
            x, y = tf.cast(x, tf.float32), tf.dtypes.cast(y, tf.int64)
            train_step(x, y)
        """,
}

FLAGGED = {
    "elements of a dataset": (
        """
        for x, y in tf.data.Dataset.from_tensor_slices((images, labels)).batch(32):
            x = tf.convert_to_tensor(x)
            train_step(x, y)
        """,
        [3],
    ),
    "arrays of remembered rewards, cast": (
        """
        def learn():
            rewards = np.array([row["reward"] for row in memory.get_samples(32)])
            rewards = tf.cast(np.expand_dims(rewards, axis=1), tf.float32)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(states) - rewards)
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        for step in range(1000):
            learn()
        """,
        [4],
    ),
    "what values are made of that are put into an array": (
        """
        for step in range(1000):
            rows = tf.constant(images[step : step + 32])
            targets = np.zeros(32)
            for i in range(32):
                targets[i] = tf.reduce_max(rows[i])
            train_step(x, targets)
        """,
        [3],
    ),
    "discounted rewards, beside numbers of which one counts": (
        """
        @tf.function
        def update(states, rewards, count):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(states) - rewards)
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        def learn(memory):
            total, discounted_rewards, counts = 0.0, [], []
            for reward in memory.rewards[::-1]:
                total = reward + 0.9 * total
                discounted_rewards.append(total)
                counts.append(len(counts))
            update(x, tf.constant(discounted_rewards)[:, None], tf.constant(counts))
        while True:
            state, reward, done, _ = env.step(1)
            learn(memory)
        """,
        [13],
    ),
    "labels that a list repeats for each sample": (
        """
        for x in tf.data.Dataset.from_tensor_slices(images).batch(32):
            batch_size = x.shape[0]
            train_step(x, tf.constant([[0.0]] * batch_size + [[1.0]] * batch_size))
            train_step(x, tf.constant([1.0] * len(x)))
        """,
        [4, 5],
    ),
    "the first of an order that is shuffled": (
        """
        def learn(states):
            order = np.random.permutation(2048)[:batch_size]
            rows = [states[i] for i in order]
            train_step(tf.convert_to_tensor(rows), 1)
        for update in range(9000):
            learn(memory)
        """,
        [5],
    ),
    "the last of a memory": (
        """
        for update in range(9000):
            train_step(tf.convert_to_tensor(memory[-batch_size:]), 1)
        """,
        [3],
    ),
    "beside a gradient step behind each rollout": (
        """
        def learn(states):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(tf.convert_to_tensor(states)))
            optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))
        while True:
            states = []
            for _ in range(128):
                state, reward, done, _ = env.step(action)
                states.append(state)
            learn(states)
        """,
        [4],
    ),
    "what an object gives to a loop over it": (
        """
        class Pairs:
            def __init__(self, rows, batch_size):
                self.rows = list(rows)
                self.batch_size = batch_size
                self.at = 0
            def __iter__(self):
                return self
            def __next__(self):
                rows = self.rows[self.at : self.at + self.batch_size]
                self.at += self.batch_size
                return tf.convert_to_tensor(np.array(rows)), 1
        pairs = Pairs(rows, 32)
        for epoch in range(9):
            for step, (x, number) in enumerate(pairs):
                train_step(x, x)
        """,
        [12],
    ),
    "what a generator yields to a loop over it": (
        """
        def batches(rows, batch_size):
            for at in range(0, len(rows), batch_size):
                yield tf.convert_to_tensor(rows[at : at + batch_size])
        for x in batches(images, 32):
            train_step(x, x)
        """,
        [4],
    ),
    "the batch of a gradient step that is made every few steps": (
        """
        for step in range(9000):
            state, reward, done, _ = env.step(action)
            if step % 4 == 0:
                states, weights = memory.sample(64)
                weights = tf.convert_to_tensor(weights, dtype=tf.float32)
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(model(states) * weights)
                optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        """,
        [6],
    ),
    "columns of what a memory gives": (
        """
        import random
        class Memory:
            def sample(self, n):
                batch = random.sample(self.memory, n)
                states, returns = [tf.convert_to_tensor(np.array(x)) for x in zip(*batch)]
                return states, returns
            def draw(self, n):
                batch = random.sample(self.memory, n)
                states, returns = map(lambda x: tf.constant(np.array(x)), zip(*batch))
                return states, returns
        memory = Memory()
        for step in range(9000):
            train_step(*memory.sample(32))
            x, y = memory.draw(32)
            train_step(x, y)
        """,
        [6, 10],
    ),
    "what a memory draws, beside a gradient step that nobody in sight calls": (
        """
        class Agent:
            def learn(self, count):
                index = np.random.choice(self.size, BATCH)
                states = tf.convert_to_tensor(self.states[index])
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(model(states))
                optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        """,
        [5],
    ),
    "batches in a list of inputs, and gradients sample by sample": (
        """
        while True:
            env.step(action)
            for agent in range(agents):
                index = np.random.choice(900, batch_size)
                states = tf.convert_to_tensor(all_states[index])
                inputs = []
                inputs.append(states)
                for k in range(batch_size):
                    with tf.GradientTape() as tape:
                        loss = tf.reduce_mean(model(inputs))
                    gradients = gradients + tape.gradient(loss, model.trainable_variables)
                optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        """,
        [6],
    ),
    "what a function that makes the step is given": (
        """
        def learn(states, returns, entropy_weight):
            states = tf.constant(states, dtype=tf.float32)
            weight = tf.constant(entropy_weight)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(states) * weight)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        for i in range(800):
            index = np.random.permutation(len(states))[:64]
            learn(states[index], returns[index], 0.01)
        """,
        [3],
    ),
    "slices of whole arrays": (
        """
        for start in range(0, len(images), 32):
            x = tf.convert_to_tensor(images[start : start + 32])
            train_step(x, tf.constant(labels[start : start + 32]))
        """,
        [3, 4],
    ),
    "arrays made on each step, on a device": (
        """
        for step in range(1000):
            x = np.random.rand(batch_size, 10)
            with tf.device("/GPU:0"):
                x_gpu = tf.convert_to_tensor(x, dtype=tf.float32)
                model.train_on_batch(x_gpu, x_gpu)
        """,
        [5],
    ),
    "batches of a generator of another file, which is named for them": (
        """
        from reader import Reader
        reader = Reader(lines, 32)
        def learn(data):
            words = tf.convert_to_tensor(data["words"], dtype=tf.int32)
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model({"words": words}))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        for data in reader.get_batch_data():
            learn(data)
        """,
        [5],
    ),
    "under a tape": (
        """
        for x, y in tf.data.Dataset.from_tensor_slices((images, labels)).batch(32).as_numpy_iterator():
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.convert_to_tensor(x) * weights)
            gradients = tape.gradient(loss, [weights])
            optimizer.apply_gradients(zip(gradients, [weights]))
        """,
        [4],
    ),
    "a batch of memories": (
        """
        class Agent:
            def learn(self):
                states, targets = self.memory.sample(32)
                states = tf.convert_to_tensor(states)
                train_step(states, targets)
        agent = Agent()
        while True:
            env.step(0)
            agent.learn()
        """,
        [5],
    ),
    "a helper that a loop calls": (
        """
        def batch(i):
            return tf.constant(images[i * 32 : (i + 1) * 32])
        for i in range(1000):
            train_step(batch(i), labels)
        """,
        [3],
    ),
    "what the loop does not change": (
        """
        for epoch in range(1000):
            x = tf.convert_to_tensor(images)
            train_step(x, labels)
        """,
        [3],
    ),
}

FIXED = {
    "labels that are the same for each batch": (
        """
        batch_size = 32
        for x in tf.data.Dataset.from_tensor_slices(images).batch(batch_size):
            y = tf.constant([[0.0]] * batch_size + [[1.0]] * batch_size)
            model.train_on_batch(x, y)
        """,
        """
        batch_size = 32
        y = tf.constant([[0.0]] * batch_size + [[1.0]] * batch_size)
        for x in tf.data.Dataset.from_tensor_slices(images).batch(batch_size):
            model.train_on_batch(x, y)
        """,
    ),
    "slices become elements of a dataset": (
        """
        for i in range(0, len(images), SIZE):
            x = tf.convert_to_tensor(images[i : i + SIZE])
            y = tf.constant(labels[i : i + SIZE])
            train_step(x, y)
        """,
        """
        dataset = (
            tf.data.Dataset.from_tensor_slices((images, labels))
            .batch(SIZE)
            .prefetch(tf.data.AUTOTUNE)
        )
        for x, y in dataset:
            train_step(x, y)
        """,
    ),
    "a loop that counts batches takes as many": (
        """
        for i in range(steps):
            x = tf.convert_to_tensor(images[i * 32 : (i + 1) * 32])
            model(x)
        """,
        """
        dataset = (
            tf.data.Dataset.from_tensor_slices(images)
            .batch(32)
            .take(steps)
            .prefetch(tf.data.AUTOTUNE)
        )
        for x in dataset:
            model(x)
        """,
    ),
    "in a loop over epochs the dataset is made above that": (
        """
        for epoch in range(100):
            for i in range(0, len(images), SIZE):
                x = tf.convert_to_tensor(images[i : i + SIZE])
                y = tf.constant(labels[i : i + SIZE])
                train_step(x, y)
        """,
        """
        dataset = (
            tf.data.Dataset.from_tensor_slices((images, labels))
            .batch(SIZE)
            .prefetch(tf.data.AUTOTUNE)
        )
        for epoch in range(100):
            for x, y in dataset:
                train_step(x, y)
        """,
    ),
    "arrays that an epoch shuffles make a dataset of that epoch": (
        """
        for epoch in range(100):
            np.random.shuffle(images)
            for i in range(0, len(images), SIZE):
                x = tf.convert_to_tensor(images[i : i + SIZE])
                model(x)
        """,
        """
        for epoch in range(100):
            np.random.shuffle(images)
            dataset = (
                tf.data.Dataset.from_tensor_slices(images)
                .batch(SIZE)
                .prefetch(tf.data.AUTOTUNE)
            )
            for x in dataset:
                model(x)
        """,
    ),
    "what the loop does not change moves above it": (
        """
        for epoch in range(1000):
            x = tf.convert_to_tensor(images)
            train_step(x, labels)
        """,
        """
        x = tf.convert_to_tensor(images)
        for epoch in range(1000):
            train_step(x, labels)
        """,
    ),
    "an argument that the loop does not change gets a name above it": (
        """
        for epoch in range(1000):
            train_step(tf.convert_to_tensor(images), labels)
        """,
        """
        converted = tf.convert_to_tensor(images)
        for epoch in range(1000):
            train_step(converted, labels)
        """,
    ),
    "what is a tensor already is left as it is": (
        """
        for x, y in tf.data.Dataset.from_tensor_slices((images, labels)).batch(32):
            x = tf.convert_to_tensor(x)
            train_step(x, tf.convert_to_tensor(y))
        """,
        """
        for x, y in tf.data.Dataset.from_tensor_slices((images, labels)).batch(32):
            train_step(x, y)
        """,
    ),
    "a type of its own": (
        """
        for i in range(0, len(images), 32):
            x = tf.convert_to_tensor(images[i : i + 32], dtype=tf.float32)
            model(x)
        """,
        """
        dataset = (
            tf.data.Dataset.from_tensor_slices(images)
            .batch(32)
            .map(lambda x: tf.cast(x, tf.float32))
            .prefetch(tf.data.AUTOTUNE)
        )
        for x in dataset:
            model(x)
        """,
    ),
    "a type that one of the arrays gets": (
        """
        for epoch in range(10):
            for i in range(0, len(images), 32):
                x = tf.constant(images[i : i + 32], tf.float32)
                y = tf.convert_to_tensor(labels[i : i + 32])
                train_step(x, y)
        """,
        """
        dataset = (
            tf.data.Dataset.from_tensor_slices((images, labels))
            .batch(32)
            .map(lambda x, y: (tf.cast(x, tf.float32), y))
            .prefetch(tf.data.AUTOTUNE)
        )
        for epoch in range(10):
            for x, y in dataset:
                train_step(x, y)
        """,
    ),
}

REFUSED = {
    "the counter is used": (
        """
        for i in range(0, len(images), 32):
            x = tf.convert_to_tensor(images[i : i + 32])
            model(x)
            print(i)
        """,
        "`i` is used for more than slicing",
    ),
    "half the arrays": (
        """
        for i in range(0, 10000, 32):
            x = tf.convert_to_tensor(images[i : i + 32])
            model(x)
        """,
        "the loop may not go through the whole arrays",
    ),
    "overlapping slices": (
        """
        for i in range(0, len(images), 16):
            x = tf.convert_to_tensor(images[i : i + 32])
            model(x)
        """,
        "the slices differ in size",
    ),
    "a type that is worked out": (
        """
        for i in range(0, len(images), 32):
            x = tf.convert_to_tensor(images[i : i + 32], dtype=dtype_of(model))
            model(x)
        """,
        "the loop does not slice whole arrays into batches",
    ),
    "arrays that the loop changes": (
        """
        for i in range(0, len(images), 32):
            images = images[::-1]
            x = tf.convert_to_tensor(images[i : i + 32])
            model(x)
        """,
        "an array changes in the loop",
    ),
    "an element that may get another type": (
        """
        for x in tf.data.Dataset.from_tensor_slices(images).batch(32):
            model(tf.constant(x, tf.float32))
        """,
        "it may change the type; do that in a `map` of the pipeline",
    ),
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_leaves_alone(source: str) -> None:
    assert flagged("TFP301", _HEAD + dedent(source)) == []


@pytest.mark.parametrize(("source", "rows"), FLAGGED.values(), ids=FLAGGED)
def test_flags(source: str, rows: list[int]) -> None:
    assert flagged("TFP301", _HEAD + dedent(source)) == [row + _ROWS for row in rows]


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED)
def test_fix(before: str, after: str) -> None:
    assert fixed("TFP301", _HEAD + dedent(before)) == _HEAD + dedent(after)


@pytest.mark.parametrize(("source", "note"), REFUSED.values(), ids=REFUSED)
def test_says_why_it_does_not_fix(source: str, note: str) -> None:
    (said,) = notes("TFP301", _HEAD + dedent(source))
    assert said.startswith(f"no fix: {note}")


REMEDIES = {
    "np.ones((32, 1))": "convert it once, above the loop",
    "[[1.0]] * batch_size": "convert it once, above the loop",
    "np.random.rand(32, 1)": "feed the step from a `tf.data.Dataset`",
    "[[scale()]] * batch_size": "keep the data in NumPy arrays of that type",
    "next(batches)": "feed the step from a `tf.data.Dataset`",
    "memory.sample(32)": "a `tf.data.Dataset` that prefetches copies it beside the step before",
    "labels[step * 32 : (step + 1) * 32]": "feed the step from a `tf.data.Dataset`",
}


def test_what_was_played_is_fed_by_no_dataset() -> None:
    source = (
        "env.reset()\nfor step in range(1000):\n    env.step(0)\n    y = tf.convert_to_tensor(memory.sample(32))\n"
        "    model.train_on_batch(images, y)\n"
    )
    (finding,) = findings("TFP301", _HEAD + source)
    assert "; a `tf.data.Dataset` that prefetches" in finding.message
    assert finding.minor


@pytest.mark.parametrize(("given", "remedy"), REMEDIES.items(), ids=REMEDIES)
def test_says_what_to_do_by_whether_the_loop_changes_it(given: str, remedy: str) -> None:
    source = f"batch_size = 32\nfor step in range(1000):\n    y = tf.convert_to_tensor({given})\n    model.train_on_batch(images, y)\n"
    (finding,) = findings("TFP301", _HEAD + source)
    assert f"; {remedy}" in finding.message


def test_what_methods_fill_as_the_program_goes_is_in_no_dataset() -> None:
    source = """\
class Memory:
    def __init__(self):
        self.labels = np.zeros((900, 1))
    def store(self, at, label):
        self.labels[at] = label
    def learn(self):
        y = tf.convert_to_tensor(self.labels[np.random.choice(900, 32)])
        model.train_on_batch(images, y)
memory = Memory()
for step in range(1000):
    memory.learn()
"""
    (finding,) = findings("TFP301", _HEAD + source)
    assert "; a `tf.data.Dataset` that prefetches" in finding.message
    assert finding.minor


def test_what_is_a_tensor_already_is_a_hint_without_a_figure() -> None:
    source = (
        _HEAD
        + "for x, y in tf.data.Dataset.from_tensor_slices((images, labels)).batch(32):\n    train_step(tf.convert_to_tensor(x), y)\n"
    )
    (found,) = findings("TFP301", source)
    assert "converts a batch that is a tensor already" in found.message
    assert found.minor
    assert not found.as_measured


@pytest.mark.parametrize(
    ("given", "of_data"), [("np.array(sums)[:, None]", False), ("labels[step * 32 : (step + 1) * 32]", True)]
)
def test_what_the_step_computes_is_in_no_dataset_whatever_axis_it_gets(given: str, of_data: bool) -> None:
    source = f"""\
optimizer = tf.keras.optimizers.Adam()
def compute(states, rewards, labels, step):
    total, sums = 0.0, []
    for reward in rewards:
        total = reward + 0.9 * total
        sums.append(total)
    y = tf.convert_to_tensor({given})
    return tf.reduce_mean(model(states) - y)
for step in range(1000):
    with tf.GradientTape() as tape:
        loss = compute(states, rewards, labels, step)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
    (finding,) = findings("TFP301", _HEAD + source)
    assert ("feed the step from a `tf.data.Dataset`" in finding.message) is of_data
    assert costs_told("TFP301", _HEAD + source) == [of_data]
    assert finding.minor is not of_data
