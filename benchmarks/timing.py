"""Running commands and workers, with their time and their peak memory."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

# `ru_maxrss` counts kilobytes on Linux and bytes on macOS.
RSS_UNIT = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a command: seconds of wall clock, bytes of its largest process, exit status."""

    seconds: float
    peak: int
    status: int
    last_words: str


def run(command: Sequence[str | Path], folder: Path | None = None) -> Run:
    """Run a command once. Its output is thrown away, but for the last line of standard error."""
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        start = perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=errors)
        peak, status = wait(process)
        seconds = perf_counter() - start
        errors.seek(0)
        lines = errors.read().strip().splitlines()
    return Run(seconds, peak, status, lines[-1] if lines else "")


def wait(process: subprocess.Popen[Any]) -> tuple[int, int]:
    """Peak memory in bytes and exit status of a process that is about to end.

    The peak is that of the process or of the largest that it waited for. A process starts with its
    parent's peak, so whoever measures has to stay small.
    """
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_maxrss * RSS_UNIT, process.returncode


def median(command: Sequence[str | Path], repeats: int, folder: Path | None = None) -> Run:
    """The median time of several runs, after one that does not count (it writes bytecode, warms caches)."""
    run(command, folder)
    runs = [run(command, folder) for _ in range(repeats)]
    return replace(runs[0], seconds=statistics.median(each.seconds for each in runs))


class Worker:
    """A process of `measure.py`, which answers each list of paths with what it measured."""

    def __init__(self, task: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, Path(__file__).with_name("measure.py"), task],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._answer()  # it is ready

    def ask(self, paths: Sequence[Path]) -> dict[str, Any]:
        assert self._process.stdin
        print(json.dumps([str(path) for path in paths]), file=self._process.stdin, flush=True)
        return self._answer()

    def end(self) -> int:
        """Stop it; return its peak memory in bytes."""
        assert self._process.stdin
        self._process.stdin.close()
        peak, _ = wait(self._process)
        return peak

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a worker stopped; its traceback is above")
        answer: dict[str, Any] = json.loads(line)
        return answer
