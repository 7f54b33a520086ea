"""What belongs to a training step."""

from __future__ import annotations

import pytest

from tests.analysis.support import here, model_of

STEP = """
    with tf.GradientTape() as tape:
        loss = {loss}
    optimizer.apply_gradients(zip(tape.gradient(loss, v), v))
"""
TABLE = [
    ("def step(x):\n    here()" + STEP.format(loss="model(x)"), True),
    ("def loss_of(x):\n    here()\ndef step(x):" + STEP.format(loss="loss_of(x)"), True),
    ("def step(x):" + STEP.format(loss="model(x)") + "def evaluate(x):\n    here()", False),
    ("for x in tf.data.Dataset.range(3).batch(2):\n    here()" + STEP.format(loss="model(x)"), True),
    ("here()\nfor x in tf.data.Dataset.range(3).batch(2):" + STEP.format(loss="model(x)"), False),
    ("here()", False),
]


@pytest.mark.parametrize(("source", "holds"), TABLE)
def test_what_runs_with_a_gradient_step_belongs_to_it(source: str, holds: bool) -> None:
    model = model_of(source)
    assert model.training_steps.hold(here(model)) is holds
