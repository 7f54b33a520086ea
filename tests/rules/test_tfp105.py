"""TFP105: what is flagged, what is left alone, and what the fix makes of it."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.rules.support import findings, fixed, flagged, notes

_HEAD = """\
import numpy as np
import random
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
"""

# A constructor that nobody in sight fills, and what its class does with an object that it is given.
_GIVEN = """
        class Gan:
            def __init__(self, maker):
                self.maker = maker
            def build(self):
                {}
            def train(self, images, n):
                for x in tf.data.Dataset.from_tensor_slices(images).batch(32):
                    made = self.maker.predict(x)
"""

SILENT = {
    "a Keras that still takes nb_epoch": """
        from keras.models import Sequential
        model = Sequential()
        while not done:
            action = model.predict(np.array([state]))
            state, reward, done, _ = env.step(action)
        model.fit(states, answers, nb_epoch=8)
        """,
    "each result in a figure, by a function": """
        import matplotlib.pyplot as plt
        import tensorflow as tf
        model = tf.keras.models.load_model("unet.keras")
        def display(pictures):
            plt.figure(figsize=(15, 15))
            for picture in pictures:
                plt.imshow(picture)
            plt.show()
        for image, mask in tests:
            display([image, model.predict(image[np.newaxis, ...])])
        """,
    "what another model answers to a whole dataset in a compiled function": """
        import tensorflow as tf
        policy = tf.keras.Sequential([tf.keras.layers.Dense(3)])
        draw = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        @tf.function
        def run_policy(inputs):
            return policy(inputs, training=False)
        for step in range(10000):
            logits = run_policy(tf.convert_to_tensor(images)).numpy()
            show(draw.predict(logits))
        """,
    "a few batches that a command shows": """
        import click
        @click.command()
        def show_some():
            batches = iter(tf.data.Dataset.from_tensor_slices(images).batch(32))
            for _ in range(16):
                show(model.predict(next(batches)))
        """,
    "a model, or an object of another library in another branch": """
        import joblib
        def evaluate(kind, batches):
            if kind == "svm":
                chosen = joblib.load(path)
            else:
                chosen = make(kind)
                chosen.load_weights(path)
            for x in tf.data.Dataset.from_tensor_slices(images).batch(32):
                show(chosen.predict(x))
        """,
    "all rows as one batch, where they are not trained on, for several epochs or with others behind": """
        rows, labels = load()
        for epoch in range(1000):
            model.fit(images, labels)
            model.predict(rows, batch_size=len(rows))
            model.fit(rows, labels, batch_size=len(rows), epochs=9)
            model.fit(rows, labels, batch_size=len(rows), validation_data=test)
            model.fit(rows, labels, batch_size=len(others))
        """,
    "all rows as one batch, by a model of each fold": """
        for rows, labels in folds:
            net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            net.compile("adam", "mse")
            net.fit(rows, labels, batch_size=len(rows))
        """,
    "what a copy for targets is updated with, or an agent is tried on, now and then": """
        while not done:
            state, reward, done, _ = env.step(action)
            model.train_on_batch(*memory.sample(32))
            if step % 1000 == 0:
                target.set_weights(model.get_weights())
                print(target.predict(np.expand_dims(state, axis=0)))
        """,
    "of a program whose ops stand where TensorFlow 1 has them": """
        wider = tf.keras.layers.Lambda(lambda x: tf.depth_to_space(x, 2))
        for x in dataset:
            print(model.predict(x))
        """,
    "a picture of each file, until a key is pressed": """
        import cv2
        from glob import glob
        for path in glob(pattern):
            image = np.expand_dims(cv2.imread(path), axis=0)
            boxes = model.predict(image)
            cv2.imshow("boxes", draw(image, boxes))
            if cv2.waitKey(0) == ord("q"):
                break
        """,
    "pictures of a few tens of codes, once": """
        for dim in range(10):
            for shift in range(-100, 101, 50):
                code = first.copy()
                code[0][dim] += shift
                save(f"{dim} {shift}", model.predict(code)[0])
        """,
    "a single batch of a generator, behind which all test data is evaluated, and many batches": """
        for step in range(1000):
            model.fit(batches(), epochs=1, steps_per_epoch=1, validation_data=test)
            model.fit(batches(), epochs=1, steps_per_epoch=100)
            model.fit(batches(), epochs=9, steps_per_epoch=1)
        """,
    "one batch of all test data, once a round": """
        def test(x, y):
            return accuracy(model.predict(x), y)
        images, labels = load()
        train = tf.data.Dataset.from_tensor_slices(pictures).batch(32)
        whole = tf.data.Dataset.from_tensor_slices((images, labels)).batch(len(labels))
        for round in range(100):
            model.fit(train)
            for x, y in whole:
                test(x, y)
        """,
    "a model that is made and compiled by the same function": """
        def restore(path):
            fresh = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            fresh.compile("adam", "mse")
            fresh.fit(x=tf.ones((1, 4)), y=tf.ones((1, 1)), batch_size=1)
            fresh.optimizer.set_weights(read(path))
            return fresh
        for x in tf.data.Dataset.from_tensor_slices(images).batch(32):
            restore(path).predict_on_batch(x)
        """,
    "where a function says that it is time": """
        def is_due(step, size, every):
            if not every:
                return False
            return any((at + 1) % every == 0 for at in range(step, step + size))
        for step, x in enumerate(tf.data.Dataset.from_tensor_slices(images).batch(32)):
            if is_due(step, 32, 1000):
                show(model.predict(x.numpy()[:1]))
        """,
    "where a name says that it is time": """
        for step, x in enumerate(tf.data.Dataset.from_tensor_slices(images).batch(32)):
            due = step % 100 == 0
            if due:
                show(model.predict(x.numpy()[:1]))
        """,
    "once, by what was seen": """
        for x in tf.data.Dataset.from_tensor_slices(images).batch(32):
            if "first" not in seen:
                seen["first"] = model.predict(x.numpy()[:1])
        """,
    "a batch that the call itself goes through sample by sample": """
        for gain in gains:
            inp_batch, lengths = observation_batch(files)
            model.predict(inp_batch, batch_size=1)
        """,
    "what a loop takes, of which the call takes so many at a time": """
        for volume, truth in volumes.as_numpy_iterator():
            model.predict(volume, batch_size=4)
            model.predict(volume, 4)
        """,
    "of Keras that runs graphs": """
        train = tf.keras.backend.function([model.input], [], updates=optimizer.get_updates(weights, [], loss))
        for x in tf.data.Dataset.from_tensor_slices(images).batch(32):
            model.predict(x)
        """,
    "a helper that is given one sample here, and there many": """
        def score(x, size=None):
            return model.predict(x, verbose=0, batch_size=size)
        for x in samples:
            x = np.expand_dims(x, axis=0)
            print(score(x, 256) - score(mutate(x), 256))
        """,
    "a benchmark of `predict` itself": """
        from time import perf_counter
        times = []
        for _ in range(1000):
            start = perf_counter()
            model.predict(image, verbose=0)
            times.append(perf_counter() - start)
        """,
    "a part that the call cuts into batches": """
        def infer(inputs, offsets, chunk, args):
            for start in range(0, len(inputs), chunk):
                end = min(start + chunk, len(inputs))
                part, places = inputs[start:end], offsets[start:end]
                given = [part, places] if len(model.inputs) > 1 else part
                model.predict(given, batch_size=args.predict_batch_size)
        """,
    "a `predict` that the one class of models here defines": """
        class Net(tf.keras.Model):
            def predict(self, inputs):
                return self.head(inputs)
        class Agent:
            def __init__(self, net, target):
                self.net, self.target_net = net, target
                self.states = np.zeros((32, 4))
            def learn(self):
                self.target_net.set_weights(self.net.get_weights())
                wanted = self.target_net.predict(self.states)
                self.net.train_on_batch(self.states, self.net.predict(self.states) + wanted)
        agent = Agent(*nets())
        while not done:
            state, reward, done, _ = env.step(action)
            agent.learn()
        """,
    "a `predict` of what is asked for a method that one class here has": """
        class Policy:
            def __init__(self):
                self.net = build()
            def predict(self, state):
                return self.net(state)
            def explore(self, state):
                return random.random()
        def play(policy):
            policy.load_weights("best")
            while not done:
                action = policy.predict(np.expand_dims(state, axis=0))
                state, reward, done, _ = env.step(action)
                policy.explore(state)
        """,
    "a graph": """
        tf.compat.v1.disable_eager_execution()
        for name in names:
            model.predict(np.expand_dims(load(name), axis=0))
        """,
    "version 1": """
        tf.enable_eager_execution()
        session = tf.Session(config=tf.ConfigProto())
        for x, y in generator:
            model.predict(np.expand_dims(x, axis=0), batch_size=BATCH)
        """,
    "an object that is compiled without a loss": _GIVEN.format("self.maker.compile(optimizer='adam')"),
    "an object that is compiled as those of a class in the file are": (
        _GIVEN.format("self.maker.compile(optimizer='adam', loss='mse')")
        + """
        class Network:
            def compile(self, loss, optimizer):
                self.loss, self.optimizer = loss, optimizer
        """
    ),
    "an object that is called on inputs of Keras, as those of a class in the file may be": (
        _GIVEN.format("return tf.keras.Model(z, self.maker(z := tf.keras.Input((9,))))")
        + """
        class Network:
            def __call__(self, x):
                return self.layer(x)
        """
    ),
    "an object that is called on arrays": _GIVEN.format("return self.maker(np.zeros((1, 9)))"),
    "an object that is summed up": _GIVEN.format("self.maker.summary()"),
    "an object that is drawn by something else": _GIVEN.format("plot_model(self.maker)"),
    "a few samples for a picture": """
        for epoch in range(epochs):
            rows, columns = 1, 4
            for i in range(columns):
                show(model.predict(np.random.normal(0, 1, (1, 100))))
        """,
    "an object of unknown class that learns from batches, and says nothing of weights": """
        class Trainer:
            def __init__(self, settings):
                self.agent = settings.agent
            def learn(self, x):
                y = self.agent.predict(x)
                self.agent.train_on_batch(x, y)
        trainer = Trainer(settings)
        for x in tf.data.Dataset.range(10).map(f).batch(2):
            trainer.learn(x)
        """,
    "each of several datasets": """
        for x, y in datasets:
            model.evaluate(x, y)
        """,
    "what is in a list that is called a dataset": """
        dataset = [images, others]
        for x in dataset:
            model.predict(x)
        """,
    "a part of the data whose size is told": """
        for share in range(1, 10):
            drawn = table.sample(share)
            model.fit(drawn, epochs=1)
        """,
    "a method that hands on its task to one of the same name": """
        class Indexed:
            def __init__(self, index):
                self.model, self.index = tf.keras.Sequential(), index
            def look_up(self, x):
                return self.model.predict(x)
            def look_up_one(self, x):
                return self.look_up(tf.expand_dims(x, axis=0))
            def evaluate_all(self, x, labels):
                embeddings = self.look_up(x)
                for metric in metrics:
                    self.index.evaluate_all(embeddings, labels)
        """,
    "a rollout, however long it is": """
        def learn(states):
            values = model.predict(np.vstack(states))
        while True:
            states = []
            for t in range(training_batch):
                state, reward, done, _ = env.step(action)
                states.append(state)
                if done:
                    learn(states)
        """,
    "an array as long as all rows": """
        while training:
            x = np.zeros((len(rows),) + shape)
            model.predict(x)
        """,
    "all but the first rows": """
        for start in range(100):
            model.predict(windows[-start:])
        """,
    "lists of all that there is, filled in each round": """
        for round in range(100):
            xs, ys = [], []
            for row in everything:
                xs.append(row)
                ys.append(row.sum())
            model.fit(np.array(xs), np.array(ys))
        """,
    "a list that keeps what each step adds": """
        xs = []
        while not done:
            state, reward, done, _ = env.step(action)
            xs.append(state)
            model.fit(np.array(xs), targets)
        """,
    "many epochs on one batch, by name": """
        def learn(memory, epochs):
            drawn = random.sample(memory, 30)
            model.fit(np.array([old for old, _ in drawn]), targets, epochs=epochs)
        while not done:
            state, reward, done, _ = env.step(action)
            learn(memory, epochs=40)
        """,
    "a few samples that were cut off": """
        few = images[:2]
        for i in range(few.shape[0]):
            model.predict(np.expand_dims(few[i], axis=0))
        """,
    "the first sample of all, once an epoch": """
        for epoch in range(10):
            model.fit(images, labels)
            model.predict(images[:1])
        """,
    "a few samples of a dataset, by a count that has a default": """
        def show(dataset, count=2):
            for x, y in dataset.take(count):
                print(model.predict(x))
        show(tf.data.Dataset.from_tensor_slices(data).batch(32))
        """,
    "a few pictures, by a function": """
        def show():
            return model.predict(np.random.random((1, 3)))
        for _ in range(10):
            print(show())
        """,
    "a method of an unknown model that gives tensors": """
        def evaluate(net):
            for x in tf.data.Dataset.from_tensor_slices(data).batch(32):
                boxes, scores = net.predict(x)
                keep(boxes.numpy(), scores.numpy())
        net = tf.keras.models.load_model("net")
        evaluate(net)
        """,
    "a model of another framework": """
        from torch import nn
        from elsewhere import Model
        net = Model()
        net.load_weights("weights")
        for x in tf.data.Dataset.from_tensor_slices(data).batch(32):
            net.predict(x)
        """,
    "a call that makes the variables": """
        for step in range(1000):
            model.predict(tf.zeros((1, 3)))
            model.train_on_batch(x, y)
        """,
    "once": "model.predict(np.zeros((1, 3)))",
    "a whole dataset once an epoch": """
        for epoch in range(10):
            for x, y in dataset:
                model.train_on_batch(x, y)
            model.evaluate(x_test, y_test)
            answers = model.predict(x_test)
        """,
    "fit on whole arrays in a loop": """
        x_train = np.random.random((1000, 20))
        for epoch in range(10):
            model.fit(x_train, y_train, batch_size=128)
            samples = model.predict(x_train)
        """,
    "a tf.data.Dataset": """
        data = tf.data.Dataset.from_tensor_slices(x).batch(32)
        for epoch in range(10):
            model.fit(data)
            model.evaluate(data)
        """,
    "folds, each with a model of its own": """
        def build():
            return tf.keras.Sequential([tf.keras.layers.Dense(1)])
        for i in range(4):
            model = build()
            val_data = x[i * n : (i + 1) * n]
            model.evaluate(val_data, y[i * n : (i + 1) * n])
        """,
    "several epochs on a chunk": """
        for i in range(0, len(x), 10_000):
            model.fit(x[i : i + 10_000], y[i : i + 10_000], epochs=5)
        """,
    "a chunk that fit cuts into batches": """
        for i in range(0, len(x), chunk):
            model.fit(x[i : i + chunk], y[i : i + chunk], batch_size=batch_size)
        """,
    "behind a counter": """
        for step, (x, y) in enumerate(dataset):
            model.train_on_batch(x, y)
            if step % 100 == 0:
                noise = np.random.normal(size=(batch_size, 3))
                model.predict(noise)
        """,
    "a look at a few elements": """
        data = tf.data.Dataset.from_tensor_slices(x).batch(32)
        for images in data.take(1):
            print(model.predict(images))
        for images in data:
            print(model.predict(images))
            break
        """,
    "a few layers": """
        layers = [1, 2, 3]
        for i in layers:
            answers = model.predict(np.random.normal(size=(1, 3)))
        """,
    "a few rounds": """
        for i in range(5):
            answers = model.predict(np.random.normal(size=(1, 3)))
        """,
    "a few pictures": """
        import matplotlib.pyplot as plt
        for i in range(9):
            plt.imshow(model.predict(np.random.normal(size=(1, 3)))[0])
        """,
    "a class's own predict": """
        class Agent:
            def predict(self, state):
                return self.net(state[None])
        agent = Agent()
        while True:
            action = agent.predict(env.reset())
        """,
    "another library's predict": """
        from sklearn.linear_model import LinearRegression
        line = LinearRegression()
        for row in rows:
            line.predict(np.array([row]))
        """,
    "an object of unknown kind": """
        def act(agent, state):
            return agent.predict(state[None])
        for state in states:
            act(make_agent(), state)
        """,
    "all things, each with the same number": """
        for round in range(1000):
            model.fit(images, labels)
            model.predict([np.full(len(items), 1.0), items])
            model.predict([np.full(len(items), weight), items])
        """,
    "an array of things that were written out once, or that may be more than one batch": """
        both = np.array([images, others])
        for step in range(1000):
            model.predict(both)
            model.predict(np.array([draw(n) for n in range(64)]))
            model.predict(np.concatenate([images, others]))
            model.predict(np.array([*images, *others]))
        """,
    "one of several inputs of unknown size": """
        for name in names:
            model.predict([x_test])
        """,
}

FLAGGED = {
    "one sample, by one of the inputs that have names": (
        """
        import tensorflow as tf
        model = tf.keras.models.load_model("policy.keras")
        while True:
            answers = model.predict({"prices": np.array(state[0]), "budget": np.array([state[1]])})
            state = act(int(answers))
        """,
        [5],
    ),
    "many batches that a command shows, and a few in a function that anybody may call": (
        """
        import click
        import tensorflow as tf
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        @click.command()
        def show_all():
            batches = iter(tf.data.Dataset.from_tensor_slices(images).batch(32))
            for _ in range(1600):
                show(model.predict(next(batches)))
        def show_some():
            batches = iter(tf.data.Dataset.from_tensor_slices(images).batch(32))
            for _ in range(16):
                show(model.predict(next(batches)))
        """,
        [9, 13],
    ),
    "a model of one of two branches, and one that was loaded with its weights": (
        """
        import joblib
        import tensorflow as tf
        def evaluate(kind, batches):
            if kind == "small":
                chosen = make(9)
            else:
                chosen = make(kind)
                chosen.load_weights(path)
            loaded = joblib.load(path)
            loaded.load_weights(path)
            for x in tf.data.Dataset.from_tensor_slices(images).batch(32):
                show(chosen.predict(x))
                show(loaded.predict(x))
        """,
        [13, 14],
    ),
    "what another model answers to one sample": (
        """
        import numpy as np
        import tensorflow as tf
        policy = tf.keras.Sequential([tf.keras.layers.Dense(3)])
        draw = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        for step in range(10000):
            logits, value = policy.predict(state[None])
            state = env.step(draw.predict(logits)[0])
        """,
        [7, 8],
    ),
    "what another model answers to one sample in a compiled function": (
        """
        import tensorflow as tf
        policy = tf.keras.Sequential([tf.keras.layers.Dense(3)])
        draw = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        @tf.function
        def run_policy(inputs):
            return policy(inputs, training=False)
        for step in range(10000):
            logits = run_policy(tf.convert_to_tensor(state[None])).numpy()
            state = env.step(draw.predict(logits)[0])
        """,
        [10],
    ),
    "what is made of a generator's batch": (
        """
        from tensorflow.keras.utils import to_categorical
        for features, labels in test_generator:
            inputs = np.expand_dims(to_categorical(features, num_classes=9), axis=1)
            shown = model.predict(inputs)
        """,
        [5],
    ),
    "an array of things that are written out, whatever they are": (
        """
        for step in range(1000):
            anchor, other = pick(rows)
            apart = model.predict(np.array([anchor, other]))
            both = tf.stack([anchor, other])
            model.predict(both)
            model.predict(np.array([draw(n) for n in range(8)]))
        """,
        [4, 6, 7],
    ),
    "one thing after the other, each with all that it may go with": (
        """
        for user in range(1000):
            model.predict([np.full(len(items), user), items], batch_size=100)
        def rank(user, items):
            users = np.array([user] * len(items))
            return model.predict([users, np.array(items)])
        for user, items in candidates:
            rank(user, items)
        """,
        [3, 6],
    ),
    "a step that trains on one batch, which a loop of predictions makes": (
        """
        def mined(rows, size):
            x, y = np.zeros((size, 4)), np.zeros((size, 1))
            for i in range(size):
                near, far = model.predict(np.array([rows[i], rows[i + 1]]))
                x[i], y[i] = rows[i], far - near
            return x, y
        def train(rows, batch_size):
            for step in range(1000):
                x, y = mined(rows, batch_size)
                model.fit(x, y, epochs=1, verbose=0)
        train(load(), 64)
        """,
        [5, 11],
    ),
    "all rows as one batch, whatever they are": (
        """
        rows, labels = load()
        def train(x, y):
            size = x.shape[0]
            model.fit([x], y, epochs=1, batch_size=size)
        for step in range(1000):
            model.fit(rows, labels, batch_size=len(rows))
            train(rows, labels)
        """,
        [5, 7],
    ),
    "in each training step of an agent that learns now and then": (
        """
        def learn(memory):
            states, rewards = memory.sample(32)
            values = model.predict(np.reshape(states, (32, 8)))
            model.train_on_batch(states, values + rewards)
        while not done:
            state, reward, done, _ = env.step(action)
            if step % 4 == 0:
                learn(memory)
        """,
        [4],
    ),
    "a function of which the program shows one use, for a model that was trained before": (
        """
        model.load_weights(path)
        def write(text):
            for _ in range(40):
                text = np.append(text[:, 1:], model.predict(text), axis=1)
            return text
        print(write(series[:1]))
        """,
        [5],
    ),
    "a model that is compiled before the loop": (
        """
        def train(images):
            model.compile("adam", "mse")
            for x in tf.data.Dataset.from_tensor_slices(images).batch(32):
                model.fit(x, x)
        """,
        [5],
    ),
    "batches as large as other data": (
        """
        images, labels = load()
        for round in range(100):
            model.fit(train)
            for x, y in tf.data.Dataset.from_tensor_slices((images, labels)).batch(len(few)):
                model.predict(x)
        """,
        [6],
    ),
    "a single batch of a generator": (
        """
        for step in range(1000):
            model.fit(batches(), epochs=1, steps_per_epoch=1, verbose=0)
            show(model.predict_on_batch(images))
        """,
        [3],
    ),
    "one of several arrays that a list makes of a replay batch": (
        """
        def replay():
            rows = np.array(random.sample(memory, 64)).T
            states, rewards = [np.vstack(rows[i, :]).astype(np.float32) for i in range(2)]
            return rewards + model.predict(states)
        for step in range(1000):
            env.step(0)
            replay()
        """,
        [5],
    ),
    "slices of the size that the call is told": (
        """
        for start in range(0, len(images), size):
            part = images[start : start + size]
            model.predict(part, batch_size=size)
            model.predict(np.expand_dims(images[start], axis=0), batch_size=1)
        """,
        [4, 5],
    ),
    "a model of which no more is known than that it is one": (
        """
        class Policy:
            def predict(self, state):
                return self.net(state)
            def explore(self, state):
                return random.random()
        def play(net):
            net.load_weights("best")
            while not done:
                action = net.predict(np.expand_dims(state, axis=0))
                state, reward, done, _ = env.step(action)
        """,
        [10],
    ),
    "a model that the field of a dataclass is annotated with": (
        """
        from dataclasses import dataclass
        @dataclass
        class Features:
            net: tf.keras.Model
            classifier: object
            images: tf.data.Dataset
            def of(self, dataset: tf.data.Dataset):
                return [self.net.predict(x) for x, y in dataset.batch(32)]
            def show(self):
                return [self.classifier.predict(x) for x, y in self.images]
        """,
        [9],
    ),
    "a model that nobody sets anew": (
        """
        class Estimator:
            def __init__(self):
                self.model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            def update_model(self, model):
                self.model = model
            def train(self):
                for x in tf.data.Dataset.from_tensor_slices(images).batch(32):
                    self.model.predict(x)
        """,
        [9],
    ),
    "an object that is compiled with a loss": (
        _GIVEN.format("self.maker.compile(optimizer='adam', loss='mse')"),
        [9],
    ),
    "an object that is compiled with a loss in a class that is compiled itself, without one": (
        _GIVEN.format("self.maker.compile(optimizer='adam', loss='mse')")
        + """
            def compile(self, optimizer):
                self.build()
        """,
        [9],
    ),
    "an object that is called on what was made of an input of Keras": (
        _GIVEN.format(
            "z = tf.keras.Input((9,)); y = other(z); self.whole = tf.keras.Model(z, self.maker(y))"
        ),
        [9],
    ),
    "an object that is called on several inputs of Keras": (
        _GIVEN.format("z = tf.keras.layers.Input((9,)); return tf.keras.Model(z, self.maker([z, labels]))"),
        [9],
    ),
    "an object of which Keras draws a plan": (
        _GIVEN.format("tf.keras.utils.plot_model(self.maker, to_file='plan.png')"),
        [9],
    ),
    "the fields of a batch, by a model that is annotated": (
        """
        class Agent:
            def __init__(self, actor: tf.keras.Sequential = None, memory=None):
                self.actor, self.memory = actor, memory
            def train(self):
                batch = self.memory.sample_batch()
                self.actor.predict(batch.states)
                self.actor.predict(np.concatenate([batch.states, batch.actions], axis=1))
                self.actor.predict(batch.length)
        agent = Agent(build(), memory())
        while True:
            env.step(0)
            agent.train()
        """,
        [7, 8],
    ),
    "the model that Keras gives a callback": (
        """
        class Rate(tf.keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                for x, y in val_ds:
                    prediction = self.model.predict(x)
        """,
        [5],
    ),
    "batches of what is called a dataset, of which nothing else is known": (
        """
        for _, (x, y) in enumerate(tqdm(val_ds)):
            model.evaluate(x, y, verbose=0)
        for x in args.data_loader:
            model.predict(x)
        """,
        [3, 5],
    ),
    "what a memory of any name is told to give": (
        """
        for step in range(steps):
            [states, targets] = past.sample(args.batch_size)
            model.fit(states, targets, epochs=1, verbose=0)
        """,
        [4],
    ),
    "arrays whose shape is a sum": (
        """
        shape = (batch_size,) + size
        while training:
            x = np.zeros((batch_size,) + size)
            y = np.empty([batch_size] + [4, 4])
            model.predict(x)
            model.predict(y)
            target = model.predict(np.ones(shape))
        """,
        [6, 7, 8],
    ),
    "the last window of a forecast": (
        """
        z = windows[:1]
        for i in range(total - length):
            value = model.predict(z[-1:])
            z = np.append(z, value)[1:].reshape(-1, length, 1)
        """,
        [4],
    ),
    "a network that a method trains on lists made from a batch": (
        """
        class Agent:
            def __init__(self):
                self.net = tf.keras.Sequential()
                self.memory = []
            def train(self):
                drawn = random.sample(self.memory, 64)
                values = self.net.predict(np.array([old for old, _, _ in drawn]))
                xs, ys = [], []
                for at, (old, action, reward) in enumerate(drawn):
                    values[at][action] = reward
                    xs.append(old)
                    ys.append(values[at])
                self.net.fit(np.array(xs), np.array(ys), batch_size=64, verbose=0)
        agent = Agent()
        while not done:
            state, reward, done, _ = env.step(action)
            agent.train()
        """,
        [8, 14],
    ),
    "an array of rows that are taken apart and squeezed": (
        """
        def replay(memory):
            rows = np.array(random.sample(memory, 30))
            states = np.squeeze(np.array(rows[:, 0].tolist()))
            model.fit(states, model.predict(states), verbose=0)
        while not done:
            state, reward, done, _ = env.step(action)
            replay(memory)
        """,
        [5, 5],
    ),
    "arrays as long as a batch, and one epoch by name": (
        """
        def learn(memory, epochs):
            drawn = random.sample(memory, 30)
            count = len(drawn)
            states = np.zeros((count, 4))
            model.fit(states, targets, epochs=epochs)
            answers = []
            for at in range(count):
                answers.append(drawn[at][1])
            model.evaluate(np.array(answers))
        while not done:
            state, reward, done, _ = env.step(action)
            learn(memory, epochs=1)
        """,
        [6, 10],
    ),
    "a few epochs on one batch, by name": (
        """
        def learn(memory, epochs):
            drawn = random.sample(memory, 30)
            model.fit(np.array([old for old, _ in drawn]), targets, epochs=epochs)
        while not done:
            state, reward, done, _ = env.step(action)
            learn(memory, epochs=4)
        """,
        [4],
    ),
    "a few batches that an agent replays": (
        """
        class Net:
            def __init__(self):
                self.model = tf.keras.Sequential()
            def learn(self, x, y):
                self.model.fit(x, y, epochs=1)
        net = Net()
        def replay(memory):
            for _ in range(10):
                states = memory.sample()
                net.learn(states, model.predict(states))
        """,
        [6, 11],
    ),
    "what an agent has collected since the last update": (
        """
        state_batch = []
        while not done:
            state, reward, done, _ = env.step(action)
            state_batch.append(state)
            if len(state_batch) >= 32:
                states = np.array([state.squeeze() for state in state_batch])
                values = model.predict(states)
                state_batch = []
        """,
        [8],
    ),
    "several inputs": (
        """
        while not done:
            action = choose()
            state, reward, done, _ = env.step(action)
            value = model.predict([np.expand_dims(state, axis=0), action])
        """,
        [5],
    ),
    "the parts of one observation": (
        """
        state = env.reset()
        while not done:
            frames = np.array([np.array(s) for s in state])
            state, reward, done, _ = env.step(model.predict(frames))
        """,
        [5],
    ),
    "batches of a generator with a name": (
        """
        flow = datagen.flow_from_directory("images")
        for x, y in flow:
            model.fit(x, y)
        for i in range(len(flow)):
            x, y = flow[i]
            model.predict(x)
        """,
        [4, 7],
    ),
    "a series that grows by its answers": (
        """
        last = series[:1]
        for i in range(600):
            last = np.append(last[:, 1:], model.predict(last), axis=1)
        """,
        [4],
    ),
    "batches of a generator from elsewhere": (
        """
        from data import test_generator
        batches = test_generator(path)
        for images, names in batches:
            answers = model.predict(images)
        """,
        [5],
    ),
    "as many pictures as there are": (
        """
        for i in range(n):
            plt.imshow(model.predict(np.random.normal(size=(1, 3)))[0])
        """,
        [3],
    ),
    "batches of a dataset": (
        """
        data = tf.data.Dataset.from_tensor_slices(x).batch(32)
        for images in data:
            answers = model.predict(images)
        """,
        [4],
    ),
    "a sample with an axis added": (
        """
        for image in images:
            model.predict(np.expand_dims(image, axis=0))
            model.predict(image[np.newaxis])
            model.predict(image.reshape(1, 28, 28))
            model.predict(np.array([image]))
        """,
        [3, 4, 5, 6],
    ),
    "slices of whole arrays": (
        """
        for i in range(0, len(x), n):
            model.fit(x[i : i + n], y[i : i + n], verbose=0)
            model.evaluate(x[i : i + n], y[i : i + n])
        """,
        [3, 4],
    ),
    "noise made on each step": (
        """
        for epoch in range(10_000):
            noise = np.random.normal(0, 1, (batch_size, 100))
            images = model.predict(noise)
            critic.train_on_batch(images, labels)
        """,
        [4],
    ),
    "elements of a random draw": (
        """
        def replay(memory):
            for state, target in random.sample(memory, 32):
                model.fit(state, target, epochs=1)
        """,
        [4],
    ),
    "a comprehension": (
        """
        answers = [model.predict(row[None]) for row in rows]
        """,
        [2],
    ),
    "a method that an episode loop calls": (
        """
        class Agent:
            def __init__(self):
                self.model = self.build()
            def build(self):
                model = tf.keras.Sequential()
                return model
            def act(self, state):
                return np.argmax(self.model.predict(state)[0])
            def replay(self):
                for state, target in random.sample(self.memory, 32):
                    self.model.fit(state, target)
        agent = Agent()
        for episode in range(100):
            state = np.reshape(env.reset(), [1, 4])
            for time in range(500):
                action = agent.act(state)
                next_state, reward, done, _ = env.step(action)
                state = np.reshape(next_state, [1, 4])
                agent.replay()
        """,
        [9, 12],
    ),
    "batches that a generator of this file cuts": (
        """
        def batches(x, y, size):
            for start in range(0, len(x), size):
                yield x[start : start + size], y[start : start + size]
        for features, labels in batches(x, y, 32):
            model.evaluate(features, labels)
        """,
        [6],
    ),
    "a Keras class of this file": (
        """
        class Net(tf.keras.Model):
            def call(self, x):
                return x
        net = Net()
        for x in tf.data.Dataset.range(10).map(f).batch(2):
            net.predict(x)
        """,
        [7],
    ),
    "an object that has weights and learns from batches, whatever its name": (
        """
        class Agent:
            def __init__(self, settings):
                self.q_values = settings.q_values
                self.target = settings.q_values
            def sync(self):
                self.target.set_weights(self.q_values.get_weights())
            def learn(self, x):
                y = self.q_values.predict(x)
                self.q_values.train_on_batch(x, y)
        agent = Agent(settings)
        for x in tf.data.Dataset.range(10).map(f).batch(2):
            agent.learn(x)
        """,
        [9],
    ),
}

FIXED = {
    "predict loses what only matters for datasets": (
        "y = model.predict(row[None], batch_size=1, verbose=0)[0]",
        "y = model.predict_on_batch(row[None])[0]",
    ),
    "by position, too": (
        "y = model.predict(row[None], 1, 0)[0]",
        "y = model.predict_on_batch(row[None])[0]",
    ),
    "parentheses and a last comma stay": (
        "y = model.predict((row[None]), verbose=0,)",
        "y = model.predict_on_batch((row[None]),)",
    ),
    "keywords before the data": (
        "y = model.predict(verbose=0, x=row[None])",
        "y = model.predict_on_batch(x=row[None])",
    ),
    "fit keeps weights": (
        "model.fit(row[None], target, epochs=1, sample_weight=w, verbose=0)",
        "model.train_on_batch(row[None], target, sample_weight=w)",
    ),
    "evaluate keeps its result's form": (
        "loss = model.evaluate(row[None], target, verbose=0, return_dict=True)",
        "loss = model.test_on_batch(row[None], target, return_dict=True)",
    ),
}

REFUSED = {
    "history": (
        "h = model.fit(row[None], t)\n    print(h)",
        "no fix: the history that `fit` returns is used",
    ),
    "losses": ("l.append(model.fit(row[None], t).history)", "no fix: the history that `fit` returns is used"),
    "callbacks": (
        "model.fit(row[None], t, callbacks=[c])",
        "no fix: `callbacks` is more than a gradient step",
    ),
    "positions": ("model.predict(row[None], 32, 0, 9)", "no fix: `9` is passed by position"),
    "stars": (
        "model.predict(row[None], **options)",
        "no fix: not all that the model is given can be seen here",
    ),
}


_READS = "    image = np.expand_dims(cv2.imread({}), 0)\n    print(model.predict(image))\n"
FILES = {
    "glob": 'for path in glob.glob("images/*.png"):\n' + _READS.format("path"),
    "listdir": 'for name in os.listdir("images"):\n' + _READS.format("os.path.join(folder, name)"),
    "scandir": 'for entry in os.scandir("images"):\n' + _READS.format("entry.path"),
    "Path.glob": 'for path in Path("images").glob("*.png"):\n' + _READS.format("str(path)"),
    "sorted rglob": 'for path in sorted(Path("images").rglob("*.png")):\n' + _READS.format("str(path)"),
    "gfile": 'for path in tf.io.gfile.glob("*.png"):\n' + _READS.format("path"),
    "walk": 'for folder, _, names in os.walk("images"):\n  for name in names:\n' + _READS.format("name"),
    "a comprehension": 'seen = [model.predict(np.expand_dims(cv2.imread(p), 0)) for p in glob.glob("*.png")]\n',
    "a function": "def answer(path):\n"
    + _READS.format("path")
    + 'for path in glob.glob("*.png"):\n    answer(path)\n',
}


@pytest.mark.parametrize("source", FILES.values(), ids=FILES)
def test_a_loop_over_files_predicts_on_each(source: str) -> None:
    imports = "import glob\nimport os\nfrom pathlib import Path\nimport cv2\n"
    (finding,) = findings("TFP105", _HEAD + imports + source)
    assert "predict_on_batch" in fixed("TFP105", _HEAD + imports + source)
    assert finding.message.startswith("`predict` sets up an input pipeline for one batch on each step")


@pytest.mark.parametrize(
    "statement",
    [
        "model.fit(image, label)",
        "model.predict(np.load(path))",
        "model.predict(images_of(path), batch_size=32)",
    ],
)
def test_what_a_loop_over_files_does_with_all_of_one_is_left_alone(statement: str) -> None:
    source = f'import glob\nfor path in glob.glob("*.npy"):\n    image, label = np.load(path)[:1], 1\n    {statement}\n'
    assert flagged("TFP105", _HEAD + source) == []


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_leaves_alone(source: str) -> None:
    assert flagged("TFP105", _HEAD + dedent(source)) == []


@pytest.mark.parametrize(("source", "rows"), FLAGGED.values(), ids=FLAGGED)
def test_flags(source: str, rows: list[int]) -> None:
    assert flagged("TFP105", _HEAD + dedent(source)) == [row + 4 for row in rows]


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED)
def test_fix_calls_the_method_for_one_batch(before: str, after: str) -> None:
    assert (
        fixed("TFP105", f"{_HEAD}for row in rows:\n    {before}\n")
        == f"{_HEAD}for row in rows:\n    {after}\n"
    )


@pytest.mark.parametrize(
    ("call", "may_change"),
    [
        ("model.predict(row[None])", "what is printed"),
        ("model.evaluate(row[None], t)", "what is printed"),
        ("model.fit(row[None], t)", "callbacks, the history and what is printed"),
    ],
)
def test_the_title_says_what_the_method_may_change(call: str, may_change: str) -> None:
    (finding,) = findings("TFP105", f"{_HEAD}for row in rows:\n    {call}\n")
    assert finding.fix is not None
    assert finding.fix.message.endswith(f"; may change {may_change}")


# A `predict` in `replay`, and whether it is asked for each sample of which batch.
REPLAYS = {
    "each of a minibatch": ("for state, target in minibatch:\n    model.predict(state)", " of `minibatch`"),
    "a part of each": (
        "for i, (state, target) in enumerate(minibatch):\n    model.predict(np.expand_dims(state, 0))",
        " of `minibatch`",
    ),
    "in a comprehension": ("values = [model.predict(state)[0] for state, _ in minibatch]", " of `minibatch`"),
    "by an index": (
        "states = np.array(minibatch)\nfor i in range(len(states)):\n    model.predict(states[i : i + 1])",
        " of `states`",
    ),
    "each of a draw without a name": (
        "for state, target in random.sample(memory, 32):\n    model.predict(state)",
        "",
    ),
    "another sample": (
        "for state, target in minibatch:\n    model.predict(np.expand_dims(memory[0], 0))",
        None,
    ),
    "each, by a model that learns from those before": (
        "for state, target in minibatch:\n    model.train_on_batch(state, target + model.predict(state))",
        None,
    ),
    "the whole batch": ("model.predict(np.array(minibatch))", None),
    "a fit of each": ("for state, target in minibatch:\n    model.fit(state, target)", None),
}


@pytest.mark.parametrize(("body", "of"), REPLAYS.values(), ids=REPLAYS)
def test_one_call_is_advised_where_a_loop_asks_for_each_sample_of_a_batch(body: str, of: str | None) -> None:
    replay = f"def replay(memory):\n    minibatch = random.sample(memory, 32)\n{indent(body, '    ')}\n"
    play = "while not done:\n    state, reward, done, _ = env.step(action)\n    replay(memory)\n"
    (finding,) = findings("TFP105", f"{_HEAD}{replay}{play}")
    advised = f"for each sample{of}; stack the samples and call it once on the whole batch, or at least call `predict_on_batch`"
    assert (advised in finding.message) is (of is not None)
    assert ("for one batch on each step; call `" in finding.message) is (of is None)


@pytest.mark.parametrize(("source", "note"), REFUSED.values(), ids=REFUSED)
def test_says_why_it_does_not_fix(source: str, note: str) -> None:
    (said,) = notes("TFP105", f"{_HEAD}for row in rows:\n    {source}\n")
    assert said.startswith(note)
