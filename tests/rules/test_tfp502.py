"""TFP502 missing-prefetch."""

from __future__ import annotations

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

CODE = "TFP502"
PREAMBLE = """\
import tensorflow as tf
import tensorflow_datasets as tfds
from pipeline import load_data, to_device
model = tf.keras.Sequential([tf.keras.layers.Dense(10)])
optimizer = tf.keras.optimizers.Adam()
source = tf.data.Dataset.from_tensor_slices((images, labels))
batched = source.batch(32)
ready = source.batch(32).prefetch(1)
def scale(x, y):
    return x / 255.0, y
@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
ROWS_BEFORE = PREAMBLE.count("\n")


def rows(source: str) -> list[int]:
    """The rows flagged in source below the preamble, counted from 1."""
    return [row - ROWS_BEFORE for row in flagged(CODE, PREAMBLE + source)]


SILENT = {
    "a prefetch at the end": "model.fit(ready)",
    "a prefetch in front of stages that do no work": "model.fit(ready.repeat().take(100))",
    "a prefetch of any size": "model.fit(source.batch(32).map(scale).prefetch(buffer_size=4))",
    "a prefetch to the device": "model.fit(batched.prefetch_to_device('/gpu:0'))",
    "a stage out of sight, which may prefetch": "model.fit(batched.apply(to_device))",
    "kept in memory": "model.fit(batched.cache())",
    "kept in memory and repeated": "model.fit(batched.cache().repeat())",
    "a zip of prefetched datasets": "model.fit(tf.data.Dataset.zip((ready, ready)))",
    "a zip by arguments": "model.fit(tf.data.Dataset.zip(ready, ready))",
    "prefetched datasets one behind the other": "model.fit(ready.concatenate(ready))",
    "a zip with something unknown": "model.fit(tf.data.Dataset.zip((batched, load_data())))",
    "prefetched where an option says so": "ds = batched\nif ahead:\n    ds = ds.prefetch(1)\nmodel.fit(ds)",
    "neither batched nor mapped": "model.fit(source)",
    "images from a folder, which prefetch themselves": "model.fit(tf.keras.utils.image_dataset_from_directory('a'))",
    "tfds, which prefetches itself": "model.fit(tfds.load('mnist', split='train', batch_size=32))",
    "a dataset from elsewhere": "model.fit(load_data())",
    "a dozen that a function is given, made ahead": (
        "def run(ds):\n    model.fit(ds)\n"
        + "".join(f"run(source.batch({size}).prefetch(1))\n" for size in range(8, 20))
    ),
    "a parameter": "def run(ds):\n    model.fit(ds)",
    "a compiled function that is no step": (
        "@tf.function\ndef half(x):\n    return x / 2\nfor x, y in batched:\n    write(half(x))"
    ),
    "stages on a parameter": "def run(ds: tf.data.Dataset):\n    model.fit(ds.shuffle(9).batch(3))",
    "arrays": "model.fit(images, labels, batch_size=32)",
    "a look at the first batches": "for x, y in batched.take(3):\n    train_step(x, y)",
    "a loop that ends in a break": "for x, y in batched:\n    train_step(x, y)\n    break",
    "a loop that breaks early": "for i, (x, y) in enumerate(batched):\n    if i == 3:\n        break\n    train_step(x, y)",
    "a look at as many batches as callers say": (
        "def show(ds, count):\n    for x, y in ds.take(count):\n        draw(x, model.predict(x))\n"
        "show(batched, 1)\nshow(batched, count=3)"
    ),
    "a look at the first batches, with predictions": (
        "for x, y in batched.take(3):\n    show(x, model.predict(x))"
    ),
    "predictions of another library": (
        "from sklearn.svm import SVC\nsvm = SVC()\nfor x, y in batched:\n    show(svm.predict(x))"
    ),
    "a count of batches that are only printed": "for i, (x, y) in batched.enumerate():\n    print(i, x)",
    "printing": "for x, y in batched:\n    print(x)",
    "writing": "for x, y in batched:\n    writer.write(serialize(x))",
    "a dataset that nothing takes": "other = batched",
    "a distributed dataset": (
        "strategy = tf.distribute.MirroredStrategy()\n"
        "for x, y in strategy.experimental_distribute_dataset(batched):\n    train_step(x, y)"
    ),
    "a distributed dataset with a name": (
        "strategy = tf.distribute.MirroredStrategy()\n"
        "spread = strategy.experimental_distribute_dataset(batched)\nfor x, y in spread:\n    train_step(x, y)"
    ),
    "a distributed dataset that a function is given": (
        "def train(ds):\n    for x, y in ds:\n        train_step(x, y)\n"
        "strategy = tf.distribute.MirroredStrategy()\n"
        "train(strategy.experimental_distribute_dataset(batched))"
    ),
    "a distributed dataset that a function gives": (
        "strategy = tf.distribute.MirroredStrategy()\n"
        "def load():\n    train = strategy.experimental_distribute_dataset(batched)\n    return train, 3\n"
        "def run(ds):\n    for x, y in ds:\n        train_step(x, y)\n"
        "train, count = load()\nrun(train)"
    ),
    "batches that a function makes for nobody": (
        "def load(validation=False):\n    if validation:\n        return source.batch(9)\n    return ready\n"
        "model.fit(load())"
    ),
    "a few elements to show": (
        "few = tf.data.Dataset.zip((source.take(5).batch(1), source.take(5).batch(1)))\n"
        "for x, y in few:\n    show(model.predict(x))"
    ),
    "batches that are drawn now and then": (
        "shown = iter(batched)\nfor step, (x, y) in enumerate(ready):\n    train_step(x, y)\n"
        "    if tf.equal(optimizer.iterations % 500, 0):\n        x, y = next(shown)\n        show(model(x))"
    ),
    "a layer of Keras's that scales what is shown": (
        "scale_up = tf.keras.layers.Rescaling(255.0)\nfor x, y in batched:\n    show(scale_up(x))"
    ),
    "what an applied function makes ahead": (
        "def prepare(ds):\n    return ds.batch(8).prefetch(1)\nmodel.fit(source.apply(prepare))"
    ),
    "a function that is applied to rows of a table": (
        "def prepare(rows):\n    return rows.batch(8)\nmodel.fit(frame.apply(prepare))"
    ),
    "a fit of something unknown": "def run(regressor):\n    regressor.fit(batched)",
    "a bar around numbers": (
        "from tqdm import tqdm\nbar = tqdm(enumerate([1, 2]))\nfor i, x in bar:\n    train_step(x, x)"
    ),
    "a builder's dataset that is made ahead": (
        "builder = tfds.builder('mnist')\nmodel.fit(builder.as_dataset(split='train').batch(32).prefetch(1))"
    ),
    "a fit of another library": "from sklearn.svm import SVC\nSVC().fit(batched)",
    "starred arguments": "model.fit(*batched)",
    "nothing": "",
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_a_dataset_made_ahead_or_not_known_is_left_alone(source: str) -> None:
    assert rows(source) == []


# Where the preamble makes it.
BATCHED = PREAMBLE[: PREAMBLE.index("batched =")].count("\n") + 1 - ROWS_BEFORE
_BY_HAND = (
    "weights = tf.Variable(tf.zeros((8, 2)))\nloss_of = tf.keras.losses.MeanSquaredError()\n"
    "@tf.function\ndef {name}(x, y):\n    {line}\nfor x, y in batched:\n    {name}(x, y)"
)
FLAGGED = {
    "a loop that evaluates batch by batch": ("for x, y in batched:\n    model.evaluate(x, y)", [BATCHED]),
    "a loop that fits batch by batch": ("for x, y in batched:\n    model.fit(x, y, epochs=2)", [BATCHED]),
    "a compiled step of a model that is made of variables": (
        _BY_HAND.format(name="test_step", line="return tf.matmul(x, weights)"),
        [BATCHED],
    ),
    "a compiled function that measures the loss of such a model": (
        _BY_HAND.format(name="test", line="return loss_of(y, tf.matmul(x, weights))"),
        [BATCHED],
    ),
    "pipelines that branch off one": (
        "whole = source.batch(8)\ntrain = whole.take(100)\nval = whole.skip(100)\nmodel.fit(train, validation_data=val)",
        [2, 3],
    ),
    "what a call names beside others that it hands on": (
        "def run(data, net, **rest):\n    for x, y in data:\n        train_step(x, y)\nrun(data=batched, **others)",
        [BATCHED],
    ),
    "fit": ("model.fit(batched)", [BATCHED]),
    "validation data": ("model.fit(ready, validation_data=batched)", [BATCHED]),
    "evaluate": ("model.evaluate(batched)", [BATCHED]),
    "predict": ("model.predict(source.map(lambda x, y: x).batch(32))", [1]),
    "a step loop": ("for x, y in batched:\n    train_step(x, y)", [BATCHED]),
    "a counted step loop": ("for step, (x, y) in enumerate(batched):\n    train_step(x, y)", [BATCHED]),
    "a step loop with a progress bar": ("from tqdm import tqdm\nfor x, y in tqdm(batched):\n    train_step(x, y)", [BATCHED]),
    "an inline step": (
        "for x, y in batched:\n    with tf.GradientTape() as tape:\n        loss = loss_fn(y, model(x))\n"
        "    grads = tape.gradient(loss, model.trainable_variables)\n"
        "    optimizer.apply_gradients(zip(grads, model.trainable_variables))",
        [BATCHED],
    ),
    "a bar with a name around numbered batches": (
        "from tqdm import tqdm\nbar = tqdm(enumerate(batched), total=9)\nfor i, (x, y) in bar:\n    train_step(x, y)",
        [BATCHED],
    ),
    "what a function makes that is applied": (
        "def prepare(ds, size=8):\n    ds = ds.shuffle(9)\n    return ds.batch(size)\nmodel.fit(source.apply(prepare))",
        [3],
    ),
    "a fit by its older name": ("model.fit_generator(batched, epochs=9)", [BATCHED]),
    "a fit that is told what Keras's is": ("def run(net):\n    net.fit(batched, epochs=9)", [BATCHED]),
    "a dataset of a builder by its class": (
        "import tensorflow_datasets as tfds\ndata = tfds.image_classification.MNIST().as_dataset()\nmodel.fit(data['train'].batch(32))",
        [3],
    ),
    "a dataset of a builder": (
        "builder = tfds.builder('mnist')\nmodel.fit(builder.as_dataset(split='train').batch(32))",
        [2],
    ),
    "a validation by a layer of its own class": (
        "class Net(tf.keras.layers.Layer):\n    def call(self, x):\n        return x\nnet = Net()\n"
        "for x, y in batched:\n    total += loss_fn(y, net(x))",
        [BATCHED],
    ),
    "drawn for whoever asks": (
        "class Feed:\n    def __init__(self):\n        self.batches = iter(batched)\n    def next(self):\n"
        "        x, y = next(self.batches)\n        return x, y\n"
        "feed = Feed()\nfor i in range(1000):\n    x, y = feed.next()\n    train_step(x, y)",
        [BATCHED],
    ),
    "in a while": ("while True:\n    for x, y in batched:\n        train_step(x, y)", [BATCHED]),
    "a map behind the prefetch": ("model.fit(ready.map(scale))", [1]),
    "a map behind the cache": ("model.fit(batched.cache().map(scale))", [1]),
    "a cache in a file": ("model.fit(batched.cache('cache'))", [1]),
    "a map of a folder's images": (
        "model.fit(tf.keras.utils.image_dataset_from_directory('a').map(scale))",
        [1],
    ),
    "a zip of batches": ("model.fit(tf.data.Dataset.zip((batched, batched)))", [1]),
    "padded batches": ("model.fit(source.padded_batch(32))", [1]),
    "through a function": ("def make():\n    return source.shuffle(9).batch(3)\nmodel.fit(make())", [2]),
    "through an attribute": (
        "class Trainer:\n    def __init__(self):\n        self.data = batched\n        self.model = tf.keras.Sequential()\n"
        "    def run(self):\n        self.model.fit(self.data)",
        [BATCHED],
    ),
    "through a parameter": ("def run(ds):\n    for x, y in ds:\n        train_step(x, y)\nrun(batched)", [BATCHED]),
    "prefetched on another way": ("ds = batched\nif training:\n    ds = ready\nmodel.fit(ds)", [BATCHED]),
    "batched as it once was": ("model.fit(source.apply(tf.contrib.data.batch_and_drop_remainder(9)))", [1]),
    "kept in memory and shuffled": ("model.fit(batched.cache().shuffle(9).repeat())", [1]),
    "kept in memory where an option says so": (
        "ds = batched\nif cache:\n    ds = ds.cache()\nmodel.fit(ds)",
        [BATCHED],
    ),
    "two datasets that a function is given": (
        "def run(ds):\n    model.evaluate(ds)\nrun(ready)\nrun(source.batch(3))\nrun(source.batch(9).repeat())",
        [4, 5],
    ),
    "a dozen that a function is given, as where pipelines are compared": (
        "def run(ds):\n    model.fit(ds)\n" + "".join(f"run(source.batch({size}))\n" for size in range(8, 20)),
        list(range(3, 15)),
    ),
    "as many batches as callers say": (
        "def test(ds, count):\n    for x, y in ds.take(count):\n        draw(x, model.predict(x))\n"
        "test(batched, 1)\ntest(batched, 300)",
        [BATCHED],
    ),
    "with a count": ("ds = source.batch(9)\nfor i, (x, y) in ds.enumerate():\n    train_step(x, y)", [1]),
    "a parameter with a count": (
        "def run(ds):\n    for i, (x, y) in ds.enumerate(start=1):\n        train_step(x, y)\nrun(batched)",
        [BATCHED],
    ),
    "a loop that predicts": (
        "def show(image):\n    return model.predict(image[tf.newaxis])\n"
        "for i, batch in enumerate(batched):\n    x, y = batch\n    save(i, [x, show(x[0])])",
        [BATCHED],
    ),
    "two that a function builds by turns": (
        "def build(small):\n    if small:\n        return source.batch(3)\n    return source.batch(9)\n"
        "model.fit(build(True))\nmodel.evaluate(build(False))",
        [3, 4],
    ),
    "one in two ways, once": (
        "if small:\n    ds = source.batch(3)\nelse:\n    ds = source.batch(9)\nmodel.fit(ds)",
        [4],
    ),
    "a parameter of which more is known than its type": (
        "def run(ds: tf.data.Dataset):\n    for x, y in ds.shuffle(9).batch(3):\n        train_step(x, y)\nrun(source)",
        [2],
    ),
    "one dataset in two places, once": ("model.fit(batched)\nmodel.evaluate(batched)", [BATCHED]),
    "the input of an estimator": (
        "def inputs():\n    return source.shuffle(9).batch(3)\n"
        "tf.estimator.Estimator(model_fn).train(input_fn=inputs, steps=100)",
        [2],
    ),
    "in compiled code": ("@tf.function\ndef epoch():\n    for x, y in batched:\n        train_step(x, y)", [BATCHED]),
}  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), FLAGGED.values(), ids=FLAGGED.keys())
def test_a_dataset_made_when_a_step_asks_is_flagged_where_it_is_built(
    source: str, expected: list[int]
) -> None:
    assert rows(source) == expected


@pytest.mark.parametrize(
    ("imports", "dataset", "sequential"),
    [
        (
            "from tensorflow.data import Dataset\nfrom tensorflow.keras import Sequential",
            "Dataset",
            "Sequential",
        ),
        ("from tensorflow import data, keras", "data.Dataset", "keras.Sequential"),
        ("import tensorflow", "tensorflow.data.Dataset", "tensorflow.keras.Sequential"),
        ("import tensorflow.compat.v1 as tf", "tf.data.Dataset", "tf.keras.Sequential"),
        ("import tensorflow.compat.v2 as tf", "tf.data.Dataset", "tf.keras.Sequential"),
        ("from tensorflow.compat import v1 as tf", "tf.data.Dataset", "tf.keras.Sequential"),
    ],
)
def test_names_are_known_through_every_import(imports: str, dataset: str, sequential: str) -> None:
    source = f"{imports}\n{sequential}([]).fit({dataset}.from_tensor_slices(x).batch(3))\n"
    assert flagged(CODE, source) == [source.count("\n")]


HEAD = """\
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(10)])
"""
LONG = "ds = tf.data.Dataset.range(1_000_000).shuffle(1_000_000).repeat(1_000_000).batch(3)"
FIXES = {
    "where it is built": (
        "ds = tf.data.Dataset.range(9).batch(3)\nmodel.fit(ds)\n",
        "ds = tf.data.Dataset.range(9).batch(3).prefetch(tf.data.AUTOTUNE)\nmodel.fit(ds)\n",
    ),
    "in a call": (
        "model.fit(tf.data.Dataset.range(9).batch(3), epochs=3)\n",
        "model.fit(tf.data.Dataset.range(9).batch(3).prefetch(tf.data.AUTOTUNE), epochs=3)\n",
    ),
    "in a loop": (
        "for x in tf.data.Dataset.range(9).batch(3):\n    model.train_on_batch(x)\n",
        "for x in tf.data.Dataset.range(9).batch(3).prefetch(tf.data.AUTOTUNE):\n    model.train_on_batch(x)\n",
    ),
    "in the function that builds it": (
        "def make():\n    return tf.data.Dataset.range(9).batch(3)\nmodel.fit(make())\n",
        "def make():\n    return tf.data.Dataset.range(9).batch(3).prefetch(tf.data.AUTOTUNE)\nmodel.fit(make())\n",
    ),
    "statement by statement": (
        "ds = tf.data.Dataset.range(9)\nds = ds.batch(3)  # of three\nmodel.fit(ds)\n",
        "ds = tf.data.Dataset.range(9)\nds = ds.batch(3).prefetch(tf.data.AUTOTUNE)  # of three\nmodel.fit(ds)\n",
    ),
    "where the line has no room, in a statement of its own": (
        f"{LONG}  # of three\nmodel.fit(ds)\n",
        f"{LONG}  # of three\nds = ds.prefetch(tf.data.AUTOTUNE)\nmodel.fit(ds)\n",
    ),
    "and room behind arguments on lines of their own": (
        f"{LONG[:-2]}(\n    3,\n)\nmodel.fit(ds)\n".replace("batch(", "batch", 1),
        f"{LONG[:-2]}(\n    3,\n).prefetch(tf.data.AUTOTUNE)\nmodel.fit(ds)\n".replace("batch(", "batch", 1),
    ),
    "and none beside another": (
        f"{LONG}; model.fit(ds)\n",
        f"{LONG}.prefetch(tf.data.AUTOTUNE); model.fit(ds)\n",
    ),
    "one link a line, with comments": (
        "ds = (\n    tf.data.Dataset.range(9)\n    # Batches.\n    .batch(3)  # of three\n)\nmodel.fit(ds)\n",
        "ds = (\n    tf.data.Dataset.range(9)\n    # Batches.\n    .batch(3)  # of three\n"
        "    .prefetch(tf.data.AUTOTUNE)\n)\nmodel.fit(ds)\n",
    ),
    "with the closing parenthesis on the last line": (
        "ds = (tf.data.Dataset.range(9)\n      .batch(3))\nmodel.fit(ds)\n",
        "ds = (tf.data.Dataset.range(9)\n      .batch(3)\n      .prefetch(tf.data.AUTOTUNE))\nmodel.fit(ds)\n",
    ),
    "with backslashes": (
        "ds = tf.data.Dataset.range(9) \\\n    .batch(3)\nmodel.fit(ds)\n",
        "ds = tf.data.Dataset.range(9) \\\n    .batch(3) \\\n    .prefetch(tf.data.AUTOTUNE)\nmodel.fit(ds)\n",
    ),
    "where it is consumed, when it goes on otherwise": (
        "ds = tf.data.Dataset.range(9).batch(3)\nshown = ds.unbatch()\nmodel.fit(ds)\n",
        "ds = tf.data.Dataset.range(9).batch(3)\nshown = ds.unbatch()\nmodel.fit(ds.prefetch(tf.data.AUTOTUNE))\n",
    ),
    "in front of what takes some of it": (
        "ds = tf.data.Dataset.range(9).batch(3)\nmodel.fit(ds.take(100))\n",
        "ds = tf.data.Dataset.range(9).batch(3).prefetch(tf.data.AUTOTUNE)\nmodel.fit(ds.take(100))\n",
    ),
    "where it is consumed, when it is built in two ways": (
        "ds = tf.data.Dataset.range(9)\nds = ds.batch(3) if small else ds.batch(9)\nmodel.fit(ds)\n",
        "ds = tf.data.Dataset.range(9)\nds = ds.batch(3) if small else ds.batch(9)\n"
        "model.fit(ds.prefetch(tf.data.AUTOTUNE))\n",
    ),
    "a zip": (
        "ds = tf.data.Dataset.range(9).batch(3)\nboth = tf.data.Dataset.zip((ds, ds))\nmodel.fit(both)\n",
        "ds = tf.data.Dataset.range(9).batch(3)\n"
        "both = tf.data.Dataset.zip((ds, ds)).prefetch(tf.data.AUTOTUNE)\nmodel.fit(both)\n",
    ),
    "by the file's own name": (
        "AUTO = tf.data.experimental.AUTOTUNE\nmodel.fit(tf.data.Dataset.range(9).batch(3))\n",
        "AUTO = tf.data.experimental.AUTOTUNE\nmodel.fit(tf.data.Dataset.range(9).batch(3).prefetch(AUTO))\n",
    ),
    "as the file says it elsewhere": (
        "ds = tf.data.Dataset.range(9).map(f, tf.data.experimental.AUTOTUNE).batch(3)\nmodel.fit(ds)\n",
        "ds = tf.data.Dataset.range(9).map(f, tf.data.experimental.AUTOTUNE).batch(3)"
        "\nds = ds.prefetch(tf.data.experimental.AUTOTUNE)\nmodel.fit(ds)\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_the_prefetch_comes_behind_the_last_stage(before: str, after: str) -> None:
    assert fixed(CODE, HEAD + before) == HEAD + after


@pytest.mark.parametrize("after", [after for _, after in FIXES.values()], ids=FIXES.keys())
def test_what_was_fixed_is_left_alone(after: str) -> None:
    assert flagged(CODE, HEAD + after) == []


def test_the_fix_is_safe_because_the_elements_stay_the_same() -> None:
    (finding,) = findings(CODE, HEAD + "model.fit(tf.data.Dataset.range(9).batch(3))\n")
    assert finding.fix is not None
    assert finding.fix.safe


def test_an_iterator_of_which_nobody_knows_how_it_was_built_is_not_fixed() -> None:
    source = HEAD + (
        "ds = tf.data.Dataset.range(9)\nit = iter(ds.batch(3) if small else ds.batch(9))\n"
        "for x in it:\n    model.train_on_batch(x)\n"
    )
    assert notes(CODE, source) == ["no fix: it is already an iterator (line 5)"]


@pytest.mark.parametrize("switch", ["inject_prefetch", "apply_default_optimizations"])
def test_says_that_tensorflow_adds_none_where_the_options_say_so(switch: str) -> None:
    source = HEAD + (
        f"options = tf.data.Options()\noptions.experimental_optimization.{switch} = False\n"
        "model.fit(tf.data.Dataset.range(9).batch(3).with_options(options))\n"
    )
    (finding,) = findings(CODE, source)
    assert "and this one's options keep TensorFlow from adding it" in finding.message
    assert costs_told(CODE, source) == [False]
