"""`tf.function` by a name that another file gives it: what it decorates is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_callers import lint, project, write

__all__ = ["project"]

TRAIN = """
import tensorflow as tf
{}
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
@{}
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x) - y))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
for x, y in batches:
    train_step(x, y)
"""
BY_VERSION = """
import tensorflow as tf
def as_it_is(function):
    return function
if tf.__version__[0] == "1":
    function = as_it_is
else:
    function = tf.function
"""
BY_VERSION_THE_OTHER_WAY = """
import tensorflow as tf
def as_it_is(function):
    return function
if tf.__version__[0] != "1":
    function = tf.function
else:
    function = as_it_is
"""


@pytest.mark.parametrize(
    ("helper", "compiled"),
    [
        ("import tensorflow as tf\nfunction = tf.function\n", True),
        (BY_VERSION, True),
        (BY_VERSION_THE_OTHER_WAY, True),
        ("def function(function):\n    return function\n", False),
    ],
)
@pytest.mark.parametrize(
    ("imports", "decorator"),
    [("import helper", "helper.function"), ("from helper import function", "function")],
)
def test_what_another_file_calls_tf_function_compiles(
    project: Path, helper: str, compiled: bool, imports: str, decorator: str
) -> None:
    found = lint(write(project, helper=helper, train=TRAIN.format(imports, decorator)))
    assert ("TFP101" in found.get("train.py", ())) is not compiled


def test_a_compiled_function_of_another_file_compiles_nothing(project: Path) -> None:
    """What is decorated by it is given to it once, and stays what it gives."""
    helper = "import tensorflow as tf\nfunction = tf.function(lambda x: x)\n"
    found = lint(write(project, helper=helper, train=TRAIN.format("import helper", "helper.function")))
    assert "TFP101" in found.get("train.py", ())


def test_also_in_the_same_file(project: Path) -> None:
    assert lint(write(project, train=TRAIN.format(BY_VERSION, "function"))) == {}


BASE = """
import tensorflow as tf
from boxes import centre
class Detector(tf.keras.Model):
    def keep(self, boxes):
        self.kept.append(centre(boxes))
"""
BOXES = """
import numpy as np
import tensorflow as tf
def centre(boxes):
    edge = tf.reduce_mean(boxes)
    return np.array([edge, edge])
"""
DERIVED = """
import tensorflow as tf
from base import Detector
class Faster(Detector):
    def test_step(self, data):
        boxes = self(data)
        {}
        return {{}}
"""


@pytest.mark.parametrize(
    ("call", "found"),
    [
        ("self.keep(boxes)", {"boxes.py": ["TFP205"]}),
        ("tf.py_function(self.keep, (boxes,), ())", {}),
        ("tf.numpy_function(self.keep, [boxes], [])", {}),
    ],
)
def test_what_an_op_runs_as_python_is_not_compiled_by_the_step_around_it(
    project: Path, call: str, found: dict[str, list[str]]
) -> None:
    paths = write(project, base=BASE, boxes=BOXES, train=DERIVED.format(call))
    assert lint(paths, frozenset({"TFP205"})) == found
