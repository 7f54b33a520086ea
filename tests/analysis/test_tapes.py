"""Tapes, their mentions, and what is called on them."""

from __future__ import annotations

import pytest

from tests.analysis.support import model_of
from tflint_perf.analysis.python.syntax import callee_name

TAPES = {
    "a with": ("with tf.GradientTape() as tape: f(x)", ["tape"]),
    "two in one with": ("with tf.GradientTape() as a, tf.GradientTape() as b: f(x)", ["a", "b"]),
    "another way to import it": (
        "from tensorflow import GradientTape as G\nwith G() as tape: f(x)",
        ["tape"],
    ),
    "one without a name": ("with tf.GradientTape(): f(x)", []),
    "one under an attribute": ("with tf.GradientTape() as self.tape: f(x)", []),
    "one made before": ("tape = tf.GradientTape()\nwith tape: f(x)", []),
    "another context": ("with open(x) as tape: f(x)", []),
}


@pytest.mark.parametrize(("source", "names"), TAPES.values(), ids=TAPES.keys())
def test_finds_the_tapes_that_have_a_name(source: str, names: list[str]) -> None:
    assert [tape.target.value for tape in model_of(source).tapes.all()] == names


def test_a_mention_belongs_to_the_tape_that_it_may_mean() -> None:
    source = """
        with tf.GradientTape() as tape:
            tape.watch(x)
        grads = tape.gradient(y, x)
        with tf.GradientTape() as tape:
            tape.reset()
        del tape
    """
    model = model_of(source)
    calls = [[model.tapes.call_on(m) for m in model.tapes.mentions(tape)] for tape in model.tapes.all()]
    names = [[callee_name(call) if call is not None else "" for call in row] for row in calls]
    assert names == [["watch", "gradient"], ["reset"]]
