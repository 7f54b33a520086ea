"""What evidence decides: which rules are on, what a finding says that it costs, what a rule's page says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.commandline import BROKEN, SLOW, CommandLine
from tests.verify.synthetic import CPU, GPU, document, not_measurable, result, run
from tflint_perf.catalogue import cost, evidence
from tflint_perf.catalogue.cost import HOW_TO_READ_ARROWS, MEASURED_WITH, NOT_YOUR_COSTS, cost_of
from tflint_perf.catalogue.evidence import Evidence, evidence_of, read_evidence
from tflint_perf.catalogue.judged import Judged, all_judged
from tflint_perf.catalogue.rules import RuleInfo, catalogue
from tflint_perf.cli.pages import rule_markdown, rule_object, rule_text
from tflint_perf.config.selection import Layer, default_rules, resolve
from tflint_perf.report.style import Style
from tflint_perf.rule import Claim

pytestmark = pytest.mark.slow

EVIDENCE = Path(__file__).parents[1] / "fixtures" / "evidence"
RULE = RuleInfo(
    "TFP406", "gc-in-loop", "Collects garbage on each step", "Text.\n", "safe", Claim("step time", 2.0)
)
OTHER = replace(RULE, code="TFP507", name="iterator-per-step")
REFUTED = result(value=1.02, verdict="refuted", reason="1.02 is short of 2")


def on_record(*results: Mapping[str, Any], device: Mapping[str, Any] = CPU) -> tuple[Evidence, ...]:
    return tuple(evidence_of(document({"TFP406": one}, device))["TFP406"] for one in results)


def verdicts(*names: str) -> tuple[Evidence, ...]:
    return tuple(Evidence("cpu", name, {"claim": {"metric": "step time"}}) for name in names)


@pytest.mark.parametrize(
    ("found", "on"),
    [
        (["confirmed"], True),
        (["refuted", "confirmed"], True),
        (["refuted"], False),
        (["inconclusive"], False),
        (["not measurable"], False),
        (["failed"], False),
        ([], False),
    ],
)
def test_a_rule_is_on_when_a_device_on_record_confirmed_its_claim(found: list[str], on: bool) -> None:
    known = {"TFP406": verdicts(*found), "TFP507": verdicts("confirmed")}
    assert ("TFP406" in default_rules({"TFP406": RULE, "TFP507": OTHER}, known)) is on


@pytest.mark.parametrize(("worse", "on"), [("step time", False), ("host memory", True)])
def test_a_rule_whose_later_steps_lose_what_the_first_gains_is_off(worse: str, on: bool) -> None:
    at_one_size = {"name": "large", "worse": [{"metric": worse}]}
    record = {"claim": {"metric": "first step"}, "sizes": [{"name": "small"}, at_one_size]}
    known = {"TFP406": (Evidence("cpu", "confirmed", record),)}
    assert ("TFP406" in default_rules({"TFP406": RULE}, known)) is on


@pytest.mark.parametrize("exempt", [{"always_on": True}, {"claim": None}])
@pytest.mark.parametrize("found", ["refuted", "inconclusive", "not measurable", "failed"])
def test_a_rule_that_is_always_on_or_claims_nothing_is_on_whatever_was_found(
    exempt: dict[str, bool | None], found: str
) -> None:
    assert default_rules({"TFP406": replace(RULE, **exempt)}, {"TFP406": verdicts(found)}) == {"TFP406"}


def test_every_rule_is_on_where_there_is_no_evidence_of_any_rule() -> None:
    assert default_rules({"TFP406": RULE, "TFP507": OTHER}, {}) == {"TFP406", "TFP507"}


@pytest.mark.parametrize("other", [{}, {"always_on": True}, {"claim": None}])
@pytest.mark.parametrize("known", [{}, {"TFP406": verdicts("confirmed")}])
def test_an_opt_in_rule_is_off_whatever_was_found_until_it_is_selected(
    other: dict[str, bool | None], known: dict[str, tuple[Evidence, ...]]
) -> None:
    rules = {"TFP406": replace(RULE, opt_in=True, **other)}
    default = default_rules(rules, known)
    assert default == frozenset()
    assert resolve([Layer(str, extend_select=("TFP406",))], default, rules) == {"TFP406"}


COSTS: dict[str, dict[str, Any]] = {
    "CPU: a step 17 → 1.0 ms": result(),
    "CPU: a step 1.2 s → 1.0 ms": result(run(1.234), value=1234.0),
    "CPU: a step 1.0 ms both": result(run(0.00101), value=1.01),
    "CPU: a sample, training included, 17 → 1.0 ms": result(metric="time per sample"),
    "CPU: steps get ever slower: of 100, the first 25 take 17 ms each and the last 25 take 17 ms each; in the fast form all take 1.0 ms": result(
        value=2.14, kind="growth"
    ),
    "CPU: +1 tensor kept a step": result(
        run(0.1, tensors=1.0), value=8.0, metric="live tensors", kind="growth"
    ),
    "CPU: +3 tensors kept a step": result(
        run(0.1, tensors=3.0), value=8.0, metric="live tensors", kind="growth"
    ),
    "CPU: +2.0 MB kept a step": result(
        run(0.1, leak=2_000_000), value=8.0, metric="host memory", kind="growth"
    ),
    "CPU: a new trace each step, 99 ms each": result(
        run(0.1, traces=100), value=4.0, metric="traces", kind="growth"
    ),
    "CPU: traces in 100 steps 25 → 1, 400 ms each": result(
        run(0.1, traces=25), value=4.0, metric="traces", kind="growth"
    ),
    "CPU: the first step 1.5 s → 500 ms": result(
        run(0.1) | {"first_step": 1.5}, value=3.0, metric="first step"
    ),
    "CPU: 3.0× the device memory": result(value=3.0, metric="device memory"),
    "CPU: nearly all device memory taken (77 GiB), where the script's small net needs 0.58 GiB": result(
        run(0.1, device={"reserved": 83 * 10**9}),
        run(0.1, device={"reserved": 62 * 10**7}),
        value=134.0,
        metric="device memory",
    ),
    "CPU: a step 17 → 1.0 ms; no gain, so off by default; not measured on a GPU": REFUTED,
    "CPU: a step 16 → 1.0 ms; not surely a gain, so off by default; not measured on a GPU": result(
        run(0.016), value=2.01, verdict="inconclusive"
    ),
}


@pytest.mark.parametrize(("words", "record"), COSTS.items())
def test_the_cost_of_a_finding_is_the_effect_in_words(words: str, record: dict[str, Any]) -> None:
    assert cost_of(on_record(record)) == words


def test_the_cost_is_told_for_each_kind_of_device_by_its_newest_record() -> None:
    old, new = (
        evidence_of(document({"TFP406": result(run(value))}, GPU, date))["TFP406"]
        for value, date in ((0.003, "2029-01-01"), (0.005, "2031-01-01"))
    )
    assert (
        cost_of((new, *on_record(result()), old))
        == "CPU: a step 17 → 1.0 ms; Synthetic GPU: a step 5.0 → 1.0 ms"
    )


@pytest.mark.parametrize("records", [(), on_record(not_measurable()), verdicts("failed")])
def test_nothing_is_said_of_a_cost_that_nobody_has_measured(records: tuple[Evidence, ...]) -> None:
    assert cost_of(records) is None


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Synthetic evidence on record: TFP406 costs something, and nothing else was measured."""
    monkeypatch.setattr(evidence, "all_evidence", lambda **_: {"TFP406": on_record(result())})
    monkeypatch.setattr(cost, "all_evidence", evidence.all_evidence)


