"""Experiments that run well, and those that crash, hang, lie or run out of memory."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.verify.support import (
    FAKE_TENSORFLOW,
    OPTIONS,
    STEP_TIME,
    STEPS,
    experiment,
    fake_tensorflow,
    nursery,
)
from tflint_perf.rule import Claim
from tflint_perf.verify.experiment import Experiment
from tflint_perf.verify.machine import Machine, pieces_of_work
from tflint_perf.verify.process import environment
from tflint_perf.verify.records import Result
from tflint_perf.verify.runner import order, plan_of, run_experiment
from tflint_perf.verify.verdict import judge

pytestmark = pytest.mark.slow

pytest.importorskip("psutil")
pytest.importorskip("scipy")

# What is said of a script does not depend on how its process was started.
forked = pytest.mark.usefixtures("forked_scripts")

QUICK = replace(OPTIONS, quick=True)
# Says which process it is in, and after which others, by the lines in a file.
SIGNS = (
    "step or open({path!r}, 'a').write(' '.join([str(os.getpid()), os.path.basename(__file__)]) + chr(10))"
)
# Slow, but for the third run that is timed: the file has as many characters as runs have begun.
DISTURBED = "step or open({path!r}, 'a').write('.'); takes(4 if os.path.getsize({path!r}) == 4 else 16)"
OUT_OF_REACH = replace(
    STEP_TIME, least=1_000.0
)  # refuted whatever the noise, so that no more pairs are asked for


@pytest.fixture(autouse=True)
def tensorflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A TensorFlow for the scripts' processes, quick to import; its folder."""
    folder = fake_tensorflow(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


def run(subject: Experiment, options: object = QUICK) -> Result:
    return run_experiment(subject, options, lambda: None)


def run_in_forks(subject: Experiment, options: object = OPTIONS) -> Result:
    """The same, sooner where there are many runs."""
    with nursery() as forked:
        return run_experiment(subject, options, lambda: None, forked)


def test_slow_and_fast_run_in_turn() -> None:
    assert order(3) == ["slow", "fast", "fast", "slow", "slow", "fast"]
    assert order(1) + order(2, before=1) == order(3)


@forked
def test_pairs_that_run_are_judged(tmp_path: Path) -> None:
    result = run(experiment(tmp_path, "takes(16)", "takes(4)"), OPTIONS)
    assert (result.verdict, result.steps) == ("confirmed", STEPS)
    assert len(result.pairs) == 5
    assert result.effect is not None
    assert 3.9 < result.effect.low <= result.effect.value <= result.effect.high < 4.1


def test_each_run_has_a_process_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "log"
    signs = SIGNS.format(path=str(log))
    run(experiment(tmp_path, signs, signs, OUT_OF_REACH), OPTIONS)
    processes, scripts = zip(*(line.split() for line in log.read_text().splitlines()), strict=True)
    assert len({*processes, str(os.getpid())}) == 13
    # Before they are timed, one run of each shows what they compute.
    assert [name.removesuffix(".py") for name in scripts] == ["slow", "fast", *order(5)]


@forked
def test_every_run_is_told_of(tmp_path: Path) -> None:
    told: list[None] = []
    run_experiment(experiment(tmp_path, claim=OUT_OF_REACH), OPTIONS, lambda: told.append(None))
    assert len(told) == OPTIONS.runs == 10


def test_what_five_pairs_leave_open_gets_five_more(tmp_path: Path) -> None:
    disturbed = DISTURBED.format(path=str(tmp_path / "log"))
    result = run_in_forks(experiment(tmp_path, disturbed, "takes(4)"), OPTIONS)
    ratios = [pair.slow.step / pair.fast.step for pair in result.pairs]
    assert [ratio > 2 for ratio in ratios] == [True, True, False, *[True] * 7]
    assert judge(STEP_TIME, result.pairs[:5]).verdict == "inconclusive"
    assert result.verdict == "confirmed"


def test_both_scripts_are_compared_over_as_many_steps_however_long_those_of_the_fast_one_take(
    tmp_path: Path,
) -> None:
    result = run_in_forks(
        experiment(tmp_path, "takes(100)", "takes(90)", replace(STEP_TIME, least=5.0, steps=None)), OPTIONS
    )
    assert result.losses is not None
    assert result.losses.steps == 1 + 3 + 50  # five seconds of them, and those before that are not timed


def test_short_steps_are_compared_for_less_time(tmp_path: Path) -> None:
    result = run_in_forks(
        experiment(tmp_path, "takes(10)", "takes(9)", replace(STEP_TIME, least=5.0, steps=None)), OPTIONS
    )
    assert result.losses is not None
    assert 1.5 <= (result.losses.steps or 0) * 0.010 < 1.9


def test_a_fast_script_that_has_soon_done_the_few_steps_of_a_slow_one_is_timed_over_those(
    tmp_path: Path,
) -> None:
    claim = replace(STEP_TIME, steps=None)
    result = run_in_forks(
        experiment(tmp_path, "takes(1500)", "takes(5)", claim), replace(OPTIONS, timeout=20)
    )
    assert (result.verdict, result.losses and result.losses.steps) == ("confirmed", 9), result
    fast = result.pairs[0].fast
    assert sum(count for _, count, _ in fast.windows) == 5
    assert fast.step == pytest.approx(0.005, rel=0.01)


def test_a_run_ends_sooner_where_its_windows_are_alike(tmp_path: Path) -> None:
    claim = replace(STEP_TIME, least=5.0, steps=None)
    alike = run_in_forks(experiment(tmp_path, "takes(2)", "takes(1)", claim), OPTIONS)
    # Each window of some steps takes as long as any other, or half of that.
    unlike = run_in_forks(
        experiment(tmp_path, "takes(2 if step // 13 % 2 else 1)", "takes(1)", claim), OPTIONS
    )
    spent, longer = (
        sum(seconds for _, _, seconds in result.pairs[0].slow.windows) for result in (alike, unlike)
    )
    assert 0.4 <= spent < 0.5
    assert longer > 0.6


SETTLE = replace(OPTIONS, settle=True)


def test_three_pairs_settle_what_is_far_beyond_the_claim(tmp_path: Path) -> None:
    result = run_in_forks(experiment(tmp_path, "takes(16)", "takes(4)"), SETTLE)
    assert (result.verdict, len(result.pairs)) == ("confirmed", 3)
    result = run_in_forks(experiment(tmp_path, "takes(4)", "takes(4)"), SETTLE)
    assert (result.verdict, len(result.pairs)) == ("refuted", 3)


def test_what_three_pairs_do_not_settle_gets_two_more_in_turn(tmp_path: Path) -> None:
    log = tmp_path / "log"
    signs = SIGNS.format(path=str(log))
    result = run_in_forks(experiment(tmp_path, f"takes(10); {signs}", f"takes(4); {signs}"), SETTLE)
    assert (result.verdict, len(result.pairs)) == ("confirmed", 5)
    scripts = list(dict.fromkeys(line.split()[1] + line.split()[0] for line in log.read_text().splitlines()))
    assert [name.split(".py")[0] for name in scripts] == ["slow", "fast", *order(5)]


def test_on_a_busy_machine_three_pairs_settle_less(tmp_path: Path) -> None:
    busy = Machine(lambda: (pieces_of_work() * 0.002, 0.001))
    result = run_in_forks(experiment(tmp_path, "takes(20)", "takes(4)"), replace(SETTLE, machine=busy))
    assert len(result.pairs) == 5
    assert result.verdict == "confirmed"  # half of five times is more than what is claimed


@forked
def test_a_quick_run_says_that_the_scripts_agree(tmp_path: Path) -> None:
    result = run(experiment(tmp_path, "takes(1)"))
    assert (result.verdict, len(result.pairs), result.effect) == ("agrees", 1, None)


@pytest.mark.parametrize(
    ("each", "reason"),
    [
        ("raise ValueError('no such thing\\nat all')", "slow.py: ValueError: no such thing"),
        ("1 / (3 - step)", "slow.py: ZeroDivisionError: division by zero"),
        ("sys.exit(3)", "slow.py: SystemExit: 3"),
        ("os._exit(3)", "slow.py: ended with exit code 3 and without an answer"),
        ("os.kill(os.getpid(), 9)", "slow.py: killed by SIGKILL, as the system does when memory runs out"),
        ("os.abort()", "slow.py: killed by SIGABRT"),
        ("raise MemoryError", "slow.py: out of memory: MemoryError"),
        ("step < 5 or [][0]", "slow.py: IndexError: list index out of range"),
        ("if step == 7: return", "slow.py: `train(20)` yields 7 losses"),
        ("if not step: yield 0", "slow.py: `train(20)` yields more than 20 losses"),
        ("yield 'loss'", "slow.py: `train` yields str, not a loss"),
        ("yield None", "slow.py: `train` yields NoneType, not a loss"),
        ("return", "slow.py: `train` yields nothing"),
        ("yield step", "the losses differ by 1; the claim allows 1e-05"),
        ("yield float('nan')", "the losses are not all finite, or were not seen at the same steps"),
    ],
)
@forked
def test_what_goes_wrong_is_one_line(tmp_path: Path, each: str, reason: str) -> None:
    subject = experiment(tmp_path, each)
    if "differ" in reason or "finite" in reason:
        text = subject.slow.read_text().replace("yield 1 / (1 + step)", "continue")
        subject.slow.write_text(text)
    result = run(subject)
    assert (result.verdict, result.reason) == ("failed", reason)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "there is no function `train`"),
        (
            "def train(steps): return [1.0] * steps",
            "`train` is not a generator: it must yield the loss of each step",
        ),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("def train(:", "SyntaxError: invalid syntax (slow.py, line 1)"),
        (
            "class ResourceExhaustedError(Exception): pass\n"
            "def train(steps):\n    raise ResourceExhaustedError('OOM when allocating')\n    yield",
            "out of memory: ResourceExhaustedError: OOM when allocating",
        ),
    ],
)
@forked
def test_a_script_of_another_form_is_told(tmp_path: Path, text: str, reason: str) -> None:
    subject = experiment(tmp_path)
    subject.slow.write_text(text)
    assert run(subject).reason == f"slow.py: {reason}"


