"""TFP503 sequential-map."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes
from tflint_perf.config.settings import Settings
from tflint_perf.lint.fix import fix_source
from tflint_perf.text.source import Source

CODE = "TFP503"
PREAMBLE = """\
import tensorflow as tf
import numpy as np
import functools, random
from augment import distort
source = tf.data.Dataset.from_tensor_slices((images, labels))
single = tf.data.Dataset.from_tensor_slices(images)
table = tf.lookup.StaticHashTable(initializer, default_value=0)
"""
ROWS_BEFORE = PREAMBLE.count("\n")
OFF = "options = tf.data.Options()\noptions.{switch} = False\n"


def rows(source: str) -> list[int]:
    """The rows flagged in source below the preamble, counted from 1."""
    return [row - ROWS_BEFORE for row in flagged(CODE, PREAMBLE + source)]


SILENT = {
    "draws that go together by one seed": (
        "class Augment(tf.keras.layers.Layer):\n    def __init__(self, seed):\n        super().__init__()\n"
        "        self.flip_image = tf.keras.layers.RandomFlip(seed=seed)\n"
        "        self.flip_mask = tf.keras.layers.RandomFlip(seed=seed)\n"
        "    def call(self, image, mask):\n        return self.flip_image(image), self.flip_mask(mask)\n"
        "source.map(Augment(1))"
    ),
    "draws of a function that go together by one seed": (
        "def augment(image, mask):\n    flip = tf.image.random_flip_left_right\n"
        "    return tf.image.random_flip_left_right(image, seed=1), tf.image.random_flip_left_right(mask, seed=1)\n"
        "source.map(augment)"
    ),
    "what is made one tensor": "words = single.map(lambda x: table.lookup(x)).batch(9999).get_single_element()",
    "what a function makes one tensor": (
        "def read(rows):\n    return rows.batch(9999).get_single_element()\n"
        "words = single.map(lambda x: table.lookup(x)).apply(read)"
    ),
    "what is looked at, and no more": "ds = single.map(distort).batch(32)\nfor x in ds.take(1):\n    show(x)",
    "an iterator by a name, from which one batch is taken": "ds = single.map(distort).batch(32)\nit = iter(ds)\nshow(next(it))",
    "work that a cache keeps": (
        "ds = single.map(distort).batch(32).cache().prefetch(1)\nmodel = tf.keras.Sequential()\nmodel.fit(ds, epochs=9)"
    ),
    "work that a cache keeps, for loops of the file's own": (
        "ds = single.map(distort).cache().batch(32)\nmodel = tf.keras.Sequential()\n"
        "for epoch in range(9):\n    for x, y in ds:\n        model.train_on_batch(x, y)"
    ),
    "parallel calls": "single.map(distort, num_parallel_calls=tf.data.AUTOTUNE)",
    "parallel calls by position": "single.map(distort, 4)",
    "one call at a time on purpose": "single.map(distort, num_parallel_calls=1)",
    "arguments that are not in sight": "single.map(distort, **options)\nsingle.map(*arguments)",
    "arithmetic": "single.map(lambda x: x / 255.0)",
    "decoding": "def load(name):\n    return tf.io.decode_jpeg(tf.io.read_file(name), channels=3)\nsingle.map(load)",
    "parsing": "single.map(lambda r: tf.io.parse_single_example(r, spec))",
    "structure": "single.map(lambda d: (d['image'], d['label']))",
    "an op by its name": "single.map(tf.io.decode_png)",
    "stateless random ops": "source.map(lambda x, y: (tf.image.stateless_random_flip_left_right(x, (y, 1)), y))",
    "a condition": "def f(x):\n    if tf.rank(x) == 3:\n        x = tf.image.rgb_to_grayscale(x)\n    return x\nsingle.map(f)",
    "functions that are handed on": "single.map(lambda x: tf.cond(flag, lambda: tf.abs(x), lambda: x))",
    "assertions": "def f(x):\n    tf.debugging.assert_rank(x, 3)\n    return x\nsingle.map(f)",
    "methods of tensors": "def f(x):\n    x = tf.strings.split(x).to_tensor()\n    x.set_shape((None,))\n    return x\nsingle.map(f)",
    "what happens when it is traced": "def f(x):\n    print('tracing', x.shape)\n    y = random.random()\n    return x * y\nsingle.map(f)",
    "arithmetic of the file's own": "def half(x):\n    return x / 2\nsingle.map(lambda x: half(x))",
    "settings from elsewhere": "from config import size\nsingle.map(lambda x: tf.image.resize(x, size()))",
    "a stateless layer": "single.map(tf.keras.layers.Rescaling(1 / 255))",
    "a partial of a known function": "def f(k, x):\n    return x * k\nsingle.map(functools.partial(f, 2))",
    "one of two functions, by what was asked for": (
        "def f(x):\n    x.set_shape((4,))\n    return x\ndef g(x):\n    return x / 2\n"
        "if windowed:\n    shape = f\nelse:\n    shape = g\nsingle.map(shape)"
    ),
    "a compiled function": "@tf.function\ndef f(x):\n    return x / 2\nsingle.map(f)",
    "a factory that is told not to draw": (
        "def make(size, training=True):\n    def f(x):\n        if training:\n            x = tf.image.random_brightness(x, 0.1)\n"
        "        return tf.image.resize(x, size)\n    return f\n"
        "single.map(make(9, training=False))\nparse = make(9, False)\nsingle.map(parse)"
    ),
    "functions that are told not to draw": (
        "def draw(x, on):\n    return tf.image.random_brightness(x, 0.1) if on else x\n"
        "def f(x, training=False):\n    return draw(tf.image.resize(x, 9), on=training)\n"
        "single.map(lambda x: draw(x, False))\nsingle.map(lambda x: f(x, training=False))\nsingle.map(f)\n"
        "single.map(functools.partial(draw, on=False))"
    ),
    "a factory": "def make(k):\n    def f(x):\n        return x * k\n    return f\nsingle.map(make(2))",
    "a method": (
        "class Data:\n    def parse(self, x):\n        return x / self.scale\n    def load(self):\n"
        "        return tf.data.Dataset.from_tensor_slices(self.x).map(self.parse)"
    ),
    "Python code that makes records to be written": (
        "records = single.map(lambda x: tf.py_function(serialize, [x], tf.string))\nwriter.write(records)\n"
        "def f(x):\n    return tf.numpy_function(serialize, [x], tf.string)\nwriter.write(single.map(f))"
    ),
    "functions from elsewhere that bring elements into shape": (
        "from records import Reader, decode, parse_example\nsingle.map(decode)\nsingle.map(parse_example)\n"
        "single.map(Reader().to_pair)\nsingle.map(lambda x: decode(x))\n"
        "from records import ParseExample, Pair\nsingle.map(ParseExample(spec))\nsingle.map(lambda x: Pair(x, x))"
    ),
    "a function that it picks itself": "def f(x):\n    scale = {'a': tf.abs}[mode]\n    return scale(x)\nsingle.map(f)",
    "a map inside another stage's function": (
        "tf.data.Dataset.list_files('*').interleave(\n"
        "    lambda f: tf.data.TFRecordDataset(f).map(distort), num_parallel_calls=4\n)"
    ),
    "a data frame": "import pandas as pd\npd.read_csv('a.csv').map(distort)",
    "a pool": "from multiprocessing import Pool\nPool().map(distort, files)",
    "something unknown": "loader.map(distort)",
    "the builtin": "list(map(distort, files))",
    "no arguments": "single.map()",
    "options that keep it on": OFF.format(switch="experimental_optimization.map_fusion")
    + "single.map(lambda x: tf.image.resize(x, (9, 9))).with_options(options)",
    "options of another pipeline": OFF.format(switch="autotune.enabled")
    + "single.map(lambda x: tf.image.resize(x, (9, 9)))\nsource.with_options(options)",
    "a cast of whole batches where it is off": OFF.format(switch="autotune.enabled")
    + "single.batch(32).map(lambda x: tf.cast(x, tf.float32)).with_options(options)",
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_a_map_that_runs_in_parallel_anyway_or_is_not_known_is_left_alone(source: str) -> None:
    assert rows(source) == []


FLAGGED = {
    "one of two functions, of which one draws": (
        "def f(x):\n    return x / 2\nif augments:\n    prepare = tf.image.random_flip_left_right\nelse:\n    prepare = f\n"
        "single.map(prepare)",
        [7],
    ),
    "what only a dataset can be, whoever made it": (
        "from records import load\nds = load()\nds = ds.map(decode, num_parallel_calls=4)\n"
        "if noisy:\n    ds = ds.map(lambda x: x + tf.random.normal([3]))",
        [5],
    ),
    "a look at what is kept, too": (
        "ds = single.map(distort).batch(32)\nfor x in ds.take(1):\n    show(x)\nparts = [ds]",
        [1],
    ),
    "Python code that makes what is tested on": (
        "model = tf.keras.Sequential()\n"
        "data = single.map(lambda x: tf.py_function(distort, [x], tf.float32)).batch(9)\nmodel.evaluate(data)",
        [2],
    ),
    "a function from elsewhere": ("single.map(distort)", [1]),
    "a method that classes derived from this one define": (
        "class Data:\n    def parse(self, record):\n        raise NotImplementedError\n"
        "    def make(self):\n        return single.map(self.parse)",
        [5],
    ),
    "a name that nothing binds": ("single.map(preprocess_function)", [1]),
    "by keyword": ("single.map(map_func=distort)", [1]),
    "in a chain": ("single.shuffle(9).map(distort).batch(32).prefetch(1)", [1]),
    "across assignments": ("ds = single.shuffle(9)\nds = ds.map(distort)", [2]),
    "an annotated parameter": ("def f(ds: tf.data.Dataset):\n    return ds.map(distort)", [2]),
    "a parameter": ("def f(fn):\n    return single.map(fn)", [2]),
    "a partial of a function from elsewhere": ("single.map(functools.partial(distort, 2))", [1]),
    "a factory from elsewhere": ("from augment import make\nsingle.map(make(2))", [2]),
    "a function that calls one from elsewhere": ("single.map(lambda x: distort(x, 3))", [1]),
    "a method of an object from elsewhere": ("from augment import Pipe\npipe = Pipe()\nsingle.map(lambda x: pipe.run(x))", [3]),
    "a method of a base from elsewhere": (
        "from augment import Base\nclass Data(Base):\n    def load(self):\n        return single.map(self.prepare)",
        [4],
    ),
    "random ops": ("source.map(lambda x, y: (tf.image.random_flip_left_right(x), y))", [1]),
    "random noise": ("def f(x):\n    return x + tf.random.normal(tf.shape(x))\nsingle.map(f)", [3]),
    "random ops in a function that is handed on": ("single.map(lambda x: tf.cond(flag, lambda: tf.random.normal((3,)), lambda: x))", [1]),
    "random ops in a function that it calls": (
        "def jitter(x):\n    return tf.image.random_hue(x, 0.1)\ndef f(x, y):\n    return jitter(x), y\nsource.map(f)",
        [5],
    ),
    "a factory that is told to draw": (
        "def make(training=False):\n    def f(x):\n        if training:\n            x = tf.image.random_hue(x, 0.1)\n        return x\n"
        "    return f\nsingle.map(make(training=True))\nsingle.map(make(flag))",
        [7, 8],
    ),
    "a function that is told to draw": (
        "def f(x, training=False):\n    if not training:\n        return x\n    else:\n        return tf.image.random_hue(x, 0.1)\n"
        "single.map(lambda x: f(x, True))\nsingle.map(functools.partial(f, training=True))",
        [6, 7],
    ),
    "a random layer": ("flip = tf.keras.layers.RandomFlip()\nsource.map(lambda x, y: (flip(x, training=True), y))", [2]),
    "random layers of a list": (
        "class Augment(tf.keras.layers.Layer):\n    def __init__(self):\n        super().__init__()\n"
        "        self.ways = [tf.keras.layers.RandomFlip(), tf.keras.layers.RandomZoom(0.2)]\n"
        "    def call(self, x):\n        for way in self.ways:\n            x = way(x)\n        return x\n"
        "source.map(Augment())",
        [9],
    ),
    "a table": ("single.map(lambda x: table.lookup(x))", [1]),
    "a table by the type of a parameter": (
        "def load(words: tf.lookup.StaticHashTable):\n    def to_ids(x):\n        return words.lookup(x)\n"
        "    return single.map(to_ids)",
        [4],
    ),
    "a table of a method": (
        "class Data:\n    def __init__(self):\n        self.table = tf.lookup.StaticHashTable(initializer, 0)\n"
        "    def load(self):\n        return single.map(lambda x: self.table.lookup(x))",
        [5],
    ),
    "a vectorizing layer": ("words = tf.keras.layers.TextVectorization()\nsource.map(lambda x, y: (words(x), y))", [2]),
    "printing each time": ("def f(x):\n    tf.print(x)\n    return x\nsingle.map(f)", [4]),
    "Python code that makes batches": (
        "def f(x):\n    return tf.numpy_function(distort, [x], tf.float32)\n"
        "batches = single.map(f).padded_batch(32, (None,))",
        [3],
    ),
    "Python code that makes what is trained on": (
        "model = tf.keras.Sequential()\nmodel.fit(single.batch(9).map(lambda x: tf.py_function(distort, [x], tf.float32)))",
        [2],
    ),
    "a counter": ("n = tf.Variable(0)\ndef f(x):\n    n.assign_add(1)\n    return x\nsingle.map(f)", [5]),
    "a class that makes datasets": (
        "class Images(tf.data.Dataset):\n    def __new__(cls, names):\n"
        "        return tf.data.Dataset.from_tensor_slices(names)\nImages(names).map(distort)",
        [4],
    ),
    "in a for": ("for epoch in range(9):\n    ds = single.map(distort)", [2]),
    "in a while": ("while True:\n    ds = single.map(distort)", [2]),
    "automatic parallelization off": (
        OFF.format(switch="experimental_optimization.map_parallelization")
        + "single.map(lambda x: tf.image.resize(x, (9, 9))).with_options(options)",
        [3],
    ),
    "tuning off": (OFF.format(switch="autotune.enabled") + "ds = single.map(lambda x: tf.image.resize(x, (9, 9)))\n"
                   "ds = ds.batch(3).with_options(options)", [3]),
    "all optimizations off": (
        "def f():\n    options = tf.data.Options()\n    options.experimental_optimization.apply_default_optimizations = False\n"
        "    return single.with_options(options).map(lambda x: tf.io.decode_png(x)).with_options(options)",
        [4],
    ),
    "arithmetic on single elements where it is off": (
        OFF.format(switch="autotune.enabled") + "single.map(lambda x: x / 255.0).with_options(options)",
        [3],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), FLAGGED.values(), ids=FLAGGED.keys())
def test_a_map_of_one_element_at_a_time_is_flagged(source: str, expected: list[int]) -> None:
    assert rows(source) == expected


@pytest.mark.parametrize("loop", ["for epoch in range(9):", "while running:"])
@pytest.mark.parametrize(
    ("imports", "dataset"),
    [
        ("import tensorflow as tf", "tf.data.Dataset"),
        ("import tensorflow", "tensorflow.data.Dataset"),
        ("from tensorflow import data", "data.Dataset"),
        ("from tensorflow.data import Dataset", "Dataset"),
        ("from tensorflow.data import Dataset as D", "D"),
        ("import tensorflow.data as data", "data.Dataset"),
        ("import tensorflow.compat.v1 as tf", "tf.data.Dataset"),
        ("import tensorflow.compat.v2 as tf", "tf.data.Dataset"),
        ("from tensorflow.compat import v1 as tf", "tf.data.Dataset"),
        ("from tensorflow import *", "data.Dataset"),
    ],
)
def test_datasets_are_known_through_every_import_in_every_loop(imports: str, dataset: str, loop: str) -> None:
    source = f"{imports}\nfrom augment import distort\n{loop}\n    {dataset}.range(9).map(distort).batch(3)\n"
    assert flagged(CODE, source) == [4]


WHY = {
    "single.map(distort)": "`distort` can't be seen here: unless it is stateless, this `map` gets one element at a time",
    "single.map(lambda x: table.lookup(x))": "its function is stateful, and TensorFlow gives such a `map` one element at a time",
    "single.batch(9).map(lambda x: table.lookup(x))": "its function is stateful, and TensorFlow gives such a `map` one batch at a time",
    "single.map(tf.image.random_crop)": "its function draws random numbers, and TensorFlow gives such a `map` one element at a time",
    OFF.format(switch="autotune.enabled")
    + "single.map(lambda x: tf.io.decode_png(x)).with_options(options)": (
        "automatic parallelization is off for this pipeline, so this `map` gets one element at a time"
    ),
}


@pytest.mark.parametrize(("source", "why"), WHY.items())
def test_the_finding_says_why(source: str, why: str) -> None:
    (finding,) = findings(CODE, PREAMBLE + source)
    assert finding.message.startswith(f"{why}; add `num_parallel_calls=tf.data.AUTOTUNE`")


HEAD = "import tensorflow as tf\nfrom augment import distort\nds = tf.data.Dataset.range(9)\n"
FIXES = {
    "in one line": (
        "ds = ds.map(distort).batch(3)\n",
        "ds = ds.map(distort, num_parallel_calls=tf.data.AUTOTUNE).batch(3)\n",
    ),
    "behind a lambda": (
        "ds = ds.map(lambda x: distort(x, 3))\n",
        "ds = ds.map(lambda x: distort(x, 3), num_parallel_calls=tf.data.AUTOTUNE)\n",
    ),
    "behind a lambda in parentheses": (
        "ds = ds.map((lambda x: distort(x, 3)))\n",
        "ds = ds.map((lambda x: distort(x, 3)), num_parallel_calls=tf.data.AUTOTUNE)\n",
    ),
    "on a line of its own": (
        "ds = ds.map(\n    lambda x: distort(x, 3)\n)\n",
        "ds = ds.map(\n    lambda x: distort(x, 3),\n    num_parallel_calls=tf.data.AUTOTUNE\n)\n",
    ),
    "behind a comma": (
        "ds = ds.map(\n    distort,\n)\n",
        "ds = ds.map(\n    distort,\n    num_parallel_calls=tf.data.AUTOTUNE,\n)\n",
    ),
    "behind a comma and a comment": (
        "ds = ds.map(\n    distort,  # a little\n)\n",
        "ds = ds.map(\n    distort,  # a little\n    num_parallel_calls=tf.data.AUTOTUNE,\n)\n",
    ),
    "behind a comment": (
        "ds = ds.map(\n    distort  # a little\n)\n",
        "ds = ds.map(\n    distort,  # a little\n    num_parallel_calls=tf.data.AUTOTUNE\n)\n",
    ),
    "behind another argument": (
        "ds = ds.map(distort, name='d')\n",
        "ds = ds.map(distort, name='d', num_parallel_calls=tf.data.AUTOTUNE)\n",
    ),
    "a lambda of several lines": (
        "ds = ds.map(lambda x: (\n    distort(x)\n))\n",
        "ds = ds.map(lambda x: (\n    distort(x)\n), num_parallel_calls=tf.data.AUTOTUNE)\n",
    ),
    "by the file's own name": (
        "AUTO = tf.data.AUTOTUNE\nds = ds.map(distort)\n",
        "AUTO = tf.data.AUTOTUNE\nds = ds.map(distort, num_parallel_calls=AUTO)\n",
    ),
    "not by a name that comes later": (
        "ds = ds.map(distort)\nAUTO = tf.data.AUTOTUNE\n",
        "ds = ds.map(distort, num_parallel_calls=tf.data.AUTOTUNE)\nAUTO = tf.data.AUTOTUNE\n",
    ),
    "as the file says it elsewhere": (
        "ds = ds.map(distort).prefetch(tf.data.experimental.AUTOTUNE)\n",
        "ds = ds.map(\n    distort,\n    num_parallel_calls=tf.data.experimental.AUTOTUNE,\n)"
        ".prefetch(tf.data.experimental.AUTOTUNE)\n",
    ),
    "on the line of the others, where that gets too long": (
        "ds2 = ds.map(\n    lambda image: distort(image), name='distortion, of each'\n)\n",
        "ds2 = ds.map(\n    lambda image: distort(image),\n    name='distortion, of each',\n"
        "    num_parallel_calls=tf.data.AUTOTUNE,\n)\n",
    ),
    "with a comment on that line": (
        "ds2 = ds.map(lambda image: distort(image), name='distortion')  # of each, in no order that matters\n",
        "ds2 = ds.map(\n    lambda image: distort(image),\n    name='distortion',\n    num_parallel_calls=tf.data.AUTOTUNE,\n"
        ")  # of each, in no order that matters\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_the_argument_comes_last(before: str, after: str) -> None:
    assert fixed(CODE, HEAD + before) == HEAD + after


@pytest.mark.parametrize("after", [after for _, after in FIXES.values()], ids=FIXES.keys())
def test_what_was_fixed_is_left_alone(after: str) -> None:
    assert flagged(CODE, HEAD + after) == []


def test_code_for_tensorflow_1_gets_the_name_that_it_has_there() -> None:
    source = (
        "import tensorflow as tf\nfrom augment import distort\nds = tf.data.Dataset.range(9).map(distort)\n"
        "x = ds.make_one_shot_iterator().get_next()\nwith tf.Session() as sess:\n    sess.run(x)\n"
    )
    added = "map(\n    distort,\n    num_parallel_calls=tf.data.experimental.AUTOTUNE,\n)\n"
    assert added in fixed(CODE, source)


SAFE = {
    "a function from elsewhere": ("single.map(distort)", False),
    "random ops": ("single.map(tf.image.random_crop)", False),
    "a table": ("single.map(lambda x: table.lookup(x))", False),
    "a function that is stateless by its name": (
        "from records import decode\n"
        + OFF.format(switch="autotune.enabled")
        + "single.map(decode).with_options(options)",
        False,
    ),
    "a stateless function": (
        OFF.format(switch="autotune.enabled")
        + "single.map(lambda x: tf.io.decode_png(x)).with_options(options)",
        True,
    ),
}


@pytest.mark.parametrize(("source", "safe"), SAFE.values(), ids=SAFE.keys())
def test_the_fix_is_safe_for_a_stateless_function_only(source: str, safe: bool) -> None:
    (finding,) = findings(CODE, PREAMBLE + source)
    assert finding.fix is not None
    assert finding.fix.safe is safe
    assert notes(CODE, PREAMBLE + source) == []


def test_a_map_that_belongs_behind_the_batch_is_moved_there_and_left_at_that() -> None:
    source = (
        "import tensorflow as tf\n"
        + OFF.format(switch="autotune.enabled")
        + "ds = tf.data.Dataset.range(9)\nds = ds.map(lambda x: x / 9){}.with_options(options)\n"
    )
    rules = frozenset({CODE, "TFP505"})
    settings = Settings(root=Path(), rules=rules, fixable=rules, fix="apply", unsafe_fixes=True)
    done = fix_source(Source.from_bytes(source.format(".batch(3)").encode(), "example.py"), settings)
    assert [finding.code for finding in done.applied] == ["TFP505"]
    assert "ds.batch(3).map(lambda x: x / 9).with_options(options)" in done.source.text
    assert done.remaining == ()


PYTHON = """\
{imports}
def work(x):
    {work}
