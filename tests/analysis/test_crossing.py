"""What crosses the borders of a stretch of statements."""

from __future__ import annotations

import pytest
from tflint_perf.rules.eager.crossing import Crossing, Crossings, Stretch

from tests.analysis.support import model_of
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.obstacles import Obstacle


def stretch(model: Model) -> Stretch:
    """The statements from the one that calls `first` to the one that calls `last`."""
    (first,), (last,) = model.calls_named("first"), model.calls_named("last")
    loop = model.loops.innermost_loop(first)
    found = model.own(Crossings).stretch_between(model.statement_of(first), loop, [last])
    assert found is not None
    return found


def crossing(source: str) -> Crossing | Obstacle:
    """What crosses the border of the stretch in some source."""
    model = model_of(source)
    return model.own(Crossings).of(stretch(model))


CROSSINGS = {
    "what the loop binds goes in": (
        "for i, (x, y) in enumerate(data):\n  a = first(x)\n  last(a, y)\n",
        (["x", "y"], []),
    ),
    "what is read later comes out": (
        "for x in data:\n  a = first(x)\n  b = last(a)\n  print(b)\nprint(a)\n",
        (["x"], ["a", "b"]),
    ),
    "what the next iteration reads comes out": (
        "a = 0\nfor x in data:\n  print(a)\n  a = first(x)\n  last(a)\n",
        (["x"], ["a"]),
    ),
    "what stands before the loop is seen": (
        "w = 1\nfor x in data:\n  a = first(x, w)\n  last(a)\n",
        (["x"], []),
    ),
    "names of comprehensions and lambdas stay inside": (
        "for x in data:\n  a = [first(g) for g in x]\n  last(lambda h: h + a)\n",
        (["x"], []),
    ),
    "a name that the stretch itself makes anew stays inside": (
        "for x in data:\n  x = first(x)\n  for v in w:\n    x = x + v\n  last(x)\n",
        (["x"], []),
    ),
    "a sum of tensors goes in and comes out": (
        "total = 0.0\nfor x in data:\n  total += tf.reduce_sum(first(x))\n  last(x)\n",
        (["total", "x"], ["total"]),
    ),
}


@pytest.mark.parametrize(("source", "expected"), CROSSINGS.values(), ids=CROSSINGS.keys())
def test_names_cross_the_border(source: str, expected: tuple[list[str], list[str]]) -> None:
    found = crossing(source)
    assert isinstance(found, Crossing)
    assert (found.parameters, found.returned) == expected


OBSTACLES = {
    "a count carried on": "n = 0\nfor x in data:\n  n = n + first(x)\n  last(n)\n",
    "a name of another scope": "def f():\n  global a\n  for x in data:\n    a = first(x)\n    last(a)\n",
    "a function made in the loop": "for x in data:\n  f = lambda z: z\n  a = first(f(x))\n  last(a)\n",
    "a function made in the stretch": "for x in data:\n  f = first(x)\n  def g():\n    pass\n  last(x)\n  g()\n",
    "a string": "for x in data:\n  s = str(x)\n  a = first(s)\n  last(a)\n",
    "a condition on something unknown": "for x in data:\n  a = first(x)\n  if x > 0:\n    last(a)\n",
}


@pytest.mark.parametrize("source", OBSTACLES.values(), ids=OBSTACLES.keys())
def test_some_names_can_not_cross(source: str) -> None:
    assert isinstance(crossing(source), Obstacle)


def test_deletions_right_behind_a_stretch_belong_to_it() -> None:
    model = model_of("for x in data:\n  a, b = first(x)\n  last(a)\n  del a, b\n  del c\n")
    assert len(stretch(model).statements) == 3
