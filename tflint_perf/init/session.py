"""A run of `tflint-perf init`."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from pathlib import Path

from tflint_perf.catalogue.rules import catalogue
from tflint_perf.cli.clean import cache_folder
from tflint_perf.cli.options import cores
from tflint_perf.cli.run import CLEAN, FAILURE, FINDINGS, say
from tflint_perf.config.discover import discover
from tflint_perf.config.files import reason, replace_file
from tflint_perf.config.reading import Values, toml_of
from tflint_perf.config.resolve import Configs, configure
from tflint_perf.config.selection import INVALID_SYNTAX
from tflint_perf.init.looking import look
from tflint_perf.init.telling import Linted, found, next_steps, written
from tflint_perf.init.writing import Target, settings_of, target_in
from tflint_perf.lint.applicability import applicability
from tflint_perf.problems import ConfigError
from tflint_perf.project.linting import lint_files
from tflint_perf.report.style import style_for


def init(folder: Path, diff: bool) -> int:
    """Look at a project, write its first configuration, and return the exit code.

    Raises:
        ConfigError: the project is configured already, or the configuration cannot be written.
    """
    target = target_in(folder)
    project = look(folder, configure([], folder.resolve(), catalogue()).settings)
    linted = _lint(folder, settings_of(project), keep=not diff)
    lines = settings_of(project, linted.findings, target.above)
    new = target.with_settings(lines)
    style = style_for(sys.stdout)
    for failure in linted.failures:
        say(failure)
    if not (project.scripts.all or project.notebooks.all):
        say("warning: no Python files or notebooks here")
    if diff:
        sys.stdout.writelines(_diff(target, new))
        return FAILURE if linted.failures else FINDINGS
    _write(target, new)
    print("\n".join((*found(project, linted, style), "", *written(target, lines, style))))
    print("\n".join(("", *next_steps(project, linted, target, style))))
    return FAILURE if linted.failures else CLEAN


def _lint(folder: Path, lines: str, keep: bool) -> Linted:
    """Lint the project as the configuration would have it, and keep what was found for the next run."""
    values = {key: value for key, value in toml_of(lines).items() if key != "baseline"}  # all findings count
    configs = Configs(folder.resolve(), [Values(folder.resolve(), values)])
    groups, failures = discover([str(folder)], configs, configs.of(folder.resolve()))
    place = cache_folder(folder.resolve()) if keep else None
    linted = [lint_files(group.files, group.settings, cores(), place) for group in groups]
    trust = {
        applicability(finding, group.settings)
        for group, found in zip(groups, linted, strict=True)
        for result in found
        for finding in result.findings
    }
    results = [result for found in linted for result in found]
    by_path = [(result.path, finding) for result in results for finding in result.findings]
    return Linted(
        tuple(finding for _, finding in by_path if finding.code != INVALID_SYNTAX),
        "safe" if "safe" in trust else "unsafe" if "unsafe" in trust else None,
        tuple(dict.fromkeys(path for path, finding in by_path if finding.code == INVALID_SYNTAX)),
        (*failures, *(result.failure for result in results if result.failure)),
    )


def _diff(target: Target, new: bytes) -> Iterator[str]:
    name = target.path.as_posix()
    old = (target.old or b"").decode().splitlines(keepends=True)
    before = "/dev/null" if target.old is None else f"a/{name}"
    for row in difflib.unified_diff(old, new.decode().splitlines(keepends=True), before, f"b/{name}"):
        yield row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n"


def _write(target: Target, new: bytes) -> None:
    try:
        if target.old is None:
            with target.path.open("xb") as file:
                file.write(new)
        else:
            replace_file(target.path, target.old, new)
    except OSError as error:
        raise ConfigError(f"not written: {reason(error)}", str(target.path)) from None
