"""Functional models that are put together: which values stand for their tensors."""

from __future__ import annotations

import pytest

from tests.analysis.support import here, model_of

INPUT = "x = keras.Input((4,))\n"
SYMBOLIC = {
    "an input": INPUT + "here(x)",
    "what a layer makes of it": INPUT + "head = keras.layers.Dense(3)\ny = head(x)\nhere(y)",
    "what a model of several outputs makes of it": "from nets import net\n"
    + INPUT
    + "a, b = net(x)\nhere(b)",
    "what an op makes of it": INPUT + "here(tf.transpose(x) * 2)",
    "a part of it": INPUT + "here(x[:, :2])",
    "in a list": INPUT + "here([x])",
    "what a list holds": INPUT + "maps = []\nmaps.append(x)\nfor p in maps:\n    here(p)",
    "one of several": INPUT + "y = other\nif deep:\n    y = x\nhere(y)",
    "what a loop goes on with": "from nets import block\n"
    + INPUT
    + "for _ in range(3):\n    x = block(x)\n    here(x)",
    "the output of a model": "net = keras.applications.VGG16()\nhere(net.output)",
    "a parameter that gets it": "def f(p): here(p)\n" + INPUT + "f(x)",
    "a parameter of a method, through another": """
        class Builder:
            def build(self):
                return self.first(keras.Input((4,)))
            def first(self, p):
                return self.second([p, p], None)
            def second(self, maps, mask=None):
                for each in maps:
                    here(each)
        """,
    "what a method makes of one that is kept": """
        class Builder:
            def __init__(self):
                self.x = keras.Input((4,))
            def first(self):
                return tf.abs(self.x)
            def build(self):
                here(self.first())
        """,
    "what a new layer makes, applied once": "def f(p):\n    y = keras.layers.Dense(3)(p)\n    here(y)",
}
CONCRETE = {
    "a parameter that nobody gives": "def f(p): here(p)\n" + INPUT,
    "a parameter that gets batches, too": "def f(p): here(p)\n" + INPUT + "f(x)\nf(batch)",
    "its static shape": INPUT + "here(x.shape[0])",
    "an array of that shape": INPUT + "here(np.zeros(keras.backend.int_shape(x)))",
    "a batch beside it": INPUT + "for batch in data:\n    here(batch)",
    "the model that is made of it": INPUT + "net = keras.Model(x, f(x))\nhere(net)",
    "what the model predicts": INPUT + "net = keras.Model(x, f(x))\ny = net(batch)\nhere(y)",
    "the input of a layer's own call": """
        class Block(keras.layers.Layer):
            def call(self, p):
                here(p)
        Block()(keras.Input((4,)))
        """,
    "what a new layer makes on each step": "for p in data:\n    y = keras.layers.Dense(3)(p)\n    here(y)",
    "what a new layer without weights makes": "def f(p):\n    y = keras.layers.Rescaling(2.0)(p)\n    here(y)",
    "an attribute of that name": "class Net(keras.Model):\n    pass\nnet = Net()\nhere(net.output)",
}


@pytest.mark.parametrize("source", SYMBOLIC.values(), ids=SYMBOLIC.keys())
def test_stands_for_a_tensor_of_the_model(source: str) -> None:
    model = model_of(source)
    assert model.functional_models.is_of_model(here(model).args[0].value)


@pytest.mark.parametrize("source", CONCRETE.values(), ids=CONCRETE.keys())
def test_stands_for_none(source: str) -> None:
    model = model_of(source)
    assert not model.functional_models.is_of_model(here(model).args[0].value)


def test_what_leads_to_the_outputs_of_a_model_is_a_part_of_it() -> None:
    model = model_of(
        "def f(x, head):\n    outs = []\n    for _ in range(3):\n        y = here(x)\n        outs.append(y)\n"
        "    return keras.Model(inputs=x, outputs=outs)"
    )
    assert model.functional_models.applies(here(model))


def test_what_is_done_with_a_model_is_no_part_of_it() -> None:
    model = model_of(
        "def f(x, y, data):\n    net = keras.Model(inputs=x, outputs=y)\n    for z in data:\n        here(z)"
    )
    assert not model.functional_models.applies(here(model))
