"""Temporary files that a killed run left behind, and processes that outlive none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.commandline import SLOW, CommandLine
from tests.hunt import kills
from tflint_perf.text.leftovers import sweep, temporary_beside

pytestmark = pytest.mark.slow


def leave(target: Path) -> Path:
    """What a process that was killed while it wrote `target` leaves: the system has taken its lock away."""
    descriptor, path = temporary_beside(target)
    os.close(descriptor)
    return path


def test_the_next_run_sweeps_what_a_killed_one_left(tflint_perf: CommandLine) -> None:
    target = tflint_perf.write("sub/train.py", SLOW)
    left = leave(target)
    descriptor, being_written = temporary_beside(target)
    others = [
        target.with_name(name)
        for name in (".train.py.tmp", f".train.py.tflint-perf-{'0' * 15}.tmp", ".x.swp")
    ]
    for other in others:
        other.touch()
    assert tflint_perf("--select=TFP406").code == 1
    assert not left.exists()
    assert being_written.exists()
    assert all(other.exists() for other in others)
    os.close(descriptor)
    tflint_perf("--select=TFP406")
    assert not being_written.exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows lets few people make links")
def test_no_link_is_swept(tmp_path: Path) -> None:
    left = leave(tmp_path / "a.py")
    link = left.with_name(left.name.replace(".a.py", ".b.py"))
    link.symlink_to(left)
    sweep(tmp_path, [link.name])
    assert link.is_symlink()
    assert left.exists()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux says whose child a process is")
@pytest.mark.parametrize("seconds", [0.4, 0.7, 1.0])
def test_a_killed_run_loses_nothing_and_leaves_nothing(tmp_path: Path, seconds: float) -> None:
    texts = kills.write_files(tmp_path)
    kills.killed(tmp_path, seconds)
    assert kills.losses(tmp_path, texts) == []
    assert kills.leavings(tmp_path, texts) == []
