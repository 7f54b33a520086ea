"""Run one script of a fixture: `python fixture_runner.py SCRIPT STEPS` prints its losses as a JSON list.

A process of its own for each script, because TensorFlow is slow to import and because a script may set what
holds for the whole process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

# Compared on the CPU, where a sum is taken in the same order each time.
ENVIRONMENT = {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}


def start(script: Path, steps: int) -> subprocess.Popen[str]:
    """Start a run of `script` that asks `train` for `steps` steps."""
    return subprocess.Popen(
        [sys.executable, __file__, str(script), str(steps)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | ENVIRONMENT,
    )


def finish(process: subprocess.Popen[str]) -> list[float]:
    """The losses of a run that was started.

    Raises:
        AssertionError: the script failed; the message is what it wrote to standard error.
        subprocess.TimeoutExpired: it took more than two minutes, and was stopped.
    """
    try:
        output, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 0, errors
    losses: list[float] = json.loads(output.splitlines()[-1])
    return losses


def main(script: str, steps: str) -> None:
    # By path: a fixture's folder is no package, and all of them have the same two names.
    spec = spec_from_file_location("fixture", script)
    assert spec is not None and spec.loader is not None
    fixture = module_from_spec(spec)
    spec.loader.exec_module(fixture)
    print(json.dumps([float(loss) for loss in fixture.train(int(steps))]))


if __name__ == "__main__":
    main(*sys.argv[1:])
