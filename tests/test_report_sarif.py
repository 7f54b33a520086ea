"""SARIF: the structure by hand, and the schema of the standard where it is at hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from sarif_pydantic import Sarif

from tests.commandline import FIXED, SLOW, CommandLine
from tests.sample_findings import BARE, BROKEN, GC, IN_CELL, SETTINGS, UNSAFE, text
from tflint_perf.catalogue.own_rules import OWN_RULES

SCHEMA = Path(__file__).parents[2] / "shared/schemas/sarif-schema-2.1.0.json"
there_is_a_schema = pytest.mark.skipif(
    not SCHEMA.is_file(), reason=f"the schema of SARIF 2.1.0 is no part of the project, and not at {SCHEMA}"
)
UNUSED = replace(GC, code="TFP001", name=OWN_RULES["TFP001"].name)


def run_of(*findings: Any, **options: Any) -> dict[str, Any]:
    document = json.loads(text("sarif", *findings, **options))
    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    return dict(run)


@there_is_a_schema
@pytest.mark.parametrize(
    "findings", [(), (GC, UNSAFE, BARE, BROKEN, UNUSED), (IN_CELL,), (replace(GC, message="50% 日本 \n"),)]
)
def test_sarif_is_valid_against_the_schema_of_the_standard(findings: tuple[Any, ...]) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.validate(
        json.loads(text("sarif", *findings, failures=("b.py: gone",))),
        schema,
        format_checker=jsonschema.FormatChecker(),
    )


def test_a_result_names_its_rule_its_place_and_its_fix() -> None:
    run = run_of(GC)
    assert run["columnKind"] == "unicodeCodePoints"
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("TFP406", "warning")
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {"uri": "train.py", "uriBaseId": "%SRCROOT%"}
    assert location["region"] == {"startLine": 7, "startColumn": 5, "endLine": 7, "endColumn": 17}
    (fix,) = result["fixes"]
    assert fix["description"]["text"] == "Remove the call"
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"] == location["artifactLocation"]
    assert change["replacements"] == [
        {
            "deletedRegion": {"startLine": 7, "startColumn": 1, "endLine": 8, "endColumn": 1},
            "insertedContent": {"text": ""},
        }
    ]


def test_a_result_points_at_its_rule_with_the_rules_help() -> None:
    run = run_of(BROKEN, UNUSED, UNUSED)
    rules = run["tool"]["driver"]["rules"]
    assert [rules[result["ruleIndex"]]["id"] for result in run["results"]] == [
        "invalid-syntax",
        "TFP001",
        "TFP001",
    ]
    assert rules[0]["help"]["markdown"] == OWN_RULES["TFP001"].explanation
    assert run["results"][0]["level"] == "error"


@pytest.mark.parametrize(
    ("path", "uri", "relative"),
    [
        ("a b/ä#.py", "a%20b/%C3%A4%23.py", True),
        ("{cwd}/x.py", "x.py", True),
        ("/elsewhere/x.py", "file:///elsewhere/x.py", False),
        ("../x.py", "{parent}/x.py", False),
    ],
)
def test_a_file_under_the_current_folder_has_a_relative_uri(
    path: str, uri: str, relative: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = run_of(GC, path=path.format(cwd=tmp_path))
    artifact = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact["uri"] == uri.format(parent=tmp_path.parent.as_uri())
    assert ("uriBaseId" in artifact) is relative
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"] == tmp_path.as_uri() + "/"


def test_a_rule_leads_to_its_page_where_the_site_is_known() -> None:
    led = replace(SETTINGS, docs_url="https://docs.example.org/")
    rules = run_of(BROKEN, GC, settings=led)["tool"]["driver"]["rules"]
    assert [rule.get("helpUri") for rule in rules] == ["https://docs.example.org/rules/TFP406.html", None]


def test_what_could_not_be_done_is_a_notification() -> None:
    (invocation,) = run_of(failures=("b.py: gone",))["invocations"]
    assert not invocation["executionSuccessful"]
    assert [note["message"]["text"] for note in invocation["toolExecutionNotifications"]] == ["b.py: gone"]


def test_another_reader_takes_every_kind_of_finding() -> None:
    (run,) = Sarif.model_validate_json(text("sarif", GC, UNSAFE, BARE, BROKEN, UNUSED)).runs
    assert [result.rule_id for result in run.results] == [
        "TFP406",
        "TFP403",
        "TFP402",
        "invalid-syntax",
        "TFP001",
    ]


def test_another_reader_makes_the_fix_of_a_report(tflint_perf: CommandLine) -> None:
    script = tflint_perf.write("train.py", SLOW)
    tflint_perf("--select=TFP406", "--output-format=sarif", "--output-file=report.sarif")
    (run,) = Sarif.model_validate_json((tflint_perf.folder / "report.sarif").read_text()).runs
    (change,) = run.results[0].fixes[0].artifact_changes
    assert tflint_perf.folder / change.artifact_location.uri == script
    text = SLOW
    for replacement in reversed(change.replacements):
        text = replaced(text, replacement)
    assert text == FIXED


def replaced(text: str, replacement: Any) -> str:
    """The text after one replacement, as the standard describes it: rows and columns from 1, ends exclusive."""
    region = replacement.deleted_region
    starts = [0, *(at + 1 for at, char in enumerate(text) if char == "\n")]
    first = starts[region.start_line - 1] + region.start_column - 1
    last = starts[region.end_line - 1] + region.end_column - 1
    return text[:first] + (replacement.inserted_content.text or "") + text[last:]
