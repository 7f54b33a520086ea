"""The charts of a run as one PNG, drawn by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tflint_perf.catalogue.measured import effect_of, runs_of
from tflint_perf.problems import ConfigError
from tflint_perf.verify.about import about
from tflint_perf.verify.chart import heading_of, ticks, unit_of
from tflint_perf.verify.series import SIDES, Chart, charts_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLORS = {"slow": "#c2410c", "fast": "#1d64b4"}
_INK, _SOFT, _LINE = "#1b1d21", "#5d636e", "#e6e7ea"
_WIDTH, _ROW, _NAME, _FOOT, _DOTS_PER_INCH = 11.0, 3.0, 0.15, 0.3, 150
_LABEL_GAP = 0.075


def write_plots(document: Mapping[str, Any], path: Path) -> Path:
    """Draw step time over steps, and what is claimed besides, a row for each experiment that ran; below stands where.

    Raises:
        ConfigError: matplotlib is missing, or nothing ran that could be drawn.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError as error:
        raise ConfigError(f"matplotlib is needed: {error}", "--plot") from None

    rows = [
        (_title(key, result, document["device"]), charts)
        for key, result in document["results"].items()
        if (charts := charts_of(result))
    ]
    if not rows:
        raise ConfigError("nothing ran that could be drawn", "--plot")
    # Without pyplot, which would choose a window system and keep every figure.
    height = _ROW * len(rows) + _NAME + _FOOT
    # Above the first row, as between the rows, stands a name that the layout leaves out of account.
    inside = (0, _FOOT / height, 1, 1 - (_NAME + _FOOT) / height)
    layout = ConstrainedLayoutEngine(rect=inside, hspace=0.02, wspace=0.05, w_pad=0.12, h_pad=0.22)
    figure = Figure(figsize=(_WIDTH, height), dpi=_DOTS_PER_INCH, layout=layout)
    FigureCanvasAgg(figure)
    grid = figure.subplots(len(rows), 2, squeeze=False)
    for axes, (title, charts) in zip(grid, rows, strict=True):
        _draw_row(axes, title, charts)
    figure.text(0.012, 0.1 / height, _foot(document), fontsize=8, color=_SOFT)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="png")
    return path


def _title(key: str, result: Mapping[str, Any], device: Mapping[str, Any]) -> str:
    said, claim = effect_of(result), result["claim"]
    what = f"growth of {claim['metric']}" if claim["kind"] == "growth" else claim["metric"]
    return f"{about(key).name}: {f'{what} {said}, ' if said else ''}{result['verdict']} on {device['name']}"


def _foot(document: Mapping[str, Any]) -> str:
    """Where and when it was measured, and what the lines are."""
    runs = {len(runs_of(result, side)) for result in document["results"].values() for side in SIDES} - {0}
    many = f"{min(runs)} to {max(runs)}" if len(runs) > 1 else f"{max(runs)}"
    lines = f"{many} runs of each script; the thick line is the one whose step time is in the middle"
    versions = document["versions"]
    made = f"TensorFlow {versions['tensorflow']}, Keras {versions['keras']}, {document['date']}"
    return f"{document['device']['name']}, {made}. {lines}."


def _draw_row(axes: Sequence[Axes], title: str, charts: Sequence[Chart]) -> None:
    for axis in axes[len(charts) :]:
        axis.set_axis_off()
    for axis, chart in zip(axes, charts, strict=False):
        _draw(axis, chart)
        axis.set_title(heading_of(chart), loc="left", fontsize=9, color=_SOFT)
    name = axes[0].annotate(
        title,
        (0, 1),
        xytext=(0, 20),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=11,
        fontweight="bold",
        color=_INK,
    )
    # A long name may reach over both charts without pushing them apart.
    name.set_in_layout(False)


def _draw(axis: Axes, chart: Chart) -> None:
    unit = unit_of(chart)[1]
    for line in sorted(chart.lines, key=lambda line: line.typical):
        axis.plot(
            [step for step, _ in line.points],
            [value / unit for _, value in line.points],
            color=_COLORS[line.side],
            linewidth=1.6 if line.typical else 0.7,
            alpha=1.0 if line.typical else 0.35,
            marker="o" if line.typical else None,
            markersize=2.2,
        )
    if chart.logarithmic:
        axis.set_yscale("log")
        axis.minorticks_off()
    low, high = chart.low / unit, chart.high / unit
    axis.set_ylim(low, high)
    axis.set_yticks(ticks(low, high, chart.logarithmic))
    axis.yaxis.set_major_formatter("{x:,.10g}")
    axis.set_xlim(0, chart.last_step)
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.set_xlabel("step", loc="right", fontsize=8, color=_SOFT)
    axis.grid(axis="y", color=_LINE, linewidth=0.8)
    axis.set_axisbelow(True)
    axis.tick_params(labelsize=8, colors=_SOFT, length=0)
    for side, spine in axis.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(_SOFT)
    _name_lines(axis, chart, unit)


def _name_lines(axis: Axes, chart: Chart, unit: float) -> None:
    """The name of each script at the end of its typical run, moved apart where they would overlap."""
    to_share = axis.transData + axis.transAxes.inverted()
    ends = {side: chart.typical(side).points[-1] for side in SIDES}
    to_right = {side: to_share.transform((step, value / unit))[0] for side, (step, value) in ends.items()}
    heights = {side: to_share.transform((step, value / unit))[1] for side, (step, value) in ends.items()}
    lower, upper = sorted(heights, key=lambda side: heights[side])
    if (missing := _LABEL_GAP - (heights[upper] - heights[lower])) > 0:
        heights[lower] -= missing / 2
        heights[upper] += missing / 2
    for side, height in heights.items():
        axis.annotate(
            side,
            (to_right[side], height),
            xytext=(5, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            fontsize=9,
            fontweight="bold",
            color=_COLORS[side],
            verticalalignment="center",
            annotation_clip=False,
        )
