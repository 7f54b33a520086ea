"""Batches that objects of one module make, for the loop of another, which a third gives them to."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files

PHOTOS = """
    import cv2
    import numpy as np
    import tensorflow as tf
    from tensorflow.keras.preprocessing.image import ImageDataGenerator

    class Photos:
        def __init__(self, paths):
            self.paths = paths
            self.flow = ImageDataGenerator().flow(paths)
            self.endless = self.read()
            self.cuts = self.pieces()
        def read(self):
            while True:
                yield np.stack([cv2.imread(path) for path in self.paths])
        def pieces(self):
            while True:
                yield self.paths[:32]
        def next_batch(self, size):
            return np.stack([cv2.imread(path) for path in self.paths[:size]])
        def cut(self, start):
            return self.paths[start : start + 32]
        def __getitem__(self, i):
            return self.next_batch(i)
"""
TRAIN = """
    import tensorflow as tf

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")

    def train(photos, steps):
        for step in range(steps):
            x = BATCH
            model.train_on_batch(x, x)
"""
MAIN = "from photos import Photos\nfrom train import train\n"


def rows(folder: Path, batch: str, main: str) -> list[int]:
    """The rows of the loop's module that are flagged where it takes a batch by an expression."""
    (folder / "pyproject.toml").touch()
    texts = {"photos.py": PHOTOS, "train.py": TRAIN.replace("BATCH", batch), "main.py": MAIN + main}
    for name, text in texts.items():
        (folder / name).write_text(dedent(text).lstrip("\n"))
    settings = Settings(root=folder, rules=frozenset({"TFP303"}), project_root=folder)
    results = lint_files([folder / name for name in texts], settings, 1)
    return [
        finding.start.row
        for result in results
        for finding in result.findings
        if Path(result.path).name == "train.py"
    ]


GIVEN = "photos = Photos(paths)\ntrain(photos, 1000)\n"
SILENT = {
    "a method that only cuts": ("photos.cut(step)", GIVEN),
    "a method of no class in sight": ("photos.next_batch(32)", "train(load(paths), 1000)"),
    "an object that nobody gives": ("photos.next_batch(32)", ""),
    "a generator that only cuts": ("next(photos.cuts)", GIVEN),
    "an attribute that holds no batches": ("photos.paths[step]", GIVEN),
}
FLAGGED = {
    "a method": ("photos.next_batch(32)", GIVEN),
    "a method of what is given by name": ("photos.next_batch(32)", "train(steps=9, photos=Photos(paths))"),
    "a generator of images that it keeps": ("next(photos.flow)", GIVEN),
    "a generator that it keeps": ("next(photos.endless)", GIVEN),
    "a generator that it keeps, by its method": ("photos.endless.__next__()", GIVEN),
    "an item": ("photos[step]", GIVEN),
}


@pytest.mark.parametrize(("batch", "main"), SILENT.values(), ids=SILENT)
def test_says_nothing_of(tmp_path: Path, batch: str, main: str) -> None:
    assert rows(tmp_path, batch, main) == []


@pytest.mark.parametrize(("batch", "main"), FLAGGED.values(), ids=FLAGGED)
def test_flags_batches_of_an_object_that_another_file_gives(tmp_path: Path, batch: str, main: str) -> None:
    assert rows(tmp_path, batch, main) == [8]


HELPERS = """
    import cv2
    import numpy as np
    import tensorflow as tf

    def read(paths):
        while True:
            yield np.stack([cv2.imread(path) for path in paths])
    def both(paths):
        return read(paths[9:]), paths[:9]
    def some(paths, three):
        train, test = read(paths[9:]), read(paths[:9])
        if three:
            return train, paths, test
        return train, paths
"""


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("photos, rest = both(paths)", [8]),
        ("rest, photos = both(paths)", []),
        ("photos, rest = some(paths, False)", [8]),
        ("rest, photos = some(paths, False)", []),
        ("photos = some(paths, True)[0]", []),  # it is not looked into
    ],
)
def test_flags_a_part_of_what_a_third_file_gives(tmp_path: Path, given: str, expected: list[int]) -> None:
    main = f"from helpers import both, some\nfrom train import train\n{given}\ntrain(photos, 1000)\n"
    (tmp_path / "helpers.py").write_text(dedent(HELPERS).lstrip("\n"))
    assert rows(tmp_path, "next(photos)", main) == expected


