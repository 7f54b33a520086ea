"""Which calls train, and by what."""

from __future__ import annotations

import pytest

from tests.analysis.support import model_of
from tflint_perf.analysis.execution.trains import By, trains_by
from tflint_perf.analysis.training.train_calls import TrainCalls

BY: dict[str, By] = {
    "optimizer = keras.optimizers.Adam()\noptimizer.apply_gradients(zip(g, v))": "update",
    "self.optimizer.apply_gradients(pairs)": "update",
    "optimizer.minimize(lambda: loss(x), v)": "update",
    "model = keras.Sequential()\nmodel.train_on_batch(x, y)": "batch",
    "agent.train_on_batch(x, y)": "batch",
    "model = keras.Sequential()\nmodel.fit(x, y)": "fit",
    "model.fit_generator(flow)": "fit",
}
NONE = [
    "apply_gradients(pairs)",
    "from scipy import optimize\noptimize.minimize(f, x)",
    "xs = [1]\nxs.fit(y)",
    "x = tf.constant(1.0)\nx.minimize(y)",
    "ds = tf.data.Dataset.range(3)\nds.fit(y)",
    "model.predict(x)",
    "model.evaluate(x, y)",
    "tape.gradient(loss, v)",
    "v.assign_sub(g)",
]
# What a session runs, by its name or by what made it.
SESSION = (
    "x = tf.placeholder(tf.float32)\nloss = f(x)\nq = tf.train.AdamOptimizer().minimize(loss)\n"
    "train_step = make()\nsess = tf.Session()\n"
)
TRAINS_IN_SESSION = ["sess.run(train_step)", "sess.run([loss, q])", "sess.run([q, loss], feed_dict={x: 1})"]
DOES_NOT = ["sess.run(loss)", "sess.run(tf.global_variables_initializer())", "subprocess.run(train)"]


@pytest.mark.parametrize("source", BY)
def test_a_call_trains_by(source: str) -> None:
    model = model_of(source)
    method = source.splitlines()[-1].split("(")[0].rsplit(".", 1)[1]
    (call,) = model.walk.calls[method]
    assert trains_by(model.infer, call) == BY[source]
    assert TrainCalls(model.infer, model.calls).trains(call)


@pytest.mark.parametrize("source", NONE)
def test_a_call_trains_nothing(source: str) -> None:
    model = model_of(source)
    method = source.splitlines()[-1].split("(")[0].rsplit(".", 1)[-1]
    (call,) = model.walk.calls[method]
    assert trains_by(model.infer, call) is None
    assert not TrainCalls(model.infer, model.calls).trains(call)


@pytest.mark.parametrize("code", TRAINS_IN_SESSION)
def test_a_session_trains(code: str) -> None:
    model = model_of(SESSION + code)
    (call,) = model.walk.calls["run"]
    assert TrainCalls(model.infer, model.calls).trains(call)


@pytest.mark.parametrize("code", DOES_NOT)
def test_a_session_that_trains_nothing(code: str) -> None:
    model = model_of(SESSION + code)
    (call,) = model.walk.calls["run"]
    assert not TrainCalls(model.infer, model.calls).trains(call)
