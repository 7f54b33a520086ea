"""From what the observer wrote down to a record, without a program."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tflint_perf.measured.record import from_json, to_json
from tflint_perf.observe.watcher import MODES
from tflint_perf.observed.assemble import parts_of, record_of

pytest.importorskip("scipy")  # the statistics, which `make quick` does not install

PLAIN, TIMED, CLOSE = (MODES.index(name) for name in ("plain", "timed", "close"))


def _seen(**more: Any) -> dict[str, Any]:
    modes = [0, 1, 1, 1, *[CLOSE] * 3, *([PLAIN] * 5 + [TIMED] * 5) * 6]
    seconds = {0: 2.0, 1: 0.1, CLOSE: 0.015, PLAIN: 0.010, TIMED: 0.0102}
    steps, at = [], 0.0
    for mode in modes:
        at += seconds[mode]
        steps.append([at, seconds[mode], mode, 1])
    seen: dict[str, Any] = {
        "how": "steps", "code": 0, "wall": 10.0, "versions": {"tensorflow": "2.21.0"}, "device": "CPU (2 cores)",
        "kind": "optimizer", "loop": ["train.py", 10], "update": ["train.py", 12], "notes": [], "others": 0,
        "modes": MODES, "first_step": 2.0, "steps": steps, "memory": [], "samples": [], "holders": [],
        "close": {
            "by_step": [{"python": 0.006, "op": 0.008, "copies": 0.001}] * 3,
            "entries": [["python", "op", 300], ["python", "copies", 3]],
            "timer": 1e-5, "idle": 1e-7, "steps": 3,
            "events": [["op", "MatMul", [["train.py", 11]], 300, 0.02, 0]],
        },
        "looks": {
            "seconds": 0.3, "lines": [[[["train.py", 11]], 0.2], [[["train.py", 12]], 0.1]],
            "kinds": {"dispatch": 0.2, "rest": 0.1},
        },
        "profile": {"seconds": 1.0, "events": {"EagerExecute": 0.4, "EagerKernelExecute": 0.1, "IteratorGetNextOp": 0.0}},
        "ever": [], "traces": [], "reached": [["train.py", 11]],
    }  # fmt: skip
    return seen | more


def test_the_step_is_the_median_of_those_that_nobody_looked_at() -> None:
    record = record_of(_seen(), ["train.py"], Path("/project"))
    assert record.step is not None and record.observer is not None
    assert record.step.value == 0.010
    assert record.observer.value == pytest.approx(1.02 + 101 * 1e-7 / 0.01)
    assert record.detail == pytest.approx(1.5)
    assert record.first_step == 2.0
    assert record.steps.loop is not None and record.steps.loop.row == 10


def _with_longer(every: int, seconds: float) -> list[list[float]]:
    """The steps, of which one in `every` that are only timed takes so long."""
    plain = [step for step in _seen()["steps"] if step[2] == PLAIN]
    longer = [step[0] for step in plain[::every]]
    return [
        [at, seconds if at in longer else took, mode, updates] for at, took, mode, updates in _seen()["steps"]
    ]


def test_where_some_steps_do_what_others_do_not_a_step_is_the_mean_of_all() -> None:
    by_step = [{"python": 0.001}, {"python": 0.001}, {"python": 0.070}]
    close = {**_seen()["close"], "by_step": by_step, "entries": []}
    record = record_of(_seen(steps=_with_longer(5, 0.1), close=close), ["train.py"], Path("/project"))
    assert record.step is not None
    all_of_them = [0.010] * 24 + [0.1] * 6 + [0.0102] * 30 + [0.015] * 3
    assert record.step.value == pytest.approx(sum(all_of_them) / 63)
    assert record.median_step == 0.010
    # All that were looked at closely count: the middle half of them would be 1 ms.
    assert record.parts_sum == pytest.approx(0.024 / 0.028)


def _run_of(*steps: tuple[int, float, int], parts: list[dict[str, float]]) -> dict[str, Any]:
    """A run whose steps have a mode, seconds and work; what those that were looked at closely spent on what."""
    rows = [[0.0, seconds, mode, 1] for mode, seconds, _ in steps]
    close = {"by_step": parts, "entries": [], "timer": 0.0, "idle": 0.0, "steps": len(parts), "events": []}
    return _seen(steps=rows, work=[work for _, _, work in steps], close=close)


UPDATES = [(PLAIN, 0.002, 3)] * 5 + [(TIMED, 0.002, 3)] * 5
EPISODE = [(PLAIN, 1.0, 400)]


def test_parts_of_a_step_are_those_of_all_that_do_as_much_however_many_of_them_were_looked_at() -> None:
    looked = [(CLOSE, 0.002, 3), (CLOSE, 1.0, 401), (CLOSE, 0.002, 3)]
    parts = [{"files": 0.002}, {"copies": 1.0}, {"files": 0.002}]
    record = record_of(
        _run_of(*UPDATES * 2, *EPISODE, *looked, *UPDATES, *EPISODE, *UPDATES, parts=parts), [], Path("/p")
    )
    assert record.step is not None
    steps = 40 + 2 + 3
    assert record.step.value == pytest.approx((3 * 1.0 + 42 * 0.002) / steps)
    assert record.parts["copies"] == pytest.approx(3 * 1.0 / steps)
    assert record.parts["files"] == pytest.approx(42 * 0.002 / steps)
    # A third of those looked at play an episode, one in fifteen of all do.
    assert record.parts_sum == pytest.approx(1)
    assert record.looked_sum == pytest.approx(1.004 / 3 / record.step.value)


def test_a_step_like_no_other_is_held_against_itself() -> None:
    looked = [(CLOSE, 0.003, 3), (CLOSE, 1.0, 400), *[(CLOSE, 0.003, 3)] * 2]
    parts = [{"files": 0.003}, {"copies": 1.0}, *[{"files": 0.003}] * 2]
    record = record_of(_run_of(*UPDATES, *looked, *UPDATES, parts=parts), [], Path("/p"))
    assert record.step is not None
    assert record.parts_sum == pytest.approx(
        record.step.value / (record.step.value - 23 * 0.001 / 24), rel=0.01
    )
    assert record.detail == pytest.approx(1.5)


def test_a_long_step_that_starts_no_more_ops_than_others_is_what_else_the_machine_does() -> None:
    looked = [(CLOSE, 0.002, 3)] * 4
    run = [*UPDATES * 3, *looked, *UPDATES * 3], [{"files": 0.002}] * 4
    for work, is_mean in ((3, False), (300, True)):
        record = record_of(_run_of(*run[0], (PLAIN, 1.0, work), parts=run[1]), [], Path("/p"))
        assert record.step is not None
        assert (record.step.value > 0.01) == is_mean


def test_steps_that_become_longer_are_held_against_those_that_do_as_much() -> None:
    early, late = [(PLAIN, 0.1, 100)] * 5, [(PLAIN, 0.4, 500)] * 20
    looked = [(CLOSE, 0.1, 102), (CLOSE, 0.1, 98), (CLOSE, 0.1, 100)]
    record = record_of(_run_of(*early, *looked, *late, parts=[{"files": 0.1}] * 3), [], Path("/p"))
    assert record.step is not None and record.step.value == 0.4
    assert record.parts_sum == pytest.approx(1)
    assert record.parts == pytest.approx(dict.fromkeys(record.parts, 0.0) | {"files": 0.4})


def test_a_step_is_held_against_those_next_to_it_as_a_machine_slows_for_a_while() -> None:
    slowed = [(PLAIN, 0.02, 7)] * 8 + [(CLOSE, 0.02, 7)] * 3 + [(PLAIN, 0.02, 7)] * 8
    record = record_of(
        _run_of(*[(PLAIN, 0.01, 7)] * 50, *slowed, parts=[{"files": 0.02}] * 3), [], Path("/p")
    )
    assert record.step is not None and record.step.value == 0.01
    assert record.parts_sum == pytest.approx(1)


def test_one_long_step_is_what_else_the_machine_does() -> None:
    record = record_of(_seen(steps=_with_longer(30, 1.0)), ["train.py"], Path("/project"))
    assert record.step is not None
    assert record.step.value == record.median_step == 0.010


def _trace(step: int) -> dict[str, Any]:
    return {"function": "f", "file": None, "row": 1, "at": None, "step": step, "seconds": 1.0, "cause": "new shape"}  # fmt: skip


def test_steps_that_make_a_graph_are_told_apart_where_they_are_rare() -> None:
    run = [*UPDATES * 3, *[(CLOSE, 0.002, 3)] * 3, *UPDATES, (PLAIN, 20.0, 300)]
    for traced, step in (([_trace(43)], 0.002), ([], None), ([_trace(at) for at in (*range(10), 43)], None)):
        seen = _run_of(*run, parts=[{"files": 0.002}] * 3) | {"traces": traced}
        record = record_of(seen, [], Path("/p"))
        assert record.step is not None
        assert (record.step.value == step) is bool(step)
        assert any("graph was made" in note for note in record.steps.notes) is bool(step)


def test_what_is_done_between_epochs_is_told_each_time_and_by_line() -> None:
    between = {
        "times": [2.0, 4.0],
        "lines": [[[["train.py", 30], ["train.py", 2]], 3.0], [[["train.py", 31]], 1.0]],
    }
    record = record_of(_seen(between=between), ["train.py"], Path("/project"))
    assert [(line.spot.row, line.seconds, line.share) for line in record.between] == [
        (30, 1.5, 0.75),
        (31, 0.5, 0.25),
    ]
    assert "takes 3.0 s each time (of 2)" in record.steps.notes[0]
    assert from_json(to_json(record)).between == record.between


def test_steps_are_counted_by_what_they_were_looked_at_for() -> None:
    record = record_of(_seen(), ["train.py"], Path("/project"))
    assert record.looked_at == {"time": 30, "lines": 30, "details": 3}
    assert record.is_long_enough
    for steps, looked_at in ((9, (2, 0)), (16, (5, 4)), (17, (5, 5))):
        short = record_of(_seen(steps=_seen()["steps"][:steps]), ["train.py"], Path("/project"))
        assert (short.looked_at["time"], short.looked_at["lines"]) == looked_at
        assert short.is_long_enough == (steps == 17)


def test_the_observers_own_time_is_taken_off() -> None:
    parts = parts_of(_seen(), 0.015)
    # Of 101 timers of 10 µs, three tenths lie in what they time.
    assert parts["copies"] == pytest.approx(0.001 - 0.3e-5)
    ops = 0.008 - 100 * 0.3e-5
    assert parts["device"] == pytest.approx(ops / 4)
    python = 0.006 - 101 * 0.7e-5
    assert parts["dispatch"] == pytest.approx(ops * 3 / 4 + python * 2 / 3)
    assert parts["rest"] == pytest.approx(python / 3)


def test_parts_sum_to_the_step_and_what_they_summed_to_is_told() -> None:
    record = record_of(_seen(), ["train.py"], Path("/project"))
    assert record.step is not None
    assert sum(record.parts.values()) == pytest.approx(record.step.value)
    # Such a step takes 5 ms longer, which is what its 101 timers take.
    assert record.parts_sum == pytest.approx(1)


def test_few_timers_do_not_account_for_a_busy_machine() -> None:
    close = {**_seen()["close"], "entries": [["python", "op", 3]]}
    record = record_of(_seen(close=close), ["train.py"], Path("/project"))
    assert record.parts_sum == pytest.approx((0.015 - 10e-5) / 0.010)


def test_waiting_inside_a_compiled_function_is_waiting() -> None:
    close = {
        "by_step": [{"python": 0.002, "function": 0.008}], "entries": [["python", "function", 1]],
        "timer": 0.0, "idle": 0.0, "steps": 1, "events": [],
    }  # fmt: skip
    profile = {"seconds": 2.0, "events": {"IteratorGetNextOp": 1.2, "functions": 1.6, "EagerExecute": 1.6}}
    parts = parts_of(_seen(close=close, profile=profile), 0.010)
    assert parts["input"] == pytest.approx(0.006)
    assert parts["device"] == pytest.approx(0.002)


def test_the_error_of_a_line_s_time_is_that_of_a_share_of_so_many_looks() -> None:
    looks = {**_seen()["looks"], "squares": 20 * 0.015**2}  # of 20 looks, 15 ms apart
    record = record_of(_seen(looks=looks), ["train.py"], Path("/project"))
    share = record.lines[0].share
    assert record.step is not None and share == pytest.approx(2 / 3)
    assert record.lines[0].error == pytest.approx(record.step.value * (share * (1 - share) / 20) ** 0.5)
    assert record_of(_seen(), ["train.py"], Path("/project")).lines[0].error == 0.0


def test_lines_have_what_happened_at_them() -> None:
    record = record_of(_seen(), ["train.py"], Path("/project"))
    first, second = record.lines
    assert (first.spot.row, second.spot.row) == (11, 12)
    assert first.share == pytest.approx(2 / 3)
    assert first.seconds == pytest.approx(0.010 * 2 / 3)
    assert [(event.what, event.count) for event in first.events] == [("MatMul", 100)]


def test_what_a_line_does_is_told_apart_by_who_has_called_it() -> None:
    act, train = [["train.py", 11], ["train.py", 40]], [["train.py", 11], ["train.py", 50]]
    close = {
        **_seen()["close"],
        "events": [
            ["op", "MatMul", act, 3, 0.02, 0],
            ["op", "MatMul", train, 297, 0.01, 0],
            ["op", "Add", [], 3, 0.1, 0],
        ],
    }
    looks = {**_seen()["looks"], "lines": [[act, 0.1], [train, 0.2]]}
    record = record_of(_seen(close=close, looks=looks), ["train.py"], Path("/project"))
    (line,) = record.lines
    assert (line.spot.row, [event.count for event in line.events]) == (11, [100])
    assert line.share == pytest.approx(1.0)
    assert [
        ([spot.row for spot in way.callers], round(way.seconds, 5), [event.count for event in way.events])
        for way in record.ways
    ] == [([50], 0.00667, [99]), ([40], 0.00333, [1])]
    assert [way.callers for way in from_json(to_json(record)).ways] == [way.callers for way in record.ways]


def _samples(tensors: Any, traces: Any = lambda step: 2) -> list[list[int]]:
    return [[step, 10**9, tensors(step), traces(step), 0, 0] for step in range(5, 66, 10)]


@pytest.mark.parametrize(
    ("tensors", "grows"),
    [
        (lambda step: 50 + step, True),
        (lambda step: 50, False),
        (lambda step: 50 + step % 2, False),
        (lambda step: 50 + min(step, 15) * 5, False),  # set up, and then no more
    ],
)
def test_tensors_grow_or_do_not(tensors: Any, grows: bool) -> None:
    record = record_of(_seen(samples=_samples(tensors)), ["train.py"], Path("/project"))
    assert record.growth["live tensors"].grows is grows


def test_who_holds_them_is_told_by_their_share() -> None:
    holders = [["list `history`", ["train.py", 1], 9], ["what could not be told", ["?", 0], 3]]
    record = record_of(
        _seen(samples=_samples(lambda step: 2 * step), holders=holders), ["train.py"], Path("/project")
    )
    assert [(kept.count, kept.holder) for kept in record.kept] == [
        (pytest.approx(1.5), "list `history`"),
        (pytest.approx(0.5), "what could not be told"),
    ]


def test_traces_are_counted_by_function_and_cause() -> None:
    def trace(step: int, cause: str) -> dict[str, Any]:
        return {
            "function": "step", "file": "train.py", "row": 3, "at": ["train.py", 12], "step": step,
            "seconds": 0.5, "cause": cause,
        }  # fmt: skip

    traces = [trace(0, "first call"), *(trace(step, "new Python value") for step in range(4, 10))]
    record = record_of(_seen(traces=traces), ["train.py"], Path("/project"))
    (found,) = record.traces
    assert (found.count, found.in_steps, found.seconds) == (7, 5, 3.5)
    assert found.causes == {"first call": 1, "new Python value": 6}


def test_a_program_without_steps_has_a_record_too() -> None:
    nothing = {"by_step": [], "entries": [], "timer": 0.0, "idle": 0.0, "steps": 0, "events": []}
    seen = _seen(steps=[], first_step=None, kind=None, loop=None, update=None, close=nothing)
    record = record_of(seen, ["train.py"], Path("/project"))
    assert (record.steps.count, record.steps.kind, record.step, dict(record.parts)) == (0, "none", None, {})
