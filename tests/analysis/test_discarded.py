"""Results that nobody gets."""

from __future__ import annotations

from textwrap import indent

import pytest
from tflint_perf.rules.precision.discarded import Discarded

from tests.analysis.support import model_of


def discarded(body: str) -> list[str]:
    """What a function of these statements throws away."""
    model = model_of(f"def step(x, grads, optimizer):\n{indent(body, '    ')}\n")
    return [model.module.code_for_node(node) for node in model.own(Discarded).all()]


FOUND = {
    "an op": ("tf.clip_by_norm(x, 15.0)", ["tf.clip_by_norm(x, 15.0)"]),
    "with a sign": ("-tf.reduce_sum(x)", ["tf.reduce_sum(x)"]),
    "in a list": ("[tf.clip_by_norm(g, 15.0) for g in grads]", ["tf.clip_by_norm(g, 15.0)"]),
    "arithmetic": ("y = tf.exp(x)\ny * 2.0", ["y * 2.0"]),
    "a stage": (
        "data = tf.data.Dataset.range(3)\ndata.batch(2)",
        ["data.batch(2)"],
    ),
}
LEFT = {
    "a call with an effect": "tf.debugging.assert_positive(tf.abs(x))",
    "an effect among its arguments": "tf.stack([optimizer.apply_gradients(grads)])",
    "an error that is waited for": "try:\n    tf.reshape(x, [3])\nexcept ValueError:\n    pass",
    "a measurement": "import time\nstart = time.time()\ntf.matmul(x, x)\nprint(time.time() - start)",
    "an op with a name": 'tf.identity(x)\ntf.add(x, x, name="sum")',
    "arithmetic of who knows what": "x * 2.0",
}


@pytest.mark.parametrize(("body", "expected"), FOUND.values(), ids=FOUND)
def test_what_only_computes_is_found(body: str, expected: list[str]) -> None:
    assert discarded(body) == expected


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_what_does_more_is_left(body: str) -> None:
    assert discarded(body) == []


def test_what_a_notebook_shows_is_left() -> None:
    assert list(model_of("x = tf.ones([3])\ntf.exp(x)\nx * 2\n").own(Discarded).all()) == []
