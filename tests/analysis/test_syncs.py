"""What is made on the device, what becomes of it on the host, and what each step runs."""

from __future__ import annotations

from textwrap import indent

import libcst as cst
import pytest

from tests.analysis.support import here, model_of
from tflint_perf.analysis.training.on_device import OnDevice

PREAMBLE = """
model = keras.Sequential()
metric = keras.metrics.Mean()
dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
@tf.function
def step(x):
    return model(x)
"""

MADE_THERE = {
    "what a model gives": ("model(x)", True),
    "what a compiled function gives": ("step(x)", True),
    "a metric's result": ("metric.result()", True),
    "an op on an element": ("tf.reduce_mean(x)", True),
    "arithmetic": ("step(x) * 2", True),
    "a part of it": ("step(x)[0]", True),
    "an element": ("x", False),
    "a shape": ("tf.shape(x)", False),
    "a computed shape": ("tf.shape(x)[0] * 2", False),
    "a constant": ("tf.constant(1.0)", False),
    "a number": ("3", False),
    "what nobody knows": ("other(x)", False),
}


@pytest.mark.parametrize(("expression", "there"), MADE_THERE.values(), ids=MADE_THERE)
def test_what_ops_models_and_compiled_functions_give_is_made_on_the_device(
    expression: str, there: bool
) -> None:
    model = model_of(f"{PREAMBLE}\nfor x in dataset:\n    here({expression})\n")
    (given,) = here(model).args
    assert OnDevice(model.infer, model.calls).is_made_there(given.value) is there


def test_a_value_that_depends_on_itself_is_made_where_its_ops_run() -> None:
    model = model_of("x = tf.constant(1.0)\nwhile True:\n    x = x * x * x + x\n    here(x)\n")
    assert OnDevice(model.infer, model.calls).is_made_there(here(model).args[0].value)


FATES = {
    "nothing": ("here()", set()),
    "printed": ("print(here())", {"shown"}),
    "printed through names and text": ('v = float(here())\nprint(f"{v:.2f}")', {"shown"}),
    "printed behind a condition": ("v = here()\nif x: print(v)", {"glanced"}),
    "added up": ("total += here()", {"summed"}),
    "compared": ("if here() > 1: pass", {"steering"}),
    "asked as a counter": ("if here() % 10 == 0: pass", {"counted"}),
    "kept": ("values.append(here())", {"needed"}),
    "kept in a dict, printed first": ("v = here()\nprint(v)\nvalues['v'] = v", {"shown", "needed"}),
    "handed on": ("other(here())", {"needed"}),
    "one of two": ("a, b = here(), 1\nprint(a)", {"shown"}),
    "the other of two": ("a, b = 1, here()\nprint(a)", set()),
    "in a percent format": ('print("%d %f" % (1, here()))', {"shown"}),
    "computed with": ("print(np.sqrt(here()) * 2)", {"shown"}),
    "an index": ("print(values[here()])", {"needed"}),
    "an index of an array": ("table = np.ones(3)\nprint(table[here()])", {"shown"}),
    "an index at which an array is filled": (
        "table = np.ones(3)\ntable[here()] = 2\nprint(table)",
        {"shown"},
    ),
    "a walrus": ("print(v := here())", {"needed"}),
}


@pytest.mark.parametrize(("statements", "fates"), FATES.values(), ids=FATES)
def test_a_host_value_is_followed_to_what_takes_it(statements: str, fates: set[str]) -> None:
    model = model_of(f"{PREAMBLE}\nfor x in dataset:\n    step(x)\n{indent(statements, '    ')}\n")
    assert model.host_values.fates(here(model)) == fates


def test_what_is_read_behind_the_loop_is_read_later() -> None:
    model = model_of(f"{PREAMBLE}\nfor x in dataset:\n    step(x)\n    v = here()\nif v > 1:\n    other(v)\n")
    assert model.host_values.fates(here(model)) == {"later"}


COUNTERS = {
    "a range": ("for i in range(10): step(i)", "i"),
    "a range that begins elsewhere": ("for i in range(5, n): step(i)", "i"),
    "steps of another length": ("for i in range(0, n, 32): step(i)", ""),
    "an enumeration": ("for i, x in enumerate(dataset): step(x)", "i"),
    "behind a progress bar": ("for i, x in tqdm(enumerate(dataset)): step(x)", "i"),
    "nothing": ("for x in dataset: step(x)", ""),
    "no name": ("for _ in range(10): step(x)", ""),
    "a counter of its own": ("n = 0\nwhile True:\n    step(x)\n    n += 1", "n"),
    "a counter that is set back": ("n = 0\nwhile True:\n    n += 1\n    if step(x): n = 0", ""),
    "a counter that counts some": ("n = 0\nwhile True:\n    if step(x):\n        n += 1", ""),
    "a counter that is changed": ("for i in range(10):\n    step(x)\n    i *= 2", ""),
}


@pytest.mark.parametrize(("source", "name"), COUNTERS.values(), ids=COUNTERS)
def test_a_loop_has_a_counter_that_grows_by_one(source: str, name: str) -> None:
    model = model_of(PREAMBLE + source)
    (loop,) = (loop for loop in model.walk.loops.values() if not isinstance(loop.node, cst.CompFor))
    assert model.counters.name(loop) == name


EACH = {
    "in the loop": ("for x in dataset:\n    step(x)\n    here()", True),
    "in a block of the loop": ("for x in dataset:\n    with a:\n        step(x)\n        here()", True),
    "behind a counter": ("for i, x in enumerate(dataset):\n    step(x)\n    if i % 9 == 0: here()", False),
    "behind a condition": ("for x in dataset:\n    step(x)\n    if x: here()", False),
    "behind a way out": ("for x in dataset:\n    step(x)\n    if x: break\n    here()", True),
    "in a function": ("def f():\n    here()\nfor x in dataset:\n    step(x)\n    f()", True),
    "in a function behind a condition": (
        "def f():\n    here()\nfor x in dataset:\n    step(x)\n    if x: f()",
        False,
    ),
    "once an epoch": ("for e in range(9):\n    for x in dataset: step(x)\n    here()", False),
    "once": ("for x in dataset: step(x)\nhere()", False),
}


@pytest.mark.parametrize(("source", "each"), EACH.values(), ids=EACH)
def test_each_step_runs_what_stands_behind_no_condition(source: str, each: bool) -> None:
    model = model_of(PREAMBLE + source)
    assert model.each_step.runs(here(model)) is each


def test_a_function_that_takes_apart_what_it_gives_is_asked_no_deeper_than_tuples_go() -> None:
    model = model_of("def split(x):\n    first, rest = split(x)\n    return first\n")
    (split,) = model.walk.functions.values()
    assert not OnDevice(model.infer, model.calls).is_made_by(split)
