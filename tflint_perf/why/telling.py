"""An answer as text, and as an object for JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator
from typing import Any

from tflint_perf.config.settings import Settings
from tflint_perf.finding import Finding
from tflint_perf.report import Entry, printable
from tflint_perf.report.json import as_object as finding_object
from tflint_perf.report.style import Style
from tflint_perf.why.answering import Answer
from tflint_perf.why.places import Spot
from tflint_perf.why.wording import Told, row_of

_WIDTH = 110
# With --verbose there may be thousands.
_MOST_QUESTIONS = 200


def text(answer: Answer, style: Style) -> Iterator[str]:
    """The answer for people."""
    place, rule = answer.place, answer.rule
    cell = "" if place.cell is None else f"cell {place.cell}:"
    yield f"{printable(place.path)}:{cell}{place.row}: {style.code(rule.code)} {rule.name}: {rule.summary}"
    margin = " " * len(str(place.row))
    bar = f"{margin} {style.frame('|')}"
    yield bar
    yield f"{style.frame(f'{place.row} |')} {printable(answer.line.expandtabs(4))}".rstrip()
    yield bar
    for finding in answer.findings:
        yield from _wrapped(f"{style.strong('found')}: {finding.message}", "  ")
        yield from _fix(finding, style)
    if not answer.findings:
        yield f"{style.strong('found')}: nothing"
    for note in answer.notes:
        yield from _wrapped(f"{style.strong('note')}: {note}", "  ")
    yield ""
    yield from _wrapped(answer.because, "")
    shown = _nearest(answer.questions)
    for told in answer.questions:
        yield from _question(told, place.cell, 0, shown)
    if left := sum(1 for _ in _all(answer.questions)) - len(shown):
        yield f"{left:,} deeper questions are left out; --output-format json has them all."
    if answer.conclusion:
        yield ""
        yield from _wrapped(answer.conclusion, "")
    yield from _places("It asked about", answer.looked_at, place.cell)
    if not answer.findings and answer.looked_at != answer.elsewhere:
        yield from _places("It has findings at", answer.elsewhere, place.cell)


def _fix(finding: Finding, style: Style) -> Iterator[str]:
    """The fix of a finding and how far it may be trusted, or why there is none."""
    if finding.fix is not None:
        level = "bold" if finding.fix.bold else "safe" if finding.fix.safe else "unsafe"
        said = f"{style.strong('fix')}: {finding.fix.message} ({level})"
        yield from _wrapped(said, "  ")
    if finding.remark is not None:
        yield from _wrapped(f"{style.strong('note')}: {finding.remark}", "  ")


def _places(what: str, spots: Iterable[Spot], cell: int | None) -> Iterator[str]:
    said = [f"`{spot.source}` ({row_of(spot, cell)})" for spot in spots]
    if said:
        yield from _wrapped(f"{what} {', '.join(said)}.", "  ")


def _all(questions: Iterable[Told]) -> Iterator[Told]:
    """The questions with all that they rest on."""
    for told in questions:
        yield told
        yield from _all(told.because)


def _nearest(questions: Iterable[Told]) -> set[int]:
    """As many questions as can be read, by identity: level by level, for the higher ones say most."""
    shown: list[Told] = []
    level = list(questions)
    while level and len(shown) < _MOST_QUESTIONS:
        shown += level[: _MOST_QUESTIONS - len(shown)]
        level = [reason for told in level for reason in told.because]
    return set(map(id, shown))


def _question(told: Told, cell: int | None, depth: int, shown: set[int]) -> Iterator[str]:
    if id(told) not in shown:
        return
    indent = "  " * depth
    said = f"{told.text}? {told.answer}" if told.is_whether else f"{told.text}: {told.answer}"
    yield from _wrapped(f"{indent}- {said}", f"{indent}  ")
    if told.origins:
        came = ", from ".join(f"`{spot.source}` ({row_of(spot, cell)})" for spot in told.origins)
        yield from _wrapped(f"{indent}    from {came}", f"{indent}    ")
    for reason in told.because:
        yield from _question(reason, cell, depth + 1, shown)


def _wrapped(line: str, indent: str) -> list[str]:
    """A long line as several, code in them as it is."""
    return textwrap.wrap(
        printable(line), _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def as_object(answer: Answer, settings: Settings) -> dict[str, Any]:
    """The answer for programs."""
    place, rule = answer.place, answer.rule
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "filename": place.path,
        "cell": place.cell,
        "row": place.row,
        "line": answer.line,
        "findings": [finding_object(Entry.of(place.path, finding, settings)) for finding in answer.findings],
        "notes": list(answer.notes),
        "because": answer.because,
        "questions": [_question_object(told) for told in answer.questions],
        "conclusion": answer.conclusion,
        "looked_at": [_spot_object(spot) for spot in answer.looked_at],
        "elsewhere": [_spot_object(spot) for spot in answer.elsewhere],
    }


def _question_object(told: Told) -> dict[str, Any]:
    return {
        "question": f"{told.text}?" if told.is_whether else told.text,
        "answer": told.answer,
        "kind": told.kind,
        "function": told.function,
        "decided": told.decided,
        "about": None if told.about is None else _spot_object(told.about),
        "places": [_spot_object(spot) for spot in told.spots],
        "origins": [_spot_object(spot) for spot in told.origins],
        "because": [_question_object(reason) for reason in told.because],
    }


def _spot_object(spot: Spot) -> dict[str, Any]:
    return {"row": spot.row, "cell": spot.cell, "source": spot.source}
