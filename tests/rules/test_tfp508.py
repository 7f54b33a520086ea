"""TFP508 python-in-pipeline."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, flagged

CODE = "TFP508"
PREAMBLE = """\
import random
import cv2
import librosa
import numpy as np
import tensorflow as tf
from features import extract
ds = tf.data.Dataset.from_tensor_slices((x, y))
def standardize(image):
    return ((image - np.mean(image)) / np.std(image)).astype(np.float32)
def use(body):
    return lambda x, y: (tf.numpy_function(body, [x], tf.float32), y)
"""
ROWS_BEFORE = PREAMBLE.count("\n")


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip("\n")


def rows(source: str) -> list[int]:
    """The rows flagged in source below the preamble, counted from 1."""
    return [row - ROWS_BEFORE for row in flagged(CODE, module(source))]


def mapped(body: str) -> str:
    """A pipeline to train on with the function `f` of a few lines in it."""
    return (
        dedent(body).strip("\n") + "\ndef g(x, y):\n"
        "    return tf.numpy_function(f, [x], tf.float32), y  # <-\n"
        "train = ds.shuffle(9).map(g).batch(32)\n"
    )


def generated(body: str) -> str:
    """A pipeline to train on that the generator `f` of a few lines feeds."""
    return (
        dedent(body).strip("\n")
        + "\nd = tf.data.Dataset.from_generator(f, tf.float32)  # <-\nd = d.shuffle(9).batch(32)\n"
    )


SILENT = {
    "images of a format without a decoder, as the list of them says": """
        def read(path):
            return cv2.imread(path.decode()) / 255
        def make(folder):
            paths = [str(path) for path in folder.iterdir() if path.suffix == ".tif"]
            ds = tf.data.Dataset.from_tensor_slices(paths)
            return ds.map(lambda x: tf.numpy_function(read, [x], tf.float32)).shuffle(9).batch(9)
        """,
    "a pipeline from which nothing is taken": """
        def draw():
            while True:
                yield np.random.uniform(size=(9, 9))
        drawn = iter(tf.data.Dataset.from_generator(draw, tf.float32).batch(9).repeat())
        model = tf.keras.Sequential()
        model.fit(ds)
        """,
    "work that a cache keeps": """
        def f(x):
            return x / np.std(x)
        train = ds.map(lambda x, y: (tf.numpy_function(f, [x], tf.float32), y)).cache().shuffle(9).batch(32)
        model = tf.keras.Sequential()
        model.fit(train, validation_data=other, epochs=9)
        """,
    "a function from elsewhere": mapped("f = extract"),
    "a file that TensorFlow does not read": mapped("def f(x):\n    return np.load(x)"),
    "a function that is NumPy's loader": "ds.map(lambda x, y: tf.numpy_function(np.load, [x], tf.float32)).batch(9)",
    "images of another format": mapped("def f(x):\n    return cv2.imread('images/' + x + '.tif')"),
    "an open file": mapped("def f(x):\n    with open(x) as file:\n        return file.read()"),
    "lines of a file of bytes": mapped(
        "def f(x):\n    with open(x, 'rb') as file:\n        return file.readlines()"
    ),
    "lines of what somebody else opened": mapped("def f(x):\n    return camera.readlines()"),
    "a library of which nothing is known": mapped(
        "import librosa\ndef f(x):\n    return librosa.feature.mfcc(y=x)"
    ),
    "a function of another file": mapped(
        "from .volumes import read\ndef f(x):\n    return read(x.numpy())[:4]"
    ),
    "HDF5": mapped("import h5py\ndef f(x):\n    return h5py.File(x)['image'][:]"),
    "an object in a file that speaks of HDF5": generated(
        "def f():\n    while True:\n        yield hdf5_dataset.grab()"
    ),
    "a memory map": mapped("images = np.load('x.npy', mmap_mode='r')\ndef f(i):\n    return images[i]"),
    "a list of sounds": generated(
        "def f():\n    for name in names:\n        yield [s / 2 for s in librosa.load(name)]"
    ),
    "a pipeline that is only evaluated": """
        model = tf.keras.Sequential()
        model.evaluate(ds.map(use(standardize)).shuffle(9).batch(32))
        """,
    "a pipeline to test on": "test_ds = ds.map(lambda x, y: tf.py_function(standardize, [x], 'f')).batch(32)",
    "a pipeline of nobody knows what": "d = ds.map(lambda x, y: tf.py_function(standardize, [x], 'f'))",
    "Python outside a pipeline": "loss = tf.py_function(standardize, [x], tf.float32)",
    "a map of no dataset": "frame.map(lambda x: tf.py_function(standardize, [x], tf.float32)).shuffle(9)",
    "a generator from elsewhere": generated("f = extract"),
    "a generator of a library's data": generated(
        "def f():\n    for p in paths:\n        yield librosa.load(p)"
    ),
    "a generator of rows to test on": """
        def rows_of_test():
            for row in np.zeros((9, 9)):
                yield row
        d = tf.data.Dataset.from_generator(rows_of_test, tf.float32)
        d = d.shuffle(9).batch(3)
        """,
    "a generator of arguments that it reads files by": """
        def f(paths):
            for path in paths:
                yield librosa.load(path)
        d = tf.data.Dataset.from_generator(f, tf.float32, args=(a,)).shuffle(9).batch(3)
        """,
    "a generator of an object of one of two classes, one of which reads files": """
        class One:
            def rows(self):
                for row in np.zeros((9, 9)):
                    yield row
        class Two:
            def rows(self):
                for path in paths:
                    yield librosa.load(path)
        def build(data):
            return tf.data.Dataset.from_generator(data.rows, tf.float32).shuffle(9).batch(3)
        """,
    "a generator of an environment": generated(
        "def f():\n    while True:\n        yield env.step(policy(env.state))"
    ),
    "batches of another library's generator": (
        "d = tf.data.Dataset.from_generator(lambda: loader.flow_from_directory('a'), tf.float32).shuffle(9)"
    ),
    "batches of Keras's own generator that are only evaluated on": """
        from tensorflow.keras.preprocessing.image import ImageDataGenerator
        generator = ImageDataGenerator(rescale=1 / 255.0)
        model = tf.keras.Sequential()
        d = tf.data.Dataset.from_generator(lambda: generator.flow_from_directory("a"), tf.float32)
        model.evaluate(d)
        """,
    "an object that is called, which reads files": """
        class Rows:
            def __call__(self):
                for name in self.names:
                    yield np.load(name)
        d = tf.data.Dataset.from_generator(Rows(), tf.float32).shuffle(9).batch(3)
        """,
    "an object's generator": "d = tf.data.Dataset.from_generator(loader.rows, tf.float32).shuffle(9)",
    "a method that is no dataset's": "d = factory.from_generator(lambda: zip(np.ones(3))).shuffle(9)",
    "a lambda of nothing known": "tf.data.Dataset.from_generator(lambda: rows, tf.int32).batch(2)",
    "a star": "tf.data.Dataset.from_generator(*args).batch(2)\nds.map(*args).batch(3)",
    "arrays of unknown origin where some lie in files": generated(
        "import h5py\ndef f():\n    for i in range(9):\n        yield images[i]"
    ),
    "a reader of another library": mapped("import soundfile\ndef f(x):\n    return soundfile.read(x)[0]"),
    "a reader of nobody knows what": mapped("def f(x):\n    return extract.load_scan(x)"),
    "a method that reads": generated(
        "class A:\n    def read(self):\n        return np.load('a.npy')\na = A()\n"
        "def f():\n    while True:\n        yield a.read()"
    ),
    "an object that a generator goes over, which reads files": """
        class Volumes:
            def __getitem__(self, at):
                return np.load(names[at])
        volumes = Volumes()
        d = tf.data.Dataset.from_generator(lambda: (x for x in volumes), tf.float32)
        d = d.shuffle(9).batch(32)
        """,
}
FLAGGED = {
    "images of a format with a decoder, beside others": """
        def read(path):
            return cv2.imread(path.decode()) / 255
        def make(folder):
            paths = [str(path) for path in folder.iterdir() if path.suffix in (".tif", ".png")]
            ds = tf.data.Dataset.from_tensor_slices(paths)
            return ds.map(lambda x: tf.numpy_function(read, [x], tf.float32)).shuffle(9).batch(9)  # <-
        """,
    "a pipeline of which a function takes elements": """
        def draw():
            while True:
                yield np.random.uniform(size=(9, 9))
        drawn = iter(tf.data.Dataset.from_generator(draw, tf.float32).batch(9).repeat())  # <-
        model = tf.keras.Sequential()
        for step in range(9000):
            model.train_on_batch(next(drawn))
        """,
    "the lines of a text": mapped("""
        def f(x):
            with open(x.decode()) as file:
                rows = file.readlines()
            return np.array([float(row) for row in rows])
        """),
    "an object that a generator goes over": """
        class Windows:
            def __init__(self, waves):
                self.waves = waves
            def __getitem__(self, at):
                start = np.random.randint(9)
                return standardize(self.waves[at][start:start + 100])
        windows = Windows(waves)
        d = tf.data.Dataset.from_generator(lambda: (x for x in windows), tf.float32)  # <-
        d = d.shuffle(9).batch(32)
        """,
    "a variable's value": mapped("""
        def f(x):
            state = tf.Variable(0.0)
            return x / (1.0 + state.read_value())
        """),
    "NumPy": mapped("def f(x):\n    return (x - np.mean(x)) / np.std(x)"),
    "arithmetic alone": mapped("def f(x):\n    return (x / 255.0).astype(np.float32)"),
    "a random flip": mapped(
        "def f(x):\n    if np.random.rand() > 0.5:\n        x = np.fliplr(x)\n    return x"
    ),
    "Python's own dice": mapped("def f(x):\n    k = random.randint(0, 3)\n    return np.rot90(x, k)"),
    "a generator of random numbers": mapped(
        "rng = np.random.default_rng()\ndef f(x):\n    return x + rng.normal(size=x.shape)"
    ),
    "OpenCV's reader": mapped(
        "def f(path):\n    image = cv2.imread(path.decode())\n    return cv2.resize(image, (224, 224)) / 255.0"
    ),
    "a function that calls another": mapped("def f(x):\n    return standardize(x)"),
    "a loop": mapped("def f(x):\n    for _ in range(9):\n        x = x / 2\n    return x"),
    "a comprehension": mapped("def f(x):\n    return np.array([v / 2 for v in x])"),
    "an array of its own that it fills": mapped(
        "def f(x):\n    label = np.zeros(10)\n    label[x] = 1.0\n    label[2:4] += 1.0\n    return label"
    ),
    "a picture that is read, cut and turned": mapped(
        "from PIL import Image\ndef f(path):\n    image = Image.open(path.decode()).convert('RGB')\n"
        "    return np.array(image.resize((64, 64))) / 255.0"
    ),
    "one-hot labels": mapped("def f(y):\n    return np.eye(10)[y]"),
    "an array in memory": mapped("table = np.zeros((9, 3))\ndef f(i):\n    return table[i]"),
    "TensorFlow's ops in Python": mapped("def f(x):\n    return tf.image.resize(x, (32, 32)).numpy()"),
    "a function of NumPy itself": """
        train = ds.map(lambda x, y: tf.numpy_function(np.flip, [x], tf.float32)).batch(32)  # <-
        """,
    "what a library computes, whose functions read no file": mapped("""
        from scipy.ndimage import gaussian_filter
        def f(image):
            return gaussian_filter(cv2.equalizeHist(image), 2.0).astype(np.float32)
        """),
    "a pipeline that `fit` gets": """
        model = tf.keras.Sequential()
        d = ds.map(lambda x, y: (tf.py_function(standardize, [x], tf.float32), y)).batch(32)  # <-
        model.fit(d)
        """,
    "a function within the mapped one": """
        def python(x):
            return tf.numpy_function(standardize, [x], tf.float32)  # <-
        train = ds.map(lambda x, y: (python(x), y)).shuffle(9)
        """,
    "TensorFlow 1's name": """
        train = ds.map(lambda x, y: tf.compat.v1.py_func(standardize, [x], tf.float32)).batch(32)  # <-
        """,
    "a function that is tried out first": """
        def g(x, y):
            return tf.numpy_function(standardize, [x], tf.float32), y  # <-
        few = ds.take(3).map(g)
        for x, y in few.take(1):
            print(x)
        train = ds.map(g).shuffle(9).batch(3)
        """,
    "batches of Keras's own generator": """
        from tensorflow.keras.preprocessing.image import ImageDataGenerator
        generator = ImageDataGenerator(rescale=1 / 255.0)
        model = tf.keras.Sequential()
        model.fit(tf.data.Dataset.from_generator(lambda: generator.flow_from_directory("a"), tf.float32))  # <-
        """,
    "what gives batches of Keras's own generator": """
        from tensorflow.keras.preprocessing.image import ImageDataGenerator
        generator = ImageDataGenerator(rescale=1 / 255.0)
        model = tf.keras.Sequential()
        def batches():
            return generator.flow(x, y, batch_size=32)
        model.fit(tf.data.Dataset.from_generator(batches, (tf.float32, tf.float32)))  # <-
        """,
    "words by their numbers": """
        import tensorflow_datasets as tfds
        from tensorflow.keras.preprocessing import sequence
        encoder = tfds.features.text.TokenTextEncoder(words)
        def encode(text):
            return sequence.pad_sequences([encoder.encode(text.numpy())], maxlen=150)[0]
        train = ds.map(lambda x, y: (tf.py_function(encode, [x], tf.int64), y)).batch(32)  # <-
        """,
    "a generator of what ops draw": generated(
        "def f():\n    while True:\n        x = tf.random.uniform((9,))\n        yield x, tf.reduce_sum(x)"
    ),
    "a generator of lists of single values": generated(
        "paths, labels = [], []\nfor p in sorted(names):\n    paths.append(str(p))\n    labels.append(0)\n"
        "def f():\n    for p, y in zip(paths, labels):\n        yield p, y"
    ),
    "a generator of its arguments": """
        def f(paths, labels):
            for path, label in zip(paths, labels):
                yield path, label
        d = tf.data.Dataset.from_generator(f, (tf.string, tf.int32), args=(a, b)).shuffle(9).batch(3)  # <-
        """,
    "a generator that shuffles its indices": generated(
        "images = np.zeros((9, 28))\ndef f():\n    order = np.arange(len(images))\n    np.random.shuffle(order)\n"
        "    for i in order:\n        yield images[i]"
    ),
    "an object that is called": """
        class Rows:
            def __init__(self, images, labels):
                self.images, self.labels = images, labels
            def __call__(self):
                for i in range(len(self.images)):
                    yield self.images[i], self.labels[i]
        rows = Rows(np.zeros((9, 28)), np.zeros(9))
        d = tf.data.Dataset.from_generator(rows, (tf.float32, tf.float32)).shuffle(9).batch(3)  # <-
        """,
    "an object that is called by another name for its iterator": """
        class Sums:
            def __init__(self, count):
                self.pairs = np.random.permutation(count)
            def __len__(self):
                return self.pairs.size
            def __iter__(self):
                for i in range(self.__len__()):
                    a, b = self.pairs[i] // 10, self.pairs[i] % 10
                    digits = [int(digit) for digit in f"{a}{b}{a + b}"]
                    yield tf.convert_to_tensor(digits[:-1])
            __call__ = __iter__
        d = tf.data.Dataset.from_generator(Sums(100), tf.int32).shuffle(9).batch(3)  # <-
        """,
    "a generator with its arrays": """
        from functools import partial
        tokens = tokenizer(texts, padding=True, return_tensors="tf")
        def f(ids, labels):
            for i, y in zip(ids, labels):
                yield i, y
        rows = partial(f, ids=tokens["input_ids"], labels=np.zeros(9))
        d = tf.data.Dataset.from_generator(rows, (tf.int32, tf.int32)).shuffle(9).batch(3)  # <-
        """,
    "a generator of an object of one of two classes": """
        class One:
            def __init__(self):
                self.images = np.zeros((9, 32, 32))
            def rows(self):
                for i in range(self.images.shape[0]):
                    yield self.images[i]
        class Two(One):
            pass
        class Three:
            def __init__(self):
                self.images = np.ones((9, 32, 32))
            def rows(self):
                for i in range(self.images.shape[0]):
                    yield self.images[i]
        def build(data):
            d = tf.data.Dataset.from_generator(data.rows, tf.float32)  # <-
            return d.shuffle(9).batch(3)
        """,
    "a generator of arrays in memory": generated(
        """
        images, labels = np.zeros((9, 28)), np.zeros(9)
        def f():
            for image, label in zip(images, labels):
                yield image / 255.0, label
        """
    ),
    "a generator that takes rows by an index": generated(
        "images = np.zeros((9, 28))\ndef f():\n    for i in range(len(images)):\n        yield images[i]"
    ),
    "a generator of pairs, and of lists that it fills": generated(
        "xs, ys = np.zeros((9, 28)), np.zeros(9)\ndef f():\n    for pair in zip(xs, ys):\n        parts = []\n"
        "        for i in range(2):\n            parts.append(pair[0][i])\n        yield np.array(parts), pair[1]"
    ),
    "a generator of random numbers for each element": generated(
        "def f():\n    while True:\n        yield np.random.normal(size=(28, 28))"
    ),
    "a generator that reads images": generated(
        "def f():\n    for path, label in zip(paths, labels):\n        yield cv2.imread(path), label"
    ),
    "a lambda that zips arrays": """
        images, labels = np.zeros((9, 28)), np.zeros(9)
        d = tf.data.Dataset.from_generator(lambda: zip(images, labels), (tf.float32, tf.int32)).batch(32)  # <-
        """,
    "a lambda that makes a generator": """
        def rows(images):
            for image in images:
                yield image
        d = tf.data.Dataset.from_generator(lambda: rows(np.zeros((9, 28))), tf.float32).batch(32)  # <-
        """,
    "an attribute that is set": mapped("def f(x):\n    state.count += 1\n    return x"),
    "a list of the program that grows": mapped("def f(x):\n    seen.append(x)\n    return x / 2"),
    "an exception": mapped(
        "def f(x):\n    try:\n        return x / 2\n    except ValueError:\n        return x"
    ),
    "printing": mapped("def f(x):\n    print(x)\n    return x / 2"),
    "a function of NumPy without a twin": mapped("def f(x):\n    return np.unwrap(x)"),
    "a global": mapped("def f(x):\n    global count\n    count = 1\n    return x"),
    "a decorated function": mapped("@extract\ndef f(x):\n    return x / 2"),
    "stars": mapped("def f(*args):\n    return np.stack(*args)"),
    "a generator of lists": generated(
        "data = [[1], [1, 2]]\ndef f():\n    for row in data:\n        yield row"
    ),
    "words by another library's numbers": mapped("def f(text):\n    return tokenizer.encode(text)"),
    "a generator with an open file": generated(
        "def f():\n    for line in open(path):\n        yield float(line)"
    ),
    "a generator whose elements are padded": """
        data = np.zeros((9, 9))
        def f():
            for row in data:
                yield row
        tf.data.Dataset.from_generator(f, tf.float32).padded_batch(32)  # <-
        """,
    "a generator that shuffles what others have, too": generated(
        "images = np.zeros((9, 28))\ndef f():\n    np.random.shuffle(images)\n    for x in images:\n        yield x"
    ),
    "an array of unknown origin": mapped("def f(i):\n    return images[i] / 255.0"),
    "an array changed in place": mapped("def f(x):\n    x[:4] = 0\n    return x"),
    "a loop over what is not in sight": mapped(
        "def f(x):\n    for y in rows:\n        x = x / y\n    return x"
    ),
    "a comprehension that looks letters up": mapped(
        "def f(x):\n    return np.array([numbers[v] for v in x])"
    ),
    "a generator of an array of unknown origin": generated(
        "def f():\n    for i in range(9):\n        yield images[i]"
    ),
    "a generator with what is not known to be arrays": """
        from functools import partial
        tokens = tokenizer(texts)
        def f(ids, labels):
            for i, y in zip(ids, labels):
                yield i, y
        d = tf.data.Dataset.from_generator(partial(f, tokens["input_ids"], np.zeros(9)), tf.int32).shuffle(9).batch(3)  # <-
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert rows(source) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_flags(source: str) -> None:
    marked = [row for row, line in enumerate(dedent(source).strip("\n").split("\n"), 1) if "# <-" in line]
    assert rows(source) == marked != []


