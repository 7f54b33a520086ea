"""The observer in a program does not change which row a warning is shown for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tflint_perf.observed.process import watch
from tflint_perf.observed.request import Request

# A library whose constructor is one of those that the observer wraps, and warns of its caller's caller.
LIBRARY = """\
import warnings
from warnings import warn


class Layer:
    def __init__(self, level):
        warnings.warn("as `warnings.warn`", stacklevel=level)
        warn("as `warn`", UserWarning, level)
        warnings.warn_explicit("explicit", UserWarning, "there.py", 7)


class Dense(Layer):
    def __init__(self, level):
        super().__init__(level)
"""
PROGRAM = """\
import warnings

warnings.simplefilter("always")
import keras.src.layers.layer as library


def made(level):
    return library.Dense(level)


for level in (1, 2, 3, 4, 9):
    made(level)
warnings.warn("the program's own")
try:
    warnings.warn("no number", stacklevel="1")
except TypeError:
    print("refused")
"""
FOLDER = ("keras", "src", "layers")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    below = tmp_path
    for name in FOLDER:
        below = below / name
        below.mkdir()
        (below / "__init__.py").write_text("")
    (below / "layer.py").write_text(LIBRARY)
    (tmp_path / "main.py").write_text(PROGRAM)
    return tmp_path


def test_warnings_name_the_rows_that_they_name_without_the_observer(folder: Path) -> None:
    alone = subprocess.run(
        [sys.executable, "main.py"], cwd=folder, capture_output=True, text=True, check=True
    )
    seen = watch(Request(("main.py",), folder=folder, quiet=True))
    assert seen.stdout == alone.stdout == "refused\n"
    assert "main.py:8: UserWarning" in alone.stderr and "hooks.py" not in seen.stderr

    def where(output: str) -> list[str]:
        lines = [line for line in output.splitlines() if "Warning: " in line]
        return [line.replace(f"{folder}/", "").replace(f"{folder}\\", "") for line in lines]

    # What lies above the program itself is the observer alone.
    assert [line for line in where(seen.stderr) if not line.startswith("<sys>")] == [
        line for line in where(alone.stderr) if not line.startswith("<sys>")
    ]
