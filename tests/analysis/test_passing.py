"""Values on their way into compiled code."""

from __future__ import annotations

import pytest

from tests.analysis.support import here, model_of

PYTHON = {
    "here(3)": "a Python number",
    "here('a')": "a Python string",
    "here([1, 2])": "a Python list",
    "here({'a': 1})": "a Python dict",
    "class A:\n  pass\nhere(A())": "a Python object",
    "s, r, done, _ = env.step(0)\nhere(r)": "a Python number",
    "s, r, done, _ = env.step(0)\nr = -1 if done else r\nhere(r)": "a Python number",
    "s, r, done, _ = env.step(0)\nhere(1 - done)": "a Python number",
}
TENSORS = [
    "here(tf.zeros(3))",
    "here(np.zeros(3))",
    "here((tf.zeros(3), np.zeros(3)))",
    "here({'a': tf.zeros(3)})",
    "here([tf.Variable(1.0)])",
    "s, r, done, _ = env.step(0)\nhere(s)",
    "s, r, done, _ = env.step(0)\nhere(tf.constant(r))",
    "here(unknown)",
]


@pytest.mark.parametrize(("source", "expected"), PYTHON.items(), ids=PYTHON.keys())
def test_a_python_value_is_told_by_its_type(source: str, expected: str) -> None:
    model = model_of(source + "\n")
    assert model.passing.python_value(here(model).args[0].value) == expected


@pytest.mark.parametrize("source", TENSORS)
def test_a_tensor_is_no_python_value(source: str) -> None:
    model = model_of(source + "\n")
    assert model.passing.python_value(here(model).args[0].value) == ""


MEETING = {
    "x - model(1)": True,
    "tf.subtract(x, y)": True,
    "unknown(x, y)": True,
    "mine(x)": True,
    "x + 1": False,
    "unknown(x)": False,
    "keeping(x)": False,
    "tf.one_hot(x, 3)": False,
    "tf.keras.losses.MeanSquaredError()(x, y)": False,
    "tf.keras.layers.Dense(1)(x)": False,
}


@pytest.mark.parametrize(("use", "meets"), MEETING.items(), ids=MEETING.keys())
def test_an_array_meets_tensors_where_it_is_computed_with(use: str, meets: bool) -> None:
    source = f"def mine(a):\n  return a * tf.ones(3)\ndef keeping(b):\n  return b.shape\nx = np.zeros(3)\nuse = {use}\n"
    model = model_of(source)
    uses = [name for name in model.walk.names["x"] if model.function_at(name) is None][1:]
    assert model.passing.meets_tensors(uses) is meets


@pytest.mark.parametrize(
    ("use", "expected"), [("x.labels", True), ("x(1)", True), ("x.shape", False), ("x + 1", False)]
)
def test_an_object_is_told_by_what_it_is_asked_for(use: str, expected: bool) -> None:
    model = model_of(f"use = {use}\n")
    assert model.passing.is_used_as_object(model.walk.names["x"]) is expected
