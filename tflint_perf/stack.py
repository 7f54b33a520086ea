"""Room for deeply nested code, and for long chains of calls: who follows them goes down as deep as they do, and a full
stack ends the process."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from typing import TypeVar

# Address space, of which only what is used is ever taken from memory.
_BYTES = 512 * 1024 * 1024
# So many calls of Python functions surely fit into it.
_DEEPEST = 100_000

# The size is that of all threads to come, so it must be put back before another one asks what is usual.
_one_at_a_time = threading.Lock()
# The usual limit, and one for each thread that goes deeper; empty while there is none.
_limits: list[int] = []

T = TypeVar("T")


@contextmanager
def _deeper() -> Iterator[None]:
    """Let functions call each other so deep. The limit is that of all threads, so it stays until the last one is done."""
    with _one_at_a_time:
        if not _limits:
            _limits.append(sys.getrecursionlimit())
            sys.setrecursionlimit(max(_limits[0], _DEEPEST))
        _limits.append(_DEEPEST)
    try:
        yield
    finally:
        with _one_at_a_time:
            _limits.pop()
            if len(_limits) == 1:
                sys.setrecursionlimit(_limits.pop())


def on_deep_stack(work: Callable[[], T]) -> T:
    """Do the work on a stack of half a gigabyte, or on the present one where the system gives no such."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            with _deeper():
                results.append(work())
        except BaseException as error:
            errors.append(error)

    # Who waits for the work waits for it there, too.
    thread = threading.Thread(target=copy_context().run, args=(run,), daemon=True)
    try:
        with _one_at_a_time:
            usual = threading.stack_size(_BYTES)
            try:
                thread.start()
            finally:
                threading.stack_size(usual)
    except (RuntimeError, ValueError):
        return work()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]