MESSAGES = {
    "def f(x):\n    return np.flip(x - np.mean(x), 1) / np.std(x)": (
        "`tf.numpy_function` runs Python for each element, one at a time; "
        "use `tf.reverse`, `tf.reduce_mean`, `tf.math.reduce_std`"
    ),
    "def f(x):\n    return x / 255.0": (
        "`tf.numpy_function` runs Python for each element, one at a time; "
        "TensorFlow's ops can do what it does"
    ),
    "def f(x):\n    return tokenizer.encode(x)": (
        "`tf.numpy_function` runs Python for each element, one at a time; "
        "use it only where TensorFlow has no op, or do the work once, before training"
    ),
}


@pytest.mark.parametrize(("body", "message"), MESSAGES.items())
def test_names_the_ops_that_do_the_same(body: str, message: str) -> None:
    (finding,) = findings(CODE, module(mapped(body)))
    assert finding.message.startswith(message)


_HANDS_ON = "`from_generator` runs Python for each element, only to hand it on; where all are in memory, use "
_SLICES = "`tf.data.Dataset.from_tensor_slices`"
# What a generator does, whether a `map` behind it reads files, and what is said: the message's beginning, and whether it is a hint.
HANDING_ON = {
    "arrays": ("for x in images:\n        yield x", False, _HANDS_ON + _SLICES, False),
    "paths to images": (
        "for s in samples:\n        yield s['path']",
        True,
        f"{_HANDS_ON}{_SLICES} (of ragged tensors, where items differ in length)",
        True,
    ),
    "paths in random order": (
        "random.shuffle(samples)\n    for i in range(len(samples)):\n        yield samples[i - 1]",
        True,
        f"{_HANDS_ON}{_SLICES} (of ragged tensors, where items differ in length), and `shuffle` behind it",
        True,
    ),
    "what it computes": (
        "for x in images:\n        yield x - np.mean(x)",
        True,
        "`from_generator` runs Python for each element, one at a time; use `tf.reduce_mean`",
        False,
    ),
    "what it makes of items": (
        "for s in samples:\n        yield tokenizer.encode(s)",
        False,
        "`from_generator` runs Python for each element, one at a time; "
        "use it only where TensorFlow has no op, or do the work once, before training",
        False,
    ),
    "parts drawn at random": (
        "while True:\n        at = random.randint(0, 9)\n        yield tokenizer.encode(samples[at])",
        False,
        "`from_generator` runs Python for each element, one at a time; "
        "use it only where TensorFlow has no op: `tf.random` draws in `Dataset.map`",
        False,
    ),
}


