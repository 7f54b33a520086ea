"""What is being run and how long it will take, on a terminal; nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tflint_perf.verify.experiment import Experiment


@contextmanager
def progress(
    experiments: Sequence[Experiment], runs: int
) -> Iterator[Callable[[Experiment], Callable[[], None]]]:
    """Gives a function that is told which experiment begins, and gives one that is told of each run's end."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not sys.stderr.isatty(), transient=True) as shown:
        task = shown.add_task("", total=runs * len(experiments))
        begun = 0

        def begin(experiment: Experiment) -> Callable[[], None]:
            nonlocal begun
            # What the one before did not use, because it failed or could not be measured, is done too.
            shown.update(task, description=f"{experiment.name} {experiment.title}", completed=begun * runs)
            begun += 1
            return lambda: shown.advance(task)

        yield begin
