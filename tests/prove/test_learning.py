"""Whether two runs learned the same, by how far rounding alone goes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.prove.support import NONE, OTHER, ROUNDING, SAME
from tflint_perf.verify.learning import Apart, Learned, apart, read_learned, sameness, share

FIRST = np.zeros(4, np.float32)
LAST = np.array([1.0, 2.0, 3.0, 4.0], np.float32)


def learned(
    last: np.ndarray = LAST,
    losses: Mapping[int, Sequence[float]] | None = None,
    steps: int = 100,
    first: np.ndarray = FIRST,
) -> Learned:
    return Learned((first,), (last,), losses or {1: (1.0,), 2: (0.5,)}, steps)


def test_a_run_is_not_apart_from_itself() -> None:
    found = apart(learned(), learned())
    assert found.variables == (0.0,)
    assert found.losses == ((1, 0.0), (2, 0.0))


def test_a_difference_is_measured_by_how_far_training_moved() -> None:
    moved = Learned((LAST - np.float32(0.01),), (LAST,), {}, 100)
    assert apart(moved, learned(LAST + np.float32(0.001))).variables[0] == pytest.approx(0.1, rel=1e-3)


def test_a_variable_that_is_not_moved_is_measured_by_its_size() -> None:
    still = Learned((LAST,), (LAST,), {}, 100)
    assert apart(still, learned(LAST * np.float32(1.01))).variables[0] == pytest.approx(0.01, rel=1e-3)


def test_variables_that_are_updated_in_another_order_are_found_by_what_they_begin_with() -> None:
    one = Learned((FIRST, FIRST + 1), (LAST, LAST * 2), {}, 100)
    other = Learned((FIRST + 1, FIRST), (LAST * 2, LAST), {}, 100)
    assert apart(one, other).variables == (0.0, 0.0)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (learned(steps=90), "steps"),
        (Learned((FIRST, FIRST), (LAST, LAST), {}, 100), "trains 2 variables instead of 1"),
        (learned(np.zeros(3), first=np.zeros(3)), "trains variables of other shapes"),
    ],
)
def test_what_cannot_be_compared_says_so(other: Learned, said: str) -> None:
    assert apart(learned(), other).mismatch == said


def test_what_is_not_finite_in_one_alone_is_beyond_measure() -> None:
    assert apart(learned(), learned(LAST * np.float32(np.nan))).variables == (math.inf,)


def test_within_ten_times_the_control_is_the_same() -> None:
    found = sameness([SAME, SAME], ROUNDING, [NONE, NONE])
    assert found.verdict == "same"
    assert found.why == "weights differ by 2e-06 of what training moved them; rounding alone goes 1e-06"


def test_beyond_ten_times_the_control_is_different() -> None:
    assert sameness([Apart((1e-4,), (1e-5,))], Apart((1e-6,), (1e-5,)), [NONE]).verdict == "different"


def test_one_of_several_runs_is_enough_to_be_different() -> None:
    assert sameness([SAME, OTHER], ROUNDING, [NONE]).verdict == "different"


def test_a_control_that_by_chance_hardly_moved_a_variable_does_not_condemn_it() -> None:
    control = Apart((1e-3, 1e-9, 1e-3), (1e-7,) * 3)
    assert (
        sameness([Apart((1e-3, 2e-3, 1e-3), (1e-7,) * 3)], control, [Apart((0.0,) * 3, (1e-7,) * 3)]).verdict
        == "same"
    )


def test_where_a_compiled_step_gives_several_numbers_the_loss_is_one_of_them() -> None:
    one = learned(losses={1: (1.0,), 2: (0.5,)})
    other = learned(losses={1: (7.0, 1.0), 2: (6.0, 0.6)})
    assert apart(one, other).losses == ((1, 0.0), (2, pytest.approx(0.1 / 0.75)))


@pytest.mark.parametrize(("first", "told"), [(1.0, (1, 2)), (1.5, ())], ids=["the loss", "its parts"])
def test_what_a_compiled_step_gives_need_not_be_the_loss_that_a_tape_is_asked_about(
    first: float, told: tuple[int, ...]
) -> None:
    one = learned(losses={1: (1.0,), 2: (0.5,)})
    other = replace(learned(losses={1: (7.0, first), 2: (6.0, 0.6)}), results=frozenset({1, 2}))
    assert tuple(step for step, _ in apart(one, other).losses) == told
    both = replace(one, results=frozenset({1, 2}))
    assert [step for step, _ in apart(both, other).losses] == [1, 2]


def test_losses_tell_where_weights_are_said_to_be_the_same() -> None:
    losses = tuple((step, 0.01) for step in range(1, 50))
    control = Apart((0.05,), (1e-5,), tuple((step, 1e-6) for step in range(1, 50)))
    found = sameness([Apart((0.06,), (1e-5,), losses)], control, [NONE])
    assert (found.verdict, found.why) == ("different", "the losses part at step 1")


def test_a_few_odd_losses_tell_nothing() -> None:
    losses = tuple((step, 1e-3 if step == 7 else 0.0) for step in range(1, 50))
    control = Apart((1e-6,), (1e-5,), tuple((step, 1e-7) for step in range(1, 50)))
    assert sameness([Apart((1e-6,), (1e-5,), losses)], control, [NONE]).verdict == "same"


def test_a_program_that_does_not_reproduce_itself_tells_nothing() -> None:
    for runs in ([SAME], [OTHER]):
        found = sameness(runs, ROUNDING, [NONE, Apart((0.2,), (1e-5,))])
        assert found.verdict == "unknown"
        assert "two runs of the original differ by 20%" in found.why
        assert found.repeat == 0.2


def test_where_rounding_alone_goes_as_far_as_training_nothing_can_be_told() -> None:
    found = sameness([Apart((0.5,), (1e-5,))], Apart((0.4,), (1e-5,)), [NONE])
    assert (found.verdict, found.why) == ("unknown", "rounding alone goes 40% of what training moves")


ODD = tuple((step, 2e-4) for step in range(1, 40))
NEAR = tuple((step, 1e-5) for step in range(1, 40))
CHAOS = {
    "rounding goes as far as training": (Apart((0.5,), (1e-5,)), Apart((0.4,), (1e-5,))),
    "compiled ops round more than weights do": (Apart((3e-3,), (1e-5,), ODD), Apart((1e-4,), (1e-5,), NEAR)),
}


@pytest.mark.parametrize(("run", "control"), CHAOS.values(), ids=CHAOS.keys())
def test_there_a_run_that_is_not_compiled_tells(run: Apart, control: Apart) -> None:
    alone = sameness([run], control, [NONE])
    assert (alone.verdict == "same", alone.hidden) == (False, True)
    for eagerly, verdict in (
        (NONE, "same"),
        (OTHER, alone.verdict),
        (Apart(mismatch="steps"), alone.verdict),
    ):
        assert sameness([run], control, [NONE], eagerly).verdict == verdict


@pytest.mark.parametrize(
    "run",
    [Apart((0.5,), (1e-5,)), Apart((1e-6,), (1e-5,), tuple((step, 0.1) for step in range(1, 40)))],
    ids=["weights", "losses"],
)
def test_what_is_far_beyond_rounding_is_different_whatever_it_is_when_it_is_not_compiled(run: Apart) -> None:
    """A trace keeps a number that eager code reads anew."""
    found = sameness([run], Apart((1e-4,), (1e-5,), NEAR), [NONE], NONE)
    assert (found.verdict, found.hidden) == ("different", False)


def test_a_run_that_is_not_compiled_tells_nothing_of_other_draws() -> None:
    run = Apart((0.5,), (1e-5,), draws_apart=True)
    assert sameness([run], Apart((0.4,), (1e-5,)), [NONE], NONE).verdict == "unknown"


def test_there_what_is_the_same_to_the_last_digits_is_the_same() -> None:
    assert sameness([Apart((0.0,), (1e-5,))], Apart((0.4,), (1e-5,)), [NONE]).verdict == "same"
    runs = [Apart((0.0,), (1e-5,)), Apart((5e-3,), (1e-5,))]
    assert sameness(runs, Apart((0.4,), (1e-5,)), [NONE]).verdict == "unknown"


def test_there_what_is_far_nearer_than_rounding_leads_is_the_same() -> None:
    """The last digit of a weight grows to 20%: so would a wrong edit, which ended 0.06% apart."""
    run = Apart((6e-4, 1e-4), (1e-5, 1e-5), ((1, 0.0),))
    found = sameness([run], Apart((0.23, 0.2), (1e-5, 1e-5), ((1, 1e-7),)), [NONE])
    assert found.verdict == "same"
    assert found.why == "weights differ by 0.06% of what training moved them; rounding alone goes 23%"
    one_is_not = Apart((6e-4, 1e-2), (1e-5, 1e-5))
    assert sameness([one_is_not], Apart((0.23, 0.2), (1e-5, 1e-5)), [NONE]).verdict == "unknown"


def test_there_the_first_losses_tell() -> None:
    # Rounding doubles from step to step.
    def grown(times: float) -> tuple[tuple[int, float], ...]:
        return tuple((step, min(times * 1e-8 * 2.0**step, 1.0)) for step in range(1, 40))

    control = Apart((0.4,), (1e-5,), grown(1))
    same = sameness([Apart((0.5,), (1e-5,), grown(3))], control, [NONE])
    assert same.verdict == "same"
    assert same.why.startswith("in the first 19 losses")
    wrong = tuple((step, 0.3) for step in range(1, 40))
    assert sameness([Apart((0.5,), (1e-5,), wrong)], control, [NONE]).verdict == "different"


def test_other_numbers_of_steps_are_no_proof_of_anything() -> None:
    assert sameness([Apart(mismatch="steps")], ROUNDING, [NONE]).verdict == "unknown"


def test_other_variables_are_different() -> None:
    found = sameness([Apart(mismatch="trains 2 variables instead of 1")], ROUNDING, [NONE])
    assert (found.verdict, found.why) == ("different", "trains 2 variables instead of 1")


@pytest.mark.parametrize("runs", [[None], [SAME, None], []])
def test_what_was_not_seen_is_not_told(runs: list[Apart | None]) -> None:
    assert sameness(runs, ROUNDING, [NONE]).verdict == "unknown"


def test_no_variables_and_no_losses_tell_nothing() -> None:
    assert sameness([Apart()], Apart(), [Apart()]).verdict == "unknown"


def test_what_a_run_leaves_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "learned.npz"
    np.savez(path, first0=FIRST, last0=LAST, losses=[[1, 0.5, 0], [2, 0.25, 1]])
    found = read_learned(path, 2)
    assert found is not None
    assert found.losses == {1: (0.5,), 2: (0.25,)}
    assert found.results == {2}
    assert np.array_equal(found.last[0], LAST)


def test_a_damaged_file_is_none(tmp_path: Path) -> None:
    (tmp_path / "learned.npz").write_bytes(b"PK")
    assert read_learned(tmp_path / "learned.npz", 2) is None
    assert read_learned(tmp_path / "none.npz", 2) is None


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "nothing"),
        (0.123, "12%"),
        (1.237, "124%"),
        (0.00003, "0.003%"),
        (2e-7, "2e-07"),
        (math.inf, "no finite share"),
    ],
)
def test_shares_are_said_shortly(value: float, said: str) -> None:
    assert share(value) == said


@pytest.mark.parametrize("drawn", [frozenset[int](), frozenset({7})])
def test_a_statement_that_is_compiled_alone_draws_other_numbers_and_learns_nobody_knows_what(
    drawn: frozenset[int],
) -> None:
    one = Learned((FIRST,), (LAST,), {}, 100, drew_eagerly=frozenset({7, 8}))
    other = Learned((FIRST,), (LAST * 2,), {}, 100, drew_by_graph=drawn)
    found = sameness([apart(one, other)], apart(one, one), [apart(one, one)])
    assert (found.verdict, found.draws_apart) == (("unknown", True) if drawn else ("different", False))
    same = sameness([apart(one, replace(other, last=(LAST,)))], apart(one, one), [apart(one, one)])
    assert same.verdict == "same"


@pytest.mark.parametrize(("again", "verdict"), [(set(), "unknown"), ({7}, "different")])
def test_a_function_that_is_traced_once_instead_of_again_and_again_draws_other_numbers(
    again: set[int], verdict: str
) -> None:
    one = Learned((FIRST,), (LAST,), {}, 100, drew_by_graph=frozenset({7}))
    other = Learned((FIRST,), (LAST * 2,), {}, 100, drew_by_graph=frozenset(again))
    found = sameness([apart(one, other)], apart(one, one), [apart(one, one)])
    assert found.verdict == verdict


@pytest.mark.parametrize(("drawn", "verdict"), [({7}, "different"), ({9}, "unknown")])
def test_a_statement_that_was_changed_draws_other_numbers(drawn: set[int], verdict: str) -> None:
    one = Learned((FIRST,), (LAST,), {}, 100, drew_eagerly=frozenset({7, 8}))
    other = Learned((FIRST,), (LAST * 2,), {}, 100, drew_eagerly=frozenset(drawn))
    assert sameness([apart(one, other)], apart(one, one), [apart(one, one)]).verdict == verdict


@pytest.mark.parametrize(
    ("drawn", "verdict"),
    [({7, 9}, "unknown"), ({7, 8}, "different"), ({7}, "different"), (None, "different")],
)
def test_what_stands_in_the_place_of_a_fit_whose_layers_draw_draws_other_numbers(
    drawn: set[int] | None, verdict: str
) -> None:
    one = Learned((FIRST,), (LAST,), {}, 100, drawn=frozenset({7, 8}))
    other = Learned((FIRST,), (LAST * 2,), {}, 100, drawn=None if drawn is None else frozenset(drawn))
    found = sameness([apart(one, other)], apart(one, one), [apart(one, one)])
    assert (found.verdict, found.draws_apart) == (verdict, verdict == "unknown")
