"""Each fixture trains, and its slow and its fast script compute the same: `verify --quick` over all pairs."""

from __future__ import annotations

import ast
import math
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.forked import Forks
from tflint_perf.catalogue.registry import all_rules
from tflint_perf.verify.experiment import Experiment, rule_experiments
from tflint_perf.verify.runner import Options, Runs, Turn, plan_of
from tflint_perf.verify.values import Values, compare_values

FIXTURES = Path(__file__).parent.parent / "fixtures"
STEPS = 12
QUICK = Options(quick=True, steps=STEPS)
EXPERIMENTS, MISSING = rule_experiments([], FIXTURES)
QUARTER = STEPS // 4
# Their scripts do not train the same variables: one makes a model for each step.
OTHER_VARIABLES = {"TFP407": "the fast script trains 6 variables instead of 72"}

# Looked for, not imported: only the process that is forked pays for it.
runs = pytest.mark.skipif(
    find_spec("tensorflow") is None, reason="the scripts train with TensorFlow, which `make test` installs"
)
each_pair = pytest.mark.parametrize("pair", EXPERIMENTS, ids=lambda pair: pair.name)


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
def test_both_scripts_of_a_pair_learn_the_same(pair: Experiment, forks: Forks) -> None:
    plan = plan_of(pair, QUICK)
    runs = Runs(pair, QUICK, forks.nursery)
    slow, fast = (ran.values for ran in runs.of([Turn(side, plan, "values") for side in ("slow", "fast")]))
    for values in (slow, fast):
        in_order = [values.losses[step] for step in sorted(values.losses)]
        assert len(in_order) == plan.steps
        assert all(map(math.isfinite, in_order))
        assert sum(in_order[-QUARTER:]) < sum(in_order[:QUARTER])

    def control() -> Values:
        (nudged,) = runs.of([Turn("slow", plan, "nudged")])
        return nudged.values

    compared = compare_values(slow, fast, pair.claim.tolerance, control)
    assert compared.agree, compared
    assert compared.not_compared == OTHER_VARIABLES.get(pair.name, "")
