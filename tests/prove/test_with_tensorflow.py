"""Real training, with edits that pay, slow, break it, and that are wrong: each is called what it is."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.forked import Forks
from tflint_perf.measured.record import Spot
from tflint_perf.observed.process import Seen, watch
from tflint_perf.observed.request import Request
from tflint_perf.prove.fixes import PlacedFix, Version
from tflint_perf.prove.judging import Baseline, Judged, is_hidden_by_rounding, judge
from tflint_perf.prove.place import project_of, scratch_of
from tflint_perf.prove.proving import ORIGINAL, Options, Proof, prove
from tflint_perf.prove.running import Runner

# Looked for, not imported: only the program's own processes pay for it.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed"),
]

# Steps take a time that no busy machine hides. What follows is put in place of something in it.
PROGRAM = """\
import time

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(1)
images = rng.normal(size=(512, 8)).astype("float32")
labels = (images @ rng.normal(size=(8, 1)) + rng.normal(size=(512, 1))).astype("float32")
dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(16).repeat()
model = tf.keras.Sequential([tf.keras.Input((8,)), tf.keras.layers.Dense(16, "relu"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.01)


def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(model(x, training=True) - y))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss


for number, (x, y) in enumerate(dataset):
    loss = step(x, y)
    time.sleep(0.05)
    if number % 10 == 0:
        print(f"step {number} loss {float(loss):.4f}")
with open("weights.txt", "w") as file:
    file.write("done")
"""
EDITS = {
    "no sleep": ("    time.sleep(0.05)\n", ""),
    "compiled": ("def step(x, y):", "@tf.function\ndef step(x, y):"),
    "more sleep": ("sleep(0.05)", "sleep(0.2)"),
    "breaks": ("    loss = step(x, y)", "    loss = step(x.numpy().decode(), y)"),
    "learning rate": ("SGD(0.01)", "SGD(0.0101)"),
    "a batch is dropped": (".batch(16).repeat()", ".batch(16).skip(1).repeat()"),
    "another reduction": ("tf.reduce_mean(tf.square(", "tf.reduce_sum(tf.square("),
}
STEPS = 14


def test_each_edit_is_called_what_it_is(tmp_path: Path, forks: Forks) -> None:
    # One proof for all: it takes two dozen runs.
    proof = _proof(tmp_path, EDITS, forks.watch, pairs=2)
    assert proof.reference is not None
    assert proof.reference.steps == STEPS
    judged = {outcome.fixes[0].code: outcome.judged for outcome in proof.outcomes}
    assert {name: one.status for name, one in judged.items() if name != "compiled"} == {
        "no sleep": "pays",
        "more sleep": "slower",
        "breaks": "breaks",
        "learning rate": "different",
        "a batch is dropped": "different",
        "another reduction": "different",
    }, {name: one.why for name, one in judged.items()}
    # Whether that pays depends on the machine; that it learns the same but for rounding does not.
    for name in ("no sleep", "compiled"):
        learned = judged[name].learned
        assert learned is not None
        assert learned.verdict == "same", learned.why
    assert "decode" in judged["breaks"].why
    assert "Traceback" in judged["breaks"].output
    assert proof.whole is not None
    assert proof.whole.status == "pays", proof.whole.why
    assert "no sleep" in {fix.code for fix in proof.proved}


def test_of_all_edits_at_once_those_at_fault_are_left_out(tmp_path: Path, forks: Forks) -> None:
    names = ("no sleep", "breaks", "learning rate")
    edits = {name: EDITS[name] for name in names}
    proof = _proof(tmp_path, edits, forks.watch, pairs=2, one_by_one=False)
    assert {one.fixes[0].code: one.judged.status for one in proof.outcomes} == {
        "breaks": "breaks",
        "learning rate": "different",
    }
    assert [fix.code for fix in proof.proved] == ["no sleep"]


def test_programs_that_each_have_a_python_of_their_own_learn_the_same(tmp_path: Path) -> None:
    with _running(tmp_path, {"no sleep": EDITS["no sleep"]}, watch) as (runner, (fix,)):
        reference, reached = runner.reference([Spot(fix.file, fix.row)])
        version = runner.version(frozenset({fix}))
    assert reached
    assert (version.failure, version.code, version.steps) == ("", 0, reference.steps)
    assert version.apart is not None
    assert (version.apart.mismatch, version.apart.most < 1e-3) == ("", True)


def test_a_program_that_its_time_limit_stops_learns_the_same(tmp_path: Path, forks: Forks) -> None:
    edits = {"no sleep": EDITS["no sleep"]}
    proof = _proof(tmp_path, edits, forks.watch, pairs=1, seconds=0.5)
    assert proof.reference is not None
    assert proof.reference.steps < STEPS
    (outcome,) = proof.outcomes
    assert outcome.judged.learned is not None
    assert outcome.judged.learned.verdict == "same", outcome.judged.learned.why


def test_a_program_that_ends_by_itself_before_the_last_step_learns_the_same(
    tmp_path: Path, forks: Forks
) -> None:
    """Runs that are stopped at its last step lack that step's update."""
    program = PROGRAM.replace(".repeat()", ".take(8)").replace(
        "    loss = step(x, y)\n", "    loss = model.train_on_batch(x, y)\n"
    )
    program = program.replace("\n\nfor number", "\n\nmodel.compile(optimizer, 'mse')\nfor number")
    (outcome,) = _proof(
        tmp_path, {"no sleep": EDITS["no sleep"]}, forks.watch, pairs=1, program=program
    ).outcomes
    assert outcome.judged.learned is not None
    assert outcome.judged.learned.verdict == "same", outcome.judged.learned.why


# A step updates two networks, one after the other.
OF_TWO = """\
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal((64, 4))


def network():
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8, "tanh"), tf.keras.layers.Dense(1)])
    return model, tf.keras.optimizers.SGD(0.1)


critic, critic_optimizer = network()
actor, actor_optimizer = network()


def update_critic():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(critic(x) - tf.reduce_sum(x, axis=1, keepdims=True)))
    gradients = tape.gradient(loss, critic.trainable_variables)
    critic_optimizer.apply_gradients(zip(gradients, critic.trainable_variables))


def update_actor():
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(actor(x) - critic(x)))
    gradients = tape.gradient(loss, actor.trainable_variables)
    actor_optimizer.apply_gradients(zip(gradients, actor.trainable_variables))


def update_both():
    update_critic()
    update_actor()


for number in range(100):
    update_both()
"""
OF_TWO_COMPILED = {
    name: (f"def {name}(", f"@tf.function\ndef {name}(")
    for name in ("update_critic", "update_actor", "update_both")
}
CRITIC_MORE_OFTEN = OF_TWO.replace(
    "    update_critic()\n", "    for _ in range(3):\n        update_critic()\n"
)
CRITIC_LAST = CRITIC_MORE_OFTEN.replace("    update_actor()\n", "").replace(
    "def update_both():\n", "def update_both():\n    update_actor()\n"
)


# Two statements of a step that draw, and say the same.
WITH_DRAWS = OF_TWO.replace(
    "    with tf.GradientTape() as tape:\n",
    "    noise = (\n        tf.random.normal(\n            (64, 4)\n        )\n    )\n    with tf.GradientTape() as tape:\n",
).replace("(x) - ", "(x + noise) - ")


@pytest.mark.parametrize("program", [OF_TWO, CRITIC_MORE_OFTEN, CRITIC_LAST, WITH_DRAWS])
def test_a_step_of_two_networks_learns_the_same_whichever_of_them_is_compiled(
    tmp_path: Path, forks: Forks, program: str
) -> None:
    with _running(tmp_path, OF_TWO_COMPILED, forks.watch, program, steps=6) as (runner, fixes):
        reference, _ = runner.reference(())
        baseline = Baseline(reference, runner.control(), (runner.version(ORIGINAL),))
        judged = {fix.code: _judged(frozenset({fix}), baseline, runner) for fix in fixes}
    learned = {name: one.learned for name, one in judged.items()}
    assert {name: one and one.verdict for name, one in learned.items()} == dict.fromkeys(
        OF_TWO_COMPILED, "same"
    ), learned


def _judged(version: Version, baseline: Baseline, runner: Runner) -> Judged:
    """What one run of a version says of what it learns; where rounding hides that, one more."""
    after = [runner.version(version)]
    judged = judge(baseline, baseline.again, after)
    if not is_hidden_by_rounding(judged, baseline):
        return judged
    return judge(baseline, baseline.again, after, eagerly=runner.eagerly(version))


# What puts fit's mini-batches in a graph, and what is not quite that.
FITTED = """\
import numpy as np
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
rng = np.random.default_rng(1)
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8, "tanh"), tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.Adam(0.01), "mse")


@tf.function
def train(x, y):
    rows = tf.shape(x)[0]
    order = tf.random.shuffle(tf.range(rows))
    x, y = tf.gather(x, order), tf.gather(y, order)
    for start in tf.range(0, rows, 32):
        inputs, targets = x[start : start + 32], y[start : start + 32]
        with tf.GradientTape() as tape:
            loss = model.compute_loss(inputs, targets, model(inputs, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply_gradients(zip(gradients, model.trainable_variables))


def fit(x, y):
    model.fit(x, y, verbose=0)


for number in range(40):
    x = rng.normal(size=(80, 4)).astype("float32")
    fit(x, x.sum(axis=1, keepdims=True))
"""
MADE_IN_GRAPH = {
    "in a graph": ("    model.fit(x, y, verbose=0)", "    train(x, y)"),
    "the last is left out": ("range(0, rows, 32)", "range(0, rows - 31, 32)"),
    "the first each time": ("x[start : start + 32], y[start : start + 32]", "x[:32], y[:32]"),
    "of another size": (
        "rows, 32):\n        inputs, targets = x[start : start + 32], y[start : start + 32]",
        "rows, 30):\n        inputs, targets = x[start : start + 30], y[start : start + 30]",
    ),
    "as the rows come": ("order = tf.random.shuffle(tf.range(rows))", "order = tf.range(rows)"),
    "in two orders": (
        "tf.gather(y, order)",
        "tf.gather(y, tf.random.shuffle(tf.range(rows)))",
    ),
    "in one order": ("tf.random.shuffle(tf.range(rows))", "tf.argsort(tf.sin(tf.range(80.0)))"),
}


def test_the_mini_batches_of_fit_are_the_same_in_a_graph_and_others_are_not(
    tmp_path: Path, forks: Forks
) -> None:
    """Both draw an order of the rows in each call, which is the same one."""
    with _running(tmp_path, MADE_IN_GRAPH, forks.watch, FITTED, steps=28) as (runner, fixes):
        by_name = {fix.code: fix for fix in fixes}
        reference, _ = runner.reference(())
        baseline = Baseline(reference, runner.control(), (runner.version(ORIGINAL),))
        right = by_name.pop("in a graph")
        judged = {fix.code: _judged(frozenset({right, fix}), baseline, runner) for fix in by_name.values()}
        judged[right.code] = _judged(frozenset({right}), baseline, runner)
    assert reference.steps == 30  # to the end of a call
    learned = {name: one.learned for name, one in judged.items()}
    assert {name: one and one.verdict for name, one in learned.items()} == {
        **dict.fromkeys(MADE_IN_GRAPH, "different"),
        "in a graph": "same",
    }, learned


# What a step draws is drawn by the same statement between steps, too.
WITH_VALIDATION = """\
import tensorflow as tf

tf.keras.utils.set_random_seed(1)
x = tf.random.normal((64, 4))
model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(8, "tanh"), tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.Adam(0.01)


def loss_of(x):
    noise = tf.random.normal(tf.shape(x))
    return tf.reduce_mean(tf.square(model(x + noise) - tf.reduce_sum(x, axis=1, keepdims=True)))


def train_step(x):
    with tf.GradientTape() as tape:
        loss = loss_of(x)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


for epoch in range(20):
    for number in range(5):
        train_step(x)
    print(sum(float(loss_of(x)) for _ in range(3)))
"""


def test_a_step_learns_the_same_compiled_whatever_is_drawn_between_steps(
    tmp_path: Path, forks: Forks
) -> None:
    edits = {"compiled": ("def train_step(", "@tf.function\ndef train_step(")}
    (outcome,) = _proof(tmp_path, edits, forks.watch, pairs=1, program=WITH_VALIDATION).outcomes
    assert outcome.judged.learned is not None
    assert outcome.judged.learned.verdict == "same", outcome.judged.learned.why


@contextmanager
def _running(
    folder: Path,
    edits: Mapping[str, tuple[str, str]],
    watching: Callable[[Request], Seen],
    program: str = PROGRAM,
    seconds: float = 60.0,
    steps: int = STEPS,
) -> Iterator[tuple[Runner, list[PlacedFix]]]:
    """What runs versions of a program, and a fix for each edit."""
    (folder / "train.py").write_text(program)
    fixes = {PlacedFix("train.py", 24, name): pair for name, pair in edits.items()}
    with scratch_of(project_of(["train.py"], folder), sys.executable, os.environ) as scratch:

        def made(version: frozenset[PlacedFix]) -> dict[str, bytes]:
            text = program
            for fix in version:
                assert fixes[fix][0] in text
                text = text.replace(*fixes[fix])
            return {"train.py": text.encode()}

        yield Runner(scratch, made, watching, sys.executable, steps, seconds, 300.0), sorted(fixes)
    assert [path.name for path in folder.iterdir()] == ["train.py"]


def _proof(
    folder: Path,
    edits: Mapping[str, tuple[str, str]],
    watching: Callable[[Request], Seen],
    pairs: int,
    program: str = PROGRAM,
    seconds: float = 60.0,
    one_by_one: bool = True,
) -> Proof:
    with _running(folder, edits, watching, program, seconds) as (runner, fixes):
        return prove(fixes, runner, Options(pairs, one_by_one))
