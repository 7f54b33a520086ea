"""What spreads the linting of many files: processes of this machine, or a cluster of machines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal, Protocol

from tflint_perf.config.settings import Settings
from tflint_perf.problems import ConfigError
from tflint_perf.project.linting import FileResult, Job, Neighbours, lint_file
from tflint_perf.records import dataclass

EngineName = Literal["local", "dask"]
# To start a process costs about as much as to lint this many files.
_FILES_A_PROCESS = 8


class Engine(Protocol):
    """Lints files, wherever it does so."""

    def lint(self, work: Sequence[Job], settings: Settings, neighbours: Neighbours) -> Iterator[FileResult]:
        """The results of the files in their order; what is to be kept is kept in the cache of `neighbours`.

        Raises:
            ConfigError: it can't be done as it was asked for.
        """

    def preparation(self, paths: Sequence[Path], settings: Settings) -> Callable[[], None] | None:
        """What can be done for these files while another process works; None where that would not pay."""


@dataclass(frozen=True, slots=True)
class Local:
    """Up to so many processes of this machine, as far as they pay."""

    jobs: int

    def lint(self, work: Sequence[Job], settings: Settings, neighbours: Neighbours) -> Iterator[FileResult]:
        """As in `Engine`."""
        jobs = min(self.jobs, len(work) // _FILES_A_PROCESS)
        if jobs < 2:
            return (lint_file(job, settings, neighbours) for job in work)
        from tflint_perf.project.pool import in_processes

        return in_processes(work, settings, neighbours, jobs)

    def preparation(self, paths: Sequence[Path], settings: Settings) -> Callable[[], None] | None:
        """As in `Engine`: to import what the processes need."""
        if min(self.jobs, len(paths) // _FILES_A_PROCESS) < 2:
            return None
        from tflint_perf.project.forks import are_parsed, import_what_lints, may_fork

        return import_what_lints if may_fork() and are_parsed(paths, settings.rules) else None


@contextmanager
def opened(name: EngineName, scheduler: str | None, jobs: int) -> Iterator[Engine]:
    """The engine of that name, closed when the work is done; `scheduler` is the address of a cluster that runs already.

    Raises:
        ConfigError: what it needs is not installed.
    """
    if name == "local":
        yield Local(jobs)
        return
    from importlib.util import find_spec

    if find_spec("distributed") is None:
        raise ConfigError("needs distributed; `pip install 'tflint-perf[dask]'` brings it", "--engine dask")
    from tflint_perf.project.cluster import Dask

    with closing(Dask(scheduler, jobs)) as engine:
        yield engine
