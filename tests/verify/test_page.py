"""The report as a page, read as a browser reads it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import pytest

from tests.verify.html import of_class, parse, text_of
from tests.verify.synthetic import GPU, RESIDENT, document, not_measurable, result, run
from tflint_perf.catalogue.measured import Side
from tflint_perf.verify.about import about
from tflint_perf.verify.chart import draw, heading_of, ticks
from tflint_perf.verify.page import page_text, write_page
from tflint_perf.verify.series import Chart, charts_of

pytestmark = pytest.mark.slow

RESULTS: dict[str, Any] = {
    "TFP101": result(),
    "TFP203": result(run(0.02, growth=4.3, leak=250_000), run(0.0006), value=4.3, kind="growth"),
    "TFP301": result(run(0.00102), run(0.001), value=1.02, verdict="refuted", reason="1.02 is short of 2"),
    "TFP404": not_measurable(),
    "TFP505": result(value=None, verdict="failed", reason="slow.py stopped")
    | {"output": "ValueError: <3 & more>", "losses": None},
}


@pytest.fixture(scope="module")
def page() -> Element:
    return parse(page_text(document(RESULTS)))


def sections(page: Element) -> dict[str, Element]:
    return {section.get("id", ""): section for section in page.iter("section")}


def test_the_page_is_one_file_that_needs_no_other(tmp_path: Path) -> None:
    path = write_page(document(RESULTS), tmp_path / "new" / "report")
    assert [path] == list(path.parent.iterdir())
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert not re.search(r"""(src|href)=["'](?!#)|url\(|@import|<script|<link|https?:""", text)


def test_the_page_says_where_and_when_it_was_measured_and_with_what(page: Element) -> None:
    (header,) = page.iter("header")
    assert "CPU (synthetic). TensorFlow 9.8.7, Keras 6.5.4, Python 3.21.0. 2030-01-02." in text_of(header)


def test_the_driver_of_a_gpu_is_named() -> None:
    (header,) = parse(page_text(document(RESULTS, GPU))).iter("header")
    assert "Synthetic GPU, driver 1.2.3." in text_of(header)


def test_the_verdicts_are_counted(page: Element) -> None:
    (tally,) = of_class(page, "tally")
    counted = [text_of(item) for item in tally]
    assert counted == ["2 confirmed", "1 refuted", "1 not measurable", "1 failed"]


def test_the_first_table_has_a_row_for_each_experiment_that_leads_to_its_section(page: Element) -> None:
    table = next(page.iter("table"))
    rows = [[text_of(cell) for cell in row] for row in table.iter("tr")]
    assert rows[0][:6] == ["experiment", "verdict", "claim", "slow", "fast", "effect (interval)"]
    assert rows[1][:6] == [
        "TFP101 eager-train-step",
        "confirmed",
        "step time ≥ 2×",
        "17 ms",
        "1.0 ms",
        "17.2× (16.3 to 18.1)",
    ]
    assert [row[:2] for row in rows[4:]] == [
        ["TFP404 missing-memory-growth", "not measurable"],
        ["TFP505 map-before-batch", "failed"],
    ]
    assert [link.get("href", "")[1:] for link in table.iter("a")] == list(sections(page))


@pytest.mark.parametrize(
    ("anchor", "says"),
    [
        ("tfp101", "Measured: slow 17 ms, fast 1.0 ms, effect 17.2× (16.3 to 18.1)."),
        ("tfp203", "Claim: growth of step time at least 2×. Measured: slow 4.3×, fast 1.0×,"),
        ("tfp301", "slow 1.0 ms, fast 1.0 ms, effect 1.02× (0.969 to 1.07). The losses agree"),
        ("tfp404", "Needs a GPU, and none is there."),
        ("tfp505", "Slow.py stopped."),
    ],
)
def test_a_section_says_what_was_claimed_what_was_measured_and_why(
    page: Element, anchor: str, says: str
) -> None:
    assert says in text_of(sections(page)[anchor])


