"""What watching a program needs: packages beside the tool, and TensorFlow in the Python that the program is for."""

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
# The observer runs in the program's Python.
_LEAST = (3, 10)
_SECONDS = 60.0
_ASK = (
    "import json, sys\n"
    "from importlib.util import find_spec\n"
    "print(json.dumps([sys.version_info[:2], find_spec('tensorflow') is not None]))"
)


def refuse_what_is_missing(command: str, python: str, own: Sequence[str]) -> None:
    """Return if the program can be watched: `python` runs and has TensorFlow, and the tool's Python has its `own` packages.

    Raises:
        ConfigError: it cannot be, and why.
    """
    absent = [name for name in own if find_spec(name) is None]
    has_tensorflow = _has_tensorflow(python)
    if has_tensorflow and not absent:
        return
    if python == sys.executable and not has_tensorflow:
        raise ConfigError(
            f"not installed: {', '.join(['tensorflow', *absent])}; `pip install 'tflint-perf[verify]'` brings all that is "
            "needed, or name the Python that has TensorFlow with --python",
            command,
        )
    said = []
    if not has_tensorflow:
        said.append(f"TensorFlow is not installed for {python}")
    if absent:
        said.append(
            f"not installed beside tflint-perf: {', '.join(absent)}; `pip install 'tflint-perf[run]'` brings what is needed"
        )
    raise ConfigError("; ".join(said), command)


def from_anywhere(python: str) -> str:
    """A Python that was named, so that it is found from another folder too."""
    path = Path(python)
    return python if path.name == python else str(path.absolute())


def _has_tensorflow(python: str) -> bool:
    if python == sys.executable:
        return find_spec("tensorflow") is not None
    version, has_it = _answer_of(python)
    if tuple(version) < _LEAST:
        raise ConfigError(
            f"{python} is Python {'.'.join(map(str, version))}; {'.'.join(map(str, _LEAST))} or later is needed",
            "--python",
        )
    return has_it


def _answer_of(python: str) -> tuple[Sequence[int], bool]:
    """The version of a Python, and whether it finds TensorFlow."""
    try:
        ran = subprocess.run(
            [python, "-c", _ASK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
        version, has_it = json.loads(ran.stdout.splitlines()[-1])
    except OSError as error:
        raise ConfigError(f"{python} does not start: {error.strerror}", "--python") from None
    except subprocess.TimeoutExpired:
        raise ConfigError(f"{python} does not answer", "--python") from None
    except (ValueError, TypeError, IndexError):
        why = next(iter(ran.stderr.splitlines()[-1:]), f"exit code {ran.returncode}")
        raise ConfigError(f"{python} does not run Python code: {why}", "--python") from None
    return version, bool(has_it)
