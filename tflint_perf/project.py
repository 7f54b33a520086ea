"""Many files: each read, linted, fixed and written, in several processes where that pays.

What depends on callers in other files is settled when all files have been looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tflint_perf.errors import SourceError
from tflint_perf.files import reason, replace_file, settings_for
from tflint_perf.finding import Finding
from tflint_perf.plugins import troubles
from tflint_perf.roots import files_of_project, project_root
from tflint_perf.settings import Settings
from tflint_perf.source import Source

if TYPE_CHECKING:
    from tflint_perf.callers import Callers
    from tflint_perf.linked import Linked
    from tflint_perf.modules import Files

# To start a process costs about as much as to lint this many files.
_FILES_A_PROCESS = 8


@dataclass(frozen=True, slots=True)
class FileResult:
    """What came of one file.

    `findings` are those that remain; `fixed` those whose fix was made, or would be under `--diff`.
    `failure` is a line that says what could not be done, `problems` are lines about our own faults; both
    begin with the path. `open` names the functions of which it matters who in other files calls them: until
    that is known, such a file is not fixed.
    """

    path: str
    findings: tuple[Finding, ...] = ()
    fixed: tuple[Finding, ...] = ()
    failure: str | None = None
    problems: tuple[str, ...] = ()
    diff: str = ""
    suppressed: int = 0
    open: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Job:
    """A file to lint. `callers` are those of its functions in other files; None before that is known."""

    path: Path
    callers: Callers | None = None


class Neighbours:
    """The files around those that are linted, looked at only as far as one asks."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._files: Files | None = None

    @property
    def files(self) -> Files:
        """Their summaries."""
        if self._files is None:
            from tflint_perf.modules import Files

            self._files = Files(self.root)
        return self._files

    def outside(self, path: str, callers: Callers | None) -> Linked:
        """What they say to the file at `path`."""
        from tflint_perf.linked import Linked

        return Linked(self.files, Path(path).absolute(), callers)


def lint_files(paths: Sequence[Path], settings: Settings, jobs: int) -> list[FileResult]:
    """Lint the files in up to `jobs` processes, and give the results in the order of the paths."""
    if not paths:
        return []
    neighbours = Neighbours(project_root(paths, settings))
    results = list(_lint_jobs([Job(path) for path in paths], settings, neighbours, jobs))
    left = {at: result.open for at, result in enumerate(results) if result.open}
    if not left:
        return results
    callers = _callers({paths[at]: names for at, names in left.items()}, paths, settings, neighbours)
    again = [at for at in left if paths[at] in callers or settings.fix != "no"]
    settled = _lint_jobs(
        [Job(paths[at], callers.get(paths[at], {})) for at in again], settings, neighbours, jobs
    )
    for at, result in zip(again, settled, strict=True):
        results[at] = result
    return results


def _callers(
    asked: Mapping[Path, frozenset[str]], paths: Sequence[Path], settings: Settings, neighbours: Neighbours
) -> dict[Path, Callers]:
    from tflint_perf.callers import callers_of
    from tflint_perf.stack import on_deep_stack

    project = files_of_project(neighbours.root, paths, settings)
    absolute = {path.absolute(): path for path in asked}
    found = on_deep_stack(
        lambda: callers_of(
            {path: asked[shown] for path, shown in absolute.items()}, neighbours.files, project
        )
    )
    return {absolute[path]: callers for path, callers in found.items()}