READING = """
    import random
    import tensorflow as tf

    def read(path):
        return tf.image.decode_jpeg(tf.io.read_file(path))

    class Photos:
        def __init__(self, paths):
            self.paths = paths
        def endless(self):
            while True:
                yield tf.expand_dims(read(random.choice(self.paths)), 0)
        def __getitem__(self, i):
            return read(self.paths[i])
"""
STEPS = """
    import tensorflow as tf
    from reading import Photos

    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    photos = Photos(paths)
    endless = photos.endless()
    for step in range(1000):
        x = BATCH
        model.train_on_batch(x, x)
"""


def reads(folder: Path, batch: str) -> list[int]:
    """The rows of the module of readers that are flagged where the loop of another takes a batch by an expression."""
    (folder / "pyproject.toml").touch()
    (folder / "reading.py").write_text(dedent(READING).lstrip("\n"))
    (folder / "steps.py").write_text(dedent(STEPS.replace("BATCH", batch)).lstrip("\n"))
    settings = Settings(root=folder, rules=frozenset({"TFP304"}), project_root=folder)
    results = lint_files([folder / "reading.py", folder / "steps.py"], settings, 1)
    return [finding.start.row for result in results for finding in result.findings]


@pytest.mark.parametrize(
    ("batch", "expected"),
    [("next(endless)", [5]), ("photos[step]", [5]), ("kept[step]", []), ("photos.paths[step]", [])],
)
def test_flags_reads_for_what_a_loop_takes(tmp_path: Path, batch: str, expected: list[int]) -> None:
    assert reads(tmp_path, batch) == expected


BASES = """
    import cv2
    import numpy as np

    class Reading:
        def __len__(self):
            return len(self.paths) // 32
        def __iter__(self):
            for i in range(len(self)):
                yield self[i]
        def __getitem__(self, i):
            images = []
            for path in self.paths[i * 32 : i * 32 + 32]:
                images.append(cv2.imread(path))
            return np.array(images)
"""
DERIVED = """
    import tensorflow as tf
    from bases import Reading

    class Photos(Reading, tf.keras.utils.Sequence):
        def __init__(self, paths):
            self.paths = paths
    class Cut(Reading, tf.keras.utils.Sequence):
        def __getitem__(self, i):
            return self.paths[i * 32 : i * 32 + 32]
"""
FIT = """
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.fit(GIVEN, epochs=9)
"""


@pytest.mark.parametrize("apart", [True, False], ids=["in a third file", "in its own file"])
@pytest.mark.parametrize(
    ("given", "found"), [("Photos(paths)", True), ("Cut(paths)", False), ("Other(paths)", False)]
)
def test_flags_a_sequence_that_has_its_items_of_a_class_of_another_file(
    tmp_path: Path, given: str, found: bool, apart: bool
) -> None:
    (tmp_path / "pyproject.toml").touch()
    fit = dedent(FIT.replace("GIVEN", given))
    head = "import tensorflow as tf\nfrom photos import Photos, Cut\n" if apart else ""
    texts = {"bases.py": dedent(BASES), "photos.py": dedent(DERIVED)}
    texts["fit.py" if apart else "photos.py"] = head + fit if apart else texts["photos.py"] + fit
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    settings = Settings(root=tmp_path, rules=frozenset({"TFP303"}), project_root=tmp_path)
    results = lint_files([tmp_path / name for name in texts], settings, 1)
    assert [finding.code for result in results for finding in result.findings] == ["TFP303"] * found
