"""Files that name no framework: found out about by what they import, and by what imports them."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.lint.screen import through_callers, through_imports
from tflint_perf.project.linting import lint_files

RULES = frozenset({"TFP302", "TFP304"})
READER = b"import cv2\n\ndef picture(path):\n    return cv2.imread(path)\n"
MODEL = """
    import tensorflow as tf

    net = tf.keras.Sequential([tf.keras.layers.Dense(1)])

    @tf.function
    def train_step(images):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(net(images))
        optimizer.apply_gradients(zip(tape.gradient(loss, net.weights), net.weights))
        return loss
"""


def found(folder: Path, texts: dict[str, str]) -> list[str]:
    """What is flagged in a project of these files: their names with the codes and rows."""
    (folder / "pyproject.toml").touch()
    for name, text in texts.items():
        (folder / name).write_text(dedent(text).lstrip("\n"))
    settings = Settings(root=folder, rules=RULES, project_root=folder)
    results = lint_files([folder / name for name in texts], settings, 1)
    return [
        f"{Path(result.path).name}:{finding.code}:{finding.start.row}"
        for result in results
        for finding in result.findings
    ]


@pytest.mark.parametrize(
    ("data", "codes"),
    [
        (READER, {"TFP304"}),
        (READER + b"# keras\n", set()),
        (b"import cv2\nimage = cv2.imread('a.png')\n", set()),
        (b"def names(path):\n    return open(path).read()\n", set()),
    ],
    ids=["a reader", "one that passes anyway", "no function", "a text"],
)
def test_modules_that_may_be_run_per_step_are_looked_at(data: bytes, codes: set[str]) -> None:
    assert through_callers(data, RULES) == codes
    assert through_callers(data, frozenset()) == frozenset()


def test_what_a_rule_needs_is_asked_of_such_a_file_too() -> None:
    assert through_imports(b"def show(loss):\n    print(float(loss))\n", RULES) == frozenset()
    assert through_imports(b"def show(loss):\n    print(float(train(loss)))\n", RULES) == {"TFP302"}


def test_a_reader_is_flagged_for_the_loop_of_another_file(tmp_path: Path) -> None:
    train = (
        MODEL
        + "\n    from reader import picture\n    for i in range(9000):\n        train_step(picture(paths[i]))\n"
    )
    assert found(tmp_path, {"reader.py": READER.decode(), "train.py": train}) == ["reader.py:TFP304:4"]


def test_a_reader_is_left_alone_where_no_step_runs_it(tmp_path: Path) -> None:
    train = MODEL + "\n    from reader import picture\n    image = picture(paths[0])\n"
    assert found(tmp_path, {"reader.py": READER.decode(), "train.py": train}) == []


def test_a_trainer_is_flagged_for_what_it_imports(tmp_path: Path) -> None:
    trainer = """
        from model import train_step

        class Trainer:
            def train(self, batches):
                for step in range(9000):
                    loss = train_step(next(batches))
                    print("loss", float(loss))
    """
    assert found(tmp_path, {"model.py": MODEL, "trainer.py": trainer}) == ["trainer.py:TFP302:7"]
    assert found(tmp_path, {"model.py": "train_step = print\n", "trainer.py": trainer}) == []