@pytest.mark.parametrize(("body", "reads", "message", "minor"), HANDING_ON.values(), ids=HANDING_ON)
def test_says_of_a_generator_what_would_do_the_same(
    body: str, reads: bool, message: str, minor: bool
) -> None:
    source = (
        "samples = load()\nimages = np.zeros((9, 3))\ndef read(x):\n    return tf.io.decode_jpeg(tf.io.read_file(x))\n"
    ) + generated(f"def f():\n    {body}")
    if reads:
        source = source.replace("d = d.shuffle(9)", "d = d.map(read).shuffle(9)")
    (finding,) = findings(CODE, module(source))
    assert finding.message.startswith(message)
    assert finding.minor is minor


def test_paths_of_which_a_function_of_another_file_makes_images_are_a_hint() -> None:
    body = "def f():\n    for s in samples:\n        yield s"
    source = "samples = load()\n" + generated(body).replace("tf.float32", "tf.string")
    assert not findings(CODE, module(source))[0].minor
    (finding,) = findings(CODE, module(source.replace("d.shuffle(9)", "d.map(extract).shuffle(9)")))
    assert finding.minor


@pytest.mark.parametrize(("what", "shown"), [("x / 2", True), ("tokenizer.encode(x)", False)])
def test_gives_the_measured_cost_only_of_what_was_measured(what: str, shown: bool) -> None:
    assert costs_told(CODE, module(mapped(f"def f(x):\n    return {what}"))) == [shown]


