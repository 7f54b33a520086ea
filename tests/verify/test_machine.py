"""Whether the machine is calm enough to judge by, told by work that takes a known time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import pytest

from tests.verify.support import OPTIONS, RUN, STEP_TIME, experiment, fake_tensorflow
from tflint_perf.rule import Claim
from tflint_perf.verify.machine import CALM, Machine, disturbed, pieces_of_work, same_work
from tflint_perf.verify.records import Pair, Result
from tflint_perf.verify.runner import run_experiment
from tflint_perf.verify.verdict import judge

pytestmark = pytest.mark.slow

pytest.importorskip("psutil")
pytest.importorskip("scipy")

PIECE = 0.001


def working(*times: float) -> Callable[[], tuple[float, float]]:
    """Work that takes so many times as long as at best, look after look, again and again."""
    looks = [0]

    def work() -> tuple[float, float]:
        looks[0] += 1
        return pieces_of_work() * PIECE * times[(looks[0] - 1) % len(times)], PIECE

    return work


def machine(*times: float) -> Machine:
    found = Machine(working(*times))
    for _ in times:
        found.look()
    return found


@pytest.mark.parametrize(
    ("times", "noise"),
    [
        ([], 1.0),
        ([1.0] * 8, 1.0),
        ([CALM - 0.01] * 8, 1.0),
        ([3.0] * 8, 3.0),
        # What disturbs a few looks disturbs single runs, which the pairs tell.
        ([1.0] * 7 + [9.0], 1.0),
        ([1.0] * 12 + [9.0] * 4, 9.0),
    ],
)
def test_a_machine_is_noisy_when_the_same_work_takes_longer_for_a_quarter_of_the_time(
    times: list[float], noise: float
) -> None:
    assert machine(*times).noise() == pytest.approx(noise)


def test_only_the_looks_of_an_experiment_count_for_it() -> None:
    found = machine(5.0, 5.0, 1.0, 1.0)
    assert found.noise(since=2) == 1.0
    assert found.noise() == pytest.approx(5.0)


def test_the_best_that_was_seen_is_the_measure_however_busy_the_machine_is_later() -> None:
    found = Machine(lambda: (pieces_of_work() * PIECE, PIECE))
    found.look()
    found.work = lambda: (pieces_of_work() * 3 * PIECE, 2 * PIECE)
    found.look()
    assert found.best == PIECE
    assert found.noise(since=1) == pytest.approx(3.0)


def test_the_work_takes_at_least_as_long_as_its_pieces_at_their_best() -> None:
    took, piece = same_work()
    assert 0 < piece * pieces_of_work() <= took


def core(*pieces: float) -> list[float]:
    """When a core was through with each of its pieces, from when it began on."""
    return list(accumulate(pieces, initial=5.0))


@pytest.mark.parametrize(
    ("cores", "times"),
    [
        ([core(*[PIECE] * 60)] * 2, 1.0),
        # Two that share a core of the hardware are slow together, and the third is not.
        ([core(*[2 * PIECE] * 60), core(*[2 * PIECE] * 60), core(*[PIECE] * 60)], 1.0),
        # Once the others are through, one alone is faster: that is not what the machine does at rest under this work.
        ([core(*[2 * PIECE] * 60), core(*[2.5 * PIECE] * 48, *[PIECE] * 12)], 1.0),
        # Another program on the second core, for half of the time.
        ([core(*[PIECE] * 60), core(*[PIECE, 9 * PIECE] * 30)], 5.0),
        # Or all the time, so that it hardly gets to anything.
        ([core(*[PIECE] * 60), core(100 * PIECE, *[PIECE] * 59)], 159 / 60),
    ],
)
def test_a_core_is_compared_with_itself_while_all_work(cores: list[list[float]], times: float) -> None:
    took, best = disturbed(cores)
    assert took / (pieces_of_work() * best) == pytest.approx(times)


def of(ratio: float, claim: Claim = STEP_TIME, noise: float = 1.0) -> str:
    pairs = [
        Pair(replace(RUN, step=ratio, traces=round(100 * ratio)), replace(RUN, step=1.0, traces=100))
    ] * 5
    return judge(claim, pairs, noise=noise).verdict


@pytest.mark.parametrize(
    ("ratio", "noise", "verdict"),
    [
        (17.0, 1.0, "confirmed"),
        (17.0, 3.0, "confirmed"),  # three times less would still be enough
        (2.4, 1.0, "confirmed"),
        (2.4, 2.0, "too noisy"),
        (1.2, 1.0, "refuted"),
        (1.2, 2.0, "too noisy"),
        (0.1, 3.0, "refuted"),
    ],
)
def test_a_verdict_that_the_noise_could_have_made_is_none(ratio: float, noise: float, verdict: str) -> None:
    assert of(ratio, noise=noise) == verdict


def test_what_is_counted_is_judged_on_a_busy_machine_too() -> None:
    assert of(2.4, Claim("traces", 2.0), noise=5.0) == "confirmed"


def test_the_reason_says_what_was_seen() -> None:
    pairs = [Pair(replace(RUN, step=2.4), replace(RUN, step=1.0))] * 5
    assert judge(STEP_TIME, pairs, noise=3.0).reason == (
        "machine too noisy to judge: for a quarter of the time, the same work took 3.0 times as long as at best; "
        "2.4× (2.4 to 2.4); the claim is 2× at least"
    )


@pytest.fixture
def pair(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forked_scripts: None
) -> Callable[[Machine], Result]:
    monkeypatch.setenv("PYTHONPATH", str(fake_tensorflow(tmp_path)))
    subject = experiment(tmp_path, "takes(10)", "takes(4)")
    return lambda machine: run_experiment(subject, replace(OPTIONS, machine=machine), lambda: None)


def test_the_machine_is_looked_at_before_each_run(pair: Callable[[Machine], Result]) -> None:
    calm = Machine(working(1.0))
    result = pair(calm)
    assert (result.verdict, result.noise) == ("confirmed", 1.0)
    assert len(calm.looks) == 2 + 10


def test_an_experiment_on_a_machine_that_is_busy_all_the_time_gets_no_verdict(
    pair: Callable[[Machine], Result],
) -> None:
    result = pair(Machine(working(4.0)))
    assert (result.verdict, result.noise) == ("too noisy", pytest.approx(4.0))
    assert len(result.pairs) == 5  # more of them would tell no more
