"""Conversions in objects of one module, whose batches the loop of another takes (TFP301)."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files

PAIRS = """
    import numpy as np
    import tensorflow as tf

    class Pairs:
        def __init__(self, rows, batch_size):
            self.rows = list(rows)
            self.batch_size = batch_size
            self.at = 0
        def __iter__(self):
            return self
        def __next__(self):
            rows = self.rows[self.at : self.at + self.batch_size]
            self.at += self.batch_size
            return tf.convert_to_tensor(np.array(rows))

    def batches(rows, batch_size):
        for at in range(0, len(rows), batch_size):
            yield tf.convert_to_tensor(rows[at : at + batch_size])
"""
MAIN = """
    import tensorflow as tf
    from pairs import Pairs, batches

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    for x in TAKEN:
        STATEMENT
"""


def rows(folder: Path, taken: str, statement: str) -> list[int]:
    """The rows of the module of the objects that are flagged, by what a loop elsewhere does."""
    (folder / "pyproject.toml").touch()
    texts = {"pairs.py": PAIRS, "main.py": MAIN.replace("TAKEN", taken).replace("STATEMENT", statement)}
    for name, text in texts.items():
        (folder / name).write_text(dedent(text).lstrip("\n"))
    settings = Settings(root=folder, rules=frozenset({"TFP301"}), project_root=folder)
    results = lint_files([folder / name for name in texts], settings, 1)
    return [finding.start.row for result in results for finding in result.findings]


@pytest.mark.parametrize(
    ("taken", "row"),
    [("enumerate(Pairs(table, 32))", 14), ("Pairs(table, 32)", 14)],
)
def test_batches_that_train_are_flagged(tmp_path: Path, taken: str, row: int) -> None:
    assert rows(tmp_path, taken, "model.train_on_batch(x, x)") == [row]


@pytest.mark.parametrize("taken", ["Pairs(table, 32)", "batches(table, 32)"])
def test_batches_that_are_looked_at_are_not(tmp_path: Path, taken: str) -> None:
    assert rows(tmp_path, taken, "print(x.shape)") == []


def test_a_package_that_gives_a_class_hides_the_module_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "pyproject.toml").touch()
    main = MAIN.replace("TAKEN", "Pairs(table, 32)").replace("STATEMENT", "model.train_on_batch(x, x)")
    texts = {
        "data/Pairs.py": PAIRS,
        "data/__init__.py": "from .Pairs import Pairs, batches",
        "main.py": main.replace("from pairs", "from data"),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(dedent(text).lstrip("\n"))
    settings = Settings(root=tmp_path, rules=frozenset({"TFP301"}), project_root=tmp_path)
    results = lint_files([tmp_path / name for name in texts], settings, 1)
    assert [finding.start.row for result in results for finding in result.findings] == [14]


AGENTS = """
    import tensorflow as tf

    class Learner:
        def __init__(self):
            self.net, self.optimizer = tf.keras.Sequential(), tf.keras.optimizers.Adam()
        @tf.function
        def update(self, x):
            with tf.GradientTape() as tape:
                loss = self.net(x)
            gradients = tape.gradient(loss, self.net.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.net.trainable_variables))

    class Duelist(Learner):
        pass
"""
MEMORY = """
    import random
    import numpy as np

    class Memory:
        def __init__(self):
            self.rows = []
        def sample(self, size):
            states, rewards = map(np.array, zip(*random.sample(self.rows, size)))
            return states, rewards.reshape(-1, 1)
"""
PLAY = """
    import tensorflow as tf
    from agents import Duelist, Learner
    from memory import Memory

    if duels:
        agent = Duelist()
    else:
        agent = Learner()
    memory = Memory()
    for step in range(10000):
        states, rewards = memory.sample(batch_size=32)
        agent.update(tf.convert_to_tensor(states))
