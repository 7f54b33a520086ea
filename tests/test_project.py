"""Many files: in order, in processes, and none of them stops the others."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tflint_perf.config.settings import Settings
from tflint_perf.lint import check
from tflint_perf.lint.asking import InternalError
from tflint_perf.project import linting as project
from tflint_perf.project import pool
from tflint_perf.project.linting import FileResult, Job, Neighbours, lint_files, lint_text

SLOW = """\
import gc

import tensorflow as tf

gc.set_threshold(50_000)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])

model.compile(loss="mse")
for batch in tf.data.Dataset.range(100).batch(10):
    model.train_on_batch(batch, batch)
    gc.collect()
"""
FIXED = SLOW.replace("    gc.collect()\n", "")
CLEAN = "import tensorflow as tf\n\nprint(tf.__version__)\n"

CODES = frozenset({"TFP001", "TFP406"})
ADDED = SLOW.replace("    gc.collect()\n", "    gc.collect()  # noqa: E501, TFP406\n")


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.chdir(tmp_path)
    return Settings(root=tmp_path, rules=CODES, fixable=CODES, unsafe_fixes=True)


def write(name: str, text: str | bytes) -> Path:
    path = Path(name)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def lint(paths: Sequence[Path], settings: Settings, jobs: int = 1) -> list[FileResult]:
    return list(lint_files(paths, settings, jobs))


def codes(result: FileResult) -> list[str]:
    return [finding.code for finding in result.findings]


def notebook(*sources: str) -> bytes:
    cells = [{"cell_type": "code", "source": source.splitlines(True)} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1).encode()


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_results_come_in_the_order_of_the_files(settings: Settings, jobs: int) -> None:
    paths = [write(f"{number:03}.py", SLOW if number % 3 == 0 else CLEAN) for number in range(100)][::-1]
    results = lint(paths, settings, jobs)
    assert [result.path for result in results] == [str(path) for path in paths]
    assert [len(result.findings) for result in results] == [int(int(p.stem) % 3 == 0) for p in paths]


def test_few_files_start_no_process(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_pool", None)
    assert len(lint([write(f"{number}.py", CLEAN) for number in range(15)], settings, 8)) == 15
    with pytest.raises(TypeError):
        lint([write(f"{number}.py", CLEAN) for number in range(16)], settings, 8)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the death is played in a forked process")
def test_a_process_that_dies_takes_one_file_with_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = pool.lint_file

    def lint_file(job: Job, settings: Settings, neighbours: Neighbours) -> FileResult:
        if job.path.stem in ("7", "31"):
            os._exit(139)
        return real(job, settings, neighbours)

    monkeypatch.setattr(pool, "lint_file", lint_file)
    results = lint([write(f"{number}.py", SLOW) for number in range(40)], settings, 2)
    assert [result.path for result in results] == [f"{number}.py" for number in range(40)]
    failures = {result.path: result.failure for result in results if result.failure}
    why = "the process that linted it died; it may be nested too deeply"
    assert failures == {name: f"{name}: {why}" for name in ("7.py", "31.py")}
    assert sum(len(result.findings) for result in results) == 38


def test_what_cannot_be_read_is_a_line_and_the_rest_goes_on(settings: Settings) -> None:
    paths = [Path("gone.py"), write("nul.py", "import tensorflow, gc\ngc.collect()\0\n"), write("a.py", SLOW)]
    Path("folder.py").mkdir()
    gone, nul, found, folder = lint([*paths, Path("folder.py")], settings)
    assert gone == FileResult("gone.py", failure="gone.py: no such file or folder")
    assert nul.failure == "nul.py:2:13: a NUL byte: not Python source"
    assert codes(found) == ["TFP406"]
    assert folder.failure == "folder.py: is a directory"


@pytest.mark.parametrize("text", [b"print 'python 2'\n", b"\xff\xfe\0", b"not a notebook"])
def test_a_file_that_the_screen_drops_is_neither_decoded_nor_parsed(settings: Settings, text: bytes) -> None:
    for name in ("a.py", "a.ipynb"):
        assert lint([write(name, text)], settings) == [FileResult(name)]


def test_an_unused_suppression_is_found_where_the_screen_drops_the_file(settings: Settings) -> None:
    (result,) = lint([write("a.py", "a = 1  # noqa: TFP406\n")], settings)
    assert codes(result) == ["TFP001"]


def test_a_syntax_error_is_a_finding(settings: Settings) -> None:
    (result,) = lint([write("a.py", SLOW + "x = (\n")], settings)
    assert (codes(result), result.failure) == (["invalid-syntax"], None)


def test_a_rule_that_fails_is_a_line_and_the_rest_goes_on(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = check.check_source

    def check_source(source: object, *rest: object, **also: object) -> check.Checked:
        if getattr(source, "path", "") == "b.py":
            raise InternalError("TFP406: ValueError: no\nluck (rule.py:3)")
        if getattr(source, "path", "") == "c.py":
            raise RecursionError("maximum recursion depth exceeded")
        return real(source, *rest, **also)  # type: ignore[arg-type]

    monkeypatch.setattr(check, "check_source", check_source)
    for settings_now in (settings, replace(settings, fix="apply")):
        a, b, c, d = lint([write(f"{name}.py", SLOW) for name in "abcd"], settings_now)
        assert (
            b.failure == "b.py: internal error in TFP406: ValueError: no luck (rule.py:3); please report it"
        )
        assert c.failure is not None
        assert c.failure.startswith("c.py: internal error in RecursionError: maximum")
        assert (a.failure, d.failure) == (None, None)


def test_rules_are_taken_away_by_file(settings: Settings) -> None:
    ignoring = replace(settings, per_file_ignores=(("a.py", frozenset({"TFP406"})),))
    assert [codes(one) for one in lint([write("a.py", SLOW), write("b.py", SLOW)], ignoring)] == [
        [],
        ["TFP406"],
    ]


def test_suppressed_findings_are_counted(settings: Settings) -> None:
    (result,) = lint([write("a.py", ADDED)], settings)
    assert (result.findings, result.suppressed) == ((), 1)
    (shown,) = lint([Path("a.py")], replace(settings, ignore_noqa=True))
    assert (codes(shown), shown.suppressed) == (["TFP406"], 0)


@pytest.mark.parametrize("jobs", [1, 2])
def test_fixes_are_written(settings: Settings, jobs: int) -> None:
    paths = [write(f"{number:02}.py", SLOW) for number in range(20)]
    results = lint(paths, replace(settings, fix="apply"), jobs)
    assert all(path.read_text() == FIXED for path in paths)
    assert {len(result.fixed) for result in results} == {1}
    assert {result.findings for result in results} == {()}
    assert [one.fixed for one in lint(paths, replace(settings, fix="apply"), jobs)] == [()] * 20


def test_fixing_honours_suppressions(settings: Settings) -> None:
    lint([write("a.py", ADDED)], replace(settings, fix="apply"))
    assert Path("a.py").read_text() == ADDED


def test_a_file_without_fixes_is_not_written(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(project, "replace_file", None)
    (result,) = lint([write("a.py", CLEAN + "import gc  # collect\n")], replace(settings, fix="apply"))
    assert result == FileResult("a.py")


def test_a_file_that_changes_meanwhile_is_left_alone(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("a.py", SLOW)
    real = check.check_source

    def check_source(source: object, *rest: object, **also: object) -> check.Checked:
        path.write_text("theirs = 1\n")
        return real(source, *rest, **also)  # type: ignore[arg-type]

    monkeypatch.setattr(check, "check_source", check_source)
    (result,) = lint([path], replace(settings, fix="apply"))
    assert result.failure == "a.py: changed while it was linted, so it was left alone"
    assert (result.fixed, codes(result)) == ((), ["TFP406"])
    assert path.read_text() == "theirs = 1\n"


def test_a_read_only_file_is_left_alone_and_its_findings_told(settings: Settings) -> None:
    path = write("a.py", SLOW)
    path.chmod(0o444)
    (result,) = lint([path], replace(settings, fix="apply"))
    assert result.failure == "a.py: read-only, so it was not changed"
    assert (result.fixed, codes(result)) == ((), ["TFP406"])
    assert path.read_text() == SLOW


DIFFS = {
    "plain": SLOW.encode(),
    "crlf": SLOW.replace("\n", "\r\n").encode(),
    "no line end": SLOW.rstrip("\n").encode(),
    "form feed": SLOW.replace("model =", "\x0c\nmodel =").encode(),
    "mark": b"\xef\xbb\xbf" + SLOW.encode(),
}


@pytest.mark.skipif(shutil.which("git") is None, reason="git applies the diff")
@pytest.mark.parametrize("data", DIFFS.values(), ids=DIFFS)
def test_git_makes_of_a_diff_what_fixing_makes(settings: Settings, data: bytes) -> None:
    path = write("a.py", data)
    (shown,) = lint([path], replace(settings, fix="diff"))
    assert path.read_bytes() == data
    assert (len(shown.fixed), shown.findings) == (1, ())
    assert shown.diff.startswith("--- a/a.py\n+++ b/a.py\n@@ ")
    (done,) = lint([path], replace(settings, fix="apply"))
    expected = path.read_bytes()
    assert (done.diff, expected != data) == ("", True)
    path.write_bytes(data)
    subprocess.run(["git", "apply", "-"], input=shown.diff.encode(), check=True)
    assert path.read_bytes() == expected


def test_a_notebook_s_diff_is_by_cells(settings: Settings) -> None:
    path = write("n.ipynb", notebook("import gc\nimport tensorflow as tf\n", "%time 1", SLOW))
    (result,) = lint([path], replace(settings, fix="diff"))
    assert result.diff.startswith("--- a/n.ipynb:cell 3\n+++ b/n.ipynb:cell 3\n@@ ")
    assert "-    gc.collect()\n" in result.diff
    assert result.diff.count("---") == 1


def test_a_notebook_s_findings_have_cells_and_its_fix_leaves_the_rest(settings: Settings) -> None:
    before, after = (notebook("!pip install tensorflow", *text.split("\n\n")) for text in (SLOW, FIXED))
    path = write("n.ipynb", before)
    (result,) = lint([path], settings)
    assert [(one.start.cell, one.start.row) for one in result.findings] == [(5, 4)]
    lint([path], replace(settings, fix="apply"))
    assert path.read_bytes() == after


def test_text_from_elsewhere_is_linted_and_fixed_without_a_file(settings: Settings) -> None:
    result, data = lint_text(SLOW.encode(), "a.py", settings)
    assert (codes(result), data) == (["TFP406"], SLOW.encode())
    result, data = lint_text(SLOW.encode(), "a.py", replace(settings, fix="apply"))
    assert (codes(result), data) == ([], FIXED.encode())
    result, data = lint_text(b"tensorflow gc.collect() \xff", "a.py", replace(settings, fix="apply"))
    assert (result.failure, data) == ("a.py:1:25: byte 0xff is not UTF-8", b"tensorflow gc.collect() \xff")
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_fix_keeps_line_ends(settings: Settings, end: str) -> None:
    _, data = lint_text(SLOW.replace("\n", end).encode(), "a.py", replace(settings, fix="apply"))
    assert data == FIXED.replace("\n", end).encode()
