"""Many files: each read, linted, fixed and written, by an engine that spreads the work.

What depends on callers in other files is settled when all files have been looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tflint_perf.analysis.values.caller import Callers
from tflint_perf.catalogue.plugins import troubles
from tflint_perf.config.files import reason, replace_file, settings_for
from tflint_perf.config.settings import Settings
from tflint_perf.errors import SourceError
from tflint_perf.finding import Finding
from tflint_perf.project.callers_elsewhere import callers_elsewhere
from tflint_perf.project.roots import files_of_project, project_root
from tflint_perf.project.surroundings import Surroundings
from tflint_perf.records import dataclass
from tflint_perf.text.code import code_of
from tflint_perf.text.source import Source

if TYPE_CHECKING:
    from tflint_perf.analysis.values.outside import Outside
    from tflint_perf.project.cache import Cache
    from tflint_perf.project.engine import Engine
    from tflint_perf.project.mentions import Mentions
    from tflint_perf.project.module_texts import ModuleTexts
    from tflint_perf.project.modules import Files


# So many files are worth finding out which of them others import: the rest is called by none.
_MANY = 16


@dataclass(frozen=True, slots=True)
class FileResult:
    """What came of one file.

    `findings` are those that remain; `fixed` those whose fix was made, or would be under `--diff`.
    `failure` is a line that says what could not be done, `problems` are lines about our own faults; both
    begin with the path. `open` and `unasked` are as in `Checked`: until it is known who calls the functions that are
    open, such a file is not fixed.
    """

    path: str
    findings: tuple[Finding, ...] = ()
    fixed: tuple[Finding, ...] = ()
    failure: str | None = None
    problems: tuple[str, ...] = ()
    diff: str = ""
    suppressed: int = 0
    open: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unasked: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """A file to lint. `callers` are those of its functions in other files; None before that is known."""

    path: Path
    callers: Callers | None = None


class Progress(Protocol):
    """Is told what the linting of many files is at."""

    def over(self, results: Iterator[FileResult], count: int) -> Iterator[FileResult]:
        """The results as they come, of so many files."""

    def during(self, what: str) -> AbstractContextManager[None]:
        """Some other work, of which nobody knows how long it takes."""


class Silent:
    """Shows nothing."""

    def over(self, results: Iterator[FileResult], count: int) -> Iterator[FileResult]:
        """As in `Progress`."""
        return results

    def during(self, what: str) -> AbstractContextManager[None]:
        """As in `Progress`."""
        return nullcontext()


class Neighbours:
    """The files around those that are linted, looked at only as far as one asks.

    `place` is the folder of the cache, None where nothing is to be kept; `here` is where relative paths begin, the
    current folder unless another is named.
    """

    def __init__(self, root: Path, place: Path | None = None, here: Path | None = None) -> None:
        self.root = root
        self.place = place
        self.here = here if here is not None else Path.cwd()
        self.around = Surroundings()
        # The files that others of the project import; None where it does not pay to know them.
        self.imported: frozenset[Path] | None = None
        self._files: Files | None = None

    @cached_property
    def cache(self) -> Cache | None:
        """What earlier runs have found."""
        if self.place is None:
            return None
        from tflint_perf.project.cache import Cache

        return Cache(self.place, self.around)

    @property
    def files(self) -> Files:
        """Their summaries."""
        if self._files is None:
            from tflint_perf.project.modules import Files

            self._files = Files(self.texts, self.around, self.cache)
        return self._files

    @cached_property
    def texts(self) -> ModuleTexts:
        """Their code, as text."""
        from tflint_perf.project.module_texts import ModuleTexts

        return ModuleTexts(self.root, self.around)

    @cached_property
    def mentions(self) -> Mentions:
        """Their words."""
        from tflint_perf.project.mentions import Mentions

        return Mentions()

    def at(self, path: Path | str) -> Path:
        """A path as it stands in a result, made absolute."""
        return self.here / path

    def outside(self, path: str, callers: Callers | None) -> Outside:
        """What they say to the file at `path`."""
        from tflint_perf.project.linked import Linked

        return Linked(self.files, self.at(path), callers, self.imported)

    def bring_framework(self, path: str, data: bytes) -> bool:
        """Whether a file with this code at `path` imports some of them that name TensorFlow or Keras."""
        return self.texts.bring_framework(self.at(path), data)


def lint_files(
    paths: Sequence[Path],
    settings: Settings,
    jobs: int,
    place: Path | None = None,
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> list[FileResult]:
    """Lint the files in up to `jobs` processes, or by another engine, and give the results in the order of the paths.

    What an earlier run has kept in the folder `place` is not worked out again; None keeps nothing.
    """
    if not paths:
        return []
    if engine is None:
        from tflint_perf.project.engine import Local

        engine = Local(jobs)
    neighbours = Neighbours(project_root(paths, settings), place)
    shown = progress or Silent()
    project: list[Path] | None = None
    if len(paths) >= _MANY:
        project = files_of_project(neighbours.root, paths, settings)
        from tflint_perf.project.imported import imported_files

        prepare = partial(engine.preparation, paths, settings)
        with shown.during("Looking at what the files import"):
            neighbours.imported = imported_files(project, neighbours, prepare)
    results = _lint_all([Job(path) for path in paths], settings, neighbours, engine, shown)
    left = {at: result.open for at, result in enumerate(results) if result.open}
    if left:
        if project is None:
            project = files_of_project(neighbours.root, paths, settings)
        with shown.during("Looking for callers in other files"):
            callers = callers_elsewhere(
                {paths[at]: names for at, names in left.items()}, project, neighbours, jobs
            )
        again = [at for at in left if paths[at] in callers or settings.fix != "no"]
        settled = _lint_all(
            [Job(paths[at], callers.get(paths[at], {})) for at in again],
            settings,
            neighbours,
            engine,
            shown,
        )
        for at, result in zip(again, settled, strict=True):
            results[at] = result
    if neighbours.cache is not None:
        neighbours.cache.write()
    return results


def _lint_all(
    work: Sequence[Job], settings: Settings, neighbours: Neighbours, engine: Engine, shown: Progress
) -> list[FileResult]:
    """The results of all jobs: those that are kept, and for the others those of linting now."""
    results = [_kept(job, settings, neighbours) for job in work]
    missing = [job for job, result in zip(work, results, strict=True) if result is None]
    # To its end, where what is shown of it is taken away.
    linted = iter([*shown.over(engine.lint(missing, settings, neighbours), len(missing))] if missing else ())
    return [next(linted) if result is None else result for result in results]


def _kept(job: Job, settings: Settings, neighbours: Neighbours) -> FileResult | None:
    """What an earlier run has found in a file, where that still holds."""
    if neighbours.cache is None:
        return None
    from tflint_perf.project import remembered as kept

    at = neighbours.at(job.path)
    question = kept.Question(str(job.path), settings_for(at, settings), job.callers)
    found = kept.find(neighbours.cache, str(at), question)
    if found is None:
        return None
    if found.unasked and (neighbours.imported is None or at in neighbours.imported):
        return None  # somebody may call its functions by now
    return FileResult(
        str(job.path), found.findings, suppressed=found.suppressed, open=found.open, unasked=found.unasked
    )


def _keep(job: Job, settings: Settings, neighbours: Neighbours, heard: set[str], result: FileResult) -> None:
    """Keep the result of linting a file that was not changed."""
    if neighbours.cache is None or settings.fix != "no" or result.failure or result.problems:
        return
    from tflint_perf.project import remembered as kept

    at = neighbours.at(job.path)
    question = kept.Question(str(job.path), settings_for(at, settings), job.callers)
    found = kept.Kept(result.findings, result.suppressed, dict(result.open), result.unasked)
    kept.keep(neighbours.cache, str(at), question, heard, found)


def lint_file(job: Job, settings: Settings, neighbours: Neighbours) -> FileResult:
    """Lint one file, and write it if it is to be fixed. Whatever goes wrong becomes a line in the result."""
    shown, path = str(job.path), neighbours.at(job.path)
    try:
        data = path.read_bytes()
    except OSError as error:
        return FileResult(shown, failure=f"{shown}: {reason(error)}")
    neighbours.around.noted(str(path), data)
    with neighbours.around.hearing() as heard:
        result, new = _lint_bytes(data, shown, settings, neighbours, job.callers)
    _keep(job, settings, neighbours, heard, result)
    if settings.fix != "apply" or new == data:
        return result
    try:
        replace_file(path, data, new)
    except OSError as error:
        unfixed, _ = _lint_bytes(data, shown, replace(settings, fix="no"), neighbours, job.callers)
        return replace(unfixed, failure=f"{shown}: {reason(error)}")
    return result


def lint_text(
    data: bytes, path: str, settings: Settings, place: Path | None = None
) -> tuple[FileResult, bytes]:
    """Lint the bytes of a file; the second is what they are after the fixes.

    What is kept in the folder `place` is used for what other files say.
    """
    neighbours = Neighbours(project_root([Path(path)], settings), place)
    found = lint_beside(data, path, settings, neighbours)
    if neighbours.cache is not None:
        neighbours.cache.write()
    return found


def lint_beside(
    data: bytes, path: str, settings: Settings, neighbours: Neighbours
) -> tuple[FileResult, bytes]:
    """The same among files that may have been looked at already for others."""
    heard = lint_and_hear(data, path, settings, neighbours)
    return heard.result, heard.new


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of the bytes of a file, and what they are after the fixes.

    `open` are the functions of which it mattered who in other files calls them, `callers` those who do; None where it
    mattered of none.
    """

    result: FileResult
    new: bytes
    open: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    callers: Callers | None = None


