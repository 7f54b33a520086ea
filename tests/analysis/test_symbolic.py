"""Symbolic tensors: values that the graph computes, in code that is surely traced."""

from __future__ import annotations

import pytest

from tests.analysis.support import here, model_of

TRACED = {
    "decorated": "@tf.function\ndef f(): here()",
    "wrapped, and called as wrapped alone": "def f(): here()\ng = tf.function(f)\ng()",
    "called from traced code alone": "def f(): here()\n@tf.function\ndef g(): f()",
    "nested in traced code": "@tf.function\ndef g():\n    def f(): here()\n    f()",
    "mapped": "def f(x): here()\ntf.data.Dataset.range(3).map(f)",
    "a lambda": "tf.data.Dataset.range(3).map(lambda x: here())",
    "a model's step that is fitted": "class M(keras.Model):\n    def train_step(self, x): here()\nM().fit(x)",
}
NOT_TRACED = {
    "the module": "here()",
    "an eager function": "def f(): here()\nf()",
    "called eagerly, too": "def f(): here()\ntf.function(f)()\nf()",
    "a helper of eager code, too": "def f(): here()\n@tf.function\ndef g(): f()\nf()",
    "run by tf.map_fn in eager mode": "tf.map_fn(lambda x: here(), xs)",
    "a model's call": "class M(keras.Model):\n    def call(self, x): here()",
    "a model that is fitted eagerly": (
        "class M(keras.Model):\n    def train_step(self, x): here()\nm = M()\nm.compile(run_eagerly=True)\nm.fit(x)"
    ),
    "a Python function": "tf.py_function(lambda: here(), [], [])",
    "code that asks for the mode": "@tf.function\ndef f():\n    if not tf.executing_eagerly(): here()",
}
SYMBOLIC = {
    "an op": "here(tf.square(2.0))",
    "a name": "y = tf.square(2.0)\n    here(y)",
    "arithmetic": "y = tf.square(2.0)\n    here(1 - y / 2)",
    "a comparison": "y = tf.square(2.0)\n    here(y > 1)",
    "a part": "y = tf.square(2.0)\n    here(y[0])",
    "one of several": "a, b = tf.unstack(xs)\n    here(b)",
    "an iteration's": "for y in tf.range(3):\n        here(y)",
    "a gradient": "with tf.GradientTape() as tape:\n        pass\n    g = tape.gradient(a, b)\n    here(g)",
    "what a helper gives": "here(helper(1))",
    "a counted one's": "for i, y in enumerate(tf.unstack(xs)):\n        here(y)",
}
CONCRETE = {
    "a constant from outside": "here(outside)",
    "a static shape": "y = tf.square(2.0)\n    here(y.shape[0])",
    "a count": "for i, y in enumerate(tf.unstack(xs)):\n        here(i)",
    "a question for None": "y = tf.square(2.0)\n    here(y is None)",
    "a Python number": "here(1 + 2)",
    "a parameter": "here(x)",
    "what an unknown function gives": "here(unknown(tf.square(2.0)))",
    "one of two, and the other is not": "y = tf.square(2.0)\n    if x:\n        y = outside\n    here(y)",
}


@pytest.mark.parametrize("source", TRACED.values(), ids=TRACED.keys())
def test_is_surely_traced(source: str) -> None:
    model = model_of(source)
    assert model.symbolic.is_traced(model.function_at(here(model)))


@pytest.mark.parametrize("source", NOT_TRACED.values(), ids=NOT_TRACED.keys())
def test_is_not_surely_traced(source: str) -> None:
    model = model_of(source)
    assert not model.symbolic.is_traced(model.function_at(here(model)))


def is_symbolic(body: str) -> bool:
    """Whether what `here` is given in the body of a traced function is a symbolic tensor."""
    head = "outside = tf.constant(1.0)\ndef helper(n):\n    return tf.square(2.0)\n"
    model = model_of(f"{head}@tf.function\ndef f(x, xs):\n    {body}\n")
    return model.symbolic.is_symbolic(here(model).args[0].value)


@pytest.mark.parametrize("body", SYMBOLIC.values(), ids=SYMBOLIC.keys())
def test_knows_a_symbolic_tensor(body: str) -> None:
    assert is_symbolic(body)


@pytest.mark.parametrize("body", CONCRETE.values(), ids=CONCRETE.keys())
def test_takes_nothing_else_for_one(body: str) -> None:
    assert not is_symbolic(body)