@pytest.mark.parametrize(
    ("anchor", "titles"),
    [
        ("tfp101", ["Step time"]),
        ("tfp203", ["Step time", "Memory taken since the start"]),
        ("tfp301", ["Step time"]),
    ],
)
def test_what_ran_has_a_chart_of_step_time_and_one_of_memory_where_something_grows(
    page: Element, anchor: str, titles: list[str]
) -> None:
    section = sections(page)[anchor]
    assert [text_of(heading).split(" (")[0] for heading in section.iter("h3")] == titles
    for chart in of_class(section, "chart"):
        assert len(of_class(chart, "typical")) == 2  # one line for each script
        assert len(of_class(chart, "run")) == 2  # the other pair
        assert {"slow", "fast"} <= {text_of(text) for text in chart.iter("text")}


@pytest.mark.parametrize("anchor", ["tfp404", "tfp505"])
def test_what_did_not_run_has_no_chart(page: Element, anchor: str) -> None:
    assert of_class(sections(page)[anchor], "chart") == []


def test_what_a_failed_script_wrote_is_shown_and_escaped(page: Element) -> None:
    (output,) = sections(page)["tfp505"].iter("pre")
    assert output.text == "ValueError: <3 & more>"


def test_every_picture_has_a_name_and_every_chart_a_description(page: Element) -> None:
    pictures = [element for element in page.iter() if element.get("role") == "img"]
    # An effect each, step times, and the memory of what grows.
    assert len(pictures) == 3 + 3 + 1
    assert all(text_of(picture[0]) and picture[0].tag == "title" for picture in pictures)
    descriptions = [text_of(found) for found in page.iter("desc")]
    assert len(descriptions) == 3 + 1
    assert descriptions[1].startswith("Step time, the typical run of each script over 100 steps: slow from ")


def test_tables_scroll_by_themselves_and_can_be_reached_by_keyboard(page: Element) -> None:
    around = {child: parent for parent in page.iter() for child in parent}
    for table in page.iter("table"):
        assert around[table].get("class") == "scroll"
        assert around[table].get("tabindex") == "0"
        assert around[table].get("aria-label")


def test_all_runs_are_listed(page: Element) -> None:
    table = next(sections(page)["tfp203"].iter("table"))
    rows = [[text_of(cell) for cell in row] for row in table.iter("tr")]
    assert len(rows) == 1 + 2 * 2
    assert rows[1] == ["1", "slow", "500 ms", "20 ms", "4.3×", "+250 kB a step", "0 a step", "1", "50"]


def test_the_page_has_colours_for_dark_screens(page: Element) -> None:
    (style,) = page.iter("style")
    assert "prefers-color-scheme: dark" in text_of(style)


def test_a_belief_is_shown_by_its_title_and_a_pair_by_its_name() -> None:
    assert about("prefetch-saves-time").title == "`prefetch` shortens the wait for data"
    page = parse(page_text(document({"prefetch-saves-time": result(), "before → after": result()})))
    assert [text_of(heading) for heading in page.iter("h2")] == [
        "prefetch shortens the wait for data",
        "before → after",
    ]


def time_chart(**how: Any) -> Chart:
    return charts_of(result(**how))[0]


def test_scripts_that_are_far_apart_are_drawn_on_a_logarithmic_scale() -> None:
    assert heading_of(time_chart(slow=run(0.1), fast=run(0.001))) == "Step time (ms, logarithmic)"
    assert heading_of(time_chart(slow=run(0.002), fast=run(0.001))) == "Step time (ms)"


def test_a_growth_is_drawn_on_a_linear_scale_from_zero() -> None:
    chart = time_chart(slow=run(0.1, growth=3.0), fast=run(0.001), kind="growth")
    assert (chart.logarithmic, chart.low) == (False, 0.0)


def memory_chart(**how: Any) -> Chart:
    return charts_of(result(metric="host memory", kind="growth", **how))[1]


def test_memory_is_drawn_from_zero_without_what_was_there_before_the_first_step() -> None:
    chart = memory_chart(slow=run(0.1, leak=5_000_000))
    assert chart.low == 0.0
    slow, fast = (chart.typical(side).points for side in ("slow", "fast"))
    assert slow[0] == (10, 50_000_000) and slow[-1] == (100, 500_000_000)
    assert {value for _, value in fast} == {0}
    assert 500_000_000 < chart.high < 600_000_000


