"""Signing what a run keeps for the next one, with a key that lies with the user and not with the project.

A repository may bring a cache of its own, and a disk may flip a bit: an entry is believed only if it bears the
signature that this user's key gives to it.
"""

from __future__ import annotations

import os
import stat
import sys
from functools import cache
from hashlib import blake2b
from pathlib import Path

from tflint_perf.text.leftovers import sweep, written_beside

# Whoever shares a cache between machines, in CI for instance, gives them the same key.
VARIABLE = "TFLINT_PERF_CACHE_KEY"
_KEY_BYTES = 32
_SIGNATURE_BYTES = 16


def signature(key: bytes, data: bytes) -> str:
    """What only somebody with the key can say of some bytes."""
    return blake2b(data, key=key, digest_size=_SIGNATURE_BYTES).hexdigest()


def key() -> bytes | None:
    """The user's key, made when first asked for; None where there is none to be had, so that nothing is kept."""
    given = os.environ.get(VARIABLE)
    if given:
        return blake2b(given.encode("utf-8", "surrogateescape"), digest_size=_KEY_BYTES).digest()
    folder = _state_folder()
    return _key_in(folder) if folder is not None else None


def _state_folder() -> Path | None:
    """Where programs keep what is no setting and no document: by the rules of the desktop, macOS and Windows."""
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA", "")
    else:
        base = os.environ.get("XDG_STATE_HOME", "")
        if not os.path.isabs(base):  # noqa: PTH117
            try:
                home = Path.home()
            except RuntimeError:  # nobody knows who this is
                return None
            base = str(home / ("Library/Application Support" if sys.platform == "darwin" else ".local/state"))
    return Path(base) / "tflint-perf" if os.path.isabs(base) else None  # noqa: PTH117


@cache
def _key_in(folder: Path) -> bytes | None:
    file = folder / "cache-key"
    try:
        try:
            return _read(file)
        except FileNotFoundError:
            _make(file)
            return _read(file)
    except OSError:
        return None


def _read(file: Path) -> bytes | None:
    """The key in a file that nobody else may write to."""
    with file.open("rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode):
            return None
        if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
            return None
        data = stream.read(_KEY_BYTES + 1)
    if status.st_nlink > 1:  # a run was killed between its two names
        sweep(file.parent)
    return data if len(data) == _KEY_BYTES else None


def _make(file: Path) -> None:
    """Make a key in one step: of two runs that do so at once, both get the key of the quicker one."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    sweep(file.parent)
    with written_beside(file, os.urandom(_KEY_BYTES), durable=True) as temporary:
        try:
            os.link(temporary, file)  # unless another run was quicker
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            if not file.exists():
                temporary.replace(file)
        temporary.unlink(missing_ok=True)