COST = "CPU: a step 17 → 1.0 ms"
# What runs once in a hundred steps costs less than what was measured.
SELDOM = SLOW.replace(
    "        gc.collect()", "        if step % 100 == 0:\n            gc.collect()"
).replace("for images, labels in dataset", "for step, (images, labels) in enumerate(dataset)")


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    "format", ["concise", "full", "grouped", "json", "sarif", "github", "gitlab", "junit", "rdjson"]
)
def test_no_finding_says_what_its_rules_script_cost(tflint_perf: CommandLine, format: str) -> None:
    tflint_perf.write("slow.py", SLOW)
    options = ("--select=TFP406", f"--output-format={format}")
    assert "17 →" not in tflint_perf(*options, "--quiet").out
    assert ("17 →" in tflint_perf(*options).out) is (format in ("concise", "full", "grouped"))


@pytest.mark.usefixtures("recorded")
def test_a_report_tells_below_it_what_each_rules_script_cost(tflint_perf: CommandLine) -> None:
    tflint_perf.write("slow.py", SLOW)
    *_, head, told, not_told, last = tflint_perf("--select=TFP1,TFP406").out.splitlines()
    assert head.startswith("Measured in the rules' own small scripts, not in your program (TensorFlow ")
    assert told == f"  TFP406 gc-in-loop, {COST}"
    assert not_told == "  No figures: TFP101 (not measured)"
    assert last == HOW_TO_READ_ARROWS + NOT_YOUR_COSTS


