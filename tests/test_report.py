"""What the formats show, on findings made by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.sample_findings import BARE, BROKEN, GC, IN_CELL, SETTINGS, UNSAFE, outcome, text
from tflint_perf.config.keys import FORMATS
from tflint_perf.finding import Finding, Place
from tflint_perf.lint.applicability import applicability, is_applicable
from tflint_perf.report import render
from tflint_perf.report.style import Style


@pytest.mark.parametrize(
    ("finding", "settings", "known", "marked"),
    [
        (GC, {}, "safe", True),
        (UNSAFE, {}, "unsafe", False),
        (UNSAFE, {"unsafe_fixes": True}, "unsafe", True),
        (UNSAFE, {"safe_by_request": frozenset({"TFP403"})}, "safe", True),
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
        "train.py:7:5: TFP403 `gc.collect()` runs each step; remove it",
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
        "TFP403 `gc.collect()` runs each step; remove it\n"
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


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_names_the_cell_of_a_notebook(format: str) -> None:
    shown = text(format, IN_CELL, path="n.ipynb")
    if format.startswith("json"):
        entry = json.loads(shown)[0] if format == "json" else json.loads(shown)
        assert (entry["cell"], entry["location"]) == (2, {"row": 3, "column": 9})
    elif format == "sarif":
        result = json.loads(shown)["runs"][0]["results"][0]
        assert result["message"]["text"].startswith("cell 2: ")
        assert "fixes" not in result
    elif format == "rdjson":
        assert json.loads(shown)["diagnostics"][0]["message"].startswith("cell 2:3:9: ")
    elif format == "gitlab":
        assert json.loads(shown)[0]["description"].startswith("cell 2:3:9: ")
    elif format == "grouped":
        assert shown.startswith("n.ipynb:\n  cell 2:3:9 ")
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
            "each_step": [],
            "cost": [],
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
    ("format", "empty"),
    [("json", "[]"), ("json-lines", ""), ("github", ""), ("gitlab", "[]"), ("grouped", ""), ("full", "")],
)
def test_a_clean_run_is_an_empty_report(format: str, empty: str) -> None:
    assert text(format) == empty


def test_json_lines_gives_an_object_a_line() -> None:
    assert [json.loads(line)["code"] for line in text("json-lines", GC, BROKEN).split("\n")] == [
        "TFP406",
        "invalid-syntax",
    ]


def test_github_gets_commands_with_what_would_break_them_escaped() -> None:
    finding = replace(GC, message="50% of a\r\nstep, all: %0A")
    assert text("github", finding, path="a,b:c%.py") == (
        "::error title=tflint-perf (TFP406),file=a%2Cb%3Ac%25.py,line=7,col=5,endLine=7,endColumn=17"
        "::a,b:c%25.py:7:5: TFP406 50%25 of a%0D%0Astep, all: %250A"
    )


def test_github_gets_one_line_a_finding_that_its_runner_reads_back() -> None:
    nasty = "50%25 of a\r\nstep,: ::error::x"
    path = "a,b:c%0A\n.py"
    (line,) = text("github", replace(GC, message=nasty), path=path).splitlines()
    # As the runner does it: properties up to the first `::`, then split by commas, all unescaped at the end.
    command, _, message = line.removeprefix("::").partition("::")
    properties = dict(pair.split("=", 1) for pair in command.partition(" ")[2].split(","))
    assert _read(properties["file"], {"%3A": ":", "%2C": ","}) == path
    assert _read(message, {}).endswith(f": TFP406 {nasty}")


def _read(text: str, more: dict[str, str]) -> str:
    for escaped, char in ({"%0D": "\r", "%0A": "\n"} | more | {"%25": "%"}).items():
        text = text.replace(escaped, char)
    return text


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_renders_every_kind_of_finding(format: str) -> None:
    assert "invalid-syntax" in text(format, GC, UNSAFE, BARE, BROKEN)


def test_colours_are_put_in_only_when_asked_for() -> None:
    plain, colored = (list(render("full", outcome(GC, BARE), Style(color))) for color in (False, True))
    import click

    assert not any("\x1b" in line for line in plain)
    assert any("\x1b" in line for line in colored)
    assert [click.unstyle(line) for line in colored] == plain