@forked
def test_a_script_that_hangs_is_given_up(tmp_path: Path) -> None:
    began = time.monotonic()
    result = run(experiment(tmp_path, "time.sleep(600)"), replace(OPTIONS, timeout=1))
    assert (result.verdict, result.reason) == ("failed", "slow.py: took more than 1 s")
    assert time.monotonic() - began < 300


@forked
def test_the_output_of_a_script_that_fails_is_kept(tmp_path: Path) -> None:
    result = run(experiment(tmp_path, "print('at step', step); step < 3 or [][0]"))
    assert "at step 3" in result.output
    assert result.output.endswith("IndexError: list index out of range")


@forked
def test_after_a_failure_no_more_pairs_run(tmp_path: Path) -> None:
    told: list[None] = []
    run_experiment(experiment(tmp_path, "[][0]"), OPTIONS, lambda: told.append(None))
    assert told == []


def test_what_needs_a_gpu_is_not_run_without_one(tmp_path: Path) -> None:
    subject = experiment(tmp_path, "[][0]", claim=Claim("device memory", 2.0, needs_gpu=True))
    assert run(subject, OPTIONS).verdict == "not measurable"


@forked
def test_what_needs_a_gpu_must_run_and_agree_without_one_too(tmp_path: Path) -> None:
    subject = experiment(tmp_path, claim=Claim("device memory", 2.0, needs_gpu=True))
    assert run(subject).verdict == "agrees"