def test_it_says_how_to_read_a_plus(tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    grows = on_record(result(run(0.1, tensors=1.0), value=8.0, metric="live tensors", kind="growth"))
    monkeypatch.setattr(cost, "all_evidence", lambda **_: {"TFP406": grows})
    tflint_perf.write("slow.py", SLOW)
    *_, told, last = tflint_perf("--select=TFP406").out.splitlines()
    assert (told, last) == (
        "  TFP406 gc-in-loop, CPU: +1 tensor kept a step",
        HOW_TO_READ_ARROWS + NOT_YOUR_COSTS,
    )


@pytest.mark.usefixtures("recorded")
def test_it_says_of_which_findings_where_others_have_another_form(tflint_perf: CommandLine) -> None:
    tflint_perf.write("seldom.py", SELDOM)
    assert COST not in tflint_perf("--select=TFP406").out
    tflint_perf.write("slow.py", SLOW)
    of_which = "only such code as at slow.py:14:9 was measured, not that of the rule's other findings"
    assert f"  TFP406 gc-in-loop, {COST}; {of_which}\n" in tflint_perf("--select=TFP406").out
    assert of_which not in tflint_perf("--select=TFP406", "slow.py").out


@pytest.mark.usefixtures("recorded")
def test_formats_for_tools_have_the_cost_as_data_where_such_code_was_measured(
    tflint_perf: CommandLine,
) -> None:
    expected = {
        "measured": "experiment",
        "metric": "step time",
        "kind": "ratio",
        "value": 17.2,
        "low": 16.34,
        "high": 18.06,
        "device": "CPU (synthetic)",
        "verdict": "confirmed",
        "date": "2030-01-02",
    }
    for text, costs in ((SLOW, [expected]), (SELDOM, [])):
        tflint_perf.write("slow.py", text)
        (found,) = json.loads(tflint_perf("--select=TFP406", "--output-format=json").out)
        assert found["cost"] == costs
        (run,) = json.loads(tflint_perf("--select=TFP406", "--output-format=sarif").out)["runs"]
        assert run["results"][0]["properties"].get("cost", []) == costs


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("fail_on", "code"),
    [
        ("17x", 1),
        ("17.2 ×", 1),
        ("18x", 0),
        ("1x", 1),
        ("error", 0),
        ("error,2x", 1),
        ("error, 18x", 0),
        ("info,18x", 1),
    ],
)
def test_a_run_fails_by_what_findings_cost(tflint_perf: CommandLine, fail_on: str, code: int) -> None:
    tflint_perf.write("slow.py", SLOW)
    ran = tflint_perf("--select=TFP406", f"--fail-on={fail_on}")
    assert (ran.code, ran.err) == (code, "")
    assert "Found 1 finding." in ran.out
    tflint_perf.write("tflint-perf.toml", f'fail-on = "{fail_on}"\n')
    assert tflint_perf("--select=TFP406").code == code


@pytest.mark.usefixtures("recorded")
def test_what_was_not_measured_fails_by_no_cost(tflint_perf: CommandLine) -> None:
    tflint_perf.write("slow.py", SLOW)
    assert tflint_perf("--select=TFP101", "--fail-on=1x").code == 0
    assert tflint_perf("--select=TFP101", "--fail-on=1x,warning").code == 1
    tflint_perf.write("slow.py", BROKEN)
    assert tflint_perf("--fail-on=1000x").code == 1


@pytest.mark.usefixtures("recorded")
def test_github_is_told_of_an_error_where_the_cost_makes_it_fail(tflint_perf: CommandLine) -> None:
    tflint_perf.write("slow.py", SLOW)
    ran = tflint_perf("--select=TFP101,TFP406", "--output-format=github", "--fail-on=10x")
    commands = {line.split("(")[1].split(")")[0]: line.split()[0] for line in ran.out.splitlines()}
    assert commands == {"TFP101": "::warning", "TFP406": "::error"}


