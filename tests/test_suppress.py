"""What a suppression covers, and what is said about one that covers nothing."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.finding import Finding
from tflint_perf.lint import screen
from tflint_perf.lint.suppress import has_suppressions, names_us, suppress
from tflint_perf.text.positions import Span
from tflint_perf.text.source import Source

KNOWN = {
    "TFP001": "unused-suppression",
    "TFP002": "unknown-code-in-suppression",
    "TFP101": "eager-train-step",
    "TFP105": "keras-call-in-loop",
    "TFP301": "convert-per-batch",
}
RULES = frozenset({"TFP101", "TFP105", "TFP301"})
SETTINGS = Settings(root=Path(), rules=RULES)
ALL = replace(SETTINGS, rules=frozenset(KNOWN))


def source(text: str) -> Source:
    return Source.from_bytes(text.encode(), "train.py")


def spans(of: Source) -> list[Span]:
    """The statements as the engine gives them, taken from Python's own parser."""
    found = []
    for node in ast.walk(ast.parse(of.text)):
        if isinstance(node, ast.stmt):
            first = min([node.lineno, *(item.lineno for item in getattr(node, "decorator_list", []))])
            start = (
                of.offset(first, 1) + len(of.lines(first, first)[0]) - len(of.lines(first, first)[0].lstrip())
            )
            end = of.offset(node.end_lineno or 1, (node.end_col_offset or 0) + 1)
            body = getattr(node, "body", None)
            header_end = of.text.rindex(":", start, of.offset(body[0].lineno, 1) or end) + 1 if body else end
            found.append(Span(start, header_end, end))
    return found


def findings(of: Source, marker: str = "X", code: str = "TFP101") -> list[Finding]:
    """One finding at each marker."""
    found = []
    at = of.text.find(marker)
    while at >= 0:
        start, end = of.place(at), of.place(at + len(marker))
        found.append(
            Finding(code, KNOWN.get(code, code), "m", start, end, of.lines(start.row, end.row), start.row)
        )
        at = of.text.find(marker, at + 1)
    return found


def left(text: str, code: str = "TFP101", settings: Settings = SETTINGS) -> int:
    """How many of the findings at the X in the text remain."""
    of = source(text)
    before = findings(of, code=code)
    remaining, suppressed = suppress(of, before, spans(of), settings, KNOWN)
    assert len(remaining) + suppressed == len(before) > 0
    return len(remaining)


def said(text: str, settings: Settings = ALL, marker: str = "X") -> list[Finding]:
    of = source(text)
    remaining, _ = suppress(of, findings(of, marker), spans(of), settings, KNOWN)
    return [finding for finding in remaining if finding.code in ("TFP001", "TFP002")]


def fixed(text: str, marker: str = "X") -> str:
    of = source(text)
    edits = [edit for finding in said(text, marker=marker) if finding.fix for edit in finding.fix.edits]
    return of.apply(edits).text


