"""What is shown while many files are linted: a bar on a terminal, which goes, and nothing elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commandline import CLEAN, SLOW

pytestmark = pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals on Windows")
MANY = 45
GONE = "\x1b[1A\x1b[2K"


def lint(folder: Path, *options: str, term: str = "xterm") -> tuple[str, str]:
    """What is printed, and what a terminal gets as standard error."""
    reading, writing = os.openpty()
    program = [sys.executable, "-m", "tflint_perf", "--isolated", "--no-cache", "--select=TFP406", *options]
    with subprocess.Popen(
        [*program, "."], cwd=folder, env=os.environ | {"TERM": term}, stdout=subprocess.PIPE, stderr=writing
    ) as process:
        os.close(writing)
        shown = _all_of(reading)
        assert process.stdout is not None
        printed = process.stdout.read().decode()
    return printed, shown


def _all_of(reading: int) -> str:
    """What comes from a pseudo-terminal until its other end is closed, which Linux tells by an error."""
    parts = []
    try:
        while part := os.read(reading, 65_536):
            parts.append(part)
    except OSError:
        pass
    finally:
        os.close(reading)
    return b"".join(parts).decode()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for number in range(MANY):
        (tmp_path / f"train_{number}.py").write_text(SLOW if number == 0 else CLEAN)
    return tmp_path


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_terminal_shows_how_many_files_are_linted_and_is_clean_afterwards(project: Path, jobs: str) -> None:
    printed, shown = lint(project, "--jobs", jobs)
    assert "Looking at what the files import" in shown
    assert f"{MANY}/{MANY}" in shown
    # What each line was replaced by in the end.
    assert shown.count("\n") == shown.count(GONE) > 1
    assert shown.endswith(GONE)
    assert printed.startswith("TFP406 ")
    assert "Linting" not in printed


@pytest.mark.parametrize(
    ("options", "term"), [(("--quiet",), "xterm"), ((), "dumb"), (("--exclude=train_1*,train_2*",), "xterm")]
)
def test_nothing_is_shown_where_nobody_asks_or_could_be_helped(
    project: Path, options: tuple[str, ...], term: str
) -> None:
    _, shown = lint(project, *options, term=term)
    assert shown == ""


def test_nothing_is_shown_where_standard_error_is_no_terminal(project: Path) -> None:
    command = [sys.executable, "-m", "tflint_perf", "--isolated", "--no-cache", "--select=TFP406", "."]
    ran = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, "")
