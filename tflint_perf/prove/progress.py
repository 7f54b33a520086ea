"""What is being run and how long it will take: a bar on a terminal, elsewhere a line a run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tflint_perf.cli.run import say
from tflint_perf.verify.progress import bar


@contextmanager
def progress(runs: int, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Gives a function that is told what runs before each of at most so many runs; more are no mishap."""
    if quiet:
        yield lambda what: None
    elif sys.stderr.isatty():
        with bar() as shown:
            task = shown.add_task("", total=runs)
            begun = 0

            def on_run(what: str) -> None:
                nonlocal begun
                shown.update(task, description=what, completed=begun, total=max(runs, begun + 1))
                begun += 1

            yield on_run
    else:
        count = 0

        def told(what: str) -> None:
            nonlocal count
            count += 1
            say(f"run {count} of {max(runs, count)}: {what}")

        yield told
