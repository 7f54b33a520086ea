"""Findings to new text, again until nothing changes."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from tflint_perf.catalogue.registry import all_rules
from tflint_perf.config.settings import Settings
from tflint_perf.errors import EditError
from tflint_perf.finding import Edit, Finding, Place
from tflint_perf.lint.applicability import is_applicable
from tflint_perf.lint.guards import damage
from tflint_perf.records import dataclass
from tflint_perf.text.source import Source

if TYPE_CHECKING:
    from tflint_perf.analysis.values.outside import Outside

ROUNDS = 10
# To remove a comment is what its fix is for.
_REMOVES_COMMENTS = frozenset({"TFP001"})

# A fix by what it does, which stays the same when text around it moves.
_Key = tuple[str, tuple[str, ...], tuple[str, ...]]
# From where to where an edit replaces text.
_Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Fixed:
    """A source after its fixes.

    `source` is the same object when nothing changed. `applied` are the findings whose fix was made;
    `remaining` those that are left. `problems` are lines about fixes that were not made by our fault.
    """

    source: Source
    applied: tuple[Finding, ...]
    remaining: tuple[Finding, ...]
    problems: tuple[str, ...]
    suppressed: int


def fix_source(source: Source, settings: Settings, outside: Outside | None = None) -> Fixed:
    """Make all fixes that the settings allow, in rounds: what a fix brings about may have one, too.

    Raises:
        tflint_perf.lint.asking.InternalError: a rule failed.
    """
    from tflint_perf.analysis.values.outside import NOTHING
    from tflint_perf.lint.check import check_source  # imports libcst

    outside = outside or NOTHING
    work = Work(source)
    for _ in range(ROUNDS):
        checked = check_source(work.source, settings, outside)
        if not work.make(work.possible(checked.findings, settings)):
            break
    else:
        checked = check_source(work.source, settings, outside)
        if work.possible(checked.findings, settings):
            work.problems.append(f"{source.path}: fixes did not settle in {ROUNDS} rounds; please report it")
    remaining = tuple(work.without_barred_fix(finding) for finding in checked.findings)
    if work.applied and source.broken():
        from tflint_perf.text.syntax import with_faults

        remaining = with_faults(remaining, work.source)  # the last word that had them told may be gone
    if settings.fix == "diff" and settings.diff_base is not None:
        from tflint_perf.lint.changed_rows import on_changed_rows  # nobody else will have this text

        remaining = tuple(on_changed_rows(remaining, work.source, settings.diff_base))
    problems = (*work.problems, *checked.problems)
    return Fixed(work.source, tuple(work.applied), remaining, problems, checked.suppressed)


@dataclass(slots=True)
class Work:
    """A source while fixes are made in it, round by round; `barred` are those that would do harm, and which."""

    source: Source
    applied: list[Finding] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    barred: dict[_Key, str] = field(default_factory=dict)

    def possible(self, findings: Iterable[Finding], settings: Settings) -> list[Finding]:
        """Those whose fix the settings allow and that has not failed."""
        if settings.baseline is not None or settings.diff_base is not None:
            from tflint_perf.lint.baseline import counting

            findings = counting(findings, self.source, settings)
        return [
            finding
            for finding in findings
            if is_applicable(finding, settings) and _key(finding) not in self.barred
        ]

    def make(self, findings: Sequence[Finding]) -> bool:
        """Make the fixes of one round that don't stand in each other's way; whether there was any."""
        # Those that may lose a comment go last and alone, so that the others are held to keep them.
        others = [finding for finding in findings if finding.code not in _REMOVES_COMMENTS]
        chosen = _apart(others or findings)
        if not chosen:
            return False
        new, harm = self._tried(chosen)
        if new is None and len(chosen) == 1:
            self._bar(chosen[0], harm)
            return True  # the others may still be possible
        if new is None:
            chosen, new = self._one_by_one(chosen)
        if new is not None:
            self.source = new
            self.applied += chosen
        return True

    def _one_by_one(self, findings: Sequence[Finding]) -> tuple[list[Finding], Source | None]:
        """The fixes that go well together, and the source with them.

        One that fails only in company waits for the next round; one that fails by itself is barred.
        """
        together: list[Finding] = []
        best = None
        waiting = [[*findings]]
        while waiting:
            some = waiting.pop()
            new = self._tried([*together, *some])[0] if len(some) < len(findings) else None
            if new is not None:
                together += some
                best = new
            elif len(some) > 1:  # of thousands, few fail: half of them at a time
                middle = len(some) // 2
                waiting += [some[middle:], some[:middle]]
            else:
                alone, harm = self._tried(some)
                if alone is None:
                    self._bar(some[0], harm)
        return together, best

    def _tried(self, findings: Sequence[Finding]) -> tuple[Source | None, str]:
        edits = {edit for finding in findings for edit in _edits(finding)}
        try:
            new = self.source.apply(edits)
        except EditError as error:
            return None, str(error)
        may_lose = all(finding.code in _REMOVES_COMMENTS for finding in findings)
        harm = damage(self.source, new, may_lose)
        return (new, "") if harm is None else (None, harm)

    def _bar(self, finding: Finding, harm: str) -> None:
        self.barred[_key(finding)] = harm
        if harm.startswith("would"):  # else it is the file that stands in the way, not our fix
            self.problems.append(
                f"{self.source.path}: the fix of {finding.code} at {_shown(finding.start)} {harm}; "
                "it was not applied; please report it"
            )

    def without_barred_fix(self, finding: Finding) -> Finding:
        """The finding, without its fix and with the reason if it could not be made."""
        harm = self.barred.get(_key(finding)) if finding.fix else None
        return finding if harm is None else replace(finding, fix=None, note=f"no fix: {harm}")


def _apart(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, first come first served, whose fixes don't overlap; those that yield to others come last.

    Fixes may share what they insert, the same import for instance: it is made once. Two that take the same code out
    mean to put it somewhere else each. One that adds an import which another adds at another place waits until it sees it.
    """
    chosen: list[Finding] = []
    made: set[Edit] = set()
    imported: set[str] = set()
    spans: list[_Span] = []  # of what is made, in order and apart
    for finding in _in_turn(list(findings)):
        edits = _edits(finding)
        new = [edit for edit in edits if edit not in made or edit.start != edit.end]
        added = {line for edit in new for line in _imports(edit)}
        if edits and not (added & imported or any(_overlaps(edit, spans) for edit in new)):
            chosen.append(finding)
            made.update(new)
            imported |= added
            for edit in new:
                insort(spans, _span(edit))
    return chosen


