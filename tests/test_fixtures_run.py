"""Each fixture trains, and its slow and its fast script compute the same: `verify --quick` over all pairs."""

from __future__ import annotations

import ast
import math
import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tflint_perf.catalogue.registry import all_rules
from tflint_perf.verify.experiment import Experiment, rule_experiments
from tflint_perf.verify.nursery import Nursery
from tflint_perf.verify.process import environment
from tflint_perf.verify.runner import QUICK_STEPS, Options, measured_pairs, plan_of
from tflint_perf.verify.verdict import compare_losses

FIXTURES = Path(__file__).parent.parent / "fixtures"
QUICK = Options(quick=True)
EXPERIMENTS, MISSING = rule_experiments([], FIXTURES)
QUARTER = QUICK_STEPS // 4

# Looked for, not imported: only the scripts' own processes pay for it.
runs = pytest.mark.skipif(
    find_spec("tensorflow") is None, reason="the scripts train with TensorFlow, which `make test` installs"
)
each_pair = pytest.mark.parametrize("pair", EXPERIMENTS, ids=lambda pair: pair.name)


# A process to fork as `verify` has it, but that what TensorFlow's import made is not looked through each time that a
# run collects garbage and counts tensors: that takes longer than to train. Nothing is measured here.
BOOT = (
    "import gc; from tflint_perf.verify import child, nursery; "
    "nursery.import_frameworks(); gc.freeze(); child.main()"
)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery | None]:
    """TensorFlow, imported once for all pairs of this process; each script runs in a fork of its own."""
    if sys.platform != "linux":
        yield None
        return
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    made = Nursery([sys.executable, "-c", BOOT], environment("cpu") | path)
    yield made
    made.close()


def test_every_claim_has_its_experiment() -> None:
    assert MISSING == []
    assert {pair.name for pair in EXPERIMENTS} == {
        code for code, rule in all_rules().items() if rule.claim is not None
    }


@each_pair
def test_both_scripts_of_a_pair_describe_the_same_experiment(pair: Experiment) -> None:
    slow, fast = (
        ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) for script in (pair.slow, pair.fast)
    )
    assert slow is not None
    assert slow == fast


@pytest.mark.slow
@runs
@each_pair
def test_both_scripts_of_a_pair_learn_the_same(pair: Experiment, nursery: Nursery | None) -> None:
    plan = plan_of(pair, QUICK)
    ((slow, fast),) = measured_pairs(pair, plan, QUICK, lambda: None, nursery)
    losses = [dict(run["losses"]) for run in (slow, fast)]
    for run in losses:
        in_order = [run[step] for step in sorted(run)]
        assert len(in_order) == plan.steps
        assert all(map(math.isfinite, in_order))
        assert sum(in_order[-QUARTER:]) < sum(in_order[:QUARTER])
    compared = compare_losses(losses[0], losses[1], pair.claim.tolerance)
    assert compared.agree, compared
