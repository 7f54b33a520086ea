"""What the page on clusters shows of Spark works: with pandas alone, and on Spark where that is installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import CLEAN, SLOW
from tests.notebooks import notebook

pytestmark = pytest.mark.slow

pandas = pytest.importorskip("pandas")

PAGE = (Path(__file__).parent.parent / "docs" / "clusters.md").read_text(encoding="utf-8")
BATCH, SPARK = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SOURCES = [
    ("a/slow.py", SLOW.encode()),
    ("a/clean.py", CLEAN.encode()),
    ("b/two.ipynb", notebook("print(1)", SLOW)),
    ("b/nul.py", SLOW.encode() + b"\0"),
    ("b/latin.py", b"# coding: latin-1\n# \xe9\n" + SLOW.encode()),
]
FOUND = [
    ("a/slow.py", None, 10, "TFP101"),
    ("a/slow.py", None, 14, "TFP406"),
    ("b/latin.py", None, 12, "TFP101"),
    ("b/latin.py", None, 16, "TFP406"),
    ("b/nul.py", None, None, None),
    ("b/two.ipynb", 2, 10, "TFP101"),
    ("b/two.ipynb", 2, 14, "TFP406"),
]


def rows(frame: Any) -> list[tuple[Any, ...]]:
    """Path, cell, row and code of each row, in their order; a number may have become a float on the way."""
    chosen = frame[["path", "cell", "row", "code"]].astype(object)
    plain = chosen.where(chosen.notna(), None).itertuples(index=False, name=None)
    return sorted(
        ((path, cell and int(cell), row and int(row), code) for path, cell, row, code in plain), key=str
    )


def test_a_batch_gives_a_row_for_each_finding_and_each_failure() -> None:
    page: dict[str, Any] = {}
    exec(BATCH, page)
    table = pandas.DataFrame(SOURCES, columns=["path", "content"])

    def batches() -> Iterator[Any]:
        yield table[:2]
        yield table[2:2]
        yield table[2:]

    found = list(page["findings_in"](batches()))
    assert [len(frame) for frame in found] == [2, 0, 5]
    assert rows(pandas.concat(found)) == FOUND
    failures = pandas.concat(found)["failure"].dropna()
    assert list(failures) == ["b/nul.py:15:1: a NUL byte: not Python source"]


@pytest.mark.skipif(
    find_spec("pyspark") is None or shutil.which("java") is None, reason="needs pyspark (300 MB) and Java"
)
def test_the_page_s_program_runs_on_spark(tmp_path: Path) -> None:
    table = pandas.DataFrame(SOURCES, columns=["path", "content"])
    table.to_parquet(tmp_path / "sources.parquet")
    program = tmp_path / "program.py"
    program.write_text(f"{BATCH}\n\n{SPARK}")
    subprocess.run(
        [sys.executable, program],
        cwd=tmp_path,
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        check=True,
        timeout=600,
    )
    assert rows(pandas.read_parquet(tmp_path / "findings.parquet")) == FOUND
