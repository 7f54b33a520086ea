"""TFP304: what is flagged, what is left alone, and what the fix makes of it."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

_HEAD = """\
import json
import os
import cv2
import numpy as np
import pandas as pd
import tensorflow as tf
from PIL import Image
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
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
    "what is written to records": """
        def convert(path):
            sound = tf.io.decode_raw(tf.io.read_file(path), tf.int16)
            return tf.train.Example(features=features(sound))
        paths = tf.data.Dataset.from_tensor_slices(names)
        with tf.io.TFRecordWriter("train.tfrecord") as writer:
            for path in paths:
                writer.write(convert(path).SerializeToString())
        """,
    "each image of a test set, once": """
        test_ids = open("test.txt").read().split()
        for image_id in tqdm(test_ids):
            where = os.path.join("images", image_id + ".jpg")
            model.predict_on_batch(np.asarray(Image.open(where))[None])
        """,
    "two images side by side, each once": """
        def upscale(image):
            return model.predict(np.expand_dims(image, axis=0))
        def compare(small, large):
            for lr, hr in zip(small, large):
                print(np.mean(upscale(cv2.imread(lr)) - cv2.imread(hr)))
        """,
    "what a function reads for a loop over lines": """
        def load(line):
            return cv2.imread(line[0])
        for line in lines:
            model.predict_on_batch(load(line.split())[None])
        """,
    "a file that the loop writes": """
        for step in range(steps):
            table = np.loadtxt("table.txt")
            model.train_on_batch(table, y)
            np.savetxt("table.txt", table + 1)
        """,
    "once, where a generator starts": """
        def batches(path):
            rows = open(path).readlines()
            while True:
                yield rows[:32]
        for x in batches(path):
            train_step(x)
        """,
    "an object whose iterators a loop that only looks goes over": """
        class Photos:
            def __init__(self, paths):
                self.paths = paths
            def __iter__(self):
                return Reader(self.paths)
        class Reader:
            def __init__(self, paths):
                self.paths = list(paths)
            def __next__(self):
                return cv2.imread(self.paths.pop())
        for photo in Photos(paths):
            print(photo.shape)
        for x in dataset:
            train_step(x)
        """,
    "once, where a generator for `fit` starts": """
        def batches(path):
            rows = open(path).readlines()
            while True:
                yield rows[:32]
        model.fit(batches(path), steps_per_epoch=100)
        """,
    "a sequence that is only predicted from": """
        class Photos(tf.keras.utils.Sequence):
            def __getitem__(self, index):
                return cv2.imread(self.paths[index])[None]
        print(model.predict(Photos()))
        """,
    "arrays that are made for `fit`": """
        def load(paths):
            return np.stack([cv2.imread(path) for path in paths])
        model.fit(load(paths), labels)
        """,
    "before the loop": "weights = np.load('weights.npy')\nfor x in dataset:\n    train_step(x, weights)\n",
    "once an epoch": """
        for epoch in range(100):
            weights = np.load(f"weights-{epoch}.npy")
            for x in dataset:
                train_step(x, weights)
            with open("notes.txt") as file:
                print(file.read())
        """,
    "behind a counter": """
        for step, x in enumerate(dataset):
            train_step(x)
            if step % 100 == 0:
                image = cv2.imread("test.png")
        """,
    "behind a condition beside which the step goes on": """
        for x in dataset:
            train_step(x)
            if broken(x):
                print(open("notes.txt").read())
            else:
                print(x)
        """,
    "behind a condition": """
        for x in dataset:
            train_step(x)
            if os.path.exists("stop"):
                print(open("stop").read())
        """,
    "behind a cache": """
        cache = {}
        def load(path):
            if path not in cache:
                cache[path] = np.load(path)
            return cache[path]
        for path in dataset:
            train_step(load(path))
        """,
    "writing": """
        for step, x in enumerate(dataset):
            train_step(x)
            with open("log.txt", "a") as file:
                file.write("step")
            open(path, mode="wb").write(b"")
            np.save("x.npy", x)
        """,
    "a mode that is not in sight": """
        for x in dataset:
            train_step(x)
            open(path, mode).close()
        """,
    "a file that is mapped": """
        for x in dataset:
            train_step(x, np.load("weights.npy", mmap_mode="r"))
        """,
    "functions of a pipeline": """
        def read(path):
            return tf.io.decode_png(tf.io.read_file(path))
        def load(path):
            return np.load(path.numpy())
        images = tf.data.Dataset.list_files("*.png").map(read).map(lambda p: tf.py_function(load, [p], tf.float32))
        for x in images.batch(8):
            train_step(x)
        """,
    "predicting from files": """
        for path in paths:
            image = cv2.imread(path)
            print(model.predict(image[None]))
        """,
    "a read for some steps alone": """
        class Loader:
            def batch(self, path, again):
                if again or self.count == 1:
                    self.count += 1
                    return np.load(path)
                return self.last
        loader = Loader()
        for step in range(1000):
            train_step(loader.batch(paths[step], step > 3))
        """,
    "files in no training": """
        for path in paths:
            images.append(np.asarray(Image.open(path)))
        """,
    "a method of the same name": """
        for x in dataset:
            train_step(x)
            env.open("door")
            agent.load("weights")
            valve.imread(x)
        """,
    "a function of the file's own": """
        def open(path):
            return path
        for x in dataset:
            train_step(x)
            open("door")
        """,
    "odd syntax": """
        for x in dataset:
            train_step(x)
            open(*paths)
            f = lambda: open("x")
            np.load
        """,
}

