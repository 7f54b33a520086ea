"""Evidence on file: its form, how new results join it, and what changes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.verify.support import RUN, STEP_TIME
from tflint_perf.problems import ConfigError
from tflint_perf.rule import Claim
from tflint_perf.verify.keep import changes, file_of, keep, keep_as_it_comes, measured_before, read_kept
from tflint_perf.verify.records import (
    Device,
    DeviceMemory,
    Effect,
    Losses,
    Pair,
    Record,
    Result,
    Sized,
    Worse,
    as_document,
    from_json,
    to_json,
)

pytestmark = pytest.mark.slow

CPU = Device("cpu", "CPU (2 cores)", None, 8_000_000_000)
H200 = Device("gpu", "NVIDIA H200", "580.65", 150_000_000_000)
FAST = replace(RUN, device_memory=DeviceMemory(1, 2, None))
WORSE = (Worse("first step", 0.5, 1.0, Effect(2.0, 1.9, 2.1, 0.9375), 12.0),)
RESULT = Result(
    "confirmed", "so it is", STEP_TIME, 20, Effect(2.5, 2.25, 3.0), Losses(True, 0.0), (Pair(RUN, FAST),) * 5
)
SIZES = tuple(
    Sized(
        name,
        "so many units",
        "units",
        64,
        "step",
        "a step",
        verdict,
        "",
        20,
        RESULT.effect,
        (2.0, 2.1),
        (1.0, 1.1),
        WORSE,
    )
    for name, verdict in (("small", "confirmed"), ("medium", "confirmed"), ("large", "refuted"))
)
RECORD = Record(CPU, {"tensorflow": "9.8.7"}, "2026-11-20", {"TFP101": RESULT})


@pytest.mark.parametrize(
    "result",
    [
        RESULT,
        replace(RESULT, size="medium", sizes=SIZES, date="2026-11-19", noise=1.0),
        Result("failed", "slow.py: killed by SIGKILL", STEP_TIME, 20, output="at step 3"),
        Result("not measurable", "needs a GPU", STEP_TIME, 20),
    ],
)
def test_a_record_read_back_is_the_same(result: Result) -> None:
    record = replace(RECORD, results={"TFP101": result})
    assert from_json(to_json(record)) == record


def test_floats_have_four_digits_and_bytes_all_of_theirs() -> None:
    run = replace(RUN, step=0.0123456789, memory=((0, 612_345_678), (10, 1)))
    result = replace(RESULT, pairs=(Pair(run, run),))
    written = as_document(replace(RECORD, results={"TFP101": result}))["results"]["TFP101"]["pairs"][0][
        "slow"
    ]
    assert written["step"] == 0.01235
    assert written["memory"][0] == [0, 612_345_678]


def test_keys_are_sorted_and_a_series_stands_on_one_line() -> None:
    text = to_json(RECORD)
    assert [*json.loads(text)] == sorted(json.loads(text))
    assert text.count('"windows": [[0, 10, 0.1], [10, 10, 0.1],') == 10


def test_what_json_has_no_word_for_is_null() -> None:
    result = replace(RESULT, losses=Losses(False, float("inf")))
    text = to_json(replace(RECORD, results={"TFP101": result}))
    assert json.loads(text)["results"]["TFP101"]["losses"]["difference"] is None


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"schema": 99}', to_json(RECORD).replace('"verdict"', '"opinion"')]
)
def test_another_file_is_no_evidence(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_json(text)


@pytest.mark.parametrize(("device", "name"), [(CPU, "cpu.json"), (H200, "nvidia-h200.json")])
def test_a_devices_evidence_is_in_a_file_of_its_name(device: Device, name: str) -> None:
    assert file_of(Path("evidence"), replace(RECORD, device=device)) == Path("evidence") / name


def test_new_results_take_the_place_of_those_of_the_same_name(tmp_path: Path) -> None:
    keep(tmp_path, replace(RECORD, results={"TFP101": RESULT, "TFP406": RESULT}))
    again = replace(RESULT, verdict="refuted")
    keep(tmp_path, replace(RECORD, date="2026-11-21", results={"TFP406": again}))
    kept = read_kept(tmp_path, RECORD)
    assert kept is not None
    assert {code: result.verdict for code, result in kept.results.items()} == {
        "TFP101": "confirmed",
        "TFP406": "refuted",
    }
    assert kept.date == "2026-11-21"


OTHERS = [
    replace(RECORD, versions={"tensorflow": "9.9.0"}),
    replace(RECORD, device=replace(CPU, name="CPU (8 cores)")),
]


@pytest.mark.parametrize("other", OTHERS)
def test_results_from_elsewhere_are_not_mixed(tmp_path: Path, other: Record) -> None:
    keep(tmp_path, RECORD)
    with pytest.raises(ConfigError, match="TFP101"):
        keep(tmp_path, replace(other, results={"TFP406": RESULT}))
    assert read_kept(tmp_path, RECORD) == RECORD


def test_a_system_that_has_a_little_more_memory_than_last_time_is_the_same_machine(tmp_path: Path) -> None:
    keep(tmp_path, RECORD)
    booted = replace(RECORD, device=replace(CPU, memory=CPU.memory - 50_000_000), date="2026-11-26")
    keep(tmp_path, replace(booted, results={"TFP406": RESULT}))
    kept = read_kept(tmp_path, RECORD)
    assert kept is not None
    assert kept.results == {"TFP406": RESULT, "TFP101": replace(RESULT, date="2026-11-20")}


@pytest.mark.parametrize(
    ("busy", "is_kept"),
    [
        (replace(RESULT, steps=21, verdict="too noisy"), False),
        (replace(RESULT, steps=21, noise=2.0), False),
        (replace(RESULT, steps=21, noise=1.3), True),
        (replace(RESULT, steps=21, noise=2.0, claim=Claim("traces", 2.0)), True),
    ],
)
def test_what_a_busy_machine_measured_of_time_stays_as_it_is_on_file(
    tmp_path: Path, busy: Result, is_kept: bool
) -> None:
    keep(tmp_path, RECORD)
    measured = replace(RECORD, results={"TFP101": busy})
    keep_as_it_comes(tmp_path, measured)
    keep(tmp_path, measured)
    assert read_kept(tmp_path, RECORD) == (measured if is_kept else RECORD)


def test_where_a_busy_machine_measured_all_there_is_no_file(tmp_path: Path) -> None:
    busy = replace(RECORD, results={"TFP101": replace(RESULT, verdict="too noisy")})
    keep_as_it_comes(tmp_path, busy)
    keep(tmp_path, busy)
    assert list(tmp_path.iterdir()) == []


def test_results_from_elsewhere_replace_a_record_as_a_whole(tmp_path: Path) -> None:
    keep(tmp_path, RECORD)
    other = replace(RECORD, versions={"tensorflow": "9.9.0"})
    keep(tmp_path, other)
    assert read_kept(tmp_path, RECORD) == other


def test_what_a_run_has_measured_is_on_file_while_it_goes_on(tmp_path: Path) -> None:
    for name in ("TFP101", "TFP406"):
        keep_as_it_comes(tmp_path, replace(RECORD, results={name: RESULT}))
    assert measured_before(tmp_path, RECORD) == {"TFP101": RESULT, "TFP406": RESULT}
    assert read_kept(tmp_path, RECORD) is None  # it is no evidence before the run has come to its end

    keep(tmp_path, replace(RECORD, results={"TFP101": RESULT}))
    assert [path.name for path in tmp_path.iterdir()] == ["cpu.json"]


@pytest.mark.parametrize("other", OTHERS)
def test_what_was_measured_elsewhere_is_not_gone_on_with(tmp_path: Path, other: Record) -> None:
    keep_as_it_comes(tmp_path, RECORD)
    keep(tmp_path, RECORD)
    keep_as_it_comes(tmp_path, RECORD)
    assert measured_before(tmp_path, other) == {}


def test_a_file_that_was_cut_off_while_it_was_written_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / "cpu.unfinished").write_text("{")
    assert measured_before(tmp_path, RECORD) == {}


def test_where_nothing_is_kept_there_is_nothing_to_read(tmp_path: Path) -> None:
    assert read_kept(tmp_path, RECORD) is None


def test_a_broken_evidence_file_is_told_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "cpu.json").write_text("{")
    with pytest.raises(ConfigError, match=r"cpu\.json: "):
        read_kept(tmp_path, RECORD)


def test_only_another_verdict_is_a_change() -> None:
    new = {
        "TFP101": replace(RESULT, verdict="refuted", reason="1.1×"),
        "TFP406": RESULT,
    }
    assert list(changes(RECORD, new)) == ["TFP101: was confirmed, is refuted: 1.1×"]
    assert list(changes(RECORD, {"TFP101": replace(RESULT, effect=None)})) == []
    assert list(changes(RECORD, {"TFP101": replace(RESULT, verdict="too noisy")})) == []


def test_experiments_are_compared_with_what_they_showed_at_the_same_size() -> None:
    kept = replace(RECORD, results={"TFP101": replace(RESULT, size="medium", sizes=SIZES)})
    for size, verdict, changed in (
        ("small", "confirmed", False),
        ("small", "refuted", True),
        ("medium", "confirmed", False),
        ("large", "refuted", False),
        ("large", "confirmed", True),
    ):
        assert bool(list(changes(kept, {"TFP101": replace(RESULT, size=size, verdict=verdict)}))) is changed
    # What was measured before there were sizes is compared with none of them.
    assert list(changes(RECORD, {"TFP101": replace(RESULT, size="small", verdict="refuted")})) == []
