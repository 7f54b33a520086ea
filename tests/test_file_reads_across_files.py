"""Files that a function of one module reads, for a loop of another, by way of a third (TFP304)."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.finding import Finding
from tflint_perf.project.linting import lint_files

PICTURES = """
    import cv2
    import numpy as np
    import random
    import tensorflow as tf

    def picture(path):
        return tf.io.decode_image(tf.io.read_file(path))

    class Pictures:
        def __init__(self, paths):
            self.paths = paths
        def __iter__(self):
            return _Pictures(self.paths)

    class _Pictures:
        def __init__(self, paths):
            self.paths = list(paths)
        def __iter__(self):
            return self
        def __next__(self):
            return cv2.imread(self.paths.pop())

    def batches(paths):
        while True:
            yield np.stack([cv2.imread(path) for path in random.sample(paths, 32)])

    class Album(tf.keras.utils.Sequence):
        def __getitem__(self, index):
            return np.stack([cv2.imread(path) for path in self.pages[index]])
"""
READER = """
    import tensorflow as tf
    from pictures import picture

    class Reader:
        def read(self, paths):
            pictures = []
            for path in paths:
                pictures.append(picture(path))
            return tf.stack(pictures)
"""
TRAIN = """
    import tensorflow as tf
    from pictures import Album, Pictures, batches
    from reader import Reader

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
"""


def rows(folder: Path, program: str) -> list[int]:
    """The rows of the module of pictures that are flagged, by what a program elsewhere does."""
    return [finding.start.row for finding in found(folder, program)]


def found(folder: Path, program: str) -> list[Finding]:
    (folder / "pyproject.toml").touch()
    texts = {"pictures.py": PICTURES, "reader.py": READER, "train.py": TRAIN + program}
    for name, text in texts.items():
        (folder / name).write_text(dedent(text).lstrip("\n"))
    settings = Settings(root=folder, rules=frozenset({"TFP304"}), project_root=folder)
    results = lint_files([folder / name for name in texts], settings, 1)
    return [finding for result in results for finding in result.findings]


FLAGGED = {
    "sample by sample, through another module": (
        """
    for step in range(9000):
        x = Reader().read(names[step])
        model.train_on_batch(x, x)
    """,
        [7],
    ),
    "a generator that `fit` draws from": ("    model.fit(batches(names), steps_per_epoch=100)\n", [25]),
    "a generator by its name": (
        "    source = batches(names)\n    model.fit_generator(source, steps_per_epoch=100)\n",
        [25],
    ),
    "a sequence that `fit` draws from": ("    model.fit(Album(), epochs=3)\n", [29]),
    "an iterator that an object gives": (
        """
    for x in Pictures(names):
        model.train_on_batch(x, x)
    """,
        [21],
    ),
}
SILENT = {
    "before the loop": """
    x = Reader().read(names)
    for step in range(9000):
        model.train_on_batch(x, x)
    """,
    "a sequence that is predicted from": "    print(model.predict(Album()))\n",
    "once an epoch": """
    for epoch in range(9):
        x = Reader().read(names)
        for step in range(9000):
            model.train_on_batch(x, x)
    """,
    "an object that is only looked at": """
    for x in Pictures(names):
        print(x.shape)
    """,
}


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("settings.name", "reads the same file on each step; read it once"),
        ("names[step]", "reads a file on each step; read files in a `tf.data` pipeline"),
    ],
)
def test_tells_a_file_that_is_the_same_on_each_step(tmp_path: Path, path: str, message: str) -> None:
    program = f"""
    import argparse
    from pictures import picture
    settings = argparse.ArgumentParser().parse_args()
    for step in range(9000):
        x = picture({path})
        model.train_on_batch(x, x)
    """
    (finding,) = found(tmp_path, program)
    assert message in finding.message


@pytest.mark.parametrize(("program", "expected"), FLAGGED.values(), ids=FLAGGED.keys())
def test_flags_what_a_training_loop_reads(tmp_path: Path, program: str, expected: list[int]) -> None:
    assert rows(tmp_path, program) == expected


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT.keys())
def test_leaves_alone_what_no_step_reads(tmp_path: Path, program: str) -> None:
    assert rows(tmp_path, program) == []


def test_what_fit_draws_in_another_file_is_read_beside_the_step(tmp_path: Path) -> None:
    for program, is_hint in (
        ("    model.fit(Album(), epochs=3)\n", True),
        (FLAGGED["an iterator that an object gives"][0], False),
    ):
        assert [finding.minor for finding in found(tmp_path, program)] == [is_hint]
