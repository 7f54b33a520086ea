"""What the fast script does worse, beside the claim."""

from __future__ import annotations

from dataclasses import asdict, replace

import pytest

from tests.verify.support import RUN
from tflint_perf.catalogue.measured import worse_of
from tflint_perf.plain_data import plain
from tflint_perf.rule import Claim
from tflint_perf.verify import table
from tflint_perf.verify.records import Pair, Run
from tflint_perf.verify.statistics import LEAST_PAIRS
from tflint_perf.verify.worse import worse

pytest.importorskip("scipy")

FIRST = Claim("first step", 2.0)
STEP = Claim("step time", 2.0)
SLOW_START = replace(RUN, first_step=3.0)
# 600 MB instead of 100.
LARGE = replace(RUN, memory=((0, 500_000_000), (10, 1_100_000_000)))


def said(claim: Claim, slow: Run, fast: Run, pairs: int = LEAST_PAIRS) -> list[str]:
    found = worse(claim, [Pair(slow, fast)] * pairs)
    return list(worse_of({"worse": plain([asdict(one) for one in found], 4)}))


def test_a_fix_that_makes_nothing_worse_says_nothing() -> None:
    assert said(FIRST, SLOW_START, RUN) == []


def test_steps_that_take_longer_eat_up_what_the_first_one_saves() -> None:
    assert said(FIRST, SLOW_START, replace(RUN, step=0.02)) == [
        "step time 2.00× (2.00 to 2.00): 20 ms instead of 10 ms, "
        "which eats up what the first step saves from step 250 on"
    ]


def test_a_first_step_that_takes_longer_is_made_good_by_the_others() -> None:
    assert said(STEP, replace(RUN, step=0.02), SLOW_START) == [
        "first step 6.00× (6.00 to 6.00): 3.0 s instead of 500 ms, which the other steps make up for from step 250 on"
    ]


def test_memory_is_told_in_bytes() -> None:
    assert said(STEP, replace(RUN, step=0.02), LARGE) == [
        "host memory 6.00× (6.00 to 6.00): 600 MB instead of 100 MB"
    ]


@pytest.mark.parametrize(
    ("claim", "slow", "fast"),
    [
        (STEP, RUN, replace(RUN, step=0.02)),  # what the claim is about is in its verdict
        (Claim("time per sample", 2.0), RUN, replace(RUN, step=0.02)),
        (STEP, RUN, replace(RUN, first_step=0.54)),  # 40 ms, once
        (STEP, RUN, replace(RUN, memory=((0, 500_000_000), (10, 604_000_000)))),  # 4%
    ],
)
def test_what_the_claim_is_about_and_what_is_little_is_left_out(claim: Claim, slow: Run, fast: Run) -> None:
    assert said(claim, slow, fast) == []


def test_a_growth_of_step_time_says_nothing_of_the_step_itself() -> None:
    (line,) = said(Claim("step time", 1.5, kind="growth"), RUN, replace(RUN, step=0.03))
    assert line.startswith("step time 3.00×")


def test_where_a_step_takes_other_samples_the_time_of_a_sample_is_compared() -> None:
    few, many = replace(RUN, samples_per_step=1), replace(RUN, samples_per_step=32)
    assert said(FIRST, few, many) == []
    (line,) = said(FIRST, many, few)
    assert line.startswith("time per sample 32.0×")


def test_what_noise_may_explain_is_not_worse() -> None:
    steps = (0.0099, 0.0108, 0.012, 0.0125, 0.013)
    pairs = [Pair(SLOW_START, replace(RUN, step=step)) for step in steps]
    assert worse(FIRST, pairs) == ()


def test_a_quick_run_tells_nothing() -> None:
    assert said(FIRST, SLOW_START, replace(RUN, step=0.02), pairs=1) == []


def test_the_table_says_it_behind_its_rows() -> None:
    (one,) = worse(FIRST, [Pair(SLOW_START, replace(RUN, step=0.02))] * LEAST_PAIRS)
    result = {
        "claim": asdict(FIRST),
        "verdict": "confirmed",
        "effect": None,
        "worse": [asdict(one)],
    }
    *_, last = table.markdown({"TFP103": result}, {})
    assert last.startswith("TFP103: the fast script does worse: step time 2.00×")
