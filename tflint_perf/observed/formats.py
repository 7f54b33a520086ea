"""The report of a run in the formats of `tflint-perf run`: for a terminal, for programs, and for pull requests."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, get_args

from tflint_perf.finding import Finding, Place
from tflint_perf.measured.record import Record, Settled, to_json
from tflint_perf.observed import text, wording
from tflint_perf.observed.blocks import Blocks
from tflint_perf.observed.figures import in_unit_of, percent
from tflint_perf.observed.settle import Located
from tflint_perf.report import Entry, Outcome
from tflint_perf.report import render as render_findings
from tflint_perf.report.style import Style

Format = Literal["text", "json", "sarif", "github", "markdown"]
FORMATS: tuple[Format, ...] = get_args(Format)
# Those whose document stands alone on standard output.
FOR_PROGRAMS = frozenset({"json", "sarif", "github", "markdown"})
_LINES = 10


def render(
    format: Format, record: Record, findings: Sequence[Located], blocks: Blocks, style: Style, width: int
) -> Iterator[str]:
    """The lines of the report; `findings` are those that were known before the run."""
    match format:
        case "text":
            yield from text.render(record, style, width)
        case "json":
            yield to_json(record).rstrip("\n")
        case "markdown":
            yield from markdown(record)
        case "sarif" | "github":
            outcome = Outcome(tuple(entries(record, findings, blocks)))
            yield from render_findings(format, outcome, Style())


def entries(record: Record, findings: Iterable[Located], blocks: Blocks) -> Iterator[Entry]:
    """What the run says of each finding, as reports of findings take it; what costs little is of the least severity."""
    known: dict[tuple[str, str, int | None, int], list[Located]] = {}
    for located in findings:
        start = located.finding.start
        key = located.finding.code, blocks.named(located.path), start.cell, start.row
        known.setdefault(key, []).append(located)
    for one in record.findings:
        key = one.code, one.spot.file, one.spot.cell, one.spot.row
        at = known.get(key)
        located = at.pop(0) if at else _located(one, blocks)
        finding = located.finding
        message = f"{one.message} ({one.why})" if one.why else one.message
        shown = Finding(
            finding.code, finding.name, message, finding.start, finding.end, finding.lines, finding.noqa_row
        )
        yield Entry(located.path, shown, None, False, "warning" if one.status in wording.COST else "info")


def _located(one: Settled, blocks: Blocks) -> Located:
    """What was seen in a run as a finding, which is the whole line."""
    spot = one.spot
    line = blocks.text(spot)
    first = len(line) - len(line.lstrip()) + 1
    start, end = (Place(0, spot.row, column, spot.cell) for column in (first, max(len(line) + 1, first + 1)))
    path = os.path.relpath(blocks.path(spot.file))
    return Located(path, Finding(one.code, one.name, one.message, start, end, (line,), spot.row))


def markdown(record: Record) -> Iterator[str]:
    """The report as Markdown, for a comment on a pull request."""
    yield f"### `{wording.program(record)}`"
    yield ""
    yield f"{wording.steps(record)} **{wording.step_time(record)}** {wording.versions(record)}.".replace(
        "****", ""
    )
    costly = wording.with_status(record, *wording.COST)
    if costly:
        yield from ("", "| at most | of a step | where | finding | seen |", "|--:|--:|---|---|---|")
        for one in costly:
            saved, of_step = wording.saving(one, record)
            said = f"{one.message} ({wording.detail(one, record)})"
            yield _row(
                saved, of_step, f"`{wording.place(one.spot)}`", f"{one.code} {one.name}, {one.status}", said
            )
    if parts := wording.parts(record):
        time_of = in_unit_of(sum(record.parts.values()))
        yield from ("", "| a step's time | | |", "|---|--:|--:|")
        for part, time, share in parts:
            yield _row(f"{part}: {wording.PART_WORDS[part]}", time_of(time), percent(share))
    if record.step is not None and (lines := wording.costly_lines(record, _LINES)):
        time_of = in_unit_of(record.step.value)
        yield from ("", "| line | | | | |", "|---|--:|--:|---|---|")
        for line in lines:
            place = f"`{wording.place(line.spot)}`"
            yield _row(
                place,
                time_of(line.seconds, line.error),
                percent(line.share),
                _code(line.source),
                wording.line_events(line),
            )
    yield from _lists(record)
    if too_few := wording.too_few(record):
        yield from ("", f"**{too_few}**")
    yield from ("", wording.observer(record))


def _lists(record: Record) -> Iterator[str]:
    grows = [f"{name}: {said}" for name, said in wording.growing(record)]
    traced = [
        f"`{one.function}` traced {wording.trace_line(one, record)}"
        for one in wording.traced(record)
        if one.count > 1
    ]
    cheap = [
        f"`{wording.place(one.spot)}` {one.code} {one.name}: {one.why}"
        for one in wording.with_status(record, "cheap")
    ]
    for title, items in (
        ("What grows", grows),
        ("Traced again", traced),
        ("Costs this program little", cheap),
    ):
        if items:
            yield from ("", f"{title}:", "", *(f"- {item}" for item in items))
    for said, found in wording.not_judged(record):
        yield from ("", f"{said[0].upper()}{said[1:]}: {wording.at_places(found)}.")


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _code(source: str) -> str:
    fence = "``" if "`" in source else "`"
    return f"{fence}{source.strip()}{fence}"
