"""What projects say that they need: a Keras that runs on another framework, an old TensorFlow."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.finding import Finding
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


POLICY = """
    import tensorflow as tf
    tf.keras.mixed_precision.experimental.set_policy("mixed_float16")
"""
PREDICT = """
    import numpy as np
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    for step in range(10000):
        state = observe(step)
        act(model.predict(np.expand_dims(state, 0)))
"""
READ = """
    import tensorflow as tf
    dataset = tf.data.Dataset.list_files("*.tfrecord").interleave(tf.data.TFRecordDataset, cycle_length=4)
    dataset = dataset.batch(32)
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.fit(dataset, epochs=5)
"""


def _found_in(folder: Path, source: str, needs: str) -> list[Finding]:
    """What is found in a script of a project with these requirements."""
    (folder / "pyproject.toml").touch()
    (folder / "requirements.txt").write_text(needs)
    (folder / "train.py").write_text(dedent(source))
    rules = frozenset({"TFP602", "TFP105", "TFP107", "TFP504"})
    settings = Settings(root=folder, rules=rules, fixable=rules)
    results = lint_files([folder / "train.py"], settings, 1)
    return [finding for result in results for finding in result.findings]


@pytest.mark.parametrize(
    ("needs", "minor"),
    [
        ("tensorflow>=2.4,<2.5", True),
        ("tensorflow-gpu==2.3.1", True),
        ("tensorflow>=2.4", False),
        ("tensorflow==2.8\ntensorflow==2.16", False),
        ("numpy==1.8", False),
    ],
)
def test_what_is_gone_in_a_later_release_is_a_hint_before_that(
    tmp_path: Path, needs: str, minor: bool
) -> None:
    assert [(found.code, found.minor) for found in _found_in(tmp_path, POLICY, needs)] == [("TFP602", minor)]


@pytest.mark.parametrize(
    ("needs", "found"),
    [
        ("tensorflow==1.15.2", []),
        ("keras==2.3.1", []),
        ("keras>=2.3.1", ["TFP105"]),
        ("keras==2.3.1\ntensorflow==2.1", ["TFP105"]),
        ("tensorflow==2.1", ["TFP105"]),
    ],
)
def test_keras_of_version_1_sets_up_no_pipeline(tmp_path: Path, needs: str, found: list[str]) -> None:
    assert [finding.code for finding in _found_in(tmp_path, PREDICT, needs)] == found


@pytest.mark.parametrize(
    ("needs", "found"),
    [("Keras==2.3.1\ntensorflow==2.0.0", []), ("Keras==2.4.3\ntensorflow==2.4", ["TFP105"])],
)
def test_keras_with_an_engine_of_its_own_sets_up_no_pipeline(
    tmp_path: Path, needs: str, found: list[str]
) -> None:
    alone = PREDICT.replace("import tensorflow as tf", "import keras").replace("tf.keras.", "keras.")
    assert [finding.code for finding in _found_in(tmp_path, alone, needs)] == found


def test_no_fix_writes_what_an_old_release_does_not_have(tmp_path: Path) -> None:
    (old,) = _found_in(tmp_path, READ, "tensorflow-gpu==1.8.0")
    assert old.code == "TFP504"
    assert old.note is not None
    assert "before 1.13" in old.note
    (new,) = _found_in(tmp_path, READ, "tensorflow>=1.13")
    assert new.note is None


SCORE = """
    import tensorflow as tf
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    for x in tf.data.Dataset.range(9).map(tokens).padded_batch(8):
        print(model(x))
"""


@pytest.mark.parametrize(
    ("needs", "option"),
    [("tensorflow==2.4.0", "experimental_relax_shapes=True"), ("tensorflow>=2.9", "reduce_retracing=True")],
)
def test_one_trace_for_all_shapes_is_asked_for_as_the_release_spells_it(
    tmp_path: Path, needs: str, option: str
) -> None:
    (found,) = _found_in(tmp_path, SCORE, needs)
    assert found.fix is not None
    assert any(f"@tf.function({option})" in edit.content for edit in found.fix.edits)


@pytest.mark.parametrize(
    ("needs", "found"),
    [
        ("tensorflow-cpu==2.14.0\ntensorflow_datasets\n", []),
        ("tensorflow-cpu; sys_platform == 'linux'\ntensorflow\n", ["TFP404"]),
        ("# tensorflow-cpu is enough\ntensorflow\n", ["TFP404"]),
        ("tensorflow-datasets\n", ["TFP404"]),
    ],
)
def test_a_tensorflow_for_cpus_takes_no_memory_of_gpus(tmp_path: Path, needs: str, found: list[str]) -> None:
    (tmp_path / "requirements.txt").write_text(needs)
    (tmp_path / "train.py").write_text(
        "import tensorflow as tf\nmodel = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
        "model.compile('sgd', 'mse')\nmodel.fit(x, y, epochs=10)\n"
    )
    settings = Settings(root=tmp_path, rules=frozenset({"TFP404"}))
    [result] = lint_files([tmp_path / "train.py"], settings, 1)
    assert [finding.code for finding in result.findings] == found
