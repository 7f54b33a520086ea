"""Charts as inline SVG. Colours are classes, so that the page's style sheet decides on light and dark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import ceil, floor, log10
from typing import Any
from xml.etree.ElementTree import Element

from tflint_perf.catalogue.figures import count, seconds, size
from tflint_perf.catalogue.measured import Side
from tflint_perf.verify.markup import element
from tflint_perf.verify.series import SIDES, Chart, Line, Point

WIDTH, HEIGHT = 540, 270
LEFT, RIGHT, TOP, BOTTOM = 48, 48, 14, 30
_TICKS = 5
_LABEL_GAP = 15
Scale = Callable[[float], float]

# The scale of all effects: from half as fast to a thousand times.
BAR_WIDTH, BAR_HEIGHT = 120, 26
_BAR_LOW, _BAR_HIGH = 0.5, 1000.0


def draw(chart: Chart, name: str) -> Element:
    """One chart; `name` says of what, for those who do not see it."""
    x = _linear(0, chart.last_step, LEFT, WIDTH - RIGHT)
    y = (_logarithmic if chart.logarithmic else _linear)(chart.low, chart.high, HEIGHT - BOTTOM, TOP)
    return element(
        "svg",
        element("title", f"{chart.title} over steps, {name}"),
        element("desc", describe(chart)),
        *_frame(chart, x, y),
        *(_path(line, x, y, chart) for line in sorted(chart.lines, key=lambda line: line.typical)),
        *_dots(chart, x, y),
        *_labels(chart, x, y),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        class_="chart",
    )


def heading_of(chart: Chart) -> str:
    """The title of a chart with the unit of its values, and what it leaves out."""
    left_out = f"{chart.left_out} point{'s' if chart.left_out > 1 else ''} above" if chart.left_out else ""
    said = ", ".join(filter(None, [unit_of(chart)[0], "logarithmic" if chart.logarithmic else "", left_out]))
    return f"{chart.title} ({said})" if said else chart.title


def describe(chart: Chart) -> str:
    """What the chart shows, in a sentence."""
    say, sides = _saying(chart), chart.sides
    if len(sides) == 1:
        (_, first), *_, (_, last) = chart.typical(sides[0]).points
        return f"{chart.title} over {chart.last_step:,.0f} steps: from {say(first)} to {say(last)}."
    ends = [
        f"{chart.names[side]} from {say(line.points[0][1])} to {say(line.points[-1][1])}"
        for side, line in ((side, chart.typical(side)) for side in sides)
    ]
    return (
        f"{chart.title}, the typical run of each script over {chart.last_step:,.0f} steps: {', '.join(ends)}."
    )


def draw_effect(effect: Mapping[str, float], least: float, say: str) -> Element:
    """An effect with its interval beside what was claimed, on a logarithmic scale that all bars share."""
    scale = _logarithmic(_BAR_LOW, _BAR_HIGH, 4, BAR_WIDTH - 4)

    def x(value: float) -> float:
        return scale(min(max(value, _BAR_LOW), _BAR_HIGH))

    middle = BAR_HEIGHT / 2
    decades = [element("path", d=f"M{_n(x(at))} 3V{BAR_HEIGHT - 3}", class_="grid") for at in (1, 10, 100)]
    return element(
        "svg",
        element("title", say),
        *decades,
        element("path", d=f"M{_n(x(least))} 5V{BAR_HEIGHT - 5}", class_="claimed"),
        element("path", d=f"M{_n(x(effect['low']))} {middle}H{_n(x(effect['high']))}", class_="interval"),
        element("circle", cx=_n(x(effect["value"])), cy=_n(middle), r="4", class_="effect"),
        viewBox=f"0 0 {BAR_WIDTH} {BAR_HEIGHT}",
        width=str(BAR_WIDTH),
        height=str(BAR_HEIGHT),
        role="img",
    )


def ticks(low: float, high: float, logarithmic: bool = False) -> Sequence[float]:
    """Round numbers that fall into a range."""
    if logarithmic:
        decades = range(floor(log10(low)), ceil(log10(high)) + 1)
        for steps in ((1,), (1, 3), (1, 2, 5)):
            found = [round(part * 10.0**power, 12) for power in decades for part in steps]
            found = [tick for tick in found if low <= tick <= high]
            if len(found) >= 3:
                break
        return found
    rough = (high - low) / _TICKS
    power = 10.0 ** floor(log10(rough))
    step = next(part * power for part in (1, 2, 5, 10) if part * power >= rough)
    return [round(at * step, 12) for at in range(ceil(low / step), floor(high / step + 1e-9) + 1)]


def unit_of(chart: Chart) -> tuple[str, float]:
    """The unit of a chart's axis, and what it is in seconds or bytes."""
    if chart.is_count:
        return "", 1.0
    if not chart.is_time:
        return ("GB", 1e9) if chart.high >= 2e9 else ("MB", 1e6)
    return next((unit for unit in (("s", 1.0), ("ms", 1e-3)) if chart.high >= unit[1]), ("µs", 1e-6))