def _imports(edit: Edit) -> list[str]:
    """The imports for the whole file among the lines that an edit inserts."""
    inserted = edit.content.splitlines() if edit.start == edit.end else []
    return [line for line in inserted if line.startswith(("import ", "from "))]


def _in_turn(findings: list[Finding]) -> list[Finding]:
    """The findings in their order, but those of rules that yield to one of the others behind all that don't."""
    rules, codes = all_rules(), {finding.code for finding in findings}
    waiting = {code for code in codes if code in rules and not codes.isdisjoint(rules[code].yields_to)}
    return sorted(findings, key=lambda finding: finding.code in waiting)


def _span(edit: Edit) -> _Span:
    return edit.start.offset, edit.end.offset


def _overlaps(edit: Edit, spans: list[_Span]) -> bool:
    """Whether an edit overlaps one of those that are made: of these, its neighbours are enough to be asked."""
    one = _span(edit)
    at = bisect_left(spans, one)
    return any(_overlap(one, other) for other in spans[max(at - 1, 0) : at + 1])


def _overlap(one: _Span, other: _Span) -> bool:
    (start, end), (begin, stop) = one, other
    # What is inserted at the edge of another edit would have to be put before or behind its text: let it wait.
    if start == end or begin == stop:
        return start <= stop and begin <= end
    return start < stop and begin < end


def _edits(finding: Finding) -> tuple[Edit, ...]:
    return finding.fix.edits if finding.fix else ()


def _key(finding: Finding) -> _Key:
    return finding.code, finding.lines, tuple(edit.content for edit in _edits(finding))


def _shown(place: Place) -> str:
    cell = f"cell {place.cell}:" if place.cell is not None else ""
    return f"{cell}{place.row}:{place.column}"
