"""Processes that are forked: they begin with all that this one has imported, which takes longer than to lint ten files."""

from __future__ import annotations

import gc
import multiprocessing
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")
# So many files are looked at, and of so many it has to be seen that they are parsed.
_LOOKED_AT, _PARSED = 64, 4


def may_fork() -> bool:
    """Whether a fork is quick and safe: where nothing else runs in this process; macOS's own libraries don't bear it."""
    return sys.platform == "linux" and threading.active_count() == 1


def are_parsed(paths: Sequence[Path], rules: Collection[str]) -> bool:
    """Whether several of some files, taken from all of them evenly, pass the screen, so that it takes libcst to lint them."""
    from tflint_perf.lint.screen import passes

    wanted, left = frozenset(rules), _PARSED
    for path in paths[:: max(1, len(paths) // _LOOKED_AT)]:
        try:
            left -= passes(path.read_bytes(), wanted)
        except OSError:
            continue
        if not left:
            return True
    return False


def import_what_lints() -> None:
    """Import what most files need to be linted, so that no process has to that is forked from now on."""
    from importlib import import_module
    from pkgutil import walk_packages

    from tflint_perf import analysis
    from tflint_perf.catalogue.registry import house_rules
    from tflint_perf.lint import check, left_open  # noqa: F401

    for module in walk_packages(analysis.__path__, f"{analysis.__name__}."):
        import_module(module.name)
    house_rules()
    # What the collector leaves alone, a forked process shares.
    gc.freeze()


def beside(work: Callable[[], T], meanwhile: Callable[[], None]) -> T:
    """What a piece of work gives that a forked process does while this one does something else."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(work()), daemon=True)
    with warnings.catch_warnings():
        # Python warns where another thread runs; the only one there may be waits for this one: see `stack`.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    sender.close()
    try:
        meanwhile()
        return receiver.recv()  # type: ignore[no-any-return]
    except EOFError:
        return work()  # the process died; here the error shows
    finally:
        receiver.close()
        process.join()


def spread(work: Callable[[Sequence[S]], T], items: Sequence[S], processes: int) -> list[T]:
    """What a piece of work gives for each of so many parts of some items; all parts but the last are forked processes'."""
    if processes < 2:
        return [work(items)]
    found: list[T] = []
    # Every so many-th, so that a folder of large files is shared.
    mine, others = items[::processes], [item for at, item in enumerate(items) if at % processes]
    first = beside(lambda: work(mine), lambda: found.extend(spread(work, others, processes - 1)))
    return [first, *found]
