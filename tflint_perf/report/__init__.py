"""What a run found, as the formats show it: one module a format, each with `render(outcome, style)`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from tflint_perf.lint.applicability import applicability, is_applicable
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.config.keys import Format, Severity
    from tflint_perf.config.settings import Settings
    from tflint_perf.finding import Finding, Place
    from tflint_perf.lint.applicability import Applicability
    from tflint_perf.project.linting import FileResult
    from tflint_perf.report.style import Style


@dataclass(frozen=True, slots=True)
class Entry:
    """A finding in its file, with what the settings of that file say of its fix.

    `fix` is None when there is no fix, or none that may be applied. `marked` says that `--fix` would apply
    it under the present flags: `[*]`. `chosen` is the severity that the settings give the rule, if any.
    """

    path: str
    finding: Finding
    fix: Applicability | None
    marked: bool
    chosen: Severity | None = None

    @classmethod
    def of(cls, path: str, finding: Finding, settings: Settings) -> Entry:
        chosen = dict(settings.severities).get(finding.code)
        return cls(path, finding, applicability(finding, settings), is_applicable(finding, settings), chosen)

    @property
    def unread(self) -> bool:
        """Whether it says that the file does not parse, so that no rule has seen it."""
        return self.finding.code == self.finding.name == "invalid-syntax"

    @property
    def severity(self) -> Severity:
        return "error" if self.unread else self.chosen or "warning"

    @property
    def place(self) -> str:
        """Where the finding starts: `path:row:column`, or `path:cell 2:row:column`."""
        start = self.finding.start
        return f"{printable(self.path)}:{in_cell(start)}{start.row}:{start.column}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that a run came to; `failures` are the lines on what could not be done, `fail_on` the least grave finding that
    makes it fail."""

    findings: tuple[Entry, ...]
    fixed: tuple[Entry, ...] = ()
    fix: Literal["no", "apply", "diff"] = "no"
    failures: tuple[str, ...] = ()
    fail_on: Severity = "info"

    @classmethod
    def of(
        cls,
        results: Iterable[tuple[FileResult, Settings]],
        fix: Literal["no", "apply", "diff"],
        failures: Iterable[str] = (),
        fail_on: Severity = "info",
    ) -> Outcome:
        """Put the results of files together, each with the settings that it was linted with."""
        pairs = list(results)
        return cls(
            tuple(
                Entry.of(result.path, finding, its) for result, its in pairs for finding in result.findings
            ),
            tuple(Entry.of(result.path, finding, its) for result, its in pairs for finding in result.fixed),
            fix,
            (*failures, *(result.failure for result, _ in pairs if result.failure)),
            fail_on,
        )


def in_cell(place: Place) -> str:
    """`cell 2:`, or nothing outside notebooks."""
    return "" if place.cell is None else f"cell {place.cell}:"


def printable(text: str) -> str:
    """The text without characters that would steer a terminal or break the line."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def render(format: Format, outcome: Outcome, style: Style) -> Iterator[str]:
    """The lines of the report."""
    module = importlib.import_module(f"tflint_perf.report.{format.replace('-', '_')}")
    renderer: Callable[[Outcome, Style], Iterator[str]] = module.render
    return renderer(outcome, style)
