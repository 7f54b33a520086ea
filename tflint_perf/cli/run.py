"""A run of `tflint-perf check`: what to lint, with which settings, what comes out, and the exit code."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from pathlib import Path
from typing import Literal, TextIO

from tflint_perf.catalogue import plugins
from tflint_perf.catalogue.plugins import is_about_plugin, is_news
from tflint_perf.cli.clean import cache_folder
from tflint_perf.cli.progress import progress
from tflint_perf.config.discover import Group, discover, excluded_stdin
from tflint_perf.config.files import reason
from tflint_perf.config.resolve import Config, Configs
from tflint_perf.config.settings import Settings
from tflint_perf.problems import ConfigError, exclude
from tflint_perf.project.engine import EngineName, opened
from tflint_perf.project.linting import FileResult, lint_files, lint_text
from tflint_perf.records import dataclass
from tflint_perf.report import Outcome, costs, render
from tflint_perf.report.style import Style, style_for
from tflint_perf.report.summary import counted, fixes, statistics, statistics_json, summary

CLEAN, FINDINGS, FAILURE = 0, 1, 2
MEASURED = "--measured"
FOR_PEOPLE = ("full", "concise", "grouped")


@dataclass(frozen=True, slots=True)
class Request:
    """What the command line asks for beyond what a configuration can say."""

    paths: tuple[str, ...] = ()
    stdin_filename: str | None = None
    output_file: Path | None = None
    jobs: int = 1
    cache_dir: str | None = None
    no_cache: bool = False
    diff: bool = False
    statistics: bool = False
    sort: Literal["place", "cost"] = "place"
    max_findings: int | None = None
    show_files: bool = False
    show_settings: bool = False
    exit_zero: bool = False
    exit_non_zero_on_fix: bool = False
    ignore_noqa: bool = False
    write_baseline: Path | None = None
    add_noqa: bool = False
    diff_base: str | None = None
    quiet: bool = False
    verbose: bool = False
    watch: bool = False
    engine: EngineName = "local"
    scheduler: str | None = None

    @property
    def place(self) -> Path | None:
        """The folder of the cache; None where there is to be none."""
        return None if self.no_cache else cache_folder(Path.cwd(), self.cache_dir)

    @property
    def from_stdin(self) -> bool:
        """Whether to lint standard input instead of files."""
        return self.paths == ("-",) or (self.stdin_filename is not None and not self.paths)


def say(message: str) -> None:
    """One line for people on standard error."""
    print(f"tflint-perf: {message}", file=sys.stderr)


@dataclass(frozen=True, slots=True)
class Ran:
    """A run that is done: its exit code, what it was to lint, and what that came to if it was linted."""

    code: int
    groups: tuple[Group, ...]
    outcome: Outcome = field(default_factory=lambda: Outcome(()))


def check(request: Request, configs: Configs) -> Ran:
    """Lint and report.

    Raises:
        ConfigError: it cannot be done as it was asked for.
    """
    config = for_run(configs.of(folder_of_run(request, configs)), request)
    if request.statistics and config.output_format not in (*FOR_PEOPLE, "json"):
        raise ConfigError(f"not available in the format {config.output_format}", "--statistics")
    if request.from_stdin:
        groups = [Group(config.settings, config.path, (Path(request.stdin_filename or "-"),))]
        troubles: list[str] = []
    else:
        groups, troubles = discover(request.paths or (".",), configs, config)
    if request.engine != "local":
        _refuse_elsewhere(request, config)
    if _is_adopting(groups, request):
        from tflint_perf.cli.adoption import prepared

        groups = prepared(groups, request, config.settings.fix)
    troubles = [*filter(is_news, plugins.troubles()), *troubles]
    if request.show_files or request.show_settings:
        show = _files if request.show_files else _settings
        sys.stdout.writelines(f"{line}\n" for line in show(groups))
        _tell(troubles)
        return Ran(FAILURE if troubles else CLEAN, tuple(groups))
    _refuse_unmeasured(groups)
    with output_of(request) as output:
        _tell(troubles)
        if not groups:
            if not (troubles or request.quiet):
                say("warning: no Python files or notebooks under the given paths")
            request = replace(request, quiet=True)  # nothing was checked, so nothing has passed
        return _lint_and_report(request, config, groups, troubles, output)


def _lint_and_report(
    request: Request, config: Config, groups: list[Group], troubles: list[str], output: TextIO | None
) -> Ran:
    started = time.perf_counter()
    stdin, results = (
        _stdin(request, groups[0].settings) if request.from_stdin else (None, _lint(groups, request))
    )
    if _is_adopting(groups, request):
        from tflint_perf.cli.adoption import adopted

        done = adopted(results, request, stdin)
        results, troubles = done.results, [*troubles, *done.failures]
        _tell((*done.failures, *(done.notes if not request.quiet else ())))
    results = _with_measured(results)
    troubled = _tell(_troubles(result for result, _ in results)) or bool(troubles)
    outcome = Outcome.of(results, config.settings.fix, troubles, config.fail_on)
    if (request.add_noqa or request.write_baseline is not None) and not outcome.findings:
        request = replace(request, quiet=True)  # what was put on record has not passed
    _write(outcome, [result.diff for result, _ in results], config, request, output)
    if request.verbose:
        suppressed = sum(result.suppressed for result, _ in results)
        seconds = time.perf_counter() - started
        say(
            f"{counted(len(results), 'file')} in {seconds:.2f} s, {counted(suppressed, 'finding')} suppressed"
        )
    return Ran(exit_code(outcome, request, config, troubled), tuple(groups), outcome)


def _with_measured(
    results: Iterable[tuple[FileResult, Settings]],
) -> list[tuple[FileResult, Settings]]:
    """The results with what findings cost in the run that the settings name."""
    joined = []
    for result, settings in results:
        if settings.measured is not None and result.findings:
            from tflint_perf.measured.own_costs import read

            measured = read(settings.measured, MEASURED)
            result = replace(result, findings=measured.join(result.findings, result.path))
        joined.append((result, settings))
    return joined


def _refuse_unmeasured(groups: Iterable[Group]) -> None:
    """Refuse a record that can't be read before the work, also where there is nothing to say it of."""
    for path in {group.settings.measured for group in groups} - {None}:
        from tflint_perf.measured.own_costs import read

        assert path is not None
        read(path, MEASURED)


