"""What is being run and how long it will take: a bar on a terminal, elsewhere a line as each experiment ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tflint_perf.cli.run import say
from tflint_perf.verify.experiment import Experiment
from tflint_perf.verify.records import Result

if TYPE_CHECKING:
    from rich.progress import Progress

# Runs an experiment, and calls what it is given after each of its runs.
_Running = Callable[[Callable[[], None]], Result]


@contextmanager
def progress(
    experiments: Sequence[Experiment], runs: int, *, quick: bool
) -> Iterator[Callable[[Experiment, _Running], Result]]:
    """Gives a function that runs an experiment while it is shown.

    A single experiment, and quick ones, are soon over: off a terminal nothing is said of them.
    """
    if sys.stderr.isatty():
        with _bar(experiments, runs) as run:
            yield run
    elif quick or len(experiments) < 2:
        yield lambda experiment, running: running(lambda: None)
    else:
        yield _Lines(len(experiments)).run


class _Lines:
    """A line for each experiment that has ended."""

    def __init__(self, whole: int) -> None:
        self._whole = whole
        self._ended = 0

    def run(self, experiment: Experiment, running: _Running) -> Result:
        start = time.monotonic()
        result = running(lambda: None)
        self._ended += 1
        title = f"{experiment.name} {experiment.title}".strip()
        took = f"{time.monotonic() - start:.0f} s"
        say(f"{self._ended} of {self._whole}: {title}: {result.verdict} ({took})")
        return result


def bar() -> Progress:
    """A bar on standard error that goes when it is done, with how many of how many and how long it will take."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def _bar(experiments: Sequence[Experiment], runs: int) -> Iterator[Callable[[Experiment, _Running], Result]]:
    with bar() as shown:
        task = shown.add_task("", total=runs * len(experiments))
        begun = 0

        def run(experiment: Experiment, running: _Running) -> Result:
            nonlocal begun
            # What the one before did not use, because it failed or could not be measured, is done too.
            shown.update(task, description=f"{experiment.name} {experiment.title}", completed=begun * runs)
            begun += 1
            return running(lambda: shown.advance(task))

        yield run
