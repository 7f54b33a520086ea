"""The report of a run as people read it: one screen, what costs most first, no wider than the terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.observed.made_up import (
    APPEND,
    CALL,
    CONVERT,
    EAGER,
    LOOP,
    PRINT,
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
from tflint_perf.measured.record import Ending, Growth, Interval, Look, Record, Spot, Steps
from tflint_perf.observed.figures import beside, events_in_words, in_unit_of
from tflint_perf.observed.settle import in_order
from tflint_perf.observed.text import render
from tflint_perf.report.style import Style

FEW: Mapping[Look, int] = {"time": 2, "lines": 0, "details": 3}


@pytest.mark.parametrize(
    ("ended", "remedy"),
    [
        ("steps", "look at more with `--steps 100`."),
        ("seconds", "look at 100 with `--seconds 250`."),
        ("end", "let the program train for 100 steps or more."),
    ],
)
def test_of_too_few_steps_no_bounds_are_given_and_it_is_said_how_more_are_had(
    tmp_path: Path, ended: Ending, remedy: str
) -> None:
    made = record(tmp_path, *EAGER, looked_at=FEW, mean_step=2.45, ended=ended, observer=None)
    found = settled(made, write(tmp_path), finding("TFP101", TAPE), finding("TFP401", APPEND))
    said = " ".join(" ".join(render(replace(made, findings=in_order(found)), Style(), 100)).split())
    assert (
        "Too few steps were looked at to say what anything costs (2 for their time, 0 for the lines that hold it, 3 for "
        f"what happens there): {remedy}"
    ) in said
    assert "too few steps to tell: train.py:12 TFP101, train.py:27 TFP401" in said
    for claim in ("at most", "cost this program little", "no tensor stayed"):
        assert claim not in said


@pytest.fixture
def run(tmp_path: Path) -> Record:
    """A run with something of everything."""
    made = record(
        tmp_path,
        *EAGER,
        line(LOOP, 5e-4, event("input", "next", 1, 4e-4)),
        line(CONVERT, 2e-4, event("conversion", "ndarray", 1, 1e-4, 4096)),
        line(PRINT, 2e-3, event("gc", "gc.collect", 1, 2e-3)),
        kept=(kept("list `losses` of module train", APPEND),),
        growth={"live tensors": RISING, "step time": Growth(Interval(0, -1, 1), False, ())},
        traces=(traced(11, CALL, {"first call": 1, "new Python value": 57}, 0.1),),
    )
    found = settled(
        made,
        write(tmp_path),
        finding("TFP101", TAPE, message="the step runs op by op; compile it"),
        finding("TFP406", PRINT, message="`gc.collect()` runs; remove it"),
        finding("TFP301", CONVERT),
        finding("TFP404", 1),
        replace(finding("TFP302", PRINT), lines=("gone",), start=replace(finding("TFP302", 1).start, row=99)),
    )
    return replace(made, findings=in_order(found))


def text(run: Record, width: int = 100, color: bool = False) -> str:
    return "\n".join(render(run, Style(color), width))


def part(report: str, title: str) -> list[str]:
    """The lines below a title."""
    return report.split(f"\n{title}\n", 1)[1].split("\n\n", 1)[0].splitlines()


def test_the_head_says_which_program_how_its_steps_were_found_and_what_one_takes(run: Record) -> None:
    head = text(run, 120).split("\n\n")[0].splitlines()
    assert head == [
        "train.py",
        "TensorFlow 9.8.7, Keras 6.5.4, Python 3.21.0 on CPU (synthetic)",
        "200 steps, each an iteration of the loop at train.py:24, with gradients applied at train.py:16; the program was stopped",
        "there, 12 s after its start.",
        "A step takes 8.00 ms (7.90 to 8.20); the first took 2.0 s.",
    ]


def test_uneven_steps_are_told_by_mean_and_median(tmp_path: Path) -> None:
    head = text(record(tmp_path, *EAGER, median_step=0.0012), 120).split("\n\n")[0].splitlines()
    assert head[-1] == (
        "A step takes 8.00 ms (7.90 to 8.20) on average, and half of them less than 1.2 ms; the first took 2.0 s."
    )


def test_the_parts_stand_with_bars_the_largest_first_and_sum_to_the_step(run: Record) -> None:
    rows = part(text(run), "Where a step's time goes")
    assert [row.split()[0] for row in rows] == ["dispatch", "device", "rest", "together"]
    assert re.fullmatch(r"  dispatch  █{28}  5.00 ms   62%  Python in TensorFlow, starting ops", rows[0])
    assert rows[1].count("█") == 11
    assert "8.00 ms  100%" in rows[-1]


def test_the_lines_stand_by_their_time_with_their_code_and_what_happens_there(run: Record) -> None:
    rows = part(text(run, 130), "The lines where it goes")
    assert rows[0].split()[:4] == ["train.py:13", "2.00", "ms", "25%"]
    assert rows[0].endswith("predictions = model(x)                          20 eager ops")
    assert "1 conversion (ndarray), 4.1 kB" in rows[-1]


@pytest.mark.parametrize("width", [60, 80, 100, 132])
def test_what_happens_at_a_line_and_why_a_finding_is_cheap_are_not_cut(run: Record, width: int) -> None:
    events = (
        event("input", "next", 1.3, 3e-4),
        event("op", "MatMul", 0.67, 2e-4),
        event("new", "Iterator", 0.17, 1e-4),
    )
    lines = (replace(run.lines[0], source="x" * 300, events=events), *run.lines[1:])
    why = "seen, but 0.15 of 110 ms a step: 1 conversion, 200 kB, of all the pipelines that the program has"
    cheap = replace(run.findings[-2], status="cheap", why=why)
    report = text(replace(run, lines=lines, findings=(cheap,)), width)
    words = " ".join(" ".join(part(report, "The lines where it goes")).split())
    assert "1.3 batches, 0.67 eager ops, 0.17 new Iterator" in words
    assert f": {why}" in " ".join(" ".join(part(report, "Findings that cost this program little")).split())
    assert max(map(len, report.splitlines())) <= width


def test_a_cause_of_a_trace_that_nobody_saw_is_called_that(run: Record) -> None:
    again = traced(11, CALL, {"first call": 1, "other": 1}, 0.1)
    said = " ".join(row.strip() for row in part(text(replace(run, traces=(again,))), "Traced"))
    assert "a reason that was not seen (1×)" in said


@pytest.mark.parametrize(
    ("row", "seconds", "named"), [(None, 0.0, False), (None, 0.5, True), (11, 0.0, True)]
)
def test_a_function_of_a_library_that_is_traced_again_is_named_where_it_takes_long(
    run: Record, row: int | None, seconds: float, named: bool
) -> None:
    again = traced(row, CALL, {"first call": 1, "new function object": 2}, seconds)
    assert ("Traced" in text(replace(run, traces=(again,)))) == named


def test_batches_of_fit_are_called_that(run: Record) -> None:
    steps = replace(run.steps, kind="keras", update=None)
    assert "200 steps, each a batch of `fit` at train.py:24; the" in text(replace(run, steps=steps), 120)


def test_findings_stand_by_what_mending_would_save(run: Record) -> None:
    rows = part(text(run), "What fixing would save per step, at most")
    assert rows[0] == "  4.50 ms  56%  train.py:12  TFP101 tfp101 (confirmed)"
    assert rows[1].strip() == "the step runs op by op; compile it (110 eager ops)"
    assert "TFP406" in rows[2]


def test_cheap_findings_and_those_that_nothing_is_said_of_stand_below(run: Record) -> None:
    report = text(run)
    (cheap,) = part(report, "Findings that cost this program little")
    assert cheap.startswith("  train.py:25  TFP301 tfp301: seen, but 0.10 of 8.0 ms a step: 1 conversion")
    rest = part(report, "Findings this run says nothing about")
    assert rest == [
        "  their rows were not reached: train.py:99 TFP302",
        "  a run cannot tell: train.py:1 TFP404",
    ]


def test_what_grows_is_named_with_its_slope_and_what_does_not_is_not(run: Record) -> None:
    assert part(text(run), "What grows") == [
        "  live tensors  +1 a step (+0.90 to +1.1), from 100 to 300",
        "  kept          12 tensors a step, held by list `losses` of module train",
    ]


def test_functions_that_were_traced_again_are_named_with_the_cause(run: Record) -> None:
    said = " ".join(row.strip() for row in part(text(run), "Traced"))
    assert said.startswith("train_step (train.py:11): 58 times in 100 ms, 57 of them after the first five")
    assert "new Python value (57×); called at train.py:26" in said


def test_the_last_lines_say_what_observing_cost(run: Record) -> None:
    assert text(run, 130).endswith(
        "Observing made a step 1.02× (1.01 to 1.04) as long; the few steps looked at in detail, left out above, took 1.5× as "
        "long."
    )
    assert "was not measured" in text(replace(run, observer=None))


@pytest.mark.parametrize(
    ("sums", "said"), [(1.04, False), (0.96, False), (0.175, True), (1.5, True), (None, False)]
)
def test_parts_that_do_not_sum_to_a_step_are_said_to_be_rough(
    run: Record, sums: float | None, said: bool
) -> None:
    assert (
        "is a share of that, and rough" in text(replace(run, parts_sum=sums), 130).replace("\n", " ")
    ) is said


@pytest.mark.parametrize("width", [40, 60, 76, 80, 100, 132, 400])
def test_no_line_is_wider_than_the_terminal(run: Record, width: int) -> None:
    wide = replace(run, lines=(replace(run.lines[0], source="x" * 300), *run.lines[1:]))
    assert max(map(len, text(wide, width).splitlines())) <= min(max(width, 60), 132)


def test_colours_change_nothing_else(run: Record) -> None:
    coloured = text(run, 100, color=True)
    assert coloured != text(run)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == text(run)


def test_a_report_is_one_screen(run: Record) -> None:
    assert len(text(run).splitlines()) <= 50


def test_code_that_would_steer_the_terminal_is_shown_harmless(run: Record) -> None:
    evil = replace(run, program=("\x1b[2J.py",), lines=(replace(run.lines[0], source="print('\x1b[2J')"),))
    assert "\x1b" not in text(evil)


def test_a_run_without_steps_says_so(run: Record) -> None:
    none = replace(
        run,
        steps=Steps(0, "none", None, None),
        step=None,
        first_step=None,
        parts={},
        lines=(),
        findings=(),
        observer=None,
        ended="error",
        code=1,
    )
    assert "No training step was seen: the program failed (exit code 1), 12 s after its start." in text(none)


def test_a_notebook_names_its_cells(run: Record) -> None:
    steps = Steps(200, "optimizer", Spot("n.ipynb", 3, 2), None)
    assert "at n.ipynb:cell 2:3" in text(replace(run, steps=steps))


def test_notes_on_how_steps_were_found_are_shown(run: Record) -> None:
    noted = replace(run, steps=replace(run.steps, notes=("two optimizers, one round of the loop",)))
    assert "note: two optimizers, one round of the loop" in text(noted)


@pytest.mark.parametrize(
    ("seconds", "step", "said"),
    [
        (3.1e-3, 8.2e-3, "3.1 of 8.2 ms"),
        (2.2e-5, 8.2e-3, "0.02 of 8.2 ms"),
        (2.5e-4, 8.2e-3, "0.25 of 8.2 ms"),
        (1e-9, 8.2e-3, "less than 0.008 of 8.2 ms"),
        (0.5, 1.5, "0.50 of 1.5 s"),
        (4e-5, 9e-5, "40 of 90 µs"),
    ],
)
def test_a_time_stands_beside_the_step_in_its_unit(seconds: float, step: float, said: str) -> None:
    assert beside(seconds, step) == said


def test_times_that_are_compared_have_as_many_decimals() -> None:
    assert [in_unit_of(8.2e-3)(time) for time in (8.2e-3, 5e-5)] == ["8.20 ms", "0.05 ms"]
    assert in_unit_of(0.37)(0.0021) == "2.1 ms"


@pytest.mark.parametrize(
    ("time", "error", "told"),
    [
        (3.14e-3, 0.01e-3, "3.14 ms"),
        (3.14e-3, 0.1e-3, "3.1 ms"),
        (3.14e-3, 1e-3, "3 ms"),
        (3.14e-3, 0.0, "3.14 ms"),  # where it is not known
        (0.04e-3, 0.1e-3, "<0.1 ms"),
        (0.0, 0.0, "0.00 ms"),
    ],
)
def test_a_time_has_no_more_decimals_than_its_error_allows(time: float, error: float, told: str) -> None:
    assert in_unit_of(8.2e-3)(time, error) == told


def test_events_of_a_line_are_named_the_costliest_first_and_ops_together() -> None:
    happened = [
        event("op", "Mul", 2, 1e-4),
        event("op", "Add", 3, 1e-4),
        event("copy", "float()", 1, 1e-3, 4),
        event("new", "Dataset"),
        event("function", "train_step", 1, 5e-5),
    ]
    assert (
        events_in_words(happened, most=4)
        == "1 copy to the host (float()), 4 B, 5 eager ops, train_step, new Dataset"
    )
