"""TFP505 map-before-batch."""

from __future__ import annotations

import pytest

from tests.rules.support import costs_told, fixed, flagged, notes

PREAMBLE = """\
import tensorflow as tf
import numpy as np
from augment import distort
source = tf.data.Dataset.from_tensor_slices((images, labels))
single = tf.data.Dataset.from_tensor_slices(images)
"""
ROWS_BEFORE = PREAMBLE.count("\n")


def rows(source: str) -> list[int]:
    """The rows flagged in source below the preamble, counted from 1."""
    return [row - ROWS_BEFORE for row in flagged("TFP505", PREAMBLE + source)]


FIT = "\nmodel = tf.keras.Sequential()\nmodel.fit(ds, epochs={})"
SILENT = {
    "what a loop that ends at once looks at": (
        "ds = single.map(lambda x: x / 2.0).batch(3)\nfor x in ds:\n    print(x)\n    break"
    ),
    "what nothing takes elements of": (
        "unused = single.map(lambda x: x / 2.0).batch(3)\nds = single.batch(3)" + FIT.format(9)
    ),
    "work that a cache keeps": "single.map(lambda x: x / 2.0).cache().shuffle(9).batch(3)",
    "work that a cache of batches keeps": "ds = single.map(lambda x: x / 2.0).batch(3).cache().prefetch(1)"
    + FIT.format(9),
    "a method that a derived class defines anew": (
        "class Data:\n    def scale(self, x):\n        return x / 2.0\n    def get(self):\n        return single.map(self.scale).batch(32)\n"
        "class Crops(Data):\n    def scale(self, x):\n        return tf.image.random_crop(x, [8, 8])"
    ),
    "a method that uses a tensor of its object": (
        "class Data:\n    def __init__(self):\n        self.mean = tf.ones((3,))\n    def scale(self, x):\n        return x / self.mean\n"
        "    def get(self):\n        return single.map(self.scale).batch(32)"
    ),
    "a map behind the batch": "source.batch(32).map(lambda x, y: (x / 255.0, y))",
    "decoding": "single.map(lambda x: tf.io.decode_jpeg(x) / 255).batch(32)",
    "resizing": "source.map(lambda x, y: (tf.image.resize(x, (32, 32)) / 255.0, y)).batch(32)",
    "where something is": "single.map(lambda x: tf.where(x > 0.5)).batch(32)",
    "a choice between tensors of other shapes": "source.map(lambda x, y: (tf.where(y > 0, x, 0.0), y)).batch(32)",
    "a layer that computes": "crop = tf.keras.layers.CenterCrop(9, 9)\nsingle.map(lambda x: crop(x)).batch(32)",
    "random ops": "source.map(lambda x, y: (x + tf.random.normal((28, 28)), y)).batch(32)",
    "a reduction": "single.map(lambda x: x / tf.reduce_max(x)).batch(32)",
    "a reshape": "single.map(lambda x: tf.reshape(x, (784,)) / 255.0).batch(32)",
    "a matrix product": "single.map(lambda x: x @ weights).batch(32)",
    "a row of a tensor": "single.map(lambda x: x[0] / 255.0).batch(32)",
    "a shape": "single.map(lambda x: x / x.shape[0]).batch(32)",
    "two tensors whose shapes may differ": "source.map(lambda x, y: (x * y, y)).batch(32)",
    "a statistic of unknown shape": "single.map(lambda x: (x - mean) / 2.0).batch(32)",
    "an array": "m = np.load('m.npy')\nsingle.map(lambda x: x - m).batch(32)",
    "a function from elsewhere": "source.map(distort).batch(32)",
    "a partial of a function": (
        "import functools\ndef f(k, x):\n    return x * 2.0\nsingle.map(functools.partial(f, 1)).batch(32)"
    ),
    "a condition": "def f(x):\n    if flag:\n        x = x / 2.0\n    return x\nsingle.map(f).batch(32)",
    "printing": "def f(x):\n    print(x)\n    return x / 2.0\nsingle.map(f).batch(32)",
    "only structure": "single.map(lambda d: (d['image'], d['label'])).batch(32)",
    "a number in the result": "single.map(lambda x: (x / 255.0, 1.0)).batch(32)",
    "a list, which becomes a tensor": "source.map(lambda x, y: [x / 2.0, y / 2.0]).batch(32)",
    "a one-hot axis in front": "single.map(lambda x: tf.one_hot(x, 10, axis=0)).batch(32)",
    "strings": "single.map(lambda x: tf.strings.lower(x)).batch(32)",
    "a function of another number of arguments": "source.map(lambda x: x / 255.0).batch(32)",
    "another stage between": "single.map(lambda x: x / 2.0).filter(lambda x: x > 1.0).batch(32)",
    "another map between": "single.map(lambda x: x / 2.0).map(distort).batch(32)",
    "a map that only some elements see": (
        "ds = single.map(lambda x: x / 2.0)\nif augment:\n    ds = ds.map(distort)\nds = ds.batch(32)"
    ),
    "padded batches": "single.map(lambda x: x / 2.0).padded_batch(32)",
    "batches of batches": "single.batch(8).map(lambda x: x / 2.0).batch(32)",
    "files that are read one by one": (
        "def load(path):\n    return tf.io.decode_png(tf.io.read_file(path))\n"
        "single.map(load).map(lambda x: x / 2.0).batch(32)"
    ),
    "files that are read one by one, in one of two datasets": (
        "def load(path):\n    return tf.io.decode_png(tf.io.read_file(path))\n"
        "both = tf.data.Dataset.zip((single.map(load), other))\n"
        "both.map(lambda x, y: (x / 2.0, y)).batch(32)"
    ),
    "no dataset": "frame.map(lambda x: x / 2.0).batch(32)",
    "a model of the file": "def f(x):\n    return model(x) / 2.0\nsingle.map(f).batch(32)",
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_a_map_that_may_differ_on_a_batch_is_left_alone(source: str) -> None:
    assert rows(source) == []


FLAGGED = {
    "files that are kept once they are read": (
        "def load(path):\n    return tf.io.decode_png(tf.io.read_file(path))\n"
        "single.map(load).cache().map(lambda x: x / 2.0).batch(32)",
        [3],
    ),
    "what is looked at, and trained on": (
        "ds = single.map(lambda x: x / 2.0).batch(3)\nfor x in ds:\n    print(x)\n    break" + FIT.format(9),
        [1],
    ),
    "a lambda": ("source.map(lambda x, y: (x / 255.0, y)).batch(32)", [1]),
    "a conversion of images": ("single.map(lambda x: tf.image.convert_image_dtype(x, tf.float32)).batch(32)", [1]),
    "a choice by a threshold": ("single.map(lambda x: tf.where(x > 0.5, 1.0, 0.0)).batch(32)", [1]),
    "a layer that scales": ("scale = tf.keras.layers.Rescaling(1 / 255.0)\nsingle.map(lambda x: scale(x)).batch(32)", [2]),
    "a cast": ("single.map(lambda x: tf.cast(x, tf.float32)).batch(32)", [1]),
    "one-hot labels": ("source.map(lambda x, y: (x, tf.one_hot(y, classes))).batch(32)", [1]),
    "a local function": ("def f(x, y):\n    '''Scale.'''\n    x = x / 255.0\n    return x, y\nsource.map(f).batch(32)", [5]),
    "a function that calls another": ("def f(x):\n    return x / 2.0\nsource.map(lambda x, y: (f(x), y)).batch(32)", [3]),
    "a compiled function": ("@tf.function\ndef f(x):\n    return x / 2.0\nsingle.map(f).batch(32)", [4]),
    "a short name": ("f = lambda x: x / 2.0\nsingle.map(f).batch(32)", [2]),
    "a method": (
        "class Data:\n    def scale(self, x):\n        return x / 2.0\n    def get(self):\n        return single.map(self.scale).batch(32)",
        [5],
    ),
    "a static method": (
        "class Data:\n    @staticmethod\n    def scale(x):\n        return x / 2.0\nsingle.map(Data.scale).batch(32)",
        [5],
    ),
    "a number of the object": (
        "class Data:\n    def __init__(self):\n        self.most = 255.0\n    def scale(self, x):\n        return x / self.most\n"
        "    def get(self):\n        return single.map(self.scale).batch(32)",
        [7],
    ),
    "a number with a name": ("SCALE = 255.0\nsingle.map(lambda x: x / SCALE).batch(32)", [2]),
    "augmented assignment": ("def f(x):\n    x /= 2.0\n    return x\nsingle.map(f).batch(32)", [4]),
    "parts of a dictionary": ("single.map(lambda d: {'x': d['x'] / 2.0, 'y': d['y']}).batch(32)", [1]),
    "unary ops": ("single.map(lambda x: tf.math.log(tf.abs(x) + 1e-6)).batch(32)", [1]),
    "binary ops on one tensor": ("single.map(lambda x: tf.maximum(x * x, 0.5) - x).batch(32)", [1]),
    "a keyword": ("single.map(map_func=lambda x: x / 2.0).batch(batch_size=32)", [1]),
    "stages between": ("single.map(lambda x: x / 2.0).shuffle(9).repeat().take(9).skip(1).prefetch(1).batch(3)", [1]),
    "a cache that is read in no second epoch": ("ds = single.map(lambda x: x / 2.0).batch(3).cache()" + FIT.format(1), [1]),
    "a cache that is never complete": ("single.map(lambda x: x / 2.0).repeat().cache().batch(3)", [1]),
    "a cache for who asks for one": (
        "ds = single.map(lambda x: x / 2.0)\nif options.cache:\n    ds = ds.cache()\nds = ds.batch(3)",
        [1],
    ),
    "what goes another way as well": (
        "ds = single.map(lambda x: x / 2.0).batch(3)\nkept = ds.cache()" + FIT.format(9),
        [1],
    ),
    "across assignments": ("ds = single.map(lambda x: x / 2.0)\nds = ds.shuffle(9)\nds = ds.batch(3)", [1]),
    "an annotated parameter": ("def f(ds: tf.data.Dataset):\n    return ds.map(lambda x: x / 2.0).batch(3)", [2]),
    "several in a row, each once": (
        "single.map(lambda x: x / 2.0).map(lambda x: x - 1.0).batch(3)\n",
        [1, 1],
    ),
    "one map in front of two batches, once": ("ds = single.map(lambda x: x / 2.0)\na = ds.batch(3)\nb = ds.batch(4)", [1]),
}  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), FLAGGED.values(), ids=FLAGGED.keys())
def test_an_element_wise_map_in_front_of_a_batch_is_flagged(source: str, expected: list[int]) -> None:
    assert rows(source) == expected