@pytest.mark.parametrize("text", ["3y", "0.5x", "0x", "2", "x", "error,", "2x,never", ""])
def test_what_makes_no_run_fail_is_refused(tflint_perf: CommandLine, text: str) -> None:
    tflint_perf.write("slow.py", SLOW)
    ran = tflint_perf(f"--fail-on={text}")
    assert ran.code == 2
    assert ran.err.startswith(f"tflint-perf: Invalid value for '--fail-on': {text!r} is none of 'error', ")


@pytest.mark.parametrize(
    ("record", "severity"),
    [
        (REFUTED, "info"),
        (result(value=1.13), "info"),
        (result(value=1.3), "warning"),
        (result(value=1.13, metric="host memory"), "warning"),
        (result(value=1.13, kind="growth"), "warning"),
    ],
)
def test_the_finding_of_a_rule_that_is_refuted_or_costs_little_is_no_warning(
    tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch, record: dict[str, Any], severity: str
) -> None:
    monkeypatch.setattr(cost, "all_evidence", lambda **_: {"TFP406": on_record(record)})
    tflint_perf.write("slow.py", SLOW)
    severities = {
        found["code"]: found["severity"]
        for found in json.loads(tflint_perf("--select=TFP101,TFP406", "--output-format=json").out)
    }
    assert severities == {"TFP101": "warning", "TFP406": severity}
    assert tflint_perf("--select=TFP406").code == 1
    assert tflint_perf("--select=TFP406", "--fail-on=warning").code == (severity == "warning")


def test_what_costs_are_names_the_releases_that_they_were_measured_with() -> None:
    documents = map(json.loads, (file.read_text(encoding="utf-8") for file in EVIDENCE.glob("*.json")))
    measured = [document["versions"] for document in documents]
    assert len(measured) > 1
    for package, name in (("tensorflow", "TensorFlow"), ("keras", "Keras")):
        releases = {".".join(versions[package].split(".")[:2]) for versions in measured}
        assert [f"{name} {release}" in MEASURED_WITH for release in releases] == [True]


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("format", ["full", "concise", "grouped"])
def test_what_costs_are_is_said_once(tflint_perf: CommandLine, format: str) -> None:
    said = HOW_TO_READ_ARROWS + NOT_YOUR_COSTS
    options = ("--select=TFP406", f"--output-format={format}")
    tflint_perf.write("none.py", "import tensorflow as tf\n")
    assert said not in tflint_perf(*options).out
    tflint_perf.write("slow.py", SLOW)
    assert tflint_perf(*options).out.splitlines().count(said) == 1
    tflint_perf.write("too.py", SLOW)
    assert tflint_perf(*options).out.splitlines().count(said) == 1
    assert said not in tflint_perf(*options, "--quiet").out


@pytest.mark.usefixtures("recorded")
def test_what_costs_most_may_come_first(tflint_perf: CommandLine) -> None:
    tflint_perf.write("slow.py", SLOW)
    options = ("--select=TFP1,TFP406", "--output-format=concise")

    def codes(*more: str) -> list[str]:
        lines = tflint_perf(*options, *more).out.splitlines()
        return [line.split()[1] for line in lines if line.startswith("slow.py")]

    assert codes() == codes("--sort=place") == ["TFP101", "TFP406"]
    assert codes("--sort=cost") == ["TFP406", "TFP101"]
    assert "Most costly first, by what was measured" in tflint_perf(*options, "--sort=cost").out
    assert codes("--sort=cost", "--max-findings=1") == ["TFP406"]


@pytest.mark.parametrize("format", ["concise", "json", "sarif", "gitlab", "junit"])
def test_no_more_findings_are_shown_than_asked_for_and_all_count(
    tflint_perf: CommandLine, format: str
) -> None:
    tflint_perf.write("slow.py", SLOW)
    ran = tflint_perf("--select=TFP101,TFP406", f"--output-format={format}", "--max-findings=1")
    assert ran.code == 1
    assert "op by op" in ran.out
    assert "walks all Python objects" not in ran.out
    if format == "concise":
        assert ran.out.splitlines()[-1] == "1 more with a larger --max-findings."
        assert "Found 2 findings." in ran.out
    nothing = tflint_perf("--max-findings=0")
    assert nothing.code == 2
    assert "--max-findings" in nothing.err


