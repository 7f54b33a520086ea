"""Functions given to `Dataset.map` that another file defines: what they draw, compute and make of an element."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_callers import lint, write
from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files

_PREPARING = """
    import numpy
    import tensorflow as tf
    def flip(x, size=32):
        return tf.image.random_crop(tf.image.random_flip_left_right(x), [size, size, 3])
    def distort(x):
        return flip(x) if training else x
    def number(x, table):
        return table.lookup(x)
    def to_float(x, y):
        return tf.cast(x, tf.float32) / 255.0, y
    def load(path, side):
        image = tf.io.decode_jpeg(tf.io.read_file(path))
        return tf.image.resize(image, [side, side])
    def to_float_of_raw(record):
        parts = tf.io.parse_single_example(record, {"image": tf.io.FixedLenFeature([], tf.string)})
        image = tf.io.decode_raw(parts["image"], tf.uint8)
        return tf.cast(tf.reshape(image, [64, 64, 3]), tf.float32) / 255.0
    def rows_of(name):
        return numpy.load(name)
    def pixels_of(name):
        return tf.io.decode_png(tf.io.read_file(name))
    def length_of(name):
        return len(name)
    class Waves:
        def __init__(self, scale=1.0):
            self.scale = scale
        def draw(self):
            while True:
                yield [self.scale * numpy.random.uniform()]
        def read(self):
            for name in self.names:
                yield numpy.load(name)
    def waves():
        yield numpy.random.uniform()
    def raw(record):
        return tf.io.decode_raw(record, tf.uint8)
    def halved(record):
        return tf.image.resize(tf.cast(tf.io.decode_raw(record, tf.uint8), tf.float32), [8, 8])
    def with_help(x, help=None):
        x = tf.image.resize(x, [32, 32])
        if help:
            x = help(x)
        return x
    def make_batches(pattern):
        return tf.data.TFRecordDataset(tf.data.Dataset.list_files(pattern)).map(raw).batch(32)
    def unseen(x):
        return library.work(x)
    def parser(training=True):
        def parse(x):
            return flip(x) if training else x
        return parse
    def make(pattern):
        return tf.data.Dataset.list_files(pattern).map(lambda p: load(p, 224))
    def make_shuffled(pattern):
        return tf.data.Dataset.list_files(pattern).map(lambda p: load(p, 224)).shuffle(9)
"""
_PROGRAM = """
    import tensorflow as tf
    import preparing
    from preparing import distort, flip, load, number, to_float
    (x_train, y_train), _ = tf.keras.datasets.mnist.load_data()
    files = tf.data.Dataset.list_files("*.jpg")
    images = tf.data.Dataset.from_tensor_slices((x_train, y_train))
    records = tf.data.TFRecordDataset("images.tfrecord")
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


def codes(project: Path, line: str) -> set[str]:
    """What is reported in a line below the program."""
    paths = write(project, preparing=_PREPARING, train=f"{_PROGRAM}    {line}\n")
    rules = frozenset({"TFP503", "TFP505", "TFP508", "TFP509"})
    results = lint_files(paths, Settings(root=Path(), rules=rules), 1)
    return {f.code for result in results if Path(result.path).name == "train.py" for f in result.findings}


@pytest.mark.parametrize(
    "line",
    [
        "files.map(flip)",
        "files.map(distort)",
        "files.map(preparing.flip)",
        "files.map(lambda x: flip(x, 64))",
        "files.map(lambda x: number(x, table))",
        "files.map(preparing.parser())",
        "files.map(preparing.parser(True))",
        "files.map(lambda x: preparing.with_help(x, preparing.flip))",
        "files.map(lambda x: preparing.with_help(x, help=flip))",
    ],
)
def test_a_map_of_a_stateful_function_of_another_file_gets_one_element_at_a_time(
    project: Path, line: str
) -> None:
    assert codes(project, line) == {"TFP503"}


