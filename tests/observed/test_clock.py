"""Steps are found by what updates weights: here the updates are made up, and their frames are real."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path

import pytest

from tflint_perf.observe import user_code
from tflint_perf.observe.clock import Clock
from tflint_perf.observe.user_code import Places, cell_name, cell_of

HERE = Path(__file__)


class Steps:
    """A clock, and where the updates were when each step was over, and when a round was to begin."""

    def __init__(self) -> None:
        self.ended: list[int] = []
        self.begun: list[int] = []
        self.updates = 0
        self.clock = Clock(Places(str(HERE.parent)), self._ended, self._changed)

    def _ended(self, updates: int) -> None:
        self.ended.append(self.updates)

    def _changed(self, steps: Sequence[tuple[float, int]] | None) -> None:
        if steps is None:
            self.ended.clear()
        else:
            self.ended = list(accumulate(updates for _, updates in steps))

    def update(self, who: str = "adam", kind: str = "optimizer") -> None:
        if self.clock.begins_round(kind, who, sys._getframe(1)):
            self.begun.append(self.updates)
        self.updates += 1
        self.clock.mark(kind, who, sys._getframe(1))

    def loop(self) -> str:
        """The source line of the loop that was found."""
        found = self.clock.loop()
        assert found is not None
        assert found[0] == HERE.name
        return HERE.read_text().splitlines()[found[1] - 1].strip()


@pytest.fixture
def steps() -> Steps:
    return Steps()


def test_each_update_is_a_step(steps: Steps) -> None:
    for _epoch in range(3):
        for _batch in range(10):
            steps.update()
    assert steps.ended == list(range(1, 31))
    assert steps.loop() == "for _batch in range(10):"


def test_a_step_in_a_function_belongs_to_the_loop_around_its_call(steps: Steps) -> None:
    def train() -> None:
        steps.update()

    for _batch in range(10):
        train()
    assert steps.loop() == "for _batch in range(10):"


def test_two_optimizers_make_one_step(steps: Steps) -> None:
    for _round in range(10):
        steps.update("generator")
        steps.update("critic")
    assert len(steps.ended) == pytest.approx(10, abs=1)
    assert steps.loop() == "for _round in range(10):"


def test_a_critic_that_is_trained_more_often_is_a_part_of_the_round(steps: Steps) -> None:
    for _round in range(10):
        for _often in range(5):
            steps.update("critic")
        steps.update("generator")
    assert len(steps.ended) == pytest.approx(10, abs=2)
    assert steps.loop() == "for _round in range(10):"


def test_a_critic_behind_the_generator_too(steps: Steps) -> None:
    for _round in range(10):
        steps.update("generator")
        for _often in range(5):
            steps.update("critic")
    assert len(steps.ended) == pytest.approx(10, abs=2)
    assert steps.loop() == "for _round in range(10):"


@pytest.mark.parametrize("first", [0, 4])
@pytest.mark.parametrize("is_first", [True, False])
def test_what_updates_in_each_fifth_round_of_a_loop_is_a_part_of_some_steps(
    steps: Steps, first: int, is_first: bool
) -> None:
    for number in range(30):
        if is_first and number % 5 == first:
            steps.update("generator")
        steps.update("critic")
        if not is_first and number % 5 == first:
            steps.update("generator")
    assert len(steps.ended) == 30
    assert steps.loop() == "for number in range(30):"


def test_what_updates_twice_in_a_round_by_two_ways_is_a_part_of_it(steps: Steps) -> None:
    def train_critic() -> None:
        steps.update("critic")

    for _round in range(10):
        train_critic()
        train_critic()
        train_critic()
        steps.update("generator")
    assert len(steps.ended) == pytest.approx(10, abs=1)


def test_how_many_optimizers_make_a_step_is_known_once_each_has_updated(steps: Steps) -> None:
    for _ in range(10):
        for _ in range(3):
            steps.update("critic")
    assert steps.clock.optimizers == 1
    for _ in range(10):
        for _ in range(3):
            steps.update("critic")
        steps.update("actor")
    assert steps.clock.optimizers == 2
    # Two that are compiled together.
    steps.clock.mark("optimizer", "both", sys._getframe(), optimizers=2)
    assert steps.clock.optimizers == 4


def test_a_loop_over_optimizers_is_no_loop_of_steps(steps: Steps) -> None:
    for _round in range(10):
        for who in ("one", "two", "three"):
            steps.update(who)
    assert len(steps.ended) == pytest.approx(10, abs=2)
    assert steps.loop() == "for _round in range(10):"


def test_several_optimizers_in_one_line_are_in_the_loop_around_it(steps: Steps) -> None:
    for _round in range(10):
        for optimizer in ("new", "old"):
            steps.update(optimizer)
        print(steps.update("first"), steps.update("second"))
    assert steps.loop() == "for _round in range(10):"


def test_what_has_begun_to_update_behind_the_loop_does_not_say_what_its_steps_were(steps: Steps) -> None:
    for _ in range(20):
        steps.update("generator")
        steps.update("critic")
    steps.update("another")
    assert steps.loop() == "for _ in range(20):"


def test_an_optimizer_that_is_made_anew_for_each_step_is_one(steps: Steps) -> None:
    for batch in range(40):
        steps.update(f"adam {batch}")
    assert len(steps.ended) == 40
    assert steps.loop() == "for batch in range(40):"


def test_an_optimizer_whose_phase_is_over_is_waited_for_no_more(steps: Steps) -> None:
    for _pretraining in range(20):
        steps.update("autoencoder")
    for _batch in range(60):
        steps.update("classifier")
    # Until it is clear that the other is done, its steps are not told.
    assert steps.ended == list(range(1, 81))
    assert steps.loop() == "for _batch in range(60):"


def test_what_updates_once_in_a_while_makes_no_step_longer(steps: Steps) -> None:
    for batch in range(200):
        steps.update("student")
        if batch % 50 == 49:
            steps.update("teacher")
    assert len(steps.ended) == 200


@pytest.mark.parametrize(
    "updates",
    [
        ("critic", "actor"),
        ("first critic", "second critic", "actor", "temperature"),
        ("critic", "critic", "critic", "generator"),
        ("generator", "critic", "critic", "critic"),
        ("generator", "critic", "critic", "encoder"),
    ],
)
def test_a_round_is_the_same_step_as_if_its_updates_were_compiled_together(
    steps: Steps, updates: tuple[str, ...]
) -> None:
    for _round in range(10):
        for who in updates:
            steps.update(who)
    assert len(steps.ended) == 10
    # The first round is not known to be one until it is over.
    assert [at for at in steps.begun if at >= len(updates)] == [at * len(updates) for at in range(1, 10)]


def test_a_phase_is_counted_once_it_is_clear_that_it_was_one(steps: Steps) -> None:
    steps.update("built by a first call")
    for _batch in range(60):
        steps.update("trained")
    assert len(steps.ended) == 61


def test_a_gradient_counts_only_where_no_optimizer_does(steps: Steps) -> None:
    for _batch in range(10):
        steps.update("tape", "gradient")
        steps.update("adam", "optimizer")
    assert steps.clock.kind == "optimizer"
    assert len(steps.ended) in (10, 11)  # the first gradient was all that was known


def test_reinforcement_learning_steps_when_it_learns(steps: Steps) -> None:
    for _episode in range(5):
        turn = 0
        while turn < 20:
            turn += 1
            if turn % 4 == 0:
                steps.update()
    assert len(steps.ended) == 25
    assert steps.loop() == "while turn < 20:"


def test_a_comprehension_or_a_call_alone_is_told_by_its_line(steps: Steps) -> None:
    def fit() -> None:
        for _ in range(10):  # stands for a loop of a library's: it is not the user's file then
            steps.update()

    fit()
    assert steps.loop().startswith("for _ in range(10):")


def test_cells_have_names_of_their_own() -> None:
    assert cell_of(cell_name("/a/b.ipynb", 3)) == ("/a/b.ipynb", 3)
    assert cell_of("/a/b.py") == ("/a/b.py", None)


def test_libraries_are_not_the_users(tmp_path: Path) -> None:
    places = Places(str(tmp_path))
    own = tmp_path / "src" / "train.py"
    assert places.name_of(str(own)) == "src/train.py"
    assert places.name_of(str(tmp_path / ".venv/lib/python3.11/site-packages/keras/a.py")) is None
    assert places.name_of("<string>") is None
    assert places.name_of(pytest.__file__) is None


def test_a_statement_is_known_by_what_it_says_wherever_it_stands(tmp_path: Path) -> None:
    before, after = tmp_path / "before.py", tmp_path / "after.py"
    before.write_text(
        "for _ in range(9):\n    if True:\n        x = draw(\n            3,\n        )\n    x = draw(3)\n"
    )
    after.write_text("def step():\n    x = draw(3)\n\n\nfor _ in range(9):\n    step()\n    x = draw(3)\n")
    places = Places(str(tmp_path))
    first, second = places.statement(str(before), 4), places.statement(str(before), 6)
    assert first != second
    assert [places.statement(str(after), row) for row in (2, 7)] == [first, second]
    assert places.statement(str(before), 2) == "if True: 0"
    assert places.statement(str(before), 60) == places.statement(str(tmp_path / "none.py"), 1) == ""


def test_the_observer_is_not_the_users_either() -> None:
    """Also where the program lies in a checkout of this project."""
    places = Places(str(Path(user_code.__file__).parents[2]))
    assert places.name_of(user_code.__file__) is None
    assert places.name_of(__file__) == "tests/observed/test_clock.py"


def test_the_rows_that_run_are_the_users_from_the_innermost_on_each_once(tmp_path: Path) -> None:
    source = "def down(n, then):\n    if n:\n        return down(n - 1, then)\n    return then()\n\n\ndown(3, then)\n"
    places, found = Places(str(tmp_path)), []
    exec(
        compile(source, str(tmp_path / "train.py"), "exec"),
        {"then": lambda: found.extend(places.rows(sys._getframe(1)))},
    )
    assert found == [("train.py", 4), ("train.py", 3), ("train.py", 7)]