def page(*records: Evidence) -> list[str]:
    return list(rule_markdown(RULE, {"TFP406": records}))


def test_the_page_of_a_rule_shows_each_record_as_a_row_of_a_table() -> None:
    lines = page(*on_record(result()), *on_record(REFUTED, device=GPU))
    table = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    columns = [
        "device",
        "TensorFlow",
        "Keras",
        "Python",
        "date",
        "slow",
        "fast",
        "effect (interval)",
        "verdict",
    ]
    assert table[0] == columns
    assert table[2] == [
        "CPU (synthetic)",
        "9.8.7",
        "6.5.4",
        "3.21.0",
        "2030-01-02",
        "17 ms",
        "1.0 ms",
        "17.2× (16.3 to 18.1)",
        "confirmed",
    ]
    assert (table[3][0], table[3][-1]) == ("Synthetic GPU", "refuted")


def test_the_columns_of_the_table_stand_below_each_other() -> None:
    rows = [line for line in page(*on_record(result(), REFUTED)) if line.startswith("|")]
    assert len({tuple(at for at, char in enumerate(row) if char == "|") for row in rows}) == 1


def test_the_page_of_a_refuted_rule_says_so() -> None:
    lines = page(*on_record(REFUTED))
    assert "A safe fix. Off by default." in lines
    assert "Refuted on CPU: 1.02× (0.969 to 1.07) was measured, short of what the rule claims." in lines


def test_the_page_says_why_a_claim_was_not_measured() -> None:
    assert "Not measurable on CPU: needs a GPU, and none is there." in page(*on_record(not_measurable()))


def test_the_page_of_a_rule_without_evidence_has_no_table() -> None:
    lines = page()
    assert not any(line.startswith(("|", "## Evidence")) for line in lines)
    assert any(line.endswith("; not measured.") for line in lines)


def test_the_evidence_is_on_the_terminal_too() -> None:
    lines = list(rule_text(RULE, {"TFP406": on_record(result())}, Style(False)))
    assert lines[lines.index("Evidence") + 1] == "--------"
    assert any("17.2× (16.3 to 18.1)" in line for line in lines)


def test_machines_get_the_whole_record_with_where_and_when_it_was_made() -> None:
    (shown,) = rule_object(RULE, {"TFP406": on_record(REFUTED)})["evidence"]
    assert shown.items() >= REFUTED.items()
    assert (shown["device"], shown["date"]) == ("CPU (synthetic)", "2030-01-02")
    assert shown["versions"]["tensorflow"] == "9.8.7"


@pytest.mark.parametrize(
    ("judged", "on"),
    [
        (Judged(21, 37, 11), False),
        (Judged(5, 11, 5), False),
        (Judged(18, 21, 6), True),  # 40% of 45 may be a half
        (Judged(2, 4, 1), True),  # too few to say
        (Judged(30, 2, 1), True),
        (Judged(), True),
    ],
)
def test_a_rule_whose_findings_were_seldom_right_is_off(judged: Judged, on: bool) -> None:
    known = {"TFP406": verdicts("confirmed"), "TFP507": verdicts("confirmed")}
    rules = {"TFP406": RULE, "TFP507": OTHER}
    assert ("TFP406" in default_rules(rules, known, {"TFP406": judged})) is on
    always = {"TFP406": replace(RULE, always_on=True), "TFP507": OTHER}
    assert "TFP406" in default_rules(always, known, {"TFP406": judged})


def test_the_rounds_on_record_name_rules_of_the_project_and_count_what_is_said() -> None:
    rows = [line.split("\t") for line in (EVIDENCE.parent / "judged.tsv").read_text().splitlines()]
    assert rows[0] == ["rule", "round", "right", "arguable", "wrong"]
    assert {code for code, *_ in rows[1:]} <= set(catalogue())
    assert len({(code, number) for code, number, *_ in rows[1:]}) == len(rows) - 1
    assert sum(judged.all for judged in all_judged().values()) == sum(
        int(count) for row in rows[1:] for count in row[2:]
    )


def test_the_page_of_a_rule_that_is_seldom_right_says_so() -> None:
    said = "\n".join(rule_markdown(catalogue()["TFP302"], read_evidence(EVIDENCE)))
    assert "Off by default." in said
    assert f"{all_judged()['TFP302'].right} were right" in said
