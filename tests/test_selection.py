"""Selectors, layers and the default set."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.verify.synthetic import CPU, GPU, document, result
from tflint_perf.catalogue.evidence import Evidence, read_evidence
from tflint_perf.catalogue.rules import RuleInfo, catalogue
from tflint_perf.cli.pages import rule_object, status
from tflint_perf.config.selection import Layer, codes_of, resolve
from tflint_perf.problems import ConfigError
from tflint_perf.rule import Claim

CLAIM = Claim("step time", 1.5)
RULES = {
    code: RuleInfo(code, name, "", "", "none", CLAIM)
    for code, name in {
        "TFP001": "unused-suppression",
        "TFP101": "eager-train-step",
        "TFP105": "keras-call-in-loop",
        "TFP201": "function-created-in-loop",
        "TFP406": "gc-in-loop",
    }.items()
}
EVERY = frozenset(RULES)


def where(key: str) -> str:
    return f"--{key}"


def layer(select: str | None = None, extend: str = "", ignore: str = "") -> Layer:
    return Layer(
        where, None if select is None else tuple(select.split()), tuple(extend.split()), tuple(ignore.split())
    )


@pytest.mark.parametrize(
    ("selector", "codes"),
    [
        ("TFP101", "TFP101"),
        ("TFP1", "TFP101 TFP105"),
        ("gc-in-loop", "TFP406"),
        ("ALL", "TFP001 TFP101 TFP105 TFP201 TFP406"),
    ],
)
def test_a_selector_is_a_code_its_beginning_a_name_or_all(selector: str, codes: str) -> None:
    assert codes_of(selector, RULES, "--select") == set(codes.split())


@pytest.mark.parametrize(
    ("selector", "nearest"),
    [
        ("tfp406", "TFP406"),
        ("gc-in-lop", "gc-in-loop"),
        ("all", "ALL"),
        ("TFP1O1", "TFP101"),
    ],
)
def test_an_unknown_selector_names_the_nearest_known_one(selector: str, nearest: str) -> None:
    with pytest.raises(ConfigError, match=f"^--select: unknown rule `{selector}` .did you mean `{nearest}`"):
        codes_of(selector, RULES, "--select")


@pytest.mark.parametrize("selector", ["", "nothing-like-it-at-all-zzz"])
def test_a_selector_that_is_like_nothing_is_unknown(selector: str) -> None:
    with pytest.raises(ConfigError, match="unknown rule"):
        codes_of(selector, RULES, "--select")


def test_syntax_errors_can_be_neither_selected_nor_ignored() -> None:
    with pytest.raises(ConfigError, match="always on"):
        codes_of("invalid-syntax", RULES, "--ignore")


@pytest.mark.parametrize(
    ("layers", "codes"),
    [
        ([], "TFP101 TFP406"),
        ([layer("TFP1")], "TFP101 TFP105"),
        ([layer("TFP1", ignore="TFP105")], "TFP101"),
        ([layer("TFP105", ignore="TFP1")], "TFP105"),
        ([layer("ALL", ignore="TFP1")], "TFP001 TFP201 TFP406"),
        ([layer("keras-call-in-loop", ignore="TFP1")], "TFP105"),
        ([layer("TFP1", ignore="keras-call-in-loop")], "TFP101"),
        ([layer("TFP101", ignore="TFP101")], ""),
        ([layer("TFP1", ignore="ALL")], "TFP101 TFP105"),
        ([layer(ignore="TFP406")], "TFP101"),
        ([layer(ignore="ALL")], ""),
        ([layer(extend="TFP2")], "TFP101 TFP201 TFP406"),
        ([layer("TFP4", extend="TFP201")], "TFP201 TFP406"),
        ([layer("TFP1"), layer(extend="TFP406")], "TFP101 TFP105 TFP406"),
        ([layer("TFP1"), layer(ignore="TFP101")], "TFP105"),
        ([layer("TFP1", ignore="TFP105"), layer("TFP105")], "TFP105"),
        ([layer(ignore="TFP406"), layer("ALL")], "TFP001 TFP101 TFP105 TFP201 TFP406"),
        ([layer(ignore="TFP101"), layer(extend="TFP2")], "TFP201 TFP406"),
    ],
)
def test_the_longest_selector_decides_and_a_layer_with_select_starts_anew(
    layers: list[Layer], codes: str
) -> None:
    assert resolve(layers, frozenset({"TFP101", "TFP406"}), RULES) == set(codes.split())


def test_the_catalogue_has_the_rules_about_suppressions_with_their_pages() -> None:
    own = [rule for code, rule in catalogue().items() if code.startswith("TFP0")]
    assert [rule.name for rule in own] == ["unused-suppression", "unknown-code-in-suppression"]
    assert all("## Why is this bad?" in rule.explanation and rule.summary for rule in own)


def test_evidence_is_read_device_by_device(tmp_path: Path) -> None:
    for name, device, verdict in (("b", GPU, "confirmed"), ("a", CPU, "refuted")):
        made = document({"TFP406": result(verdict=verdict)}, device)
        (tmp_path / f"{name}.json").write_text(json.dumps(made))
    (tmp_path / "notes.txt").write_text("no evidence")
    found = read_evidence(tmp_path)
    assert [(record.device, record.where, record.verdict) for record in found["TFP406"]] == [
        ("CPU (synthetic)", "CPU", "refuted"),
        ("Synthetic GPU", "Synthetic GPU", "confirmed"),
    ]
    page = rule_object(RULES["TFP406"], found)
    assert (page["status"], page["default"]) == ("confirmed", True)


@pytest.mark.parametrize("indent", [None, 1])
def test_what_was_measured_step_by_step_is_left_out_where_nobody_asks_for_it(
    tmp_path: Path, indent: int | None
) -> None:
    run = {"memory": [[0, 1], [1, 2]], "step": 0.5, "windows": [[0, 1, 2.5e-1], [1, 2, -0.5]]}
    entry = {
        "pairs": [{"fast": run, "slow": run}],
        "reason": "none",
        "counts": [[0, 1, 2, 3]],
        "verdict": "confirmed",
    }
    (tmp_path / "a.json").write_text(json.dumps(document({"TFP406": entry}), indent=indent))
    short, whole = (read_evidence(tmp_path, series=wanted)["TFP406"][0].record for wanted in (False, True))
    assert whole == entry
    left = {"memory": [], "step": 0.5, "windows": []}
    assert short == {**entry, "pairs": [{"fast": left, "slow": left}]}


def test_without_a_folder_there_is_no_evidence(tmp_path: Path) -> None:
    assert read_evidence(tmp_path / "evidence") == {}


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [([], "not measured"), (["refuted"], "refuted"), (["refuted", "confirmed"], "confirmed")],
)
def test_the_status_of_a_rule_is_the_strongest_verdict(verdicts: list[str], expected: str) -> None:
    assert status(RULES["TFP406"], [Evidence("cpu", verdict, {}) for verdict in verdicts]) == expected


def test_a_rule_without_a_claim_is_about_correctness() -> None:
    assert status(replace(RULES["TFP406"], claim=None), []) == "correctness"
