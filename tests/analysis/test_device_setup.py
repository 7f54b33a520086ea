"""What has surely run before a place, and made TensorFlow set up its devices."""

from __future__ import annotations

import pytest
from tflint_perf.rules.memory.device_setup import DeviceSetup

from tests.analysis.support import here, model_of

BEFORE = {
    "an op": ("tf.constant(1)\nhere()", "tf.constant"),
    "the first of several": ("tf.zeros(1)\ntf.constant(1)\nhere()", "tf.zeros"),
    "a variable": ("tf.Variable(1)\nhere()", "tf.Variable"),
    "a dataset": ("tf.data.Dataset.range(3).map(f)\nhere()", "tf.data.Dataset.range"),
    "a dataset of files": ("tf.data.TFRecordDataset(f)\nhere()", "tf.data.TFRecordDataset"),
    "a strategy": ("tf.distribute.MirroredStrategy()\nhere()", "tf.distribute.MirroredStrategy"),
    "a whole model": ("keras.applications.ResNet50()\nhere()", "keras.applications.ResNet50"),
    "an op of a with": ("with tf.device('/CPU:0'):\n  tf.constant(1)\nhere()", "tf.constant"),
    "a function": ("def f(): return tf.constant(1)\nf()\nhere()", "f"),
    "in all callers": ("def g(): here()\ndef f():\n  tf.zeros(1)\n  g()\nf()", "tf.zeros"),
}
NOTHING = {
    "an op behind it": "here()\ntf.constant(1)",
    "an op in a branch": "if x: tf.constant(1)\nhere()",
    "an op in a loop": "for i in x: tf.constant(1)\nhere()",
    "an op in a graph": "with graph.as_default(): tf.constant(1)\nhere()",
    "a layer": "keras.layers.Dense(1)\nhere()",
    "a list of the physical devices": "tf.config.list_physical_devices()\nhere()",
    "the strategy in use": "tf.distribute.get_strategy()\nhere()",
    "an op in one caller of two": "def g(): here()\ng()\ntf.zeros(1)\ng()",
    "a function that may run one": "def f():\n  if x: tf.constant(1)\nf()\nhere()",
    "a function that calls itself": "def f(): f()\nf()\nhere()",
    "NumPy": "np.zeros(1)\nhere()",
}


@pytest.mark.parametrize(("source", "wanted"), BEFORE.values(), ids=BEFORE.keys())
def test_knows_what_has_set_up_the_devices(source: str, wanted: str) -> None:
    model = model_of(source)
    found = model.own(DeviceSetup).before(here(model))
    assert found is not None
    assert model.module.code_for_node(found.func) == wanted


@pytest.mark.parametrize("source", NOTHING.values(), ids=NOTHING.keys())
def test_knows_that_nothing_surely_has(source: str) -> None:
    model = model_of(source)
    assert model.own(DeviceSetup).before(here(model)) is None
