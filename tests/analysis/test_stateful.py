"""What functions given to pipelines keep or draw between calls, and which pipelines give the same again."""

from __future__ import annotations

import pytest

from tests.analysis.support import here, model_of

# A function as it is given to `map`, and its nature.
NATURES = [
    ("lambda x: x / 2", "stateless"),
    ("tf.io.decode_png", "stateless"),
    ("tf.image.random_hue", "random"),
    ("lambda x: tf.random.normal((3,))", "random"),
    ("lambda x: tf.random.stateless_normal((3,), x)", "stateless"),
    ("keras.layers.RandomFlip()", "random"),
    ("lambda x: tf.lookup.StaticHashTable(i, 0).lookup(x)", "stateful"),
    ("lambda x: tf.print(x)", "stateful"),
    ("lambda x: tf.py_function(f, [x], tf.string)", "python"),
    ("lambda x: tf.py_function(f, [tf.random.normal((3,))], tf.string)", "python"),
    ("augment", "hidden"),
    ("lambda x: augment(x)", "hidden"),
    ("lambda x: augment()", "stateless"),
    ("lambda x: tf.image.random_hue(augment(x), 1)", "random"),
    ("decode_example", "shaping"),
    ("ParseExample(spec)", "shaping"),
    ("lambda x: decode_example(x)", "shaping"),
    ("get", "shaping"),
    ("tf.io.decode_png if flag else tf.image.random_hue", "random"),
    ("(lambda x: x / 2) if flag else tf.io.decode_png", "stateless"),
    ("budget", "hidden"),
]


@pytest.mark.parametrize(("function", "nature"), NATURES)
def test_a_function_has_the_worst_nature_of_what_it_calls(function: str, nature: str) -> None:
    model = model_of(f"tf.data.Dataset.range(9).map({function})")
    (call,) = model.calls_named("map")
    assert model.statefulness.nature(call.args[0].value) == nature


def test_a_function_in_sight_that_calls_what_is_not_is_not_out_of_sight() -> None:
    model = model_of(
        "from elsewhere import augment\ndef f(x):\n    return augment(x)\ntf.data.Dataset.range(9).map(f)"
    )
    (call,) = model.calls_named("map")
    assert model.statefulness.nature(call.args[0].value) == "open"


def test_a_function_is_followed_however_many_calls_down() -> None:
    steps = "".join(f"def f{i}(x):\n    return f{i + 1}(f{i + 1}(x))\n" for i in range(40))
    model = model_of(
        f"{steps}def f40(x):\n    return tf.random.normal((3,)) + f0(x)\ntf.data.Dataset.range(9).map(f0)"
    )
    (call,) = model.calls_named("map")
    assert model.statefulness.nature(call.args[0].value) == "random"


def test_of_many_ways_in_which_a_function_is_given_constants_all_are_seen() -> None:
    calls = " + ".join(f"f(x, {n})" for n in range(40))
    model = model_of(
        f"def f(x, n):\n    return tf.random.normal((3,)) if n == 39 else x\ntf.data.Dataset.range(9).map(lambda x: {calls})"
    )
    (call,) = model.calls_named("map")
    assert model.statefulness.nature(call.args[0].value) == "random"


# A dataset, and whether each one built like that gives the same elements.
DATASETS = [
    ("tf.data.Dataset.from_tensor_slices(x).batch(3).prefetch(1).repeat(2)", True),
    ("tf.data.Dataset.from_tensor_slices(x).map(lambda x: x / 2)", True),
    ("tf.data.TFRecordDataset(files).cache()", True),
    ("tf.data.Dataset.zip((tf.data.Dataset.from_tensors(1), tf.data.Dataset.from_tensors(2)))", True),
    ("tf.data.Dataset.zip((tf.data.Dataset.from_tensors(1), tf.data.Dataset.from_generator(g)))", False),
    ("tf.data.Dataset.from_tensor_slices(x).shuffle(9)", False),
    ("tf.data.Dataset.from_tensor_slices(x).map(tf.image.random_hue)", False),
    ("tf.data.Dataset.from_tensor_slices(x).map(decode_example)", False),
    ("tf.data.Dataset.from_tensor_slices(x).map(lambda x: x, 4, deterministic=False)", False),
    ("tf.data.Dataset.list_files('*')", False),
    ("unknown", False),
]


@pytest.mark.parametrize(("dataset", "same"), DATASETS)
def test_a_dataset_gives_the_same_where_each_stage_does(dataset: str, same: bool) -> None:
    model = model_of(f"ds = {dataset}\nhere(ds)")
    assert model.statefulness.is_deterministic(model.value(here(model).args[0].value)) is same
