"""For which version of TensorFlow a file is written."""

from __future__ import annotations

import pytest

from tests.analysis.support import model_of

VERSION_2 = {
    "a tape": "with tf.GradientTape() as tape: f(x)",
    "a compiled function": "@tf.function\ndef f(x): return x",
    "a seed": "tf.random.set_seed(1)",
    "a policy": "from tensorflow.keras import mixed_precision\nmixed_precision.set_global_policy('float32')",
    "how devices are chosen": "tf.config.set_visible_devices([], 'GPU')",
    "a layer": "from tensorflow.keras.layers import Rescaling\nmodel = keras.Sequential([Rescaling(1 / 255)])",
    "a function of version 1 that has no graph": "tf.random.set_seed(1)\ntf.compat.v1.logging.set_verbosity(0)",
    "the reset of a graph": "tf.random.set_seed(1)\ntf.compat.v1.reset_default_graph()",
}
UNKNOWN = {
    "nothing that tells": "model = keras.Sequential()\nmodel.fit(x)",
    "a tape and a session": "with tf.GradientTape() as t: f(x)\ns = tf.compat.v1.Session()",
    "a graph": "tf.random.set_seed(1)\ng = tf.Graph()",
    "a seed of version 1": "tf.random.set_seed(1)\ntf.compat.v1.set_random_seed(1)",
    "what version 1 had as well": "data = data.prefetch(tf.data.experimental.AUTOTUNE)",
    "a module of version 1": "import tensorflow.compat.v1 as tf1\ntf.random.set_seed(1)",
    "contrib": "from tensorflow.contrib import slim\ntf.random.set_seed(1)",
    "the same names of another module": "def GradientTape(): pass\nwith GradientTape() as tape: f(x)",
}


@pytest.mark.parametrize("source", VERSION_2.values(), ids=VERSION_2.keys())
def test_knows_code_for_version_2(source: str) -> None:
    assert model_of(source).versions.is_version_2()


@pytest.mark.parametrize("source", UNKNOWN.values(), ids=UNKNOWN.keys())
def test_takes_nothing_else_for_it(source: str) -> None:
    assert not model_of(source).versions.is_version_2()


VERSION_1 = {
    "contrib": "x = tf.contrib.layers.flatten(y)",
    "eager mode by a switch": "tf.enable_eager_execution()",
    "an op that stands elsewhere today": "large = keras.layers.Lambda(lambda x: tf.depth_to_space(x, 2))",
    "a parser that stands elsewhere today": "def parse(text):\n    return tf.parse_single_example(text, features)",
}
NOT_VERSION_1 = {
    "an op of both": "large = tf.nn.depth_to_space(x, 2)",
    "by the old names of version 2": "x = tf.compat.v1.depth_to_space(x, 2)",
    "beside a tape": "with tf.GradientTape() as tape: f(tf.log(x))",
    "where the version is asked for": "y = tf.log(x) if old else tf.math.log(x)",
}


@pytest.mark.parametrize("source", VERSION_1.values(), ids=VERSION_1.keys())
def test_knows_code_for_version_1(source: str) -> None:
    assert model_of(source).versions.is_version_1()


@pytest.mark.parametrize("source", NOT_VERSION_1.values(), ids=NOT_VERSION_1.keys())
def test_takes_nothing_else_for_version_1(source: str) -> None:
    assert not model_of(source).versions.is_version_1()
