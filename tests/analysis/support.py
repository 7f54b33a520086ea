"""Building a model from a few lines of source, and pointing at places in it."""

from __future__ import annotations

from textwrap import dedent

import libcst as cst

from tflint_perf.analysis.model import Function, Model


def model_of(source: str) -> Model:
    """The model of dedented source, with TensorFlow, NumPy and Keras imported on top."""
    text = "import tensorflow as tf\nimport numpy as np\nfrom tensorflow import keras\n" + dedent(source)
    return Model(cst.parse_module(text), text)


def here(model: Model) -> cst.Call:
    """The call `here()` in the source."""
    (call,) = model.calls_named("here")
    return call


def function(model: Model, name: str) -> Function:
    """The function or method of that name."""
    (found,) = (f for f in model.walk.functions.values() if f.name == name)
    return found


def value_named(model: Model, name: str) -> str:
    """The kind of the value that a name has where it is last read."""
    return model.value(model.walk.names[name][-1]).kind
