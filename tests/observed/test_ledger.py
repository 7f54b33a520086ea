"""Time is laid to what goes on, the innermost first, and never twice."""

from __future__ import annotations

import time

import pytest

from tflint_perf.observe.ledger import PYTHON, Ledger


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("tflint_perf.observe.ledger.perf_counter", lambda: now[0])
    return now


def test_parts_are_exclusive_and_sum_to_the_step(clock: list[float]) -> None:
    ledger = Ledger()
    ledger.begin()
    clock[0] += 1
    outer = ledger.enter("input")
    clock[0] += 2
    inner = ledger.enter("op")
    clock[0] += 4
    assert ledger.leave(inner) == 4
    clock[0] += 8
    assert ledger.leave(outer) == 14
    clock[0] += 16
    ledger.end()
    assert ledger.by_step == [{PYTHON: 17, "input": 10, "op": 4}]
    assert ledger.entries == {(PYTHON, "input"): 1, ("input", "op"): 1}


def test_a_step_that_is_forgotten_leaves_nothing(clock: list[float]) -> None:
    ledger = Ledger()
    for number in range(2):
        ledger.begin()
        entered = ledger.enter("op")
        ledger.note("op", "MatMul", (("train.py", 1),), 1.0)
        if number:
            ledger.forget()
        assert (ledger.leave(entered) < 0) == bool(number)
        if not number:
            ledger.end()
    assert (ledger.steps, ledger.entries) == (1, {(PYTHON, "op"): 1})
    assert ledger.events == {("op", "MatMul", (("train.py", 1),)): [1, 1.0, 0.0]}


def test_what_reaches_over_the_end_of_a_step_counts_in_none(clock: list[float]) -> None:
    ledger = Ledger()
    ledger.begin()
    entered = ledger.enter("op")
    clock[0] += 1
    ledger.end()
    ledger.begin()
    clock[0] += 1
    assert ledger.leave(entered) < 0
    ledger.end()
    assert ledger.by_step == [{"op": 1, PYTHON: 0}, {PYTHON: 1}]


def test_what_is_left_out_of_order_takes_what_is_inside_with_it(clock: list[float]) -> None:
    ledger = Ledger()
    ledger.begin()
    outer = ledger.enter("input")
    ledger.enter("op")  # an exception went by
    clock[0] += 1
    ledger.leave(outer)
    assert ledger.current == PYTHON


def test_events_add_up_by_the_rows_that_ran() -> None:
    ledger = Ledger()
    ledger.begin()
    called, other = (("a.py", 3), ("a.py", 9)), (("a.py", 3), ("a.py", 7))
    for _ in range(3):
        ledger.note("copy", "numpy()", called, 0.5, 8)
    ledger.note("copy", "numpy()", other, 0.25)
    assert ledger.events == {
        ("copy", "numpy()", called): [3, 1.5, 24],
        ("copy", "numpy()", other): [1, 0.25, 0],
    }


def test_real_time_passes() -> None:
    ledger = Ledger()
    ledger.begin()
    entered = ledger.enter("op")
    time.sleep(0.01)
    assert ledger.leave(entered) >= 0.01
