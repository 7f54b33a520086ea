"""Models that loops build, train and let go of."""

from __future__ import annotations

import pytest
from tflint_perf.rules.memory.trials import Trials

from tests.analysis.support import model_of

LOOP = "for units in grid:\n    net = keras.Sequential([keras.layers.Dense(units)])\n    {}\n"
TRIALS = {
    "fit": ("net.fit(x)", True),
    "train_on_batch": ("net.train_on_batch(x)", True),
    "no training": ("net.predict(x)", False),
    "kept in a list": ("net.fit(x); nets.append(net)", False),
    "kept under another name": ("net.fit(x); last = net", False),
    "kept in an attribute": ("net.fit(x); self.net = net", False),
    "read and printed": ("net.fit(x); print(net.name)", True),
}


@pytest.mark.parametrize(("body", "is_trial"), TRIALS.values(), ids=TRIALS.keys())
def test_a_trial_trains_a_model_and_does_not_keep_it(body: str, is_trial: bool) -> None:
    names = [trial.name for trial in model_of(LOOP.format(body)).own(Trials).all()]
    assert names == (["net"] if is_trial else [])


FREES = {
    "nothing": ("net.fit(x)", False),
    "clear_session": ("net.fit(x); keras.backend.clear_session()", True),
    "a collection": ("net.fit(x); gc.collect()", True),
    "a deletion": ("net.fit(x); del net", True),
    "a deletion of something else": ("net.fit(x); del units", False),
}


@pytest.mark.parametrize(("body", "frees"), FREES.values(), ids=FREES.keys())
def test_knows_what_is_done_for_the_memory_of_a_trial(body: str, frees: bool) -> None:
    model = model_of(LOOP.format(body))
    (trial,) = model.own(Trials).all()
    assert model.own(Trials).frees(trial) is frees


LENGTHS = {
    "an unknown number": ("x", True),
    "a long count": ("range(100)", True),
    "a short count": ("range(2)", False),
    "six items": ("[1, 2, 3, 4, 5, 6]", True),
    "a short list": ("[1, 2]", False),
    "a short list by name": ("short", False),
    "a short list, counted": ("enumerate(short)", False),
    "a count by name": ("range(RUNS)", False),
    "folds by name": ("range(FOLDS)", True),
}


@pytest.mark.parametrize(("iterable", "is_long"), LENGTHS.values(), ids=LENGTHS.keys())
def test_a_few_models_are_no_trials(iterable: str, is_long: bool) -> None:
    source = "short = [1, 2]\nRUNS = 2\nFOLDS = 50\n" + LOOP.replace("grid", iterable).format("net.fit(x)")
    assert bool(list(model_of(source).own(Trials).all())) is is_long
