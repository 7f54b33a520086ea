"""Parts of a model are made of those that they need, and work nothing out before they are asked."""

from __future__ import annotations

import libcst as cst
import pytest

from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.model import Model, Parts
from tflint_perf.analysis.values.callees import Callees
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part

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


class Counting(Part):
    """A part that a rule makes for itself."""

    _calls: CallGraph
    _loops: Loops

    def __post_init__(self) -> None:
        self.counted = 0


class Above(Part):
    """A part that is made of such a part."""

    own = (Counting,)

    _loops: Loops
    _counting: Counting


def test_a_part_needs_what_its_annotations_name() -> None:
    model = Model(cst.parse_module(SCRIPT), SCRIPT)
    made = model.own(Counting)
    assert Counting.needs == ("calls", "loops")
    assert (made._calls, made._loops, made.counted) == (model.calls, model.loops, 0)


def test_a_part_may_say_that_it_is_made_of_what_only_rules_know() -> None:
    model = Model(cst.parse_module(SCRIPT), SCRIPT)
    made = model.own(Above)
    assert (made._loops, made._counting) == (model.loops, model.own(Counting))


def test_a_part_is_given_all_that_it_needs() -> None:
    with pytest.raises(ValueError, match="shorter"):
        Counting(object())
