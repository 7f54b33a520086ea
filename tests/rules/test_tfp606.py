"""TFP606 discarded-result."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import findings, flagged

CODE = "TFP606"
PREAMBLE = dedent("""\
    import time
    import numpy as np
    import pytest
    import tensorflow as tf
    from tensorflow import keras
    model = keras.Sequential([keras.layers.Dense(1)])
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
""")


def rows_marked(source: str) -> list[int]:
    """The rows that say that they are flagged."""
    return [row for row, line in enumerate(source.splitlines(), 1) if line.endswith("# <-")]


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


SILENT = {
    "a function that another file brings, beside the metrics of Keras": """
        from tensorflow.keras.metrics import *
        from figures import *
        def report(labels):
            plot_labels(labels)
        """,
    "arithmetic with what is no tensor, or at the top": """
        def plot(figure, axis):
            figure / axis
        tf.ones(3) * 2
        for x, y in dataset:
            plot(x.name, y.name)
        """,
    "metrics and losses that keep something": """
        metric = keras.metrics.Mean()
        for x, y in dataset:
            metric(model(x))
            metric.update_state(model(x))
            keras.metrics.get("accuracy")(y, model(x))
        """,
    "results that are used": """
        def f(x):
            y = tf.square(x)
            x += tf.square(x)
            yield tf.square(y)
            f(tf.square(x))
            tf.square(x).numpy()
            return tf.square(x)
        """,
    "ops with effects": """
        def f(v, x):
            tf.print(x)
            tf.summary.scalar("loss", x)
            tf.debugging.assert_equal(x, x)
            tf.debugging.check_numerics(x, "x")
            tf.assert_rank(x, 2)
            tf.ensure_shape(x, [1])
            v.assign(x)
            tf.random.set_seed(1)
            tf.config.run_functions_eagerly(True)
            tf.io.write_file("x", x)
            tf.io.read_file("x")
            tf.keras.backend.clear_session()
            tf.keras.backend.set_floatx("float64")
            tf.raw_ops.AssignVariableOp(resource=v, value=x)
            tf.py_function(print, [x], [])
            tf.map_fn(print, x)
            tf.cond(x > 0, f, f)
            tf.while_loop(f, f, [x])
            keras.ops.scan(f, x)
        """,
    "what warms a device up": """
        def f():
            tf.random.normal([3])
            tf.constant(1)
            tf.zeros([3])
            tf.nn.relu(model(tf.zeros([1, 3])))
            tf.reduce_mean(model.predict(dataset))
        """,
    "what is timed": """
        def f(x):
            start = time.time()
            for _ in range(100):
                tf.matmul(x, x)
            return time.time() - start
        """,
    "what is tried": """
        def f(x):
            try:
                tf.reshape(x, [3])
            except ValueError:
                print("no")
            with pytest.raises(ValueError):
                tf.matmul(x, x)
        """,
    "what a notebook shows": """
        tf.square(3.0)
        dataset.batch(2)
        """,
    "what has a name": """
        def f(x):
            tf.nn.softmax(x, name="output")
        """,
    "graph code": """
        def f(x):
            tf.nn.softmax(x)
        with tf.compat.v1.Session() as session:
            f(1)
        """,
    "arguments that do something": """
        def f(x):
            tf.stack([train(y) for y in x])
            tf.square(next(x))
        """,
    "other things of those names": """
        def f(queue, x):
            queue.batch(3)
            queue.map(print)
            clip_by_norm(x, 15)
            x.square()
        """,
    "a dataset that is consumed": """
        def f(x):
            dataset.save("x")
            dataset.reduce(0, f)
            list(dataset.map(f))
        """,
    "any syntax": """
        async def f(x, *args):
            await x
            [*args]
            {tf.square(y): 1 for y in x}
            lambda: tf.square(x)
            "a string"
            ...
        """,
}

FLAGGED = {
    "a function of Keras's, where another file brings others": """
        from tensorflow import *
        from figures import *
        def report(labels):
            clip_by_norm(labels, 15.0)  # <-
        """,
    "a stage of a dataset in an epoch that is timed": """
        import time
        dataset = tf.data.Dataset.from_tensor_slices(images)
        for epoch in range(9):
            start = time.time()
            dataset.shuffle(1000)  # <-
            dataset.shuffle(tf.data.experimental.cardinality(dataset))  # <-
            train(dataset)
            print(time.time() - start)
        """,
    "arithmetic with tensors": """
        def loss_of(real, loss):
            mask = tf.cast(tf.not_equal(real, 0), tf.float32)
            loss * mask  # <-
            return tf.reduce_mean(loss)
        for x, y in dataset:
            loss_of(y, model(x))
        """,
    "a sign in front of it": """
        def loss_of(x, mean):
            if mean: -tf.reduce_mean(x)  # <-
            return -tf.reduce_sum(x)
        for x, y in dataset:
            loss_of(model(x), True)
        """,
    "functions of losses and metrics": """
        for x, y in dataset:
            guess = model(x)
            keras.metrics.binary_accuracy(y, guess)  # <-
            tf.keras.losses.mse(y, guess)  # <-
        """,
    "clipping that clips nothing": """
        def step(gradients):
            for g in gradients:
                tf.clip_by_norm(g, 15)  # <-
            [tf.clip_by_norm(g, 15) for g in gradients]  # <-
            return gradients
        """,
    "in compiled code": """
        @tf.function
        def step(x):
            tf.stop_gradient(x)  # <-
            tf.cast(x, tf.float32)  # <-
            tf.expand_dims(tf.square(x), axis=len(x.shape))  # <-
            tf.nn.relu(x)  # <-
            tf.math.log(x + tf.constant(1.0))  # <-
            tf.image.resize(x, (3, 3))  # <-
            return x
        """,
    "in a loop at module level": """
        for x in dataset:
            tf.transpose(x)  # <-
        """,
    "imported by name": """
        from tensorflow import clip_by_value as clip
        def f(x):
            clip(x, 0, 1)  # <-
        """,
    "stages of a dataset": """
        def load():
            dataset = tf.data.Dataset.from_tensor_slices(data)
            dataset.shuffle(1000)  # <-
            dataset.map(lambda x: x + 1)  # <-
            return dataset.batch(32)
        """,
    "a method": """
        class Trainer:
            def clip(self, g):
                tf.clip_by_value(g, -1.0, 1.0)  # <-
        """,
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_of(source: str) -> None:
    assert flagged(CODE, module(source)) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_flags(source: str) -> None:
    assert flagged(CODE, module(source)) == rows_marked(module(source)) != []


def test_says_what_is_thrown_away() -> None:
    (finding,) = findings(CODE, module("def f(x):\n    tf.math.log(x)\n"))
    assert (
        finding.message == "`tf.math.log` changes nothing, and what it returns is thrown away; use its result"
    )


@pytest.mark.parametrize(
    ("behind", "remedy"),
    [
        ("x = tf.math.log(x)", "drop it, as the next line does the same"),
        ("return tf.cast(tf.math.log( x ), tf.int32)", "drop it, as the next line does the same"),
        ("x = tf.math.log(y)", "use its result"),
        ("x = x + 1\n    x = tf.math.log(x)", "use its result"),
    ],
)
def test_what_the_next_line_does_again_is_dropped(behind: str, remedy: str) -> None:
    (finding,) = findings(CODE, module(f"def f(x, y):\n    tf.math.log(x)\n    {behind}\n"))
    assert finding.message.endswith(f"; {remedy}")
