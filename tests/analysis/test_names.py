"""Qualified names through every way of importing."""

from __future__ import annotations

import libcst as cst
import pytest

from tests.analysis.support import here, model_of
from tflint_perf.analysis.model import Model


def qualified(source: str) -> str:
    """The qualified name of the last call's function."""
    model = Model(cst.parse_module(source), source)
    calls = [call for calls in model.walk.calls.values() for call in calls]
    return model.qualified(max(calls, key=lambda call: model.infer.place(call).order).func)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import tensorflow as tf\ntf.function(f)", "tf.function"),
        ("import tensorflow\ntensorflow.function(f)", "tf.function"),
        ("from tensorflow import function\nfunction(f)", "tf.function"),
        ("from tensorflow import function as compiled\ncompiled(f)", "tf.function"),
        ("import tensorflow.compat.v1 as tf\ntf.Session()", "tf.Session"),
        ("import tensorflow\ntensorflow.compat.v1.Session()", "tf.Session"),
        ("import tensorflow as tf\ntf.compat.v2.function(f)", "tf.function"),
        ("from tensorflow.compat import v1 as tf\ntf.Session()", "tf.Session"),
        ("from tensorflow import keras\nkeras.Model()", "keras.Model"),
        ("import keras\nkeras.Model()", "keras.Model"),
        ("from .base import tf\ntf.function(f)", "tf.function"),
        ("from common.imports import np, tf\nnp.mean(x)", "common.imports.np.mean"),
        ("from common.imports import keras\nkeras.Model()", "keras.Model"),
        ("from jax import numpy\nnumpy.mean(x)", "jax.numpy.mean"),
        ("from common import tf as flow\nflow.function(f)", "tf.function"),
        ("import tf_keras as keras\nkeras.Model()", "keras.Model"),
        ("import tensorflow as tf\ntf.keras.layers.Dense(1)", "keras.layers.Dense"),
        ("from tensorflow.keras import layers\nlayers.Dense(1)", "keras.layers.Dense"),
        ("from tensorflow.keras.layers import Dense as D\nD(1)", "keras.layers.Dense"),
        ("import tensorflow.keras.backend as K\nK.clear_session()", "keras.backend.clear_session"),
        ("from tensorflow.python import keras\nkeras.Model()", "keras.Model"),
        ("from tensorflow.python.keras.api._v2 import keras\nkeras.Model()", "keras.Model"),
        ("from tensorflow.python.eager import def_function\ndef_function.function(f)", "tf.function"),
        ("import tensorflow.contrib.eager as tfe\ntfe.defun(f)", "tf.function"),
        ("import tensorflow as tf\nds = tf.data.Dataset\nds.range(3)", "tf.data.Dataset.range"),
        ("import tensorflow as tf\nlayers = tf.keras.layers\nlayers.Dense(1)", "keras.layers.Dense"),
        ("from tensorflow import *\nfunction(f)", "tf.function"),
        ("from tensorflow.keras.layers import *\nDense(1)", "keras.layers.Dense"),
        (
            "from tensorflow.keras.models import *\nfrom tensorflow.keras.layers import *\nModel()",
            "keras.models.Model",
        ),
        (
            "try:\n    import tensorflow.compat.v1 as tf\nexcept ImportError:\n    import tensorflow as tf\ntf.cast(x)",
            "tf.cast",
        ),
        ("try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None\ntf.cast(x)", "tf.cast"),
        (
            "from keras.utils.image_dataset import image_dataset_from_directory as f\nf('a')",
            "keras.utils.image_dataset_from_directory",
        ),
        ("def f():\n    import tensorflow as tf\n    tf.cast(x)", "tf.cast"),
        ("import numpy as np\nnp.random.rand(3)", "np.random.rand"),
        ("from numpy import random\nrandom.rand(3)", "np.random.rand"),
    ],
)
def test_an_imported_name_is_known(source: str, name: str) -> None:
    assert qualified(source) == name


@pytest.mark.parametrize(
    "source",
    [
        "tf.function(f)",
        "import torch as tf2\ntf.function(f)",
        "import tensorflow as tf\ndef f(tf):\n    tf.function(g)",
        "import tensorflow as tf\ntf = other\ntf.function(g)",
        "def f():\n    import tensorflow as tf\ntf.function(g)",
        "from tensorflow import *\nprint(g)",
        "class A:\n    import tensorflow as tf\n    def f(self):\n        tf.cast(x)",
    ],
)
def test_a_name_that_means_something_else_is_not_taken_for_tensorflow(source: str) -> None:
    assert not qualified(source).startswith(("tf.", "keras."))


@pytest.mark.parametrize(
    ("imports", "spelled"),
    [
        ("import tensorflow as tf", "tf.data.AUTOTUNE"),
        ("import tensorflow", "tensorflow.data.AUTOTUNE"),
        ("import tensorflow.compat.v1 as tf1", "tf1.data.AUTOTUNE"),
        ("from tensorflow import data", "data.AUTOTUNE"),
        ("from tensorflow.data import AUTOTUNE", "AUTOTUNE"),
        ("from tensorflow import *", "data.AUTOTUNE"),
        ("from tensorflow import keras", None),
        ("def f():\n    import tensorflow as tf", None),
    ],
)
def test_a_name_is_spelled_as_the_file_does(imports: str, spelled: str | None) -> None:
    assert Model(cst.parse_module(imports), imports).names.spelled("data.AUTOTUNE") == spelled


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("from common import *\ntf.function(f)", "tf.function"),
        ("from .common import *\nnp.zeros(3)", "np.zeros"),
        ("from common import *\npd.read_csv(path)", "pandas.read_csv"),
        ("from common import *\nrandom.sample(memory, 32)", "random.sample"),
        ("from common import *\nrandom = Random()\nrandom.sample(memory, 32)", ""),
        ("from numpy import *\nfrom common import *\nrandom.choice(rows)", ""),
        ("random.sample(memory, 32)", ""),
        ("from common import *\nother.thing()", ""),
        ("tf.function(f)", ""),
    ],
)
def test_usual_names_that_a_star_import_may_bring_are_known(source: str, name: str) -> None:
    assert qualified(source) == name


def test_what_gives_a_name_or_an_attribute_its_value() -> None:
    model = model_of(
        """
        class Agent:
            def __init__(self, rate):
                self.rate = rate
            def train(self):
                here(self.rate, model, Agent, 2)
        model = keras.Sequential()
        """
    )
    attribute, name, klass, number = (arg.value for arg in here(model).args)
    given = [
        [binding.kind for binding in model.infer.given_to(node)] for node in (attribute, name, klass, number)
    ]
    assert given == [["assign"], ["assign"], ["class"], []]
    assert [model.infer.bindings(node) for node in (attribute, number, None)] == [[], [], []]


def test_a_builtin_is_a_name_that_the_file_does_not_bind() -> None:
    model = model_of(
        """
        def sum(values): ...
        here(sum, max, keras.Model)
        """
    )
    assert [model.infer.names.is_builtin(arg.value) for arg in here(model).args] == [False, True, False]


def test_a_call_is_told_by_what_the_function_of_a_library_is_marked_as() -> None:
    model = model_of("here(tf.reduce_mean(x), mine.reduce_mean(x), tf.reduce_mean)")
    assert [model.names.is_call_that(arg.value, "reduces", "casts") for arg in here(model).args] == [
        True,
        False,
        False,
    ]
    assert not model.names.is_call_that(here(model).args[0].value, "casts")
