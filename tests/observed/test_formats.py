"""The report of a run for programs: JSON that can be read back, SARIF, workflow commands, Markdown."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.observed.made_up import EAGER, PRINT, TAPE, event, finding, line, record, seen, settled, write
from tests.test_report_sarif import SCHEMA
from tflint_perf.measured.record import Record, from_json
from tflint_perf.observed.blocks import Blocks
from tflint_perf.observed.formats import FORMATS, render
from tflint_perf.observed.settle import Located, in_order
from tflint_perf.report.style import Style

KNOWN = finding("TFP406", PRINT, message="`gc.collect()` | runs; remove it")


@pytest.fixture
def blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Blocks:
    monkeypatch.chdir(tmp_path)
    return write(tmp_path)


@pytest.fixture
def run(tmp_path: Path, blocks: Blocks) -> Record:
    made = record(tmp_path, *EAGER, line(PRINT, 2e-3, event("gc", "gc.collect", 1, 2e-3)))
    found = [*settled(made, blocks, KNOWN, finding("TFP404", 1)), *seen(made, blocks, KNOWN)]
    return replace(made, findings=in_order(found))


def text(format: Any, run: Record, blocks: Blocks) -> str:
    known = [Located("train.py", one) for one in (KNOWN, finding("TFP404", 1))]
    return "\n".join(render(format, run, known, blocks, Style(), 100))


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_names_every_finding(format: str, run: Record, blocks: Blocks) -> None:
    report = text(format, run, blocks)
    for code in ("TFP101", "TFP404", "TFP406"):
        assert code in report, code


def test_json_can_be_read_back(run: Record, blocks: Blocks) -> None:
    back = from_json(text("json", run, blocks)).findings
    assert [replace(one, seconds=0.0) for one in back] == [replace(one, seconds=0.0) for one in run.findings]
    assert [one.seconds for one in back] == pytest.approx([one.seconds for one in run.findings])


def test_sarif_is_valid_and_says_what_was_measured(run: Record, blocks: Blocks) -> None:
    document = json.loads(text("sarif", run, blocks))
    if SCHEMA.is_file():
        jsonschema.validate(document, json.loads(SCHEMA.read_text(encoding="utf-8")))
    results = document["runs"][0]["results"]
    by_code = {result["ruleId"]: result for result in results}
    assert by_code["TFP406"]["message"]["text"].endswith("remove it (2.0 of 8.0 ms a step: 1 collection)")
    assert {code: result["level"] for code, result in by_code.items()} == {
        "TFP101": "warning",
        "TFP406": "warning",
        "TFP404": "note",
    }
    region = by_code["TFP101"]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": TAPE, "startColumn": 5, "endLine": TAPE, "endColumn": 36}


def test_workflow_commands_warn_of_what_costs_and_note_the_rest(run: Record, blocks: Blocks) -> None:
    lines = text("github", run, blocks).splitlines()
    assert [line.split(" ")[0] for line in lines] == ["::warning", "::warning", "::notice"]
    assert "file=train.py,line=12," in lines[0]


def test_markdown_has_tables_whose_cells_hold_no_bars(run: Record, blocks: Blocks) -> None:
    rows = [row for row in text("markdown", run, blocks).splitlines() if row.startswith("|")]
    assert "| 2.00 ms | 25% | `train.py:28` | TFP406 tfp406, confirmed |" in "\n".join(rows)
    cells = {len(row.replace("\\|", "").split("|")) for row in rows}
    assert cells == {5, 7}
