"""Each fixture trains, and its slow and its fast script compute the same."""

from __future__ import annotations

import ast
import math
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fixture_runner import finish, start
from tflint_perf.registry import all_rules

FIXTURES = Path(__file__).parent.parent / "fixtures"
CODES = sorted(path.parent.name for path in FIXTURES.glob("TFP*/slow.py"))
STEPS = 20
QUARTER = STEPS // 4

each_pair = pytest.mark.parametrize("code", CODES)
# Looked for, not imported: only the scripts' own processes pay for it.
runs = pytest.mark.skipif(find_spec("tensorflow") is None, reason="TensorFlow is not installed")


@cache
def losses(code: str) -> tuple[list[float], list[float]]:
    """What `slow.py` and `fast.py` yield, both run at the same time."""
    slow, fast = (start(FIXTURES / code / script, STEPS) for script in ("slow.py", "fast.py"))
    try:
        return finish(slow), finish(fast)
    finally:
        fast.kill()


def tolerance(code: str) -> float:
    """The largest relative difference between two losses that the claim of the rule allows."""
    claim = all_rules()[code].claim
    assert claim is not None
    return claim.tolerance


@each_pair
def test_both_scripts_of_a_pair_describe_the_same_experiment(code: str) -> None:
    slow, fast = (
        ast.get_docstring(ast.parse((FIXTURES / code / script).read_text(encoding="utf-8")))
        for script in ("slow.py", "fast.py")
    )
    assert slow is not None
    assert slow == fast


@runs
@each_pair
def test_both_scripts_of_a_pair_yield_once_a_step(code: str) -> None:
    assert [len(run) for run in losses(code)] == [STEPS, STEPS]


@runs
@each_pair
def test_all_losses_of_a_pair_are_finite(code: str) -> None:
    assert all(math.isfinite(loss) for run in losses(code) for loss in run)


@runs
@each_pair
def test_both_scripts_of_a_pair_learn(code: str) -> None:
    for run in losses(code):
        assert sum(run[-QUARTER:]) < sum(run[:QUARTER])


@runs
@each_pair
def test_the_losses_of_both_scripts_agree_step_by_step(code: str) -> None:
    slow, fast = losses(code)
    assert slow == pytest.approx(fast, rel=tolerance(code), abs=0)
