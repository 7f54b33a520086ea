"""Keras on another backend: which branches are not TensorFlow's, and which files are for another."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.rules.support import findings

STEP = """
import keras
import numpy as np
{imports}
model = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.Adam()
backend = keras.backend.backend()
def act(x):
    {test}
        return model(x)
    return model.predict_on_batch(x)
for i in range(1000):
    act(np.ones((1, 4)))
"""


def _flagged(test: str, imports: str = "import tensorflow as tf") -> bool:
    return bool(findings("TFP107", dedent(STEP).format(test=test, imports=imports)))


@pytest.mark.parametrize(
    "test",
    [
        'if backend == "jax":',
        'if keras.config.backend() == "torch":',
        'if backend != "tensorflow":',
        'if not backend == "tensorflow":',
        'if backend in ("jax", "torch"):',
        'if backend not in ["tensorflow"]:',
        'if backend == "tensorflow":\n        pass\n    else:',
        'if backend == "tensorflow":\n        pass\n    elif backend == "jax":',
    ],
)
def test_a_branch_for_others_alone_is_left_alone(test: str) -> None:
    assert not _flagged(test)


@pytest.mark.parametrize(
    "test",
    [
        'if backend == "tensorflow":',
        'if backend in ("tensorflow", "torch"):',
        'if backend != "torch":',
        'if backend == named:',
        'if device == "jax":',
        'if backend > "jax":',
    ],
)  # fmt: skip
def test_a_branch_that_tensorflow_may_take_is_not(test: str) -> None:
    assert _flagged(test)


def test_keras_beside_jax_and_without_tensorflow_runs_on_that() -> None:
    assert not _flagged("if i:", imports="import jax")
    assert not _flagged("if i:", imports="from torch.utils.data import DataLoader")
    assert _flagged("if i:", imports="import jax\nimport tensorflow as tf")
    assert _flagged("if i:", imports="import json")
