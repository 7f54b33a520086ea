"""TFP106 loop-over-tensor-rows."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, fixed, flagged, notes

CODE = "TFP106"
PREAMBLE = dedent("""\
    import numpy as np
    import tensorflow as tf
    t = tf.random.normal((100, 8))
    classes = tf.argmax(t, axis=1)
    array = np.ones((100, 8))
""")


def rows_marked(source: str) -> list[int]:
    """The rows that say that they are flagged."""
    return [row for row, line in enumerate(source.splitlines(), 1) if line.endswith("# <-")]


def module(source: str) -> str:
    return PREAMBLE + dedent(source).lstrip()


SILENT = {
    "a range of rates, one for each layer": """
        from keras import ops
        rates = [float(x) for x in ops.linspace(0.0, 0.5, sum(depths))]
        """,
    "a list comprehension over what may be lists": """
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        logits, past = model(t)
        past = [tf.gather(state, classes) for state in past]
        """,
    "an op that takes one image": """
        images = tf.random.uniform((100, 8, 8, 3))
        images = tf.stack([tf.image.random_jpeg_quality(images[i], 70, 95) for i in range(100)])
        """,
    "a list comprehension over layers": """
        heads = [tf.keras.layers.Dense(1) for _ in range(9)]
        outputs = [head(t) for head in heads]
        losses = [tf.reduce_mean(output) for output in outputs]
        """,
    "a list comprehension whose rows go to the host": "results = [float(row[0] * 2.0) for row in t]",
    "a list comprehension in compiled code": """
        @tf.function
        def choose(x):
            y = tf.nn.softmax(x)
            return [1.0 if row > 0.5 else 0.0 for row in y]
        """,
    "what may be a list": """
        if type(t) is list:
            for row in t:
                results.append(tf.reduce_mean(row))
        """,
    "what may be a list, asked by isinstance": """
        if isinstance(t, (list, tuple)):
            for row in t:
                results.append(tf.reduce_mean(row))
        """,
    "arrays side by side": """
        for row, other in zip(array, array):
            results.append(tf.minimum(row, other))
        """,
    "tensors side by side of which the host takes the rows": """
        for row, at in zip(t, classes):
            show(row.numpy(), int(at))
        """,
    "more names than tensors": """
        for row, other in zip(t):
            results.append(tf.minimum(row, other))
        """,
    "a loss that a compiled gradient step computes": """
        def loss_of(rows):
            parts = []
            for row in rows:
                parts.append(tf.reduce_sum(tf.square(row)))
            return tf.stack(parts)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.SGD()
        @tf.function
        def train_step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(loss_of(model(x)))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        for x in tf.data.Dataset.from_tensor_slices(array).batch(10):
            train_step(x)
        """,
    "a list of numbers of an array": "numbers = [int(i) for i in array[0]]",
    "numbers of a tensor that is on the host": "numbers = [int(i) for i in classes.numpy()]",
    "a size": "sizes = [int(i) for i in tf.shape(t)]",
    "a static shape": "sizes = [int(i) for i in t.shape]",
    "a row": "box = t[0]\nnumbers = [float(i) for i in box]",
    "a row that a loop takes": """
        for box in t:
            show([int(i) for i in box])
        """,
    "something unknown": "numbers = [int(i) for i in stuff]",
    "a selection": "numbers = [int(i) for i in classes if i > 3]",
    "something else than numbers": "numbers = [str(i) for i in classes]",
    "compiled code": """
        @tf.function
        def run(x):
            total = tf.constant(0.0)
            y = tf.square(x)
            for row in y:
                total = total + tf.reduce_sum(tf.square(row))
            return total
        run(t)
        """,
    "a function that nobody here calls": """
        def run(x):
            total = tf.constant(0.0)
            y = tf.square(x)
            for row in y:
                total = total + tf.reduce_sum(tf.square(row))
            return total
        """,
    "a few rows": """
        few = tf.constant([1.0, 2.0, 3.0])
        for row in few:
            t = t + tf.square(row)
        few = tf.zeros((4, 8))
        for row in few:
            t = t + tf.square(row)
        """,
    "a few rows by number": """
        total = tf.constant(0.0)
        for i in range(3):
            total = total + tf.reduce_sum(t[i])
        """,
    "rows that are shown": """
        for row in t:
            plt.imshow(tf.reshape(row, (2, 4)))
        for row in t:
            print(tf.reduce_sum(row))
        """,
    "rows that are used on the host": """
        for row in t:
            results.append(tf.square(row).numpy())
        for row in t:
            save(tf.square(row))
        """,
    "a recurrence, which TFP102 takes": """
        state = tf.zeros((8,))
        for i in range(100):
            state = tf.tanh(state + t[i])
        """,
    "numbers that go along with something else than the counter": """
        at = 0
        for i in range(100):
            at = step_to(at)
            j = at + i
            results.append(tf.reduce_sum(t[j]))
        """,
    "a loop that counts by tf.range": """
        total = tf.constant(0.0)
        for i in tf.range(100):
            total = total + tf.cast(i, tf.float32)
        """,
    "a dataset": """
        for x in tf.data.Dataset.from_tensor_slices(t).batch(10):
            y = tf.square(x)
        """,
    "inference per sample": """
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        for row in t:
            model(row[None])
        """,
    "rows that are not computed with": """
        kept = []
        for row in t:
            kept.append(row)
        """,
    "parts of a split tensor": """
        total = tf.constant(0.0)
        for part in tf.split(t, 2):
            total = total + tf.reduce_sum(part)
        """,
    "rows that are converted and kept apart": "tensors = [tf.constant(row) for row in array]",
    "a few rows that are stacked": "x = tf.stack([tf.constant(row) for row in [[1, 2], [3, 4]]])",
    "rows along another axis": "x = tf.stack([tf.constant(row) for row in array], axis=1)",
    "all kinds of syntax": """
        async def f(*args, **kwargs):
            async for x in g(*args):
                y = [int(*i) for i in t]
        y = [int() for i in t]
        y = [int(i, 2) for i in t]
        y = [int(i) for i, j in t]
        y = [int(i) for i in t for j in i]
        y = {int(i) for i in t}
        for x, (y, *z) in w: pass
        for a[0] in t: pass
        """,
}

FLAGGED = {
    "a list comprehension that counts the rows": """
        n, size, _ = t.shape
        results = [tf.nn.softmax(t[i]) for i in range(n)]  # <-
        """,
    "a list comprehension that compares": """
        guesses = tf.nn.sigmoid(t[:, 0])
        guesses = [1 if guess > 0.5 else 0 for guess in guesses]  # <-
        """,
    "a list comprehension of ops": """
        results = [tf.reduce_mean(row) for row in t]  # <-
        """,
    "rows of several tensors side by side": """
        results = []
        for row, at, number in zip(t, classes, array):  # <-
            results.append(tf.multiply(row[0], 2.0))
        """,
    "numbered rows side by side": """
        results = []
        for at, (row, other) in enumerate(zip(t, tf.square(t))):  # <-
            results.append(tf.minimum(row, other))
        """,
    "a loss that an eager gradient step computes": """
        def loss_of(rows):
            parts = []
            for row in rows:  # <-
                parts.append(tf.reduce_sum(tf.square(row)))
            return tf.stack(parts)
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        for x in tf.data.Dataset.from_tensor_slices(array).batch(10):
            with tf.GradientTape() as tape:
                answer = model(x)
                loss = tf.reduce_mean(loss_of(answer))
            gradients = tape.gradient(loss, model.trainable_variables)
            tf.keras.optimizers.SGD().apply_gradients(zip(gradients, model.trainable_variables))
        """,
    "a list of integers": "numbers = [int(i) for i in classes]  # <-",
    "a list of floats": "numbers = [float(i) for i in tf.reduce_sum(t, axis=1)]  # <-",
    "in a method": """
        class Count:
            def update(self, x):
                found = tf.argmax(x, axis=1)
                self.seen += [int(i) for i in found]  # <-
        """,
    "of a batch of labels": """
        for x, y in tf.data.Dataset.from_tensor_slices((t, classes)).batch(10):
            z = tf.square(y)
            seen += [int(i) for i in z]  # <-
        """,
    "ops on row after row": """
        total = tf.constant(0.0)
        for row in t:  # <-
            total = total + tf.reduce_sum(tf.square(row))
        """,
    "ops on numbered rows": """
        results = []
        for i in range(1000):  # <-
            results.append(tf.reduce_sum(tf.square(t[i])))
        """,
    "ops on as many rows as there are": """
        results = []
        for i in range(len(t)):  # <-
            results.append(tf.reduce_sum(t[i] * t[i]))
        """,
    "ops on as many rows as the shape says": """
        results = []
        for i in range(t.shape[0]):  # <-
            results.append(tf.reduce_sum(t[i, 2:]))
        """,
    "ops on rows whose number is that of the iteration, by another name or so many further": """
        half = t.shape[0] // 2
        total = 0
        for k in range(half):  # <-
            i = k
            j = k + half
            total += tf.reduce_sum(tf.square(t[i])) - tf.reduce_sum(t[j])
        """,
    "a loss of each row": """
        total = 0
        for k in range(t.shape[0]):  # <-
            similarity = tf.keras.losses.CosineSimilarity(axis=-1)
            total += similarity(t[k], t[0])
        """,
    "enumerated rows": """
        results = []
        for i, row in enumerate(t):  # <-
            results.append(tf.reduce_sum(row))
        """,
    "in a function that the module calls": """
        def norms(x):
            results = []
            for row in x:  # <-
                results.append(tf.norm(row))
            return tf.stack(results)
        norms(t)
        """,
    "rows that are converted and stacked": "x = tf.stack([tf.constant(row) for row in array])  # <-",
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_it_leaves_alone(source: str) -> None:
    assert flagged(CODE, module(source)) == []


@pytest.mark.parametrize("source", FLAGGED.values(), ids=FLAGGED.keys())
def test_it_flags(source: str) -> None:
    assert flagged(CODE, module(source)) == rows_marked(module(source))


FIXES = {
    "integers": ("[int(i) for i in classes]", "classes.numpy().tolist()"),
    "a computed tensor": ("[int(i) for i in tf.argmax(t, axis=1)]", "tf.argmax(t, axis=1).numpy().tolist()"),
    "floats that are cut to integers": ("[int(i) for i in t]", "t.numpy().astype(int).tolist()"),
    "integers that become floats": ("[float(i) for i in classes]", "classes.numpy().astype(float).tolist()"),
    "a sum": ("[int(i) for i in classes + 1]", "(classes + 1).numpy().astype(int).tolist()"),
    "numbers of a known type": (
        "[float(i) for i in tf.cast(t, tf.float32)]",
        "tf.cast(t, tf.float32).numpy().tolist()",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES.keys())
def test_the_tensor_is_copied_at_once(before: str, after: str) -> None:
    assert fixed(CODE, module(f"x = {before}\n")) == module(f"x = {after}\n")


def test_no_comment_is_lost() -> None:
    (note,) = notes(CODE, module("x = [\n    int(i)  # a number\n    for i in classes\n]\n"))
    assert "a comment" in note


def test_ops_on_rows_are_left_to_their_author() -> None:
    assert notes(CODE, module(FLAGGED["ops on row after row"])) == []


MEASURED = {
    "guessed = [int(guess) for guess in classes]": True,
    "guessed = [1 if guess > 0.5 else 0 for guess in tf.nn.sigmoid(t[:, 0])]": False,
    "results = [tf.reduce_mean(row) for row in t]": False,
    "rows = tf.stack([tf.constant(row) for row in array])": False,
}


@pytest.mark.parametrize(("source", "told"), MEASURED.items(), ids=MEASURED)
def test_tells_the_cost_only_of_rows_that_become_python_numbers(source: str, told: bool) -> None:
    assert costs_told(CODE, module(source)) == [told]
