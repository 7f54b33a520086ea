"""Writing `# noqa` for findings, at the end of the row that each of them names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tflint_perf.catalogue.own_rules import OWN_RULES
from tflint_perf.config.files import reason, replace_file
from tflint_perf.config.selection import INVALID_SYNTAX
from tflint_perf.errors import EditError, SourceError
from tflint_perf.finding import Edit, Finding
from tflint_perf.lint.comments import Directive, directives
from tflint_perf.lint.guards import damage
from tflint_perf.records import dataclass
from tflint_perf.text.source import Source

# What is said about a suppression is mended in it, not suppressed by one more.
_LEFT = {INVALID_SYNTAX, *OWN_RULES}
_Codes = Mapping[int, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Added:
    """What came of it: the findings that are suppressed now, those that are not, and what could not be done."""

    suppressed: tuple[Finding, ...] = ()
    left: tuple[Finding, ...] = ()
    failure: str | None = None


def add_noqa(path: Path, findings: Sequence[Finding]) -> Added:
    """Suppress the findings of a file in the file; it is left alone when it is not as they say any more.

    Findings about syntax and about suppressions are left, and those whose row has no room for a comment.
    """
    try:
        data = path.read_bytes()
        source = Source.from_bytes(data, str(path))
    except OSError as error:
        return Added((), tuple(findings), f"{path}: {reason(error)}")
    except SourceError as error:
        return Added((), tuple(findings), str(error))
    if any(not _is_there(finding, source) for finding in findings):
        return Added((), tuple(findings), f"{path}: changed while it was linted, so it was left alone")
    codes: dict[int, list[str]] = defaultdict(list)
    for finding in findings:
        if finding.code not in _LEFT and finding.code not in codes[_row(finding, source)]:
            codes[_row(finding, source)].append(finding.code)
    new, made = _with_all(source, {row: names for row, names in codes.items() if names})
    try:
        if new is not source:
            replace_file(path, data, new.encode())
    except OSError as error:
        return Added((), tuple(findings), f"{path}: {reason(error)}")
    done = [finding.code not in _LEFT and _row(finding, source) in made for finding in findings]
    pairs = list(zip(findings, done, strict=True))
    return Added(
        tuple(it for it, is_done in pairs if is_done), tuple(it for it, is_done in pairs if not is_done)
    )


def _is_there(finding: Finding, source: Source) -> bool:
    if finding.end.offset > len(source.text):
        return False
    first = source.row(finding.start.offset)
    there = source.place(finding.start.offset) == finding.start
    return there and source.lines(first, first + len(finding.lines) - 1) == finding.lines


def _row(finding: Finding, source: Source) -> int:
    """The row to write on, counted through the whole text also in a notebook."""
    return source.row(finding.start.offset) + finding.noqa_row - finding.start.row


def _with_all(source: Source, codes: _Codes) -> tuple[Source, set[int]]:
    """The source with suppressions on the rows, and the rows that took one."""
    if not codes:
        return source, set()
    present = _on_rows(source)
    edits = {row: _edit(source, row, names, present.get(row)) for row, names in codes.items()}
    new = _tried(source, edits, codes)
    if new is None:  # some row has no room: inside a string, or in a magic
        edits = {row: edits[row] for row in _with_room(source, edits, codes)}
        new = _tried(source, edits, codes)
    return (source, set()) if new is None else (new, set(edits))


def _with_room(source: Source, edits: Mapping[int, Edit], codes: _Codes) -> list[int]:
    """The rows whose edits can be made. Few of thousands can't, so that they are tried together, half of them at a time."""
    rows = sorted(edits)
    if _tried(source, edits, codes) is not None:
        return rows
    if len(rows) == 1:
        return []
    middle = len(rows) // 2
    halves = rows[:middle], rows[middle:]
    return [row for half in halves for row in _with_room(source, {row: edits[row] for row in half}, codes)]


def _edit(source: Source, row: int, codes: Iterable[str], present: Directive | None) -> Edit:
    """What makes the row suppress the codes: more of them in a comment that is there, or a comment."""
    listed = ", ".join(sorted(codes))
    if present is not None and present.items:
        at, content = present.items[-1].end, f", {listed}"
    else:
        (line,) = source.lines(row, row)
        at = source.offset(row, 1) + len(line)
        content = f"{'' if line.endswith((' ', chr(9))) else '  '}# noqa: {listed}"
    place = source.place(at)
    return Edit(place, place, content)


def _tried(source: Source, edits: Mapping[int, Edit], codes: _Codes) -> Source | None:
    """The source with the edits, if all of them have become suppressions and nothing else has changed."""
    try:
        new = source.apply(edits.values())
    except EditError:
        return None
    # A comment that gets longer is none that is lost.
    if damage(source, new, may_lose_comments=True) is not None:
        return None
    found = _on_rows(new)
    for row in edits:
        items = found[row].items if row in found else None
        if not items or not {*codes[row]} <= {item.text.upper() for item in items}:
            return None
    return new


def _on_rows(source: Source) -> dict[int, Directive]:
    return {found.comment.row: found for found in directives(source.text) if found.is_noqa}
