"""Baselines: what is written, what counts afterwards, and what becomes of it when the code changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.commandline import BROKEN, CLEAN, FIXED, SAFE, SLOW, CommandLine

SELECT = ("--select=TFP406", SAFE)
ARGUMENTS = (*SELECT, "--baseline=base.json")
TWICE = SLOW + "        print(loss)\n        gc.collect()\n"


@pytest.fixture
def old(tflint_perf: CommandLine) -> CommandLine:
    """The command line in a folder with a script whose one finding is in a baseline."""
    tflint_perf.write("train.py", SLOW)
    assert tflint_perf(*SELECT, "--write-baseline=base.json").code == 0
    return tflint_perf


def on_file(folder: Path, name: str = "base.json") -> dict[str, list[dict[str, object]]]:
    document = json.loads((folder / name).read_text())
    assert document["version"] == 1
    return dict(document["findings"])


def test_present_findings_are_written_and_counted(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", TWICE)
    tflint_perf.write("clean.py", CLEAN)
    ran = tflint_perf(*SELECT, "--write-baseline=base.json")
    assert (ran.code, ran.out, ran.err) == (0, "", "tflint-perf: 2 findings in base.json\n")
    assert on_file(tflint_perf.folder) == {
        "train.py": [{"code": "TFP406", "content": "gc.collect()", "count": 2}]
    }
    assert (tflint_perf.folder / "train.py").read_text() == TWICE


def test_what_is_in_the_baseline_is_not_shown(old: CommandLine) -> None:
    ran = old(*ARGUMENTS)
    note = "tflint-perf: 1 finding in the baseline not shown\n"
    assert (ran.code, ran.out, ran.err) == (0, "All checks passed!\n", note)
    assert old(*ARGUMENTS, "--quiet").err == ""
    assert old(*SELECT).code == 1


def test_edits_above_a_finding_change_nothing(old: CommandLine) -> None:
    old.write("train.py", SLOW.replace("import gc\n", '"""Trains."""\n\nimport os\nimport gc\n\n\n'))
    assert old(*ARGUMENTS).code == 0
    old.write(
        "train.py", SLOW.replace("        gc.collect()\n", "        if images:\n            gc.collect()\n")
    )
    assert old(*ARGUMENTS, "--select=ALL", "--ignore=TFP1").code == 0


def test_a_new_finding_is_shown_also_where_an_old_one_is_the_same(old: CommandLine) -> None:
    old.write("train.py", TWICE)
    ran = old(*ARGUMENTS, "--output-format=concise")
    assert ran.code == 1
    assert ran.out.startswith("train.py:16:9: TFP406")
    assert "Found 1 finding." in ran.out


def test_a_finding_in_another_file_is_new(old: CommandLine) -> None:
    old.write("other.py", SLOW)
    assert old.found(*ARGUMENTS) == ["other.py: TFP406"]


def test_what_is_in_the_baseline_is_not_fixed(old: CommandLine) -> None:
    old.write("other.py", SLOW)
    ran = old(*ARGUMENTS, "--fix")
    assert (ran.code, ran.out) == (0, "Found 1 finding (1 fixed, 0 remaining).\n")
    assert (old.folder / "train.py").read_text() == SLOW
    assert (old.folder / "other.py").read_text() == FIXED


def test_only_the_new_one_of_two_is_fixed(old: CommandLine) -> None:
    old.write("train.py", TWICE)
    assert old(*ARGUMENTS, "--fix").code == 0
    assert (old.folder / "train.py").read_text() == TWICE.removesuffix("        gc.collect()\n")


def test_the_diff_holds_nothing_that_is_in_the_baseline(old: CommandLine) -> None:
    ran = old(*ARGUMENTS, "--diff")
    assert (ran.code, ran.out) == (0, "")


def test_an_entry_that_no_longer_occurs_is_told_and_leaves_when_it_is_written_again(old: CommandLine) -> None:
    old.write("train.py", FIXED)
    ran = old(*ARGUMENTS)
    assert ran.code == 0
    assert ran.err == (
        "tflint-perf: 1 finding in the baseline no longer found; --write-baseline updates it\n"
    )
    assert old(*ARGUMENTS, "-q").err == ""
    assert old(*SELECT, "--write-baseline=base.json").code == 0
    assert on_file(old.folder) == {}


def test_a_rule_that_is_not_selected_is_not_told_to_be_gone(old: CommandLine) -> None:
    assert old("--select=TFP101", "--baseline=base.json").err == ""


def test_writing_for_one_file_keeps_what_is_said_of_the_others(old: CommandLine) -> None:
    old.write("other.py", SLOW)
    assert (
        old(*SELECT, "--write-baseline=base.json", "other.py").err == "tflint-perf: 2 findings in base.json\n"
    )
    assert sorted(on_file(old.folder)) == ["other.py", "train.py"]
    (old.folder / "train.py").unlink()
    old(*SELECT, "--write-baseline=base.json", "other.py")
    assert sorted(on_file(old.folder)) == ["other.py"]


def test_writing_for_a_folder_takes_out_its_files_that_are_left_out_now(old: CommandLine) -> None:
    old.write("other.py", SLOW)
    old(*SELECT, "--write-baseline=base.json", "--extend-exclude=train.py")
    assert sorted(on_file(old.folder)) == ["other.py"]


def test_a_baseline_in_the_configuration_is_relative_to_it(
    old: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    old.write("tflint-perf.toml", 'baseline = "base.json"\n')
    old.write("src/train.py", SLOW)
    assert old(*SELECT, "--write-baseline=base.json").code == 0
    assert sorted(on_file(old.folder)) == ["src/train.py", "train.py"]
    monkeypatch.chdir(old.folder / "src")
    assert old(*SELECT).code == 0
    assert old(*SELECT, "-", "--stdin-filename=train.py", stdin=SLOW.encode()).code == 0


def test_the_same_findings_are_written_to_the_byte(old: CommandLine) -> None:
    before = (old.folder / "base.json").read_bytes()
    old.write("train.py", f"# a comment\n{SLOW}")
    old(*SELECT, "--write-baseline=base.json", "./train.py")
    assert (old.folder / "base.json").read_bytes() == before


def test_a_syntax_error_is_never_in_a_baseline(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", BROKEN)
    assert tflint_perf("--write-baseline=base.json").code == 1
    assert on_file(tflint_perf.folder) == {}
    assert tflint_perf("--baseline=base.json").code == 1


def test_a_notebook_is_matched_whatever_cell_it_is_in(tflint_perf: CommandLine) -> None:
    def notebook(*sources: str) -> str:
        cells = [
            {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}
            for source in sources
        ]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    tflint_perf.write("n.ipynb", notebook(SLOW))
    assert tflint_perf(*SELECT, "--write-baseline=base.json").code == 0
    tflint_perf.write("n.ipynb", notebook("print()", SLOW))
    assert tflint_perf(*ARGUMENTS).code == 0
    assert tflint_perf(*SELECT).code == 1


def test_a_file_that_cannot_be_linted_keeps_its_entries(old: CommandLine) -> None:
    (old.folder / "train.py").write_bytes(b"# coding: no-such\nimport tensorflow, gc\ngc.collect()\n")
    assert old(*SELECT, "--write-baseline=base.json").code == 2
    assert sorted(on_file(old.folder)) == ["train.py"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "--baseline: no such file: base.json; --write-baseline creates one"),
        ("{", "--baseline: base.json: not a baseline: not JSON: "),
        ("[]", "--baseline: base.json: not a baseline of tflint-perf"),
        (
            '{"findings": {"a.py": [{"code": "TFP406"}]}}',
            "--baseline: base.json: not a baseline of tflint-perf",
        ),
        ('{"version": 9}', "--baseline: base.json: from another version of tflint-perf; write it again"),
    ],
)
def test_what_is_no_baseline_is_an_error(tflint_perf: CommandLine, text: str | None, message: str) -> None:
    tflint_perf.write("train.py", SLOW)
    report = tflint_perf.write("report", "keep me")
    if text is not None:
        tflint_perf.write("base.json", text)
    ran = tflint_perf(*ARGUMENTS, "-o", "report")
    assert ran.code == 2
    assert ran.err.startswith(f"tflint-perf: {message}")
    assert ran.err.count("\n") == 1
    assert report.read_text() == "keep me"


def test_a_file_that_is_no_baseline_is_not_written_over(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    assert tflint_perf(*SELECT, "--write-baseline=train.py").code == 2
    assert (tflint_perf.folder / "train.py").read_text() == SLOW


@pytest.mark.parametrize("other", [["--diff"], ["--diff-base=HEAD"], ["-", "--stdin-filename=train.py"]])
def test_a_baseline_is_not_written_of_what_is_not_on_disk(tflint_perf: CommandLine, other: list[str]) -> None:
    ran = tflint_perf("--write-baseline=base.json", *other, stdin=SLOW.encode())
    assert ran.code == 2
    assert not (tflint_perf.folder / "base.json").exists()


def test_a_folder_that_is_missing_is_one_line(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    ran = tflint_perf(*SELECT, "--write-baseline=no/base.json")
    assert (ran.code, ran.err) == (2, "tflint-perf: no/base.json: no such file or folder\n")
