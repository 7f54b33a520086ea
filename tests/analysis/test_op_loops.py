"""Loops made of ops."""

from __future__ import annotations

import pytest

from tests.analysis.support import model_of
from tflint_perf.analysis.model import Loop, Model


def last_loop(source: str) -> tuple[Model, Loop]:
    model = model_of(source)
    return model, list(model.walk.loops.values())[-1]


CARRIED = {
    "x = 1\nfor _ in r: x = x + 1": ["x"],
    "x = 1\nfor _ in r: x += 1": ["x"],
    "x = 1\nfor _ in r:\n    y = x\n    x = f(y)": ["x"],
    "x = 1\nfor _ in r: y = x": [],
    "x = 1\nfor _ in r:\n    x = f()\n    y = x": [],
    "for x in r: y = x": [],
    "a, b = 1, 2\nfor _ in r: a, b = b, a + b": ["a", "b"],
    "x = 1\nfor _ in r:\n    if q: x = x * 2": ["x"],
}


@pytest.mark.parametrize(("source", "names"), CARRIED.items())
def test_it_tells_what_iterations_hand_on(source: str, names: list[str]) -> None:
    model, loop = last_loop(source)
    assert list(model.op_loops.carried(loop)) == names


@pytest.mark.parametrize(
    ("body", "alone"),
    [
        ("x = tf.square(x)", True),
        ("print(x.numpy())", True),
        ("xs = []; xs.append(x * 2.0)", True),
        ("x = helper(x)", True),
        ("x = unknown(x)", False),
        ("x = x + np.ones(3)", False),
        ("x = layer(x)", False),
        ("x = compiled(x)", False),
        ("data = open(x)", False),
    ],
)
def test_it_tells_whether_an_iteration_runs_ops_alone(body: str, alone: bool) -> None:
    model, loop = last_loop(
        "def helper(x): return tf.square(x)\n@tf.function\ndef compiled(x): return x\n"
        f"layer = keras.layers.Dense(1)\nx = tf.ones(3)\nfor _ in range(100): {body}"
    )
    assert model.op_loops.runs_ops_alone(loop) is alone


@pytest.mark.parametrize(
    ("source", "steered"),
    [
        ("for i in r:\n    if i == 3: x = 1", False),
        ("for i in r:\n    if flag: x = 1", False),
        ("for i in r:\n    x = f(x)\n    if x > 3: break", True),
        ("for i in r:\n    if tf.reduce_any(y): break", True),
        ("for i in r:\n    if float(y) > 3: break", True),
        ("n = 0\nwhile n < 3: n += 1", False),
        ("while x < 3: x = f(x)", True),
    ],
)
def test_it_tells_whether_a_loop_is_steered_by_what_it_computes(source: str, steered: bool) -> None:
    model, loop = last_loop(source)
    assert model.op_loops.is_steered(loop) is steered


@pytest.mark.parametrize(
    ("source", "runs"),
    [
        ("for _ in r: pass", True),
        ("def f():\n    for _ in r: pass\nf()", True),
        ("def f():\n    for _ in r: pass\ndef main(): f()", True),
        ("def f():\n    for _ in r: pass", False),
        ("@tf.function\ndef f():\n    for _ in r: pass\nf()", False),
        ("def f():\n    for _ in r: pass\nwith tf.GradientTape() as tape: f()", False),
    ],
)
def test_it_tells_whether_a_program_runs_a_loop_in_eager_mode(source: str, runs: bool) -> None:
    model, loop = last_loop(source)
    assert model.op_loops.runs_in_eager_program(loop) is runs
