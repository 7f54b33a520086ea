"""Room for deeply nested code: parsers go down as deep as the code does, and a full stack ends the process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

# Address space, of which only what is used is ever taken from memory.
_BYTES = 512 * 1024 * 1024

T = TypeVar("T")


def on_deep_stack(work: Callable[[], T]) -> T:
    """Do the work on a stack of half a gigabyte, or on the present one where the system gives no such."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    try:
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
