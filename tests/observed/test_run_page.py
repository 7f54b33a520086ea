"""The program of docs/run.md, watched: its findings are those of the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documented import blocks, shell, write
from tflint_perf.measured.record import read_record

pytestmark = pytest.mark.slow

PROGRAM, CONSOLE, MEASURED = [
    block for block in blocks("run.md") if block.title == "train.py" or "$ tflint-perf" in block.text
]
# What this program has whatever the machine: its step runs op by op, and a list keeps its losses.
SURE = [("TFP101", 24), ("TFP401", 37)]


def costly(report: str) -> list[tuple[str, int]]:
    """The codes and the rows of the findings that cost something."""
    return [
        (code, int(row))
        for row, code in re.findall(r"(?m)^ .* train\.py:(\d+) +(TFP\d+) .*\(confirmed\)$", report)
    ]


def test_the_page_shows_what_is_sure() -> None:
    assert set(SURE) <= set(costly(CONSOLE.text))
    assert all(re.search(rf"train\.py:{row}:\d+: {code} .*here: ", MEASURED.text) for code, row in SURE)


def test_a_run_of_the_program_finds_the_same(tmp_path: Path) -> None:
    write(tmp_path, PROGRAM)
    done = shell("tflint-perf run -q --steps 60 -o run.json train.py", tmp_path, TF_CPP_MIN_LOG_LEVEL="3")
    assert done.returncode == 0, done.stderr
    record = read_record(tmp_path / "run.json")
    assert (record.steps.count, record.steps.loop and record.steps.loop.row) == (60, 33)
    confirmed = {(one.code, one.spot.row) for one in record.findings if one.status == "confirmed"}
    assert set(SURE) <= confirmed
    done = shell("tflint-perf check --isolated --output-format concise --measured run.json", tmp_path)
    assert re.search(r"train\.py:24:\d+: TFP101 .*here: .* of .* a step", done.stdout)
