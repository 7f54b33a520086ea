"""Which files of a project others import: what nobody imports has no callers elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tflint_perf import kept

if TYPE_CHECKING:
    from tflint_perf.modules import Files
    from tflint_perf.project import Neighbours


def imported_files(project: Sequence[Path], neighbours: Neighbours) -> frozenset[Path]:
    """The files of the project that others import something from, by this run or an earlier one."""
    cache = neighbours.cache
    known = kept.find_imported(cache, neighbours.root, project) if cache is not None else None
    if known is None:
        with neighbours.around.hearing() as heard:
            known = frozenset(
                module
                for file in project
                for module in _imported_by(file, neighbours.mentions.modules(file), neighbours.files)
            )
        if cache is not None:
            kept.keep_imported(cache, neighbours.root, project, heard, known)
    return known


def _imported_by(file: Path, names: Iterable[str], files: Files) -> Iterator[Path]:
    """The other modules of the project behind these dotted names."""
    for name in names:
        module = files.module_of(file, name)
        if module is not None and module != file:
            yield module
