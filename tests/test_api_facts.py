"""What the rows of `analysis/apis` say holds in the installed TensorFlow, Keras and NumPy."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.forked import Forks

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        find_spec("tensorflow") is None, reason="it runs TensorFlow, which `make test` installs"
    ),
]
ROOT = Path(__file__).parent.parent


def test_no_row_is_contradicted_by_a_run(forks: Forks) -> None:
    done = forks.run("-m", "benchmarks.api_facts", folder=ROOT)
    assert [line for line in done.stdout.splitlines() if line.startswith("contradicted")] == []
    assert done.returncode == 0, done.stderr
    held = re.search(r"^(\d+) facts held, 0 contradicted", done.stdout, re.M)
    assert held is not None
    assert int(held[1]) > 1000


def test_no_op_keeps_state_that_the_rows_call_pure(forks: Forks) -> None:
    done = forks.run("-m", "benchmarks.api_facts", "ops", folder=ROOT)
    assert done.returncode == 0, done.stderr
    assert "the op is stateful" not in done.stdout
