"""The findings as those of a plugin of flake8, for projects that run flake8 and nothing else.

flake8 imports this module whatever it checks, so what linting needs is imported with the first file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from argparse import Namespace
    from ast import AST
    from typing import Any

    from tflint_perf.config.resolve import Configs
    from tflint_perf.project.linting import FileResult, Neighbours

# What could not be done, and why. It is no rule's code, since no rule can be blamed for it.
TROUBLE = "TFP000"
# A row from 1, a column from 0, the code with the message, and what older versions of flake8 asked for.
_Row = tuple[int, int, str, type]


class Plugin:
    """Checks one file.

    flake8 goes by the names of the parameters: to ask for `tree` means to be called once for each file that parses.
    What is wrong with the syntax of others it says itself.
    """

    ignore_noqa: ClassVar[bool] = False

    def __init__(self, tree: AST, filename: str, lines: Sequence[str]) -> None:
        self._name = str(Path(filename))
        self._text = "".join(lines)

    @staticmethod
    def add_options(option_manager: Any) -> None:
        """Let the codes of installed packages of rules count as those of this plugin do."""
        from tflint_perf.catalogue.rules import prefixes

        option_manager.extend_default_select(prefixes())

    @classmethod
    def parse_options(cls, options: Namespace) -> None:
        """Note whether comments may suppress findings."""
        cls.ignore_noqa = options.disable_noqa

    def run(self) -> Iterator[_Row]:
        """The findings in the file."""
        from tflint_perf.problems import ConfigError

        try:
            result = _lint(self._text, self._name, self.ignore_noqa)
        except ConfigError as error:
            yield _trouble(str(error))
            return
        for line in _told(result, self._name):
            yield _trouble(line)
        for finding in result.findings:
            if finding.code == finding.name:  # not parsed, though Python does
                yield _trouble(f"{finding.start.row}: {finding.message}")
            else:
                row, column = finding.start.row, finding.start.column - 1
                yield row, column, f"{finding.code} {finding.message}", Plugin


def _trouble(what: str) -> _Row:
    return 1, 0, f"{TROUBLE} {' '.join(what.split())}", Plugin


def _told(result: FileResult, name: str) -> Iterator[str]:
    """What could not be done; of a plugin's fault, once in each of flake8's processes."""
    from tflint_perf.catalogue.plugins import is_about_plugin, is_news

    for line in (*([result.failure] if result.failure else ()), *result.problems):
        if not is_about_plugin(line) or is_news(line):
            yield line.removeprefix(f"{name}: ")


def _lint(text: str, name: str, ignore_noqa: bool) -> FileResult:
    """Lint the text as the file of that name, as `tflint-perf --force-exclude` would do it.

    Raises:
        ConfigError: the configuration, the baseline or the record of a run cannot be followed.
    """
    from dataclasses import replace

    from tflint_perf.config.discover import excluded_stdin
    from tflint_perf.lint import baseline
    from tflint_perf.project.linting import FileResult, lint_beside
    from tflint_perf.project.roots import project_root
    from tflint_perf.text.decoding import encoded

    own = _configs().of(Path(name).parent.resolve()).settings
    settings = replace(own, fix="no", force_exclude=True, ignore_noqa=ignore_noqa)
    old = baseline.read(settings.baseline) if settings.baseline is not None else None
    if excluded_stdin(name, settings):
        return FileResult(name)
    neighbours = _neighbours(project_root([Path(name)], settings))
    result, _ = lint_beside(encoded(text, name), name, settings, neighbours)
    findings = result.findings if old is None else tuple(old.new(result.findings, name))
    if settings.measured is not None:
        from tflint_perf.measured.own_costs import read

        findings = read(settings.measured, "measured").join(findings, name)
    return replace(result, findings=findings)


@cache
def _configs() -> Configs:
    from tflint_perf.config.resolve import Configs

    return Configs(Path.cwd(), ())


@cache
def _neighbours(root: Path) -> Neighbours:
    """The files of a project, of which each is looked at once for all that are linted in one process."""
    from tflint_perf.project.linting import Neighbours

    return Neighbours(root)
