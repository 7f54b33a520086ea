"""TFP303: what is flagged, and what is left alone."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, flagged

_HEAD = """\
import random
import cv2
import numpy as np
import tensorflow as tf
from PIL import Image
from tensorflow.keras.preprocessing.image import ImageDataGenerator
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
optimizer = tf.keras.optimizers.Adam()
dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
@tf.function
def train_step(x, *rest):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    return loss
"""
_ROWS = _HEAD.count("\n")

SILENT = {
    "rows of arrays, picked by numbers that are put together": """
        def pick(x, y, groups):
            rows = []
            for group in groups:
                rows.append(np.random.choice(group, 8))
            rows = np.concatenate(rows)
            return x[rows], y[rows]
        for epoch in range(9):
            for step in range(1000):
                train_step(*pick(x, y, groups))
        """,
    "parts of an array, each where it lies": """
        class Rows(tf.keras.utils.Sequence):
            def __getitem__(self, at):
                return np.array([self.x[i] for i in range(at * 32, (at + 1) * 32)]), self.y[at]
        model.fit(Rows(), epochs=10)
        """,
    "what is made of a model's answers": """
        def train(gen):
            for x, y in gen:
                proposals = boxes.decode(model.predict_on_batch(x), anchors)
                inputs, classes = [], []
                for i in range(len(x)):
                    region, label = assign(proposals[i], y[i])
                    inputs.append(region)
                    classes.append(label)
                model.train_on_batch([x, np.array(inputs)], np.array([one_hot(c) for c in classes]))
        """,
    "what is made of a model's answers in the loop around": """
        for x, y in dataset:
            proposals = boxes.decode(model.predict_on_batch(x), anchors)
            for i in range(len(proposals)):
                regions, labels = np.stack(proposals[i]), np.array([one_hot(c) for c in y[i]])
                model.train_on_batch(regions, np.stack([assign(p, y[i]) for p in proposals[i]]))
        """,
    "what several processes make for a fit": """
        class Images(tf.keras.utils.Sequence):
            def __getitem__(self, at):
                return np.stack([cv2.imread(path) for path in self.paths[at : at + 32]])
        model.fit_generator(Images(), workers=cpu_count() - 1, use_multiprocessing=True)
        model.fit_generator(Images(), workers=4, use_multiprocessing=arguments.processes)
        flow = ImageDataGenerator(rotation_range=20).flow_from_directory("images")
        model.fit(flow, workers=4, use_multiprocessing=True, epochs=10)
        """,
    "slices of what a generator makes once": """
        def batches(paths):
            images = np.stack([cv2.imread(path) for path in paths])
            for start in range(0, len(images), 32):
                yield images[start : start + 32]
        for x in batches(paths):
            train_step(x)
        """,
    "what other processes play": """
        while True:
            states = []
            for remote in remotes:
                states.append(remote.recv())
            train_step(np.stack([scale(state) for state in states]))
        """,
    "one text that is padded": """
        from tensorflow.keras.preprocessing.sequence import pad_sequences
        for text in texts:
            train_step(pad_sequences([tokenizer.encode(text)], maxlen=9))
        """,
    "texts that are padded once": """
        from tensorflow.keras.preprocessing.sequence import pad_sequences
        x = pad_sequences(texts)
        for start in range(0, 1000, 32):
            train_step(x[start : start + 32])
        """,
    "texts that are padded to predict": """
        from tensorflow.keras.preprocessing.sequence import pad_sequences
        for texts in documents:
            print(model.predict(pad_sequences(texts)))
        """,
    "numbers that are only read or picked by a map": """
        def batches(lines):
            while True:
                yield np.array(list(map(int, lines[0].split())))
        for x in batches(lines):
            train_step(x, np.array(list(map(lambda row: row[0], x))))
        """,
    "rows and arrays that are put together as they are": """
        def cut(images, boxes, n):
            rows = np.zeros((n, 28, 28, 1))
            joined = np.zeros((0, 4))
            for i in range(n):
                rows[i][:, :] = images[i]
                joined = np.concatenate([joined, boxes[i]])
            return rows, joined
        for step in range(1000):
            x, y = cut(images, boxes, 32)
            train_step(x, y)
        """,
    "an object that gives parts of itself": """
        class Photos:
            def __init__(self, photos):
                self.photos, self.at = photos, 0
            def __getitem__(self, at):
                return self.photos[at : at + 32]
            def next_part(self):
                self.at += 32
                return self[self.at]
        photos = Photos(photos)
        for step in range(9000):
            train_step(photos.next_part())
        """,
    "an object whose iterator cuts an array": """
        class Photos:
            def __init__(self, photos):
                self.photos = photos
            def __iter__(self):
                return Cuts(self.photos)
        class Cuts:
            def __init__(self, photos):
                self.photos, self.at = photos, 0
            def __iter__(self):
                return self
            def __next__(self):
                self.at += 32
                return self.photos[self.at - 32 : self.at]
        for x in Photos(photos):
            train_step(x)
        """,
    "a validation behind a counter": """
        def batches():
            while True:
                yield np.stack([cv2.imread(path) for path in paths])
        for epoch in range(100):
            for x in dataset:
                train_step(x)
            if epoch % 10 == 0:
                for x in batches():
                    score(model(x))
        """,
    "a test by a function, behind the training": """
        def batches():
            while True:
                yield np.stack([cv2.imread(path) for path in paths])
        def test():
            for x in batches():
                score(model(x))
        for epoch in range(100):
            for x in dataset:
                train_step(x)
        test()
        """,
    "a validation under a condition": """
        def batches():
            while True:
                yield np.stack([cv2.imread(path) for path in paths])
        for epoch in range(100):
            for x in dataset:
                loss = train_step(x)
            if epoch > 5 and loss < best:
                for x in batches():
                    score(model(x))
        """,
    "a loop that predicts, behind the training": """
        def batches():
            while True:
                yield np.stack([cv2.imread(path) for path in paths])
        for epoch in range(100):
            for x in dataset:
                train_step(x)
        for x in batches():
            score(model(x))
        """,
    "batches that are made where a step asks for them": """
        def train(parts):
            for rows in parts:
                bad = check(rows)
                if bad is not None:
                    train_step(np.array([mend(row) for row in bad]))
                train_step(rows)
        """,
    "slices that a generator keeps in an array of its own": """
        def batches(images):
            order = np.zeros(len(images), int)
            order[0] = 1
            while True:
                yield images[order[:32]]
        for x in batches(images):
            train_step(x)
        """,
    "outputs of a model that a generator stacks": """
        def batches(parts):
            while True:
                outputs = []
                for part in parts:
                    output = model(part)
                    outputs.append(output)
                yield tf.stack(outputs)
        for x in batches(parts):
            train_step(x)
        """,
    "a dataset": """
        for x in dataset:
            train_step(x)
        """,
    "slices of arrays": """
        def batches():
            for i in range(0, len(images), 32):
                yield images[i : i + 32], labels[i : i + 32]
        for x, y in batches():
            train_step(x, y)
        for i in range(0, len(images), 32):
            train_step(images[i : i + 32])
        """,
    "picks of arrays": """
        def batch(size):
            index = np.random.randint(0, len(images), size)
            return images[index], labels[index]
        for step in range(1000):
            x, y = batch(32)
            model.train_on_batch(x, y)
        """,
    "once": """
        x = np.random.rand(batch_size, 10)
        for step in range(1000):
            train_step(x)
        """,
    "once an epoch": """
        for epoch in range(10):
            x = np.stack([cv2.resize(image, (32, 32)) for image in images])
            for step in range(1000):
                train_step(x)
        """,
    "a list that a loop in the step loop fills with what it picks": """
        for i in range(1000):
            picked = []
            for j in range(32):
                picked.append(images[i * 32 + j])
            train_step(np.array(picked))
        """,
    "a list of results, which no step is fed": """
        for x in dataset:
            train_step(x)
            sizes = []
            for part in x:
                sizes.append(measure(part))
            print(np.array(sizes))
        """,
    "sessions that only measure": """
        with tf.Session() as sess:
            for i in range(1000):
                batch = np.array([resize(path) for path in paths[i : i + 32]])
                total += sess.run([net.train_accuracy], {x: batch})[0]
        """,
    "behind a counter": """
        for step, x in enumerate(dataset):
            train_step(x)
            if step % 100 == 0:
                batch = np.random.rand(batch_size, 10)
                model(batch)
        """,
    "noise that a generator of images starts from": """
        def sample_noise(n):
            return np.random.normal(size=(n, 100))
        for x in dataset:
            noise = np.random.normal(size=(batch_size, 100))
            fake_z1 = np.random.normal(0, 1, (batch_size, 100))
            model.train_on_batch(noise, fake_z1)
            model.train_on_batch(np.random.normal(size=(batch_size, 100)), sample_noise(32))
            code = np.random.normal(size=(batch_size, 1, 1, 100))
            model.train_on_batch(code, code)
        """,
    "images of several sizes made of one batch": """
        def pyramid(x):
            levels = [tf.image.resize(x, (side, side)) for side in (32, 64, 128)]
            return tf.concat([tf.reshape(level, (32, -1)) for level in levels], axis=1)
        for x in dataset:
            train_step(pyramid(x))
        """,
    "constants": """
        for x in dataset:
            model.train_on_batch(x, np.ones((batch_size, 1)))
            model.train_on_batch(x, np.concatenate([np.ones((32, 1)), np.zeros((32, 1))]))
        """,
    "a pipeline": """
        def prepare(path):
            return tf.image.resize(tf.io.decode_png(tf.io.read_file(path)), (32, 32))
        for x in tf.data.Dataset.list_files("*.png").map(prepare).batch(32):
            train_step(x)
        """,
    "a pipeline from a generator": """
        def samples():
            for path in paths:
                yield np.stack([np.asarray(Image.open(path)) for _ in range(2)])
        for x in tf.data.Dataset.from_generator(samples, tf.float32).batch(32):
            train_step(x)
        """,
    "a loop that predicts": """
        for path in paths:
            batch = np.stack([cv2.resize(image, (32, 32)) for image in images])
            print(model.predict(batch))
        """,
    "an environment": """
        def collect():
            states = []
            for t in range(100):
                state, reward, done, _, _ = env.step(policy(state))
                states.append(state)
            return np.array(states)
        for episode in range(1000):
            states = collect()
            train_step(states)
        """,
    "a replay memory": """
        class ReplayBuffer:
            def sample(self, n):
                batch = random.sample(self.items, n)
                return np.array([self.encode(item) for item in batch])
        buffer = ReplayBuffer()
        for step in range(1000):
            train_step(buffer.sample(64))
        """,
    "what is not fed to a step": """
        for x in dataset:
            train_step(x)
            figure = np.stack([cv2.resize(image, (32, 32)) for image in images])
            show(figure)
        """,
    "compiled code": """
        @tf.function
        def run():
            for x in dataset:
                train_step(tf.stack([tf.image.flip_left_right(i) for i in tf.unstack(x)]))
        run()
        """,
    "sessions": """
        with tf.compat.v1.Session() as sess:
            for i in range(1000):
                batch = np.random.rand(batch_size, 10)
                sess.run(train_op, {x: batch})
        """,
    "a loader from elsewhere": """
        from loaders import Loader
        loader = Loader()
        for x in loader:
            train_step(x)
        for step in range(1000):
            train_step(loader.next_batch(32))
        """,
    "an array that is filled with picks": """
        def batch(n):
            index = np.random.permutation(len(images))
            filled = np.zeros((n, 32))
            for i in range(n):
                image = images[index[i]]
                filled[i] = image
            return filled
        for step in range(1000):
            train_step(batch(32))
        """,
    "what flows elsewhere": """
        graph = Graph()
        model.fit(graph.flow(x))
        sizes, names = len(images), ImageDataGenerator().flow(x)
        model.fit(sizes)
        """,
    "generators of Keras's that nothing trains on, or that a loop asks for batches": """
        shown = ImageDataGenerator(rotation_range=20)
        for x in shown.flow(images):
            show(x)
            break
        tested = ImageDataGenerator()
        model.evaluate(tested.flow(images))
        """,
    "a sequence that only cuts its arrays": """
        class Batches(tf.keras.utils.Sequence):
            def __len__(self):
                return len(self.x) // 32
            def __getitem__(self, i):
                start = i * 32
                return self.x[start : start + 32], self.y[start : start + 32]
        model.fit(Batches())
        """,
    "a sequence that makes its batches anew, unlike its base in the file": """
        class Stacking:
            def __iter__(self):
                return (self[i] for i in range(9))
            def __getitem__(self, i):
                return np.array([augment(image) for image in self.images[i * 32 : i * 32 + 32]])
        class Batches(Stacking, tf.keras.utils.Sequence):
            def __getitem__(self, i):
                return self.images[i * 32 : i * 32 + 32]
        model.fit(Batches(), epochs=10)
        """,
    "a list that is made before the loop, and an array of it": """
        images = [cv2.imread(path) for path in paths]
        for step in range(1000):
            picked = np.array(images)
            train_step(picked[step])
        """,
    "rows that are padded once": """
        def pad(rows):
            padded = np.zeros((len(rows), 20))
            for i, row in enumerate(rows):
                padded[i, : len(row)] = row
            return padded
        x = pad(sentences)
        for step in range(1000):
            train_step(x[step * 32 : step * 32 + 32])
        """,
    "a list of numbers": """
        def lengths(rows):
            return [len(row) for row in rows]
        def widths(rows):
            measured = np.zeros(2)
            measured[0] = rows[0]
            return measured, [max(row) for row in rows]
        for step in range(1000):
            train_step(lengths(rows[step]), widths(rows[step]))
        """,
    "samples that a generator of a pipeline decodes": """
        def samples():
            for path in paths:
                yield tf.image.decode_png(tf.io.read_file(path))
        for x in tf.data.Dataset.from_generator(samples, tf.uint8).batch(32):
            train_step(x)
        """,
    "a parameter that is a dataset": """
        def train(batches):
            for x in batches:
                train_step(x)
        train(dataset)
        """,
    "arrays given to fit": """
        model.fit(np.stack([cv2.imread(path) for path in paths]), labels)
        """,
    "odd syntax": """
        for x in dataset:
            train_step(x)
            np.stack(*images)
            np.array()
            f = lambda: np.random.rand(batch_size, 10)
            next(*x)
        """,
}

FLAGGED = {
    "numbers that are put together, and given as well": (
        """
        def pick(x, groups):
            rows = []
            for group in groups:
                rows.append(np.random.choice(group, 8))
            rows = np.concatenate(rows)
            return x[rows], rows
        for epoch in range(9):
            for step in range(1000):
                train_step(*pick(x, groups))
        """,
        [10],
        "makes a batch on the host on each step",
    ),
    "batches of one maker, to train and to validate": (
        """
        def batch():
            return np.stack([cv2.imread(path) for path in random.sample(paths, 32)])
        def train():
            for epoch in range(9):
                for step in range(1000):
                    train_step(batch())
                for step in range(100):
                    metric.update_state(model(batch()))
        """,
        [7],
        "`batch()` makes a batch",
    ),
    "windows that a sequence cuts one by one": (
        """
        class Windows(tf.keras.utils.Sequence):
            def __getitem__(self, at):
                return np.array([self.x[i : i + self.size] for i in range(at * 32, (at + 1) * 32)]), self.y[at]
        model.fit(Windows(), epochs=10)
        """,
        [5],
        "make it in `Dataset.map`",
    ),
    "a list of draws that NumPy makes an array of": (
        """
        def noise(batch_size, size):
            drawn = list()
            for i in range(batch_size):
                drawn.append(np.random.uniform(0.0, 1, [20, size]))
            return np.reshape(drawn, (batch_size, 20, size))
        for x in dataset:
            z = noise(32, 8)
            train_step(x, z)
        """,
        [8],
        "draw it with `tf.random`",
    ),
    "one object for several fits, once; threads wait for each other": (
        """
        class Images(tf.keras.utils.Sequence):
            def __getitem__(self, at):
                return np.stack([cv2.imread(path) for path in self.paths[at : at + 32]])
        images = Images()
        model.fit(images, workers=4, epochs=3)
        model.fit(images, epochs=10)
        """,
        [6],
        "make it in `Dataset.map`",
    ),
    "samples that a loop beside a model's answers prepares": (
        """
        for paths in batches:
            x = np.stack([cv2.imread(path) for path in paths])
            answers = teacher.predict_on_batch(x)
            train_step(x, answers)
        """,
        [3],
        "make it in `Dataset.map`",
    ),
    "a session that runs what an optimizer made, by any name": (
        """
        first = tf.compat.v1.train.AdamOptimizer(1e-4).minimize(loss)
        def get(n):
            return np.array([cv2.imread(p) / 255.0 for p in random.sample(paths, n)])
        with tf.compat.v1.Session() as sess:
            for i in range(1000):
                batch = get(32)
                sess.run([first, loss], {images: batch})
        """,
        [7],
        "`get(32)` makes a batch",
    ),
    "a generator that gathers samples until they are a batch": (
        """
        def batches(paths):
            images, thumbs = [], []
            while True:
                for path in paths:
                    image = Image.open(path)
                    images.append((np.asarray(image) - 127.5) / 127.5)
                    if len(images) == 32:
                        images = np.asarray(images)
                        yield images
                        images = []
        source = batches(paths)
        for step in range(1000):
            train_step(next(source))
        """,
        [14],
        "`next(source)` makes a batch",
    ),
    "texts that are padded for each step": (
        """
        from tensorflow.keras.preprocessing.sequence import pad_sequences
        for start in range(0, 10000, 32):
            train_step(pad_sequences(texts[start : start + 32]))
        """,
        [4],
        "`pad_sequences(texts[start : start + 32])` makes a batch",
    ),
    "an object that pads texts for each step": (
        """
        class Loader:
            def __iter__(self):
                return self
            def __next__(self):
                x = tf.keras.utils.pad_sequences(sequences=self.encode(self.rows()), padding="post")
                return tf.convert_to_tensor(x)
        for epoch in range(3):
            for x in Loader():
                train_step(x)
        """,
        [9],
        "`Loader()` makes a batch",
    ),
    "noise that a function of the file draws": (
        """
        def noise(n, size):
            z = np.random.uniform(-1.0, 1.0, size=[n, size])
            return z.astype("f")
        def codes(n: int):
            return np.random.multinomial(1, 10 * [0.1], size=n)
        for step in range(1000):
            if step % 100 == 0:
                print(model(noise(16, 100)))
            train_step(noise(BATCH_SIZE, 100), codes(BATCH_SIZE))
        """,
        [10],
        "`noise(BATCH_SIZE, 100)` makes a batch on the host on each step; draw it with `tf.random`",
    ),
    "samples of a list, joined": (
        """
        def cut(samples, start):
            rows = samples[start : start + 32]
            return np.concatenate(rows, axis=0)
        for step in range(1000):
            train_step(cut(samples, step))
        """,
        [6],
        "`cut(samples, step)` makes a batch",
    ),
    "words, put into their places one by one": (
        """
        def padded(texts):
            rows = np.zeros((len(texts), 99))
            for i, text in enumerate(texts):
                for at, word in enumerate(text):
                    rows[i, at] = word
            return rows
        for step in range(1000):
            train_step(padded(texts))
        """,
        [9],
        "`padded(texts)` makes a batch",
    ),
    "samples that a map loads": (
        """
        def load(path):
            return cv2.imread(path)
        def batch_of(paths):
            return np.array(list(map(load, paths)))
        for at in range(0, 9000, 32):
            x = batch_of(paths[at : at + 32])
            train_step(x)
        """,
        [7],
        "`batch_of(paths[at : at + 32])` makes a batch on the host on each step; make it in `Dataset.map`",
    ),
    "items that an object takes of itself": (
        """
        class Photos:
            def __init__(self, paths):
                self.paths, self.at = paths, 0
            def __getitem__(self, at):
                return np.stack([cv2.imread(path) for path in self.paths[at : at + 32]])
            def next_part(self):
                self.at += 32
                return self[self.at]
            def parts(self):
                for at in range(0, 9000, 32):
                    yield self[at]
        photos = Photos(paths)
        for step in range(9000):
            train_step(photos.next_part())
        for x in photos.parts():
            train_step(x)
        """,
        [15, 16],
        "makes a batch on the host on each step; make it in `Dataset.map`",
    ),
    "an object whose iterator is of another class": (
        """
        class Photos:
            def __init__(self, paths):
                self.paths = paths
            def __iter__(self):
                return Reader(self.paths)
        class Reader:
            def __init__(self, paths):
                self.paths = list(paths)
            def __iter__(self):
                return self
            def __next__(self):
                found = []
                for _ in range(32):
                    found.append(cv2.imread(self.paths.pop()) / 255)
                return np.stack(found)
        photos = Photos(paths)
        for step, x in enumerate(photos):
            train_step(x)
        """,
        [18],
        "`photos` makes a batch on the host on each step; make it in `Dataset.map`",
    ),
    "the validation of each epoch, in a function": (
        """
        def batches():
            while True:
                yield np.stack([cv2.imread(path) for path in paths])
        def validate():
            for x in batches():
                score(model(x))
        for epoch in range(100):
            for x in dataset:
                train_step(x)
            validate()
        """,
        [6],
        "`batches()` makes a batch on the host on each step; make it in `Dataset.map`",
    ),
    "the validation of each epoch": (
        """
        def batches():
            while True:
                yield np.stack([cv2.imread(path) for path in paths])
        for epoch in range(100):
            for x in dataset:
                train_step(x)
            for x in batches():
                score(model(x))
        """,
        [8],
        "`batches()` makes a batch on the host on each step; make it in `Dataset.map`",
    ),
    "batches that are made where the settings want them": (
        """
        def encoded(rows, tokenizer):
            return np.array([tokenizer.encode(row) for row in rows])
        def train(parts, tokenizer):
            for rows in parts:
                if tokenizer is not None:
                    x = encoded(rows, tokenizer)
                    train_step(x)
                else:
                    train_step(rows)
        """,
        [7],
        "makes a batch",
    ),
    "targets that a generator shifts by one step": (
        """
        def batches(tokens, steps):
            while True:
                for start in range(0, tokens.shape[1], steps):
                    x = tokens[:, start : start + steps]
                    y = np.zeros_like(x)
                    y[:, :-1], y[:, -1] = x[:, 1:], x[:, 0]
                    yield x, y
        for x, y in batches(tokens, 32):
            train_step(x, y)
        """,
        [9],
        "makes a batch",
    ),
    "a generator that scales images into an array, which an object keeps": (
        """
        class Photos:
            def __init__(self, paths):
                self.paths = paths
                self.endless = self.scaled()
            def scaled(self):
                batch = np.empty((32, 64, 64, 3))
                while True:
                    for row, path in enumerate(random.sample(self.paths, 32)):
                        photo = cv2.imread(path)
                        batch[row] = photo / 127.5 - 1
                    yield batch
        photos = Photos(paths)
        for step in range(1000):
            train_step(photos.endless.__next__())
        """,
        [15],
        "makes a batch",
    ),
    "arrays that a generator stacks by an op": (
        """
        def sample(path):
            return np.array(Image.open(path)) / 255.0, 1
        def batches(paths):
            while True:
                images = []
                for path in random.sample(paths, 8):
                    image, label = sample(path)
                    images.append(image)
                yield tf.stack(images, axis=0)
        for x in batches(paths):
            train_step(x)
        """,
        [11],
        "makes a batch",
    ),
    "numbers drawn, once a loop": (
        """
        for epoch in range(10):
            for step in range(1000):
                x = np.random.rand(batch_size, 10)
                y = np.random.rand(batch_size, 1)
                model.train_on_batch(x, y)
        """,
        [4],
        "draw it with `tf.random`",
    ),
    "noise in the size of images": (
        """
        shape = (batch_size, 64, 64, 1)
        for step in range(1000):
            latent = np.random.normal(size=(batch_size, 100)).astype("f")
            noise = np.random.uniform(0, 1, shape).astype("f")
            train_step(latent, noise)
        """,
        [5],
        "draw it with `tf.random`",
    ),
    "an array with places in it that are marked": (
        """
        def labels_of(boxes):
            labels = np.zeros((len(boxes), 7, 7, 5))
            for i, found in enumerate(boxes):
                for x, y, label in found:
                    labels[i][y, x][label] = 1.0
            return labels
        for x, boxes in batches:
            train_step(x, labels_of(boxes))
        """,
        [9],
        "makes a batch",
    ),
    "parts of rows that are filled as far as there is": (
        """
        def pad(boxes):
            padded = np.zeros((len(boxes), 20))
            for i, found in enumerate(boxes):
                padded[i][0 : len(found)] = found
            return padded
        for x, boxes in batches:
            train_step(x, pad(boxes))
        """,
        [8],
        "makes a batch",
    ),
    "an array that grows by a sample each time": (
        """
        def one_hot(labels):
            rows = None
            for label in labels:
                row = np.expand_dims(np.eye(10)[label], axis=0)
                rows = row if rows is None else rows
                rows = np.append(rows, row, axis=0)
            return rows
        for x, labels in batches:
            train_step(x, one_hot(labels))
        """,
        [10],
        "makes a batch",
    ),
    "a list that a loop in the step loop fills": (
        """
        for i in range(1000):
            scaled, targets = [], []
            for j in range(32):
                image = images[i * 32 + j] / 255.0
                scaled.append(image)
                targets.append(labels[i * 32 + j])
            train_step(np.array(scaled), np.array(targets))
        """,
        [8],
        "make it in `Dataset.map`",
    ),
    "images and masks, a statement each": (
        """
        for paths in batches_of_paths:
            x = np.array([cv2.imread(path) for path in paths])
            y = np.array([cv2.imread(path.replace("image", "mask")) for path in paths])
            model.train_on_batch(x, y)
        """,
        [3, 4],
        "make it in `Dataset.map`",
    ),
    "images that are decoded one by one, and resized together": (
        """
        def read(path):
            return tf.cast(tf.io.decode_png(open(path, "rb").read()), tf.float32)
        def load(paths):
            images = [read(path) for path in paths.numpy()]
            return tf.image.resize(images, (128, 128))
        for paths in dataset:
            train_step(tf.convert_to_tensor(load(paths)))
        """,
        [8],
        "prepare samples in `Dataset.map`",
    ),
    "images that a loop decodes and gathers": (
        """
        def load(paths):
            images = []
            for path in paths:
                image = tf.image.decode_jpeg(tf.io.read_file(path))
                images.append(image)
            return tf.stack(images)
        for start in range(0, len(paths), 32):
            train_step(load(paths[start : start + 32]))
        """,
        [9],
        "prepare samples in `Dataset.map`",
    ),
    "images that a generator decodes by eager ops": (
        """
        def read(path):
            return tf.image.decode_jpeg(tf.io.read_file(path))
        class Images:
            def batches(self):
                while True:
                    yield tf.expand_dims(tf.image.random_flip_left_right(read(random.choice(self.paths))), 0)
        source = Images().batches()
        for step in range(1000):
            train_step(next(source))
        """,
        [10],
        "prepare samples in `Dataset.map`",
    ),
    "a list with a name that is stacked": (
        """
        for start in range(0, len(paths), 32):
            images = [cv2.resize(cv2.imread(path), (32, 32)) for path in paths[start : start + 32]]
            batch = np.array(images).astype(np.float32)
            train_step(batch)
        """,
        [4],
        "make it in `Dataset.map`",
    ),
    "an array that is filled at once with what was read one by one": (
        """
        class Faces:
            def batches(self):
                for start in range(0, len(self.names), 32):
                    faces = [cv2.imread(name) for name in self.names[start : start + 32]]
                    batch = np.zeros((32, 48, 48, 3))
                    batch[:] = faces
                    yield batch
        for x in Faces().batches():
            train_step(x)
        """,
        [9],
        "make it in `Dataset.map`",
    ),
    "rows that are padded": (
        """
        def batch(rows):
            padded = np.full((len(rows), max(map(len, rows))), 9)
            for i, row in enumerate(rows): padded[i, : len(row)] = row
            return padded
        for step in range(1000):
            train_step(batch(sentences[step * 32 : step * 32 + 32]))
        """,
        [7],
        "make it in `Dataset.map`",
    ),
    "a list of masks": (
        """
        def mask(row):
            ones = np.zeros((20, 100))
            ones[: len(row)] = 1
            return ones
        def batches():
            for start in range(0, len(sentences), 32):
                rows = sentences[start : start + 32]
                masks = [mask(row) for row in rows]
                yield rows, masks
        for x, y in batches():
            train_step(x, y)
        """,
        [11],
        "make it in `Dataset.map`",
    ),
    "a batch with one array for each place of its sentences": (
        """
        def batch(rows):
            inputs = {}
            for place in range(20):
                inputs[place] = np.array([sentences[row][place] for row in rows])
            return inputs
        for step in range(1000):
            train_step(batch(random.sample(range(9999), 32)))
        """,
        [8],
        "make it in `Dataset.map`",
    ),
    "a sequence that works on one sample after the other": (
        """
        class Scans(tf.keras.utils.Sequence):
            def __getitem__(self, i):
                return self.__make(self.names[i : i + 1])
            def __make(self, names):
                for name in names:
                    scan = np.reshape(read_scan(name), (64, 128, 128, 1))
                return scan[:32]
        model.fit_generator(Scans())
        """,
        [9],
        "make it in `Dataset.map`",
    ),
    "samples that are asked for by their index": (
        """
        class Photos:
            def __getitem__(self, i):
                boxes = []
                for box in self.boxes[i]:
                    boxes.append([int(side) for side in box])
                return cv2.imread(self.paths[i]), np.stack(boxes)
        photos = Photos()
        for i in range(len(photos)):
            x, boxes = photos[i]
            train_step(x, boxes)
        """,
        [10],
        "make it in `Dataset.map`",
    ),
    "a batch that is stacked": (
        """
        for start in range(0, len(paths), 32):
            batch = np.array([cv2.resize(cv2.imread(path), (32, 32)) for path in paths[start : start + 32]])
            train_step(batch)
        """,
        [3],
        "make it in `Dataset.map`",
    ),
    "a function that fills a list": (
        """
        def load(paths):
            images = []
            for path in paths:
                images.append(np.asarray(Image.open(path)) / 255)
            return np.array(images)
        for step in range(1000):
            x = load(paths[step])
            model.train_on_batch(x, labels[step])
        """,
        [8],
        "`load(paths[step])` makes a batch on the host on each step",
    ),
    "a method that fills an array": (
        """
        class Data:
            def next_batch(self, n):
                batch = np.zeros((n, 32))
                for i in range(n):
                    batch[i] = self.augment(self.images[i])
                return batch
        data = Data()
        for step in range(1000):
            train_step(data.next_batch(32))
        """,
        [10],
        "make it in `Dataset.map`",
    ),
    "a generator that the loop runs over": (
        """
        def batches():
            for i in range(0, len(images), 32):
                yield np.stack([augment(image) for image in images[i : i + 32]])
        for epoch in range(10):
            for step, x in enumerate(batches()):
                train_step(x)
        """,
        [6],
        "`batches()` makes a batch",
    ),
    "a generator that is driven": (
        """
        def batches():
            while True:
                yield np.stack([augment(image) for image in random.sample(images, 32)])
        source = batches()
        for step in range(1000):
            train_step(next(source))
        """,
        [7],
        "`next(source)` makes a batch",
    ),
    "an object with batches": (
        """
        class Batches(tf.keras.utils.Sequence):
            def __getitem__(self, i):
                return np.array([augment(image) for image in self.images[i * 32 : i * 32 + 32]])
        batches = Batches()
        model.fit(batches, epochs=10)
        """,
        [6],
        "`batches` makes a batch",
    ),
    "an object that has its batches of a base in the file": (
        """
        class Stacking:
            def __getitem__(self, i):
                return np.array([augment(image) for image in self.images[i * 32 : i * 32 + 32]])
        class Batches(Stacking, tf.keras.utils.Sequence):
            pass
        batches = Batches()
        model.fit(batches, epochs=10)
        """,
        [8],
        "`batches` makes a batch",
    ),
    "an object that maps over the samples of a batch": (
        """
        class Batches(tf.keras.utils.Sequence):
            def __getitem__(self, i):
                return tf.map_fn(load, self.paths[i * 32 : i * 32 + 32], fn_output_signature=tf.float32)
        batches = Batches()
        model.fit(batches, epochs=10)
        """,
        [6],
        "`batches` makes a batch",
    ),
    "ops in eager mode, sample by sample": (
        """
        def prepare(image):
            return tf.image.resize(image, (32, 32))
        for start in range(0, len(images), 32):
            x = tf.stack([prepare(image) for image in images[start : start + 32]])
            train_step(x)
        """,
        [5],
        "prepare samples in `Dataset.map`",
    ),
    "a generator of Keras's": (
        """
        augmented = ImageDataGenerator(rotation_range=20)
        model.fit(augmented.flow(x, y, batch_size=32), epochs=10)
        """,
        [2],
        "read and augment images in `Dataset.map`",
    ),
    "samples that are collated": (
        """
        class Loader(tf.keras.utils.Sequence):
            def __getitem__(self, i):
                rows = []
                for j in range(i * self.size, (i + 1) * self.size):
                    rows.append(self.dataset[j])
                return [np.stack(row, axis=0) for row in zip(*rows)]
        def train(loader):
            for x, y in loader:
                train_step(x)
            model.fit(loader)
        train(Loader())
        """,
        [9, 11],
        "`loader` makes a batch on the host",
    ),
    "an array that is filled with what was computed": (
        """
        def batch(n):
            filled = np.zeros((n, 32))
            rows = []
            for i in range(n):
                row = cv2.resize(images[i], (32, 32))
                rows.append(row)
            for i in range(n):
                part = rows[i]
                filled[i] = part[:9]
            return filled
        for step in range(1000):
            train_step(batch(32))
        """,
        [13],
        "make it in `Dataset.map`",
    ),
    "a generator given to fit": (
        """
        def batches():
            while True:
                yield np.stack([augment(image) for image in random.sample(images, 32)])
        source = batches()
        model.fit_generator(source, steps_per_epoch=10)
        """,
        [6],
        "`source` makes a batch",
    ),
    "a generator of Keras's for one kind of data, where it is made; a pipeline for others": (
        """
        def make(kind):
            if kind == "drawings":
                data = ImageDataGenerator(rotation_range=20).flow(images, labels)
            else:
                data = dataset.prefetch(2)
            return data
        def load(kind):
            if kind == "photos":
                return dataset
            return ImageDataGenerator(rotation_range=20).flow(images, labels)
        train = make(kind)
        model.fit(train)
        model.fit(load(kind))
        """,
        [4, 11],
        "`ImageDataGenerator` makes a batch",
    ),
    "generators of Keras's that a helper makes": (
        """
        def make():
            data = ImageDataGenerator(rotation_range=20)
            train = data.flow_from_directory("train")
            return train, data.flow_from_directory("test"), 3
        def infinite():
            for x in make()[0]:
                yield x
        train, test, n = make()
        model.fit(train, validation_data=test)
        model.fit(n)
        """,
        [3],
        "beside it: where a batch takes longer than a step, the device waits; read and augment images in `Dataset.map`",
    ),
    "a generator of Keras's that an object keeps": (
        """
        class Trainer:
            def __init__(self):
                self.data = ImageDataGenerator()
                self.train = self.data.flow(x, y)
            def fit(self):
                model.fit(self.train)
        trainer = Trainer()
        model.fit(trainer.train)
        """,
        [4],
        "read and augment images in `Dataset.map`",
    ),
    "a generator over those of Keras's": (
        """
        def pairs():
            images = ImageDataGenerator().flow_from_directory("images")
            masks = ImageDataGenerator().flow_from_directory("masks")
            for image, mask in zip(images, masks):
                yield image / 255, mask
        model.fit(pairs(), steps_per_epoch=10)
        """,
        [3, 4],
        "read and augment images in `Dataset.map`",
    ),
    "a generator of Keras's with a name": (
        """
        images = tf.keras.preprocessing.image.ImageDataGenerator().flow_from_directory("images")
        model.fit_generator(images)
        """,
        [2],
        "makes a batch",
    ),
    "the generator of Keras's behind what fit is given, which is mended with that of the validation": (
        """
        def make_train():
            augmented = ImageDataGenerator(rotation_range=20)
            return augmented.flow_from_directory("train")
        def make_test():
            plain = ImageDataGenerator()
            return plain.flow_from_directory("test")
        class Trainer:
            def start(self, net):
                train, test = make_train(), make_test()
                threading.Thread(target=self.work, args=(net, train, test)).start()
            def work(self, net, train, test):
                net.fit(train, validation_data=test)
        """,
        [3],
        "`ImageDataGenerator` makes a batch",
    ),
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_it_leaves_alone(source: str) -> None:
    assert flagged("TFP303", _HEAD + dedent(source)) == []


@pytest.mark.parametrize(("source", "rows", "message"), FLAGGED.values(), ids=FLAGGED)
def test_it_flags(source: str, rows: list[int], message: str) -> None:
    found = findings("TFP303", _HEAD + dedent(source))
    assert [finding.start.row for finding in found] == [_ROWS + row for row in rows]
    assert all(message in finding.message for finding in found)


def test_what_keras_makes_beside_the_step_is_a_hint_without_a_figure() -> None:
    source = """
        def batches():
            while True:
                yield np.stack([augment(image) for image in random.sample(images, 32)])
        model.fit(batches(), steps_per_epoch=10)
        """
    (fitted,) = findings("TFP303", _HEAD + dedent(source))
    (looped,) = findings(
        "TFP303",
        _HEAD
        + dedent(
            source.replace(
                "model.fit(batches(), steps_per_epoch=10)", "for x in batches():\n            train_step(x)"
            )
        ),
    )
    assert "in one thread of Keras's beside it" in fitted.message
    assert fitted.minor
    assert "ms" not in fitted.message
    assert "makes a batch on the host on each step" in looped.message
    assert not looped.minor


def test_says_what_a_generator_of_images_is_for_and_in_how_many_threads_it_runs() -> None:
    source = """
        train = ImageDataGenerator(rotation_range=20).flow_from_directory("train")
        test = ImageDataGenerator(rescale=1 / 255).flow_from_directory("test")
        model.fit(train, validation_data=test, workers={})
        """
    for workers, threads in ((1, "one thread of"), (4, "threads of"), ("cpu_count() - 1", "threads of")):
        source_for_all = _HEAD + dedent(source.format(workers))
        (trains,) = findings("TFP303", source_for_all)
        assert f"for each step, in {threads} Keras's" in trains.message
        (validates,) = findings("TFP303", source_for_all.replace("fit(train,", "fit(dataset,"))
        assert f"for each step of the validation, in {threads} Keras's" in validates.message
        assert (trains.minor, validates.minor) == (False, True)


def test_a_batch_for_which_there_may_be_no_ops_needs_several_workers() -> None:
    source = """
        class Trees(tf.keras.utils.Sequence):
            def __getitem__(self, at):
                return np.stack([walk(tree) for tree in self.trees[at : at + 32]])
        model.fit(Trees())
        """
    (finding,) = findings("TFP303", _HEAD + dedent(source))
    assert finding.message.endswith(
        "or where TensorFlow has no ops for it, in a `Sequence` with several workers"
    )
    (finding,) = findings("TFP303", _HEAD + dedent(source.replace("Trees())", "Trees(), workers=4)")))
    assert finding.message.endswith(
        "or where TensorFlow has no ops for it, in a `Sequence` with `use_multiprocessing=True`"
    )


def test_a_step_waits_for_the_batch_where_there_is_no_worker() -> None:
    source = """
        class Trees(tf.keras.utils.Sequence):
            def __getitem__(self, at):
                return np.stack([walk(tree) for tree in self.trees[at : at + 32]])
        model.fit(Trees(), workers=0)
        """
    (finding,) = findings("TFP303", _HEAD + dedent(source))
    assert "`Trees()` makes a batch on the host on each step;" in finding.message
    assert not finding.minor


@pytest.mark.parametrize(
    ("sample", "told"),
    [
        ("tf.image.per_image_standardization(image)", True),
        ("tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(image)), (9, 9))", False),
    ],
)
def test_tells_the_cost_only_of_ops_that_read_no_files(sample: str, told: bool) -> None:
    source = f"for i in range(1000):\n    train_step(tf.stack([{sample} for image in images[i : i + 8]]))\n"
    assert costs_told("TFP303", _HEAD + source) == [told]
