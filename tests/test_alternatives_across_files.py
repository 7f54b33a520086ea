"""Objects of one of several classes that other files define: each of them may be meant, and what is said holds for all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_callers import lint, project, write

__all__ = ["project"]

DATA = """
import cv2
import numpy as np
import keras
class Photos(keras.utils.Sequence):
    def __getitem__(self, at):
        return np.stack([cv2.imread(path) for path in self.paths[at]])
class Scans(keras.utils.Sequence):
    def __getitem__(self, at):
        batch = np.zeros((8, 64, 64))
        for i in range(8):
            batch[i] = cv2.resize(self.images[at + i], (64, 64))
        return batch
class Kept:
    def __getitem__(self, at):
        return self.batches[at]
"""
TRAIN = """
import tensorflow as tf
from made import make
{}
def main(model, optimizer):
    for epoch in range(10):
        for images in batches:
            with tf.GradientTape() as tape:
                loss = model(images)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.variables), model.variables))
"""


@pytest.mark.parametrize(
    ("made", "name", "found"),
    [
        # Both classes make their batches in Python, wherever one of them is chosen.
        ("def make(a):\n    return Photos() if a else Scans()", "batches = make(1)", True),
        ("def make(a):\n    return (Photos() if a else Scans()), 3", "batches, n = make(1)", True),
        (
            "def make(a):\n    if a:\n        x = Photos()\n    else:\n        x = Scans()\n    return x, x",
            "batches, n = make(1)",
            True,
        ),
        (
            "kinds = {'a': Photos, 'b': Scans}\ndef make(a):\n    return kinds[a]()",
            "batches = make('a')",
            True,
        ),
        ("make = Photos() if flag else Scans()", "batches = make", True),
        (
            "if flag:\n    from data import Photos as Kind\nelse:\n    from data import Scans as Kind\nmake = Kind()",
            "batches = make",
            True,
        ),
        (
            "if flag:\n    from data import Photos as Kind\nelse:\n    from data import Kept as Kind\nmake = Kind()",
            "batches = make",
            False,
        ),
        # One of them does not, or it may be anything.
        ("def make(a):\n    return Photos() if a else Kept()", "batches = make(1)", False),
        ("def make(a):\n    return Photos() if a else other()", "batches = make(1)", False),
    ],
)
def test_batches_of_one_of_several_classes(project: Path, made: str, name: str, found: bool) -> None:
    start = "from data import Kept, Photos, Scans\n"
    paths = write(project, data=DATA, made=start + made, train=TRAIN.format(name))
    assert ("TFP303" in lint(paths, rules=frozenset({"TFP303"})).get("train.py", [])) is found


AGENTS = """
import keras
class {}:
    def __init__(self):
        self.model = keras.Sequential([keras.layers.Dense(4)])
    def act(self, state):
        return self.model.predict(state[None])
"""
PLAY = """
import gym
from trainer import Trainer
env = gym.make('CartPole-v1')
trainer = Trainer({!r})
for episode in range(1000):
    state = env.reset()
    done = False
    while not done:
        state, reward, done, _ = env.step({}(state))
"""


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ("self.agent = One() if kind == 'a' else Two()", "trainer.agent.act"),
        ("if kind == 'a':\n            self.agent = One()\n        else:\n            self.agent = Two()", "trainer.agent.act"),
        ("self.agent = {'a': One, 'b': Two}[kind]()", "trainer.agent.act"),
        ("self.agent = One() if kind == 'a' else Two()\n    def act(self, x):\n        return self.agent.act(x)", "trainer.act"),
    ],
)  # fmt: skip
def test_each_of_several_agents_acts_on_each_step(project: Path, kept: str, asked: str) -> None:
    start = (
        "from one import One\nfrom two import Two\nclass Trainer:\n    def __init__(self, kind):\n        "
    )
    paths = write(
        project,
        one=AGENTS.format("One"),
        two=AGENTS.format("Two"),
        trainer=start + kept,
        play=PLAY.format("a", asked),
    )
    found = lint(paths, rules=frozenset({"TFP105"}))
    assert ["TFP105" in found.get(name, []) for name in ("one.py", "two.py")] == [True, True]


COLLECTING = """
import gc
class Gan:
    def train(self, batches, count=1):
        for k in range(count):
            for rep in range(training_ratio):
                self.critic.train_on_batch(next(batches), 1)
            self.generator.train_on_batch(next(batches), 1)
            gc.collect()
"""


@pytest.mark.parametrize(
    ("given", "found"), [("batches, 1000", True), ("batches, count=n", True), ("", False)]
)
def test_who_calls_from_another_file_may_give_more_than_the_default(
    project: Path, given: str, found: bool
) -> None:
    start = "import keras\nfrom gan import Gan\n"
    train = f"Gan().train({given})" if given else "print(Gan)"
    paths = write(project, gan="import keras\n" + COLLECTING, train=start + train)
    assert ("TFP406" in lint(paths).get("gan.py", [])) is found
