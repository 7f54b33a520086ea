"""`tflint-perf check`: which files, which rules, which exit code."""

from __future__ import annotations

import pytest

from tests.commandline import BROKEN, CLEAN, FIXED, GC_FINDING, SAFE, SLOW, CommandLine

SELECT = ("--select=TFP406", SAFE)


@pytest.mark.parametrize(
    ("text", "arguments", "code"),
    [
        (CLEAN, [], 0),
        (SLOW, [], 1),
        (SLOW, ["--exit-zero"], 0),
        (SLOW, ["--ignore=ALL"], 0),
        (SLOW, [*SELECT, "--fix"], 0),
        (SLOW, [*SELECT, "--fix", "--exit-non-zero-on-fix"], 1),
        (CLEAN, ["--fix", "--exit-non-zero-on-fix"], 0),
        (SLOW, ["--select=TFP101", "--fix"], 1),
        (SLOW, ["--select=TFP101", "--fix-only"], 0),
        (SLOW, [*SELECT, "--fix-only"], 0),
        (SLOW, [*SELECT, "--fix-only", "--exit-non-zero-on-fix"], 1),
        (SLOW, [*SELECT, "--diff"], 1),
        (SLOW, ["--select=TFP101", "--diff"], 0),
        (SLOW, [*SELECT, "--diff", "--exit-zero"], 0),
        (CLEAN, ["--diff"], 0),
        (SLOW, [*SELECT, "--statistics"], 1),
        (SLOW, [*SELECT, "--show-files"], 0),
        (SLOW, [*SELECT, "--show-settings"], 0),
        (BROKEN, [], 1),
        (BROKEN, [*SELECT], 1),
        (BROKEN, ["--exit-zero"], 0),
        (BROKEN, ["--fix-only"], 1),
        (BROKEN, ["--diff"], 1),
        (SLOW, ["no-such-file.py"], 2),
        (SLOW, ["no-such-file.py", "--exit-zero"], 2),
        (SLOW, ["no-such-file.py", "--diff"], 2),
        (SLOW, ["no-such-file.py", "--fix-only"], 2),
        (SLOW, ["no-such-file.py", "--show-files"], 2),
    ],
)
def test_the_exit_code_tells(tflint_perf: CommandLine, text: str, arguments: list[str], code: int) -> None:
    tflint_perf.write("train.py", text)
    assert tflint_perf("train.py", *arguments).code == code


def test_an_empty_folder_is_clean_with_a_warning(tflint_perf: CommandLine) -> None:
    ran = tflint_perf()
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "tflint-perf: warning: no Python files or notebooks under the given paths\n"


def test_the_current_folder_is_linted_where_no_path_is_named(tflint_perf: CommandLine) -> None:
    tflint_perf.write("a/train.py", SLOW)
    assert tflint_perf.found(*SELECT) == ["a/train.py: TFP406"]


