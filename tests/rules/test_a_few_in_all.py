"""What costs some milliseconds each time is no finding where a program is seen to run it a few times in all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.analysis.support import here, model_of
from tests.rules.support import flagged
from tflint_perf.config.settings import Settings
from tflint_perf.lint.check import check_source
from tflint_perf.text.source import Source

HEAD = """
import gc
import numpy as np
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam()
def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) - y)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss
"""
COSTS = {
    "TFP101": "train_step(x, y)",
    "TFP105": "model.predict(x[:1])",
    "TFP107": "model(x)",
    "TFP301": "train_step(tf.constant(np.ones((32, 8))), y)",
    "TFP302": "print(train_step(x, y).numpy())",
    "TFP401": "losses.append(train_step(x, y))",
}
FEW = {
    "a literal": "for step in range(100):\n    {here}\n",
    "some epochs of a few batches": "for epoch in range(5):\n    for x, y in dataset.take(19):\n        {here}\n",
    "what the only caller says": (
        "def train(steps):\n    for step in range(steps):\n        {here}\ntrain(40)\n"
    ),
    "an option of the command line that is left as it is": (
        "parser.add_argument('--steps', type=int, default=30)\n"
        "def main():\n    for step in range(parser.parse_args().steps):\n        {here}\nmain()\n"
    ),
}
MANY = {
    "more than a hundred": "for step in range(101):\n    {here}\n",
    "some epochs of any number of batches": (
        "for epoch in range(5):\n    for x, y in dataset:\n        {here}\n"
    ),
    "a few in a function that somebody else may call": (
        "def train(steps=50):\n    for step in range(steps):\n        {here}\n"
    ),
    "until it is good": "for epoch in range(5):\n    while loss > 0.1:\n        {here}\n",
    "a few for each of many": (
        "def adapt():\n    for step in range(5):\n        {here}\nfor task in range(300):\n    adapt()\n"
    ),
    "what is given to something that may call it again": (
        "def train():\n    for step in range(50):\n        {here}\ntrain()\nscheduler.every(60, train)\n"
    ),
}


def program(loop: str, code: str) -> str:
    data = "dataset = tf.data.Dataset.from_tensor_slices(arrays).batch(32).prefetch(1)\nlosses = []\n"
    return HEAD + data + loop.format(here=COSTS[code])


@pytest.mark.parametrize("code", COSTS)
@pytest.mark.parametrize("loop", FEW.values(), ids=FEW)
def test_a_few_in_all_cost_next_to_nothing(loop: str, code: str) -> None:
    assert flagged(code, program(loop, code)) == []


@pytest.mark.parametrize("loop", MANY.values(), ids=MANY)
def test_of_any_number_each_counts(loop: str) -> None:
    assert flagged("TFP101", program(loop, "TFP101"))


def test_large_tensors_are_large_though_they_are_few() -> None:
    loop = FEW["a literal"].format(here="kept.append(model(x))")
    assert flagged("TFP401", HEAD + "kept = []\n" + loop)


def test_a_trace_in_each_of_a_few_steps_takes_as_long_as_many_steps() -> None:
    loop = "for step in range(50):\n    tf.function(train_step)(x, y)\n"
    assert flagged("TFP201", HEAD + loop)


WATCHING = """
import asyncio, time
def watch(limit):
    while True:
        frame = read()
        {pause}
        show(model.predict(frame[None]))
watch(limits())
"""
LONG = {
    "a minute": "time.sleep(60)",
    "half a second": "time.sleep(0.5)",
    "a number with a name": "wait = 2.5\n        time.sleep(wait)",
    "until the next one is due": "left = due(frame)\n        time.sleep(left)",
    "beside other tasks": "asyncio.sleep(1)",
}
SHORT = {
    "a moment": "time.sleep(0.01)",
    "what nobody says": "time.sleep(limit)",
    "now and then": "if not frame: time.sleep(60)",
    "in a loop of its own": "while busy(): time.sleep(60)",
}


@pytest.mark.parametrize("pause", LONG.values(), ids=LONG)
def test_beside_a_pause_milliseconds_are_nothing(pause: str) -> None:
    assert flagged("TFP105", HEAD + WATCHING.format(pause=pause)) == []


@pytest.mark.parametrize("pause", SHORT.values(), ids=SHORT)
def test_it_is_no_pause(pause: str) -> None:
    assert flagged("TFP105", HEAD + WATCHING.format(pause=pause))


def test_many_steps_between_two_pauses_count() -> None:
    source = (
        "import time\nwhile True:\n    for x in range(1000):\n        model(read(x))\n    time.sleep(60)\n"
    )
    assert flagged("TFP107", HEAD + source)
    assert not flagged("TFP107", HEAD + source.replace("1000", "3"))


FIT = "\nmodel.compile('adam', 'mse')\nmodel.fit(arrays, answers)\n"


def test_a_step_that_nothing_in_a_training_program_calls_is_left_over() -> None:
    assert flagged("TFP101", HEAD)
    assert flagged("TFP101", HEAD + FIT) == []


def test_another_program_in_the_file_is_left_over_too() -> None:
    loop = "def fit(dataset):\n    for x, y in dataset:\n        print(train_step(x, y).numpy())\n"
    for program in (FIT, "\nif __name__ == '__main__':\n    serve()\n"):
        assert flagged("TFP101", HEAD + loop + program) == []
        assert flagged("TFP302", HEAD + loop + program) == []
    assert flagged("TFP101", HEAD + loop)
    assert flagged("TFP302", HEAD + loop + "\nserve()\n")  # a library may set itself up


def test_a_file_that_no_import_can_name_counts_if_it_runs_something() -> None:
    loop = "def fit(dataset):\n    for x, y in dataset:\n        train_step(x, y)\n"
    rules = frozenset({"TFP101"})
    for name, run, found in (
        ("model_v0.1.12.py", "", 0),
        ("model_v0.1.12.py", "fit(dataset)\n", 1),
        ("model_v0_1_12.py", "", 1),
        ("-", "", 1),
    ):
        source = Source.from_bytes((HEAD + loop + run).encode(), name)
        assert len(check_source(source, Settings(root=Path(), rules=rules)).findings) == found


USED = {
    "is called": "\ntrain_step(dataset)\n",
    "is handed on": "\nrunner.add(train_step)\n",
    "is kept in a table": "\nways = {'own': train_step}\n",
    "is in what the module lists": "\n__all__ = ['train_step']\n",
    "is called by what is called": "\ndef main():\n    train_step(x, y)\nmain()\n",
    "may be run by its name": "\nglobals()[args.way](dataset)\n",
}


@pytest.mark.parametrize("use", USED.values(), ids=USED)
def test_a_function_is_not_left_over_that(use: str) -> None:
    model = model_of(HEAD.replace("return loss", "here(loss)") + FIT + use)
    assert not model.programs.never_run(here(model))


def test_a_removed_name_fails_in_a_function_that_is_left_over_too() -> None:
    source = "def use():\n    tf.keras.mixed_precision.experimental.set_policy('mixed_float16')\n"
    assert flagged("TFP602", HEAD + source + FIT)
