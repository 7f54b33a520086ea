"""Programs whose values, prints or names a fix would change if it were made by itself: none of all rules may make one.

Each was a counterexample once, or is of the kind of one. None is run here; `tests/hunt` runs its like.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tflint_perf.catalogue.registry import all_rules
from tflint_perf.config.settings import Settings
from tflint_perf.lint.fix import fix_source
from tflint_perf.text.source import Source

HEAD = """\
import gc
import logging
import os
from collections import deque

import numpy as np
import tensorflow as tf

x = np.ones((6, 2), np.float32)
w = tf.Variable([1.0, 2.0])
model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
optimizer = tf.keras.optimizers.Adam()
dataset = tf.data.Dataset.from_tensor_slices(np.ones((6, 2))).batch(2)


def train(batch):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(batch) ** 2) + tf.reduce_sum(w)
    weights = [*model.trainable_variables, w]
    optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights))


"""


def epochs(made: str, *, before: str = "", behind: str = "pass") -> str:
    """A dataset that each epoch builds."""
    return f"{before}\nfor epoch in range(3):\n    for batch in {made}:\n        train(batch)\n    {behind}\n"


def steps(made: str, *, before: str = "", behind: str = "pass") -> str:
    """Something that each step makes of what may have changed."""
    return f"{before}\nfor step in range(3):\n    batch = {made}\n    train(batch)\n    {behind}\n"


SLICES = "tf.data.Dataset.from_tensor_slices({}).batch(2)"
ATTACKS = {
    # TFP506: what the loop changes
    "a dataset of a variable that training updates": epochs(SLICES.format("w")),
    "a dataset of what a variable holds": epochs(SLICES.format("w.numpy() * x")),
    "a dataset of a model's variables": epochs(
        "tf.data.Dataset.from_tensor_slices(model.trainable_variables)"
    ),
    "a dataset of a list that grows by another name": epochs(
        SLICES.format("rows"), before="rows = [[1.0, 2.0]]\nsame = rows", behind="same.append([3.0, 4.0])"
    ),
    "a dataset of a deque that grows": epochs(
        SLICES.format("memory"),
        before="memory = deque([[1.0, 2.0]])\nkeep = memory.append",
        behind="keep([3.0, 4.0])",
    ),
    "a dataset of an array that an object's method changes": epochs(
        SLICES.format("x"), before="noise = Noise(x)", behind="noise.add()"
    ),
    "a dataset that is mapped by an object with state": epochs(
        SLICES.format("x") + ".map(scale)", before="scale = Scale(2.0)", behind="scale.grow()"
    ),
    "a dataset that is mapped by a table that changes": epochs(
        "tf.data.Dataset.from_tensor_slices(['a', 'b']).map(table.lookup).batch(2)",
        before="table = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, 0.0)",
        behind="table.insert(['a'], [1.0])",
    ),
    "a dataset of a file that the loop writes": epochs(
        SLICES.format("np.load('x.npy')"), before="np.save('x.npy', x)", behind="np.save('x.npy', x * epoch)"
    ),
    "a dataset of lines that a handler writes": epochs(
        "tf.data.TextLineDataset('log.txt').map(lambda line: tf.strings.to_number(tf.strings.split(line)))",
        before="logging.basicConfig(filename='log.txt')",
        behind="logging.warning('1 2')",
    ),
    # TFP301: an array that changes by another name
    "an array that a list holds": steps(
        "tf.convert_to_tensor(x)", before="kept = [x]", behind="kept[0] += 1"
    ),
    "an array that a tuple holds": steps(
        "tf.convert_to_tensor(x)", before="kept = x, 1", behind="kept[0][0] = step"
    ),
    "an array that a dict holds": steps(
        "tf.convert_to_tensor(x)", before="kept = {'x': x}", behind="kept['x'][0] = step"
    ),
    "an array that is seen by a view": steps(
        "tf.constant(x)", before="view = x[1:]", behind="view[0] = step"
    ),
    "an array that an object changes": steps(
        "tf.constant(x)", before="noise = Noise(x)", behind="noise.add()"
    ),
    "an array whose rows are zipped": steps("tf.constant(x)", behind="for a, b in zip(x, x): a += b"),
    "a conversion of what may be a pair": """
        for batch in dataset.map(lambda row: (row, row)):
            train(tf.convert_to_tensor(batch))
        """,
    # TFP203 and TFP204: names, and whether it runs at all
    "an op in a session loop": """
        with tf.Graph().as_default(), tf.compat.v1.Session() as sess:
            a = tf.constant(1.0)
            for step in range(3):
                doubled = tf.multiply(a, 2.0)
                print(doubled.name, sess.run(doubled))
        """,
    "a layer on each step": "for batch in dataset:\n    layer = tf.keras.layers.Flatten()\n    train(layer(batch))\n    print(layer.name)\n",
    "a loss that is read behind a loop that may not run": """
        loss_fn = None
        for batch in dataset.take(0):
            loss_fn = tf.keras.losses.MeanSquaredError()
            with tf.GradientTape() as tape:
                loss = loss_fn(batch, model(batch))
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        print(loss_fn is None)
        """,
    "a conversion behind a break, that may fail": steps(
        "tf.constant(rows)", before="rows = [[1.0], [2.0, 3.0]]\ndone = True", behind="pass"
    ).replace("    batch =", "    if done:\n        break\n    batch ="),
    # TFP201: what a function closes over
    "a function that closes over what changes by another name": """
        scale = [1.0]
        same = scale
        for batch in dataset:
            @tf.function
            def scaled(value):
                return value * scale[0]
            train(scaled(batch))
            same[0] += 1
        """,
    "a function that prints when it is traced": """
        for batch in dataset:
            @tf.function
            def doubled(value):
                print("traced")
                return value * 2
            train(doubled(batch))
        """,
    "a function whose decorator's arguments do something": """
        kept = []
        for batch in dataset:
            @tf.function(jit_compile=bool(kept.append(1)))
            def doubled(value):
                return value * 2
            train(doubled(batch))
        """,
    "a tensor that is kept": "kept = []\nfor step in range(3):\n    batch = tf.constant(x)\n    train(batch)\n    kept.append(batch)\n",
    "a tensor that is looked for": """
        kept = [tf.zeros([2])]
        for step in range(3):
            batch: tf.Tensor = tf.constant(x)
            train(batch)
            print(kept.count(batch))
        """,
    "a pipeline that reads what the steps change, as far ahead as it runs": """
        for batch in tf.data.Dataset.from_tensor_slices(x).map(lambda row: row * w[0]).batch(2):
            doubled = tf.function(lambda value: value * 2)
            train(doubled(batch))
        """,
    "a function whose traces are counted": """
        for batch in dataset:
            doubled = tf.function(lambda value: value * 2)
            train(doubled(batch))
            print(doubled.experimental_get_tracing_count())
        """,
    # TFP304: files that are written
    "a file that is written by tofile": """
        for batch in dataset:
            rates = np.load("rates.npy")
            train(batch * rates)
            x.tofile("rates.npy")
        """,
    "a file that a print writes": """
        log = open("log.txt", "a")
        for batch in dataset:
            train(batch * len(open("log.txt").read()))
            print("step", file=log)
        """,
    "a file that a handler writes": """
        logging.basicConfig(filename="log.txt")
        for batch in dataset:
            train(batch * len(open("log.txt").read()))
            logging.warning("step")
        """,
    "a file of the folder that the loop enters": """
        for batch in dataset:
            train(batch * np.load("rate.npy"))
            os.chdir("..")
        """,
    # TFP206: sizes that Python sees
    "a size that is shown": """
        @tf.function
        def measured(value):
            print(repr(value))
            return tf.reduce_sum(value)
        for length in range(1, 9):
            train(batch=measured(x[:length]))
        """,
    "rows that are gone over": """
        @tf.function
        def measured(value):
            return sum([row for row in value])
        rows = []
        for batch in dataset:
            rows.append(batch)
            train(measured(np.concatenate(rows)))
        """,
    "rows that are arguments": """
        @tf.function
        def measured(value):
            return tf.stack([*value])
        rows = []
        for batch in dataset:
            rows.append(batch)
            train(measured(np.concatenate(rows)))
        """,
    # TFP406: what a collection does
    "a collection with an argument": "for batch in dataset:\n    train(batch)\n    gc.collect(print('collected') or 2)\n",
    "a collection that finalizers wait for": """
        import weakref
        for batch in dataset:
            train(batch)
            weakref.finalize(Noise(x), print, "gone")
            gc.collect()
        """,
    "a collection whose module is read as text": "for batch in dataset:\n    train(batch)\n    gc.collect()\nprint(eval('gc').isenabled())\n",
    "a collection whose module others import": "__all__ = ['gc']\nfor batch in dataset:\n    train(batch)\n    gc.collect()\n",
    "a collection for each fold": """
        for fold in range(5):
            net = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            net.compile("sgd", "mse")
            for batch in dataset:
                net.train_on_batch(batch, batch)
            gc.collect()
        """,
    # TFP408
    "a reset of the graph that holds a step": """
        step = tf.compat.v1.train.get_or_create_global_step()
        for batch in dataset:
            train(batch)
            tf.compat.v1.reset_default_graph()
        """,
    # TFP403: a tape that is asked again
    "a tape that is asked in a loop": """
        for batch in dataset:
            with tf.GradientTape(persistent=True) as tape:
                loss = tf.reduce_sum(w * w)
            slopes = [tape.gradient(loss, w) for _ in range(2)]
        """,
    "a tape whose method has a name": """
        for batch in dataset:
            with tf.GradientTape(persistent=True) as tape:
                loss = tf.reduce_sum(w * w)
            ask = tape.gradient
            print(ask(loss, w), ask(loss, w))
        """,
    # TFP602: where the failure is awaited
    "an old name in a try": """
        try:
            tf.keras.mixed_precision.experimental.set_policy("mixed_float16")
        except AttributeError:
            print("new")
        """,
    "an old name that stands for something else as well": """
        mixed = 1
        from tensorflow.keras.mixed_precision import experimental as mixed
        mixed.set_policy("float32")
        """,
    "an old name in a function that is tried": """
        def set_up():
            tf.keras.mixed_precision.experimental.set_policy("mixed_float16")
        try:
            set_up()
        except AttributeError:
            print("new")
        """,
}
# What stages read meanwhile
AHEAD = {
    "a map of a variable that the loop updates": """
        scaled = tf.data.Dataset.range(6).map(lambda n: tf.cast(n, tf.float32) * w).batch(2)
        for batch in scaled:
            train(batch)
        """,
    "a generator that has state": """
        def rows():
            for row in x:
                yield row * np.random.rand()
        for batch in tf.data.Dataset.from_generator(rows, tf.float32).batch(2):
            train(batch)
            print(np.random.rand())
        """,
    "files that are read in parallel": """
        files = tf.data.Dataset.list_files("*.tfrecord").interleave(tf.data.TFRecordDataset, cycle_length=4)
        for batch in files.map(tf.io.decode_raw).batch(2):
            train(batch)
        """,
    "a pipeline that is shown": """
        doubled = tf.data.Dataset.range(6).map(lambda n: tf.cast(n, tf.float32)).batch(2)
        print(doubled)
        for batch in doubled:
            train(batch)
        """,
    "a shuffle that goes on in the next round": """
        for epoch in range(3):
            for batch in tf.data.Dataset.range(6).shuffle(6, seed=1).repeat().map(lambda n: tf.cast(n, tf.float32)).batch(2):
                train(batch)
                break
        """,
}


def fixed(text: str, *rules: str, unsafe: bool = False) -> str:
    """A program after the fixes of some rules."""
    settings = Settings(root=Path(), rules=frozenset(rules), fixable=frozenset(rules), unsafe_fixes=unsafe)
    return fix_source(Source.from_bytes(text.encode(), "train.py"), settings).source.text


# To prefetch what a program makes of arrays is safe, whatever else it does.
OTHERS = frozenset(all_rules()) - {"TFP502"}


@pytest.mark.parametrize("body", ATTACKS.values(), ids=ATTACKS.keys())
def test_nothing_that_may_change_is_changed_by_a_safe_fix(body: str) -> None:
    text = HEAD + dedent(body)
    compile(text, "train.py", "exec")
    assert fixed(text, *OTHERS) == text


@pytest.mark.parametrize("body", AHEAD.values(), ids=AHEAD.keys())
def test_no_pipeline_runs_ahead_of_what_it_reads(body: str) -> None:
    text = HEAD.replace(".batch(2)", ".batch(2).prefetch(1)") + dedent(body)
    compile(text, "train.py", "exec")
    assert fixed(text, *all_rules()) == text


def test_the_rules_do_see_something_in_them() -> None:
    texts = [HEAD + dedent(body) for body in (*ATTACKS.values(), *AHEAD.values())]
    changed = [text for text in texts if fixed(text, *OTHERS, unsafe=True) != text]
    assert len(changed) > len(texts) // 2


# What may mean the import besides the call that goes.
USES = [
    "print(eval('gc').isenabled())",
    "print(globals()['gc'])",
    "__all__ = ['gc']",
    "def tidy(collector: 'gc.Collector'): ...",
]


@pytest.mark.parametrize("use", USES)
def test_an_import_stays_for_who_names_it_in_a_string(use: str) -> None:
    text = f"{HEAD}for batch in dataset:\n    train(batch)\n    gc.collect()\n{use}\n"
    assert fixed(text, "TFP406", unsafe=True) == text.replace("    gc.collect()\n", "")


def test_an_import_that_nothing_names_goes_with_its_last_use() -> None:
    text = f"{HEAD}for batch in dataset:\n    train(batch)\n    gc.collect()  # gc\n"
    expected = text.replace("import gc\n", "").replace("gc.collect()  # gc", "# gc")
    assert fixed(text, "TFP406", unsafe=True) == expected
