"""Runs a program with the observer in it, in a process of its own, and takes what it leaves behind."""

from __future__ import annotations

from dataclasses import dataclass

from tflint_perf.observed.record import Record
from tflint_perf.observed.request import Request


class NotWatchedError(Exception):
    """The program could not be watched: why, in one line."""


@dataclass(frozen=True)
class Seen:
    """A run that has ended: its record (without findings), its exit code as a shell would give it, what it printed if that was kept.

    `ends` is when each step ended, in seconds from the start of the program; `learned` is False where nothing was written to
    `Learning.out`. `record.ended` says how it came to its end; a program that failed has its traceback in the output.
    """

    record: Record
    code: int
    ends: tuple[float, ...]
    learned: bool = False
    stdout: str = ""
    stderr: str = ""


def watch(request: Request) -> Seen:
    """Run the program to its end, or until it is stopped.

    Raises:
        NotWatchedError: it could not be started, died without a word, was given up, or has no TensorFlow.
    """
    raise NotImplementedError
