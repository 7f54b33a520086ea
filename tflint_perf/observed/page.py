"""The report of a run as one page that needs no network: where the time goes, line by line, with plots over the steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from xml.etree.ElementTree import Element

from tflint_perf.measured.record import Growth, Line, Record, Settled, Status
from tflint_perf.observed import wording
from tflint_perf.observed.figures import in_unit_of, percent
from tflint_perf.verify import markup
from tflint_perf.verify.chart import draw, heading_of
from tflint_perf.verify.markup import Content, as_page, element, prose
from tflint_perf.verify.series import Chart
from tflint_perf.verify.series import Line as Curve

FILE = "index.html"
_TITLE = "Where the training time goes"
_PLOTS: Mapping[str, str] = MappingProxyType(
    {
        "step time": "Step time",
        "host memory": "Memory of the process",
        "device memory": "Memory of the device",
        "live tensors": "Tensors alive",
        "traces": "Traces",
        "graph ops": "Ops in the graph",
    }
)
_LINES, _FUNCTIONS = 25, 20
# Some room above and below a line that hardly moves.
_ROOM, _LEAST_SPAN = 0.12, 0.04
# A step that took so many times the usual one is left out of the scale.
_OUTLIER = 5.0
_TALLY: Sequence[tuple[Status, str]] = (
    ("confirmed", "confirmed"),
    ("seen in a run", "seen in a run"),
    ("cheap", "cheap here"),
    ("not judged", "not judged"),
    ("not reached", "not reached"),
)


def write_page(record: Record, folder: Path) -> Path:
    """Write the report into a folder, which is made if need be.

    Returns:
        The page, `index.html`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    page = folder / FILE
    page.write_text(page_text(record), encoding="utf-8")
    return page


def page_text(record: Record) -> str:
    """The page as HTML."""
    sheets = (
        *(files(markup.__package__ or "").joinpath(name) for name in ("page.css", "chart.css")),
        files(__package__ or "").joinpath("page.css"),
    )
    style = "".join(sheet.read_text(encoding="utf-8") for sheet in sheets)
    sections = [
        section
        for section in (_step(record), _findings(record), _lines(record), _plots(record), _traces(record))
        if section is not None
    ]
    body = element("body", _header(record), element("main", *sections), _footer(record))
    return as_page(f"{_TITLE}: {wording.program(record)}", style, body)


def _header(record: Record) -> Element:
    tally = [
        element("li", f"{number} {said}", class_=_badge(status))
        for status, said in _TALLY
        if (number := len(wording.with_status(record, status)))
    ]
    notes = [element("p", *prose(f"Note: {note}"), class_="facts") for note in record.steps.notes]
    return element(
        "header",
        element("h1", _TITLE),
        element("p", element("code", wording.program(record)), class_="program"),
        element("p", f"{wording.steps(record)} {wording.versions(record)}. {record.date}.", class_="facts"),
        *notes,
        element("ul", *tally, class_="tally"),
    )


def _step(record: Record) -> Element | None:
    """A step as a bar of its parts, each with its time below."""
    parts = wording.parts(record)
    if not parts:
        return None
    whole = sum(record.parts.values())
    time_of = in_unit_of(whole)
    bar = element(
        "div",
        *(
            element(
                "span",
                class_=f"part {part}",
                style=f"flex-grow: {share:.4f}",
                title=f"{part}: {time_of(time)}, {percent(share)}",
            )
            for part, time, share in parts
        ),
        class_="stack",
        role="img",
        aria_label="A step by its parts: "
        + ", ".join(f"{part} {percent(share)}" for part, _, share in parts),
    )
    key = element(
        "ul",
        *(
            element(
                "li",
                element("span", class_=f"swatch {part}"),
                element("strong", part),
                element("span", f"{time_of(time)}, {percent(share)}", class_="time"),
                element("span", wording.PART_WORDS[part], class_="words"),
            )
            for part, time, share in parts
        ),
        class_="key",
    )
    first, _, rest = wording.step_time(record).partition("; ")
    facts = [element("p", f"{rest[:1].upper()}{rest[1:]}", class_="facts")] if rest else []
    return element("section", element("h2", first.rstrip(".")), *facts, bar, key, class_="card", id="step")


def _findings(record: Record) -> Element | None:
    if not record.findings:
        return None
    rows = [_finding(one, record) for one in record.findings]
    table = _table("Findings, settled", ("at most", "", "where", "finding"), rows, range(2))
    said = (
        "Each figure is the most that fixing this one finding could save; figures of findings about the same lines do not add "
        "up."
    )
    if too_few := wording.too_few(record):
        said = too_few if not record.is_long_enough else f"{said} {too_few}"
    return element(
        "section",
        element("h2", wording.costs_title(record).removesuffix(", at most")),
        element("p", *prose(said), class_="facts"),
        table,
        class_="card wide",
        id="findings",
    )