@pytest.mark.parametrize(
    "line",
    [
        "files.map(preparing.unseen)",
        "files.map(lambda x: load(x, 224))",
        "files.map(preparing.parser(training=False))",
        "files.map(lambda x: preparing.with_help(x))",
        "files.map(lambda x: preparing.with_help(x, preparing.unseen))",
        "files.map(lambda x: preparing.with_help(x, preparing.raw))",
    ],
)
def test_a_function_of_another_file_that_is_seen_to_be_stateless_is_left_alone(
    project: Path, line: str
) -> None:
    assert codes(project, line) == set()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("images.map(to_float).batch(32)", {"TFP505"}),
        ("images.map(to_float).shuffle(60_000)", {"TFP509"}),
        ("files.map(lambda p: load(p, 224)).shuffle(1000)", {"TFP509"}),
        ("files.map(load).batch(32)", set()),
        ("preparing.make('*.jpg').shuffle(1000).batch(9)", {"TFP509"}),
        ("preparing.make_shuffled('*.jpg').shuffle(1000).batch(9)", set()),
        ("preparing.make_batches('*.rec').shuffle(1000)", {"TFP509"}),
        ("preparing.make_batches('*.rec').shuffle(1000).unbatch()", set()),
        ("preparing.make('*.jpg').map(tf.reduce_mean).shuffle(1000).batch(9)", set()),
        ("files.map(to_float).shuffle(1000)", set()),
        ("images.batch(32).map(to_float)", set()),
        ("records.map(preparing.to_float_of_raw).shuffle(1000)", {"TFP509"}),
        ("records.map(lambda r: preparing.to_float_of_raw(r)).repeat().shuffle(1000)", {"TFP509"}),
        ("records.map(preparing.raw).shuffle(1000)", set()),
        ("records.map(preparing.halved).shuffle(1000)", set()),
    ],
)
def test_what_a_function_of_another_file_makes_of_elements_is_known(
    project: Path, line: str, expected: set[str]
) -> None:
    assert codes(project, line) == expected


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("preparing.rows_of", {"TFP509"}),
        ("preparing.rows_of if cached else preparing.pixels_of", {"TFP509"}),
        ("preparing.rows_of if cached else preparing.length_of", set()),
        ("preparing.unseen", set()),
    ],
)
def test_python_code_of_another_file_that_reads_an_element_is_known(
    project: Path, read: str, expected: set[str]
) -> None:
    mapped = "files.map(lambda p: tf.numpy_function(read, [p], tf.float32), num_parallel_calls=4)"
    assert codes(project, f"read = {read}; {mapped}.shuffle(1000)") == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("preparing.Waves().draw", {"TFP508"}),
        ("preparing.waves", {"TFP508"}),
        ("preparing.Waves().read", set()),
        ("preparing.unseen", set()),
    ],
)
def test_a_generator_of_another_file_that_only_computes_is_known(
    project: Path, given: str, expected: set[str]
) -> None:
    line = f"waves = tf.data.Dataset.from_generator({given}, tf.float32).shuffle(9).batch(32)"
    assert codes(project, line) == expected


def test_of_two_modules_that_have_a_function_the_later_import_counts(project: Path) -> None:
    paths = write(
        project,
        plain="def prepare(x):\n    return x\n",
        drawing="import tensorflow as tf\ndef prepare(x):\n    return tf.image.random_hue(x, 0.1)\n",
        train="import tensorflow as tf\nfrom plain import prepare\nfrom drawing import prepare\n"
        "def load():\n    return tf.data.Dataset.list_files('*').map(prepare)\n",
    )
    results = lint_files(paths, Settings(root=Path(), rules=frozenset({"TFP503"})), 1)
    assert [finding.start.row for result in results for finding in result.findings] == [5]


DRAWING = """
import numpy as np
import volumes
def box(points):
    return np.max(points) - np.min(points)
def wide(points):
    return box(points) * 2
def scan(path):
    return volumes.grab(path)
"""


@pytest.mark.parametrize(("drawn", "found"), [("wide", True), ("scan", False), ("missing", False)])
def test_python_in_a_map_may_call_what_another_file_computes_tfp508(
    project: Path, drawn: str, found: bool
) -> None:
    train = (
        f"import tensorflow as tf\nfrom drawing import {drawn}\ndef draw(x):\n    return {drawn}(x.numpy())\n"
        "def step(x):\n    return tf.py_function(draw, [x], tf.float32)\n"
        "ds = tf.data.Dataset.from_tensor_slices(points).shuffle(9).map(step).batch(8)\n"
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.fit(ds)\n"
    )
    linted = lint(write(project, drawing=DRAWING, train=train), frozenset({"TFP508"}))
    assert linted == ({"train.py": ["TFP508"]} if found else {})
