"""Answers to questions that lead back to themselves."""

from __future__ import annotations

from itertools import permutations

import libcst as cst
import pytest

from tests.analysis.support import model_of
from tflint_perf.analysis.python.fixpoints import Fixpoints

NOTHING, UNKNOWN = frozenset[str](), frozenset({"unknown"})
# What a place holds itself, and which others it takes from: two circles that meet, a chain into them, one with nothing.
OWN = {"a": "1", "b": "", "c": "3", "d": "", "e": "5", "lost": ""}
TAKES = {"a": "b", "b": "ac", "c": "d", "d": "cb", "e": "d", "lost": ""}


class Circles:
    def __init__(self) -> None:
        self.answers = Fixpoints(NOTHING, UNKNOWN)
        self.worked_out = 0

    def holds(self, place: str) -> frozenset[str]:
        return self.answers.of(place, NOTHING, lambda: self._found(place))

    def _found(self, place: str) -> frozenset[str]:
        self.worked_out += 1
        return frozenset(OWN[place]).union(*map(self.holds, TAKES[place]))


@pytest.mark.parametrize("order", list(permutations("abcde")), ids="".join)
def test_an_answer_is_the_same_whoever_asks_first(order: tuple[str, ...]) -> None:
    circles = Circles()
    found = {place: circles.holds(place) for place in order}
    around = frozenset("13")
    assert found == {"a": around, "b": around, "c": around, "d": around, "e": around | {"5"}}
    before = circles.worked_out
    assert {place: circles.holds(place) for place in order} == found
    assert circles.worked_out == before


def test_what_leads_to_itself_alone_is_unknown() -> None:
    answers = Fixpoints(NOTHING, UNKNOWN)

    def ask(place: str) -> frozenset[str]:
        return answers.of(place, NOTHING, lambda: ask("y" if place == "x" else "x"))

    assert (ask("x"), ask("y")) == (UNKNOWN, UNKNOWN)


def test_a_question_that_fails_can_be_asked_again() -> None:
    circles = Circles()

    def fail() -> frozenset[str]:
        circles.answers.of("inner", NOTHING, lambda: circles.answers.get("outer"))
        raise ValueError

    with pytest.raises(ValueError):
        circles.answers.of("outer", NOTHING, fail)
    assert circles.answers.get("outer") is None
    assert circles.answers.get("inner") is None
    assert circles.holds("a") == frozenset("13")


LOOP = """

files = tf.data.Dataset.list_files("images/*.jpg")
for kind in kinds:
    if kind == "large":
        images = files.map(tf.io.read_file).map(large)
    elif kind == "small":
        images = files.map(tf.io.read_file).map(small)
    images = images.shuffle(1_000)
    images = images.with_options(options)
"""


@pytest.mark.parametrize("first", ["images", "shuffle", "with_options"])
def test_a_dataset_that_a_loop_builds_further_has_its_beginnings_whoever_asks_first(first: str) -> None:
    model = model_of(LOOP)
    calls = {
        call.func.attr.value: call
        for call in model.walk.calls_named("shuffle", "with_options")
        if isinstance(call.func, cst.Attribute)
    }
    model.infer.value(calls.get(first, model.walk.names["images"][-1]))
    found = {name: model.infer.value(call) for name, call in calls.items()}
    ways = {name: [[stage.name for stage in way] for way in value.pipelines] for name, value in found.items()}
    begun = ["list_files", "map", "map", "shuffle"]
    assert [way for way in ways["shuffle"] if way == begun] == [begun, begun]
    assert [way for way in ways["with_options"] if way == [*begun, "with_options"]] == [
        [*begun, "with_options"]
    ] * 2


def test_calls_are_listed_in_the_order_of_the_text() -> None:
    walk = model_of("a(); b(a()); a()\nx.b(); c()").walk
    found = [
        (call.func.value if isinstance(call.func, cst.Name) else "x.b") for call in walk.calls_named("b", "a")
    ]
    assert found == ["a", "b", "a", "a", "x.b"]
