"""Room for deeply nested code, and for long chains of calls: who follows them goes down as deep as they do, and a full
stack ends the process."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

# Address space, of which only what is used is ever taken from memory.
_BYTES = 512 * 1024 * 1024
# So many calls of Python functions surely fit into it.
_DEEPEST = 100_000

# The size is that of all threads to come, so it must be put back before another one asks what is usual.
_one_at_a_time = threading.Lock()

T = TypeVar("T")


def on_deep_stack(work: Callable[[], T]) -> T:
    """Do the work on a stack of half a gigabyte, or on the present one where the system gives no such."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        usual = sys.getrecursionlimit()
        sys.setrecursionlimit(max(usual, _DEEPEST))
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            sys.setrecursionlimit(usual)

    thread = threading.Thread(target=run, daemon=True)
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