def _lint_jobs(
    work: Sequence[Job], settings: Settings, neighbours: Neighbours, jobs: int
) -> Iterator[FileResult]:
    jobs = min(jobs, len(work) // _FILES_A_PROCESS)
    if jobs < 2:
        return (lint_file(job, settings, neighbours) for job in work)
    from tflint_perf.pool import in_processes

    return in_processes(work, settings, neighbours.root, jobs)


def lint_file(job: Job, settings: Settings, neighbours: Neighbours) -> FileResult:
    """Lint one file, and write it if it is to be fixed. Whatever goes wrong becomes a line in the result."""
    path = job.path
    shown = str(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        return FileResult(shown, failure=f"{shown}: {reason(error)}")
    result, new = _lint_bytes(data, shown, settings, neighbours, job.callers)
    if settings.fix != "apply" or new == data:
        return result
    try:
        replace_file(path, data, new)
    except OSError as error:
        unfixed, _ = _lint_bytes(data, shown, replace(settings, fix="no"), neighbours, job.callers)
        return replace(unfixed, failure=f"{shown}: {reason(error)}")
    return result


def lint_text(data: bytes, path: str, settings: Settings) -> tuple[FileResult, bytes]:
    """Lint the bytes of a file; the second is what they are after the fixes."""
    file = Path(path)
    neighbours = Neighbours(project_root([file], settings))
    result, new = _lint_bytes(data, path, settings, neighbours, None)
    if not result.open:
        return result, new
    callers = _callers({file: result.open}, [file], settings, neighbours)
    return _lint_bytes(data, path, settings, neighbours, callers.get(file, {}))


def _lint_bytes(
    data: bytes, path: str, settings: Settings, neighbours: Neighbours, callers: Callers | None
) -> tuple[FileResult, bytes]:
    try:
        return _screened(data, path, settings_for(path, settings), neighbours, callers)
    except SourceError as error:
        return FileResult(path, failure=str(error)), data
    except Exception as error:
        from tflint_perf.check import InternalError

        kind = "" if isinstance(error, InternalError) else f"{type(error).__name__}: "
        what = " ".join(f"{kind}{error}".split())
        return FileResult(path, failure=f"{path}: internal error in {what}; please report it"), data


def _screened(
    data: bytes, path: str, settings: Settings, neighbours: Neighbours, callers: Callers | None
) -> tuple[FileResult, bytes]:
    from tflint_perf.screen import passes, through_imports
    from tflint_perf.suppress import names_us

    # Most files stop here: they are neither decoded nor parsed.
    if not passes(data, settings.rules) and not names_us(data):
        rules = through_imports(data, settings.rules)
        if not rules or not neighbours.files.brings_framework(Path(path).absolute(), data):
            return FileResult(path, _syntax(data, path) if path in settings.named else ()), data
        settings = replace(settings, rules=rules)
    source = Source.from_bytes(data, path)
    from tflint_perf.stack import on_deep_stack

    outside = neighbours.outside(path, callers)
    result, new = on_deep_stack(lambda: _lint(source, settings, outside, callers is None))
    return result, new.encode()


def _syntax(data: bytes, path: str) -> tuple[Finding, ...]:
    """What is wrong with the syntax of a file that no rule asks to see."""
    from tflint_perf.syntax import fault

    found = fault(Source.from_bytes(data, path))
    return (found,) if found is not None else ()


def _lint(source: Source, settings: Settings, outside: Linked, ask: bool) -> tuple[FileResult, Source]:
    """Lint and fix one source; with `ask`, find out whether other files have a say before anything is fixed."""
    path = source.path
    if settings.fix == "no" or ask:
        from tflint_perf.check import check_source

        checked = check_source(source, settings, outside, ask=ask)
        if settings.fix == "no" or checked.open:
            problems = (*troubles(), *checked.problems)
            return FileResult(
                path, checked.findings, problems=problems, suppressed=checked.suppressed, open=checked.open
            ), source
    from tflint_perf.fix import fix_source

    fixed = fix_source(source, settings, outside)
    diff = ""
    if settings.fix == "diff" and fixed.source is not source:
        from tflint_perf.diff import unified_diff

        diff = unified_diff(source, fixed.source)
    problems = (*troubles(), *fixed.problems)
    result = FileResult(path, fixed.remaining, fixed.applied, None, problems, diff, fixed.suppressed)
    return result, fixed.source
