"""What a run needs, said before the program starts."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commandline import CommandLine
from tflint_perf.cli import requirements
from tflint_perf.problems import ConfigError

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="a Python that is a shell script")
PROGRAM = "print('it has run')\n"


@pytest.fixture
def other_python(tmp_path: Path) -> Callable[[bool], str]:
    """Another Python, with TensorFlow or without."""

    def made(has_tensorflow: bool) -> str:
        folder = tmp_path / "other"
        venv.create(folder, symlinks=sys.platform != "win32")
        python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        if has_tensorflow:
            asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
            packages = Path(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip())
            (packages / "tensorflow.py").write_text("")
        return str(python)

    return made


def lacking(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Make the tool's own Python one without these packages, and with all others."""
    monkeypatch.setattr(requirements, "find_spec", lambda name: None if name in names else importlib.util)


def test_tensorflow_is_looked_for_in_the_python_that_was_named(
    monkeypatch: pytest.MonkeyPatch, other_python: Callable[[bool], str]
) -> None:
    lacking(monkeypatch, "tensorflow")
    requirements.refuse_what_is_missing("run", other_python(True), requirements.FOR_FIGURES)
    with pytest.raises(ConfigError) as refused:
        requirements.refuse_what_is_missing("run", sys.executable, requirements.FOR_FIGURES)
    assert str(refused.value) == (
        "run: not installed: tensorflow; `pip install 'tflint-perf[verify]'` brings all that is needed, or name the Python "
        "that has TensorFlow with --python"
    )


def test_a_named_python_without_tensorflow_is_told(
    monkeypatch: pytest.MonkeyPatch, other_python: Callable[[bool], str]
) -> None:
    lacking(monkeypatch)
    python = other_python(False)
    with pytest.raises(ConfigError) as refused:
        requirements.refuse_what_is_missing("prove", python, requirements.FOR_FIGURES)
    assert str(refused.value) == f"prove: TensorFlow is not installed for {python}"


def test_all_that_another_python_lacks_is_told(
    monkeypatch: pytest.MonkeyPatch, other_python: Callable[[bool], str]
) -> None:
    lacking(monkeypatch, "matplotlib")
    python = other_python(True)
    with pytest.raises(ConfigError) as refused:
        requirements.refuse_what_is_missing(
            "verify", python, ("rich", "matplotlib"), ("tensorflow", "psutil")
        )
    assert str(refused.value) == (
        f"verify: psutil is not installed for {python}; not installed beside tflint-perf: matplotlib; "
        "`pip install matplotlib` brings what is needed"
    )


def test_what_the_tool_itself_lacks_comes_without_tensorflow(
    monkeypatch: pytest.MonkeyPatch, other_python: Callable[[bool], str]
) -> None:
    lacking(monkeypatch, "tensorflow", "scipy")
    with pytest.raises(ConfigError) as refused:
        requirements.refuse_what_is_missing("run", other_python(True), requirements.FOR_FIGURES)
    assert str(refused.value) == (
        "run: not installed beside tflint-perf: scipy; `pip install 'tflint-perf[run]'` brings what is needed"
    )


@POSIX
@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo '[[3, 9], []]'", "is Python 3.9; 3.10 or later is needed"),
        ("echo 'no such option: -c' >&2; exit 2", "does not run Python code: no such option: -c"),
        ("exit 3", "does not run Python code: exit code 3"),
    ],
)
def test_what_is_no_python_for_this_is_told(tmp_path: Path, script: str, said: str) -> None:
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)
    with pytest.raises(ConfigError) as refused:
        requirements.refuse_what_is_missing("run", str(python), ())
    assert str(refused.value) == f"--python: {python} {said}"


@pytest.mark.parametrize("command", ["run", "prove", "verify"])
def test_a_python_that_does_not_start_is_one_line_before_anything_runs(
    tflint_perf: CommandLine, command: str
) -> None:
    tflint_perf.write("train.py", PROGRAM)
    ran = tflint_perf(command, "--python", "/nope", "TFP406" if command == "verify" else "train.py")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "tflint-perf: --python: /nope does not start: No such file or directory\n"


@pytest.mark.parametrize("command", ["run", "prove"])
def test_what_is_missing_is_one_line_before_anything_runs(
    tflint_perf: CommandLine, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    lacking(monkeypatch, "scipy")
    tflint_perf.write("train.py", PROGRAM)
    ran = tflint_perf(command, "train.py")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"tflint-perf: {command}: not installed beside tflint-perf: scipy; `pip install 'tflint-perf[run]'` brings what is "
        "needed\n"
    )
