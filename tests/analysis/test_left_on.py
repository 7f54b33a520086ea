"""Switches that a program throws for good."""

from __future__ import annotations

import pytest

from tests.analysis.support import here, model_of

SURE = [
    "here()",
    "if __name__ == '__main__':\n  here()",
    "def main():\n  here()",
    "def main():\n  here()\nif __name__ == '__main__':\n  main()",
    "for x in y:\n  here()",
    "try:\n  here()\nexcept ValueError: pass",
    "def f():\n  here()\nif a:\n  f()\nf()",
]
UNSURE = [
    "if a:\n  here()",
    "if a: pass\nelse:\n  here()",
    "a and here()",
    "here() if a else b",
    "try: pass\nexcept ValueError:\n  here()",
    "match a:\n  case 1:\n    here()",
    "def f():\n  if a: return\n  here()",
    "def f():\n  here()\nif a:\n  f()",
    "def debug():\n  here()\ndebug()",
    "f = lambda: here()",
    "class T(tf.test.TestCase):\n  def setUp(self):\n    here()",
    "def f(n):\n  if n: f(n - 1)\n  g()\ndef g():\n  if a: here()",
]


@pytest.mark.parametrize("source", SURE)
def test_what_nothing_stands_in_front_of_always_runs(source: str) -> None:
    model = model_of(source)
    assert model.left_on.always_runs(here(model))


@pytest.mark.parametrize("source", UNSURE)
def test_what_something_decides_on_may_not_run(source: str) -> None:
    model = model_of(source)
    assert not model.left_on.always_runs(here(model))


@pytest.mark.parametrize(
    ("source", "on"),
    [
        ("here(True)", True),
        ("here(on=True)", True),
        ("here(False)", False),
        ("here(a)", False),
        ("here()", False),
    ],
)
def test_a_switch_is_on_when_it_is_given_true(source: str, on: bool) -> None:
    model = model_of(source)
    assert model.left_on.is_on(here(model), 0, "on") is on
