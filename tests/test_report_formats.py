"""The formats for other tools, each held against what reads it: a parser, or the form that its reader documents."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from junitparser import Error, Failure, JUnitXml

from tests.commandline import CLEAN, SLOW, CommandLine
from tests.sample_findings import BARE, BROKEN, GC, IN_CELL, SETTINGS, UNSAFE, text
from tflint_perf.finding import Edit, Finding, Fix, Place

NASTY = replace(GC, message='50% of <a> & "b"\nstep\x1b[31m, ]]>', lines=("\tx = '\x00\udcff'",))
ALL_KINDS = (GC, UNSAFE, BARE, BROKEN, IN_CELL, NASTY)


def described(required: dict[str, Any], optional: dict[str, Any] | None = None) -> dict[str, Any]:
    """The schema of an object with these members and no others."""
    members = required | (optional or {})
    return {
        "type": "object",
        "properties": members,
        "required": [*required],
        "additionalProperties": False,
    }


TEXT = {"type": "string", "minLength": 1}
NUMBER = {"type": "integer", "minimum": 1}

# As GitLab's documentation describes it, with the categories of the Code Climate specification that it builds on.
GITLAB = {
    "type": "array",
    "items": described(
        {
            "description": TEXT,
            "check_name": TEXT,
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": described(
                {
                    "path": {"type": "string", "pattern": r"^[^/.]"},
                    "lines": described({"begin": NUMBER}, {"end": NUMBER}),
                }
            ),
        },
        {
            "content": described({"body": TEXT}),
            "categories": {
                "type": "array",
                "items": {
                    "enum": [
                        "Bug Risk",
                        "Clarity",
                        "Compatibility",
                        "Complexity",
                        "Duplication",
                        "Performance",
                        "Security",
                        "Style",
                    ]
                },
            },
        },
    ),
}

# As the messages of reviewdog's protocol describe it; a reader of protocol buffers refuses any other member.
POSITION = described({"line": NUMBER}, {"column": NUMBER})
RANGE = described({"start": POSITION}, {"end": POSITION})
SEVERITY = {"enum": ["UNKNOWN_SEVERITY", "ERROR", "WARNING", "INFO"]}
RDJSON = described(
    {
        "source": described({"name": TEXT}, {"url": TEXT}),
        "diagnostics": {
            "type": "array",
            "items": described(
                {"message": TEXT, "location": described({"path": TEXT}, {"range": RANGE})},
                {
                    "severity": SEVERITY,
                    "code": described({"value": TEXT}, {"url": TEXT}),
                    "suggestions": {
                        "type": "array",
                        "items": described({"range": RANGE, "text": {"type": "string"}}),
                    },
                    "relatedLocations": {
                        "type": "array",
                        "items": described(
                            {"message": TEXT, "location": described({"path": TEXT}, {"range": RANGE})}
                        ),
                    },
                },
            ),
        },
    },
    {"severity": SEVERITY},
)


def rdjson(*findings: Finding, **options: Any) -> list[dict[str, Any]]:
    document = json.loads(text("rdjson", *findings, **options))
    jsonschema.validate(document, RDJSON)
    return list(document["diagnostics"])


def gitlab(*findings: Finding, **options: Any) -> list[dict[str, Any]]:
    issues: list[dict[str, Any]] = json.loads(text("gitlab", *findings, **options))
    jsonschema.validate(issues, GITLAB)
    return issues


def junit(*findings: Finding, **options: Any) -> JUnitXml:
    return JUnitXml.fromstring(text("junit", *findings, **options).encode())


def test_grouped_names_each_file_once() -> None:
    far = replace(GC, start=Place(900, 100, 5), end=Place(912, 100, 17))
    assert text("grouped", GC, far, UNSAFE).split("\n") == [
        "train.py:",
        "  7:5   TFP406 [*] `gc.collect()` runs each step; remove it",
        "  100:5 TFP406 [*] `gc.collect()` runs each step; remove it",
        "  7:5   TFP403 `gc.collect()` runs each step; remove it",
        "",
    ]
    assert text("grouped", IN_CELL, path="n.ipynb").split("\n")[:2] == [
        "n.ipynb:",
        "  cell 2:3:9 TFP406 [*] `gc.collect()` runs each step; remove it",
    ]


def test_gitlab_gets_what_its_documentation_asks_for() -> None:
    assert gitlab() == []
    (issue,) = gitlab(GC)
    assert issue["description"] == "TFP406 `gc.collect()` runs each step; remove it"
    assert (issue["check_name"], issue["severity"]) == ("TFP406", "minor")
    assert issue["location"] == {"path": "train.py", "lines": {"begin": 7, "end": 7}}
    assert [issue["severity"] for issue in gitlab(*ALL_KINDS)].count("major") == 1


def test_a_fingerprint_of_gitlab_is_unique_and_outlives_edits_above() -> None:
    below = replace(GC, start=Place(200, 17, 9), end=Place(212, 17, 21), lines=("        gc.collect()",))
    here, again = (issue["fingerprint"] for issue in gitlab(GC, GC))
    assert here != again
    assert gitlab(below)[0]["fingerprint"] == here
    assert gitlab(UNSAFE)[0]["fingerprint"] != here
    assert gitlab(GC, path="other.py")[0]["fingerprint"] != here


def test_a_path_of_gitlab_is_relative_to_the_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    monkeypatch.delenv("CI_PROJECT_DIR", raising=False)
    (here,) = gitlab(GC, path=str(tmp_path / "src" / "train.py"))
    assert here["location"]["path"] == "train.py"
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path))
    (below,) = gitlab(GC, path="train.py")
    assert below["location"]["path"] == "src/train.py"


def test_junit_has_a_failing_case_for_each_finding() -> None:
    report = junit(GC, UNSAFE, BROKEN)
    assert (report.tests, report.failures, report.errors) == (3, 3, 0)
    (suite,) = report
    assert (suite.name, suite.tests, suite.failures) == ("train.py", 3, 3)
    case = next(iter(suite))
    assert (case.name, case.classname) == ("TFP406 (gc-in-loop)", "train.py")
    (failure,) = case.result
    assert isinstance(failure, Failure)
    assert failure.message == "`gc.collect()` runs each step; remove it"
    assert failure.text == "train.py:7:5: TFP406 `gc.collect()` runs each step; remove it\n    gc.collect()"


def test_junit_has_one_passing_case_when_all_is_clean() -> None:
    report = junit()
    (suite,) = report
    (case,) = suite
    assert (report.tests, report.failures, report.errors) == (1, 0, 0)
    assert case.is_passed


def test_junit_tells_what_could_not_be_done() -> None:
    report = junit(failures=("b.py: no such file",))
    assert (report.tests, report.failures, report.errors) == (1, 0, 1)
    ((case,),) = report
    (error,) = case.result
    assert isinstance(error, Error)
    assert (case.name, error.message) == ("b.py", "b.py: no such file")


def test_junit_stays_xml_whatever_the_message_and_the_code_hold() -> None:
    ((case,),) = junit(NASTY, path="a\x1b<b>.py")
    assert case.classname == "a\N{REPLACEMENT CHARACTER}<b>.py"
    (failure,) = case.result
    assert failure.message == '50% of <a> & "b"\nstep\N{REPLACEMENT CHARACTER}[31m, ]]>'
    assert failure.text.endswith("\tx = '\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}'")


def test_rdjson_gives_each_finding_with_its_range_and_its_fix() -> None:
    assert rdjson() == []
    assert rdjson(GC) == [
        {
            "message": "`gc.collect()` runs each step; remove it",
            "location": {
                "path": "train.py",
                "range": {"start": {"line": 7, "column": 5}, "end": {"line": 7, "column": 17}},
            },
            "severity": "WARNING",
            "code": {"value": "TFP406"},
            "suggestions": [
                {
                    "range": {"start": {"line": 7, "column": 1}, "end": {"line": 8, "column": 1}},
                    "text": "",
                }
            ],
        }
    ]


def test_rdjson_counts_columns_in_bytes() -> None:
    line = 'x = "日本"; f()'
    finding = replace(BARE, start=Place(10, 1, 11), end=Place(13, 1, 14), lines=(line,))
    (diagnostic,) = rdjson(finding)
    ends = diagnostic["location"]["range"]
    assert (ends["start"]["column"], ends["end"]["column"]) == (15, 18)
    assert line.encode()[14:17] == b"f()"


def test_rdjson_gives_no_fix_whose_columns_it_cannot_know() -> None:
    away = Edit(Place(40, 3, 4), Place(41, 3, 5), "")
    assert GC.fix is not None
    half_known = replace(GC, fix=Fix("Remove both", (*GC.fix.edits, away), safe=True))
    assert "suggestions" not in rdjson(half_known)[0]
    assert "suggestions" not in rdjson(GC, settings=replace(SETTINGS, fixable=frozenset()))[0]


def test_every_kind_of_finding_is_in_the_documented_form() -> None:
    assert len(rdjson(*ALL_KINDS)) == len(gitlab(*ALL_KINDS)) == junit(*ALL_KINDS).tests == len(ALL_KINDS)
    led = replace(SETTINGS, docs_url="https://docs.example.org")
    assert len(rdjson(*ALL_KINDS, settings=led)) == len(gitlab(*ALL_KINDS, settings=led)) == len(ALL_KINDS)


@pytest.mark.parametrize("format", ["gitlab", "rdjson"])
def test_a_place_in_a_notebook_is_told_in_the_message(format: str) -> None:
    (entry,) = gitlab(IN_CELL, path="n.ipynb") if format == "gitlab" else rdjson(IN_CELL, path="n.ipynb")
    assert (entry.get("description") or entry["message"]).startswith("cell 2:3:9: ")
    if format == "gitlab":
        assert entry["location"]["lines"] == {"begin": 1, "end": 1}
    else:
        assert entry["location"] == {"path": "n.ipynb"}
        assert "suggestions" not in entry


@pytest.mark.parametrize("format", ["gitlab", "junit", "rdjson"])
def test_a_report_written_by_the_command_line_is_read_back(tflint_perf: CommandLine, format: str) -> None:
    tflint_perf.write("train.py", SLOW)
    tflint_perf.write("clean.py", CLEAN)
    ran = tflint_perf("--select=TFP406", f"--output-format={format}", "-o", "report")
    assert (ran.code, ran.out, ran.err) == (1, "", "")
    report = (tflint_perf.folder / "report").read_text()
    if format == "junit":
        assert [(suite.name, suite.failures) for suite in JUnitXml.fromstring(report.encode())] == [
            ("train.py", 1)
        ]
    elif format == "gitlab":
        (issue,) = json.loads(report)
        assert issue["location"] == {"path": "train.py", "lines": {"begin": 14, "end": 14}}
    else:
        (diagnostic,) = json.loads(report)["diagnostics"]
        assert diagnostic["location"]["range"]["start"] == {"line": 14, "column": 9}
