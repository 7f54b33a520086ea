"""Suppressions: `# noqa`, and `# tflint-perf:` with `ignore`, `file-ignore`, `disable` and `enable`."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

from tflint_perf.config.settings import Settings
from tflint_perf.finding import Finding
from tflint_perf.lint.comments import Directive, Item, Mark, directives
from tflint_perf.lint.screen import naming_us
from tflint_perf.records import dataclass
from tflint_perf.text.source import Source

if TYPE_CHECKING:
    from tflint_perf.text.positions import Span

_NEVER = frozenset({"invalid-syntax"})


@dataclass(frozen=True, slots=True)
class _Patterns:
    """What suppressions look like that name this tool, and those that count for it."""

    names_us: re.Pattern[str]
    counts_for_us: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    # Codes of other tools are none of our business; a bare `# noqa` only when there is something to suppress.
    ours = naming_us()
    return _Patterns(
        re.compile(ours, re.IGNORECASE),
        re.compile(ours + r"|#\s*noqa(?![\w-])(?!\s*:)", re.IGNORECASE),
    )


def has_suppressions(text: str) -> bool:
    """Whether the text may hold a suppression that counts for this tool's findings."""
    return _patterns().counts_for_us.search(text) is not None


def names_us(text: str) -> bool:
    """Whether the text may hold a suppression that can be unused: one that names this tool or its codes."""
    return _patterns().names_us.search(text) is not None


def suppress(
    source: Source,
    findings: Sequence[Finding],
    statements: Sequence[Span],
    settings: Settings,
    known_codes: Mapping[str, str],
) -> tuple[list[Finding], int]:
    """The findings that remain, and how many were suppressed.

    Among those that remain are findings about suppressions: TFP001 for unused ones, TFP002 for unknown codes.
    """
    quick = has_suppressions if findings else names_us
    if settings.ignore_noqa or not quick(source.text):
        return list(findings), 0
    from tflint_perf.lint.unused import about_suppressions

    scopes = _Scopes(source, statements, known_codes, directives(source.text))
    used: set[Mark] = set()
    remaining = scopes.unsuppressed([(finding, frozenset()) for finding in findings], used)
    # What is said about suppressions can itself be suppressed, which makes use of one.
    first = about_suppressions(source, scopes.directives, used, settings, known_codes, with_own=False)
    scopes.unsuppressed(first, used)
    about = about_suppressions(source, scopes.directives, used, settings, known_codes, with_own=True)
    shown = scopes.unsuppressed(about, used)
    count = len(findings) - len(remaining) + len(about) - len(shown)
    return sorted([*remaining, *shown], key=lambda finding: (finding.start.offset, finding.code)), count


def suppressing_rows(
    source: Source, finding: Finding, statements: Sequence[Span], known_codes: Mapping[str, str]
) -> list[int]:
    """The rows of the comments that suppress a finding, whatever the settings say of them."""
    marks = _Scopes(source, statements, known_codes, directives(source.text)).marks(finding)
    return sorted({source.place(directive.comment.start).row for directive, _ in marks})


