"""What running a program needs: packages beside the tool, and TensorFlow in the Python that the program is for."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from tflint_perf.problems import ConfigError

# What the figures of a run are made with.
FOR_FIGURES = ("numpy", "scipy")
# What `tflint-perf[run]` brings.
_OF_RUN = frozenset({"numpy", "rich", "scipy"})
# A part of this package runs in the program's Python.
_LEAST = (3, 10)
_SECONDS = 60.0
_TITLES = {"tensorflow": "TensorFlow"}
_ASK = (
    "import json, sys\n"
    "from importlib.util import find_spec\n"
    "absent = [name for name in sys.argv[1:] if find_spec(name) is None]\n"
    "print(json.dumps([sys.version_info[:2], absent]))"
)


def refuse_what_is_missing(
    command: str, python: str, own: Sequence[str], theirs: Sequence[str] = ("tensorflow",)
) -> None:
    """Return if a program can be run: `python` has the packages that are `theirs`, and the tool's Python has its `own`.

    Raises:
        ConfigError: it cannot be, and why.
    """
    absent = [name for name in own if find_spec(name) is None]
    if python == sys.executable:
        lacking = list(dict.fromkeys([*(name for name in theirs if find_spec(name) is None), *absent]))
        if "tensorflow" in lacking:
            raise ConfigError(
                f"not installed: {', '.join(lacking)}; `pip install 'tflint-perf[verify]'` brings all that is "
                "needed, or name the Python that has TensorFlow with --python",
                command,
            )
        said = []
        absent = lacking
    else:
        said = [
            f"{_TITLES.get(name, name)} is not installed for {python}" for name in _lacking(python, theirs)
        ]
    if absent:
        brings = "'tflint-perf[run]'" if _OF_RUN.issuperset(absent) else " ".join(absent)
        said.append(
            f"not installed beside tflint-perf: {', '.join(absent)}; `pip install {brings}` brings what is needed"
        )
    if said:
        raise ConfigError("; ".join(said), command)


def from_anywhere(python: str) -> str:
    """A Python that was named, so that it is found from another folder too."""
    path = Path(python)
    return python if path.name == python else str(path.absolute())


def _lacking(python: str, names: Sequence[str]) -> list[str]:
    """Which of the packages another Python does not have."""
    version, absent = _answer_of(python, names)
    if tuple(version) < _LEAST:
        raise ConfigError(
            f"{python} is Python {'.'.join(map(str, version))}; {'.'.join(map(str, _LEAST))} or later is needed",
            "--python",
        )
    return absent


def _answer_of(python: str, names: Sequence[str]) -> tuple[Sequence[int], list[str]]:
    """The version of a Python, and which of the packages it does not find."""
    try:
        ran = subprocess.run(
            [python, "-c", _ASK, *names],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
        version, absent = json.loads(ran.stdout.splitlines()[-1])
    except OSError as error:
        raise ConfigError(f"{python} does not start: {error.strerror}", "--python") from None
    except subprocess.TimeoutExpired:
        raise ConfigError(f"{python} does not answer", "--python") from None
    except (ValueError, TypeError, IndexError):
        why = next(iter(ran.stderr.splitlines()[-1:]), f"exit code {ran.returncode}")
        raise ConfigError(f"{python} does not run Python code: {why}", "--python") from None
    return version, list(absent)
