"""Which files of a project others import: what nobody imports has no callers elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tflint_perf.project import remembered as kept
from tflint_perf.project.forks import beside
from tflint_perf.project.module_search import ModuleSearch

if TYPE_CHECKING:
    from tflint_perf.project.linting import Neighbours


def imported_files(
    project: Sequence[Path],
    neighbours: Neighbours,
    prepare: Callable[[], Callable[[], None] | None] | None = None,
) -> frozenset[Path]:
    """The files of the project that others import something from, by this run or an earlier one.

    Where `prepare` gives something to do, this process does it while a forked one looks for them.
    """
    cache = neighbours.cache
    known = kept.find_imported(cache, neighbours.root, project) if cache is not None else None
    if known is None:
        work = partial(_look, project, neighbours)
        meanwhile = prepare() if prepare is not None else None
        known, heard = work() if meanwhile is None else beside(work, meanwhile)
        if cache is not None:
            kept.keep_imported(cache, neighbours.root, project, heard, known)
    return known


def _look(project: Sequence[Path], neighbours: Neighbours) -> tuple[frozenset[Path], set[str]]:
    """The files that are imported, and what has a say in that."""
    mentions = neighbours.mentions
    # Not by the summaries of files, which take libcst to be made.
    search = ModuleSearch(neighbours.root, neighbours.around, mentions.text)
    with neighbours.around.hearing() as heard:
        found = frozenset(
            module for file in project for module in imported_by(file, mentions.modules(file), search)
        )
    return found, heard


def imported_by(file: Path, names: Iterable[str], search: ModuleSearch) -> Iterator[Path]:
    """The other modules of the project behind these dotted names."""
    for name in names:
        module, _ = search.module_of(file, name)
        if module is not None and module != file:
            yield module
