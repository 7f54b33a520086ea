"""What the formats show, on findings made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tflint_perf.applicability import applicability, is_applicable
from tflint_perf.finding import Edit, Finding, Fix, Place
from tflint_perf.keys import FORMATS
from tflint_perf.report import Entry, Outcome, render
from tflint_perf.report.style import Style
from tflint_perf.report.summary import fixes, statistics, statistics_json, summary
from tflint_perf.settings import Settings

SETTINGS = Settings(Path("/p"), frozenset(), fixable=frozenset({"TFP406", "TFP404"}))
GC = Finding(
    code="TFP406",
    name="gc-in-loop",
    message="`gc.collect()` runs each step; remove it",
    start=Place(100, 7, 5),
    end=Place(112, 7, 17),
    lines=("    gc.collect()",),
    noqa_row=7,
    fix=Fix("Remove the call", (Edit(Place(96, 7, 1), Place(113, 8, 1), ""),), safe=True),
)
UNSAFE = replace(GC, code="TFP404", name="missing-memory-growth", fix=replace(GC.fix, safe=False))
BARE = replace(GC, code="TFP402", name="tape-spans-loop", fix=None, note="`x` is read later")
BROKEN = Finding(
    "invalid-syntax", "invalid-syntax", "unexpected indent", Place(0, 1, 1), Place(1, 1, 2), (" x",), 1
)
IN_CELL = replace(GC, start=Place(100, 3, 9, 2), end=Place(112, 3, 21, 2), lines=("        gc.collect()",))


def outcome(
    *findings: Finding, path: str = "train.py", settings: Settings = SETTINGS, **options: Any
) -> Outcome:
    return Outcome(tuple(Entry.of(path, finding, settings) for finding in findings), **options)


def text(format: Any, *findings: Finding, **options: Any) -> str:
    return "\n".join(render(format, outcome(*findings, **options), Style()))


@pytest.mark.parametrize(
    ("finding", "settings", "known", "marked"),
    [
        (GC, {}, "safe", True),
        (UNSAFE, {}, "unsafe", False),
        (UNSAFE, {"unsafe_fixes": True}, "unsafe", True),
        (UNSAFE, {"safe_by_request": frozenset({"TFP404"})}, "safe", True),
        (GC, {"unsafe_by_request": frozenset({"TFP406"})}, "unsafe", False),
        (
            GC,
            {"unsafe_by_request": frozenset({"TFP406"}), "safe_by_request": frozenset({"TFP406"})},
            "unsafe",
            False,
        ),
        (GC, {"fixable": frozenset()}, None, False),
        (BARE, {"fixable": frozenset({"TFP402"}), "unsafe_fixes": True}, None, False),
    ],
)
def test_the_mark_says_what_fix_would_do(
    finding: Finding, settings: Any, known: str | None, marked: bool
) -> None:
    present = replace(SETTINGS, **settings)
    assert applicability(finding, present) == known
    assert is_applicable(finding, present) is marked


def test_concise_gives_one_line_a_finding() -> None:
    assert text("concise", GC, UNSAFE, BROKEN).split("\n") == [
        "train.py:7:5: TFP406 [*] `gc.collect()` runs each step; remove it",
        "train.py:7:5: TFP404 `gc.collect()` runs each step; remove it",
        "train.py:1:1: invalid-syntax: unexpected indent",
    ]


def test_full_shows_the_source_with_a_caret_the_fix_and_the_note() -> None:
    assert text("full", GC, replace(UNSAFE, note="nothing else")) == (
        "TFP406 [*] `gc.collect()` runs each step; remove it\n"
        " --> train.py:7:5\n"
        "  |\n"
        "7 |     gc.collect()\n"
        "  |     ^^^^^^^^^^^^\n"
        "  |\n"
        "help: Remove the call\n"
        "\n"
        "TFP404 `gc.collect()` runs each step; remove it\n"
        " --> train.py:7:5\n"
        "  |\n"
        "7 |     gc.collect()\n"
        "  |     ^^^^^^^^^^^^\n"
        "  |\n"
        "help: Remove the call (unsafe fix)\n"
        "note: nothing else\n"
    )


def test_full_draws_a_line_along_a_finding_of_several_rows() -> None:
    lines = ("with tape:", "    a", "    b")
    finding = replace(BARE, start=Place(0, 9, 1), end=Place(20, 11, 6), lines=lines, note=None)
    assert text("full", finding).split("\n")[1:] == [
        "  --> train.py:9:1",
        "   |",
        " 9 | / with tape:",
        "10 | |     a",
        "11 | |     b",
        "   | |_____^",
        "   |",
        "",
    ]


def test_full_cuts_the_middle_of_a_long_finding() -> None:
    lines = ("with tape:", *(f"    x{row}" for row in range(20)))
    finding = replace(BARE, start=Place(0, 90, 1), end=Place(20, 110, 8), lines=lines, note=None)
    assert text("full", finding).split("\n")[3:10] == [
        " 90 | / with tape:",
        " 91 | |     x0",
        " 92 | |     x1",
        " 93 | |     x2",
        "... | |",
        "110 | |     x19",
        "    | |_______^",
    ]


@pytest.mark.parametrize(
    ("line", "column", "end", "shown", "carets"),
    [
        ("\tgc.collect()", 2, 14, "    gc.collect()", "    ^^^^^^^^^^^^"),
        ('x = "日本"; f()', 11, 14, 'x = "日本"; f()', "            ^^^"),
        ("e\u0301 = f()", 6, 9, "e\u0301 = f()", "    ^^^"),
        ("x = '\x1b[31m'; f()", 14, 17, "x = '\N{REPLACEMENT CHARACTER}[31m'; f()", "             ^^^"),
        ("f()", 4, 4, "f()", "   ^"),
    ],
)
def test_the_caret_stands_under_the_finding_as_a_terminal_draws_it(
    line: str, column: int, end: int, shown: str, carets: str
) -> None:
    finding = replace(BARE, start=Place(0, 1, column), end=Place(0, 1, end), lines=(line,), note=None)
    assert text("full", finding).split("\n")[3:5] == [f"1 | {shown}", f"  | {carets}"]


def test_a_very_long_line_is_cut_around_the_finding() -> None:
    line = "x" * 5000 + "f()" + "y" * 5000
    finding = replace(BARE, start=Place(0, 1, 5001), end=Place(0, 1, 5004), lines=(line,), note=None)
    drawn, carets = (row[4:] for row in text("full", finding).split("\n")[3:5])
    assert len(drawn) < 200
    assert drawn[carets.index("^") : carets.rindex("^") + 1] == "f()"


@pytest.mark.parametrize("format", ["full", "concise", "json", "json-lines", "github", "sarif"])
def test_every_format_names_the_cell_of_a_notebook(format: str) -> None:
    shown = text(format, IN_CELL, path="n.ipynb")
    if format.startswith("json"):
        entry = json.loads(shown)[0] if format == "json" else json.loads(shown)
        assert (entry["cell"], entry["location"]) == (2, {"row": 3, "column": 9})
    elif format == "sarif":
        result = json.loads(shown)["runs"][0]["results"][0]
        assert result["message"]["text"].startswith("cell 2: ")
        assert "fixes" not in result
    else:
        assert "n.ipynb:cell 2:3:9" in shown


def test_json_has_what_a_tool_needs() -> None:
    assert json.loads(text("json", GC)) == [
        {
            "code": "TFP406",
            "name": "gc-in-loop",
            "message": "`gc.collect()` runs each step; remove it",
            "filename": "train.py",
            "cell": None,
            "location": {"row": 7, "column": 5},
            "end_location": {"row": 7, "column": 17},
            "severity": "warning",
            "url": None,
            "noqa_row": 7,
            "note": None,
            "fix": {
                "applicability": "safe",
                "message": "Remove the call",
                "edits": [
                    {
                        "location": {"row": 7, "column": 1},
                        "end_location": {"row": 8, "column": 1},
                        "cell": None,
                        "content": "",
                    }
                ],
            },
        }
    ]


def test_json_gives_no_fix_that_may_not_be_applied() -> None:
    assert json.loads(text("json", GC, settings=replace(SETTINGS, fixable=frozenset())))[0]["fix"] is None


@pytest.mark.parametrize(
    ("format", "empty"), [("json", "[]"), ("json-lines", ""), ("github", ""), ("full", "")]
)
def test_a_clean_run_is_an_empty_report(format: str, empty: str) -> None:
    assert text(format) == empty


def test_json_lines_gives_an_object_a_line() -> None:
    assert [json.loads(line)["code"] for line in text("json-lines", GC, BROKEN).split("\n")] == [
        "TFP406",
        "invalid-syntax",
    ]


def test_github_gets_commands_with_what_would_break_them_escaped() -> None:
    finding = replace(GC, message="50% of a\nstep, all")
    assert text("github", finding, path="a,b:c%.py") == (
        "::error title=tflint-perf (TFP406),file=a%2Cb%3Ac%25.py,line=7,col=5,endLine=7,endColumn=17"
        "::a,b:c%25.py:7:5: TFP406 50%25 of a%0Astep, all"
    )


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_renders_every_kind_of_finding(format: str) -> None:
    assert "invalid-syntax" in text(format, GC, UNSAFE, BARE, BROKEN)


def test_colours_are_put_in_only_when_asked_for() -> None:
    plain, colored = (list(render("full", outcome(GC, BARE), Style(color))) for color in (False, True))
    import click

    assert not any("\x1b" in line for line in plain)
    assert any("\x1b" in line for line in colored)
    assert [click.unstyle(line) for line in colored] == plain


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


def test_fix_only_says_nothing_of_what_remains() -> None:
    run = outcome(BARE, fix="apply", fixed=outcome(GC).findings)
    assert list(summary(run, Style(), fix_only=True)) == ["Fixed 1 finding."]


def test_show_fixes_counts_them_by_file_and_rule() -> None:
    run = outcome(fix="apply", fixed=outcome(UNSAFE, GC, GC).findings + outcome(GC, path="b.py").findings)
    assert list(fixes(run, Style())) == [
        "Fixed 4 findings:",
        "- train.py:",
        "    1 \N{MULTIPLICATION SIGN} TFP404 (missing-memory-growth)",
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
        "1\tTFP404\t[ ] missing-memory-growth",
    ]
    assert json.loads("".join(statistics_json(run)))[0] == {
        "code": "TFP406",
        "name": "gc-in-loop",
        "count": 3,
        "fixable": True,
        "fixable_count": 2,
    }