@pytest.mark.parametrize("loop", ["for epoch in range(9):", "while running:"])
@pytest.mark.parametrize(
    ("imports", "dataset", "cast"),
    [
        ("import tensorflow as tf", "tf.data.Dataset", "tf.cast"),
        ("import tensorflow", "tensorflow.data.Dataset", "tensorflow.cast"),
        ("from tensorflow import data, cast", "data.Dataset", "cast"),
        ("from tensorflow import data as d, cast as c", "d.Dataset", "c"),
        ("from tensorflow.data import Dataset\nfrom tensorflow import cast", "Dataset", "cast"),
        ("import tensorflow.data as d\nfrom tensorflow import cast", "d.Dataset", "cast"),
        ("import tensorflow as tf\nDataset = tf.data.Dataset", "Dataset", "tf.cast"),
        ("import tensorflow.compat.v1 as tf", "tf.data.Dataset", "tf.cast"),
        ("import tensorflow.compat.v2 as tf", "tf.data.Dataset", "tf.cast"),
        ("from tensorflow.compat import v1 as tf", "tf.data.Dataset", "tf.cast"),
        ("from tensorflow import *", "data.Dataset", "cast"),
    ],
)
def test_names_are_known_through_every_import_in_every_loop(
    imports: str, dataset: str, cast: str, loop: str
) -> None:
    source = f"{imports}\n{loop}\n    {dataset}.from_tensor_slices(x).map(lambda x: {cast}(x, 'float32')).batch(3)\n"
    assert flagged("TFP505", source) == [source.count("\n")]


