"""What is being run and how long it will take: a bar on a terminal, elsewhere a line a run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tflint_perf.cli.run import say
from tflint_perf.report.summary import counted
from tflint_perf.verify.progress import bar


@dataclass(frozen=True, slots=True)
class Shown:
    """`on_run` is told what runs before each run, and `expect` how many runs are left at most once that is known better."""

    on_run: Callable[[str], None]
    expect: Callable[[int], None]


@contextmanager
def progress(runs: int, quiet: bool, clock: Callable[[], float] = time.monotonic) -> Iterator[Shown]:
    """Shows each of at most so many runs; more are no mishap."""
    left = _Left(runs, clock)
    if quiet:
        yield Shown(lambda what: None, left.expect)
    elif sys.stderr.isatty():
        with bar() as shown:
            task = shown.add_task("", total=runs)

            def on_run(what: str) -> None:
                begun, whole, said = left.begin()
                shown.update(task, description=what, completed=begun - 1, total=whole)
                if begun == 2:  # the bar tells by itself how long it takes, and not before it has moved
                    shown.console.print(f"up to {whole} runs: {said}", markup=False, highlight=False)

            yield Shown(on_run, left.expect)
    else:

        def told(what: str) -> None:
            begun, whole, said = left.begin()
            say(f"run {begun} of up to {whole}: {what}{f' ({said})' if said else ''}")

        yield Shown(told, left.expect)


class _Left:
    """How long the runs that are left will take at most, if they take as long as those before."""

    def __init__(self, runs: int, clock: Callable[[], float]) -> None:
        self._runs, self._clock = runs, clock
        self._began, self._count = 0.0, 0

    def begin(self) -> tuple[int, int, str]:
        """Which run begins, of how many, and `about 9 minutes left`; nothing before the first has ended."""
        now = self._clock()
        self._began = self._began if self._count else now
        done, self._count = self._count, self._count + 1
        self._runs = whole = max(self._runs, self._count)
        return self._count, whole, _in_words((now - self._began) / done * (whole - done)) if done else ""

    def expect(self, left: int) -> None:
        """So many are left at most after those that have begun."""
        self._runs = self._count + left


def _in_words(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute left"
    return f"{counted(minutes, 'minute')} left at most"
