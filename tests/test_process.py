"""What is made quicker in a process of the tool's own is left as it is in those of others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_SHOW = "import libcst as cst; print(cst.Name.__hash__ is object.__hash__)"
_CHECK = "import sys; sys.argv[1:] = ['check', '--no-cache', '--include-tests', sys.argv[1]]; from tflint_perf.start import main"


def _told(code: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.split()[-1]


def test_nodes_keep_their_hash_where_others_may_have_them_in_dicts() -> None:
    assert _told(f"import tflint_perf.lint.check; {_SHOW}") == "False"


def test_the_command_hashes_nodes_by_their_address(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import tensorflow as tf\n\nmodel = tf.keras.Sequential()\nmodel.fit(data)\n")
    ended = f"{_CHECK}\ntry:\n    main()\nexcept SystemExit:\n    {_SHOW}"
    assert _told(ended, str(program)) == "True"
