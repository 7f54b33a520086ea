"""Trainings that a loop of another file runs from beginning to end: what runs once for each of them is no step."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files

STORE = """
    import tensorflow as tf

    def keep(model: tf.keras.Model, path):
        model.save(path)
"""
TRAINING = """
    import tensorflow as tf

    def fit(model: tf.keras.Model, data, epochs):
        return model.fit(data.x, data.y, epochs=epochs{more})

    def study(model: tf.keras.Model, data, epochs=9):
        fit(model, data, epochs)
        return model(data.x)
"""
PROGRAM = """
    import tensorflow as tf
    from store import keep
    from training import study
    model = tf.keras.Sequential()
    for name, data in datasets.items():
        study(model, data)
        keep(model, name)
"""
TRIALS = {
    "a whole training each": (", validation_split=0.1", []),
    "as much as is not known": ("", [4]),
}


@pytest.mark.parametrize(("more", "rows"), TRIALS.values(), ids=TRIALS)
def test_a_loop_over_trainings_is_no_loop_of_steps(tmp_path: Path, more: str, rows: list[int]) -> None:
    (tmp_path / "pyproject.toml").touch()
    files = {"store": STORE, "training": TRAINING.replace("{more}", more), "program": PROGRAM}
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(dedent(text).lstrip("\n"))
    settings = Settings(root=tmp_path, rules=frozenset({"TFP603"}), project_root=tmp_path)
    (result,) = lint_files([tmp_path / "store.py"], settings, 1)
    assert [finding.start.row for finding in result.findings] == rows


GAN = """
    import tensorflow as tf

    class Gan(tf.keras.Model):
        def __init__(self, generator):
            super().__init__()
            self.generator = generator

        def draw(self):
            return self.generator(tf.random.normal((5, 64)))
"""
LEVELS = """
    import tensorflow as tf
    from gan import Gan
    data = tf.data.Dataset.from_tensor_slices(images).batch(32)
    generator = tf.keras.Sequential([tf.keras.layers.Dense(64), tf.keras.layers.Dense(9)])
    {before}
    for level in range(first, last):
        {each}
        gan.fit(data, epochs=epochs)
        gan.draw()
"""
MADE = {
    "a model for each level": ("first = 2", "gan = Gan(generator)", []),
    "one model for all": ("gan = Gan(generator)", "show(level)", [9]),
}


@pytest.mark.parametrize(("before", "each", "rows"), MADE.values(), ids=MADE)
def test_what_runs_once_for_each_new_model_runs_on_no_step(
    tmp_path: Path, before: str, each: str, rows: list[int]
) -> None:
    (tmp_path / "pyproject.toml").touch()
    files = {"gan": GAN, "levels": LEVELS.format(before=before, each=each)}
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(dedent(text).lstrip("\n"))
    settings = Settings(root=tmp_path, rules=frozenset({"TFP107"}), project_root=tmp_path)
    (result,) = lint_files([tmp_path / "gan.py"], settings, 1)
    assert [finding.start.row for finding in result.findings] == rows


CLIENT = """
    import tensorflow as tf

    class Client:
        def learn(self, net, data, optimizer):
            @tf.function
            def step(x):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean(net(x))
                gradients = tape.gradient(loss, net.trainable_variables)
                optimizer.apply_gradients(zip(gradients, net.trainable_variables))
            for x in data:
                step(x)
"""
ROUNDS = """
    import copy
    import tensorflow as tf
    from client import Client
    net = tf.keras.Sequential([tf.keras.layers.Dense(9)])
    data = tf.data.Dataset.from_tensor_slices(images).batch(32)
    optimizer = tf.keras.optimizers.SGD()
    client = Client()
    for epoch in range(epochs):
        client.learn({given}, data, optimizer)
        for x in data:
            evaluate(net(x))
"""


@pytest.mark.parametrize(("given", "rows"), [("copy.deepcopy(net)", []), ("net", [5])])
def test_a_function_is_made_for_each_model_that_another_file_makes(
    tmp_path: Path, given: str, rows: list[int]
) -> None:
    (tmp_path / "pyproject.toml").touch()
    for name, text in {"client": CLIENT, "rounds": ROUNDS.format(given=given)}.items():
        (tmp_path / f"{name}.py").write_text(dedent(text).lstrip("\n"))
    settings = Settings(root=tmp_path, rules=frozenset({"TFP201"}), project_root=tmp_path)
    (result,) = lint_files([tmp_path / "client.py"], settings, 1)
    assert [finding.start.row for finding in result.findings] == rows
