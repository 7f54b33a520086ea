"""The last lines of a report, the list of fixes and the statistics."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.sample_findings import BARE, GC, SETTINGS, UNSAFE, outcome
from tflint_perf.report import Outcome
from tflint_perf.report.style import Style
from tflint_perf.report.summary import fixes, statistics, statistics_json, summary

UNSAFE_ALLOWED = replace(SETTINGS, unsafe_fixes=True)


@pytest.mark.parametrize(
    ("run", "lines"),
    [
        (outcome(), ["All checks passed!"]),
        (outcome(failures=("a.py: gone",)), []),
        (outcome(BARE), ["Found 1 finding."]),
        (outcome(GC, BARE), ["Found 2 findings.", "[*] 1 fixable with the --fix option."]),
        (
            outcome(GC, UNSAFE, UNSAFE),
            ["Found 3 findings.", "[*] 1 fixable with the --fix option (2 more with --unsafe-fixes)."],
        ),
        (outcome(UNSAFE), ["Found 1 finding.", "1 fixable with the --fix and --unsafe-fixes options."]),
        (
            outcome(GC, UNSAFE, settings=UNSAFE_ALLOWED),
            ["Found 2 findings.", "[*] 2 fixable with the --fix option."],
        ),
        (
            outcome(BARE, BARE, fix="apply", fixed=outcome(GC).findings),
            ["Found 3 findings (1 fixed, 2 remaining)."],
        ),
        (outcome(fix="apply", fixed=outcome(GC).findings), ["Found 1 finding (1 fixed, 0 remaining)."]),
        (
            outcome(UNSAFE, fix="apply", fixed=outcome(GC).findings),
            [
                "Found 2 findings (1 fixed, 1 remaining).",
                "1 fixable with the --fix and --unsafe-fixes options.",
            ],
        ),
        (outcome(BARE, fix="diff", fixed=outcome(GC, GC).findings), ["Would fix 2 findings."]),
        (outcome(BARE, fix="diff"), []),
        (
            outcome(UNSAFE, fix="diff", fixed=outcome(GC).findings),
            ["Would fix 1 finding (1 more with --unsafe-fixes)."],
        ),
        (outcome(UNSAFE, fix="diff"), ["1 fixable with the --fix and --unsafe-fixes options."]),
    ],
)
def test_the_last_lines_say_what_was_found_and_what_can_be_fixed(run: Outcome, lines: list[str]) -> None:
    assert list(summary(run, Style())) == lines


def test_the_last_line_says_where_only_a_run_can_judge_a_fix() -> None:
    refused = replace(BARE, code="TFP101", name="eager-train-step", note="no fix: a reason")
    settings = replace(SETTINGS, fixable=frozenset({"TFP101", "TFP406"}))
    said = "without a fix may have a bold one: --diff --bold-fixes shows {0}, and `tflint-perf prove --bold-fixes` tries {0}."
    one, two = outcome(refused, GC, settings=settings), outcome(refused, refused, settings=settings)
    assert list(summary(one, Style()))[1:] == [
        "[*] 1 fixable with the --fix option.",
        f"1 {said.format('it')}",
    ]
    assert list(summary(two, Style()))[1:] == [f"2 {said.format('them')}"]
    for others in ({"bold_fixes": True}, {"fixable": frozenset()}):
        assert len(list(summary(outcome(refused, settings=replace(settings, **others)), Style()))) == 1


def test_fix_only_says_nothing_of_what_remains() -> None:
    run = outcome(BARE, fix="apply", fixed=outcome(GC).findings)
    assert list(summary(run, Style(), fix_only=True)) == ["Fixed 1 finding."]


def test_show_fixes_counts_them_by_file_and_rule() -> None:
    run = outcome(fix="apply", fixed=outcome(UNSAFE, GC, GC).findings + outcome(GC, path="b.py").findings)
    assert list(fixes(run, Style())) == [
        "Fixed 4 findings:",
        "- train.py:",
        "    1 \N{MULTIPLICATION SIGN} TFP403 (persistent-tape)",
        "    2 \N{MULTIPLICATION SIGN} TFP406 (gc-in-loop)",
        "- b.py:",
        "    1 \N{MULTIPLICATION SIGN} TFP406 (gc-in-loop)",
        "",
    ]


def test_statistics_count_by_rule_the_most_frequent_first() -> None:
    partly = replace(GC, fix=None)
    run = outcome(BARE, GC, GC, partly, UNSAFE)
    assert list(statistics(run, Style())) == [
        "3\tTFP406\t[-] gc-in-loop",
        "1\tTFP402\t[ ] tape-spans-loop",
        "1\tTFP403\t[ ] persistent-tape",
    ]
    assert json.loads("".join(statistics_json(run)))[0] == {
        "code": "TFP406",
        "name": "gc-in-loop",
        "count": 3,
        "fixable": True,
        "fixable_count": 2,
    }
