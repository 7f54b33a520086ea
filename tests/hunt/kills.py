"""The hunt for what a killed run loses or leaves: `--fix` of many files, ended at any moment, and the run after it."""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.commandline import SLOW

FILES = 40
FIXED = ("        gc.collect()\n", "")
_COMMAND = [
    sys.executable,
    "-m",
    "tflint_perf",
    "check",
    "--select=TFP406",
    "--fix",
    "--unsafe-fixes",
    "--quiet",
]
_OURS = frozenset({".tflint-perf-cache", ".state"})


def write_files(folder: Path, count: int = FILES) -> dict[str, str]:
    """Files that each have something to fix, and their texts."""
    texts = {f"m{number}.py": SLOW + f"\nNUMBER = {number}\n" for number in range(count)}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return texts


def killed(folder: Path, seconds: float, patience_s: float = 60.0) -> float:
    """Kill a run after so long, and wait for the last of its processes to end: how long that takes, in seconds.

    Raises:
        TimeoutError: they do not end.
    """
    run = subprocess.Popen(
        [*_COMMAND, "--jobs=2"], cwd=folder, env=_environment(folder), start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    time.sleep(seconds)
    run.send_signal(signal.SIGKILL)
    run.wait()
    begin = time.monotonic()
    while living(run.pid):
        if time.monotonic() - begin > patience_s:
            raise TimeoutError(f"{living(run.pid)} live on")
        time.sleep(0.02)
    return time.monotonic() - begin


def losses(folder: Path, texts: dict[str, str]) -> list[str]:
    """The files that are neither as they were nor as they would be."""
    return [
        name
        for name, text in texts.items()
        if (folder / name).read_text(encoding="utf-8") not in (text, text.replace(*FIXED))
    ]


def leavings(folder: Path, texts: dict[str, str]) -> list[str]:
    """What lies in the folder after another run, and is neither a file of its own nor the cache."""
    subprocess.run([*_COMMAND], cwd=folder, env=_environment(folder), check=False, capture_output=True)
    inside = (path for path in folder.rglob("*") if path.suffix == ".tmp")
    return sorted({path.name for path in folder.iterdir()} - texts.keys() - _OURS) + sorted(map(str, inside))


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


def _environment(folder: Path) -> dict[str, str]:
    root = Path(__file__).parent.parent.parent
    return {**os.environ, "PYTHONPATH": str(root), "XDG_STATE_HOME": str(folder / ".state")}


def main(arguments: list[str]) -> int:
    """Kill as often as the command line says; 1 where something was lost, was left, or lived on for a second."""
    parser = argparse.ArgumentParser(prog="tests.hunt kills", description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    chance = random.Random(options.seed)
    slowest, wrong, half_way = 0.0, 0, 0
    for number in range(options.count):
        with tempfile.TemporaryDirectory(prefix="kills") as name:
            folder = Path(name)
            texts = write_files(folder, options.files)
            took = killed(folder, chance.uniform(0.2, 3.0))
            slowest = max(slowest, took)
            fixed = sum((folder / name).read_text(encoding="utf-8") != text for name, text in texts.items())
            half_way += 0 < fixed < len(texts)
            found = losses(folder, texts), leavings(folder, texts)
            if found != ([], []) or took > 1.0:
                wrong += 1
                print(
                    f"kill {number}: lost {found[0]}, left {found[1]}, {took:.2f} s until the last process ended",
                    flush=True,
                )
    print(f"{options.count} kills, {half_way} with some of the files written, {wrong} with something wrong; "
          f"the last process ended {slowest:.2f} s after the kill at most")  # fmt: skip
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
