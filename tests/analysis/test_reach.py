"""Following what leads to what."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tflint_perf.analysis.python.reach import leads_to, remembered, remembered_in_circles

GRAPH = {"a": ["b", "c"], "b": ["a", "d"], "c": ["c"], "d": [], "e": ["b", "goal"], "goal": []}


@pytest.mark.parametrize(("start", "leads"), [("a", False), ("d", False), ("e", True), ("goal", True)])
def test_circles_and_dead_ends_lead_nowhere(start: str, leads: bool) -> None:
    assert leads_to(start, {}, lambda place: place == "goal" or GRAPH[place]) is leads


def test_each_place_is_asked_once_however_many_questions_there_are() -> None:
    asked: list[str] = []

    def ask(place: str) -> bool | Iterable[str]:
        asked.append(place)
        return place == "goal" or GRAPH[place]

    known: dict[str, bool] = {}
    assert [leads_to(start, known, ask) for start in ("a", "b", "c", "d")] == [False] * 4
    assert sorted(asked) == ["a", "b", "c", "d"]


def test_a_chain_of_any_length_can_be_followed() -> None:
    assert leads_to(0, {}, lambda number: number == 100_000 or [number + 1])


def test_an_answer_is_kept_by_all_that_is_asked() -> None:
    class Ways:
        asked = 0

        @remembered
        def count(self, place: int, depth: int, *, both: bool = True) -> int:
            self.asked += 1
            return 1 if depth == 0 else (1 + both) * self.count(place + 1, depth - 1, both=both)

    ways = Ways()
    assert ways.count(0, 20) == 2**20
    assert ways.count(0, 20, both=False) == 1
    assert (ways.count(0, 20), ways.asked) == (2**20, 42)
    assert Ways().count(0, 1) == 2


def test_a_question_that_leads_back_to_itself_is_told_what_its_answer_begins_with() -> None:
    class Callers:
        asked = 0

        @remembered_in_circles(True)
        def all_lead_to_dead_ends(self, place: str) -> bool:
            self.asked += 1
            return all(
                following != "goal" and self.all_lead_to_dead_ends(following) for following in GRAPH[place]
            )

    callers = Callers()
    assert [callers.all_lead_to_dead_ends(place) for place in "abcde"] == [True, True, True, True, False]
    assert callers.asked == 5
