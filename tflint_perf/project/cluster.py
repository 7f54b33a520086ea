"""Linting on a Dask cluster: batches of files go out, findings come back in the order of the files.

The workers read the files where this machine has them, so they must see the same file system; they write nothing. What
depends on callers in other files is settled here, once, as it is with processes of this machine.
"""

from __future__ import annotations

import atexit
import logging
import pickle
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from functools import cache, cached_property
from importlib import import_module
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tflint_perf.config.settings import Settings
from tflint_perf.problems import ConfigError
from tflint_perf.project.cache import News
from tflint_perf.project.linting import FileResult, Job, Neighbours, lint_file
from tflint_perf.project.pool import in_batches
from tflint_perf.project.surroundings import digest_of
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from distributed import Client, Future, LocalCluster

_OPTION = "--engine dask"
_HERE = "127.0.0.1"
# Tasks that wait or run for each worker, and at least: enough that none is idle, few enough for the scheduler.
_AHEAD = 4
_LEAST_AHEAD = 64
_SECONDS_TO_CONNECT = 15
_SECONDS_WITHOUT_WORKERS = 30


@dataclass(frozen=True, slots=True)
class _Errand:
    """Files to lint, as they are on this machine by their digests, and what is needed to lint them."""

    run: str
    here: Path
    root: Path
    place: Path | None
    settings: Settings
    jobs: tuple[Job, ...]
    digests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Done:
    """What a worker answers: results and news for the cache, or which of the files it does not have as it should."""

    worker: str
    results: tuple[FileResult, ...] = ()
    news: tuple[News, ...] = ()
    differs: int | None = None


@dataclass(frozen=True, slots=True)
class _Sent:
    """Files that are on their way."""

    jobs: tuple[Job, ...]
    digests: tuple[str, ...]
    future: Future


class Dask:
    """An `Engine` of the workers of a Dask cluster: one that runs already, or one of this machine's processes.

    Nothing is connected or started before there is a file to lint.
    """

    def __init__(self, scheduler: str | None, workers: int) -> None:
        self._scheduler = scheduler
        self._workers = workers
        self._run = uuid4().hex
        self._open: list[Any] = []
        self._on_the_way: deque[_Sent] = deque()

    def close(self) -> None:
        """Leave the cluster, and end it if it was started here."""
        while self._open:
            self._open.pop().close()
        logging.disable(logging.NOTSET)

    @cached_property
    def _client(self) -> Client:
        from distributed import Client
        from distributed.comm import resolve_address

        # What there is to say is said below, in one line.
        logging.disable()
        try:
            if self._scheduler is None:
                self._open.append(_cluster_here(self._workers))
            else:
                resolve_address(self._scheduler)  # a client that fails on it would not go in peace
            client = Client(
                self._scheduler or self._open[0], timeout=_SECONDS_TO_CONNECT, set_as_default=False
            )
        except (OSError, ValueError) as error:  # nobody is there, or it is no address
            where = f"--scheduler {self._scheduler}" if self._scheduler else _OPTION
            raise ConfigError(_line(error), where) from None
        self._open.append(client)
        for who, theirs in _tools(client):
            if theirs != tool():
                raise ConfigError(_other_tool(who, theirs, tool()), _OPTION)
        return client

    def lint(self, work: Sequence[Job], settings: Settings, neighbours: Neighbours) -> Iterator[FileResult]:
        """As in `Engine`."""
        workers = max(len(self._client.nthreads()), 1)
        batches = iter(in_batches(work, workers))
        ahead = max(_LEAST_AHEAD, workers * _AHEAD)
        waiting = self._on_the_way
        waiting.extend(self._send(batch, settings, neighbours) for batch in islice(batches, ahead))
        while waiting:
            sent = waiting.popleft()
            done = self._done(sent, settings, neighbours)
            if done is None:
                yield from self._one_by_one(sent.jobs, settings, neighbours)
            else:
                yield from self._results(done, neighbours)
            waiting.extend(self._send(batch, settings, neighbours) for batch in islice(batches, 1))

    def preparation(self, paths: Sequence[Path], settings: Settings) -> None:
        """As in `Engine`: it is the machines of the cluster that lint."""

    def _send(self, jobs: Sequence[Job], settings: Settings, neighbours: Neighbours) -> _Sent:
        digests = tuple(_digest(neighbours.at(job.path)) for job in jobs)
        place = neighbours.place and neighbours.place.absolute()
        errand = _Errand(self._run, neighbours.here, neighbours.root, place, settings, tuple(jobs), digests)
        # In bytes, so that a worker with another version says so instead of stumbling over them.
        future = self._client.submit(lint_there, tool(), pickle.dumps(errand), pure=False)
        return _Sent(errand.jobs, digests, future)

    def _done(self, sent: _Sent, settings: Settings, neighbours: Neighbours) -> _Done | None:
        """What a worker found in the files as they are on this machine; None where workers died of it."""
        while (done := self._answer(sent.future)) is not None and done.differs is not None:
            file = neighbours.at(sent.jobs[done.differs].path)
            if _digest(file) == sent.digests[done.differs]:
                where = f"{file} is not the same there; workers must see the same files in the same place"
                raise ConfigError(f"worker {done.worker}: {where}", _OPTION)
            sent = self._send(sent.jobs, settings, neighbours)
        return done

    def _results(self, done: _Done, neighbours: Neighbours) -> Iterator[FileResult]:
        if neighbours.cache is not None:
            neighbours.cache.adopt(done.news)
        yield from done.results

    def _one_by_one(
        self, jobs: Sequence[Job], settings: Settings, neighbours: Neighbours
    ) -> Iterator[FileResult]:
        """Lint each of the files with no other on its way, to find the one that workers died of.

        A scheduler counts a death against all that the worker had, what only waited there as well.
        """
        for other in self._on_the_way:
            self._answer(other.future)
        for job in jobs:
            done = self._done(self._send([job], settings, neighbours), settings, neighbours)
            if done is None:
                why = "the workers that linted it died; it may be nested too deeply"
                yield FileResult(str(job.path), failure=f"{job.path}: {why}")
            else:
                yield from self._results(done, neighbours)

    def _answer(self, future: Future) -> _Done | None:
        """What a worker has answered; None where one after the other died of it."""
        from distributed import KilledWorker
        from distributed import TimeoutError as NoAnswerError

        while True:
            try:
                answer = future.result(timeout=_SECONDS_WITHOUT_WORKERS)
            except NoAnswerError:
                if not self._client.nthreads():
                    raise ConfigError("the cluster has no workers", _OPTION) from None
            except KilledWorker:
                return None
            except (ImportError, AttributeError, RuntimeError) as error:
                raise ConfigError(_other_tool("a worker", error, tool()), _OPTION) from None
            except (OSError, CancelledError) as error:
                raise ConfigError(f"the cluster is lost: {_line(error)}", _OPTION) from None
            else:
                if isinstance(answer, str):
                    raise ConfigError(answer, _OPTION)
                done: _Done = answer
                return done