def test_options_may_stand_after_paths(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    assert tflint_perf.found("train.py", *SELECT) == tflint_perf.found(*SELECT, "train.py") != []


def test_a_missing_path_names_the_nearest_and_the_rest_is_linted(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    ran = tflint_perf(*SELECT, "trian.py", "train.py", "--output-format=concise")
    assert ran.code == 2
    assert ran.err == "tflint-perf: trian.py: no such file or folder (did you mean `train.py`?)\n"
    assert ran.out.startswith(f"train.py:{GC_FINDING}[*] ")
    assert "All checks passed" not in ran.out


def test_nothing_is_said_to_have_passed_when_something_could_not_be_read(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", CLEAN)
    assert tflint_perf("train.py", "gone.py").out == ""
    assert tflint_perf("train.py").out == "All checks passed!\n"


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        (["--select=TFP406"], ["TFP406"]),
        (["--select=TFP4"], ["TFP406"]),
        (["--select=gc-in-loop,eager-train-step"], ["TFP101", "TFP406"]),
        (["--select=TFP406", "--select=TFP101"], ["TFP101", "TFP406"]),
        (["--select=TFP1,TFP4", "--ignore=gc-in-loop"], ["TFP101"]),
        (["--select=TFP101", "--extend-select=TFP406"], ["TFP101", "TFP406"]),
        (["--select=TFP1,TFP4", "--per-file-ignores=*.py:TFP101"], ["TFP406"]),
        (["--select=TFP1,TFP4", "--per-file-ignores=other.py:TFP101,train.py:TFP406"], ["TFP101"]),
        (["--config", "select = ['TFP406']"], ["TFP406"]),
        (["--config", "select = ['TFP101']", "--select=TFP406"], ["TFP406"]),
    ],
)
def test_rules_are_selected_on_the_command_line(
    tflint_perf: CommandLine, arguments: list[str], codes: list[str]
) -> None:
    tflint_perf.write("train.py", SLOW)
    assert tflint_perf.found(*arguments) == [f"train.py: {code}" for code in codes]


def test_a_syntax_error_is_a_finding_that_no_selection_hides(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", BROKEN)
    assert tflint_perf.found(*SELECT) == ["train.py: invalid-syntax"]


def test_each_file_has_the_settings_of_the_nearest_configuration(tflint_perf: CommandLine) -> None:
    for folder in (".", "a", "a/b", "c", "c/gen"):
        tflint_perf.write(f"{folder}/train.py", SLOW)
    tflint_perf.write("pyproject.toml", "[tool.tflint-perf]\nselect = ['TFP406']\n")
    tflint_perf.write("a/pyproject.toml", "[tool.tflint-perf]\nselect = ['TFP101']\n")
    tflint_perf.write("c/tflint-perf.toml", "select = ['TFP1', 'TFP4']\nextend-exclude = ['gen/']\n")
    expected = [
        "a/b/train.py: TFP101",
        "a/train.py: TFP101",
        "c/train.py: TFP101",
        "c/train.py: TFP406",
        "train.py: TFP406",
    ]
    assert tflint_perf.found() == expected
    assert tflint_perf.found("a", "c", "train.py") == expected
    assert tflint_perf.found(*SELECT, "a/b") == ["a/b/train.py: TFP406"]


def test_patterns_are_relative_to_the_file_that_they_stand_in(
    tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a/x.py", "a/gen/x.py", "gen/x.py"):
        tflint_perf.write(name, SLOW)
    tflint_perf.write("pyproject.toml", "[tool.tflint-perf]\nexclude = ['a/gen']\nselect = ['TFP406']\n")
    assert tflint_perf.found() == ["a/x.py: TFP406", "gen/x.py: TFP406"]
    monkeypatch.chdir(tflint_perf.folder / "a")
    assert tflint_perf.found() == ["x.py: TFP406"]
    assert tflint_perf.found("--exclude=./x.py") == ["gen/x.py: TFP406"]


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        (["."], ["a.py"]),
        ([".", "--include-tests"], ["a.py", "tests/b.py"]),
        ([".", "--extend-exclude=a.py"], []),
        ([".", "--exclude=tests"], ["a.py", "build/c.py"]),
        ([".", "--no-respect-gitignore"], ["a.py", "ignored/d.py"]),
        (["build/c.py"], ["build/c.py"]),
        (["build/c.py", "--force-exclude"], []),
        (["tests/b.py"], ["tests/b.py"]),
    ],
)
def test_show_files_lists_what_would_be_linted(
    tflint_perf: CommandLine, arguments: list[str], files: list[str]
) -> None:
    for name in ("a.py", "tests/b.py", "build/c.py", "ignored/d.py"):
        tflint_perf.write(name, SLOW)
    tflint_perf.write(".gitignore", "ignored/\n")
    assert tflint_perf("--show-files", *arguments).out.splitlines() == files


def test_show_settings_gives_a_configuration_with_the_same_effect(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW)
    tflint_perf.write(
        "pyproject.toml", "[tool.tflint-perf]\nselect = ['TFP001', 'TFP1', 'TFP406']\nignore = ['TFP1']\n"
    )
    shown = tflint_perf("--show-settings", "--unsafe-fixes").out
    assert 'select = ["TFP001", "TFP406"]\n' in shown
    assert "unsafe-fixes = true\n" in shown
    tflint_perf.write("tflint-perf.toml", shown)
    assert tflint_perf("--show-settings").out.splitlines()[1:] == shown.splitlines()[1:]


def test_ignore_noqa_shows_what_is_suppressed(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", SLOW.replace("gc.collect()", "gc.collect()  # noqa: TFP406"))
    assert tflint_perf.found(*SELECT) == []
    assert tflint_perf.found(*SELECT, "--ignore-noqa") == ["train.py: TFP406"]


def test_verbose_says_which_configuration_counts(tflint_perf: CommandLine) -> None:
    tflint_perf.write("train.py", FIXED)
    config = tflint_perf.write("tflint-perf.toml", "")
    assert f"1 file with {config}\n" in tflint_perf("-v").err


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_report_does_not_depend_on_the_number_of_processes(tflint_perf: CommandLine, jobs: str) -> None:
    for number in range(40):
        tflint_perf.write(f"n{number:02}.py", SLOW)
    assert tflint_perf.found(*SELECT, "--jobs", jobs) == [f"n{number:02}.py: TFP406" for number in range(40)]


def test_the_project_s_other_files_call_what_is_linted(tflint_perf: CommandLine) -> None:
    tflint_perf.write("inner/pyproject.toml", "")
    tidy = "import gc\nimport tensorflow as tf\ndef tidy():\n    gc.collect()\n"
    tflint_perf.write("inner/steps.py", tidy)
    tflint_perf.write(
        "train.py", "from inner.steps import tidy\nfor b in x:\n    m.train_on_batch(b)\n    tidy()\n"
    )
    arguments = ("inner/steps.py", "--select", "TFP406", "--output-format", "concise")
    assert tflint_perf(*arguments).code == 0
    ran = tflint_perf(*arguments, "--project-root", ".")
    assert "inner/steps.py:4:5: TFP406" in ran.out
    ran = tflint_perf(*arguments, "--config", "project-root='.'")
    assert "inner/steps.py:4:5: TFP406" in ran.out
    assert "project-root: no such folder" in tflint_perf(*arguments, "--project-root", "missing").err
