"""Conditions that Python decides once, when a function is traced."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.analysis.support import function, model_of


def obstacle(body: str, parameters: str = "x, other") -> str | None:
    """What is said against tracing a function of these statements."""
    model = model_of(f"def step({parameters}):\n{indent(body, '    ')}\n")
    found = model.tracing.obstacle_here(function(model, "step"))
    return None if found is None else found.reason


FREE = {
    "a variable made where there is none": "if other is None:\n    other = tf.Variable(1.0)\nreturn x * other",
    "is None": "if other is None:\n    x = x * 2.0\nreturn x",
    "is not None": "if other is not None:\n    x = x * 2.0\nreturn x",
    "!= None": "if other != None:\n    x = x * 2.0\nreturn x",
    "a switch": "if other:\n    x = x * 2.0\nreturn x",
    "a question of class": "if isinstance(other, tuple):\n    x = x * 2.0\nreturn x",
    "a rank": "if len(x.shape) == 2:\n    return x\nreturn x * 2.0",
    "a type of Keras's backend": "if keras.backend.dtype(other) != 'float32':\n    x = x * 2.0\nreturn x",
}
DECIDED = {
    "a variable made for what is there": (
        "if other is not None:\n    bias = tf.Variable(1.0)\nreturn x",
        "a variable is created on each call",
    ),
    "a value": ("if other > 3:\n    x = x * 2.0\nreturn x", "a condition on `other` is decided on the host"),
    "a counter": (
        "if other % 3 == 0:\n    x = x * 2.0\nreturn x",
        "a Python counter is compared on the host",
    ),
    "a length": (
        "if len(other) > 3:\n    return x\nreturn x * 2.0",
        "a condition on the host decides what is returned",
    ),
}


@pytest.mark.parametrize("body", FREE.values(), ids=FREE)
def test_what_a_trace_knows_is_no_obstacle(body: str) -> None:
    assert obstacle(body) is None


@pytest.mark.parametrize(("body", "reason"), DECIDED.values(), ids=DECIDED)
def test_what_changes_from_call_to_call_is_one(body: str, reason: str) -> None:
    assert obstacle(body) == reason
