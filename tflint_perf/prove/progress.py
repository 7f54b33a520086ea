"""What is being run and how long it will take: a bar on a terminal, elsewhere a line a run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tflint_perf.cli.run import say
from tflint_perf.report.summary import counted
from tflint_perf.verify.progress import bar


@contextmanager
def progress(
    runs: int, quiet: bool, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[[str], None]]:
    """Gives a function that is told what runs before each of at most so many runs; more are no mishap."""
    left = _Left(runs, clock)
    if quiet:
        yield lambda what: None
    elif sys.stderr.isatty():
        with bar() as shown:
            task = shown.add_task("", total=runs)

            def on_run(what: str) -> None:
                begun, whole, said = left.begin()
                shown.update(task, description=what, completed=begun - 1, total=whole)
                if begun == 2:  # the bar tells by itself how long it takes, and not before it has moved
                    shown.console.print(f"{whole} runs: {said}", markup=False, highlight=False)

            yield on_run
    else:

        def told(what: str) -> None:
            begun, whole, said = left.begin()
            say(f"run {begun} of {whole}: {what}{f' ({said})' if said else ''}")

        yield told


class _Left:
    """How long the runs that are left will take, if they take as long as those before."""

    def __init__(self, runs: int, clock: Callable[[], float]) -> None:
        self._runs, self._clock = runs, clock
        self._began, self._count = 0.0, 0

    def begin(self) -> tuple[int, int, str]:
        """Which run begins, of how many, and `about 9 minutes left`; nothing before the first has ended."""
        now = self._clock()
        self._began = self._began if self._count else now
        done, self._count = self._count, self._count + 1
        whole = max(self._runs, self._count)
        return self._count, whole, _in_words((now - self._began) / done * (whole - done)) if done else ""


def _in_words(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return "less than a minute left"
    return f"about {counted(minutes, 'minute')} left"
