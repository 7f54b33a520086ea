"""Files that one module names and another reads."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import lint_files

RECORDS = """
    import tensorflow as tf

    def read(paths, compressed=False):
        return tf.data.TFRecordDataset(paths, compression_type="GZIP" if compressed else None)

    def prepare(size, paths):
        return read(paths).batch(size)

    class Reader:
        def open(self, paths):
            return tf.data.TextLineDataset(paths)
"""
NAMES = """
    import os

    def listed(folder):
        return [entry.path for entry in os.scandir(folder)]

    def first(folder):
        return listed(folder)[0]
"""
START = "import glob\nfrom records import Reader, prepare, read\n"


def rows(folder: Path, source: str) -> list[int]:
    """The rows of the module of readers that are flagged, where another module runs `source`."""
    (folder / "pyproject.toml").touch()
    (folder / "records.py").write_text(dedent(RECORDS).lstrip("\n"))
    (folder / "names.py").write_text(dedent(NAMES).lstrip("\n"))
    (folder / "train.py").write_text(START + dedent(source))
    settings = Settings(root=folder, rules=frozenset({"TFP504"}), project_root=folder)
    files = [folder / name for name in ("records.py", "names.py", "train.py")]
    return [finding.start.row for result in lint_files(files, settings, 1) for finding in result.findings]


SILENT = {
    "a name that another module gives": "from names import first\nds = prepare(9, first('data'))",
    "nobody calls it": "files = glob.glob('data/*')",
    "one file": "ds = prepare(9, glob.glob('data/*'))\nds = read('a.tfrecord')",
    "one of several files": "ds = prepare(9, glob.glob('data/*')[0])",
    "several files for one caller, one for another": "ds = read(glob.glob('data/*'))\ntest = read('test.tfrecord')",
    "names that are not in sight": "ds = prepare(9, args.paths)",
    "arguments that are not in sight": "ds = prepare(9, *given)",
    "other arguments": "ds = prepare(['b', 'c'], 'a')",
    "a function that is handed on": "ds = prepare(9, glob.glob('data/*'))\nds = names.interleave(read)",
}


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT.keys())
def test_says_nothing_where_a_caller_gives(tmp_path: Path, source: str) -> None:
    assert rows(tmp_path, source) == []


FLAGGED = {
    "several callers": (
        "files = sorted(glob.glob('a/*'))\nds = read(files)\nds = prepare(9, paths=['a', 'b'])",
        [4],
    ),
    "a caller within": ("ds = prepare(9, glob.glob('data/*'))", [4]),
    "names that another module lists": ("from names import listed\nds = prepare(9, listed('data'))", [4]),
    "a method": ("ds = Reader().open(glob.glob('data/*.txt'))", [11]),
}


@pytest.mark.parametrize(("source", "expected"), FLAGGED.values(), ids=FLAGGED.keys())
def test_flags_readers_that_get_several_files(tmp_path: Path, source: str, expected: list[int]) -> None:
    assert rows(tmp_path, source) == expected
