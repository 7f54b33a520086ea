"""Gradients that a function gives back make a training step of it where another file applies them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_callers import project, write
from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files

__all__ = ["project"]

GRADIENTS = """
    import tensorflow as tf

    class Gradients:
        @staticmethod
        def of(model, x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x))
            return tape.gradient(loss, model.trainable_variables), loss

        @staticmethod
        def apply_gradients(optimizer, gradients, variables):
            optimizer.apply_gradients(zip(gradients, variables))
"""
TRAINING = """
    import tensorflow as tf
    from gradients import Gradients

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(32)
    for x in dataset:
        gradients, loss = Gradients.of(model, x)
"""
COMPILED = """
    import tensorflow as tf
    from gradients import Gradients

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()

    @tf.function
    def step(x):
        gradients, loss = Gradients.of(model, x)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))

    for x in tf.data.Dataset.from_tensor_slices(data).batch(32):
        step(x)
"""
APPLIED = {
    "by an optimizer": "optimizer.apply_gradients(zip(gradients, model.trainable_variables))",
    "by a function of the other file": (
        "Gradients.apply_gradients(optimizer, gradients, model.trainable_variables)"
    ),
    "by hand": (
        "for variable, gradient in zip(model.trainable_variables, gradients): variable.assign_sub(gradient)"
    ),
}
LEFT = {
    "they are only looked at": "print([tf.norm(gradient) for gradient in gradients])",
    "others are applied": "optimizer.apply_gradients(zip(kept, model.trainable_variables))",
}


def rows(folder: Path, training: str) -> list[int]:
    """The rows that are flagged in the file of the gradients; none are in the other."""
    paths = write(folder, gradients=GRADIENTS, training=training)
    results = lint_files(paths, Settings(root=Path(), rules=frozenset({"TFP101"})), 1)
    found = {result.path: [finding.start.row for finding in result.findings] for result in results}
    assert found.pop("training.py") == []
    return found["gradients.py"]


@pytest.mark.parametrize("how", APPLIED.values(), ids=APPLIED)
def test_a_tape_is_flagged_whose_gradients_another_file_applies(how: str, project: Path) -> None:
    assert rows(project, f"{TRAINING}        {how}\n") == [7]


@pytest.mark.parametrize("how", LEFT.values(), ids=LEFT)
def test_one_is_left_alone_where(how: str, project: Path) -> None:
    assert rows(project, f"{TRAINING}        {how}\n") == []


def test_one_is_left_alone_where_the_caller_is_compiled(project: Path) -> None:
    assert rows(project, COMPILED) == []


LEARNER = """
    import tensorflow as tf

    class Learner:
        def __init__(self, model):
            self.model, self.optimizer = model, tf.keras.optimizers.Adam()

        def learn(self, states, rewards):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self.model(states) * rewards)
            gradients = tape.gradient(loss, self.model.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))
"""
EPISODES = """
    import gymnasium as gym
    import tensorflow as tf
    from learner import Learner

    def play(learner, env):
        {loop}
            states, rewards = [], []
            state, _ = env.reset()
            while True:
                action = env.action_space.sample()
                states.append(state)
                state, reward, done, _, _ = env.step(action)
                rewards.append(reward)
                if done:
                    break
            learner.learn(tf.constant(states), tf.constant(rewards))

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    play(Learner(model), gym.make("CartPole-v1"))
"""


@pytest.mark.parametrize(
    ("loop", "flagged"), [("for episode in range(1_000):", [9]), ("if learner is not None:", [])]
)
def test_a_tape_is_flagged_that_another_file_runs_once_an_episode(
    loop: str, flagged: list[int], project: Path
) -> None:
    paths = write(project, learner=LEARNER, training=EPISODES.format(loop=loop))
    results = lint_files(paths, Settings(root=Path(), rules=frozenset({"TFP101"})), 1)
    found = {result.path: [finding.start.row for finding in result.findings] for result in results}
    assert found == {"learner.py": flagged, "training.py": []}
