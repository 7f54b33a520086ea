"""`--add-noqa`: every present finding gets a suppression, and nothing else changes."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest

from tests.commandline import BROKEN, CLEAN, SLOW, CommandLine

SELECT = "--select=TFP406"
FIXTURES = sorted((Path(__file__).parent.parent / "fixtures").glob("*/slow.py"))


def added(command_line: CommandLine, text: str, *arguments: str) -> str:
    """What becomes of a script."""
    path = command_line.write("train.py", text)
    ran = command_line(*(arguments or (SELECT,)), "--add-noqa")
    assert ran.code == 0, ran
    return path.read_bytes().decode()


def test_every_finding_is_suppressed_and_counted(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    tflint_perf.write("clean.py", CLEAN)
    ran = tflint_perf("--select=TFP101,TFP406", "--add-noqa")
    assert (ran.code, ran.out, ran.err) == (0, "", "tflint-perf: added `# noqa` for 2 findings in 1 file\n")
    text = (tflint_perf.folder / "train.py").read_text()
    assert "        gc.collect()  # noqa: TFP406\n" in text
    assert tflint_perf("--select=TFP0,TFP101,TFP406").code == 0
    again = tflint_perf("--select=TFP101,TFP406", "--add-noqa")
    assert again.err == "tflint-perf: added `# noqa` for 0 findings in 0 files\n"
    assert (tflint_perf.folder / "train.py").read_text() == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("gc.collect()", "gc.collect()  # noqa: TFP406"),
        ("gc.collect()  # why not", "gc.collect()  # why not  # noqa: TFP406"),
        ("gc.collect()  # noqa: F401", "gc.collect()  # noqa: F401, TFP406"),
        ("gc.collect()  # NOQA:F401 as it is", "gc.collect()  # NOQA:F401, TFP406 as it is"),
        ("gc.collect(\n            2\n        )", "gc.collect(\n            2\n        )  # noqa: TFP406"),
        ("gc.collect()  ", "gc.collect()  # noqa: TFP406"),
        ("gc.collect(); print('ä')", "gc.collect(); print('ä')  # noqa: TFP406"),
    ],
)
def test_the_comment_stands_at_the_end_of_the_row(tflint_perf: CommandLine, before: str, after: str) -> None:
    script = SLOW.replace("gc.collect()", before)
    assert added(tflint_perf, script) == SLOW.replace("gc.collect()", after)
    assert tflint_perf(SELECT).code == 0


def test_two_rules_on_one_row_share_a_comment(tflint_perf: CommandLine) -> None:
    script = SLOW.replace("gc.collect()", "gc.collect(); tf.keras.backend.clear_session()")
    text = added(tflint_perf, script, "--select=TFP406,TFP408")
    assert "clear_session()  # noqa: TFP406, TFP408\n" in text


def test_line_ends_and_encoding_stay(tflint_perf: CommandLine) -> None:
    path = tflint_perf.folder / "train.py"
    script = f"# coding: latin-1\n# é\n{SLOW}".replace("\n", "\r\n")
    path.write_bytes(script.encode("latin-1"))
    assert tflint_perf(SELECT, "--add-noqa").code == 0
    assert path.read_bytes() == script.replace("gc.collect()\r\n", "gc.collect()  # noqa: TFP406\r\n").encode(
        "latin-1"
    )


def test_a_row_that_ends_inside_a_string_is_left_and_shown(tflint_perf: CommandLine) -> None:
    script = SLOW.replace("gc.collect()", 'gc.collect(); text = """\n"""')
    path = tflint_perf.write("train.py", script)
    tflint_perf.write("other.py", SLOW)
    ran = tflint_perf(SELECT, "--add-noqa", "--output-format=concise")
    assert ran.code == 1
    assert ran.out.startswith("train.py:14:9: TFP406")
    assert "for 1 finding in 1 file" in ran.err
    assert path.read_text() == script


def test_a_notebook_gets_them_in_its_cells_and_keeps_its_magics(tflint_perf: CommandLine) -> None:
    def notebook(*sources: str) -> str:
        cells = [
            {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": source}
            for source in sources
        ]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)

    path = tflint_perf.write("n.ipynb", notebook("%matplotlib inline\nprint()", SLOW))
    assert tflint_perf(SELECT, "--add-noqa").code == 0
    cells = json.loads(path.read_text())["cells"]
    assert "".join(cells[0]["source"]) == "%matplotlib inline\nprint()"
    assert "".join(cells[1]["source"]) == SLOW.replace("gc.collect()", "gc.collect()  # noqa: TFP406")


def test_findings_about_syntax_and_suppressions_are_left(tflint_perf: CommandLine) -> None:
    tflint_perf.write("broken.py", BROKEN)
    unused = CLEAN.replace("__)", "__)  # noqa: TFP406")
    path = tflint_perf.write("train.py", unused)
    ran = tflint_perf("--add-noqa", "--output-format=concise", "-q")
    assert ran.code == 1
    assert "invalid-syntax" in ran.out
    assert "TFP001" in ran.out
    assert path.read_text() == unused


def test_only_what_counts_is_suppressed(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    tflint_perf(SELECT, "--write-baseline=base.json")
    tflint_perf.write("other.py", SLOW)
    assert tflint_perf(SELECT, "--baseline=base.json", "--add-noqa").code == 0
    assert (tflint_perf.folder / "train.py").read_text() == SLOW
    assert "# noqa: TFP406" in (tflint_perf.folder / "other.py").read_text()


@pytest.mark.parametrize("other", ["--fix", "--diff", "--ignore-noqa", "--write-baseline=b.json", "-"])
def test_what_does_not_go_with_it_is_one_line(tflint_perf: CommandLine, other: str) -> None:
    path = tflint_perf.write("train.py", SLOW)
    ran = tflint_perf("--add-noqa", other)
    assert ran.code == 2
    assert ran.err.startswith("tflint-perf: --add-noqa: cannot be used with ")
    assert ran.err.count("\n") == 1
    assert path.read_text() == SLOW


def test_a_read_only_file_is_one_line(tflint_perf: CommandLine) -> None:
    path = tflint_perf.write("train.py", SLOW)
    path.chmod(0o444)
    ran = tflint_perf(SELECT, "--add-noqa", "-q", "--output-format=concise")
    assert ran.code == 2
    assert ran.err == "tflint-perf: train.py: read-only, so it was not changed\n"
    assert "TFP406" in ran.out
    assert path.read_text() == SLOW


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda path: path.parent.name)
def test_a_slow_script_with_them_is_clean_and_the_same_program(
    fixture: Path, tflint_perf: CommandLine
) -> None:
    text = fixture.read_text()
    code = fixture.parent.name
    assert tflint_perf.write("train.py", text)
    assert tflint_perf.found(f"--select={code}"), "nothing to suppress, so this test proves nothing"
    new = added(tflint_perf, text, f"--select={code}")
    assert ast.dump(ast.parse(new)) == ast.dump(ast.parse(text))
    assert tflint_perf(f"--select=TFP0,{code}").code == 0
