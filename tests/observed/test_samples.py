"""Who holds what is looked for from the user's own names inwards."""

from __future__ import annotations

import sys
from collections import deque
from pathlib import Path

import pytest

from tflint_perf.observe import samples
from tflint_perf.observe.user_code import Places


class EagerTensor:
    """Stands for TensorFlow's: by its name it is told."""


class GradientTape:
    """Stands for TensorFlow's, which keeps its tensors where Python does not see them."""


class Agent:
    def __init__(self) -> None:
        self.memory: list[object] = []


history: list[object] = []
agent = Agent()


@pytest.fixture(autouse=True)
def _forget() -> None:
    history.clear()
    agent.memory.clear()


def _held(*tensors: EagerTensor) -> list[tuple[str, int]]:
    places = Places(str(Path(__file__).parent))
    found = samples.holders({id(tensor) for tensor in tensors}, places, sys._getframe(1))
    return [(label, count) for label, _, count in found]


def test_a_list_of_a_module() -> None:
    tensors = [EagerTensor() for _ in range(5)]
    history.extend(tensors)
    kept = {id(tensor) for tensor in tensors}
    del tensors
    found = samples.holders(kept, Places(str(Path(__file__).parent)), None)
    assert [(label, row, count) for label, row, count in found] == [
        ("list `history` of test_samples.py", ("test_samples.py", 1), 5)
    ]


def test_a_variable_of_a_function_and_what_lies_in_it() -> None:
    first, second = EagerTensor(), EagerTensor()
    log = deque([{"loss": (1, first)}, {"loss": (2, second)}])
    assert _held(first, second) == [("deque `log`", 2)]
    assert log


def test_an_attribute_of_an_object_of_the_users() -> None:
    agent.memory += [EagerTensor(), EagerTensor()]
    one, other = agent.memory
    assert isinstance(one, EagerTensor) and isinstance(other, EagerTensor)
    assert _held(one, other) == [("list `memory` of Agent", 2)]


def test_what_others_hold_stands_for_itself() -> None:
    assert _held(EagerTensor()) == [("what no name of the program leads to", 1)]
    assert _held() == []


def test_what_no_name_leads_to_is_the_tape_s_that_is_in_sight() -> None:
    kept = EagerTensor()
    losses = [kept]
    tape = GradientTape()
    assert _held(kept, EagerTensor(), EagerTensor()) == [("tape `tape`", 2), ("list `losses`", 1)]
    assert losses and tape


def test_this_process_takes_memory() -> None:
    assert samples.resident() > 10 * 2**20