def test_memory_that_does_not_move_is_drawn_flat() -> None:
    chart = memory_chart(slow=run(0.1, leak=1000))
    first, *_, last = (value for _, value in chart.typical("slow").points)
    assert (last - first) / (chart.high - chart.low) < 0.1


@pytest.mark.parametrize(
    ("metric", "kind", "titles"),
    [
        ("step time", "ratio", ["Step time"]),
        ("first step", "ratio", ["Step time"]),
        ("step time", "growth", ["Step time", "Memory taken since the start"]),
        ("traces", "growth", ["Step time", "Traces so far"]),
        ("graph ops", "ratio", ["Step time", "Ops in all graphs"]),
        ("live tensors", "growth", ["Step time", "Live tensors"]),
        ("host memory", "ratio", ["Step time", "Memory taken since the start"]),
        ("host memory", "growth", ["Step time", "Memory taken since the start"]),
    ],
)
def test_what_is_claimed_is_drawn_beside_step_time(metric: str, kind: str, titles: list[str]) -> None:
    measured = result(metric=metric, kind=kind)
    assert [chart.title for chart in charts_of(measured)] == titles
    # Of one's own program, both are of interest.
    names: dict[Side, str] = {"slow": "before", "fast": "after"}
    _, memory = charts_of(measured, names)
    assert (memory.title, memory.low) == ("Memory of the process", 0.0)
    assert memory.high > RESIDENT


def test_what_is_counted_is_drawn_from_zero() -> None:
    measured = result(run(0.1, tensors=1.0), run(0.1), metric="live tensors", kind="growth")
    _, tensors = charts_of(measured)
    assert (tensors.low, tensors.logarithmic, heading_of(tensors)) == (0.0, False, "Live tensors")
    slow, fast = (tensors.typical(side).points for side in ("slow", "fast"))
    assert (slow[0], slow[-1]) == ((0, 100), (90, 190))
    assert {value for _, value in fast} == {100}
    assert 190 < tensors.high < 210


def test_a_window_that_something_else_held_up_does_not_press_the_rest_flat() -> None:
    held_up = run(0.01, steps=400)
    held_up["windows"][3][2] *= 50
    chart = time_chart(slow=held_up, fast=run(0.005, steps=400), pairs=5)
    assert chart.high < 0.05
    assert heading_of(chart) == "Step time (ms, 5 points above)"


def test_no_window_is_left_out_that_leaves_the_rest_in_sight() -> None:
    held_up = run(0.01, steps=400)
    held_up["windows"][3][2] *= 2.5
    chart = time_chart(slow=held_up, fast=run(0.005, steps=400), pairs=5)
    assert chart.high > max(value for line in chart.lines for _, value in line.points)
    assert heading_of(chart) == "Step time (ms)"


def test_lines_stay_inside_the_picture() -> None:
    held_up = run(0.01, steps=400)
    held_up["windows"][3][2] *= 50
    picture = draw(time_chart(slow=held_up, fast=run(0.005, steps=400), pairs=5), "x")
    _, _, width, height = map(float, picture.get("viewBox", "").split())
    for path in (*of_class(picture, "typical"), *of_class(picture, "run")):
        places = re.findall(r"(-?[\d.]+) (-?[\d.]+)", path.get("d", ""))
        assert all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y in places)


@pytest.mark.parametrize(
    ("low", "high", "logarithmic", "expected"),
    [
        (0, 10, False, [0, 2, 4, 6, 8, 10]),
        (0, 0.9, False, [0, 0.2, 0.4, 0.6, 0.8]),
        (590, 612, False, [590, 595, 600, 605, 610]),
        (0.5, 40, True, [1, 3, 10, 30]),
        (0.8, 1500, True, [1, 10, 100, 1000]),
        (0.9, 9, True, [1, 2, 5]),
    ],
)
def test_the_numbers_at_an_axis_are_round(
    low: float, high: float, logarithmic: bool, expected: list[float]
) -> None:
    assert list(ticks(low, high, logarithmic)) == expected
