"""The report of a run as a page, read as a browser reads it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest

from tests.observed.made_up import (
    APPEND,
    CALL,
    EAGER,
    RISING,
    TAPE,
    event,
    finding,
    kept,
    line,
    record,
    settled,
    traced,
    write,
)
from tests.verify.html import of_class, parse, text_of
from tflint_perf.measured.record import PARTS, Growth, Interval, Record, Steps
from tflint_perf.observed.page import chart_of, page_text, write_page


@pytest.fixture
def run(tmp_path: Path) -> Record:
    made = record(
        tmp_path,
        *EAGER,
        line(APPEND, 1e-3, event("copy", "float()", 1, 1e-3)),
        kept=(kept("list `losses`", APPEND),),
        growth={
            "live tensors": RISING,
            "step time": Growth(Interval(0, 0, 0), False, ((1, 8e-3), (100, 9e-3), (200, 2.0))),
        },
        traces=(traced(11, CALL, {"first call": 1, "new shape": 9}),),
    )
    found = settled(made, write(tmp_path), finding("TFP101", TAPE, message="`<b>` & more"))
    return replace(made, findings=tuple(found))


@pytest.fixture
def page(run: Record) -> Element:
    return parse(page_text(run))


def test_the_page_is_one_file_that_needs_no_other(run: Record, tmp_path: Path) -> None:
    path = write_page(run, tmp_path / "new" / "report")
    assert [path] == list(path.parent.iterdir())
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert not re.search(r"""(src|href)=["'](?!#)|url\(|@import|<script|<link|https?:""", text)


def test_the_page_has_colours_for_light_and_dark_for_every_part(run: Record) -> None:
    text = page_text(run)
    for part in PARTS:
        assert len(re.findall(rf"--{part}: #", text)) == 2, part
        assert f".{part} {{ background: var(--{part}); }}" in text


def test_a_step_is_a_bar_of_its_parts(page: Element) -> None:
    (bar,) = of_class(page, "stack")
    assert [part.get("title") for part in bar] == [
        "dispatch: 5.00 ms, 62%",
        "device: 2.00 ms, 25%",
        "rest: 1.00 ms, 12%",
    ]
    assert sum(float(part.get("style", "").split()[-1]) for part in bar) == pytest.approx(1, abs=1e-3)


def test_lines_stand_with_their_code_and_findings_with_their_message(page: Element) -> None:
    sections = {section.get("id"): section for section in page.iter("section")}
    assert list(sections) == ["step", "findings", "lines", "steps", "traces"]
    assert "predictions = model(x)" in text_of(sections["lines"])
    assert "4.50 ms56%train.py:12TFP101 tfp101confirmed<b> & more110 eager ops" in text_of(
        sections["findings"]
    )


def test_what_grows_is_drawn_and_said(page: Element) -> None:
    titles = [text_of(heading) for heading in page.iter("h3")]
    assert titles == ["Step time (ms)", "Tensors alive"]
    assert "live tensors +1 a step" in text_of(next(iter(of_class(page, "grows"))))


def test_an_outlier_does_not_press_the_other_steps_flat(run: Record) -> None:
    chart = chart_of("step time", "Step time", run.growth["step time"])
    assert chart is not None and chart.high < 0.06


def test_a_figure_that_does_not_move_is_drawn_in_the_middle() -> None:
    flat = Growth(Interval(0, 0, 0), False, ((0, 5e8), (10, 5e8)))
    chart = chart_of("host memory", "Memory", flat)
    assert chart is not None and chart.low < 5e8 < chart.high
    assert chart_of("traces", "Traces", Growth(Interval(0, 0, 0), False, ((0, 1.0), (9, 1.0)))) is not None
    assert chart_of("traces", "Traces", Growth(Interval(0, 0, 0), False, ((0, 0.0), (9, 0.0)))) is None
    assert chart_of("traces", "Traces", Growth(Interval(0, 0, 0), False, ((5, 1.0),))) is None


def test_a_run_without_steps_has_a_page_too(run: Record) -> None:
    bare = replace(
        run,
        steps=Steps(0, "none", None, None),
        step=None,
        parts={},
        lines=(),
        findings=(),
        growth={},
        traces=(),
        kept=(),
    )
    page = parse(page_text(bare))
    assert list(page.iter("section")) == []
    assert "No training step was seen" in text_of(page)
