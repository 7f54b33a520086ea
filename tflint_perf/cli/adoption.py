"""Taking up the tool in code that has findings already: which of them count, and how the others are put on record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tflint_perf.config.files import reason, settings_for
from tflint_perf.config.reading import is_folder
from tflint_perf.config.selection import INVALID_SYNTAX
from tflint_perf.config.settings import Settings
from tflint_perf.errors import SourceError
from tflint_perf.lint import baseline
from tflint_perf.problems import exclude
from tflint_perf.project.linting import FileResult
from tflint_perf.records import dataclass
from tflint_perf.report.summary import counted
from tflint_perf.text.source import Source

if TYPE_CHECKING:
    from tflint_perf.cli.run import Request
    from tflint_perf.config.discover import Group

_Results = Sequence[tuple[FileResult, Settings]]


@dataclass(frozen=True, slots=True)
class Adopted:
    """The results with the findings that count, and lines on what was done."""

    results: list[tuple[FileResult, Settings]]
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()


def prepared(groups: Sequence[Group], request: Request, fix: str) -> list[Group]:
    """The groups as they are to be linted, with `fix` of the settings; all mistakes are told before the work.

    Raises:
        ConfigError: options exclude each other, or a baseline cannot be read.
    """
    if request.add_noqa:
        exclude(
            "--add-noqa",
            {
                "--fix": fix == "apply",
                "--diff": fix == "diff",
                "--ignore-noqa": request.ignore_noqa,
                "--write-baseline": request.write_baseline is not None,
                "standard input": request.from_stdin,
            },
        )
    if request.write_baseline is not None:
        exclude(
            "--write-baseline",
            {
                "--diff": fix == "diff",
                "--diff-base": request.diff_base is not None,
                "standard input": request.from_stdin,
            },
        )
        if request.write_baseline.exists():
            baseline.read(request.write_baseline)  # whatever else is there is not to be lost
        return [replace(group, settings=replace(group.settings, baseline=None)) for group in groups]
    for group in groups:
        if group.settings.baseline is not None:
            baseline.read(group.settings.baseline)
    return list(groups)


def adopted(results: _Results, request: Request, stdin: bytes | None) -> Adopted:
    """What remains of the results; `stdin` is the text that was linted instead of a file."""
    if request.write_baseline is not None:
        return _written(results, request, request.write_baseline)
    left, known, gone = [], 0, 0
    for result, settings in results:
        new = _left(result, settings, stdin)
        left.append((new, settings))
        if settings.baseline is not None:
            known += len(result.findings) - len(new.findings)
        gone += _gone(result, settings)
    if request.add_noqa:
        return _suppressed(left)
    notes = []
    if known:
        notes.append(f"{counted(known, 'finding')} in the baseline not shown")
    if gone:
        notes.append(
            f"{counted(gone, 'finding')} in the baseline no longer found; --write-baseline updates it"
        )
    return Adopted(left, tuple(notes))


def _left(result: FileResult, settings: Settings, stdin: bytes | None) -> FileResult:
    if result.diff:  # the rows are those of a text that is not on disk, and were looked at where it was made
        settings = replace(settings, diff_base=None)
    if not result.findings or (settings.baseline is None and settings.diff_base is None):
        return result
    try:
        data = Path(result.path).read_bytes() if stdin is None else stdin
        source = Source.from_bytes(data, result.path)
    except (OSError, SourceError) as error:
        why = f"{result.path}: {reason(error)}" if isinstance(error, OSError) else str(error)
        return replace(result, failure=result.failure or why)
    return replace(result, findings=tuple(baseline.counting(result.findings, source, settings)))


def _gone(result: FileResult, settings: Settings) -> int:
    if settings.baseline is None or result.failure or settings.fix == "diff":
        return 0
    rules = settings_for(result.path, settings).rules
    return baseline.read(settings.baseline).gone(result.findings, result.path, rules)


def _written(results: _Results, request: Request, path: Path) -> Adopted:
    """Write a baseline; files that could not be linted keep what it says of them."""
    found = {result.path: result.findings for result, _ in results if not result.failure}
    folders = [Path(given) for given in request.paths or (".",) if is_folder(Path(given))]
    if len(found) < len(results):  # of a file that was not linted, nothing is known to have gone
        folders = []
    try:
        count = baseline.write(path, found, folders)
    except OSError as error:
        failure = f"{path}: {reason(error)}"
        return Adopted(list(results), (), (failure,))
    left = [
        (replace(result, findings=tuple(it for it in result.findings if it.code == INVALID_SYNTAX)), settings)
        for result, settings in results
    ]
    return Adopted(left, (f"{counted(count, 'finding')} in {path}",))


def _suppressed(results: _Results) -> Adopted:
    """Write `# noqa` for what remains."""
    from tflint_perf.cli.add_noqa import add_noqa

    left, count, files = [], 0, 0
    for result, settings in results:
        if result.findings and not result.failure:
            added = add_noqa(Path(result.path), result.findings)
            count += len(added.suppressed)
            files += bool(added.suppressed)
            result = replace(result, findings=added.left, failure=added.failure)
        left.append((result, settings))
    return Adopted(left, (f"added `# noqa` for {counted(count, 'finding')} in {counted(files, 'file')}",))