def test_tensorflow_that_fails_to_import_is_told(tensorflow: Path, tmp_path: Path) -> None:
    (tensorflow / "tensorflow" / "__init__.py").write_text(
        f"{FAKE_TENSORFLOW}\nraise ImportError('libcuda.so: bad')"
    )
    reason = "slow.py: TensorFlow fails to import: ImportError: libcuda.so: bad"
    assert run(experiment(tmp_path)).reason == reason


def test_a_script_that_sets_the_environment_does_so_before_tensorflow_is_imported(tmp_path: Path) -> None:
    each = "sys.modules.get('tensorflow') and [][0]"
    assert run(experiment(tmp_path, each)).verdict == "failed"
    subject = experiment(tmp_path, each)
    subject.slow.write_text(subject.slow.read_text() + "\nos.environ['TF_XLA_FLAGS'] = ''\n")
    assert run(subject).verdict == "agrees"


@pytest.mark.parametrize("module", ["tensorflow", "numpy", "json", "statistics", "tflint_perf"])
def test_what_lies_in_the_current_folder_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str
) -> None:
    current = tmp_path / "current"
    current.mkdir()
    (current / f"{module}.py").write_text("raise SystemExit('imported from the current folder')")
    monkeypatch.chdir(current)
    subject = replace(experiment(tmp_path / "scripts", f"import {module}"), own=True)
    assert run(subject).verdict == "agrees"


