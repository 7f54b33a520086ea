"""What a run says of a finding: what it costs here, that it is cheap here, or that its row was not reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.observed.made_up import (
    APPEND,
    APPLY,
    CALL,
    CONVERT,
    DOUBLE,
    EAGER,
    FLAT,
    INNER,
    LOOP,
    LOSS_OF,
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
from tflint_perf.finding import Finding
from tflint_perf.measured.record import (
    Ending,
    Growth,
    Interval,
    Line,
    Look,
    Record,
    Settled,
    Spot,
    Steps,
    Way,
)
from tflint_perf.observed.blocks import Blocks
from tflint_perf.observed.settle import in_order


@pytest.fixture
def blocks(tmp_path: Path) -> Blocks:
    return write(tmp_path)


def one(run: Record, blocks: Blocks, found: Finding) -> Settled:
    (only,) = settled(run, blocks, found)
    return only


FEW: Mapping[Look, int] = {"time": 2, "lines": 0, "details": 3}


@pytest.mark.parametrize(("code", "row"), [("TFP101", TAPE), ("TFP301", CONVERT), ("TFP401", APPEND)])
def test_of_too_few_steps_nothing_is_said_that_rests_on_times(
    tmp_path: Path, blocks: Blocks, code: str, row: int
) -> None:
    run = record(tmp_path, *EAGER, line(CONVERT, 1e-5, event("conversion", "ndarray", 1, 1e-5)))
    assert one(run, blocks, finding(code, row)).status in ("confirmed", "cheap")
    short = one(replace(run, looked_at=FEW), blocks, finding(code, row))
    assert (short.status, short.seconds, short.why) == ("not judged", 0.0, "too few steps to tell")


@pytest.mark.parametrize(
    ("slope", "points", "status"),
    [
        (Interval(0.75, -2.0, 3.2), 5, "not judged"),  # what stays may be one a step, and none
        (Interval(0.0, 0.0, 0.0), 1, "not judged"),
        (Interval(0.0, -0.1, 0.1), 5, "cheap"),
    ],
)
def test_that_no_tensor_stays_is_said_only_where_it_is_known(
    tmp_path: Path, blocks: Blocks, slope: Interval, points: int, status: str
) -> None:
    growth = Growth(slope, False, ((10.0, 40.0),) * points)
    enough: Mapping[Look, int] = {"time": 8, "lines": 8, "details": 3}
    run = record(tmp_path, growth={"live tensors": growth}, looked_at=enough)
    assert run.is_long_enough
    assert one(run, blocks, finding("TFP401", APPEND)).status == status


@pytest.mark.parametrize(("again", "status"), [(1, "not judged"), (9, "confirmed")])
def test_what_is_counted_is_certain_in_few_steps_too(
    tmp_path: Path, blocks: Blocks, again: int, status: str
) -> None:
    run = record(
        tmp_path,
        traces=(traced(11, CALL, {"first call": 1, "new Python value": again}, 0.1),),
        looked_at=FEW,
    )
    run = replace(run, steps=replace(run.steps, count=10))
    found = one(run, blocks, finding("TFP201", CALL))
    assert (found.status, found.seconds) == (status, 0.0)


def test_a_finding_whose_row_never_ran_was_not_reached(tmp_path: Path, blocks: Blocks) -> None:
    run = record(tmp_path, reached=(Spot("train.py", 1),))
    found = one(run, blocks, finding("TFP406", PRINT))
    assert (found.status, found.seconds, found.why) == ("not reached", 0.0, "not reached")


@pytest.mark.parametrize(
    ("ended", "code", "steps", "why"),
    [
        ("error", 1, 30, "the program failed before it got there"),
        ("error", 1, 0, "the program failed before it got there"),
        ("signal", 139, 30, "the program failed before it got there"),
        ("exit", 2, 30, "the program failed before it got there"),
        ("end", 0, 0, "no steps were found, so there is nothing to compare it with"),
        ("exit", 0, 30, "not reached"),
    ],
)
def test_of_a_run_that_failed_or_made_no_steps_nobody_knows_what_is_not_reached(
    tmp_path: Path, blocks: Blocks, ended: Ending, code: int, steps: int, why: str
) -> None:
    run = record(tmp_path, reached=(), ended=ended, code=code, steps=Steps(steps, "optimizer", None, None))
    found = one(run, blocks, finding("TFP406", PRINT))
    assert (found.status == "not reached", found.why) == (why == "not reached", why)


def test_a_row_is_reached_by_its_absolute_name_too(tmp_path: Path, blocks: Blocks) -> None:
    run = record(tmp_path, reached=(Spot(str(tmp_path / "train.py"), PRINT),))
    assert one(run, blocks, finding("TFP406", PRINT)).status == "cheap"


def test_rows_of_a_function_that_was_traced_are_reached(tmp_path: Path, blocks: Blocks) -> None:
    run = record(tmp_path, reached=(), traces=(traced(20, CALL, {"first call": 1}, 1.0),))
    assert one(run, blocks, finding("TFP103", LOSS_OF)).status == "confirmed"
    assert one(run, blocks, finding("TFP103", TAPE)).status == "not reached"


def test_what_takes_much_of_a_step_is_confirmed_with_its_own_cost(tmp_path: Path, blocks: Blocks) -> None:
    run = record(tmp_path, line(PRINT, 3e-3, event("gc", "gc.collect", 1, 2.4e-3)))
    found = one(run, blocks, finding("TFP406", PRINT))
    assert (found.status, found.seconds) == ("confirmed", 2.4e-3)
    assert found.why == "2.4 of 8.0 ms a step: 1 collection"


def test_what_takes_less_than_a_fiftieth_of_a_step_is_cheap(tmp_path: Path, blocks: Blocks) -> None:
    run = record(tmp_path, line(PRINT, 1e-4, event("copy", "float()", 1, 8e-5, 4)))
    found = one(run, blocks, finding("TFP302", PRINT))
    assert (found.status, found.why) == ("cheap", "seen, but 0.08 of 8.0 ms a step: 1 copy, 4 B")


def test_what_takes_next_to_nothing_is_said_to(tmp_path: Path, blocks: Blocks) -> None:
    run = record(tmp_path, line(PRINT, 1e-4, event("copy", "float()", 1, 1e-7, 4)))
    assert "less than 0.008 of 8.0 ms a step" in one(run, blocks, finding("TFP302", PRINT)).why


def test_a_row_that_ran_without_what_the_finding_is_about_is_cheap(tmp_path: Path, blocks: Blocks) -> None:
    found = one(record(tmp_path, line(PRINT, 3e-3)), blocks, finding("TFP302", PRINT))
    assert (found.status, found.why) == ("cheap", "seen, but no copy in the steps that were looked at")


def test_an_eager_step_costs_what_its_function_takes_with_all_it_calls(
    tmp_path: Path, blocks: Blocks
) -> None:
    called = line(LOSS_OF, 1e-3, event("op", "Mean", 5, 1e-3)), line(8, 5e-4, event("op", "Relu", 5, 1e-4))
    python = line(17, 2e-4)
    run = record(tmp_path, *EAGER, *called, python, line(LOOP, 1e-3, event("input", "next", 1, 1e-3)))
    found = one(run, blocks, finding("TFP101", TAPE))
    assert found.status == "confirmed"
    assert found.seconds == pytest.approx(6.2e-3)
    assert found.why == "6.2 of 8.0 ms a step: 120 eager ops"


def test_of_a_loop_only_the_lines_count_that_make_ops(tmp_path: Path, blocks: Blocks) -> None:
    run = record(tmp_path, line(INNER, 2e-3), line(DOUBLE, 3e-3, event("op", "Mul", 100, 2e-3)))
    found = one(run, blocks, finding("TFP102", INNER))
    assert (found.seconds, found.why) == (3e-3, "3.0 of 8.0 ms a step: 100 eager ops")


def test_waiting_for_input_is_no_cost_of_an_eager_loop(tmp_path: Path, blocks: Blocks) -> None:
    inside = line(DOUBLE, 3e-3, event("op", "Mul", 100, 1e-3), event("input", "next", 1, 2e-3))
    assert one(record(tmp_path, inside), blocks, finding("TFP102", INNER)).seconds == pytest.approx(1e-3)


def test_a_model_called_in_the_loop_of_steps_costs_what_its_row_takes(tmp_path: Path, blocks: Blocks) -> None:
    run = record(
        tmp_path, line(CALL, 2e-3, event("op", "MatMul", 20)), line(DOUBLE, 3e-3, event("op", "Mul", 9))
    )
    assert one(run, blocks, finding("TFP107", CALL)).seconds == 2e-3


FORWARD = line(8, 3e-3, event("op", "Relu", 30))
FROM_THE_STEP = Way(FORWARD.spot, (Spot("train.py", 13), Spot("train.py", CALL)), 2e-3, FORWARD.events)


@pytest.mark.parametrize(("code", "row"), [("TFP107", DOUBLE), ("TFP102", INNER), ("TFP303", DOUBLE)])
def test_a_call_costs_what_ran_below_it_and_not_what_the_same_code_did_for_others(
    tmp_path: Path, blocks: Blocks, code: str, row: int
) -> None:
    own = Way(FORWARD.spot, (Spot("train.py", DOUBLE),), 1e-3, (event("op", "Relu", 10),))
    run = record(tmp_path, FORWARD, ways=(FROM_THE_STEP, own))
    assert one(run, blocks, finding(code, row)).seconds == pytest.approx(1e-3)
    nobody = record(tmp_path, FORWARD, ways=(FROM_THE_STEP,))
    assert one(nobody, blocks, finding(code, row)).status == "cheap"


def test_a_call_that_is_rare_costs_what_looks_saw_below_it(tmp_path: Path, blocks: Blocks) -> None:
    own = Way(FORWARD.spot, (Spot("train.py", DOUBLE),), 1e-3)
    found = one(record(tmp_path, FORWARD, ways=(FROM_THE_STEP, own)), blocks, finding("TFP107", DOUBLE))
    assert (found.status, found.why) == ("confirmed", "1.0 of 8.0 ms a step")


@pytest.mark.parametrize(
    ("code", "cause", "row"),
    [
        ("TFP202", "new Python value", CALL),
        ("TFP206", "new shape", CALL),
        ("TFP201", "new function object", 11),
    ],
)
def test_traces_in_later_steps_confirm_by_their_cause(
    tmp_path: Path, blocks: Blocks, code: str, cause: str, row: int
) -> None:
    run = record(tmp_path, traces=(traced(11, CALL, {"first call": 1, cause: 57}, 1.16),))
    found = one(run, blocks, finding(code, row))
    assert found.status == "confirmed"
    assert found.why == f"5.7 of 8.0 ms a step: traced 57 times in 200 steps: {cause}"


def test_traces_of_another_cause_confirm_nothing(tmp_path: Path, blocks: Blocks) -> None:
    run = record(tmp_path, traces=(traced(11, CALL, {"first call": 1, "new shape": 57}),))
    assert one(run, blocks, finding("TFP202", CALL)).status == "cheap"


def test_a_first_trace_that_takes_long_confirms_an_unrolled_loop(tmp_path: Path, blocks: Blocks) -> None:
    long, short = (traced(20, CALL, {"first call": 1}, seconds) for seconds in (1.5, 0.05))
    found = one(record(tmp_path, traces=(long,)), blocks, finding("TFP103", LOSS_OF))
    assert (found.status, found.why) == ("confirmed", "traced in 1.5 s, once, of a first step of 2.0 s")
    assert one(record(tmp_path, traces=(short,)), blocks, finding("TFP103", LOSS_OF)).status == "cheap"


def test_tensors_that_stay_confirm_by_who_holds_them(tmp_path: Path, blocks: Blocks) -> None:
    growth = {"live tensors": RISING, "host memory": replace(RISING, slope=replace(RISING.slope, value=3e5))}
    held = (kept("list `losses` of module train", APPEND),)
    found = one(record(tmp_path, kept=held, growth=growth), blocks, finding("TFP401", APPEND))
    assert (found.status, found.seconds) == ("confirmed", 0.0)
    assert found.why == "+12 tensors a step, held by list `losses` of module train; memory +300 kB a step"


def test_a_holder_without_a_place_is_known_by_its_name(tmp_path: Path, blocks: Blocks) -> None:
    growth = {"live tensors": RISING}
    for holder, status in (
        ("list `losses`", "confirmed"),
        ("list `other`", "cheap"),
        ("what could not be told", "confirmed"),
    ):
        run = record(tmp_path, kept=(kept(holder, None),), growth=growth)
        assert one(run, blocks, finding("TFP401", APPEND)).status == status, holder


def test_a_tape_holds_what_nobody_with_a_name_does(tmp_path: Path, blocks: Blocks) -> None:
    growth = {"live tensors": RISING}
    for holder, status in (
        ("GradientTape `tape`", "confirmed"),
        ("what could not be told", "confirmed"),
        ("list `losses`", "cheap"),
    ):
        run = record(tmp_path, kept=(kept(holder, None),), growth=growth)
        assert one(run, blocks, finding("TFP402", TAPE)).status == status, holder


def test_a_session_that_is_cleared_costs_its_row_and_the_traces_after_it(
    tmp_path: Path, blocks: Blocks
) -> None:
    clear = replace(finding("TFP408", PRINT), lines=("tf.keras.backend.clear_session()",))
    run = record(
        tmp_path, line(PRINT, 1e-3), traces=(traced(11, CALL, {"first call": 1, "other": 100}, 0.202),)
    )
    assert one(run, blocks, clear).seconds == pytest.approx(2e-3)
    assert one(run, blocks, finding("TFP408", PRINT)).status == "cheap"
    assert one(record(tmp_path, line(PRINT, 1e-3)), blocks, clear).status == "confirmed"


def test_where_nobody_looked_at_a_line_its_events_tell_its_time(tmp_path: Path, blocks: Blocks) -> None:
    run = record(tmp_path, line(DOUBLE, 0.0, event("op", "AddV2", 40, 1e-3), event("op", "Mul", 1, 1e-3)))
    assert one(run, blocks, finding("TFP409", DOUBLE)).seconds == pytest.approx(2e-3)


def test_tensors_that_do_not_grow_in_number_are_cheap(tmp_path: Path, blocks: Blocks) -> None:
    run = record(tmp_path, kept=(kept("list `losses`", APPEND),), growth={"live tensors": FLAT})
    assert one(run, blocks, finding("TFP401", APPEND)).status == "cheap"


def test_a_graph_that_grows_confirms_where_ops_are_added(tmp_path: Path, blocks: Blocks) -> None:
    added = line(CONVERT, 1e-4, event("graph op", "Mul", 3))
    growing = record(tmp_path, added, growth={"graph ops": RISING})
    assert one(growing, blocks, finding("TFP203", CONVERT)).why == "+3 ops in the graph a step"
    assert one(record(tmp_path, added), blocks, finding("TFP203", CONVERT)).status == "cheap"


def test_findings_of_pipelines_cost_at_most_what_a_step_waits(tmp_path: Path, blocks: Blocks) -> None:
    run = record(tmp_path, parts={"input": 3e-3, "device": 5e-3})
    found = one(run, blocks, finding("TFP503", 1))
    assert (found.status, found.seconds) == ("confirmed", 3e-3)
    assert found.why == "3.0 of 8.0 ms a step: waiting for input, of all its pipelines"


def test_what_a_run_cannot_tell_is_not_judged_and_has_its_reason(tmp_path: Path, blocks: Blocks) -> None:
    found = one(record(tmp_path), blocks, finding("TFP405", 1))
    assert (found.status, found.why) == (
        "not judged",
        "TensorFlow raises there, so there is no run to look at",
    )


def test_what_runs_between_epochs_is_not_called_cheap(tmp_path: Path, blocks: Blocks) -> None:
    run = record(tmp_path, reached=(Spot("train.py", PRINT),), between=(line(PRINT, 2.0),))
    found = one(run, blocks, finding("TFP302", PRINT))
    assert (found.status, found.why) == (
        "not judged",
        "it runs between epochs, 2.0 s each time, and in no step",
    )


def test_without_steps_nothing_is_judged(tmp_path: Path, blocks: Blocks) -> None:
    run = record(
        tmp_path,
        line(PRINT, 3e-3, event("gc", "", 1, 1.0)),
        step=None,
        parts={},
        steps=Steps(0, "none", None, None),
    )
    assert one(run, blocks, finding("TFP406", PRINT)).status == "not judged"


def test_events_count_as_in_steps_that_nobody_looks_at(tmp_path: Path, blocks: Blocks) -> None:
    run = record(tmp_path, line(PRINT, 4e-3, event("keras", "predict", 1, 8e-3)), parts_sum=2.0)
    assert one(run, blocks, finding("TFP105", PRINT)).seconds == pytest.approx(4e-3)


def test_events_take_no_more_than_their_part_of_the_step(tmp_path: Path, blocks: Blocks) -> None:
    odd = line(PRINT, 4e-3, event("gc", "", 1, 6e-3)), line(CALL, 4e-3, event("gc", "", 1, 3e-3))
    run = record(tmp_path, *odd, parts={"gc": 3e-3, "device": 5e-3})
    assert one(run, blocks, finding("TFP406", PRINT)).seconds == pytest.approx(2e-3)


def test_batches_made_on_the_host_cost_what_the_functions_take_that_make_them(
    tmp_path: Path, blocks: Blocks
) -> None:
    run = record(
        tmp_path,
        line(CALL, 1e-4),
        line(13, 2e-3, event("random", "normal", 1, 1e-3)),
        line(DOUBLE, 3e-3),
    )
    found = one(run, blocks, finding("TFP303", CALL))
    assert found.seconds == pytest.approx(2.1e-3)
    assert found.why == "2.1 of 8.0 ms a step: with `train_step`"


def test_a_settled_finding_keeps_its_code_to_be_found_again(tmp_path: Path, blocks: Blocks) -> None:
    assert one(record(tmp_path), blocks, finding("TFP401", APPEND)).source == "losses.append(loss)"


def test_what_costs_most_comes_first_and_what_was_not_reached_last() -> None:
    def made(status: str, seconds: float, row: int) -> Settled:
        return Settled("TFP101", "x", "m", Spot("a.py", row), status, seconds, "")  # type: ignore[arg-type]

    mixed = [
        made("not reached", 0, 1),
        made("cheap", 1e-5, 2),
        made("seen in a run", 1, 3),
        made("not judged", 0, 4),
        made("confirmed", 2, 5),
        made("confirmed", 0, 6),
    ]
    assert [found.spot.row for found in in_order(mixed)] == [5, 3, 6, 2, 4, 1]


def test_rows_of_notebooks_are_those_of_their_cells(tmp_path: Path) -> None:
    import nbformat

    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("x = 1"), nbformat.v4.new_code_cell("def f():\n    g()\n    h()")]
    )
    nbformat.write(notebook, tmp_path / "n.ipynb")
    around = Blocks(tmp_path).around(Spot("n.ipynb", 3, 2))
    assert (around.first, around.last, around.cell, around.of, around.name) == (1, 3, 2, "function", "f")
    assert Blocks(tmp_path).line(Spot("n.ipynb", 2, 2)) == "g()"


def test_a_file_that_is_not_for_this_python_has_rows_alone(tmp_path: Path) -> None:
    blocks = write(tmp_path, "print 'x'\nwhile 1:\n  pass\n")
    assert blocks.around(Spot("train.py", 3)).of == "row"


def test_lines_of_a_step_in_another_file_are_found_there(tmp_path: Path, blocks: Blocks) -> None:
    other: Line = line(3, 1e-3, event("op", "Mul", 40), file="lib/loss.py")
    assert one(record(tmp_path, *EAGER, other), blocks, finding("TFP104", APPLY)).seconds == pytest.approx(
        5.5e-3
    )