def lint_and_hear(data: bytes, path: str, settings: Settings, neighbours: Neighbours) -> Heard:
    """The same, with what other files had to say."""
    file = Path(path)
    result, new = _lint_bytes(data, path, settings, neighbours, None)
    if not result.open:
        return Heard(result, new)
    project = files_of_project(neighbours.root, [file], settings)
    callers = callers_elsewhere({file: result.open}, project, neighbours).get(file, {})
    if not callers and settings.fix == "no":
        return Heard(result, new, result.open, callers)  # nobody has anything to add
    return Heard(*_lint_bytes(data, path, settings, neighbours, callers), result.open, callers)


def files_that_call(
    heard: Heard, path: str, settings: Settings, neighbours: Neighbours
) -> dict[str, list[Path]]:
    """The other files in which the callers of a file's open functions are, by the function."""
    from tflint_perf.project import callers
    from tflint_perf.stack import on_deep_stack

    project = files_of_project(neighbours.root, [Path(path)], settings)
    asked = {neighbours.at(path): heard.open}
    return on_deep_stack(
        lambda: callers.files_that_call(asked, neighbours.files, project, neighbours.mentions)
    )


def _lint_bytes(
    data: bytes, path: str, settings: Settings, neighbours: Neighbours, callers: Callers | None
) -> tuple[FileResult, bytes]:
    try:
        return _screened(data, path, settings_for(neighbours.at(path), settings), neighbours, callers)
    except SourceError as error:
        return FileResult(path, failure=str(error)), data
    except Exception as error:
        from tflint_perf.lint.asking import InternalError

        kind = "" if isinstance(error, InternalError) else f"{type(error).__name__}: "
        what = " ".join(f"{kind}{error}".split())
        return FileResult(path, failure=f"{path}: internal error in {what}; please report it"), data