def f(x):
    y = tf.py_function(work, [x], tf.float32)
    y.set_shape((3,))
    return y
batches = single.map({mapped}).batch(32)
"""
# Code that holds the lock, and what lets go of it.
LOCKED = {
    "a look-up in texts": ("import json", "return json.loads(x.numpy().decode())['a']"),
    "a look-up in a dict": ("ids = {'a': 1}", "return [ids.get(word, 0) for word in x.numpy().split()]"),
    "regular expressions": ("import re", "return len(re.findall('a', x.numpy().decode())) + 1"),
    "code that is a text": ("", "return eval(x.numpy().decode())"),
    "a function that it calls": ("def parse(text):\n    return float(text)", "return parse(x.numpy())"),
}
FREE = {
    "NumPy": ("", "return np.fft.fft(x)"),
    "arithmetic on what it is given": ("", "return x / 255.0"),
    "ops": ("", "return tf.reduce_mean(x)"),
    "a file": ("import json", "return json.load(open(x.numpy().decode()))"),
    "an image": ("from PIL import Image", "return Image.open(x.numpy().decode())"),
    "a library that is not known": ("import tok", "return tok.encode(x)"),
    "a method that is not known": ("from other import tokenizer", "return tokenizer.encode(x)"),
    "a wait": ("import time", "return time.sleep(1)"),
}


@pytest.mark.parametrize(("imports", "work"), LOCKED.values(), ids=LOCKED)
def test_python_code_that_holds_the_lock_gains_nothing_in_parallel(imports: str, work: str) -> None:
    for mapped in ("f", "lambda x: tf.py_function(work, [x], tf.float32)"):
        assert rows(PYTHON.format(imports=imports, work=work, mapped=mapped)) == []


@pytest.mark.parametrize(("imports", "work"), FREE.values(), ids=FREE)
def test_python_code_that_lets_go_of_the_lock_is_flagged_without_a_measured_cost(
    imports: str, work: str
) -> None:
    source = PREAMBLE + PYTHON.format(imports=imports, work=work, mapped="f")
    assert costs_told(CODE, source) == [False]


def test_arithmetic_beside_python_code_that_holds_the_lock_is_no_work() -> None:
    imports, work = LOCKED["a look-up in a dict"]
    mapped = "lambda x: tf.clip_by_value(f(x), 0.0, tf.maximum(x, 1.0))"
    assert rows(PYTHON.format(imports=imports, work=work, mapped=mapped)) == []


def test_ops_beside_python_code_that_holds_the_lock_run_in_parallel() -> None:
    mapped = "lambda x: (tf.io.decode_png(x), f(x))"
    imports, work = LOCKED["a look-up in a dict"]
    assert len(rows(PYTHON.format(imports=imports, work=work, mapped=mapped))) == 1


@pytest.mark.parametrize(
    "source",
    [
        "for epoch in range(9):\n"
        "    words = single.map(lambda x: table.lookup(x)).batch(9999).get_single_element()\n"
        "    model.fit(words)\n",
        "words = single.map(lambda x: table.lookup(x)).batch(99)\n"
        "first = words.get_single_element()\n"
        "model.fit(words)\n",
    ],
)
def test_what_is_made_one_tensor_anew_or_is_trained_on_as_well_is_flagged(source: str) -> None:
    assert len(rows(source)) == 1


MEASURED = {
    "single.map(lambda x: table.lookup(x))": True,
    "single.batch(32).map(lambda x: table.lookup(x))": False,
    "words = tf.keras.layers.StringLookup()\nsingle.map(lambda x: words(x))": True,
    "words = tf.keras.layers.StringLookup()\nsingle.map(words)": True,
    "def find(x):\n    return table.lookup(x)\nsingle.map(lambda x: find(x))": True,
    "def show(x):\n    tf.print(x)\n    return x\nsingle.map(show)": False,
    "words = single.map(lambda x: table.lookup(x)).batch(32)\none = other.batch(9999).get_single_element()": True,
    "single.map(lambda x: tf.image.random_hue(x, 0.1))": False,
    "single.map(distort)": False,
    OFF.format(switch="autotune.enabled") + "single.map(lambda x: x / 255.0).with_options(options)": False,
}


@pytest.mark.parametrize(("source", "told"), MEASURED.items())
def test_tells_the_cost_only_of_a_look_up_sample_by_sample(source: str, told: bool) -> None:
    assert costs_told(CODE, PREAMBLE + source) == [told]


def test_no_training_waits_for_what_a_program_writes_to_a_file() -> None:
    written = "for image in single.map(lambda x: random_flip(x)).batch(8):\n    writer.write(image.numpy())\n"
    flips = "def random_flip(x):\n    return tf.image.random_flip_left_right(x)\n"
    assert flagged(CODE, PREAMBLE + flips + written) == []
    assert flagged(CODE, PREAMBLE + flips + written.replace("writer.write(image.numpy())", "learn(image)"))
