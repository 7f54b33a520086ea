"""TFP202: what is flagged, what is left alone, and what the fix makes of it."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import costs_told, findings, fixed, flagged, notes

_HEAD = """\
import numpy as np
import random
import tensorflow as tf
dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
@tf.function
def train_step(x, value, training=True):
    return x * value
"""
_ROWS = _HEAD.count("\n")

SILENT = {
    "the tensor by which a dataset numbers its elements": """
        def train(batches, start):
            for step, x in dataset.enumerate():
                train_step(x, step)
            for step, x in batches.enumerate(start=start):
                train_step(x, step)
            for at, (step, x) in zip(range(50), batches.enumerate(start=start)):
                train_step(x, step)
        """,
    "the number of a model that has a trace of its own": """
        class Ensemble:
            def __init__(self, n):
                self.models = [tf.keras.Sequential() for _ in range(n)]
                self.optimizers = [tf.keras.optimizers.Adam() for _ in range(n)]
                self.n = n
            @tf.function
            def step(self, model, x, at):
                with tf.GradientTape() as tape:
                    loss = model(x)
                grads = tape.gradient(loss, model.trainable_variables)
                self.optimizers[at].apply_gradients(zip(grads, model.trainable_variables))
            def train(self, model, epochs, at):
                for epoch in range(epochs):
                    for x in dataset:
                        self.step(model, x, at)
            def train_all(self, epochs):
                for i in range(self.n):
                    self.train(self.models[i], epochs, i)
            def train_in_turn(self, epochs):
                for epoch in range(epochs):
                    for i in range(self.n):
                        for x in dataset:
                            self.step(self.models[i], x, i)
        """,
    "what a dict of settings says, and what it keeps besides numbers": """
        settings = {"rate": 0.1, "scale": tf.constant(0.1), "names": None}
        rate, scale = settings["rate"], settings["scale"]
        for x in dataset:
            train_step(x, rate)
            train_step(x, scale)
            train_step(x, settings["rate"])
            scale = scale * 0.99
        """,
    "constants": """
        RATE = 0.1
        for x in dataset:
            train_step(x, 0.1)
            train_step(x, RATE)
        """,
    "switches": """
        for step, x in enumerate(dataset):
            train_step(x, step > 100, training=step % 2 == 0)
            train_step(x, not step)
        """,
    "tensors and NumPy values": """
        rates = np.linspace(0.1, 0.01, 100)
        step = tf.Variable(0)
        for x in dataset:
            step.assign_add(1)
            train_step(x, step)
            train_step(x, tf.reduce_mean(x).numpy())
            train_step(x, np.float32(0.1))
        for rate in rates:
            train_step(x, rate)
        """,
    "already a tensor": """
        for step, x in enumerate(dataset):
            train_step(x, tf.constant(step))
        """,
    "an input signature": """
        @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec([])])
        def signed(x, value):
            return x * value
        def plain(x, value):
            return x * value
        wrapped = tf.function(plain, input_signature=[tf.TensorSpec(None), tf.TensorSpec([])])
        for step, x in enumerate(dataset):
            signed(x, step)
            wrapped(x, step)
        """,
    "functions that are not compiled": """
        def log(x, step):
            print(x, step)
        for step, x in enumerate(dataset):
            train_step(x, 1)
            log(x, step)
        """,
    "a call that runs once": "train_step(x, random.random())",
    "behind a counter": """
        for step, x in enumerate(dataset):
            train_step(x, 0.1)
            if step % 100 == 0:
                train_step(x, step)
        """,
    "the length of a batch": """
        for x in dataset:
            train_step(x, len(x))
        """,
    "a number that an earlier loop found": """
        longest = 0
        for line in lines:
            longest = max(longest, 10)
        for x in dataset:
            train_step(x, longest)
        """,
    "one of a few values that are written out": """
        def schedule(step):
            if step < 100:
                return 1.0
            return 0.1
        for step, x in enumerate(dataset):
            stage = "warm" if step < 100 else "main"
            train_step(x, 1.0 if step < 100 else 0.1)
            train_step(x, step < 5 and 1.0 or 0.5)
            train_step(x, stage)
            train_step(x, schedule(step))
        """,
    "a few layers": """
        for x in dataset:
            for index in (1, 2, 3):
                pass
            train_step(x, 3)
        """,
}

FLAGGED = {
    "a counter beside the tensor by which a dataset numbers its elements": (
        "for at, (step, x) in zip(range(50), dataset.enumerate()):\n    train_step(x, at)\n    train_step(x, int(step))\n",
        [2, 3],
    ),
    "a number of Python's own in a zip": (
        "for y, (step, x) in zip(other, enumerate(dataset, start=1)):\n    train_step(x, step)\n",
        [2],
    ),
    "a loop's counter": ("for step, x in enumerate(dataset):\n    train_step(x, step)\n", [2]),
    "the number of a batch": (
        "batches = list(dataset)\nfor i in range(900):\n    train_step(batches[i], i)\n",
        [3],
    ),
    "a range": ("for step in range(10_000):\n    train_step(x, step)\n", [2]),
    "a counter by hand": ("step = 0\nfor x in dataset:\n    train_step(x, step)\n    step += 1\n", [3]),
    "an epoch": ("for epoch in range(90):\n    for x in dataset:\n        train_step(x, epoch)\n", [3]),
    "a schedule": (
        "def rate(step):\n    return 0.1 * 0.9**step\nfor step, x in enumerate(dataset):\n    train_step(x, rate(step))\n",
        [4],
    ),
    "a decay": ("rate = 0.1\nfor x in dataset:\n    rate *= 0.99\n    train_step(x, rate)\n", [4]),
    "a decay of what a dict of settings says": (
        'settings = {"rate": 0.1, "sizes": [3], "name": None}\nrate = settings["rate"]\n'
        "for x in dataset:\n    train_step(x, rate)\n    rate = rate * 0.99\n",
        [4],
    ),
    "float of a tensor": ("for x in dataset:\n    train_step(x, float(tf.reduce_mean(x)))\n", [2]),
    "an item of an array": ("for x in dataset:\n    train_step(x, x.numpy().mean().item())\n", [2]),
    "a random number": (
        "for x in dataset:\n    train_step(x, random.random())\n    train_step(x, np.random.rand())\n",
        [2, 3],
    ),
    "a keyword": ("for step, x in enumerate(dataset):\n    train_step(x, value=step)\n", [2]),
    "a string": ("for step, x in enumerate(dataset):\n    train_step(x, f'step {step}')\n", [2]),
    "reduce_retracing is no excuse": (
        "@tf.function(reduce_retracing=True)\ndef f(x, n):\n    return x\nfor step in range(n):\n    f(x, step)\n",
        [5],
    ),
    "a wrapped function": (
        "def plain(x, n):\n    return x\nf = tf.function(plain)\nfor step in range(n):\n    f(x, step)\n",
        [5],
    ),
    "a method, with a counter of its object": (
        dedent("""\
            class Trainer:
                def __init__(self):
                    self.step = 0
                @tf.function
                def update(self, x, step):
                    return x
                def run(self):
                    for x in dataset:
                        self.step += 1
                        self.update(x, self.step)
            Trainer().run()
            """),
        [10],
    ),
    "through a function": (
        "def run(x, step):\n    train_step(x, step)\nfor step, x in enumerate(dataset):\n    run(x, step)\n",
        [2],
    ),
}

# The function's body, the value that is passed, and what it becomes.
FIXED = {
    "a float with a tensor": ("return x * value", "0.1 * step", "tf.constant(0.1 * step)"),
    "a float with a double": (
        "return tf.cast(x, tf.float64) * value",
        "0.1 * step",
        "tf.constant(0.1 * step, tf.float64)",
    ),
    "an integer in float arithmetic": ("return x * (0.5 * value)", "step", "tf.constant(step, tf.float32)"),
    "an integer that is divided": ("return x * (value / 100)", "step", "tf.constant(step, tf.float32)"),
    "an integer with a float tensor": (
        "return tf.cast(x, tf.float32) * value",
        "step",
        "tf.constant(step, tf.float32)",
    ),
    "an integer that is cast": ("return x * tf.cast(value, x.dtype)", "step", "tf.constant(step)"),
    "an integer that is compared": (
        "if value > 100:\n        x = -x\n    return x",
        "step",
        "tf.constant(step)",
    ),
    "the step of a summary": ("tf.summary.scalar('x', x, step=value)", "step", "tf.constant(step, tf.int64)"),
    "an integer that is passed on": ("return helper(x, value)", "step", "tf.constant(step, tf.float32)"),
    "nothing made of it": ("return x", "step", "tf.constant(step)"),
}

REFUSED = {
    "a Python loop": (
        "for _ in range(value):\n        x = x * 2\n    return x",
        "step",
        "it counts a Python loop",
    ),
    "an index": ("return layers[value](x)", "step", "it is an index"),
    "a condition": ("if value:\n        x = -x\n    return x", "step", "it is asked whether it is true"),
    "part of a condition": (
        "if not value or x is None:\n        x = -x\n    return x",
        "step",
        "it is asked whether it is true",
    ),
    "a shape": ("return tf.reshape(x, [value, -1])", "step", "it is part of a shape or a list"),
    "text": ("print(f'trace {value}')\n    return x", "step", "it is turned into a string"),
    "an integer with a tensor of any type": (
        "return x * value",
        "step",
        "the type that it is computed with is not known",
    ),
    "a function elsewhere": ("return model(x, value)", "step", "it is passed on to `model`"),
    "a string": ("return x", "str(step)", "a string decides what is traced"),
    "a number of unknown type": ("return x * value", "x.item()", "its type is not known"),
    "another value": ("value = value + 1\n    return x", "step", "the type that it is computed with"),
}


def _script(body: str, value: str) -> str:
    return (
        "import tensorflow as tf\n"
        "def helper(x, scale):\n    return x * (scale * 2.0)\n"
        f"@tf.function\ndef run(x, value):\n    {body}\n"
        f"for step, x in enumerate(batches):\n    run(x, {value})\n"
    )


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_leaves_alone(source: str) -> None:
    assert flagged("TFP202", _HEAD + dedent(source)) == []


@pytest.mark.parametrize(("source", "rows"), FLAGGED.values(), ids=FLAGGED)
def test_flags(source: str, rows: list[int]) -> None:
    assert flagged("TFP202", _HEAD + source) == [row + _ROWS for row in rows]


@pytest.mark.parametrize(("body", "before", "after"), FIXED.values(), ids=FIXED)
def test_fix_passes_a_tensor_of_the_type_that_the_body_computes_with(
    body: str, before: str, after: str
) -> None:
    assert fixed("TFP202", _script(body, before)) == _script(body, after)


@pytest.mark.parametrize(("body", "value", "note"), REFUSED.values(), ids=REFUSED)
def test_says_why_it_does_not_fix(body: str, value: str, note: str) -> None:
    (said,) = notes("TFP202", _script(body, value))
    assert said.startswith(f"no fix: {note}")


# Each with what it says of the value.
CHANGES = {
    "for step, x in enumerate(dataset):\n    train_step(x, step)": "step",
    "for epoch in range(9):\n    for x in dataset:\n        train_step(x, 0.1 * epoch)": "epoch",
    "for epoch in range(9):\n    for step, x in enumerate(dataset):\n        train_step(x, epoch * 100 + step)": "step",
    "for epoch in range(9):\n    rate = 0.1 * 0.9**epoch\n    for x in dataset:\n        train_step(x, rate)": "epoch",
    "def run(rate):\n    for x in dataset:\n        train_step(x, rate)\nfor epoch in range(9):\n    run(0.1 * epoch)": "epoch",
    "rate = 0.1\nfor epoch in range(9):\n    rate = rate * 0.9\n    for x in dataset:\n        train_step(x, rate)": "epoch",
    "rate = 0.1\nfor epoch in range(9):\n    for x in dataset:\n        rate = rate * 0.9\n        train_step(x, rate)": "step",
    "for step, x in enumerate(dataset):\n    rate = 0.1 * 0.99**step\n    train_step(x, rate)": "step",
    "import math\ndef rate(step):\n    return 0.1 * math.exp(-step)\nfor step, x in enumerate(dataset):\n    train_step(x, rate(step))": "step",
    "step = 0\nfor epoch in range(9):\n    for x in dataset:\n        train_step(x, step)\n        step += 1": "step",
    "before = 0.0\nfor x in dataset:\n    train_step(x, before)\n    before = float(train_step(x, 1))": "step",
    "for x in dataset:\n    train_step(x, random.random())": "step",
    "for step, x in enumerate(dataset):\n    train_step(x, f'step {step}')": "step",
    """\
