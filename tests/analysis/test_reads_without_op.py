"""What Python code reads that TensorFlow can't, asked of the model itself."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.analysis.support import function, model_of
from tflint_perf.analysis.pipelines.reads_without_op import OtherReads, is_reader


def reads(source: str) -> bool:
    model = model_of(dedent(source))
    return model.own(OtherReads).may_be_in(function(model, "f"))


READS = {
    "an array file": "import numpy as np\ndef f(x):\n    return np.load(x)",
    "a helper that reads": "import pandas as pd\ndef g(x):\n    return pd.read_csv(x)\ndef f(x):\n    return g(x) / 2",
    "bytes": "def f(x):\n    return open(x, 'rb').read()",
    "a name of another format": "import cv2\ndef f(x):\n    return cv2.imread(x + '.tif')",
    "a database": "import sqlite3\ndef f(x):\n    return sqlite3.connect('a')",
    "data of nobody knows where": "import h5py\ndef f(x):\n    return rows[x]",
}
READS_NOT = {
    "arithmetic": "def f(x):\n    return x / 2",
    "text": "def f(x):\n    return [line for line in open(x)]",
    "pictures": "import cv2\ndef f(x):\n    return cv2.imread(x)",
    "data in memory": "import h5py\nimport numpy as np\nrows = np.zeros(9)\ndef f(x):\n    return rows[x]",
    "functions that call each other": "def g(x):\n    return f(x)\ndef f(x):\n    return g(x) if x else 0",
}


@pytest.mark.parametrize("source", READS.values(), ids=list(READS))
def test_it_reads(source: str) -> None:
    assert reads(source)


@pytest.mark.parametrize("source", READS_NOT.values(), ids=list(READS_NOT))
def test_it_reads_nothing_else(source: str) -> None:
    assert not reads(source)


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("librosa.load", True),
        ("librosa.feature.mfcc", False),
        ("PIL.Image.open", False),
        ("tf.io.read_file", False),
        ("env.step", True),
        ("time.sleep", True),
        ("widget.loading_bar", True),
        ("tokenizer.encode", False),
    ],
)
def test_a_reader_is_known_by_its_name(name: str, answer: bool) -> None:
    assert is_reader(name) is answer
