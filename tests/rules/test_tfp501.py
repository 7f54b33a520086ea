"""TFP501 unbatched-dataset."""

from __future__ import annotations

import pytest

from tests.rules.support import costs_told, fixed, flagged, notes

PREAMBLE = """\
import tensorflow as tf
import tensorflow_datasets as tfds
from pipeline import load_data, augment
BATCH_SIZE = 32
model = tf.keras.Sequential([tf.keras.layers.Dense(10)])
optimizer = tf.keras.optimizers.Adam()
source = tf.data.Dataset.from_tensor_slices((images, labels))
@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = loss_fn(y, model(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
ROWS_BEFORE = PREAMBLE.count("\n")


def rows(source: str) -> list[int]:
    """The rows flagged in source below the preamble, counted from 1."""
    return [row - ROWS_BEFORE for row in flagged("TFP501", PREAMBLE + source)]


SILENT = {
    "one sample, with an axis for it by hand": "model.predict(tf.data.Dataset.from_tensor_slices([image]))",
    "batch": "model.fit(source.batch(32))",
    "batch before other stages": "model.fit(source.batch(32).map(lambda x, y: (x, y)).repeat())",
    "padded batches": "model.fit(source.padded_batch(32))",
    "ragged batches": "model.fit(source.ragged_batch(32))",
    "windows": "model.fit(source.window(32).flat_map(lambda x, y: tf.data.Dataset.zip((x.batch(9), y.batch(9)))))",
    "buckets": "model.fit(source.bucket_by_sequence_length(lambda x, y: tf.size(x), [9], [4, 4]))",
    "a dataset from elsewhere": "model.fit(load_data())",
    "a parameter": "def run(ds):\n    model.fit(ds)",
    "images from a folder": "model.fit(tf.keras.utils.image_dataset_from_directory('images'))",
    "a generator, which may give batches": "model.fit(tf.data.Dataset.from_generator(f, tf.float32))",
    "one tensor as one element": "model.fit(tf.data.Dataset.from_tensors((images, labels)))",
    "a stage out of sight": "model.fit(source.apply(stages))",
    "a mapped function from elsewhere": "model.fit(source.map(augment))",
    "a mapped function that runs Python": (
        "model.fit(source.map(lambda x, y: (tf.py_function(f, [x], tf.float32), y)))"
    ),
    "a batch of one by a shape": "for x, y in source:\n    train_step(tf.reshape(x, (1, 28, 28)), y)",
    "a batch axis by a map": "model.fit(source.map(lambda x, y: (tf.expand_dims(x, 0), y)))",
    "a batch axis by a new axis": "model.fit(source.map(lambda x, y: (x[tf.newaxis, ...], y[None])))",
    "an axis in front of the data": "model.fit(tf.data.Dataset.from_tensor_slices((images[None], labels[None])))",
    "data that is said to be batches": "model.fit(tf.data.Dataset.from_tensor_slices(batches))",
    "lists that a loop fills with batches": (
        "def make(count):\n    xs, ys = [], []\n    for _ in range(count):\n        x, y = draw_batch(32)\n"
        "        xs.append(x)\n        ys.append(y)\n    return tf.data.Dataset.from_tensor_slices((xs, ys))\n"
        "model.fit(make(10))"
    ),
    "data whose shape has batches": (
        "x = tf.random.normal((steps, batch_size, 9))\ny = {'x': x}\nmodel.fit(tf.data.Dataset.from_tensor_slices(y))"
    ),
    "batches by tfds": "model.fit(tfds.load('mnist', split='train', as_supervised=True, batch_size=32))",
    "batched on one way only": "ds = source\nif training:\n    ds = ds.batch(32)\nmodel.fit(ds)",
    "arrays": "model.fit(images, labels, batch_size=32)",
    "a fit of another library": "from sklearn.svm import SVC\nSVC().fit(source)",
    "a fit of the file's own": "class Trainer:\n    def fit(self, ds):\n        pass\nTrainer().fit(source)",
    "AutoKeras, which batches by itself": "import autokeras as ak\nak.ImageClassifier().fit(source)",
    "a layer's adapt": "tf.keras.layers.Normalization().adapt(source.map(lambda x, y: x))",
    "a look at the first elements": "for x, y in source.take(3):\n    train_step(x, y)",
    "a loop that ends in a break": "for x, y in source:\n    train_step(x, y)\n    break",
    "a loop that breaks early": "for i, (x, y) in enumerate(source):\n    if i == 3:\n        break\n    model(x)",
    "printing": "for x, y in source:\n    print(x)",
    "preprocessing": "for x, y in source:\n    writer.write(serialize(x))",
    "a compiled function that is no step": (
        "@tf.function\ndef scale(x):\n    return x / 255.0\nfor x, y in source:\n    images.append(scale(x))"
    ),
    "samples that a function draws and stacks": (
        "it = iter(source)\ndef sample():\n    return next(it)\nfor i in range(1000):\n"
        "    xs = tf.stack([sample() for _ in range(9)])\n    train_step(xs, xs)"
    ),
    "a batch axis in the loop": "for x, y in source:\n    train_step(x[None], y[None])",
    "a batch axis in the step": (
        "@tf.function\ndef run(x):\n    return model(tf.expand_dims(x, 0))\nfor x, y in source:\n    run(x)"
    ),
    "elements that the step does not get": "for x, y in source:\n    train_step(noise, zeros)",
    "no dataset": "for x, y in zip(images, labels):\n    train_step(x, y)",
    "a counter": "for step in tf.data.Dataset.range(100):\n    train_step(images, step)",
    "results one by one": "for x, y in source.batch(1):\n    show(model(x))",
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_a_dataset_that_is_batched_or_not_known_is_left_alone(source: str) -> None:
    assert rows(source) == []


FLAGGED = {
    "fit": ("model.fit(source)", [1]),
    "fit by keyword": ("model.fit(x=source, epochs=3)", [1]),
    "lists that a loop fills with samples": (
        "def make(paths):\n    xs = []\n    for path in paths:\n        xs.append(read(path))\n"
        "    return tf.data.Dataset.from_tensor_slices(xs)\nmodel.fit(make(paths))",
        [6],
    ),
    "validation data": ("model.fit(source.batch(32), validation_data=source)", [1]),
    "evaluate": ("model.evaluate(source)", [1]),
    "predict": ("model.predict(source.map(lambda x, y: x))", [1]),
    "a step loop": ("for x, y in source:\n    train_step(x, y)", [1]),
    "a counted step loop": ("for step, (x, y) in enumerate(source):\n    train_step(x, y)", [1]),
    "a step loop with a progress bar": ("from tqdm import tqdm\nfor x, y in tqdm(source):\n    train_step(x, y)", [2]),
    "elements unpacked in the loop": ("for element in source:\n    x, y = element\n    train_step(x, y)", [1]),
    "inside an epoch loop": ("for epoch in range(9):\n    for x, y in source:\n        train_step(x, y)", [2]),
    "an inline step": (
        "for x, y in source:\n    with tf.GradientTape() as tape:\n        loss = loss_fn(y, model(x))\n"
        "    grads = tape.gradient(loss, model.trainable_variables)\n"
        "    optimizer.apply_gradients(zip(grads, model.trainable_variables))",
        [1],
    ),
    "train_on_batch": ("for x, y in source:\n    model.train_on_batch(x, y)", [1]),
    "inference": ("for x, y in source:\n    total += model(x)", [1]),
    "a step through another function": (
        "def run(batch):\n    train_step(*batch)\nfor batch in source:\n    run(batch)",
        [3],
    ),
    "stages that batch nothing": ("model.fit(source.shuffle(9).repeat(2).cache().prefetch(1))", [1]),
    "a known map": ("def scale(x, y):\n    return x / 255.0, y\nmodel.fit(source.map(scale))", [3]),
    "records": ("model.fit(tf.data.TFRecordDataset('a').map(lambda r: tf.io.parse_single_example(r, spec)))", [1]),
    "interleaved records": ("ds = tf.data.Dataset.list_files('*').interleave(tf.data.TFRecordDataset)\nmodel.fit(ds)", [2]),
    "tfds": ("model.fit(tfds.load('mnist', split='train', as_supervised=True))", [1]),
    "tfds by splits": ("train, test = tfds.load('mnist', split=['train', 'test'])\nmodel.fit(train)", [2]),
    "as many samples as make whole batches": (
        "x = tf.random.normal((9 * BATCH_SIZE, 3))\nmodel.fit(tf.data.Dataset.from_tensor_slices(x))",
        [2],
    ),
    "zipped": ("model.fit(tf.data.Dataset.zip((source, source)))", [1]),
    "unbatched again": ("model.fit(source.batch(32).unbatch())", [1]),
    "batches of one": ("model.fit(source.batch(1))", [1]),
    "through a function": ("def make():\n    return source.shuffle(9)\nmodel.fit(make())", [3]),
    "through an attribute": (
        "class Trainer:\n    def __init__(self):\n        self.data = source\n        self.model = tf.keras.Sequential()\n"
        "    def run(self):\n        self.model.fit(self.data)",
        [6],
    ),
    "a model from elsewhere": ("from zoo import build\nother_model = build()\nother_model.fit(source)", [3]),
    "in a compiled function": ("@tf.function\ndef epoch():\n    for x, y in source:\n        train_step(x, y)", [3]),
}  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), FLAGGED.values(), ids=FLAGGED.keys())
def test_a_dataset_that_was_never_batched_is_flagged_where_it_is_consumed(
    source: str, expected: list[int]
) -> None:
    assert rows(source) == expected


ONES = {
    "no batch size": ("", False),
    "a batch size of one": ("batch_size = 1\n", False),
    "a larger one": ("batch_size = 64\n", True),
    "an argument of the command line": ("parser.add_argument('--batch-size', type=int, default=64)\n", True),
    "a flag": ("flags.DEFINE_integer('batch_size', 64, 'Samples a step.')\n", True),
    "a default": ("def build(batch_size=64):\n    pass\n", True),
}


@pytest.mark.parametrize(("preamble", "is_flagged"), ONES.values(), ids=ONES.keys())
def test_batches_of_one_are_flagged_where_the_file_names_a_larger_size(
    preamble: str, is_flagged: bool
) -> None:
    source = (
        "import tensorflow as tf\n" + preamble + "model = tf.keras.Sequential()\n"
        "model.fit(tf.data.Dataset.from_tensor_slices(images).batch(1))\n"
    )
    assert bool(flagged("TFP501", source)) == is_flagged


HEAD = "import tensorflow as tf\nbatch_size = 64\nmodel = tf.keras.Sequential()\n"
SOURCE = "tf.data.Dataset.from_tensor_slices(images)"
FIXES = {
    "in front of the last prefetch": (
        f"ds = {SOURCE}.shuffle(9).prefetch(1)\nmodel.fit(ds)\nmodel.evaluate(ds)\n",
        f"ds = {SOURCE}.shuffle(9).batch(batch_size).prefetch(1)\nmodel.fit(ds)\nmodel.evaluate(ds)\n",
    ),
    "in front of a prefetch on a line of its own": (
        f"ds = (\n    {SOURCE}\n    .shuffle(9)  # mixed\n    .prefetch(1)\n)\nmodel.fit(ds)\n",
        f"ds = (\n    {SOURCE}\n    .shuffle(9)  # mixed\n    .batch(batch_size)\n    .prefetch(1)\n)\nmodel.fit(ds)\n",
    ),
    "in front of a prefetch behind a backslash": (
        f"ds = {SOURCE} \\\n    .prefetch(1)\nmodel.fit(ds)\n",
        f"ds = {SOURCE} \\\n    .batch(batch_size) \\\n    .prefetch(1)\nmodel.fit(ds)\n",
    ),
    "at the end": (
        f"ds = {SOURCE}.shuffle(9)\nmodel.fit(ds, epochs=3)\n",
        f"ds = {SOURCE}.shuffle(9)\nmodel.fit(ds.batch(batch_size), epochs=3)\n",
    ),
    "where the dataset is consumed, when others use it too": (
        f"ds = {SOURCE}.prefetch(1)\ntest = ds.take(99)\nmodel.fit(ds)\n",
        f"ds = {SOURCE}.prefetch(1)\ntest = ds.take(99)\nmodel.fit(ds.batch(batch_size))\n",
    ),
    "in a loop": (
        f"for x in {SOURCE}:\n    model.train_on_batch(x)\n",
        f"for x in {SOURCE}.batch(batch_size):\n    model.train_on_batch(x)\n",
    ),
    "batches of one": (
        f"ds = {SOURCE}.batch(1).prefetch(1)\nmodel.fit(ds)\n",
        f"ds = {SOURCE}.batch(batch_size).prefetch(1)\nmodel.fit(ds)\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_the_dataset_is_batched_by_the_size_that_the_file_names(before: str, after: str) -> None:
    assert fixed("TFP501", HEAD + before) == HEAD + after


NAMES = {
    "a constant": ("BATCH_SIZE = 8\ndef run():\n    ", "BATCH_SIZE"),
    "a parameter": ("def run(batch_size):\n    ", "batch_size"),
    "an argument": ("args = parser.parse_args()\nprint(args.batch_size)\ndef run():\n    ", "args.batch_size"),
    "an attribute": ("class T:\n  def __init__(self, n):\n    self.batch_size = n\n  def run(self):\n    ", "self.batch_size"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "name"), NAMES.values(), ids=NAMES.keys())
def test_the_size_goes_by_the_name_that_the_file_gives_it(before: str, name: str) -> None:
    start = "import tensorflow as tf\nmodel = tf.keras.Sequential()\n" + before
    assert fixed("TFP501", f"{start}model.fit({SOURCE})\n") == f"{start}model.fit({SOURCE}.batch({name}))\n"


REFUSED = {
    "no name": ("model.fit({})\n", "no fix: the file has no name for a batch size in scope (line 3)"),
    "a name of another function": (
        "def other(batch_size):\n    pass\nmodel.fit({})\n",
        "no fix: the file has no name for a batch size in scope (line 5)",
    ),
    "a name that gets its value later": (
        "model.fit({})\nbatch_size = 64\n",
        "no fix: the file has no name for a batch size in scope (line 3)",
    ),
    "a size of one": (
        "batch_size = 1\nmodel.fit({})\n",
        "no fix: the file has no name for a batch size in scope (line 4)",
    ),
    "a distributed dataset": (
        "batch_size = 64\nstrategy = tf.distribute.MirroredStrategy()\n"
        "ds = strategy.experimental_distribute_dataset({})\nfor x in ds:\n    model.train_on_batch(x)\n",
        "no fix: it is distributed before it is batched (line 6)",
    ),
}


@pytest.mark.parametrize(("source", "note"), REFUSED.values(), ids=REFUSED.keys())
def test_the_fix_is_refused_without_a_size_to_batch_by(source: str, note: str) -> None:
    text = "import tensorflow as tf\nmodel = tf.keras.Sequential()\n" + source.format(SOURCE)
    assert notes("TFP501", text) == [note]


@pytest.mark.parametrize(
    ("name", "told"), [("fit", True), ("a step loop", True), ("predict", False), ("evaluate", False)]
)
def test_tells_the_cost_only_of_training(name: str, told: bool) -> None:
    assert costs_told("TFP501", PREAMBLE + FLAGGED[name][0]) == [told]