def _cluster_here(workers: int) -> LocalCluster:
    from distributed import LocalCluster
    from distributed.deploy.spec import close_clusters

    try:
        return LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host=_HERE,
            dashboard_address=f"{_HERE}:0",
            silence_logs=logging.CRITICAL,
        )
    except KeyboardInterrupt:
        # It would stumble over what has only begun. The processes end with this one.
        atexit.unregister(close_clusters)
        raise


def lint_there(version: str, errand: bytes) -> _Done | str:
    """On a worker: lint some files, unless this is another version than the one that asks for it."""
    from distributed import get_worker

    worker = get_worker().address
    if version != tool():
        return _other_tool(f"worker {worker}", tool(), version)
    # Threads of one worker would only wait for each other in Python's interpreter.
    with _one_at_a_time:
        try:
            return _lint(worker, pickle.loads(errand))
        except Exception as error:  # which might not survive the way back
            return (
                f"worker {worker}: internal error: {type(error).__name__}: {_line(error)}; please report it"
            )


_one_at_a_time = Lock()
# What the files around say, for as long as the same run sends errands.
_around: tuple[tuple[str, Path], Neighbours] | None = None


def _lint(worker: str, errand: _Errand) -> _Done:
    global _around
    for number, (job, digest) in enumerate(zip(errand.jobs, errand.digests, strict=True)):
        if _digest(errand.here / job.path) != digest:
            return _Done(worker, differs=number)
    run = errand.run, errand.root
    if _around is None or _around[0] != run:
        _around = run, Neighbours(errand.root, errand.place, errand.here)
    neighbours = _around[1]
    results = tuple(lint_file(job, errand.settings, neighbours) for job in errand.jobs)
    news = tuple(neighbours.cache.news()) if neighbours.cache is not None else ()
    return _Done(worker, results, news)


def tool() -> str:
    """What must be the same on all machines: the version, and a digest of the code of the tool and of its rules."""
    return _tool()  # by a name that travels


@cache
def _tool() -> str:
    from tflint_perf.catalogue.evidence import evidence_folder
    from tflint_perf.catalogue.plugins import plugins
    from tflint_perf.version import __version__

    # Rules and fixtures lie elsewhere in a checkout than in what is installed.
    folders = {"": [str(Path(__file__).parent.parent)], "rules/": import_module("tflint_perf.rules").__path__}
    folders |= {f"{plugin.package}/": [str(plugin.folder)] for plugin in plugins()}
    files = {
        f"{name}{file.relative_to(folder).as_posix()}": file
        for name, places in folders.items()
        for folder in places
        for file in Path(folder).rglob("*.py")
    }
    files |= {f"evidence/{file.name}": file for file in evidence_folder().glob("*.json")}
    digests = [
        f"{name} {digest_of(file.read_bytes())}"
        for name, file in sorted(files.items())
        if "fixtures/" not in name
    ]
    return f"{__version__} ({digest_of(chr(0).join(digests).encode())[:8]})"


def _tools(client: Client) -> Iterator[tuple[str, object]]:
    """Who takes part in the cluster, and what `tool` is there, or why that can't be told."""
    try:
        yield "the scheduler", client.run_on_scheduler(tool)
    except Exception as error:
        yield "the scheduler", error
    for address, theirs in client.run(tool, on_error="return").items():
        yield f"worker {address}", theirs


def _other_tool(who: str, theirs: object, ours: str) -> str:
    has = f"can't load tflint-perf: {_line(theirs)}" if isinstance(theirs, Exception) else f"has {theirs}"
    return f"{who} {has}; this machine has {ours}, and all must have the same"


def _digest(file: Path) -> str:
    try:
        return digest_of(file.read_bytes())
    except OSError:
        return ""


def _line(error: Exception) -> str:
    return " ".join(f"{error}".split()) or type(error).__name__
