"""What eager code does and a graph doesn't, and the bold fixes that make both do the same."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import fixed, notes

NET = dedent("""\
    import tensorflow as tf


    class Attention(tf.keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.query = tf.keras.layers.Dense(8)
            self.weights_seen = None

        def call(self, x):
            scores = tf.matmul(self.query(x), x, transpose_b=True)
            {}

    {}

    class Learner:
        def __init__(self):
            self.attend, self.optimizer = Attention(), tf.keras.optimizers.Adam()

        def step(self, x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((self.attend.call(x) - y) ** 2)
            gradients = tape.gradient(loss, self.attend.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.attend.trainable_variables))
            return loss


    learner = Learner()
    for x, y in tf.data.Dataset.load("data").batch(32):
        learner.step(x, y)
        {}
""")
LOOK = "    def look(self):\n        return self.weights_seen.numpy()\n"


def program(call: str, method: str = LOOK, loop: str = "pass") -> str:
    return NET.format(call.strip(), method, loop)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            """
            self.weights_seen = tf.nn.softmax(scores)  # for the plot
            return tf.matmul(self.weights_seen, x)
            """,
            """
            weights_seen = tf.nn.softmax(scores)  # for the plot
            if tf.executing_eagerly():
                self.weights_seen = weights_seen
            return tf.matmul(weights_seen, x)
            """,
        ),
        (
            """
            weights = tf.nn.softmax(scores)
            self.weights_seen = weights  # for the plot
            return tf.matmul(weights, x)
            """,
            """
            weights = tf.nn.softmax(scores)
            if tf.executing_eagerly():
                self.weights_seen = weights  # for the plot
            return tf.matmul(weights, x)
            """,
        ),
    ],
    ids=["a value", "a name"],
)
def test_a_result_is_left_on_its_object_in_eager_calls_alone(before: str, after: str) -> None:
    lines = [dedent(text).strip().replace("\n", "\n        ") for text in (before, after)]
    source, expected = (program(text) for text in lines)
    made = fixed("TFP101", source, bold=True)
    assert made == expected.replace("    def step(", "    @tf.function\n    def step(")


READ_ELSEWHERE = {
    "where its name stands for something else by then": program(
        "weights = tf.nn.softmax(scores)\n        self.weights_seen = weights\n        weights = weights[0]\n"
        "        return tf.matmul(self.weights_seen, x) + weights"
    ),
    "on each step": program(
        "self.weights_seen = tf.nn.softmax(scores)\n        return tf.matmul(self.weights_seen, x)",
        loop="print(learner.attend.look())",
    ),
    "before it is written": program(
        "x = x * self.weights_seen\n        self.weights_seen = tf.nn.softmax(scores)\n        return tf.matmul(self.weights_seen, x)"
    ),
    "where another method writes it, too": program(
        "self.weights_seen = tf.nn.softmax(scores)\n        return tf.matmul(self.weights_seen, x)",
        "    def forget(self):\n        self.weights_seen = tf.zeros(3)\n",
    ),
    "behind a branch that writes it": program(
        "if x.shape[1] > 3:\n            self.weights_seen = tf.nn.softmax(scores)\n        return tf.matmul(self.weights_seen, x)"
    ),
}


@pytest.mark.parametrize("source", READ_ELSEWHERE.values(), ids=list(READ_ELSEWHERE))
def test_a_result_that_is_read_elsewhere_stays(source: str) -> None:
    assert "executing_eagerly" not in fixed("TFP101", source, bold=True)


def test_a_trace_leaves_out_what_is_for_eager_calls_alone() -> None:
    source = program(
        "weights = tf.nn.softmax(scores)\n        if tf.executing_eagerly():\n"
        "            self.weights_seen = weights\n        return tf.matmul(weights, x)"
    )
    assert "@tf.function" in fixed("TFP101", source)
    turned = source.replace("if tf.executing_eagerly():", "if tf.inside_function():")
    assert "@tf.function" not in fixed("TFP101", turned)


HINGE = """
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean({})
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
for x, y in tf.data.Dataset.load("data").batch(32):
    step(x, y)
"""


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        ("tf.maximum(0, 1 - y * model(x))", "tf.maximum(0.0, 1 - y * model(x))"),
        ("tf.where(y > 0, -1, model(x))", "tf.where(y > 0, -1.0, model(x))"),
    ],
)
def test_an_integer_before_floats_is_written_as_a_float(given: str, becomes: str) -> None:
    source = HINGE.format(given)
    assert "@tf.function" not in fixed("TFP101", source)
    (note,) = notes("TFP101", source)
    assert "is an op on integers in a graph" in note
    assert fixed("TFP101", source, bold=True) == HINGE.format(becomes).replace(
        "def step", "@tf.function\ndef step"
    )


@pytest.mark.parametrize(
    "given",
    [
        "tf.maximum(1 - y * model(x), 0)",
        "tf.maximum(0.0, 1 - y * model(x))",
        "model(x) * tf.cast(tf.maximum(0, tf.cast(y, tf.int32)), tf.float32)",
        "model(x) / tf.cast(tf.maximum(1, 3), tf.float32)",
        "tf.where(y > 0, model(x), 0)",
    ],
)
def test_other_numbers_stand_in_no_way(given: str) -> None:
    assert "@tf.function" in fixed("TFP101", HINGE.format(given))


CHOSEN = """
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
def hinge(y, x):
    return tf.reduce_mean(tf.nn.relu(1 - y * x))
def shown(y, x):
    print(float(tf.reduce_max(x)))
    return tf.reduce_mean(x - y)
class Learner:
    def __init__(self, kind):
        self.loss = {}
    def step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.loss(y, model(x))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
learner = Learner(KIND)
for x, y in tf.data.Dataset.load("data").batch(32):
    learner.step(x, y)
"""


@pytest.mark.usefixtures("as_one")
@pytest.mark.parametrize(("chosen", "bold"), [("hinge if kind else shown", True), ("shown", False)])
def test_of_functions_that_a_program_chooses_from_one_suffices_for_a_run_to_judge(
    chosen: str, bold: bool
) -> None:
    source = CHOSEN.format(chosen)
    assert "@tf.function" not in fixed("TFP101", source)
    assert ("@tf.function" in fixed("TFP101", source, bold=True)) is bold
