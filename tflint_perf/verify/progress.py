"""What is being run and how long it will take: a line as each experiment ends, and on a terminal a bar below."""

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
    experiments: Sequence[Experiment], runs: Sequence[int], *, quick: bool
) -> Iterator[Callable[[Experiment, _Running], Result]]:
    """Gives a function that runs an experiment while it is shown; `runs` is how many each of them takes.

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
        say(_line(self._ended, self._whole, experiment, result, time.monotonic() - start))
        return result


def _line(ended: int, whole: int, experiment: Experiment, result: Result, took: float) -> str:
    title = f"{experiment.name} {experiment.title}".strip()
    return f"{ended} of {whole}: {title}: {result.verdict} ({took:.0f} s)"


@contextmanager
def loading() -> Iterator[None]:
    """On a terminal, says what takes the first seconds."""
    from rich.console import Console

    with Console(stderr=True).status("Loading TensorFlow, to see what there is to run on"):
        yield


def bar() -> Progress:
    """A bar on standard error that goes when it is done, with how many of how many and how long it will take."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def _bar(
    experiments: Sequence[Experiment], runs: Sequence[int]
) -> Iterator[Callable[[Experiment, _Running], Result]]:
    with bar() as shown:
        task = shown.add_task("", total=sum(runs))
        begun = 0

        def run(experiment: Experiment, running: _Running) -> Result:
            nonlocal begun
            # What the one before did not use, because it failed or could not be measured, is done too.
            shown.update(
                task, description=f"{experiment.name} {experiment.title}", completed=sum(runs[:begun])
            )
            begun += 1
            start = time.monotonic()
            result = running(lambda: shown.advance(task))
            if len(experiments) > 1:  # of one alone, the table tells at once
                line = _line(begun, len(experiments), experiment, result, time.monotonic() - start)
                shown.console.print(line, markup=False, highlight=False, soft_wrap=True)
            return result

        yield run