def _frame(chart: Chart, x: Scale, y: Scale) -> Sequence[Element]:
    unit = unit_of(chart)[1]
    values = ticks(chart.low / unit, chart.high / unit, chart.logarithmic)
    frame = []
    for value in values:
        at = y(value * unit)
        frame.append(element("path", d=f"M{LEFT} {_n(at)}H{WIDTH - RIGHT}", class_="grid"))
        frame.append(_text(f"{value:,.10g}", LEFT - 8, at + 4, "end"))
    base = HEIGHT - BOTTOM
    frame.append(element("path", d=f"M{LEFT} {base}H{WIDTH - RIGHT}", class_="axis"))
    for step in ticks(0, chart.last_step):
        frame.append(_text(f"{step:,.0f}", x(step), base + 20, "middle"))
    return [*frame, _text("step", WIDTH - RIGHT + 20, base + 20, "")]


def _path(line: Line, x: Scale, y: Scale, chart: Chart) -> Element:
    places = [f"{_n(x(step))} {_n(_clipped(y(_inside(value, chart))))}" for step, value in line.points]
    return element(
        "path", d="M" + "L".join(places), class_=f"{line.side} {'typical' if line.typical else 'run'}"
    )


def _dots(chart: Chart, x: Scale, y: Scale) -> Sequence[Element]:
    """The points of the typical runs, which tell their figure when pointed at."""
    say, sides = _saying(chart), chart.sides
    return [
        element(
            "circle",
            element(
                "title",
                f"{f'{chart.names[side]}, ' if len(sides) > 1 else ''}step {step:,.0f}: {say(value)}",
            ),
            cx=_n(x(step)),
            cy=_n(_clipped(y(_inside(value, chart)))),
            r="2.6",
            class_=side,
        )
        for side in sides
        for step, value in chart.typical(side).points
    ]


def _labels(chart: Chart, x: Scale, y: Scale) -> Sequence[Element]:
    """The name of each script at the end of its line, moved apart where they would overlap; one needs no name."""
    if len(chart.sides) == 1:
        return []
    ends: dict[Side, Point] = {side: chart.typical(side).points[-1] for side in SIDES}
    heights = {side: _clipped(y(_inside(end[1], chart))) for side, end in ends.items()}
    upper, lower = sorted(heights, key=lambda side: heights[side])
    if (missing := _LABEL_GAP - (heights[lower] - heights[upper])) > 0:
        heights[upper] -= missing / 2
        heights[lower] += missing / 2
    return [
        _text(chart.names[side], x(ends[side][0]) + 8, heights[side] + 4, f"label {side}") for side in SIDES
    ]


def _saying(chart: Chart) -> Callable[[float], str]:
    return count if chart.is_count else seconds if chart.is_time else size


def _inside(value: float, chart: Chart) -> float:
    return max(value, chart.low) if chart.logarithmic else value


def _clipped(height: float) -> float:
    return min(max(height, TOP - 6), HEIGHT - BOTTOM)


def _text(said: str, x: float, y: float, kind: str) -> Element:
    return element("text", said, x=_n(x), y=_n(y), class_=kind)


def _linear(low: float, high: float, start: float, end: float) -> Scale:
    span = (high - low) or 1.0
    return lambda value: start + (value - low) / span * (end - start)


def _logarithmic(low: float, high: float, start: float, end: float) -> Scale:
    linear = _linear(log10(low), log10(high), start, end)
    return lambda value: linear(log10(value))


def _n(value: Any) -> str:
    """A coordinate to a tenth of a pixel."""
    return f"{value:.1f}".removesuffix(".0")
