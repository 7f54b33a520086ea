"""Projects whose Keras runs on another framework, by what they say that they need."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files

FEATURES = """
    # `model` is a keras.Model.
    import numpy as np
    {imports}

    def extract(images, model):
        found = []
        for i in range(0, len(images), 256):
            found.append(np.array(model(images[i:i + 256], training=False)))
        return np.concatenate(found)
"""
EVALUATE = """
    import keras
    from features import extract

    classifier = keras.Sequential([keras.layers.Dense(10)])
    extract(keras.datasets.mnist.load_data()[0][0], classifier)
"""


def _found(folder: Path, imports: str = "") -> list[str]:
    (folder / "features.py").write_text(dedent(FEATURES).format(imports=imports))
    (folder / "evaluate.py").write_text(dedent(EVALUATE))
    settings = Settings(root=folder, rules=frozenset({"TFP107"}))
    paths = [folder / "features.py", folder / "evaluate.py"]
    return [finding.code for result in lint_files(paths, settings, 1) for finding in result.findings]


@pytest.mark.parametrize(
    ("file", "text", "runs_elsewhere"),
    [
        ("pyproject.toml", '[project]\ndependencies = ["jax>=0.4.30", "keras>=3.0", "numpy"]', True),
        ("requirements.txt", "keras==3.6.0\ntorch\n", True),
        ("setup.py", 'setup(install_requires=["keras", "jax[cuda12]"])', True),
        ("requirements.txt", "keras\njax\n# tensorflow is too large\n", True),
        ("requirements.txt", "keras\njax\ntensorflow-cpu\n", False),
        ("requirements.txt", "keras\nnumpy\n", False),
        ("requirements.txt", "jax\nnumpy\n", False),
        ("requirements.txt", "keras\njaxtyping\ntorchinfo\n", False),
    ],
)
def test_what_a_project_needs_tells_what_its_keras_runs_on(
    tmp_path: Path, file: str, text: str, runs_elsewhere: bool
) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / file).write_text(text)
    assert _found(tmp_path) == ([] if runs_elsewhere else ["TFP107"])


def test_a_file_that_imports_tensorflow_runs_on_it_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\ndependencies = ["jax", "keras"]')
    assert _found(tmp_path, "import tensorflow as tf") == ["TFP107"]
