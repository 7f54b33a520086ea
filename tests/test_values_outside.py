"""What other files define and what becomes there of values: copies to the host, batches made on it, tensors kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_callers import write
from tflint_perf.project import lint_files
from tflint_perf.settings import Settings

_STEP = """
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    optimizer = tf.keras.optimizers.Adam()
    class Trainer:
        def __init__(self):
            self.step = tf.Variable(0, dtype=tf.int64)
        @tf.function
        def train_step(self, x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(model(x) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
            return loss, {"loss": loss}
        def accuracies(self, x):
            found = []
            for k in (1, 5):
                found.append(float(tf.reduce_mean(model(x) - k)))
            return found
        def report(self, x):
            return "loss {}".format(tf.reduce_mean(model(x)))
        def act(self, x):
            return int(tf.argmax(model(x)))
"""
_DATA = """
    import numpy as np
    import cv2
    def load(paths):
        images = []
        for path in paths:
            image = cv2.imread(path)
            images.append(image)
        return np.stack(images)
    def noise(n):
        rows = list()
        for i in range(n):
            row = np.random.uniform(0, 1, [5, i])
            rows.append(row)
        return rows
    def cut(images, n):
        rows = []
        for i in range(n):
            row = images[i]
            rows.append(row)
        return rows
    class Loader:
        def __getitem__(self, index):
            return load(self.paths[index])
"""
_FLOW = """
    from tensorflow.keras.preprocessing.image import ImageDataGenerator
    generator = ImageDataGenerator(rescale=1 / 255).flow_from_directory("images")
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


def found(project: Path, code: str, program: str) -> list[str]:
    """Where the rule finds something: "train.py:7"."""
    head = "import numpy as np\nimport tensorflow as tf\nfrom steps import Trainer\ntrainer = Trainer()\n"
    paths = write(project, steps=_STEP, data=_DATA, flow=_FLOW, train=head + program)
    results = lint_files(paths, Settings(root=Path(), rules=frozenset({code})), 1)
    assert not [result.failure for result in results if result.failure]
    return [f"{result.path}:{finding.start.row}" for result in results for finding in result.findings]


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("for x in data:\n    loss, logs = trainer.train_step(x)\n    print(loss.numpy())\n", ["train.py:7"]),
        ("for x in data:\n    loss, logs = trainer.train_step(x)\n    print(logs['loss'])\n", ["train.py:7"]),
        ("for x in data:\n    trainer.train_step(x)\n    print(trainer.step.numpy())\n", ["train.py:7"]),
        (
            "for x in data:\n    trainer.train_step(x)\n    first, fifth = trainer.accuracies(x)\n    print(first, fifth)\n",
            ["steps.py:17"],
        ),
        ("for x in data:\n    trainer.train_step(x)\n    print(trainer.report(x))\n", ["steps.py:20"]),
        # An action, and accuracies that decide.
        ("while True:\n    x, r, d, _ = env.step(trainer.act(x))\n", []),
        (
            "for x in data:\n    trainer.train_step(x)\n    if trainer.accuracies(x)[0] > 0.9:\n        break\n",
            [],
        ),
        # Once an epoch.
        (
            "for e in range(99):\n    for x in data:\n        trainer.train_step(x)\n    print(trainer.report(x))\n",
            [],
        ),
    ],
)
def test_copies_of_what_other_files_make_or_take_are_found(
    project: Path, program: str, expected: list[str]
) -> None:
    assert found(project, "TFP302", program) == expected


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (
            "from data import load\nfor p in paths:\n    x = load(p)\n    trainer.train_step(x)\n",
            ["train.py:7"],
        ),
        (
            "from data import noise\nfor p in paths:\n    trainer.train_step(tf.constant(noise(9)))\n",
            ["train.py:7"],
        ),
        ("from data import Loader\nfor x in Loader():\n    trainer.train_step(x)\n", ["train.py:6"]),
        ("from data import cut\nfor p in paths:\n    trainer.train_step(cut(p, 9))\n", []),
        ("from data import load\nx = load(paths)\nfor p in paths:\n    trainer.train_step(x)\n", []),
        (
            "from flow import generator\nmodel = tf.keras.Sequential()\nmodel.fit(generator)\n",
            ["train.py:7"],
        ),
    ],
)
def test_batches_that_other_files_make_are_found(project: Path, program: str, expected: list[str]) -> None:
    assert found(project, "TFP303", program) == expected


def test_tensors_of_another_file_s_step_that_are_kept_are_found(project: Path) -> None:
    program = (
        "losses, others = [], []\nif resume:\n    losses, others = load(path)\n"
        "for x in data:\n    loss, logs = trainer.train_step(x)\n    losses.append(loss)\n"
    )
    assert found(project, "TFP401", program) == ["train.py:10"]
