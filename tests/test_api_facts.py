"""What the rows of `analysis/apis` say holds in the installed TensorFlow, Keras and NumPy."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("tensorflow") is None, reason="it runs TensorFlow, which `make test` installs"
    ),
]
ROOT = Path(__file__).parent.parent


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.api_facts", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)


def test_no_row_is_contradicted_by_a_run() -> None:
    done = _run()
    assert [line for line in done.stdout.splitlines() if line.startswith("contradicted")] == []
    assert done.returncode == 0, done.stderr
    held = re.search(r"^(\d+) facts held, 0 contradicted", done.stdout, re.M)
    assert held is not None
    assert int(held[1]) > 1000


def test_no_op_keeps_state_that_the_rows_call_pure() -> None:
    done = _run("ops")
    assert done.returncode == 0, done.stderr
    assert "the op is stateful" not in done.stdout
