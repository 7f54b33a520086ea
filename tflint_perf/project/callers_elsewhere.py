"""Who calls functions in other files of the project: as an earlier run has kept it, or by going through them now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tflint_perf.analysis.values.caller import Callers

if TYPE_CHECKING:
    from tflint_perf.project.linting import Neighbours
    from tflint_perf.project.remembered import Asked


def callers_elsewhere(
    asked: Asked, project: Sequence[Path], neighbours: Neighbours, jobs: int = 1
) -> dict[Path, Callers]:
    """For each file that is asked about, the callers of its functions, as far as there are any; in up to `jobs` processes."""
    absolute = {path.absolute(): path for path in asked}
    names = {path: asked[shown] for path, shown in absolute.items()}
    if neighbours.cache is None:
        found: Mapping[Path, Callers] = _search(names, project, neighbours, jobs)
    else:
        from tflint_perf.project import remembered as kept

        known = kept.find_callers(neighbours.cache, neighbours.root, names, project)
        if known is None:
            with neighbours.around.hearing() as heard:
                known = _search(names, project, neighbours, jobs)
            kept.keep_callers(neighbours.cache, neighbours.root, names, project, heard, known)
        found = known
    return {absolute[path]: callers for path, callers in found.items()}


def _search(asked: Asked, project: Sequence[Path], neighbours: Neighbours, jobs: int) -> dict[Path, Callers]:
    from tflint_perf.project.callers import callers_of
    from tflint_perf.project.forks import may_fork
    from tflint_perf.stack import on_deep_stack

    # Asked before there is a second thread, the one with the deep stack, for which this one waits.
    processes = jobs if jobs > 1 and may_fork() else 1
    search = partial(callers_of, asked, neighbours.files, project, neighbours.mentions, processes)
    return on_deep_stack(search)
