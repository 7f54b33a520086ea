"""What stages of input pipelines do to their elements, what comes behind them, and what that is for."""

from __future__ import annotations

import libcst as cst
import pytest
from tflint_perf.rules.pipelines.augmentations import Augmentations
from tflint_perf.rules.pipelines.materialized import Materializations
from tflint_perf.rules.pipelines.plain_numpy import PlainNumpy

from tests.analysis.support import model_of
from tflint_perf.analysis.model import Model

PREAMBLE = """
source = tf.data.Dataset.from_tensor_slices((x, y))
net = keras.Sequential()
def load(path, label):
    return tf.io.decode_jpeg(tf.io.read_file(path)), label
def flip(image, label):
    return tf.image.random_flip_up_down(image), label
"""


def staged(source: str) -> Model:
    return model_of(PREAMBLE + source)


def stage(model: Model, name: str) -> cst.Call:
    """The one call of that name."""
    (call,) = model.calls_named(name)
    return call


BEHIND = {
    "source.map(load).batch(2).prefetch(1)": {"batch", "prefetch"},
    "d = source.map(load)\na = d.batch(2)\nb = d.take(1)": {"batch", "take"},
    "d = source.map(load)\nfor _ in range(3):\n    d = d.shuffle(3)": {"shuffle"},
    "d = tf.data.Dataset.zip((source.map(load), other)).batch(2)": {"zip", "batch"},
    "def f():\n    return source.map(load)\nd = f().repeat()": {"repeat"},
    "source.map(load)": set(),
}


@pytest.mark.parametrize(("source", "names"), BEHIND.items())
def test_knows_what_comes_behind_a_stage(source: str, names: set[str]) -> None:
    model = staged(source)
    assert {found.name for found in model.successors.behind(stage(model, "map"))} == names


PURPOSES = {
    "net.fit(source.map(load).batch(2))": (True, False),
    "net.evaluate(source.map(load).batch(2))": (False, True),
    "net.fit(other, validation_data=source.map(load).batch(2))": (False, True),
    "d = source.map(load)\nnet.fit(d.batch(2))\nnet.evaluate(d.batch(3))": (True, False),
    "valid_ds = source.map(load).batch(2)": (False, True),
    "self.test_data = source.map(load).batch(2)": (False, True),
    "d = source.map(load).batch(2)": (False, False),
    "latest = source.map(load).batch(2)": (False, False),
}


@pytest.mark.parametrize(("source", "purposes"), PURPOSES.items())
def test_knows_what_elements_are_for(source: str, purposes: tuple[bool, bool]) -> None:
    model = staged(source)
    call = stage(model, "map")
    assert (model.successors.is_for_training(call), model.successors.is_for_evaluation(call)) == purposes


GROWTH = {
    "source.map(load)": "reads and decodes files",
    "source.map(lambda x, y: (tf.io.decode_png(x), y))": "decodes images",
    "source.map(lambda x, y: (tf.image.resize(tf.io.decode_png(x), (32, 32)), y))": "",
    "source.map(lambda x, y: (tf.reduce_max(tf.io.decode_png(x)), y))": "",
    "source.map(lambda x, y: (f(tf.io.decode_png(x)), y))": "",
    "source.map(flip)": "",
    "source.map(f)": "",
}


@pytest.mark.parametrize(("source", "how"), GROWTH.items())
def test_knows_what_makes_elements_larger(source: str, how: str) -> None:
    model = staged(source)
    ((*before, last),) = model.stages.before(stage(model, "map"))
    assert model.growth.of_stage(last, tuple(before)) == how


DRAWS = [
    ("source.map(flip)", True),
    ("source.map(lambda x, y: flip(x, y))", True),
    ("source.map(load)", False),
    ("source.map(lambda x, y: (x if y else tf.random.normal(()), y))", False),
    ("source.map(f)", False),
    ("source.map(keras.layers.RandomFlip())", True),
    ("source.map(keras.layers.Rescaling(2.0))", False),
]


@pytest.mark.parametrize(("source", "draws"), DRAWS)
def test_knows_what_draws_at_random(source: str, draws: bool) -> None:
    model = staged(source)
    ((*_, last),) = model.stages.before(stage(model, "map"))
    assert model.own(Augmentations).draws(last) is draws


OPS = [
    ("def g(x): return np.flip(x)\nhere(g)", ["tf.reverse"]),
    ("def g(x): return x / 2\nhere(g)", []),
    ("here(np.rot90)", ["tf.image.rot90"]),
    ("here(np.load)", None),
    ("here(unknown)", None),
    ("def g(x): return h(x)\ndef h(x): return np.exp(x)\nhere(g)", ["tf.exp"]),
    ("def g(x): return g(x)\nhere(g)", None),
    ("def g(x): return other(x)\nhere(g)", None),
]


@pytest.mark.parametrize(("source", "ops"), OPS)
def test_knows_the_ops_for_plain_numpy(source: str, ops: list[str] | None) -> None:
    model = staged(source)
    assert model.own(PlainNumpy).ops(stage(model, "here").args[0].value) == ops


SIZES = [
    ("source.batch(2).map(load)", None),
    ("source.filter(f)", "filter"),
    ("tf.data.TFRecordDataset(p)", "tf.data.TFRecordDataset"),
    ("tf.data.Dataset.zip((source, source))", None),
    ("tf.data.Dataset.zip((source, source.unbatch()))", "zip"),
    ("source.concatenate(source)", None),
    ("source.repeat(2)", None),
    ("source.repeat()", "repeat"),
]


@pytest.mark.parametrize(("dataset", "name"), SIZES)
def test_knows_which_stage_leaves_the_number_of_elements_open(dataset: str, name: str | None) -> None:
    model = staged(f"here({dataset})")
    found = model.own(Materializations).unknown_size(model.value(stage(model, "here").args[0].value))
    assert (found.name if found is not None else None) == name


@pytest.mark.parametrize("calls_first", [True, False])
def test_knows_what_an_applied_function_is_given_whoever_asks_first(calls_first: bool) -> None:
    model = staged(
        "data = source\nfor label in [1, 2]:\n    data = data.filter(lambda x, y: y != label)\n"
        "def prepare(given):\n    return given.shuffle(9)\ndata.apply(prepare)\n"
    )
    if calls_first:
        assert model.calls is not None
    ways = [[each.name for each in way] for way in model.value(stage(model, "apply")).pipelines]
    assert ["from_tensor_slices", "filter", "shuffle"] in ways