def _screened(
    data: bytes, path: str, settings: Settings, neighbours: Neighbours, callers: Callers | None
) -> tuple[FileResult, bytes]:
    from tflint_perf.lint.screen import names_us, passes, through_callers, through_imports

    # Most files stop here: they are neither decoded nor parsed.
    if not passes(data, settings.rules) and not names_us(data):
        code = code_of(path, data)
        rules = through_imports(code, settings.rules)
        if rules and not neighbours.bring_framework(path, code):
            rules = frozenset()
        rules |= through_callers(code, settings.rules)
        if not rules:
            return FileResult(path, _syntax(data, path) if path in settings.named else ()), data
        settings = replace(settings, rules=rules)
    source = Source.from_bytes(data, path)
    from tflint_perf.stack import on_deep_stack

    outside = neighbours.outside(path, callers)
    result, new = on_deep_stack(lambda: _lint(source, settings, outside, callers is None))
    return result, new.encode()


def _syntax(data: bytes, path: str) -> tuple[Finding, ...]:
    """What is wrong with the syntax of a file that no rule asks to see."""
    from tflint_perf.text.syntax import faults

    return faults(Source.from_bytes(data, path))


def _lint(source: Source, settings: Settings, outside: Outside, ask: bool) -> tuple[FileResult, Source]:
    """Lint and fix one source; with `ask`, find out whether other files have a say before anything is fixed."""
    path = source.path
    if settings.fix == "no" or ask:
        from tflint_perf.lint.check import check_source

        checked = check_source(source, settings, outside, ask=ask)
        if settings.fix == "no" or checked.open:
            problems = (*troubles(), *checked.problems)
            return FileResult(
                path,
                checked.findings,
                problems=problems,
                suppressed=checked.suppressed,
                open=dict(checked.open),
                unasked=checked.unasked,
            ), source
    from tflint_perf.lint.fix import fix_source

    fixed = fix_source(source, settings, outside)
    diff = ""
    if settings.fix == "diff" and fixed.source is not source:
        from tflint_perf.text.diff import unified_diff

        diff = unified_diff(source, fixed.source)
    problems = (*troubles(), *fixed.problems)
    result = FileResult(path, fixed.remaining, fixed.applied, None, problems, diff, fixed.suppressed)
    return result, fixed.source
