"""What a file says of how it is run."""

from __future__ import annotations

import pytest

from tests.model.support import model_of


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