FLAGGED = {
    "the same array": (
        "weights = np.load('weights.npy')",
        "`np.load` reads the same file on each step; read it once, above the loop",
    ),
    "the same table": ("weights = pd.read_csv(path)", "`pd.read_csv` reads the same file"),
    "the same text": (
        "with open(path) as file:\n        names = json.load(file)",
        "`open` reads the same file",
    ),
    "a text that is not closed": ("names = json.load(open('names.json'))", "`open` reads the same file"),
    "another image": (
        "image = cv2.imread(paths[step])",
        "`cv2.imread` reads a file on each step; read files in a `tf.data` pipeline",
    ),
    "images of a batch": (
        "train_step(np.stack([Image.open(path) for path in paths[step]]))",
        "`Image.open` reads a file",
    ),
    "TensorFlow in eager mode": (
        "image = tf.io.decode_png(tf.io.read_file(paths[step]))",
        "`tf.io.read_file` reads a file",
    ),
    "a file by TensorFlow": (
        "text = tf.io.gfile.GFile(paths[step], 'rb').read()",
        "`tf.io.gfile.GFile` reads a file",
    ),
}

PLACES = {
    "an iterator that otherwise comes to its end": (
        """
        class Photos:
            def __init__(self, paths):
                self.paths, self.count = list(paths), 0
            def __iter__(self):
                return self
            def __next__(self):
                if self.count < len(self.paths):
                    self.count += 1
                    return self.load(self.paths[self.count - 1])
                else:
                    self.count = 0
                    raise StopIteration
            def load(self, path):
                if not path.endswith(".png"):
                    raise ValueError(path)
                else:
                    return cv2.imread(path)
        for x in Photos(paths):
            train_step(x)
        """,
        [18],
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
                return np.stack([cv2.imread(self.paths.pop()) for _ in range(32)])
        for x in Photos(paths):
            train_step(x)
        """,
        [13],
    ),
    "a function that the loop calls": (
        """
        def load(paths):
            images = []
            for path in paths:
                image = cv2.imread(path)
                images.append(image / 255)
            return np.array(images)
        for start in range(0, len(paths), 32):
            model.train_on_batch(load(paths[start : start + 32]), labels[start : start + 32])
        """,
        [5],
    ),
    "reads that the settings choose": (
        """
        class Loader:
            def __init__(self, gray):
                self.gray = gray
            def batch(self, paths):
                for path in paths:
                    if self.gray == 1:
                        image = cv2.imread(path, 0)
                    else:
                        image = cv2.imread(path)
                return image
        loader = Loader(1)
        for start in range(0, len(paths), 32):
            train_step(loader.batch(paths[start : start + 32]))
        """,
        [8],
    ),
    "a generator that the loop drives": (
        """
        def batches():
            while True:
                yield np.stack([np.load(path) for path in random.sample(paths, 32)])
        source = batches()
        for step in range(1000):
            train_step(next(source))
        """,
        [4],
    ),
    "the same file in a loop that predicts": (
        """
        for x in dataset:
            print(model(x) * np.load("scale.npy"))
        """,
        [3],
    ),
    "a generator that `fit` draws from": (
        """
        def picture(path):
            return cv2.imread(path) / 255
        def batches(paths):
            at = 0
            while True:
                images = []
                for i in range(32):
                    images.append(picture(paths[at + i]))
                at += 32
                yield np.array(images), labels
        source = batches(paths)
        model.fit_generator(source, steps_per_epoch=100)
        """,
        [3],
    ),
    "a sequence that `fit` draws from": (
        """
        class Photos(tf.keras.utils.Sequence):
            def __init__(self, paths):
                self.paths = paths
                self.names = open("names.txt").read()
            def __getitem__(self, index):
                return np.stack([cv2.imread(path) for path in self.paths[index]])
        model.fit(x=Photos(paths), epochs=3)
        """,
        [7],
    ),
    "a loop that predicts on files that it draws": (
        """
        for i in range(1000):
            image = cv2.imread(paths[np.random.randint(len(paths))])
            print(model.predict(image[None]))
        """,
        [3],
    ),
    "sessions": (
        """
        with tf.compat.v1.Session() as sess:
            for i in range(1000):
                sess.run([train_op, loss], {x: np.load(paths[i])})
        """,
        [4],
    ),
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_it_leaves_alone(source: str) -> None:
    assert flagged("TFP304", _HEAD + dedent(source)) == []


@pytest.mark.parametrize(("statement", "message"), FLAGGED.values(), ids=FLAGGED)
def test_it_flags(statement: str, message: str) -> None:
    source = _HEAD + f"for step, x in enumerate(dataset):\n    train_step(x)\n    {statement}\n"
    (finding,) = findings("TFP304", source)
    assert finding.message.startswith(message)


def test_what_both_branches_read_is_read_on_each_step() -> None:
    source = """
        def load(path, color):
            if color == "rgb":
                image = cv2.imread(path)
            else:
                image = cv2.imread(path, 0)
            return image
        for step, x in enumerate(dataset):
            train_step(x, load(paths[step], colors[step]))
        """
    assert flagged("TFP304", _HEAD + dedent(source)) == [_ROWS + 4]
    one_alone = source.replace("cv2.imread(path, 0)", "np.zeros((8, 8))")
    assert flagged("TFP304", _HEAD + dedent(one_alone)) == []


@pytest.mark.parametrize(("source", "rows"), PLACES.values(), ids=PLACES)
def test_it_flags_in(source: str, rows: list[int]) -> None:
    assert flagged("TFP304", _HEAD + dedent(source)) == [_ROWS + row for row in rows]


FIXES = {
    "an assignment": (
        """
        for epoch in range(10):
            for x in dataset:
                # What each class weighs
                weights = np.load("weights.npy")  # 10 numbers
                train_step(x, weights * 2, weights[0])
        """,
        """
        # What each class weighs
        weights = np.load("weights.npy")  # 10 numbers
        for epoch in range(10):
            for x in dataset:
                train_step(x, weights * 2, weights[0])
        """,
    ),
    "a part of an expression": (
        """
        for x in dataset:
            train_step(x, np.load(path))
        """,
        """
        content = np.load(path)
        for x in dataset:
            train_step(x, content)
        """,
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES)
def test_the_fix_reads_once(before: str, after: str) -> None:
    source = _HEAD + dedent(before)
    assert all(finding.fix is not None and not finding.fix.safe for finding in findings("TFP304", source))
    assert fixed("TFP304", source) == _HEAD + dedent(after)


REFUSALS = {
    "a loop that writes": (
        "weights = np.load(path)\n    np.save(other, weights)",
        "the loop may write the file",
    ),
    "a read that a setting turns on": (
        'weights = x * np.load("weights.npy") if args.weighted else x',
        "it is read conditionally",
    ),
    "a part that is written to": (
        "weights = np.load(path)\n    weights[0] = 1",
        "`weights` may be changed in the loop",
    ),
    "an array that is shuffled": (
        "weights = np.load(path)\n    np.random.shuffle(weights)",
        "`weights` may be changed in the loop",
    ),
    "an array that is handed on": (
        "weights = np.load(path)\n    update(weights)",
        "`weights` may be changed in the loop",
    ),
    "an array with another name": (
        "weights = np.load(path)\n    alias = weights",
        "`weights` may be changed in the loop",
    ),
    "a view": (
        "weights = np.load(path)\n    part = weights[0]",
        "`weights` may be changed in the loop",
    ),
    "a sum in place": ("weights = np.load(path)\n    weights += 1", "`weights` may be changed in the loop"),
    "a block": ("with open(path) as file:\n        print(file)", "it is read in a block of its own"),
}


@pytest.mark.parametrize(("statements", "reason"), REFUSALS.values(), ids=REFUSALS)
def test_there_is_no_fix_for(statements: str, reason: str) -> None:
    source = _HEAD + f"for step, x in enumerate(dataset):\n    train_step(x)\n    {statements}\n"
    assert notes("TFP304", source)[0].startswith(f"no fix: {reason}")
    assert fixed("TFP304", source) == source


IN_LOOPS = {
    "images that a counter chooses": (
        """
        while running:
            image = cv2.imread(paths[index])  # <-
            model.predict_on_batch(image[None])
        """
    ),
    "images that a loop trains on, one by one": (
        """
        for epoch in range(9):
            for line in lines:
                image = cv2.imread(line.split()[0])  # <-
                model.train_on_batch(image[None], y)
        """
    ),
    "one image for all": (
        """
        for line in lines:
            mask = cv2.imread(background)  # <-
            model.predict_on_batch(np.stack([mask, line]))
        """
    ),
}


@pytest.mark.parametrize("source", IN_LOOPS.values(), ids=IN_LOOPS)
def test_it_flags_what_a_loop_reads_again_or_trains_on(source: str) -> None:
    source = dedent(source).strip("\n")
    marked = [row for row, line in enumerate(source.split("\n"), 1) if "# <-" in line]
    assert [row - _ROWS for row in flagged("TFP304", _HEAD + source)] == marked


MEASURED = {
    "rows = np.loadtxt('rows.txt')": True,
    "rows = np.genfromtxt(path)": True,
    "rows = pd.read_csv(path)": True,
    "rows = pd.read_parquet(path)": False,
    "rows = pd.read_hdf(path)": False,
    "rows = pd.read_pickle(path)": False,
    "rows = pd.read_excel(path)": False,
    "rows = pd.read_json(path)": False,
    "rows = np.load('rows.npy')": False,
    "rows = np.loadtxt(paths[step])": False,
    "rows = pd.read_csv(paths[step])": False,
}


@pytest.mark.parametrize(("statement", "told"), MEASURED.items(), ids=MEASURED)
def test_tells_the_cost_only_of_the_same_text(statement: str, told: bool) -> None:
    source = f"{_HEAD}for step in range(1000):\n    {statement}\n    train_step(rows)\n"
    assert costs_told("TFP304", source) == [told]


FOR_FIT = {
    "a generator": """
        def batches():
            for path in paths:
                rows = np.loadtxt(path)
                yield rows[:, 1:], rows[:, :1]
        model.fit(batches(), steps_per_epoch=10)
        """,
    "a sequence": """
        class Tables(tf.keras.utils.Sequence):
            def __getitem__(self, index):
                rows = read(paths[index])
                return rows[:, 1:], rows[:, :1]
        def read(path):
            return np.loadtxt(path)
        model.fit(Tables(), epochs=3)
        """,
}


@pytest.mark.parametrize("source", FOR_FIT.values(), ids=FOR_FIT)
def test_what_keras_reads_beside_the_step_is_minor_and_has_no_measured_cost(source: str) -> None:
    (finding,) = findings("TFP304", _HEAD + dedent(source))
    assert finding.message.startswith(
        "`np.loadtxt` reads a file for each step, in one thread of Keras's beside it"
    )
    assert finding.minor
    assert costs_told("TFP304", _HEAD + dedent(source)) == [False]


ONE_READ = {
    "a file and what reads it": """
        file = open(paths[step], "rb")
        image = Image.open(file)
        """,
    "what is opened to be read": "image = Image.open(open(paths[step], 'rb'))\n",
    "two images in one statement": "image, mask = cv2.imread(paths[step]), cv2.imread(masks[step])\n",
    "two ways": """
        if grey:
            image = cv2.imread(paths[step], 0)
        else:
            image = cv2.imread(paths[step])
        """,
}


@pytest.mark.parametrize("source", ONE_READ.values(), ids=ONE_READ)
def test_one_read_is_told_once(source: str) -> None:
    loop = "for step in range(9000):\n" + indent(dedent(source).lstrip("\n"), "    ")
    assert len(findings("TFP304", _HEAD + loop + "    train_step(image)\n")) == 1


def test_two_reads_in_two_statements_are_told_twice() -> None:
    source = """
        for step in range(9000):
            image = cv2.imread(paths[step])
            mask = cv2.imread(masks[step])
            train_step(image, mask)
        """
    assert len(findings("TFP304", _HEAD + dedent(source))) == 2


def test_records_that_are_trained_on_as_well_are_read_for_each_step() -> None:
    source = dedent(SILENT["what is written to records"]) + "        model.train_on_batch(convert(path), 1)\n"
    assert len(findings("TFP304", _HEAD + source)) == 1


_SEQUENCE = """
    import pickle
    class Rows(tf.keras.utils.Sequence):
        def __init__(self, paths):
            self.paths = paths
            self.table = "table.csv"
        def __getitem__(self, at):
            {}
    model.fit(Rows(names))
    """


@pytest.mark.parametrize(
    ("body", "remedy"),
    {
        "return pd.read_csv(folder + self.table).iloc[at]": "read it once, in `__init__`",
        "return pd.read_csv(self.paths[at])": "read files in a `tf.data` pipeline",
        "with open(self.paths[at]) as file: return np.array(json.load(file))": "read files in a `tf.data` pipeline",
        "with open(self.paths[at]) as file: return np.array(pickle.load(file))": (
            "no pipeline of `tf.data` reads objects of Python, so store what is made of them once, before training"
        ),
    }.items(),
)
def test_names_a_remedy_that_can_be_followed(body: str, remedy: str) -> None:
    (finding,) = findings("TFP304", _HEAD + dedent(_SEQUENCE.format(body)))
    assert finding.message.split("; ")[-1] == remedy
    assert finding.minor


def test_what_a_loop_reads_as_well_as_keras_is_no_less_for_that() -> None:
    source = dedent(FOR_FIT["a generator"]) + "for rows in batches():\n    train_step(rows)\n"
    (finding,) = findings("TFP304", _HEAD + source)
    assert not finding.minor


_DRAWN = """
    def names(path):
        with open(path) as file:
            return file.read().splitlines()
    def draw(image, path):
        return cv2.putText(image, names(path)[0], (0, 0), 0, 1, 0)
    for x in dataset:
        train_step(x)
        draw(x, {})
    """


@pytest.mark.parametrize(
    ("given", "remedy"),
    {
        "settings.CLASSES": "reads the same file on each step; read it once, above the loop",
        "'classes.txt'": "reads the same file on each step; read it once, above the loop",
        "next(paths)": "reads a file on each step; read files in a `tf.data` pipeline",
    }.items(),
)
def test_tells_a_file_that_all_steps_read_from_one_of_each(given: str, remedy: str) -> None:
    (finding,) = findings("TFP304", _HEAD + dedent(_DRAWN.format(given)))
    assert remedy in finding.message


def test_what_comes_next_of_an_iterator_is_another_file_each_time() -> None:
    source = """
        for step in range(1000):
            path = next(paths)
            raw, image = Image.open(path), np.asarray(Image.open(path))
            train_step(image)
        """
    (finding,) = findings("TFP304", _HEAD + dedent(source))
    assert "; read files in a `tf.data` pipeline" in finding.message


_READ_FOR_FIT = """
    class Tables(tf.keras.utils.Sequence):
        def __init__(self, paths, **more):
            super().__init__({})
            self.paths = paths
        def __getitem__(self, index):
            return np.loadtxt(self.paths[index])
    model.fit(Tables(names){})
    """
_WORKERS = {
    "nothing said": ("", "", "for each step, in one thread of Keras's beside it"),
    "threads": ("", ", workers=4", "for each step, in threads of Keras's beside it"),
    "threads for certain": ("", ", workers=4, use_multiprocessing=False", "in threads of Keras's"),
    "none": ("", ", workers=0", "reads a file on each step"),
    "threads by the class": ("workers=8", "", "for each step, in threads of Keras's beside it"),
    "more of the class": ("**more", "", "for each step, in one thread of Keras's beside it"),
}


@pytest.mark.parametrize(("begun", "fitted", "told"), _WORKERS.values(), ids=_WORKERS)
def test_says_in_how_many_threads_keras_reads(begun: str, fitted: str, told: str) -> None:
    (finding,) = findings("TFP304", _HEAD + dedent(_READ_FOR_FIT.format(begun, fitted)))
    assert told in finding.message
    assert finding.minor == ("Keras" in told)


@pytest.mark.parametrize(
    ("begun", "fitted"),
    [
        ("", ", workers=4, use_multiprocessing=True"),
        ("", ", workers=4, use_multiprocessing=settings['processes']"),
        ("workers=4, use_multiprocessing=True", ""),
    ],
)
def test_what_several_processes_read_is_left_alone(begun: str, fitted: str) -> None:
    assert findings("TFP304", _HEAD + dedent(_READ_FOR_FIT.format(begun, fitted))) == []
