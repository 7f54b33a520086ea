"""Giving up the superuser's rights, to whom nothing is forbidden, so that tests of permissions run for everybody."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SUPERUSER = hasattr(os, "geteuid") and os.geteuid() == 0
NOBODY = 65534


@contextmanager
def as_nobody(folder: Path) -> Iterator[None]:
    """Run without the superuser's rights; pytest's own folders down to `folder` stay open to whoever comes."""
    temporary = Path(tempfile.gettempdir()).resolve()
    for opened in (folder, *folder.parents):
        if temporary not in opened.resolve().parents:
            break
        opened.chmod(0o755)
    if not SUPERUSER:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
