"""What a run over many files is at: a bar on standard error that goes when it is done, where that is a terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from tflint_perf.project.linting import FileResult, Progress, Silent

# Fewer files take about as long as it takes to see that there is a bar.
_MANY = 40
# Up to the line above, and away with it.
_GONE = "\x1b[1A\x1b[2K"


def progress(files: int, *, quiet: bool) -> Progress:
    """Shows what is done to so many files on a terminal that can take its lines back, unless nothing is to be said."""
    can_erase = os.name != "nt" and os.environ.get("TERM", "dumb") != "dumb"
    return _Bar() if files >= _MANY and can_erase and sys.stderr.isatty() and not quiet else Silent()


class _Bar:
    """A bar with how many of how many files are linted and how long it will take, or a line about what comes between."""

    def over(self, results: Iterator[FileResult], count: int) -> Iterator[FileResult]:
        """As in `Progress`."""
        if count < _MANY:
            yield from results
            return
        with click.progressbar(
            results, length=count, label="Linting", show_pos=True, file=sys.stderr
        ) as shown:
            yield from shown
        _erase()

    @contextmanager
    def during(self, what: str) -> Iterator[None]:
        """As in `Progress`."""
        click.echo(what, err=True)
        yield
        _erase()


def _erase() -> None:
    sys.stderr.write(_GONE)
    sys.stderr.flush()
