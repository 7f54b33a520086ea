"""The report of a run for a terminal: one screen, what costs most first."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from tflint_perf.catalogue.figures import seconds
from tflint_perf.measured.record import Record, Settled
from tflint_perf.observed import wording
from tflint_perf.observed.figures import in_unit_of, percent
from tflint_perf.report import printable
from tflint_perf.report.style import Style

_LINES, _FINDINGS, _CHEAP, _TRACES = 10, 10, 5, 4
_LEAST_WIDTH, _MOST_WIDTH = 60, 132
_BAR, _EIGHTHS = 28, " ▏▎▍▌▋▊▉"
_SOURCE = 46
# In fewer columns nothing is to be read.
_LEAST_EVENTS = 20
_BELOW = " " * 6
_INDENT = "  "


def render(record: Record, style: Style, width: int) -> Iterator[str]:
    """The lines of the report, as wide as the terminal at most."""
    width = min(max(width, _LEAST_WIDTH), _MOST_WIDTH)
    yield from _header(record, style, width)
    for title, rows in (
        ("Where a step's time goes", _parts(record, style, width)),
        ("The lines where it goes", _lines(record, style, width)),
        ("Traced", _traces(record, style, width)),
        ("What grows", _growth(record, style, width)),
        (wording.costs_title(record), _costly(record, style, width)),
        ("Findings that cost this program little", _cheap(record, style, width)),
        ("Findings this run says nothing about", _rest(record, width)),
    ):
        own = list(rows)
        if own:
            yield from ("", style.strong(title))
            yield from own
    yield ""
    if too_few := wording.too_few(record):
        yield from _wrapped(too_few, width)
    yield from _wrapped(wording.observer(record), width)


def _header(record: Record, style: Style, width: int) -> Iterator[str]:
    yield style.strong(printable(wording.program(record)))
    yield from _wrapped(wording.versions(record), width)
    yield from _wrapped(wording.steps(record), width)
    if said := wording.step_time(record):
        yield style.strong(said)
    for note in record.steps.notes:
        yield from _wrapped(f"note: {note}", width)


def _parts(record: Record, style: Style, width: int) -> Iterator[str]:
    parts = wording.parts(record)
    longest = max((share for _, _, share in parts), default=1.0)
    whole = sum(record.parts.values())
    time_of = in_unit_of(whole)
    rows: list[tuple[str, str, str, str]] = [
        (part, time_of(time), percent(share), wording.PART_WORDS[part]) for part, time, share in parts
    ]
    if rows:
        rows.append(("together", time_of(whole), "100%", ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)] if rows else []
    bar = max(min(_BAR, width - sum(widths) - 12), 8)
    for (name, time, share, words), part in zip_longest(rows, parts):
        drawn = _bar(part[2] / longest, bar) if part else ""
        said = f"{_INDENT}{name:<{widths[0]}}  {style.frame(f'{drawn:<{bar}}')}  {time:>{widths[1]}}  {share:>{widths[2]}}"
        yield f"{said}  {words}".rstrip() if width >= 76 else said


def _bar(share: float, width: int) -> str:
    """A bar as long as a share of the width, to an eighth of a column."""
    eighths = round(share * width * 8)
    whole, part = divmod(eighths, 8)
    return ("█" * whole + _EIGHTHS[part]).rstrip() or _EIGHTHS[1]


def _lines(record: Record, style: Style, width: int) -> Iterator[str]:
    lines = wording.costly_lines(record, _LINES)
    time_of = in_unit_of(record.step.value if record.step is not None else 1.0)
    rows = [
        (
            printable(wording.place(line.spot)),
            time_of(line.seconds, line.error),
            percent(line.share),
            printable(line.source.strip()),
            wording.line_events(line),
        )
        for line in lines
    ]
    if not rows:
        return
    first, second, third = (max(len(row[at]) for row in rows) for at in range(3))
    room = width - first - second - third - 10
    source = min(max(len(row[3]) for row in rows), _SOURCE, max(room // 2, 16))
    for spot, time, share, text, events in rows:
        said = f"{_INDENT}{spot:<{first}}  {time:>{second}}  {share:>{third}}  {_cut(text, source):<{source}}"
        # What happens there is the cause, and is not cut: where there is no room beside the code, it stands below.
        beside = room - source if room - source >= _LEAST_EVENTS else 0
        own, *more = textwrap.wrap(events, beside) if beside and events else [""]
        below = textwrap.wrap(events, width - len(_BELOW)) if not beside else more
        indent = " " * (len(said) + 2) if beside else _BELOW
        yield f"{said}  {style.fixable(own)}".rstrip() if own else said.rstrip()
        yield from (f"{indent}{style.fixable(line)}" for line in below)


def _traces(record: Record, style: Style, width: int) -> Iterator[str]:
    traced = wording.traced(record)
    for one in traced[:_TRACES]:
        where = f" ({wording.place(one.spot)})" if one.spot is not None else ""
        yield from _wrapped(f"{one.function}{where}: {wording.trace_line(one, record)}", width, _INDENT)
    if len(traced) > _TRACES:
        yield f"{_INDENT}and {len(traced) - _TRACES} more, for {_together(traced[_TRACES:])}"


def _together(traced: Sequence[object]) -> str:
    return seconds(sum(getattr(one, "seconds", 0.0) for one in traced))


def _growth(record: Record, style: Style, width: int) -> Iterator[str]:
    rows = list(wording.growing(record))
    longest = max((len(name) for name, _ in rows), default=0)
    for name, said in rows:
        yield from _wrapped(f"{name:<{longest}}  {said}", width, _INDENT, " " * (longest + 2))


def _costly(record: Record, style: Style, width: int) -> Iterator[str]:
    found = wording.with_status(record, *wording.COST)
    shown = found[:_FINDINGS]
    savings = [wording.saving(one, record) for one in shown]
    first, second = (max((len(row[at]) for row in savings), default=0) for at in range(2))
    places = max((len(wording.place(one.spot)) for one in shown), default=0)
    for one, (time, share) in zip(shown, savings, strict=True):
        head = f"{_INDENT}{time:>{first}}  {share:>{second}}  "
        name = f"{style.code(one.code)} {one.name} ({one.status})"
        yield f"{style.strong(head)}{printable(wording.place(one.spot)):<{places}}  {name}"
        detail = wording.detail(one, record)
        said = f"{one.message} ({detail})" if detail else one.message
        yield from _wrapped(said, width, " " * len(head), most=2)
    if len(found) > len(shown):
        yield f"{_INDENT}and {len(found) - len(shown)} more: {wording.at_places(found[_FINDINGS:])}"


def _cheap(record: Record, style: Style, width: int) -> Iterator[str]:
    found = wording.with_status(record, "cheap")
    yield from _short(found[:_CHEAP], style, width)
    if len(found) > _CHEAP:
        yield from _wrapped(f"and {wording.at_places(found[_CHEAP:])}", width, _INDENT)


def _short(found: Sequence[Settled], style: Style, width: int) -> Iterator[str]:
    places = max((len(wording.place(one.spot)) for one in found), default=0)
    for one in found:
        head = f"{_INDENT}{printable(wording.place(one.spot)):<{places}}  "
        first, *more = textwrap.wrap(
            f"{one.code} {one.name}: {one.why}", max(width - len(head), _LEAST_EVENTS)
        )
        yield f"{head}{style.code(one.code)}{first.removeprefix(one.code)}"
        yield from (f"{' ' * len(head)}{line}" for line in more)


def _rest(record: Record, width: int) -> Iterator[str]:
    for said, found in wording.not_judged(record):
        yield from _wrapped(f"{said}: {wording.at_places(found)}", width, _INDENT)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 1, 0)].rstrip() + "…"


def _wrapped(
    text: str, width: int, indent: str = "", hanging: str = "", most: int | None = None
) -> Iterator[str]:
    yield from textwrap.wrap(
        printable(text),
        width,
        initial_indent=indent,
        subsequent_indent=indent + hanging,
        break_long_words=False,
        break_on_hyphens=False,
        max_lines=most,
        placeholder=" …",
        drop_whitespace=True,
    )