HEAD = "import tensorflow as tf\n"
FIXES = {
    "in one line": (
        "ds = tf.data.Dataset.range(9).shuffle(9).map(lambda x: x * 2).repeat().batch(3).prefetch(1)\n",
        "ds = tf.data.Dataset.range(9).shuffle(9).repeat().batch(3).map(lambda x: x * 2).prefetch(1)\n",
    ),
    "one link a line, with comments": (
        """\
ds = (
    tf.data.Dataset.range(9)  # source
    # Scaled.
    .map(lambda x: x * 2)  # twice
    .shuffle(9)  # mixed
    .batch(3)  # batched
    .prefetch(1)
)
""",
        """\
ds = (
    tf.data.Dataset.range(9)  # source
    .shuffle(9)  # mixed
    .batch(3)  # batched
    # Scaled.
    .map(lambda x: x * 2)  # twice
    .prefetch(1)
)
""",
    ),
    "with the closing parenthesis on the last line": (
        "ds = (tf.data.Dataset.range(9)\n      .map(lambda x: x * 2)\n      .batch(3))\n",
        "ds = (tf.data.Dataset.range(9)\n      .batch(3)\n      .map(lambda x: x * 2))\n",
    ),
    "with backslashes": (
        "ds = tf.data.Dataset.range(9) \\\n    .map(lambda x: x * 2) \\\n    .batch(3) \\\n    .prefetch(1)\n",
        "ds = tf.data.Dataset.range(9) \\\n    .batch(3) \\\n    .map(lambda x: x * 2) \\\n    .prefetch(1)\n",
    ),
    "with arguments on several lines": (
        "ds = tf.data.Dataset.range(9).map(\n    lambda x: x * 2,\n    num_parallel_calls=4,\n).batch(3)\n",
        "ds = tf.data.Dataset.range(9).batch(3).map(\n    lambda x: x * 2,\n    num_parallel_calls=4,\n)\n",
    ),
    "statement by statement": (
        "ds = tf.data.Dataset.range(9)\n# Scaled.\nds = ds.map(lambda x: x * 2)  # twice\nds = ds.shuffle(9)\nds = ds.batch(3)\n",
        "ds = tf.data.Dataset.range(9)\nds = ds.shuffle(9)\nds = ds.batch(3)\n# Scaled.\nds = ds.map(lambda x: x * 2)  # twice\n",
    ),
    "from the end of one chain into the next": (
        "ds = tf.data.Dataset.range(9).map(lambda x: x * 2)\nds = ds.shuffle(9).batch(3).prefetch(1)\n",
        "ds = tf.data.Dataset.range(9)\nds = ds.shuffle(9).batch(3).map(lambda x: x * 2).prefetch(1)\n",
    ),
    "from a statement into a chain": (
        "ds = tf.data.Dataset.range(9)\nds = ds.map(lambda x: x * 2)  # twice\nds = ds.batch(3).prefetch(1)\n",
        "ds = tf.data.Dataset.range(9)\n# twice\nds = ds.batch(3).map(lambda x: x * 2).prefetch(1)\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_the_map_moves_directly_behind_the_batch(before: str, after: str) -> None:
    assert fixed("TFP505", HEAD + before) == HEAD + after


def test_of_several_maps_the_last_moves_first_and_their_order_stays() -> None:
    source = HEAD + "ds = tf.data.Dataset.range(9).map(lambda x: x * 2).map(lambda x: x - 1).batch(3)\n"
    twice = HEAD + "ds = tf.data.Dataset.range(9).batch(3).map(lambda x: x * 2).map(lambda x: x - 1)\n"
    assert notes("TFP505", source) == ["no fix: the `map` after it has to move first (line 2)"]
    assert fixed("TFP505", source) == twice


REFUSED = {
    "a dataset that is batched twice": (
        "ds = tf.data.Dataset.range(9).map(lambda x: x * 2)\na = ds.batch(3)\nb = ds.batch(4)\n",
        "no fix: the mapped dataset is used in several places",
    ),
    "a dataset of another name": (
        "a = tf.data.Dataset.range(9).map(lambda x: x * 2)\nb = a.batch(3)\n",
        "no fix: the two are too far apart",
    ),
    "a condition between": (
        "ds = tf.data.Dataset.range(9).map(lambda x: x * 2)\nif mix:\n    ds = ds.shuffle(9)\nds = ds.batch(3)\n",
        "no fix: the mapped dataset is used in several places",
    ),
    "a use between": (
        "ds = tf.data.Dataset.range(9).map(lambda x: x * 2)\nprint(ds)\nds = ds.batch(3)\n",
        "no fix: the two are too far apart",
    ),
    "a comment that would move to another link": (
        "ds = (tf.data.Dataset.range(9)  # source\n      .map(lambda x: x * 2)  # twice\n      .batch(3))\n",
        "no fix: there is a comment after it (line 2)",
    ),
}


@pytest.mark.parametrize(("source", "note"), REFUSED.values(), ids=REFUSED.keys())
def test_the_fix_is_refused_where_the_map_has_no_single_way_to_the_batch(source: str, note: str) -> None:
    assert notes("TFP505", HEAD + source) == [note]
    assert fixed("TFP505", HEAD + source) == HEAD + source


@pytest.mark.parametrize(("method", "told"), [("fit", True), ("predict", False), ("evaluate", False)])
def test_tells_the_cost_only_of_training(method: str, told: bool) -> None:
    source = f"model = tf.keras.Sequential()\nmodel.{method}(single.map(lambda x: x / 2.0).batch(3))\n"
    assert costs_told("TFP505", PREAMBLE + source) == [told]
