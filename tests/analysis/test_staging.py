"""What stands against loops in the graph."""

from __future__ import annotations

import pytest
from tflint_perf.rules.eager.staging import Staging

from tests.analysis.support import function, model_of


def obstacle(before: str, body: str, iterable: str = "range(100)") -> str:
    """What stands against a loop over `tf.range`; "" for nothing."""
    lines = "".join(f"    {line}\n" for line in before.split("; ") if line)
    inner = "".join(f"        {line}\n" for line in body.split("; "))
    source = f"w = tf.Variable(3.0)\n@tf.function\ndef f(given):\n{lines}    for i in {iterable}:\n{inner}    return x\n"
    model = model_of(source)
    (loop,) = model.walk.loops.values()
    found = model.own(Staging).obstacle(loop)
    return found.reason if found is not None else ""


@pytest.mark.parametrize(
    ("before", "body"),
    [
        ("x = tf.constant(1.0)", "x = x * 2.0"),
        ("x = tf.constant(1.0)", "x *= 2.0"),
        ("x = 0.0", "x += tf.reduce_sum(given)"),
        ("x = tf.zeros((4, 8))", "x = tf.tanh(tf.matmul(x, w) + given[:, i])"),
        ("x = tf.zeros((4, 8)); y = tf.zeros_like(x)", "y = y - 0.1 * x; x = x + 0.1 * y"),
        ("x = tf.constant([1.0, 2.0])", "x = tf.linalg.matvec(w, x); x = x / tf.norm(x)"),
        ("x = tf.TensorArray(tf.float32, 100)", "x = x.write(i, given[i, 0])"),
        ("x = tf.constant(1.0)", "x = x * tf.cast(i, tf.float32)"),
    ],
)
def test_nothing_stands_against(before: str, body: str) -> None:
    assert obstacle(before, body) == ""


@pytest.mark.parametrize(
    ("before", "body", "reason"),
    [
        ("x = tf.constant(1.0)", "x = x * given", "the shape of `x` may change"),
        ("x = tf.ones((1, 8))", "x = x + given", "the shape of `x` may change"),
        ("x = tf.zeros((4, 8))", "x = tf.concat([x, x], 0)", "the shape of `x` may change"),
        ("x = tf.zeros((4, 8))", "x = x[1:]", "the shape of `x` may change"),
        ("x = tf.zeros((4, 8))", "x = tf.cast(x, tf.int32)", "the shape of `x` may change"),
        ("x = given", "x = x * 2.0", "`x` is not a tensor before the loop"),
        ("x = 0", "x += tf.reduce_sum(given)", "`x` is not a tensor before the loop"),
        ("", "x = tf.square(given)", "`x` has no value before the loop"),
        ("x = []", "x.append(given)", "adds to a Python container"),
        ("x = tf.constant(1.0)", "x = x * i", "`i` is used as a Python number"),
        ("x = tf.constant(1.0)", "x = x * LIST[i]", "`i` is used as a Python number"),
        ("x = tf.constant(1.0)", "x = x * unknown(given)", "what `unknown` does is not known"),
    ],
)
def test_what_stands_against(before: str, body: str, reason: str) -> None:
    assert reason in obstacle(before, body)


@pytest.mark.parametrize("iterable", ["reversed(range(100))", "enumerate(range(100))", "[1, 2]", "range(*n)"])
def test_only_a_plain_range_becomes_tf_range(iterable: str) -> None:
    assert "does not loop over `range`" in obstacle("x = tf.constant(1.0)", "x = x * 2.0", iterable)


@pytest.mark.parametrize(
    ("source", "converted"),
    [
        ("@tf.function\ndef f(): pass", True),
        ("@tf.function(reduce_retracing=True)\ndef f(): pass", True),
        ("@tf.function(autograph=False)\ndef f(): pass", False),
        ("@tf.autograph.experimental.do_not_convert\ndef f(): pass\n@tf.function\ndef g(): f()", False),
        ("def f(): pass\nf = tf.function(f)", True),
        ("def f(): pass\n@tf.function\ndef g(): f()", True),
        ("def f(): pass\n@tf.function(autograph=False)\ndef g(): f()", False),
        ("class M(keras.Model):\n    def f(self): pass\n    def call(self, x): self.f()", False),
        ("def f(): pass", False),
    ],
)
def test_it_tells_what_autograph_converts(source: str, converted: bool) -> None:
    model = model_of(source)
    assert model.own(Staging).is_converted(function(model, "f")) is converted
