"""Where a project begins, and which of its files may call those that are linted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tflint_perf.config.files import find_files
from tflint_perf.config.settings import Settings
from tflint_perf.project.dependencies import FILES

_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")


def is_root(folder: Path) -> bool:
    """Whether a project seems to begin in a folder."""
    return any((folder / mark).exists() for mark in _MARKS)


def project_root(paths: Sequence[Path], settings: Settings) -> Path:
    """The folder that was named as the project's, the nearest one that looks like it, the nearest that says what a project needs, or
    what holds all `paths`.

    The last is never a package: its modules import each other by its name, from the folder that holds it.
    """
    if settings.project_root is not None:
        return settings.project_root
    folder = Path(os.path.commonpath([path.absolute().parent for path in paths]))
    for above in (folder, *folder.parents):
        if is_root(above):
            return above
    outside = [above for above in (folder, *folder.parents) if not (above / "__init__.py").exists()]
    # What was unpacked from an archive has no mark.
    needing = (above for above in outside if any((above / file).exists() for file in FILES))
    return next(needing, next(iter(outside), folder))


def files_of_project(root: Path, paths: Sequence[Path], settings: Settings) -> list[Path]:
    """The scripts and notebooks whose calls count: those that are linted and, in a project, those beside them."""
    linted = {path.absolute() for path in paths}
    if settings.project_root is not None or is_root(root):
        everything = replace(settings, include=("*.py", "*.ipynb"), root=root)
        linted.update(path.absolute() for path in find_files([str(root)], everything).files)
    return sorted(linted)
