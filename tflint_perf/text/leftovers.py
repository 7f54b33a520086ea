"""Temporary files of our own: made beside what they will replace, and swept away where a run was killed before.

Whoever writes one holds a lock on it, which the system takes away when the process ends, however that comes about. On
Windows nobody can remove a file that is open.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# `.train.py.tflint-perf-1f2e3d4c5b6a7988.tmp`: hidden, and nobody else's.
_OURS = re.compile(r"\..*\.tflint-perf-[0-9a-f]{16}\.tmp")
END = ".tmp"
_FLAGS = (
    os.O_RDWR
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_BINARY", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
)


def temporary_beside(target: Path) -> tuple[int, Path]:
    """A new, empty file beside `target`, open for writing: its descriptor and its path."""
    while True:
        path = target.with_name(f".{target.name}.tflint-perf-{os.urandom(8).hex()}{END}")
        with suppress(FileExistsError):
            descriptor = os.open(path, _FLAGS, 0o600)
            try:
                # Another run may have swept it away before it had its lock.
                if _lock(descriptor) and path.exists():
                    return descriptor, path
            except OSError:  # a file system without locks, where nobody sweeps
                return descriptor, path
            os.close(descriptor)


@contextmanager
def written_beside(target: Path, data: bytes, *, durable: bool) -> Iterator[Path]:
    """A temporary file beside `target` that holds `data`, for a block that puts it in its place; gone if that fails.

    A durable one is on the disk before the block begins, so that no power cut leaves an empty file in that place.

    Raises:
        OSError: it can't be written.
    """
    descriptor, path = temporary_beside(target)
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(descriptor)
        if os.name == "nt":  # where no open file gets another name; elsewhere the lock stays until it has
            os.close(descriptor)
        yield path
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        if os.name != "nt":
            os.close(descriptor)


def sweep(folder: Path, names: Iterable[str] | None = None) -> None:
    """Remove those of the files in a folder that are ours, and that no process writes; `names` are all there are."""
    if names is None:
        try:
            names = os.listdir(folder)  # noqa: PTH208 (no `Path` for each)
        except OSError:
            return
    for name in names:
        if _OURS.fullmatch(name):
            with suppress(OSError):
                _remove(folder / name)


def _remove(path: Path) -> None:
    if os.name == "nt":
        path.unlink()
        return
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    try:
        if _lock(descriptor):
            path.unlink()
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Take the lock of a file, if nobody has it."""
    if os.name == "nt":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