def exit_code(outcome: Outcome, request: Request, config: Config, troubled: bool) -> int:
    """0 clean, 1 findings that are grave or cost enough, 2 something could not be done.

    A file that does not parse has not been linted, so that counts also where other findings would not.
    """
    if troubled:
        return FAILURE
    if request.exit_zero:
        return CLEAN
    unread = any(entry.unread for entry in outcome.findings)
    if request.diff:
        return FINDINGS if outcome.fixed or unread else CLEAN
    if request.exit_non_zero_on_fix and outcome.fixed:
        return FINDINGS
    if config.fix_only:
        return FINDINGS if unread else CLEAN
    return FINDINGS if any(map(outcome.fails, outcome.findings)) else CLEAN


def _is_adopting(groups: Iterable[Group], request: Request) -> bool:
    """Whether some of the findings do not count, or are to be put on record."""
    return (
        request.add_noqa
        or request.write_baseline is not None
        or request.diff_base is not None
        or any(group.settings.baseline is not None for group in groups)
    )


def _refuse_elsewhere(request: Request, config: Config) -> None:
    """Let other machines lint and no more: fixing is done here, by what they have found and the cache has kept."""
    exclude(
        f"--engine {request.engine}",
        {
            "--fix (afterwards, --fix alone lints only files with fixes)": config.settings.fix == "apply",
            "--diff (afterwards, --diff alone lints only files with fixes)": request.diff,
            "standard input": request.from_stdin,
        },
    )


def folder_of_run(request: Request, configs: Configs) -> Path:
    """The folder whose configuration says how the run is reported, and whether it fixes."""
    if request.from_stdin and request.stdin_filename:
        return (configs.folder / request.stdin_filename).parent.resolve()
    return configs.folder


def for_run(config: Config, request: Request) -> Config:
    """The configuration with what the command line alone can say."""
    commit = None
    if request.diff_base is not None:
        from tflint_perf.lint.changed_rows import commit_of

        commit = commit_of(request.diff_base, Path.cwd())
    settings = replace(
        config.settings,
        fix="diff" if request.diff else config.settings.fix,
        ignore_noqa=request.ignore_noqa,
        diff_base=commit,
    )
    return replace(config, settings=settings)


def _lint(groups: list[Group], request: Request) -> list[tuple[FileResult, Settings]]:
    results: list[tuple[FileResult, Settings]] = []
    place = request.place
    shown = progress(sum(len(group.files) for group in groups), quiet=request.quiet)
    with opened(request.engine, request.scheduler, request.jobs) as engine:
        for group in groups:
            if request.verbose:
                say(f"{counted(len(group.files), 'file')} with {group.config or 'no configuration file'}")
            linted = lint_files(group.files, group.settings, request.jobs, place, engine, shown)
            results += [(result, group.settings) for result in linted]
    if len(groups) > 1:
        results.sort(key=lambda pair: Path(pair[0].path).parts)
    return results


