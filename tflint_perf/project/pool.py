"""Linting in several processes. Findings travel between them, trees don't."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from pathlib import Path
from threading import Thread

from tflint_perf.config.settings import Settings
from tflint_perf.project.cache import News
from tflint_perf.project.forks import may_fork
from tflint_perf.project.linting import FileResult, Job, Neighbours, lint_file

_LARGEST_BATCH = 32
# So many batches a process that one with large files doesn't end up alone.
_BATCHES_A_PROCESS = 8
_Batch = Sequence[Job]
# Results, and what the cache of the process that got them holds besides.
_Linted = tuple[list[FileResult], list[News]]
_neighbours: Neighbours | None = None


def in_processes(
    work: Sequence[Job], settings: Settings, neighbours: Neighbours, jobs: int
) -> Iterator[FileResult]:
    """Lint the files in `jobs` processes, and give the results in their order; what is to be kept is kept.

    A process that dies takes only the file with it that it died of.
    """
    batches = iter(in_batches(work, jobs))
    pool = _pool(jobs, neighbours)
    waiting: deque[tuple[_Batch, Future[_Linted] | None]] = deque()
    try:
        for batch in islice(batches, jobs * 4):
            waiting.append((batch, _submit(pool, batch, settings)))
        while waiting:
            batch, future = waiting.popleft()
            try:
                if future is None:
                    yield from _one_by_one(batch, settings, neighbours)
                else:
                    yield from _taken(future.result(), neighbours)
            except BrokenProcessPool:
                pool.shutdown(cancel_futures=True)
                yield from _one_by_one(batch, settings, neighbours)
                pool = _pool(jobs, neighbours)
                waiting = deque(
                    (batch, future if _is_done(future) else _submit(pool, batch, settings))
                    for batch, future in waiting
                )
            waiting.extend((batch, _submit(pool, batch, settings)) for batch in islice(batches, 1))
    finally:
        pool.shutdown(cancel_futures=True)


def in_batches(work: Sequence[Job], processes: int) -> list[Sequence[Job]]:
    """The work in parts that are worth being sent to a process."""
    size = max(1, min(_LARGEST_BATCH, len(work) // (processes * _BATCHES_A_PROCESS)))
    return [work[at : at + size] for at in range(0, len(work), size)]


def _submit(pool: ProcessPoolExecutor, batch: _Batch, settings: Settings) -> Future[_Linted] | None:
    try:
        return pool.submit(_lint_batch, batch, settings)
    except BrokenProcessPool:
        return None


def _is_done(future: Future[_Linted] | None) -> bool:
    """Whether the result came before the pool died."""
    return future is not None and future.done() and not future.cancelled() and future.exception() is None


def _taken(linted: _Linted, neighbours: Neighbours) -> list[FileResult]:
    """The results, with what is to be kept kept here."""
    results, news = linted
    if neighbours.cache is not None:
        neighbours.cache.adopt(news)
    return results


def _one_by_one(batch: _Batch, settings: Settings, neighbours: Neighbours) -> Iterator[FileResult]:
    """Lint each file in a process of its own, to find the one that a process died of."""
    for job in batch:
        with _pool(1, neighbours) as pool:
            try:
                yield from _taken(pool.submit(_lint_batch, [job], settings).result(), neighbours)
            except BrokenProcessPool:
                why = "the process that linted it died; it may be nested too deeply"
                yield FileResult(str(job.path), failure=f"{job.path}: {why}")


def _start(root: Path, place: Path | None, imported: frozenset[Path] | None) -> None:
    """In a new process: what is learned of the files around lasts as long as the process, that as long as its parent."""
    Thread(target=_end_with_parent, daemon=True).start()
    global _neighbours
    _neighbours = Neighbours(root, place)
    _neighbours.imported = imported


def _end_with_parent() -> None:
    """End this process once the one that began it is gone, killed for instance: else it would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _lint_batch(batch: _Batch, settings: Settings) -> _Linted:
    assert _neighbours is not None
    results = [lint_file(job, settings, _neighbours) for job in batch]
    return results, _neighbours.cache.news() if _neighbours.cache is not None else []


def _pool(jobs: int, neighbours: Neighbours) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(
        jobs,
        multiprocessing.get_context("fork" if may_fork() else "spawn"),
        _start,
        (neighbours.root, neighbours.place, neighbours.imported),
    )
