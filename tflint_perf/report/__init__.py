"""What a run found, as the formats show it: one module a format, each with `render(outcome, style)`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from tflint_perf.catalogue.addresses import page_address
from tflint_perf.catalogue.rules import of_programs, with_bold_fixes
from tflint_perf.config.failing import FailOn
from tflint_perf.lint.applicability import applicability, is_applicable
from tflint_perf.records import dataclass
from tflint_perf.report import costs

if TYPE_CHECKING:
    from tflint_perf.config.keys import Format, Severity
    from tflint_perf.config.settings import Settings
    from tflint_perf.finding import Finding, Place
    from tflint_perf.lint.applicability import Applicability
    from tflint_perf.project.linting import FileResult
    from tflint_perf.report.style import Style


# More programs than this, of which a rule says the same, are told in one line, which names so many of them.
_MOST_APART = 2
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Entry:
    """A finding in its file, with what the settings of that file say of its fix.

    `fix` is None when there is no fix, or none that may be applied. `marked` says that `--fix` would apply
    it under the present flags: `[*]`. `chosen` is the severity that the settings give the rule, if any. `of_program` says
    that it is about a whole program, not about what a step costs. `site` is the address of the rules' pages, if the settings
    name one. `may_be_bold` says that no bold fix was looked for, where there is no other.
    """

    path: str
    finding: Finding
    fix: Applicability | None
    marked: bool
    chosen: Severity | None = None
    of_program: bool = False
    site: str | None = None
    may_be_bold: bool = False

    @classmethod
    def of(cls, path: str, finding: Finding, settings: Settings) -> Entry:
        chosen = dict(settings.severities).get(finding.code)
        return cls(
            path,
            finding,
            applicability(finding, settings),
            is_applicable(finding, settings),
            chosen,
            finding.code in of_programs(),
            settings.docs_url,
            finding.fix is None
            and not settings.bold_fixes
            and finding.code in settings.fixable & with_bold_fixes(),
        )

    @property
    def unread(self) -> bool:
        """Whether it says that the file does not parse, so that no rule has seen it."""
        return self.finding.code == self.finding.name == "invalid-syntax"

    @property
    def severity(self) -> Severity:
        if self.unread:
            return "error"
        if self.chosen:
            return self.chosen
        return "info" if self.of_program or costs.is_little(self.finding) else "warning"

    @property
    def url(self) -> str | None:
        """The address of the rule's page, where the site is known."""
        return page_address(self.finding.code, self.site)

    @property
    def place(self) -> str:
        """Where the finding starts: `path:row:column`, or `path:cell 2:row:column`."""
        start = self.finding.start
        return f"{printable(self.path)}:{in_cell(start)}{start.row}:{start.column}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that a run came to; `failures` are the lines on what could not be done, `fail_on` which findings
    make it fail. `of_programs_alone` says that no other rules were asked: then nothing is folded away."""

    findings: tuple[Entry, ...]
    fixed: tuple[Entry, ...] = ()
    fix: Literal["no", "apply", "diff"] = "no"
    failures: tuple[str, ...] = ()
    fail_on: FailOn = FailOn()
    of_programs_alone: bool = False

    @classmethod
    def of(
        cls,
        results: Iterable[tuple[FileResult, Settings]],
        fix: Literal["no", "apply", "diff"],
        failures: Iterable[str] = (),
        fail_on: FailOn = FailOn(),  # noqa: B008
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
            bool(pairs) and all(its.rules <= of_programs() for _, its in pairs),
        )

    def fails(self, entry: Entry) -> bool:
        """Whether a finding makes the run fail. One of a file that does not parse does: of the others there nothing is known."""
        if entry.unread or self.fail_on.is_grave(entry.severity):
            return True
        least, costing = self.fail_on.times, costs.factor(entry.finding)
        return least is not None and costing is not None and costing >= least


def told(outcome: Outcome) -> tuple[list[Entry], list[str]]:
    """The findings as people read them, what a step costs first, and a line for each rule that says the same of many
    programs."""
    if outcome.of_programs_alone:
        return list(outcome.findings), []
    steps = [entry for entry in outcome.findings if not entry.of_program]
    programs: dict[str, list[Entry]] = {}
    for entry in outcome.findings:
        if entry.of_program:
            programs.setdefault(entry.finding.code, []).append(entry)
    lines = []
    for code, entries in programs.items():
        if len(entries) <= _MOST_APART:
            steps += entries
            continue
        first = entries[0].finding
        places = ", ".join(entry.place for entry in entries[:_MOST_NAMED])
        more = ", …" if len(entries) > _MOST_NAMED else ""
        lines.append(
            f"{code} {first.name}, {len(entries)} times: {first.message} ({places}{more}; --select {code} shows all)"
        )
    return steps, lines


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
