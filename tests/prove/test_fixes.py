"""The fixes of a project, and any of them made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from tests.notebooks import notebook
from tests.prove.support import PREDICTS
from tflint_perf.config.reading import Values
from tflint_perf.config.resolve import Configs
from tflint_perf.prove.fixes import Fixes, PlacedFix, find_fixes

TRAIN = """\
import gc

import tensorflow as tf


def train(model, dataset, optimizer):
    for images, labels in dataset:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(images) - labels))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        gc.collect()
"""
BUILT_ANEW = """\
import tensorflow as tf


def tune(images):
    for epoch in range(10):
        for x in tf.data.Dataset.from_tensor_slices(images).map(lambda image: image + 1).batch(32):
            print(x)
"""

Finding = Callable[..., Fixes]


@pytest.fixture
def finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Finding:
    """Finds the fixes of the scripts that it is given."""
    monkeypatch.chdir(tmp_path)

    def find(keys: dict[str, object] | None = None, **scripts: str) -> Fixes:
        for name, text in scripts.items():
            Path(f"{name}.py").write_bytes(text.encode())
        configs = Configs(tmp_path, [Values(tmp_path, {"unsafe-fixes": True, **(keys or {})})])

        def read(file: str) -> bytes:
            return Path(file).read_bytes()

        return find_fixes(tmp_path, "train.py", configs, configs.of(tmp_path), read, 1)

    return find


def labels(found: Fixes) -> list[str]:
    return [fix.label for fix in found.all]


def of(found: Fixes, *codes: str) -> frozenset[PlacedFix]:
    return frozenset(fix for fix in found.all if fix.code in codes)


def test_nothing_to_fix_is_nothing(finding: Finding) -> None:
    found = finding(train="import tensorflow as tf\n")
    assert (found.all, found.made(frozenset())) == ((), {})


def test_each_fix_has_its_place(finding: Finding) -> None:
    found = finding(train=TRAIN, tune=BUILT_ANEW)
    assert labels(found) == [
        "TFP101 train.py:8",
        "TFP406 train.py:12",
        "TFP505 tune.py:6",
        "TFP506 tune.py:6",
    ]
    assert not found.all[0].safe
    assert found.all[0].title.startswith("Move the step to a `@tf.function` above the loop")


def test_who_calls_what_is_fixed_counts_where_nothing_marks_a_project(finding: Finding) -> None:
    agent = """\
        import tensorflow as tf
        class Agent:
            def __init__(self):
                self.model = tf.keras.Sequential([tf.keras.layers.Dense(2)])
            def act(self, state):
                return self.model.predict(state)
        """
    train = """\
        import gym
        from agent import Agent
        env, agent = gym.make("CartPole-v1"), Agent()
        for episode in range(1000):
            state, done = env.reset(), False
            while not done:
                state, reward, done, _ = env.step(agent.act(state))
        """
    found = finding(agent=dedent(agent), train=dedent(train))
    assert ("agent.py", "TFP105") in {(fix.file, fix.code) for fix in found.all}


def test_what_the_configuration_leaves_out_is_no_fix(finding: Finding) -> None:
    assert labels(finding({"ignore": ["TFP4"]}, train=TRAIN)) == ["TFP101 train.py:8"]
    assert labels(finding({"unfixable": ["TFP101"]}, train=TRAIN)) == ["TFP406 train.py:12"]
    assert labels(finding(train=TRAIN.replace("gc.collect()", "gc.collect()  # noqa"))) == [
        "TFP101 train.py:8"
    ]


def test_unsafe_fixes_are_counted_where_they_are_not_wanted(finding: Finding) -> None:
    found = finding({"unsafe-fixes": False}, train=TRAIN)
    assert (found.all, found.unsafe) == ((), 2)


def test_bold_fixes_are_found_where_they_are_asked_for(finding: Finding) -> None:
    assert [fix.bold for fix in finding(train=PREDICTS).all if fix.code == "TFP105"] == [False]

    found = finding({"bold-fixes": True}, train=PREDICTS)
    (bold,) = (fix for fix in found.all if fix.code == "TFP105")
    other = found.others[bold]
    assert (bold.bold, other.bold, other.safe) == (True, False, False)
    made = [found.made(frozenset({fix}))["train.py"].decode() for fix in (bold, other)]
    assert "answer = run_model(tf.convert_to_tensor(state)).numpy()" in made[0]
    assert "answer = model.predict_on_batch(state)" in made[1]


def test_bold_fixes_of_one_model_share_a_function_and_each_can_be_made_alone(finding: Finding) -> None:
    twice = PREDICTS.replace("(answer)", "(answer, model.predict(state + 1))")
    found = finding({"bold-fixes": True}, train=twice)
    first, second = (fix for fix in found.all if fix.code == "TFP105" and fix.bold)
    for wanted, calls in ({first}, 1), ({second}, 1), ({first, second}, 2):
        made = found.made(frozenset(wanted))["train.py"].decode()
        assert (made.count("@tf.function"), made.count("run_model(tf.")) == (1, calls)


def test_one_fix_can_be_made_without_the_others(finding: Finding) -> None:
    found = finding(train=TRAIN)
    made = found.made(of(found, "TFP406"))
    assert made == {
        "train.py": TRAIN.replace("        gc.collect()\n", "").replace("import gc\n\n", "").encode()
    }


def test_a_row_that_another_fix_has_moved_is_known_again(finding: Finding) -> None:
    found = finding(train=TRAIN)
    compiled = found.made(of(found, "TFP101"))["train.py"].decode()
    assert "@tf.function" in compiled
    assert "gc.collect()" in compiled


def test_a_row_that_another_fix_has_written_anew_is_known_again(finding: Finding) -> None:
    found = finding(train="", tune=BUILT_ANEW)
    built_once = found.made(of(found, "TFP506"))["tune.py"].decode()
    assert (
        "    dataset = tf.data.Dataset.from_tensor_slices(images).map(lambda image: image + 1).batch(32)"
        in built_once
    )
    both = found.made(of(found, "TFP505", "TFP506"))["tune.py"].decode()
    assert (
        "    dataset = tf.data.Dataset.from_tensor_slices(images).batch(32).map(lambda image: image + 1)"
        in both
    )


def test_all_fixes_together_are_what_the_linter_makes(finding: Finding, tmp_path: Path) -> None:
    from tflint_perf.cli.run import Request, check

    found = finding(train=TRAIN, tune=BUILT_ANEW)
    made = found.made(frozenset(found.all))
    keys = {"unsafe-fixes": True, "fix": True}
    check(Request((".",), no_cache=True, quiet=True), Configs(tmp_path, [Values(tmp_path, keys)]))
    assert made == {name: Path(name).read_bytes() for name in ("train.py", "tune.py")}


def test_a_file_that_is_not_touched_is_not_among_those_that_change(finding: Finding) -> None:
    found = finding(train=TRAIN, tune=BUILT_ANEW)
    assert set(found.made(of(found, "TFP406"))) == {"train.py"}


def test_line_ends_are_kept(finding: Finding) -> None:
    found = finding(train=TRAIN.replace("\n", "\r\n"))
    made = found.made(of(found, "TFP406", "TFP101"))["train.py"]
    assert made.count(b"\n") == made.count(b"\r\n")
    assert b"gc" not in made


def test_in_a_notebook_a_fix_is_at_a_row_of_a_cell(finding: Finding) -> None:
    head, _, loop = TRAIN.partition("\n\ndef")
    Path("train.ipynb").write_bytes(notebook(head, f"def{loop}"))
    found = finding(train="")
    assert [(fix.place, fix.cell, fix.row) for fix in found.all] == [
        ("train.ipynb:cell 2:3", 2, 3),
        ("train.ipynb:cell 2:7", 2, 7),
    ]
    made = found.made(of(found, "TFP406"))["train.ipynb"]
    assert b"gc.collect" not in made
    assert b"@tf.function" not in made


def test_fixes_at_the_same_row_of_two_cells_are_two(finding: Finding) -> None:
    head, _, loop = TRAIN.partition("\n\ndef")
    cell = f"def{loop}"
    Path("train.ipynb").write_bytes(notebook(head, cell, cell.replace("def train", "def again")))
    collections = sorted(of(finding(train=""), "TFP406"))
    assert [fix.place for fix in collections] == ["train.ipynb:cell 2:7", "train.ipynb:cell 3:7"]
