"""What means the same is judged alike, however it is written."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest

from tests.rules.support import flagged

HEAD = """\
import contextlib
import itertools
import numpy as np
import tensorflow as tf
from itertools import islice
from rich.progress import track
from tqdm import tqdm
from tqdm.auto import tqdm as bar
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
FEW = 5 * 10
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
kept = []
"""
KEPT = "for {target} in {over}:\n    kept.append(step(x, y))\n"
# What is taken of a dataset, with and without a number of elements that stands in the code.
OVER = {
    "plain": ("x, y", "{}"),
    "a bar": ("x, y", "tqdm({})"),
    "another bar": ("x, y", "bar({}, desc='train')"),
    "a bar of rich": ("x, y", "track({})"),
    "a number": ("i, (x, y)", "enumerate({})"),
    "a number and a bar": ("i, (x, y)", "enumerate(tqdm({}))"),
    "a bar of rich and a number": ("i, (x, y)", "track(enumerate({}), total=50)"),
    "an iterator": ("x, y", "iter({})"),
    "a method that numbers": ("i, (x, y)", "{}.enumerate()"),
}
FEW = {
    "take": "ds.take(50)",
    "take of a computed number": "ds.take(FEW)",
    "islice": "islice(ds, 50)",
    "islice of the module": "itertools.islice(ds, FEW)",
}


@pytest.mark.parametrize("few", FEW.values(), ids=FEW.keys())
@pytest.mark.parametrize(("target", "over"), OVER.values(), ids=OVER.keys())
def test_a_few_elements_are_few_behind_every_wrapper(target: str, over: str, few: str) -> None:
    if ".enumerate()" in over and "islice" in few:
        few = "ds.take(50).prefetch(1)"
    assert flagged("TFP401", HEAD + KEPT.format(target=target, over=over.format(few))) == []


@pytest.mark.parametrize(("target", "over"), OVER.values(), ids=OVER.keys())
def test_all_elements_are_many_behind_every_wrapper(target: str, over: str) -> None:
    loop = HEAD + KEPT.format(target=target, over=over.format("ds"))
    assert flagged("TFP401", loop) == [len(loop.splitlines())]


def test_a_few_elements_are_few_under_a_name() -> None:
    for made in ("few = ds.take(FEW)", "few = tqdm(ds.take(50))", "few = islice(ds, FEW)"):
        assert flagged("TFP401", HEAD + made + "\n" + KEPT.format(target="x, y", over="few")) == []


BOUNDS = {
    "a literal": ("", "10"),
    "a name": ("N = 10", "N"),
    "a product": ("N = 5 * 2", "N"),
    "a product in place": ("", "5 * 2"),
    "a difference of names": ("MOST = 11\nN = MOST - 1", "N"),
    "an int": ("", "int(10)"),
    "a quotient": ("N = int(100 / 10)", "N"),
    "a length": ("samples = [0, 1, 2]", "len(samples)"),
    "an item": ("SIZES = (10, 20)", "SIZES[0]"),
    "an attribute of a class": ("class Config:\n    n = 10", "Config.n"),
    "the least of two": ("", "min(10, 20)"),
    "either": ("", "(10 if debug else 5)"),
}
COUNTERS = {
    "enumerate": ("i, (x, y)", "enumerate(ds)"),
    "a bar": ("i, (x, y)", "enumerate(tqdm(ds))"),
    "a bar around": ("i, (x, y)", "track(enumerate(ds))"),
    "range beside": ("i, (x, y)", "zip(range(1000), ds)"),
}


@pytest.mark.parametrize(("before", "bound"), BOUNDS.values(), ids=BOUNDS.keys())
@pytest.mark.parametrize(("target", "over"), COUNTERS.values(), ids=COUNTERS.keys())
def test_a_loop_is_left_soon_by_every_way_to_say_ten(target: str, over: str, before: str, bound: str) -> None:
    leave = f"    if i >= {bound}: break\n"
    source = f"{HEAD}{before}\n" + KEPT.format(target=target, over=over) + leave
    assert flagged("TFP401", source) == []


@pytest.mark.parametrize("bound", ["n", "10 * 1000", "int(args.most)", "len(names)"])
def test_a_loop_is_not_left_soon_where_nothing_says_ten(bound: str) -> None:
    source = HEAD + KEPT.format(target="i, (x, y)", over="enumerate(ds)") + f"    if i >= {bound}: break\n"
    assert flagged("TFP401", source) == [len(source.splitlines()) - 1]


OPS = """\
v = tf.ones((9,))
for _ in range(1000):
    v = tf.linalg.matvec(m, v)
    v = v / tf.norm(v)
"""
TAPES = {
    "made in the with": "with tf.GradientTape() as tape:\n{ops}",
    "without a name": "with tf.GradientTape():\n{ops}",
    "made before": "tape = tf.GradientTape()\nwith tape:\n{ops}",
    "made before and named again": "made = tf.GradientTape(persistent=True)\nwith made as tape:\n{ops}",
    "beside a device": "with tf.device('/cpu:0'), tf.GradientTape() as tape:\n{ops}",
    "entered by a stack": (
        "with contextlib.ExitStack() as stack:\n    tape = stack.enter_context(tf.GradientTape())\n{ops}"
    ),
    "from a function": "def record(): return tf.GradientTape()\nwith record() as tape:\n{ops}",
    "in an attribute": (
        "class Solver:\n    def __init__(self): self.tape = tf.GradientTape()\n"
        "    def run(self):\n        with self.tape:\n{deep}\nSolver().run()\n"
    ),
}
NO_TAPES = {
    "nothing": "if True:\n{ops}",
    "a device": "with tf.device('/cpu:0'):\n{ops}",
    "a tape that nobody opens": "tape = tf.GradientTape()\nif True:\n{ops}",
    "a tape that is closed": "tape = tf.GradientTape()\nwith tape: f(x)\nif True:\n{ops}",
    "a device in an attribute": (
        "class Solver:\n    def __init__(self): self.device = tf.device('/cpu:0')\n"
        "    def run(self):\n        with self.device:\n{deep}\nSolver().run()\n"
    ),
    "a stack of other contexts": (
        "with contextlib.ExitStack() as stack:\n    stack.enter_context(tf.device('/cpu:0'))\n{ops}"
    ),
}


def program(form: str) -> str:
    return HEAD + dedent(form).format(ops=indent(OPS, "    "), deep=indent(OPS, "            "))


@pytest.mark.parametrize("form", TAPES.values(), ids=TAPES.keys())
def test_what_a_tape_records_is_part_of_a_step_however_the_tape_is_held(form: str) -> None:
    assert flagged("TFP102", program(form)) == []


@pytest.mark.parametrize("form", NO_TAPES.values(), ids=NO_TAPES.keys())
def test_a_loop_that_no_tape_records_is_none(form: str) -> None:
    assert len(flagged("TFP102", program(form))) == 1


PICTURES = {"a literal": "range(4)", "a name": "range(columns)", "a bar": "tqdm(range(4))"}


@pytest.mark.parametrize("over", PICTURES.values(), ids=PICTURES.keys())
def test_a_few_pictures_are_few_by_every_way_to_say_so(over: str) -> None:
    source = (
        "for epoch in range(epochs):\n    columns = 2 * 2\n"
        f"    for i in {over}:\n        show(model.predict(np.random.normal(0, 1, (1, 100))))\n"
    )
    assert flagged("TFP105", HEAD + source) == []
