"""Many files: each read, linted, fixed and written, in several processes where that pays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tflint_perf.errors import SourceError
from tflint_perf.files import reason, replace_file, settings_for
from tflint_perf.finding import Finding
from tflint_perf.settings import Settings
from tflint_perf.source import Source

# To start a process costs about as much as to lint this many files.
_FILES_A_PROCESS = 8


@dataclass(frozen=True, slots=True)
class FileResult:
    """What came of one file.

    `findings` are those that remain; `fixed` those whose fix was made, or would be under `--diff`.
    `failure` is a line that says what could not be done, `problems` are lines about our own faults; both
    begin with the path.
    """

    path: str
    findings: tuple[Finding, ...] = ()
    fixed: tuple[Finding, ...] = ()
    failure: str | None = None
    problems: tuple[str, ...] = ()
    diff: str = ""
    suppressed: int = 0


def lint_files(paths: Sequence[Path], settings: Settings, jobs: int) -> Iterator[FileResult]:
    """Lint the files in up to `jobs` processes, and give the results in the order of the paths."""
    jobs = min(jobs, len(paths) // _FILES_A_PROCESS)
    if jobs < 2:
        return (lint_file(path, settings) for path in paths)
    from tflint_perf.pool import in_processes

    return in_processes(paths, settings, jobs)


def lint_file(path: Path, settings: Settings) -> FileResult:
    """Lint one file, and write it if it is to be fixed. Whatever goes wrong becomes a line in the result."""
    shown = str(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        return FileResult(shown, failure=f"{shown}: {reason(error)}")
    result, new = lint_text(data, shown, settings)
    if settings.fix != "apply" or new == data:
        return result
    try:
        replace_file(path, data, new)
    except OSError as error:
        unfixed, _ = lint_text(data, shown, replace(settings, fix="no"))
        return replace(unfixed, failure=f"{shown}: {reason(error)}")
    return result


def lint_text(data: bytes, path: str, settings: Settings) -> tuple[FileResult, bytes]:
    """Lint the bytes of a file; the second is what they are after the fixes."""
    try:
        return _screened(data, path, settings_for(path, settings))
    except SourceError as error:
        return FileResult(path, failure=str(error)), data
    except Exception as error:
        from tflint_perf.check import InternalError

        kind = "" if isinstance(error, InternalError) else f"{type(error).__name__}: "
        what = " ".join(f"{kind}{error}".split())
        return FileResult(path, failure=f"{path}: internal error in {what}; please report it"), data


def _screened(data: bytes, path: str, settings: Settings) -> tuple[FileResult, bytes]:
    from tflint_perf.screen import passes
    from tflint_perf.suppress import names_us

    # Most files stop here: they are neither decoded nor parsed.
    if not passes(data, settings.rules) and not names_us(data):
        return FileResult(path, _syntax(data, path) if path in settings.named else ()), data
    source = Source.from_bytes(data, path)
    from tflint_perf.stack import on_deep_stack

    result, new = on_deep_stack(lambda: _lint(source, settings))
    return result, new.encode()


def _syntax(data: bytes, path: str) -> tuple[Finding, ...]:
    """What is wrong with the syntax of a file that no rule asks to see."""
    from tflint_perf.syntax import fault

    found = fault(Source.from_bytes(data, path))
    return (found,) if found is not None else ()


def _lint(source: Source, settings: Settings) -> tuple[FileResult, Source]:
    path = source.path
    if settings.fix == "no":
        from tflint_perf.check import check_source

        checked = check_source(source, settings)
        return FileResult(path, checked.findings, suppressed=checked.suppressed), source
    from tflint_perf.fix import fix_source

    fixed = fix_source(source, settings)
    diff = ""
    if settings.fix == "diff" and fixed.source is not source:
        from tflint_perf.diff import unified_diff

        diff = unified_diff(source, fixed.source)
    result = FileResult(path, fixed.remaining, fixed.applied, None, fixed.problems, diff, fixed.suppressed)
    return result, fixed.source
