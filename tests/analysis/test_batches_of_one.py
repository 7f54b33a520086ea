"""Samples of which a batch is made at once."""

from __future__ import annotations

import pytest

from tests.analysis.support import here, model_of

HEAD = "import numpy as np\nimport tensorflow as tf\n"


@pytest.mark.parametrize(
    ("source", "is_one"),
    [
        ("tf.expand_dims(here(x), 0)", True),
        ("tf.expand_dims(here(x), axis=0)", True),
        ("here(x)[tf.newaxis, ...]", True),
        ("tf.reshape(here(x), (1, 9))", True),
        ("y = here(x)\nmodel(tf.expand_dims(y, 0))", True),
        ("y = here(x)\nz = tf.pad(y, [[1, 1], [0, 0]])\nz = z[None]", True),
        ("y = here(x)\nz = tf.abs(y)\nmodel(z)", False),
        ("y = here(x)\nz = tf.reduce_mean(y, 0)\nmodel(z[None])", False),
        ("y = here(x)\nwhile going:\n    y = tf.abs(y)", False),
        ("tf.expand_dims(here(x), -1)", False),
        ("model(here(x), other[None])", False),
        ("tf.reshape(here(x), (32, 9))", False),
    ],
)
def test_a_sample_gets_a_batch_axis_by_hand(source: str, is_one: bool) -> None:
    model = model_of(HEAD + source)
    assert model.loops.batches.is_made_one_of(here(model)) is is_one