COVERED = [
    "X  # noqa",
    "X  # NOQA",
    "X  #noqa",
    "X  # noqa: TFP101",
    "X  #noqa:TFP101,TFP3",
    "X  # noqa : TFP105 TFP101",
    "X  # noqa: tfp101",
    "X  # NoQA:E501,TFP101",
    "X  # noqa: TFP1",
    "X  # noqa: TFP",
    "X  # noqa: TFP101 the loop is short",
    "X  # noqa: TFP101, because it is short",
    "X  # type: ignore  # noqa: TFP101",
    "X  # noqa: E501  # noqa: TFP101",
    "X  # noqa because",
    "f(\n    X,\n)  # noqa: TFP101",
    "f(\n    a,  # noqa: TFP101\n    X,\n)",
    "f(  # noqa: TFP101\n    a,\n    X,\n)",
    "f('''\n''', X, '''\n''')  # noqa: TFP101",
    "f(a, \\\n  X)  # noqa: TFP101",
    "for a in X:  # noqa: TFP101\n    b",
    "for a in f(\n    X,\n):  # noqa: TFP101\n    b",
    "@X\ndef f():  # noqa: TFP101\n    pass",
    "a; X; b  # noqa: TFP101",
    "X  # tflint-perf: ignore[TFP101]",
    "X  # tflint-perf: ignore",
    "X  #tflint-perf:ignore[TFP105,TFP101]",
    "X  # TFLINT-PERF: ignore[ tfp1 ] why",
    "X  # tflint-perf: ignore[eager-train-step]",
    "X  # tflint-perf: ignore[TFP101",
    "# tflint-perf: ignore[TFP101]\nX",
    "# tflint-perf: ignore[TFP101]\n\n# more\nX",
    "# tflint-perf: ignore[TFP101]\nfor a in b:\n    if c:\n        X",
    "# tflint-perf: ignore[TFP101]\n# more\n@a\n@b\ndef f():\n    X",
    "@a\n# tflint-perf: ignore[TFP101]\ndef f():\n    X",
    "f(\n    # tflint-perf: ignore[TFP101]\n    X,\n)",
    "f(\n    a,\n    # tflint-perf: ignore[TFP101]\n)(X)",
    "for a in b:\n    # tflint-perf: ignore[TFP101]\n    X",
    "# tflint-perf: file-ignore[TFP101]\na\nX",
    "a\nX\n# tflint-perf: file-ignore",
    "a  # tflint-perf: file-ignore[TFP1]\nX",
    "# tflint-perf: disable[TFP101]\na\nX",
    "# tflint-perf: disable\nX\n# tflint-perf: enable",
    "def f():\n    # tflint-perf: disable[TFP101]\n    X\n    # tflint-perf: enable[TFP101]",
    "# tflint-perf: disable[TFP1]\n# tflint-perf: enable[TFP105]\nX",
]
NOT_COVERED = [
    "X  # noqa: E501",
    "X  # noqa: TFP105",
    "X  # noqa: because",
    "X  # noqa-like",
    "X  # noqax",
    "X  # see noqa",
    "X; s = '# noqa'",
    "s = '''\n# tflint-perf: file-ignore\n'''\nX",
    "# noqa\nX",
    "X\n# noqa: TFP101",
    "X\na  # noqa: TFP101",
    "for a in b:  # noqa: TFP101\n    X",
    "for a in X:\n    b  # noqa: TFP101",
    "X  # tflint-perf: ignore[TFP105]",
    "X  # tflint-perf: ignore[]",
    "X  # tflint-perf: ingore[TFP101]",
    "# tflint-perf: ignore[TFP101]\na\nX",
    "# tflint-perf: ignore[TFP101]\nfor a in b:\n    c\nX",
    "X\n# tflint-perf: ignore[TFP101]",
    "def f():\n    # tflint-perf: file-ignore[TFP101]\n    X",
    "X\n# tflint-perf: disable[TFP101]",
    "# tflint-perf: disable[TFP101]\n# tflint-perf: enable[TFP101]\nX",
    "# tflint-perf: disable[TFP101]\n# tflint-perf: enable\nX",
    "X  # ruff: noqa",
]


@pytest.mark.parametrize("text", NOT_COVERED)
def test_a_finding_stays_where_nothing_covers_it(text: str) -> None:
    assert left(text) == 1


@pytest.mark.parametrize("text", COVERED)
def test_a_covered_finding_goes(text: str) -> None:
    assert left(text) == 0


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_rows_are_python_s(end: str) -> None:
    assert left("a\x0c\nX  # noqa: TFP101\nX\n".replace("\n", end)) == 1


def test_a_suppression_behind_broken_code_does_nothing_and_one_before_works() -> None:
    of = source("X  # noqa: TFP101\nx = (\n")
    assert suppress(of, findings(of), [], SETTINGS, KNOWN) == ([], 1)


def test_a_syntax_error_is_never_suppressed() -> None:
    assert left("# tflint-perf: file-ignore\nX  # noqa", code="invalid-syntax") == 1


def test_ignore_noqa_shows_everything() -> None:
    showing = replace(ALL, ignore_noqa=True)
    assert left("X  # noqa: TFP101, TFP105", settings=showing) == 1


def test_a_notebook_s_rows_are_told_apart() -> None:
    cells = '[{"cell_type": "code", "source": "%s"}, {"cell_type": "code", "source": "%s"}]'
    data = ('{"cells": ' + cells % ("X  # noqa: TFP101", "X") + "}").encode()
    of = Source.from_bytes(data, "n.ipynb")
    remaining, suppressed = suppress(of, findings(of), spans(of), SETTINGS, KNOWN)
    assert ([finding.start.cell for finding in remaining], suppressed) == ([2], 1)


MATTERS = {
    "# noqa": (True, False),
    "# noqa: E501": (False, False),
    "# noqa: E501, TFP101": (True, True),
    "# tflint-perf: ignore": (True, True),
    "# noqa: why": (False, False),
    "import tflint_perf": (False, False),
}


@pytest.mark.parametrize(("text", "expected"), MATTERS.items())
def test_a_quick_look_tells_what_matters(text: str, expected: tuple[bool, bool]) -> None:
    assert (has_suppressions(text), names_us(text)) == expected
    assert screen.names_us(text.encode()) == expected[1]


SAID_NOTHING = [
    "a  # noqa",
    "a  # noqa: E501, F401",
    "X  # noqa: TFP101",
    "X  # tflint-perf: ignore",
    "X  # noqa: TFP101, TFP1",
    "# tflint-perf: disable[TFP101]\nX\n# tflint-perf: enable[TFP101]",
    "# tflint-perf: works well here",
    "# see tflint-perf: it finds this",
    "s = '# noqa: TFP101'",
    "a  # noqa: TFP101, TFP001",
    "a  # tflint-perf: ignore[TFP101]  # noqa",
    "# tflint-perf: file-ignore[unused-suppression]\na  # noqa: TFP101",
    "a  # noqa: TFP1001, TFP002",
]