def _finding(one: Settled, record: Record) -> Sequence[Content]:
    time, share = wording.saving(one, record)
    detail = wording.detail(one, record)
    name = element(
        "div",
        element("strong", element("span", one.code, class_="code"), f" {one.name}"),
        element("span", one.status, class_=_badge(one.status)),
        class_="name",
    )
    said = [
        element("div", *prose(text), class_=kind)
        for text, kind in ((one.message, "message"), (detail, "why"))
        if text
    ]
    return time, share, element("code", wording.place(one.spot)), element("div", name, *said)


def _lines(record: Record) -> Element | None:
    lines = wording.costly_lines(record, _LINES)
    if not lines or record.step is None:
        return None
    longest = max(line.share for line in lines)
    rows = [_line(line, record.step.value, longest) for line in lines]
    columns = ("line", "a step", "", "", "source", "what happens there")
    table = _table("Lines", columns, rows, range(1, 3), {4: "source", 5: "events"})
    return element("section", element("h2", "The lines where it goes"), table, class_="card wide", id="lines")


def _line(line: Line, step: float, longest: float) -> Sequence[Content]:
    bar = element("span", class_="bar", style=f"width: {100 * line.share / longest:.1f}%")
    return (
        element("code", wording.place(line.spot)),
        in_unit_of(step)(line.seconds, line.error),
        percent(line.share),
        element("div", bar, class_="bars"),
        element("code", line.source.strip(), title=line.source.strip()),
        wording.line_events(line),
    )


def _plots(record: Record) -> Element | None:
    charts = [
        chart
        for name, title in _PLOTS.items()
        if name in record.growth and (chart := chart_of(name, title, record.growth[name])) is not None
    ]
    if not charts:
        return None
    grows = list(wording.growing(record))
    said = (
        element(
            "ul",
            *(element("li", element("strong", name), " ", *prose(text)) for name, text in grows),
            class_="grows",
        )
        if grows
        else element("p", "Nothing grows with the steps.", class_="facts")
    )
    program = wording.program(record)
    figures = [element("figure", element("h3", heading_of(chart)), draw(chart, program)) for chart in charts]
    return element(
        "section",
        element("h2", "Over the steps"),
        said,
        element("div", *figures, class_="charts"),
        class_="card",
        id="steps",
    )


def chart_of(name: str, title: str, growth: Growth) -> Chart | None:
    """A figure over the steps; None where there are too few points, or all are 0. Red where it grows."""
    points = growth.points
    if len(points) < 2 or points[-1][0] <= 0 or not any(value for _, value in points):
        return None
    values = sorted(value for _, value in points)
    low, high = values[0], values[-1]
    is_time = name == "step time"
    if is_time:
        low, high = 0.0, min(high, _OUTLIER * values[len(values) // 2]) or 1e-6
    span = max(high - low, _LEAST_SPAN * abs(high), 1e-9)
    is_count = name in ("live tensors", "traces", "graph ops")
    if is_count:
        span = max(span, 1.0)
    return Chart(
        title,
        [Curve("slow" if growth.grows else "fast", points, typical=True)],
        0.0 if is_time else max(low - _ROOM * span, 0.0),
        high + _ROOM * span,
        points[-1][0],
        is_time,
        is_count=is_count,
    )


def _traces(record: Record) -> Element | None:
    traced = wording.traced(record)[:_FUNCTIONS]
    if not traced:
        return None
    rows = [
        (
            element("code", one.function),
            element("code", wording.place(one.spot)) if one.spot is not None else "",
            wording.trace_line(one, record),
        )
        for one in traced
    ]
    table = _table("Traces", ("function", "where", "traced"), rows, range(0))
    return element(
        "section", element("h2", "Functions that were traced"), table, class_="card wide", id="traces"
    )


def _footer(record: Record) -> Element:
    return element(
        "footer",
        element(
            "p",
            f"{wording.observer(record)} Times are means over the steps that were looked at; the first ones are left out. A moment of "
            "a step belongs to one part and to one line, the innermost of the program.",
        ),
        element("p", "Made by ", element("code", "tflint-perf run"), f" on {record.date}."),
    )


def _table(
    name: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Content]],
    figures: range,
    classes: Mapping[int, str] = MappingProxyType({}),
) -> Element:
    """A table that scrolls by itself where the screen is too narrow for it; `classes` are those of cells, by column."""

    def cells(tag: str, row: Sequence[Content]) -> Iterator[Element]:
        for at, content in enumerate(row):
            scope = {"scope": "col"} if tag == "th" else {}
            kind = "number" if at in figures else classes.get(at) if tag == "td" else None
            yield element(tag, content, class_=kind, **scope)

    head = element("thead", element("tr", *cells("th", columns)))
    body = element("tbody", *(element("tr", *cells("td", row)) for row in rows))
    return element(
        "div", element("table", head, body), class_="scroll", tabindex="0", role="region", aria_label=name
    )


def _badge(status: str) -> str:
    return f"verdict {status.replace(' ', '-')}"