def _stdin(request: Request, settings: Settings) -> tuple[bytes, list[tuple[FileResult, Settings]]]:
    """Lint standard input, and give what it is after the fixes.

    With --fix the code goes to standard output, also when nothing changed.
    """
    data = sys.stdin.buffer.read()
    path = request.stdin_filename or "-"
    if excluded_stdin(path, settings):
        result, new = FileResult(path), data
    else:
        result, new = lint_text(data, path, replace(settings, named=frozenset({path})), request.place)
    if settings.fix == "apply":
        sys.stdout.buffer.write(new)
        sys.stdout.buffer.flush()
    return new, [(result, settings)]


def _troubles(results: Iterable[FileResult]) -> Iterator[str]:
    for result in results:
        for line in (*([result.failure] if result.failure else ()), *result.problems):
            if is_about_plugin(line):
                yield from [line] if is_news(line) else ()
            else:
                yield line if line.startswith(result.path) else f"{result.path}: {line}"


def _tell(troubles: Iterable[str]) -> bool:
    """Say what could not be done, and whether there was anything."""
    told = False
    for trouble in troubles:
        say(trouble)
        told = True
    return told


def _write(
    outcome: Outcome, diffs: Iterable[str], config: Config, request: Request, output: TextIO | None
) -> None:
    code_on_stdout = request.from_stdin and config.settings.fix == "apply"
    stream = output or (sys.stderr if code_on_stdout else sys.stdout)
    style = Style() if output else style_for(stream)
    if config.settings.fix == "diff":
        stream.writelines(diffs)
        stream.flush()
        lines = _after_diff(outcome, config, request)
        sys.stderr.writelines(f"{line}\n" for line in lines)
        return
    if config.fix_only:
        _tell_unread(outcome)
        shown = Outcome((), outcome.fixed, outcome.fix, outcome.failures)
    else:
        shown = outcome
    stream.writelines(f"{line}\n" for line in _report(shown, config, request, style))
    stream.flush()


def _report(outcome: Outcome, config: Config, request: Request, style: Style) -> Iterator[str]:
    for_people = config.output_format in FOR_PEOPLE
    if request.statistics:
        yield from statistics(outcome, style) if for_people else statistics_json(outcome)
    else:
        yield from render(config.output_format, _chosen(outcome, config, request), style)
    if for_people and config.show_fixes:
        yield from fixes(outcome, style)
    if for_people and not request.quiet:
        yield from summary(outcome, style, config.fix_only)
        found, most = len(outcome.findings), request.max_findings
        if request.statistics:
            return
        if request.sort == "cost" and found > 1:
            yield "Most costly first, by what was measured."
        yield from costs.of_rules(outcome.findings, style)
        if most is not None and most < found:
            yield f"{found - most} more with a larger --max-findings."


def _chosen(outcome: Outcome, config: Config, request: Request) -> Outcome:
    """The findings to show, in the order that is asked for; reports that go file by file keep theirs."""
    findings = outcome.findings
    if request.sort == "cost":
        findings = costs.worst_first(findings)
    findings = findings[: request.max_findings]
    if config.output_format in ("gitlab", "junit"):
        kept = set(map(id, findings))
        findings = tuple(entry for entry in outcome.findings if id(entry) in kept)
    return replace(outcome, findings=findings)


def _after_diff(outcome: Outcome, config: Config, request: Request) -> Iterator[str]:
    _tell_unread(outcome)
    if config.show_fixes:
        yield from fixes(outcome, style_for(sys.stderr))
    if not request.quiet:
        yield from summary(outcome, style_for(sys.stderr))


def _tell_unread(outcome: Outcome) -> None:
    for entry in outcome.findings:
        if entry.unread:
            say(f"{entry.place}: {entry.finding.code}: {entry.finding.message}")


def _files(groups: Iterable[Group]) -> Iterator[str]:
    yield from map(str, sorted(file for group in groups for file in group.files))


def _settings(groups: Iterable[Group]) -> Iterator[str]:
    from tflint_perf.cli.pages import settings_page

    for group in groups:
        yield from settings_page(group.settings, group.config)


def output_of(request: Request) -> AbstractContextManager[TextIO | None]:
    """The file of --output-file, opened before the work so that its path can't be wrong afterwards."""
    path = request.output_file
    if path is None:
        return nullcontext()
    try:
        return path.open("w", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise ConfigError(f"{path}: {reason(error)}", "--output-file") from None