def test_gives_no_measured_cost_of_a_generator() -> None:
    source = "def f():\n    for x in images:\n        yield x{}\nimages = np.zeros((9, 3))\n"
    told = [costs_told(CODE, module(source.format(what) + generated(""))) for what in ("", " - np.mean(x)")]
    assert told == [[False], [False]]


def test_has_no_fix() -> None:
    (finding,) = findings(CODE, module(mapped("def f(x):\n    return x / 2")))
    assert (finding.fix, finding.note) == (None, None)


def test_says_it_once_where_two_pipelines_share_the_function() -> None:
    source = mapped("def f(x):\n    return x / 2") + "other = ds.map(g).repeat().batch(32)\n"
    assert len(rows(source)) == 1


def test_an_image_gets_the_shape_that_the_next_op_needs() -> None:
    reads = "image = cv2.imread(path.decode())\n    return cv2.resize(image, (224, 224))"
    (finding,) = findings(CODE, PREAMBLE + mapped(f"def f(path):\n    {reads}"))
    assert "use `tf.io.decode_image` with `expand_animations=False`, `tf.image.resize`" in finding.message


# Each with the stages around the `map`.
MEASURED = {
    "NumPy on a sample": ("ds.map(g).batch(32)", "return x - np.mean(x)", True),
    "NumPy on a batch": ("ds.batch(32).map(g)", "return x - np.mean(x)", False),
    "an image that Python reads": ("ds.map(g).batch(32)", "return cv2.imread(x.decode()) / 255.0", False),
}


