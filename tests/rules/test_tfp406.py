"""TFP406 gc-in-loop."""

from __future__ import annotations

import pytest

from tests.rules.support import costs_told, flagged

LOOP = "import gc\nimport tensorflow as tf\nfor x, y in dataset:\n    model.train_on_batch(x, y)\n    {}\n"


@pytest.mark.parametrize("call", ["gc.collect(0)", "gc.collect(1)", "gc.collect(generation=1)"])
def test_leaves_young_generations_alone_which_are_few_objects(call: str) -> None:
    assert flagged("TFP406", LOOP.format(call)) == []


@pytest.mark.parametrize("call", ["gc.collect()", "gc.collect(2)", "gc.collect(generation=2)"])
def test_tells_the_cost_of_a_full_collection(call: str) -> None:
    assert costs_told("TFP406", LOOP.format(call)) == [True]
