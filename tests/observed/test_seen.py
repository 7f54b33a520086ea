"""What a run finds that reading could not know: only what is certain, and costs or grows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.observed.made_up import (
    APPEND,
    CALL,
    CONVERT,
    DOUBLE,
    EAGER,
    FLAT,
    INNER,
    LOOP,
    PRINT,
    PROGRAM,
    RISING,
    TAPE,
    codes,
    event,
    finding,
    kept,
    line,
    record,
    seen,
    traced,
    write,
)
from tflint_perf.measured.record import Event, Line, Look, Spot, Steps, Way
from tflint_perf.observed.blocks import Blocks
from tflint_perf.observed.seen import seen_in_a_run
from tflint_perf.observed.settle import Watched


@pytest.fixture
def blocks(tmp_path: Path) -> Blocks:
    return write(tmp_path)


CHEAP: list[Line] = [
    line(PRINT, 1e-4, event("copy", "float()", 1, 1e-4)),
    line(PRINT, 2e-3, event("gc", "", 1, 1e-4)),
    line(CONVERT, 1e-3, event("conversion", "ndarray", 1, 1e-3, 4)),
    line(CONVERT, 2e-3, event("file", "open r", 0.01, 1e-3)),
    line(CONVERT, 2e-3, event("new", "Dataset", 0.02)),
    line(CONVERT, 2e-3, event("new", "Variable", 5), event("op", "AssignAddVariableOp", 5)),
    line(CONVERT, 2e-3, event("get weights", "get_weights", 0.1, 1e-3)),
    line(PRINT, 2e-3, event("summary", "WriteScalarSummary", 3, 2e-3)),
    line(PRINT, 2e-3, event("checkpoint", "save", 0.01, 2e-3)),
    line(CALL, 4e-3, event("function", "train_step", 1, 4e-3)),
    line(INNER, 4e-3, event("op", "Mul", 10, 4e-3)),
    line(LOOP, 4e-3, event("input", "next", 1, 4e-3)),
    line(CALL, 4e-3, event("keras", "predict", 0.02, 4e-3)),
    line(CALL, 4e-3, event("keras", "predict", 1, 4e-3), event("new", "Dataset"), event("copy", "numpy()", 1, 1e-3)),
    line(CALL, 4e-3, event("session", "run", 1, 4e-3, 100), event("conversion", "ndarray", 1, 1e-3, 5e5)),
]  # fmt: skip


@pytest.mark.parametrize("cheap", CHEAP[:-2], ids=lambda one: f"{one.events[0].kind} {one.events[0].count:g}")
def test_nothing_is_found_that_is_rare_or_takes_little(tmp_path: Path, blocks: Blocks, cheap: Line) -> None:
    assert seen(record(tmp_path, cheap), blocks) == []


def test_what_a_keras_call_or_a_session_does_by_itself_is_its_own_matter(
    tmp_path: Path, blocks: Blocks
) -> None:
    assert codes(seen(record(tmp_path, CHEAP[-2]), blocks)) == [("TFP105", CALL)]
    assert seen(record(tmp_path, CHEAP[-1]), blocks) == []


@pytest.mark.parametrize(
    ("code", "events"),
    [
        ("TFP302", [event("copy", "float()", 1, 1e-3, 4)]),
        ("TFP301", [event("conversion", "ndarray", 1, 1e-3, 2e7)]),
        ("TFP304", [event("file", "open rb", 1, 1e-5)]),
        ("TFP306", [event("get weights", "set_weights", 1, 1e-3)]),
        ("TFP506", [event("new", "Dataset", 2)]),
        ("TFP507", [event("new", "Iterator"), event("new", "Dataset")]),
        ("TFP204", [event("new", "Optimizer")]),
        ("TFP204", [event("new", "Variable"), event("op", "VarHandleOp")]),
        ("TFP603", [event("summary", "WriteHistogramSummary", 4, 1e-3)]),
        ("TFP603", [event("checkpoint", "save_weights", 1, 1e-3)]),
        ("TFP105", [event("keras", "evaluate", 1, 1e-3)]),
    ],
)
def test_what_costs_each_step_is_found_at_its_row(
    tmp_path: Path, blocks: Blocks, code: str, events: list[Event]
) -> None:
    (found,) = seen(record(tmp_path, line(CONVERT, 1e-3, *events)), blocks)
    assert (found.code, found.spot, found.status) == (code, Spot("train.py", CONVERT), "seen in a run")
    assert found.seconds == pytest.approx(1e-3)
    assert found.source == "x = tf.convert_to_tensor(x)"


def test_the_ops_of_a_call_of_fit_are_no_eager_step(tmp_path: Path, blocks: Blocks) -> None:
    fits = line(CALL, 5e-3, event("keras", "Model.fit", 1, 5e-3), event("op", "MatMul", 300, 2e-3))
    run = record(tmp_path, fits)
    steps = replace(run.steps, update=Spot("train.py", CALL))
    assert codes(seen(replace(run, steps=steps), blocks)) == [("TFP105", CALL)]


def test_a_collection_is_found_where_the_program_asks_for_it(tmp_path: Path, blocks: Blocks) -> None:
    asked = replace(line(CONVERT, 1e-3, event("gc", "gc.collect", 0.1, 1e-3)), source="gc.collect()")
    assert codes(seen(record(tmp_path, asked), blocks)) == [("TFP406", CONVERT)]
    other = replace(asked, source="tf.keras.backend.clear_session()")
    assert seen(record(tmp_path, other), blocks) == []


def test_an_eager_step_is_found_at_its_tape(tmp_path: Path, blocks: Blocks) -> None:
    (found,) = seen(record(tmp_path, *EAGER), blocks)
    assert (found.code, found.spot.row) == ("TFP101", TAPE)
    assert found.why == "4.5 of 8.0 ms a step: 110 eager ops"


def test_a_loss_in_another_function_is_a_part_of_the_eager_step(tmp_path: Path, blocks: Blocks) -> None:
    run = record(tmp_path, *EAGER, line(21, 2e-3, event("op", "MatMul", 40)))
    assert codes(seen(run, blocks)) == [("TFP101", TAPE)]


def test_a_loop_of_ops_inside_a_step_is_found_at_its_head(tmp_path: Path, blocks: Blocks) -> None:
    assert codes(seen(record(tmp_path, line(DOUBLE, 3e-3, event("op", "Mul", 100))), blocks)) == [
        ("TFP102", INNER)
    ]


def test_an_eager_model_beside_a_compiled_step_is_found_where_it_is_called(
    tmp_path: Path, blocks: Blocks
) -> None:
    run = record(
        tmp_path, line(21, 3e-3, event("op", "MatMul", 20)), line(CALL, 2e-3, event("function", "train_step"))
    )
    assert codes(seen(run, blocks)) == [("TFP107", 21)]


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_model_costs_where_it_is_found_what_no_finding_at_a_call_has(
    tmp_path: Path, blocks: Blocks, share: float
) -> None:
    forward = line(8, 4e-3, event("op", "MatMul", 64))
    below, other = (
        Way(forward.spot, (Spot("train.py", row),), part * 4e-3, (event("op", "MatMul", part * 64),))
        for row, part in ((DOUBLE, 1 - share), (PRINT, share))
    )
    run = record(tmp_path, forward, ways=(below, other))
    assert [one.seconds for one in seen(run, blocks)] == [pytest.approx(4e-3)]
    rest = seen(run, blocks, finding("TFP107", DOUBLE))
    assert [one.seconds for one in rest] == ([pytest.approx(2e-3)] if share else [])


def test_a_step_of_keras_that_runs_op_by_op_is_found_at_the_call_of_fit(
    tmp_path: Path, blocks: Blocks
) -> None:
    steps = Steps(200, "keras", Spot("train.py", CALL), Spot("train.py", CALL))
    run = record(tmp_path, line(CALL, 6e-3, event("op", "MatMul", 90, 3e-3)), steps=steps)
    assert codes(seen(run, blocks)) == [("TFP104", CALL)]
    fit = write(tmp_path, PROGRAM.replace("loss = train_step(x, y)\n", "model.fit(x, y)\n"))
    assert codes(seen(replace(run, steps=replace(steps, kind="optimizer")), fit)) == [("TFP104", CALL)]


@pytest.mark.parametrize(
    ("cause", "code", "row"),
    [
        ("new Python value", "TFP202", CALL),
        ("new shape", "TFP206", CALL),
        ("new function object", "TFP201", 11),
    ],
)
def test_traces_in_later_steps_are_found_by_their_cause(
    tmp_path: Path, blocks: Blocks, cause: str, code: str, row: int
) -> None:
    run = record(tmp_path, traces=(traced(11, CALL, {"first call": 1, cause: 57}),))
    assert codes(seen(run, blocks)) == [(code, row)]


def test_a_function_that_keras_makes_for_a_call_is_none_of_the_program(
    tmp_path: Path, blocks: Blocks
) -> None:
    again = traced(CALL, CALL, {"first call": 1, "new function object": 57})
    fits = line(CALL, 5e-3, event("keras", "Model.fit", 1, 5e-3))
    assert codes(seen(record(tmp_path, fits, traces=(again,)), blocks)) == [("TFP105", CALL)]


def test_in_few_steps_only_what_is_counted_is_seen_and_no_time_is_told(
    tmp_path: Path, blocks: Blocks
) -> None:
    few: Mapping[Look, int] = {"time": 2, "lines": 0, "details": 3}
    again = traced(11, CALL, {"first call": 1, "new shape": 57})
    run = record(tmp_path, *EAGER, traces=(again,), looked_at=few)
    assert {code for code, _ in codes(seen(replace(run, looked_at={}), blocks))} == {"TFP101", "TFP206"}
    (only,) = seen(run, blocks)
    assert (only.code, only.seconds, only.why) == ("TFP206", 0.0, "traced 57 times in 200 steps: new shape")


def test_a_trace_for_a_last_smaller_batch_is_none_to_speak_of(tmp_path: Path, blocks: Blocks) -> None:
    few = replace(traced(11, CALL, {"first call": 1, "new shape": 2}), in_steps=2)
    assert seen(record(tmp_path, traces=(few,)), blocks) == []


def test_tensors_that_stay_are_found_where_they_are_held_if_their_number_grows(
    tmp_path: Path, blocks: Blocks
) -> None:
    held = (kept("list `losses` of module train", APPEND),)
    assert codes(seen(record(tmp_path, kept=held, growth={"live tensors": RISING}), blocks)) == [
        ("TFP401", APPEND)
    ]
    assert seen(record(tmp_path, kept=held, growth={"live tensors": FLAT}), blocks) == []
    assert seen(record(tmp_path, kept=(kept("list", None),), growth={"live tensors": RISING}), blocks) == []
    elsewhere = (kept("list `others`", 1),)
    assert seen(record(tmp_path, kept=elsewhere, growth={"live tensors": RISING}), blocks) == []


def test_tensors_that_a_tape_keeps_are_found_where_it_is_opened(tmp_path: Path, blocks: Blocks) -> None:
    for row in (TAPE - 1, 1):  # the head of the function, or the file of a tape at module level
        tape = (kept("tape `tape`", row),)
        found = seen(record(tmp_path, kept=tape, growth={"live tensors": RISING}), blocks)
        assert codes(found) == [("TFP402", TAPE)], row
    unnamed = (kept("tape `tape`", None),)
    assert seen(record(tmp_path, kept=unnamed, growth={"live tensors": RISING}), blocks) == []


def test_a_graph_that_grows_is_found_where_ops_are_added(tmp_path: Path, blocks: Blocks) -> None:
    added = line(CONVERT, 1e-4, event("graph op", "Mul", 3))
    assert codes(seen(record(tmp_path, added, growth={"graph ops": RISING}), blocks)) == [("TFP203", CONVERT)]
    assert seen(record(tmp_path, added, growth={"graph ops": FLAT}), blocks) == []


@pytest.mark.parametrize("known", ["TFP101", "TFP102", "TFP104", "TFP409"])
def test_what_a_finding_says_already_is_not_said_again(tmp_path: Path, blocks: Blocks, known: str) -> None:
    assert seen(record(tmp_path, *EAGER), blocks, finding(known, TAPE)) == []


def test_a_finding_elsewhere_hides_nothing(tmp_path: Path, blocks: Blocks) -> None:
    dear = line(PRINT, 1e-3, event("copy", "float()", 1, 1e-3))
    assert codes(seen(record(tmp_path, dear), blocks, finding("TFP302", CONVERT))) == [("TFP302", PRINT)]


def test_rules_that_do_not_count_find_nothing(tmp_path: Path, blocks: Blocks) -> None:
    watched = Watched(record(tmp_path, *EAGER), blocks)
    assert list(seen_in_a_run(watched, (), frozenset({"TFP406"}))) == []


def test_without_steps_nothing_is_found(tmp_path: Path, blocks: Blocks) -> None:
    assert seen(record(tmp_path, *EAGER, step=None), blocks) == []
