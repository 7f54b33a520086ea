"""Lists that a function of one module makes, once for each round of a loop in another (TFP401)."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files

EPOCH = """
    import tensorflow as tf
    from losses import cross_entropy

    def train(dataset, model, optimizer):
        losses = []
        for images, labels in dataset:
            with tf.GradientTape() as tape:
                loss = cross_entropy(labels, model(images))
            losses.append(loss)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.weights), model.weights))
        return sum(losses) / len(losses)
"""
LOSSES = """
    import tensorflow as tf

    @tf.function
    def cross_entropy(labels, logits):
        return tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, logits))
"""
PROGRAMS = {
    "once": ("print(epoch.train(ds, model, optimizer))", [9]),
    "in each epoch": ("for i in range(10):\n    print(epoch.train(ds, model, optimizer))", []),
    "in a function that each epoch calls": (
        "def both():\n    return epoch.train(ds, model, optimizer)\nfor i in range(10):\n    print(both())",
        [],
    ),
}


@pytest.mark.parametrize(("program", "rows"), PROGRAMS.values(), ids=PROGRAMS)
def test_a_list_is_made_anew_by_the_loop_of_another_file(
    tmp_path: Path, program: str, rows: list[int]
) -> None:
    (tmp_path / "pyproject.toml").touch()
    head = "import tensorflow as tf\nimport epoch\nds = tf.data.Dataset.range(9).batch(3)\n"
    (tmp_path / "epoch.py").write_text(dedent(EPOCH).lstrip("\n"))
    (tmp_path / "losses.py").write_text(dedent(LOSSES).lstrip("\n"))
    (tmp_path / "main.py").write_text(head + program + "\n")
    settings = Settings(root=tmp_path, rules=frozenset({"TFP401"}), project_root=tmp_path)
    (result,) = lint_files([tmp_path / "epoch.py"], settings, 1)
    assert [finding.start.row for finding in result.findings] == rows