@pytest.mark.parametrize("text", SAID_NOTHING)
def test_nothing_is_said_about_what_is_used_or_of_others(text: str) -> None:
    assert said(text) == []


UNUSED = {
    "a  # noqa: TFP101\n": "a\n",
    "a  # noqa: TFP101": "a",
    "a  # noqa:TFP101,TFP301\n": "a\n",
    "a  # noqa: E501, TFP101\n": "a  # noqa: E501\n",
    "a  # noqa: TFP101, E501\n": "a  # noqa: E501\n",
    "a  # noqa: E1,TFP101 TFP105, E2\n": "a  # noqa: E1, E2\n",
    "a  # noqa: E1 TFP101,E2 why\n": "a  # noqa: E1,E2 why\n",
    "X  # noqa: TFP101, TFP105\n": "X  # noqa: TFP101\n",
    "X  # noqa: TFP3\n": "X\n",
    "a  # noqa: TFP101 the loop is short\n": "a  # the loop is short\n",
    "a  # type: ignore  # noqa: TFP101\n": "a  # type: ignore\n",
    "a  # noqa: TFP101  # type: ignore\n": "a  # type: ignore\n",
    "a  # tflint-perf: ignore[TFP101]\n": "a\n",
    "a  # tflint-perf: ignore\n": "a\n",
    "a\n# tflint-perf: ignore[TFP101, TFP105]\nb\n": "a\nb\n",
    "a\n# tflint-perf: ignore[TFP101] # why\nb\n": "a\n# why\nb\n",
    "# tflint-perf: ignore[TFP101, eager-train-step, TFP105]\nX\n": "# tflint-perf: ignore[TFP101, eager-train-step]\nX\n",
    "def f():\n    # tflint-perf: file-ignore\n    X\n": "def f():\n    X\n",
    "a\n# tflint-perf: file-ignore[TFP3]": "a\n",
    "# tflint-perf: disable[TFP3]\nX\n# tflint-perf: enable[TFP3]\n": "X\n",
    "X\n# tflint-perf: enable\n": "X\n",
    "a\r\n# tflint-perf: ignore[TFP101]\r\nb\r\n": "a\r\nb\r\n",
    "X  # noqa: TFP101, TFP001\n": "X  # noqa: TFP101\n",
}


@pytest.mark.parametrize(("text", "expected"), UNUSED.items())
def test_an_unused_suppression_is_reported_and_removed_alone(text: str, expected: str) -> None:
    found = said(text)
    assert {(finding.code, finding.name) for finding in found} == {("TFP001", "unused-suppression")}
    assert all(finding.fix and finding.fix.safe for finding in found)
    assert fixed(text) == expected
    assert said(expected) == []


def test_an_unused_suppression_is_shown_with_its_place() -> None:
    (found,) = said("a\nb  # noqa: E501, TFP105\n")
    assert found.message == "`TFP105` suppresses nothing here; remove it"
    assert (found.start.row, found.start.column, found.end.column) == (2, 18, 24)
    assert found.lines == ("b  # noqa: E501, TFP105",)
    (whole,) = said("a  # noqa:  TFP105 TFP3\n")
    assert whole.message == "`noqa:  TFP105 TFP3` suppresses nothing; remove it"


@pytest.mark.parametrize("text", ["a  # noqa: TFP105", "a  # noqa: TFP1", "a  # tflint-perf: ignore"])
def test_codes_that_are_not_enabled_are_not_called_unused(text: str) -> None:
    assert said(text, replace(ALL, rules=ALL.rules - {"TFP105"})) == []


def test_without_the_rule_nothing_is_said() -> None:
    assert said("a  # noqa: TFP101, TFP1001", SETTINGS) == []


UNKNOWN = {
    "X  # noqa: TFP1015": "no rule is called `TFP1015` (did you mean `TFP105`?)",
    "X  # tflint-perf: ignore[eager-step]": "no rule is called `eager-step` (did you mean `eager-train-step`?)",
    "X  # tflint-perf: ignore[E501]": "no rule is called `E501`",
    "# tflint-perf: ingore[TFP101]\nX": "`ingore` is not a suppression (did you mean `ignore`?); it does nothing",
    "# tflint-perf: skip[TFP101]\nX": "`skip` is not a suppression; it does nothing",
}


@pytest.mark.parametrize(("text", "message"), UNKNOWN.items())
def test_an_unknown_code_is_reported_with_the_nearest(text: str, message: str) -> None:
    (found,) = said(text)
    assert (found.code, found.name, found.fix) == ("TFP002", "unknown-code-in-suppression", None)
    assert found.message == message


def test_a_file_without_findings_is_looked_at_too() -> None:
    of = source("a  # noqa: TFP101\nb  # noqa\n")
    remaining, suppressed = suppress(of, (), (), ALL, KNOWN)
    assert [finding.code for finding in remaining] == ["TFP001"]
    assert suppressed == 0
