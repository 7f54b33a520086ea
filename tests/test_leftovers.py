"""Temporary files that a killed run left behind, and processes that outlive none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.commandline import SLOW, CommandLine
from tflint_perf.leftovers import sweep, temporary_beside

FILES = 40


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
def test_a_killed_run_loses_nothing_and_leaves_no_process(tflint_perf: CommandLine, seconds: float) -> None:
    texts = {f"m{number}.py": SLOW + f"\nNUMBER = {number}\n" for number in range(FILES)}
    for name, text in texts.items():
        tflint_perf.write(name, text)
    command = [sys.executable, "-m", "tflint_perf", "--select=TFP406", "--fix", "--unsafe-fixes", "--jobs=2"]
    run = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    time.sleep(seconds)
    run.send_signal(signal.SIGKILL)
    run.wait()
    patience = time.monotonic() + 60
    while living(run.pid) and time.monotonic() < patience:
        time.sleep(0.05)
    assert living(run.pid) == []
    for name, text in texts.items():
        now = (tflint_perf.folder / name).read_text()
        assert now in (text, text.replace("        gc.collect()\n", ""))
    tflint_perf("--select=TFP406", "--fix", "--unsafe-fixes")
    assert sorted(path.name for path in tflint_perf.folder.glob("*")) == sorted(
        [*texts, *([".tflint-perf-cache"] if (tflint_perf.folder / ".tflint-perf-cache").exists() else [])]
    )
    assert list(tflint_perf.folder.glob(".*.tmp")) == []


def living(session: int) -> list[int]:
    """The processes of a session that have not ended."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found