@pytest.mark.parametrize(("stages", "work", "told"), MEASURED.values(), ids=MEASURED)
def test_tells_the_cost_only_of_what_computes_with_one_sample(stages: str, work: str, told: bool) -> None:
    source = mapped(f"def f(x):\n    {work}").replace("ds.shuffle(9).map(g).batch(32)", stages)
    assert costs_told(CODE, module(source)) == [told]


def test_a_batch_is_called_one() -> None:
    source = mapped("def f(x):\n    return x / 2").replace(
        "ds.shuffle(9).map(g).batch(32)", "ds.batch(32).map(g)"
    )
    (finding,) = findings(CODE, module(source))
    assert finding.message.startswith("`tf.numpy_function` runs Python for each batch, one at a time; ")


UNREAD = {
    "an iterator": "noise = iter(tf.data.Dataset.from_generator(draw, tf.float32).batch(8).repeat())",
    "a dataset": "noise = tf.data.Dataset.from_generator(draw, tf.float32).batch(8).repeat()",
    "what is shown as it is": "noise = tf.data.Dataset.from_generator(draw, tf.float32).batch(8).repeat()\nnoise",
}
DRAW = "def draw():\n    while True:\n        yield np.random.uniform(size=(24, 6))\n"


@pytest.mark.parametrize("made", UNREAD.values(), ids=UNREAD)
def test_a_dataset_of_which_a_program_takes_nothing_runs_nothing(made: str) -> None:
    fit = "\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.fit(x, y)\n"
    assert rows(DRAW + made + fit) == []
    assert rows(DRAW + made + fit + "for x in noise:\n    model.train_on_batch(x, x)\n")


def test_another_file_may_take_the_elements_of_what_a_module_has() -> None:
    assert rows(DRAW + UNREAD["a dataset"])


def test_one_class_of_several_may_be_chosen_elsewhere() -> None:
    source = (
        "class Images:\n    def read(self):\n"
        "        return tf.data.Dataset.from_generator(draw, tf.float32).shuffle(99).batch(8).repeat()\n"
        "def try_it():\n    for x in Images().read():\n        print(x)\n        break\n"
    )
    assert rows(DRAW + source)
