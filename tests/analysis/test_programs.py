"""What a file says of how it is run."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.analysis.support import model_of


@pytest.mark.parametrize(
    ("source", "is_graph_code"),
    [
        # Sessions that only switch on memory growth.
        ("session = tf.compat.v1.InteractiveSession(config=config)", False),
        ("from tensorflow.compat.v1 import InteractiveSession\nsession = InteractiveSession(config=config)", False),
        ("tf.compat.v1.InteractiveSession(config=config)", False),
        ("s = tf.compat.v1.Session(config=c)\ntf.compat.v1.keras.backend.set_session(s)", False),
        ("tf.compat.v1.keras.backend.set_session(tf.compat.v1.Session(config=c))", False),
        # Sessions in which something is run, or may be.
        ("s = tf.compat.v1.Session()\ns.run(x)", True),
        ("s = tf.compat.v1.InteractiveSession()\nx.eval()", True),
        ("with tf.compat.v1.Session() as s:\n    f()", True),
        ("def f():\n    return tf.compat.v1.Session()", True),
        ("s = tf.compat.v1.Session()\nf(s)", True),
        ("s = tf.Session(config=c)\nK.set_session(s)", True),
        ("tf.compat.v1.disable_eager_execution()\ns = tf.compat.v1.InteractiveSession()", True),
        ("x = tf.compat.v1.placeholder(tf.float32)", True),
    ],
)  # fmt: skip
def test_only_what_runs_in_a_session_is_graph_code(source: str, is_graph_code: bool) -> None:
    assert model_of(source).programs.is_graph_code() is is_graph_code


STEP = """
    def make(model, opt):
        @tf.function
        def step(x):
            with tf.GradientTape() as tape:
                loss = model(x)
            opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        return step
    """


@pytest.mark.parametrize(
    ("source", "trains"),
    [
        ("step = make(model, opt)\nfor x in data: step(x)", True),
        ("class Driver:\n    def __init__(self): self.step = make(model, opt)\nDriver()", True),
        ("def unused(): make(model, opt)", False),
        ("step = None\nif tpu: step = make(model, opt)\nelse: step = make(other, opt)\nstep(x)", True),
    ],
)
def test_a_program_trains_by_what_its_functions_define(source: str, trains: bool) -> None:
    made = "model, other, opt = keras.Sequential(), keras.Sequential(), keras.optimizers.Adam()\n"
    made += "data, x, tpu = load()\ndef load(): return 1, 2, 3\n"
    assert model_of(f"{dedent(STEP)}\n{made}\n{source}\n").programs.trains() is trains
