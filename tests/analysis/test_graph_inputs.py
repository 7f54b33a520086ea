"""Which datasets the graphs and estimators of TensorFlow 1 programs take elements from."""

from __future__ import annotations

import pytest

from tests.analysis.support import model_of

_DATASET = "ds = tf.data.Dataset.from_tensor_slices(rows).shuffle(9).batch(3)\n"
_TRAINING = """
images, labels = element
loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(images, 10))
step = tf.train.AdamOptimizer().minimize(loss)
with tf.Session() as sess:
    for i in range(1000):
        sess.run(step)
"""
_INPUT = """
def make(path, size):
    ds = tf.data.TextLineDataset(path).map(parse)
    return ds.shuffle(100).repeat().batch(size)
estimator = tf.estimator.Estimator(model_fn)
"""

CONSUMED = {
    "a one-shot iterator": f"{_DATASET}element = ds.make_one_shot_iterator().get_next(){_TRAINING}",
    "an iterator with a name": f"{_DATASET}it = ds.make_initializable_iterator()\nelement = it.get_next(){_TRAINING}",
    "a function that makes iterators": (
        f"{_DATASET}it = tf.compat.v1.data.make_one_shot_iterator(ds)\nelement = it.get_next(){_TRAINING}"
    ),
    "an iterator that takes several datasets": (
        f"{_DATASET}it = tf.data.Iterator.from_structure(ds.output_types, ds.output_shapes)\n"
        f"start = it.make_initializer(ds)\nelement = it.get_next(){_TRAINING}"
    ),
    "a function that makes an iterator for a program elsewhere": (
        "def inputs(paths):\n    ds = tf.data.TFRecordDataset(paths).map(parse).shuffle(9).batch(3)\n"
        "    return ds.make_one_shot_iterator().get_next()\nrows = tf.placeholder(tf.float32)"
    ),
    "a function that makes an iterator, which the file tries out when it is run by itself": (
        "def inputs(paths):\n    ds = tf.data.TFRecordDataset(paths).map(parse).shuffle(9).batch(3)\n"
        "    return ds.make_one_shot_iterator().get_next()\n"
        "if __name__ == '__main__':\n    batch = inputs(paths)\n"
        "    with tf.Session() as sess:\n        print(sess.run(batch))"
    ),
    "an input function": f"{_INPUT}def inputs():\n    return make('a', 3)\nestimator.train(input_fn=inputs)",
    "an input function in place": f"{_INPUT}estimator.train(input_fn=lambda: make('a', 3), steps=100)",
    "an input function to evaluate with": f"{_INPUT}estimator.evaluate(input_fn=lambda: make('a', 3))",
    "a specification": f"{_INPUT}spec = tf.estimator.TrainSpec(lambda: make('a', 3), max_steps=100)",
    "a partial of an input function": (
        f"import functools\n{_INPUT}tf.estimator.EvalSpec(input_fn=functools.partial(make, 'a', 3))"
    ),
}
NOT_CONSUMED = {
    "an iterator that a session only looks at": (
        f"{_DATASET}element = ds.make_one_shot_iterator().get_next()\n"
        "with tf.Session() as sess:\n    print(sess.run(element))"
    ),
    "a function that looks at a dataset": (
        "def show(paths):\n    ds = tf.data.TFRecordDataset(paths).repeat().batch(3)\n"
        "    element = ds.make_one_shot_iterator().get_next()\n"
        "    with tf.Session() as sess:\n        print(sess.run(element))"
    ),
    "eager code": (
        f"{_DATASET}it = tf.compat.v1.data.make_one_shot_iterator(ds)\n"
        "@tf.function\ndef f(x):\n    return x\nf(it.get_next())"
    ),
    "arrays that an input function is made of": (
        "inputs = tf.estimator.inputs.numpy_input_fn(x, y)\nestimator.train(input_fn=inputs)"
    ),
    "an agent that is trained": f"{_INPUT}agent.train(make('a', 3))",
}


@pytest.mark.parametrize("source", CONSUMED.values(), ids=CONSUMED.keys())
def test_what_a_graph_or_an_estimator_trains_on_is_consumed(source: str) -> None:
    (consumption,) = model_of(source).graph_inputs.consumptions()
    assert consumption.value.some_pipeline_has("batch")


@pytest.mark.parametrize("source", NOT_CONSUMED.values(), ids=NOT_CONSUMED.keys())
def test_what_is_looked_at_or_not_known_is_not_consumed(source: str) -> None:
    assert list(model_of(source).graph_inputs.consumptions()) == []
