"""Parts of a model are made of those that they need, and work nothing out before they are asked."""

from __future__ import annotations

import libcst as cst
import pytest

from tflint_perf.analysis.model import Model, Parts
from tflint_perf.analysis.values.callees import Callees
from tflint_perf.analysis.values.infer import Inference

SCRIPT = """\
import tensorflow as tf


def step(model, batch):
    with tf.GradientTape() as tape:
        return model(batch)


for batch in tf.data.Dataset.range(8).batch(2):
    step(net, batch)
"""
PARTS = [name for name, made in vars(Parts).items() if hasattr(made, "__get__") and not name.startswith("_")]


@pytest.mark.parametrize("name", PARTS)
def test_making_a_part_works_nothing_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Model(cst.parse_module(SCRIPT), SCRIPT)

    def asked(*_: object) -> None:
        pytest.fail(f"making `{name}` asks for a value")

    monkeypatch.setattr(Inference, "value", asked)
    monkeypatch.setattr(Callees, "candidates", asked)
    assert getattr(model, name) is not None
