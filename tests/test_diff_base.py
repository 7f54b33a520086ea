"""`--diff-base`: only findings on lines that changed since a revision."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.commandline import BROKEN, FIXED, SAFE, SLOW, CommandLine

SELECT = ("--select=TFP406", SAFE)
TWICE = SLOW + "        print(loss)\n        gc.collect()\n"


@dataclass(frozen=True, slots=True)
class Repository:
    """The repository, with what the tests ask of it."""

    lint: CommandLine
    git: Callable[..., str]

    @property
    def folder(self) -> Path:
        return self.lint.folder

    def write(self, name: str, text: str) -> None:
        self.lint.write(name, text)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "a change")

    def rows(self, *arguments: str, base: str = "HEAD") -> list[str]:
        """`path:row` of each finding."""
        out = self.lint(*SELECT, "--diff-base", base, "--output-format=concise", "-q", *arguments).out
        return [":".join(line.split(":")[:2]) for line in out.splitlines()]


@pytest.fixture(name="repository")
def repository_with_questions(tflint_perf: CommandLine, repository: Callable[..., str]) -> Repository:
    """A repository whose one commit has a script with one finding of the rule."""
    return Repository(tflint_perf, repository)


def test_what_was_there_is_not_shown(repository: Repository) -> None:
    ran = repository.lint(*SELECT, "--diff-base=HEAD")
    assert (ran.code, ran.out, ran.err) == (0, "All checks passed!\n", "")


def test_a_finding_on_a_new_line_is_shown(repository: Repository) -> None:
    repository.write("train.py", f"# moved down\n\n{TWICE}")
    assert repository.rows() == ["train.py:18"]
    assert repository.lint(*SELECT, "--diff-base=HEAD").code == 1


def test_a_finding_on_a_changed_line_is_shown(repository: Repository) -> None:
    repository.write("train.py", SLOW.replace("gc.collect()", "gc.collect(2)"))
    assert repository.rows() == ["train.py:14"]


def test_all_lines_of_a_file_that_git_does_not_have_are_new(repository: Repository) -> None:
    repository.write("new.py", SLOW)
    assert repository.rows() == ["new.py:14"]
    repository.git("add", "new.py")
    assert repository.rows() == ["new.py:14"]


def test_changes_that_are_committed_count_too(repository: Repository) -> None:
    repository.write("train.py", TWICE)
    repository.commit()
    assert repository.rows() == []
    assert repository.rows(base="HEAD~1") == ["train.py:16"]


def test_a_renamed_file_is_compared_with_what_it_was(repository: Repository) -> None:
    (repository.folder / "src").mkdir()
    repository.git("mv", "train.py", "src/learn_it.py")
    repository.write("src/learn_it.py", TWICE)
    assert repository.rows() == ["src/learn_it.py:16"]


def test_three_dots_are_where_the_branch_left(repository: Repository) -> None:
    repository.git("checkout", "-q", "-b", "branch")
    repository.write("new.py", SLOW)
    repository.commit()
    repository.git("checkout", "-q", "main")
    repository.write("train.py", FIXED)
    repository.commit()
    repository.git("checkout", "-q", "branch")
    assert repository.rows(base="main...") == ["new.py:14"]
    assert repository.rows(base="main") == ["new.py:14", "train.py:14"]


def test_only_what_was_changed_is_fixed(repository: Repository) -> None:
    repository.write("train.py", TWICE)
    ran = repository.lint(*SELECT, "--diff-base=HEAD", "--fix")
    assert (ran.code, ran.out) == (0, "Found 1 finding (1 fixed, 0 remaining).\n")
    assert (repository.folder / "train.py").read_text() == TWICE.removesuffix("        gc.collect()\n")


def test_the_diff_holds_only_what_was_changed(repository: Repository) -> None:
    assert repository.lint(*SELECT, "--diff-base=HEAD", "--diff").out == ""
    repository.write("train.py", TWICE)
    out = repository.lint(*SELECT, "--diff-base=HEAD", "--diff").out
    assert [line for line in out.splitlines() if line.startswith("-  ")] == ["-        gc.collect()"]


def test_the_summary_of_a_diff_counts_only_what_was_changed(repository: Repository) -> None:
    repository.write("train.py", FIXED)
    repository.commit()
    # The new finding stands where the old one, whose fix is unsafe, will be without it.
    line = "        with tf.GradientTape() as tape:\n"
    repository.write("train.py", FIXED.replace(line, f"        gc.collect()\n{line}"))
    ran = repository.lint("--select=TFP101,TFP406", SAFE, "--diff-base=HEAD", "--diff")
    assert ran.err == "Would fix 1 finding.\n"


def test_standard_input_is_compared_by_its_name(repository: Repository) -> None:
    assert repository.rows("-", "--stdin-filename=train.py") == []
    out = repository.lint(
        *SELECT,
        "--diff-base=HEAD",
        "-",
        "--stdin-filename=train.py",
        "--output-format=json",
        stdin=TWICE.encode(),
    ).out
    assert [finding["location"]["row"] for finding in json.loads(out)] == [16]


def test_a_notebook_is_compared_by_its_code(repository: Repository) -> None:
    def notebook(*sources: str, count: int) -> str:
        cells = [
            {"cell_type": "code", "execution_count": count, "metadata": {}, "outputs": [], "source": source}
            for source in sources
        ]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    repository.write("n.ipynb", notebook(SLOW, count=1))
    repository.commit()
    repository.write("n.ipynb", notebook("print()", SLOW, count=2))
    assert repository.rows() == []
    repository.write("n.ipynb", notebook(TWICE, count=2))
    assert repository.rows() == ["n.ipynb:cell 1"]


def test_line_ends_do_not_make_a_change(repository: Repository) -> None:
    (repository.folder / "train.py").write_bytes(SLOW.replace("\n", "\r\n").encode())
    assert repository.rows() == []


def test_a_syntax_error_is_shown_wherever_it_is(repository: Repository) -> None:
    repository.write("train.py", BROKEN)
    repository.commit()
    assert repository.lint("--diff-base=HEAD").code == 1


def test_the_folder_may_be_any_in_the_repository(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.write("src/train.py", SLOW)
    repository.commit()
    repository.write("src/train.py", TWICE)
    monkeypatch.chdir(repository.folder / "src")
    assert repository.rows() == ["train.py:16"]
    assert repository.rows("..") == ["../src/train.py:16"]


def test_what_git_sets_for_hooks_does_not_mislead(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.write("src/train.py", SLOW)
    repository.commit()
    monkeypatch.setenv("GIT_DIR", ".git")
    monkeypatch.setenv("GIT_INDEX_FILE", "elsewhere")
    assert repository.rows() == []


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("no-such", "--diff-base: git knows no revision `no-such`; has it been fetched?"),
        ("no-such...", "--diff-base: git knows no revision `no-such`; has it been fetched?"),
        ("--output=x", "--diff-base: git knows no revision `--output=x`; has it been fetched?"),
        ("", "--diff-base: git knows no revision ``; has it been fetched?"),
    ],
)
def test_a_revision_that_is_not_there_is_an_error(repository: Repository, base: str, message: str) -> None:
    ran = repository.lint(f"--diff-base={base}")
    assert (ran.code, ran.err) == (2, f"tflint-perf: {message}\n")
    assert not (repository.folder / "x").exists()


def test_a_folder_without_a_repository_is_an_error(
    tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tflint_perf.folder.parent))
    ran = tflint_perf("--diff-base=HEAD")
    assert (ran.code, ran.err) == (
        2,
        f"tflint-perf: --diff-base: not in a git repository: {tflint_perf.folder}\n",
    )


def test_a_machine_without_git_is_told(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(repository.folder))
    ran = repository.lint("--diff-base=HEAD")
    assert (ran.code, ran.err) == (2, "tflint-perf: --diff-base: needs git, which was not found\n")