class Trainer:
    def __init__(self):
        self.step = 0
    def run(self):
        for x in dataset:
            self.step += 1
            train_step(x, self.step)
Trainer().run()
""": "step",
}


@pytest.mark.parametrize(("source", "change"), CHANGES.items(), ids=CHANGES)
def test_says_how_often_the_value_changes_and_tells_the_cost_of_one_on_each_step(
    source: str, change: str
) -> None:
    (finding,) = findings("TFP202", _HEAD + source)
    assert f"changes from {change} to {change}," in finding.message
    assert costs_told("TFP202", _HEAD + source) == [change == "step"]


# What is not known to be new on each step.
OFTEN_THE_SAME = {
    "for step, x in enumerate(dataset):\n    train_step(x, step // 500)",
    "for step, x in enumerate(dataset):\n    train_step(x, step % 4)",
    "for step, x in enumerate(dataset):\n    train_step(x, 0.1 * 0.5 ** (step // 1000))",
    "for step, x in enumerate(dataset):\n    train_step(x, round(step / 5000, 1))",
    "for step, x in enumerate(dataset):\n    train_step(x, int(step / 1000))",
    "for step, x in enumerate(dataset):\n    train_step(x, f'part {step // 100}')",
    "for step, x in enumerate(dataset):\n    train_step(x, min(step / 100, 1.0))",
    "for step, x in enumerate(dataset):\n    train_step(x, float(np.clip(step / 100, 0, 1)))",
    "for step, x in enumerate(dataset):\n    train_step(x, step / 10 if step < 100 else 10.0)",
    "for x in dataset:\n    train_step(x, np.random.randint(0, 5))",
    "beta = 0.0\nfor step, x in enumerate(dataset):\n    if step % 1000 == 0:\n        beta += 0.1\n    train_step(x, beta)",
    "for epoch in range(9):\n    for step in range(100):\n        train_step(x, step)",
    "for epoch in range(9):\n    for step, x in enumerate(dataset):\n        train_step(x, epoch + step)",
    "for epoch in range(9):\n    step = 0\n    for x in dataset:\n        train_step(x, step)\n        step += 1",
    "def run():\n    for step, x in enumerate(dataset):\n        train_step(x, step)\nfor epoch in range(9):\n    run()",
    """\
