"""Finding the experiments that there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.verify.support import script
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.problems import ConfigError
from tflint_perf.rule import Claim
from tflint_perf.verify.experiment import (
    belief_experiments,
    fixtures,
    own_experiment,
    rule_experiments,
)

pytestmark = pytest.mark.slow

BELIEF = """
title = "Collecting garbage frees memory"
[claim]
metric = "host memory"
least = 1.2
kind = "growth"
steps = 300
"""


def belief(folder: Path, text: str = BELIEF) -> Path:
    for name in ("slow", "fast"):
        script(folder / "garbage", name)
    (folder / "garbage" / "belief.toml").write_text(text, encoding="utf-8")
    return folder


def test_every_rule_that_claims_something_has_an_experiment() -> None:
    found, missing = rule_experiments((), fixtures())
    assert [experiment.name for experiment in found] == [
        code for code, rule in catalogue().items() if rule.claim is not None
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("selectors", "codes"),
    [
        (["TFP406"], ["TFP406"]),
        (["gc-in-loop"], ["TFP406"]),
        (["TFP40"], ["TFP401", "TFP404", "TFP406"]),
        (["TFP406", "TFP101"], ["TFP101", "TFP406"]),
    ],
)
def test_rules_are_chosen_as_for_linting(selectors: list[str], codes: list[str]) -> None:
    found, _ = rule_experiments(selectors, fixtures())
    assert [experiment.name for experiment in found if experiment.name in codes] == codes
    assert all(experiment.name.startswith(codes[0][:4]) or experiment.name in codes for experiment in found)


def test_a_rule_that_claims_nothing_has_no_experiment() -> None:
    assert rule_experiments(["TFP001"], fixtures()) == ([], [])


def test_an_unknown_rule_is_told_with_the_nearest_known_one() -> None:
    with pytest.raises(ConfigError, match="did you mean `gc-in-loop`"):
        rule_experiments(["gc-in-lop"], fixtures())


def test_a_rule_without_scripts_is_told(tmp_path: Path) -> None:
    found, missing = rule_experiments(["TFP406"], tmp_path)
    assert found == []
    assert missing == [f"TFP406: no experiment: {tmp_path / 'TFP406'} lacks slow.py or fast.py"]


def test_a_belief_is_read_from_its_folder(tmp_path: Path) -> None:
    (found,) = belief_experiments((), belief(tmp_path))
    assert (found.name, found.title) == ("garbage", "Collecting garbage frees memory")
    assert found.claim == Claim("host memory", 1.2, "growth", steps=300)
    assert found.slow == tmp_path / "garbage" / "slow.py"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (BELIEF.replace("host memory", "temperature"), "unknown metric `temperature`"),
        (BELIEF.replace("least", "leest"), "leest"),
        ('title = "x"', "claim"),
        ("title =", "not a belief"),
    ],
)
def test_a_belief_of_another_form_is_told_by_its_path(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem) as error:
        belief_experiments((), belief(tmp_path, text))
    assert "belief.toml" in str(error.value)


def test_an_unknown_belief_is_told_with_the_nearest_known_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean `garbage`"):
        belief_experiments(["garbag"], belief(tmp_path))


def test_a_users_script_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"after\.py: no such file"):
        own_experiment(script(tmp_path, "before"), tmp_path / "after.py", Claim("step time", 1.0))
