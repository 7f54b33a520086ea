"""Which expressions make new containers."""

from __future__ import annotations

import pytest

from tests.analysis.support import here, model_of
from tflint_perf.analysis.values.new_containers import NewContainer, made_by, new_container

IMPORTS = "import collections, copy\nfrom collections import deque, defaultdict\n"
MADE = {
    "here([])": NewContainer("list", is_empty=True),
    "here([x])": NewContainer("list"),
    "here({})": NewContainer("dict", is_empty=True),
    "here({'a': x})": NewContainer("dict"),
    "here({x})": NewContainer("set"),
    "here([f(x) for x in xs])": NewContainer("list"),
    "here({x: y for x, y in xs})": NewContainer("dict"),
    "here({x for x in xs})": NewContainer("set"),
    "here([None] * n)": NewContainer("list"),
    "here(n * [None])": NewContainer("list"),
    "here(list())": NewContainer("list", is_empty=True),
    "here(list(xs))": NewContainer("list"),
    "here(dict(a=x))": NewContainer("dict"),
    "here(set())": NewContainer("set", is_empty=True),
    "here(deque())": NewContainer("list", is_empty=True),
    "here(collections.deque(xs))": NewContainer("list"),
    "here(deque(maxlen=9))": NewContainer("list", is_empty=True, is_bounded=True),
    "here(deque([], 9))": NewContainer("list", is_bounded=True),
    "here([deque(maxlen=9) for _ in xs])": NewContainer("list", is_bounded=True),
    "here(defaultdict(list))": NewContainer("dict", is_empty=True),
    "here(collections.OrderedDict())": NewContainer("dict", is_empty=True),
    "xs = [a]\nhere(xs.copy())": NewContainer("list"),
    "xs = {'a': 1}\nhere(copy.deepcopy(xs))": NewContainer("dict"),
}
NOT_MADE = [
    "here(xs)",
    "xs = []\nhere(xs)",
    "here((x, y))",
    "here(xs[:])",
    "here(f())",
    "here(stuff.copy())",
    "here(np.array(xs).copy())",
    "here(a * b)",
    "def list(): return keep\nhere(list())",
    "here(self.list())",
]


@pytest.mark.parametrize("source", MADE)
def test_an_expression_makes(source: str) -> None:
    model = model_of(IMPORTS + source)
    assert new_container(model.infer, here(model).args[0].value) == MADE[source]


@pytest.mark.parametrize("source", NOT_MADE)
def test_an_expression_makes_none(source: str) -> None:
    model = model_of(IMPORTS + source)
    assert new_container(model.infer, here(model).args[0].value) is None


def test_an_assignment_makes_one_of_several() -> None:
    model = model_of("losses, history = [], dict(a=x)")
    made = {name: made_by(model.infer, model.walk.top.bindings[name][0]) for name in ("losses", "history")}
    assert made == {"losses": NewContainer("list", is_empty=True), "history": NewContainer("dict")}