"""


def test_what_an_object_elsewhere_gives_for_one_of_several_agents_is_another_batch_each_time(
    tmp_path: Path,
) -> None:
    (tmp_path / "pyproject.toml").touch()
    for name, text in {"agents": AGENTS, "memory": MEMORY, "play": PLAY}.items():
        (tmp_path / f"{name}.py").write_text(dedent(text).lstrip("\n"))
    settings = Settings(root=tmp_path, rules=frozenset({"TFP301"}), project_root=tmp_path)
    (finding,) = (f for result in lint_files([tmp_path / "play.py"], settings, 1) for f in result.findings)
    assert finding.start.row == 12
    assert finding.message.endswith("(little to gain from small batches)")


POINTS = """
    import numpy as np
    import tensorflow as tf

    class Points:
        def __init__(self, end, number):
            self.end = end
            self.number = number

        def to_tensor(self, values):
            return tf.convert_to_tensor(np.expand_dims(values, axis=1), dtype=tf.float32)

        def line(self):
            return self.to_tensor(np.arange(0, self.end, 0.01))

        def sample(self):
            return self.to_tensor(self.end * np.random.random(self.number))
"""
SOLVER = """
    import tensorflow as tf
    from points import Points

    class Solver(tf.keras.Sequential):
        def __init__(self, settings):
            super().__init__()
            self.add(tf.keras.layers.Dense(1))
            self.points = Points(settings["end"], settings["number"])
            self.optimizer = tf.keras.optimizers.Adam()

        def solve(self):
            for _ in range(10000):
                x = self.points.sample()
                USE

        @tf.function
        def one_step(self, x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(self(x) ** 2)
            gradients = tape.gradient(loss, self.weights)
            self.optimizer.apply_gradients(zip(gradients, self.weights))
"""


@pytest.mark.parametrize(("use", "found"), [("self.one_step(x)", [10]), ("show(self(x))", [])])
def test_data_of_unknown_size_that_a_model_elsewhere_learns_from_is_a_batch(
    tmp_path: Path, use: str, found: list[int]
) -> None:
    (tmp_path / "pyproject.toml").touch()
    main = "from solver import Solver\nSolver({'end': 1, 'number': 99}).solve()\n"
    for name, text in {"points": POINTS, "solver": SOLVER.replace("USE", use), "main": main}.items():
        (tmp_path / f"{name}.py").write_text(dedent(text).lstrip("\n"))
    settings = Settings(root=tmp_path, rules=frozenset({"TFP301"}), project_root=tmp_path)
    results = lint_files([tmp_path / "points.py"], settings, 1)
    assert [finding.start.row for result in results for finding in result.findings] == found


LISTS = """
    import tensorflow as tf

    class Lists:
        def __init__(self, batch_size):
            self.batch_size = batch_size
        def __iter__(self):
            return self
        def __next__(self):
            users = []
            for row in self.rows():
                users.append(row[0])
            return tf.convert_to_tensor(users)
"""
TAKING = """
    import tensorflow as tf
    from lists import Lists

    model, optimizer = tf.keras.Sequential([tf.keras.layers.Dense(1)]), tf.keras.optimizers.Adam()

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))

    lists = Lists(32)
    for n in range(10000):
        noise = tf.random.normal((8, 8))
        LOOP
"""


@pytest.mark.parametrize(
    ("loop", "found"),
    [
        ("step(next(lists))", [12]),
        ("for x in lists: step(x)", [12]),
        ("for x in lists: print(x.shape); step(noise)", []),
    ],
)
def test_a_list_of_unknown_size_that_a_loop_elsewhere_learns_from_is_a_batch(
    tmp_path: Path, loop: str, found: list[int]
) -> None:
    (tmp_path / "pyproject.toml").touch()
    for name, text in {"lists": LISTS, "taking": TAKING.replace("LOOP", loop)}.items():
        (tmp_path / f"{name}.py").write_text(dedent(text).lstrip("\n"))
    settings = Settings(root=tmp_path, rules=frozenset({"TFP301"}), project_root=tmp_path)
    results = lint_files([tmp_path / "lists.py"], settings, 1)
    assert [finding.start.row for result in results for finding in result.findings] == found