class Trainer:
    step = 0
    def run(self):
        self.step = 0
        for x in dataset:
            self.step += 1
            train_step(x, self.step)
for epoch in range(9):
    Trainer().run()
""",
}


@pytest.mark.parametrize("source", sorted(OFTEN_THE_SAME))
def test_says_nothing_of_each_step_where_the_value_may_be_one_that_was_there(source: str) -> None:
    (finding,) = findings("TFP202", _HEAD + source)
    assert "is a Python value, and each new value retraces the function;" in finding.message
    assert costs_told("TFP202", _HEAD + source) == [False]


def test_an_attribute_that_counts_epochs_changes_from_epoch_to_epoch() -> None:
    source = """\
class Trainer:
    epoch = 0
    def step(self):
        for x in dataset:
            train_step(x, self.epoch)
    def fit(self):
        while self.epoch < 9:
            self.step()
            self.epoch += 1
Trainer().fit()
"""
    (finding,) = findings("TFP202", _HEAD + source)
    assert "changes from epoch to epoch" in finding.message


def test_what_changes_with_each_picture_that_is_made_in_some_steps_changes_from_no_epoch_to_the_next() -> (
    None
):
    source = """\
def make_picture(index):
    picture = tf.random.uniform((1, 64, 64, 3))
    for _ in range(30):
        picture = train_step(picture, index)
    return picture
for index in range(64):
    pictures.append(make_picture(index))
"""
    (finding,) = findings("TFP202", _HEAD + source)
    assert (
        "a Python value that changes from one call of `make_picture` to the next, and each new value"
        in finding.message
    )
