"""What is said of a cost that was measured at three sizes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.commandline import SLOW, CommandLine
from tests.test_trust import on_record, page
from tests.verify.html import parse, text_of
from tests.verify.synthetic import GPU, document, result, run
from tflint_perf.catalogue import cost, evidence
from tflint_perf.catalogue.cost import cost_of
from tflint_perf.catalogue.cost_over_sizes import behaviour, cost_over_sizes
from tflint_perf.verify import table
from tflint_perf.verify.page import page_text

OURS = "CPU: "
AT = (8, 64, 1024)
Pairs = Sequence[tuple[float, float]]


def sized(
    pairs: Pairs,
    *,
    of: str = "units",
    grows: str = "step",
    step: str = "a step",
    names: Sequence[str] = ("small", "medium", "large"),
    **made: Any,
) -> dict[str, Any]:
    """An experiment with these figures, slow and fast, at each size."""
    sizes = [
        {
            "name": name,
            "what": f"{name} enough",
            "of": of,
            "at": at,
            "grows": grows,
            "step": step,
            "verdict": "confirmed" if slow >= 2 * fast else "refuted",
            "reason": "",
            "steps": 100,
            "effect": {"value": slow / fast, "low": slow / fast, "high": slow / fast, "confidence": 0.9375},
            "slow": [slow] * 5,
            "fast": [fast] * 5,
            "worse": [],
        }
        for name, at, (slow, fast) in zip(names, AT[-len(names) :], pairs, strict=True)
    ]
    return result(**made) | {"size": "medium", "sizes": sizes}


SAID_OF_CONSTANT = "a step 180 → 1.0 ms (small enough), 670 → 500 ms (large enough)"
A_CONSTANT = sized([(0.181, 0.001), (0.205, 0.020), (0.670, 0.500)])

SAID: dict[str, dict[str, Any]] = {
    SAID_OF_CONSTANT: A_CONSTANT,
    "a step 1.0 ms → 100 µs (small enough), 51 → 50 ms (large enough)": sized(
        [(0.001, 0.0001), (0.003, 0.002), (0.0513, 0.05)]
    ),
    # One size has none of it.
    "a step 9.7 → 1.0 ms (small enough), 450 → 500 ms (large enough)": sized(
        [(0.0097, 0.001), (0.04, 0.01), (0.45, 0.5)]
    ),
    "a step 9.7 → 1.0 ms (small enough), 500 ms both (large enough)": sized(
        [(0.0097, 0.001), (0.04, 0.01), (0.501, 0.5)]
    ),
    "an epoch 21 → 1.0 ms (small enough), 1.0 s both (large enough)": sized(
        [(0.021, 0.001), (0.12, 0.1), (1.02, 1.0)], step="an epoch"
    ),
    "a sample, training included, 3.0 → 1.0 µs (small enough), 300 → 100 µs (large enough)": sized(
        [(3e-6, 1e-6), (3e-5, 1e-5), (3e-4, 1e-4)], metric="time per sample"
    ),
    "the first step 2.1 s → 100 ms (small enough), 12 → 10 s (large enough)": sized(
        [(2.1, 0.1), (3.0, 1.0), (12.0, 10.0)], metric="first step"
    ),
    "host memory at its peak (over that of TensorFlow alone) 500 → 100 MB (small enough), 2.4 → 2.0 GB (large enough)": sized(
        [(5e8, 1e8), (9e8, 5e8), (2.4e9, 2e9)], metric="host memory"
    ),
    # A count is the same whatever the size.
    "+1 tensor kept a step": sized([(1.0, 0.0001)] * 3, metric="live tensors", kind="growth"),
    "+2 tensors kept a step (small enough), +40 (large enough)": sized(
        [(2.0, 0.001), (8.0, 0.001), (40.0, 0.001)], metric="live tensors", kind="growth"
    ),
    "+1 trace a step, 1.6 s each": sized([(0.98, 0.02)] * 3, metric="traces", kind="growth"),
    "+80 kB kept a trial (small enough), +3.0 MB (large enough)": sized(
        [(8e4, 1.0), (4e5, 1.0), (3e6, 1.0)], metric="host memory", kind="growth", step="a trial"
    ),
    "steps get ever slower: of 100, the first 25 take 17 ms each and the last 25 take 17 ms each; in the fast form all take 1.0 ms": sized(
        [(2.6, 1.0), (2.0, 1.0), (1.3, 1.0)], kind="growth"
    ),
}


@pytest.mark.parametrize(("words", "record"), SAID.items())
def test_a_cost_says_what_it_is_over_sizes_and_that_it_is_of_the_rules_own_script(
    words: str, record: dict[str, Any]
) -> None:
    assert cost_of(on_record(record)) == f"{OURS}{words}"


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(0.181, 0.001), (0.2, 0.02), (0.67, 0.5)], "constant"),
        ([(0.002, 0.001), (0.03, 0.01), (0.25, 0.1)], "share"),
        ([(0.0097, 0.001), (0.04, 0.01), (0.7, 0.5)], "depends"),
        # A script that is slower at one size and faster at another has no cost that stays.
        ([(0.002, 0.001), (0.0201, 0.02), (0.4, 0.5)], "depends"),
    ],
)
def test_what_stays_within_a_factor_of_two_is_what_the_cost_is(pairs: Pairs, expected: str) -> None:
    assert behaviour(sized(pairs)) == expected


@pytest.mark.parametrize("record", [result(), sized([(0.0172, 0.001)], names=["medium"])])
def test_what_one_size_showed_is_said_as_before(record: dict[str, Any]) -> None:
    assert behaviour(record) is None
    assert cost_over_sizes(record) is None
    assert cost_of(on_record(record)) == f"{OURS}a step 17 → 1.0 ms"


def test_a_claim_that_did_not_hold_says_so() -> None:
    refuted = sized([(0.0097, 0.001), (0.012, 0.01), (0.5, 0.5)], verdict="refuted")
    assert cost_of(on_record(refuted)) == (
        f"{OURS}a step 9.7 → 1.0 ms (small enough), 500 ms both (large enough); "
        "too little at some sizes, so off by default; not measured on a GPU"
    )


def test_what_the_fast_form_does_worse_is_said_as_well() -> None:
    worse = {"metric": "host memory", "slow": 1e8, "fast": 2e8, "steps": None}
    effect = {"value": 2.0, "low": 1.9, "high": 2.1, "confidence": 0.9375}
    record = {**A_CONSTANT, "worse": [{**worse, "effect": effect}]}
    assert (
        cost_of(on_record(record))
        == f"{OURS}{SAID_OF_CONSTANT}; the fast form takes 100 MB more host memory at its peak"
    )


def test_what_is_gained_at_first_and_lost_later_is_said_of_the_fast_form() -> None:
    effect = {"value": 3.0, "low": 2.9, "high": 3.1, "confidence": 0.9375}
    later = {"metric": "step time", "slow": 0.001, "fast": 0.003, "steps": 152, "effect": effect}
    record = sized([(0.3, 0.1), (0.9, 0.5), (3.0, 0.2)], metric="first step") | {"worse": [later]}
    said = (
        "the first step 300 → 100 ms (small enough), 3.0 s → 200 ms (large enough); "
        "the fast form takes 2.0 ms more in each later step: it paid only in runs of fewer than 150 steps (medium enough), so the rule is off by default"
    )
    assert cost_of(on_record(record)) == f"{OURS}{said}"


def test_devices_are_told_apart() -> None:
    other = on_record(result(value=5.0), device=GPU)
    assert cost_of((*on_record(A_CONSTANT), *other)) == (
        f"{OURS}{SAID_OF_CONSTANT}; Synthetic GPU: a step 17 → 1.0 ms"
    )


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "all_evidence", lambda **_: {"TFP406": on_record(A_CONSTANT)})
    monkeypatch.setattr(cost, "all_evidence", evidence.all_evidence)


@pytest.mark.slow
@pytest.mark.usefixtures("recorded")
def test_a_finding_and_its_data_say_it(tflint_perf: CommandLine) -> None:
    tflint_perf.write("slow.py", SLOW)
    told = tflint_perf("--select=TFP406").out
    assert f"  TFP406 gc-in-loop, {OURS}{SAID_OF_CONSTANT}\n" in told
    (found,) = json.loads(tflint_perf("--select=TFP406", "--output-format=json").out)
    (said,) = found["cost"]
    assert (said["over_sizes"], said["verdict"]) == ("constant", "confirmed")
    assert [one["size"] for one in said["sizes"]] == ["small", "medium", "large"]
    assert said["sizes"][2] == {
        "size": "large",
        "what": "large enough",
        "of": "units",
        "at": 1024,
        "slow": 0.67,
        "fast": 0.5,
        "times": pytest.approx(1.34),
        "verdict": "refuted",
    }


def test_a_rules_page_has_a_row_for_each_size() -> None:
    lines = page(*on_record(A_CONSTANT))
    at = lines.index(f"On CPU: {SAID_OF_CONSTANT}. The verdict is that of the medium size.")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[at + 2 : at + 7]]
    assert rows[0] == ["size", "what it is", "slow", "fast", "effect", "verdict"]
    assert rows[2] == ["small", "small enough", "180 ms", "1.0 ms", "180×", "confirmed"]
    assert rows[4] == ["large", "large enough", "670 ms", "500 ms", "1.3×", "refuted"]


def test_the_report_and_the_table_have_them_too() -> None:
    results = {"TFP406": A_CONSTANT}
    report = text_of(parse(page_text(document(results))))
    assert f"{SAID_OF_CONSTANT}." in report
    assert "large enough" in report
    lines = list(table.over_sizes(results))
    assert lines[0] == "TFP406, small (small enough): slow 180 ms, fast 1.0 ms, 180×: confirmed"
    assert lines[3] == f"TFP406: {SAID_OF_CONSTANT}"
    (row,) = table.rows(results, {"TFP406": "gc-in-loop"})
    assert row[0] == "TFP406 gc-in-loop, medium"


def test_an_experiment_of_one_size_has_no_such_rows() -> None:
    results = {"TFP406": result(run(0.0172))}
    assert list(table.over_sizes(results)) == []
    assert "small enough" not in text_of(parse(page_text(document(results))))