class _Scopes:
    """What each suppression covers."""

    def __init__(
        self, source: Source, statements: Sequence[Span], known: Mapping[str, str], found: list[Directive]
    ) -> None:
        self.directives = found
        self._source = source
        self._known = known
        # Behind a statement come those in it; the outer one of two that begin together comes first.
        self._spans = sorted(statements, key=lambda span: (span.start, -span.end))
        self._starts = [span.start for span in self._spans]
        self._around = _around(self._spans)
        self._on_row: dict[int, list[Directive]] = defaultdict(list)
        self._over: dict[int, list[Directive]] = defaultdict(list)
        self._of_file: list[Directive] = []
        self._ranges: list[Directive] = []
        self._disabled: dict[str, tuple[list[int], list[list[Mark]]]] = {}
        self._selected: dict[str, frozenset[str]] = {}
        for directive in found:
            self._place(directive)

    def _place(self, directive: Directive) -> None:
        if directive.on_line:
            self._on_row[directive.comment.row].append(directive)
        elif directive.verb == "ignore":
            if (index := self._next_statement(directive.comment.start)) is not None:
                self._over[index].append(directive)
        elif directive.verb == "file-ignore" and not directive.comment.indented:
            self._of_file.append(directive)
        elif directive.verb in ("disable", "enable"):
            self._ranges.append(directive)

    def unsuppressed(
        self, findings: Sequence[tuple[Finding, frozenset[Mark]]], used: set[Mark]
    ) -> list[Finding]:
        """The findings that nothing suppresses; what suppresses the others is added to `used`.

        Beside each stand the suppressions that it is about: they don't suppress it.
        """
        remaining = []
        for finding, subject in findings:
            marks = set() if finding.code in _NEVER else set(self.marks(finding)) - subject
            used |= marks
            if not marks:
                remaining.append(finding)
        return remaining

    def marks(self, finding: Finding) -> list[Mark]:
        """What suppresses a finding."""
        at = finding.start.offset
        covering = [
            *self._of_file,
            *(directive for index in self._statements_at(at) for directive in self._over.get(index, ())),
            *(directive for row in self._rows(finding) for directive in self._on_row.get(row, ())),
        ]
        marks = [mark for directive in covering for mark in self._matching(directive, finding.code)]
        starts, disabled = self._disabled.get(finding.code) or self._where_disabled(finding.code)
        before = bisect_right(starts, at)
        return marks + disabled[before - 1] if before else marks

    def _where_disabled(self, code: str) -> tuple[list[int], list[list[Mark]]]:
        """The places from which on a code is disabled or enabled, each with what disables it there."""
        starts: list[int] = []
        disabled: list[list[Mark]] = []
        for directive in self._ranges:
            if matching := self._matching(directive, code):
                starts.append(directive.start)
                disabled.append(matching if directive.verb == "disable" else [])
        self._disabled[code] = starts, disabled
        return starts, disabled

    def _matching(self, directive: Directive, code: str) -> list[Mark]:
        if directive.items is None:
            return [(directive, None)]
        return [(directive, item) for item in directive.own if code in self._codes(item)]

    def _codes(self, item: Item) -> frozenset[str]:
        known = self._selected.get(item.text)
        if known is None:
            known = self._selected[item.text] = item.selects(self._known)
        return known

    def _rows(self, finding: Finding) -> set[int]:
        """The rows of the finding, and of the statement that it is in, of a compound one the header's."""
        extents = [(finding.start.offset, finding.end.offset)]
        index = next(self._statements_at(finding.start.offset), None)
        # Behind the header it would be in a later clause of a compound statement.
        if index is not None and finding.start.offset < (span := self._spans[index]).header_end:
            extents.append((span.start, span.header_end))
        return {
            row
            for start, end in extents
            for row in range(self._source.row(start), self._source.row(max(end - 1, start)) + 1)
        }

    def _statements_at(self, offset: int) -> Iterator[int]:
        """The statements around an offset, by their indexes, the innermost first."""
        index = bisect_right(self._starts, offset) - 1
        while index >= 0:
            if offset < self._spans[index].end:
                yield index
            index = self._around[index]

    def _next_statement(self, offset: int) -> int | None:
        around = next(self._statements_at(offset), None)
        if (
            around is not None and offset < self._spans[around].header_end
        ):  # in its brackets or its decorators
            return around
        following = bisect_left(self._starts, offset)
        return following if following < len(self._spans) else None


def _around(spans: Sequence[Span]) -> list[int]:
    """For each of the spans, which are in order, the index of the one that it is in; -1 for one in no other."""
    around: list[int] = []
    for span in spans:
        outer = len(around) - 1
        while outer >= 0 and spans[outer].end < span.end:
            outer = around[outer]
        around.append(outer)
    return around
