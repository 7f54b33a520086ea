"""Temporary files of our own: made beside what they will replace, and swept away where a run was killed before."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

# `.train.py.tflint-perf-4711-1f2e3d4c.tmp`: hidden, of the process with that number.
_OURS = re.compile(r"\..*\.tflint-perf-(\d+)-[0-9a-f]{8}\.tmp")
END = ".tmp"
# What takes longer to be written belongs to a process that is gone, whatever has its number now.
_SECONDS = 3600


def temporary_beside(target: Path) -> tuple[int, Path]:
    """A new, empty file beside `target`, open for writing: its descriptor and its path."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    while True:
        path = target.with_name(f".{target.name}.tflint-perf-{os.getpid()}-{os.urandom(4).hex()}{END}")
        with suppress(FileExistsError):
            return os.open(path, flags, 0o600), path


def sweep(folder: Path, names: Iterable[str]) -> None:
    """Remove those of the files in a folder that a process of ours left there, and that no living one writes."""
    for name in names:
        ours = _OURS.fullmatch(name)
        if ours is None:
            continue
        path = folder / name
        with suppress(OSError):
            if not path.is_symlink() and (_is_gone(int(ours[1])) or _is_old(path)):
                path.unlink()


def _is_gone(process: int) -> bool:
    if os.name == "nt":  # where a signal would end the process
        return False
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:  # somebody else's
        return False
    return False


def _is_old(path: Path) -> bool:
    return time.time() - path.stat().st_mtime > _SECONDS