@forked
def test_what_lies_beside_a_script_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "layers_of_mine.py").write_text("")
    assert run(experiment(tmp_path, "import layers_of_mine")).verdict == "agrees"


def test_a_users_script_finds_its_files_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data.csv").write_text("1")
    subject = replace(experiment(tmp_path / "scripts", "open('data.csv').close()"), own=True)
    assert run(subject).verdict == "agrees"


@forked
def test_a_script_leaves_nothing_beside_itself(tmp_path: Path) -> None:
    folder = tmp_path / "scripts"
    run(experiment(folder, "step or open('written', 'w').close()"))
    assert sorted(path.name for path in folder.iterdir()) == ["fast.py", "slow.py"]


@forked
def test_losses_are_made_numbers_at_the_edges_of_windows_only(tmp_path: Path) -> None:
    counts = tmp_path / "counts"
    text = f"""
import numpy as np

class Loss:
    made = 0
    def __array__(self, dtype=None, copy=None):
        Loss.made += 1
        return np.zeros(())

def train(steps):
    for step in range(steps):
        yield Loss()
        open({str(counts)!r}, "a").write(str(Loss.made) + " ")
"""
    subject = experiment(tmp_path, claim=replace(STEP_TIME, steps=2_000))
    subject.slow.write_text(text)
    subject.fast.write_text(text.replace(str(counts), os.devnull))
    run(subject, replace(OPTIONS, quick=False, pairs=1))
    made = [int(count) for count in counts.read_text().split()]
    assert len(made) == 4_000  # one run shows what it computes, one is timed
    made = made[2_000:]
    stretches = [made.count(count) for count in sorted(set(made[20:]))]
    # 2,000 steps in 40 windows are 50 steps each, and not one of them waits; the last may be shorter.
    assert min(stretches[:-1]) >= 40


def test_a_growth_is_measured_over_all_steps_and_other_claims_within_a_time(tmp_path: Path) -> None:
    ratio, growth = (
        plan_of(experiment(tmp_path, claim=Claim("live tensors", 2.0, kind=kind)), OPTIONS)
        for kind in ("ratio", "growth")
    )
    assert ratio.seconds is not None
    assert growth.seconds is None
    assert growth.samples > 2


@forked
def test_nothing_is_counted_that_the_claim_is_not_about(tmp_path: Path) -> None:
    result = run_in_forks(experiment(tmp_path, claim=OUT_OF_REACH), OPTIONS)
    for one in result.pairs[0].slow, result.pairs[0].fast:
        assert (one.counts, one.graph_ops, one.live_tensors_per_step, one.traces) == ((), None, None, 0)
    result = run_in_forks(experiment(tmp_path, claim=Claim("live tensors", 1_000.0, steps=20)), OPTIONS)
    assert [len(pair.slow.counts) for pair in result.pairs] == [2] * len(result.pairs)


@forked
def test_steps_given_go_before_those_of_the_claim(tmp_path: Path) -> None:
    subject = experiment(tmp_path, claim=replace(STEP_TIME, steps=28))
    assert plan_of(subject, OPTIONS).steps == 28
    assert plan_of(subject, replace(OPTIONS, steps=50)).steps == 50
    assert plan_of(subject, QUICK).steps == 20


def test_scripts_on_the_cpu_see_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setenv("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    assert environment("cpu")["CUDA_VISIBLE_DEVICES"] == "-1"
    assert environment("gpu")["CUDA_VISIBLE_DEVICES"] == "0"
    assert "TF_FORCE_GPU_ALLOW_GROWTH" not in environment("gpu")
