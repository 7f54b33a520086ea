"""Running commands and workers, with their time and their peak memory."""

from __future__ import annotations

import json
import os
import resource
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
# A command that takes less is cheap enough to be run again.
CHEAP = 5.0


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a command: seconds by the clock and of the processors, largest process, exit status.

    Processor time includes that of the processes that it started, and waited for. It stays nearly the same
    on a machine that is busy with other things.
    """

    seconds: float
    processor: float
    peak: int
    status: int
    last_words: str


def run(command: Sequence[str | Path]) -> Run:
    """Run a command once. Its output is thrown away, but for the last line of standard error."""
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        start = perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        usage = wait(process)
        seconds = perf_counter() - start
        errors.seek(0)
        lines = errors.read().strip().splitlines()
    processor = usage.ru_utime + usage.ru_stime
    return Run(seconds, processor, peak(usage), process.returncode, lines[-1] if lines else "")


def wait(process: subprocess.Popen[Any]) -> resource.struct_rusage:
    """What a process that is about to end has used, by itself or in those that it waited for."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage


def peak(usage: resource.struct_rusage) -> int:
    """Bytes of the largest process. One starts with its parent's peak, so whoever measures has to stay small."""
    return usage.ru_maxrss * RSS_UNIT


def median(command: Sequence[str | Path], repeats: int) -> Run:
    """The median time of several runs, after one that does not count (it writes bytecode, warms caches)."""
    run(command)
    runs = [run(command) for _ in range(repeats)]
    return replace(
        runs[0],
        seconds=statistics.median(each.seconds for each in runs),
        processor=statistics.median(each.processor for each in runs),
    )


def up_to_three(command: Sequence[str | Path]) -> Run:
    """One run, or the middle one of three where that is cheap."""
    runs = [run(command)]
    if runs[0].seconds < CHEAP:
        runs += [run(command), run(command)]
    return sorted(runs, key=lambda each: each.seconds)[len(runs) // 2]


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
        return peak(wait(self._process))

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a worker stopped; its traceback is above")
        answer: dict[str, Any] = json.loads(line)
        return answer
