"""How often loops run."""

from __future__ import annotations

import pytest

from tests.analysis.support import here, model_of

MANY = {
    "a number": "for i in range(100): pass",
    "two bounds": "for i in range(100, 200): pass",
    "backwards": "for i in reversed(range(99, -1, -1)): pass",
    "with a name": "N = 100\nfor i in range(N): pass",
    "computed": "N = 100\nfor i in range(N // 2 - 1): pass",
    "what a caller passes": "def f(n):\n    for i in range(n): pass\nf(3)\nf(100)",
    "a default": "def f(n=100):\n    for i in range(n): pass\nf()",
    "an attribute": "class A:\n    def __init__(self): self.n = 100\n    def f(self):\n        for i in range(self.n): pass",
    "a size": "def f(x):\n    for i in range(x.shape[1]): pass",
    "the length of an array": "x = np.ones(3)\nfor i in range(len(x)): pass",
    "a list that was filled": "xs = []\nfor _ in [x for x in range(100)]: xs.append(1)\nfor x in xs: pass",
    "a list with numbers before": "for i, x in enumerate([x for x in range(100)]): pass",
    "a list of numbers that an object fills": (
        "class A:\n    def __init__(self):\n        self.xs = []\n        for i in range(9):\n"
        "            for j in range(9): self.xs.append((i, j))\n    def f(self):\n        for i, j in self.xs: pass"
    ),
    "lists side by side": "for x, y in zip(range(100), range(50)): pass",
}
NOT_MANY = {
    "a list that a loop over itself fills": (
        "def f(xs):\n    xs = list(xs)\n    for x in xs:\n        for y in x: xs.append(y)\n    for x in xs: pass"
    ),
    "sixteen": "for i in range(16): pass",
    "to a few": "for i in range(start, 3): pass",
    "by large steps": "for i in range(0, 100, 10): pass",
    "a few items": "for x in [1, 2, 3]: pass",
    "layers": "def f(num_layers):\n    for i in range(num_layers): pass",
    "the rank of a tensor": "def f(x):\n    for i in range(len(x.shape)): pass",
    "channels": "def f(x):\n    for i in range(x.shape[-1]): pass",
    "the size of what an object keeps": "class A:\n    def f(self):\n        for i in range(self.x.shape[0]): pass",
    "something unknown": "for x in stuff: pass",
    "as many as something unknown": "for x in range(len(stuff)): pass",
    "a dataset": "for x in tf.data.Dataset.range(100): pass",
    "a tensor": "for x in tf.range(100): pass",
    "the shorter of two": "for x, y in zip(range(100), [1, 2]): pass",
    "starred bounds": "for i in range(*bounds): pass",
    "a list of an object that a loop over itself fills": (
        "class A:\n    def __init__(self):\n        self.xs = []\n        for x in self.xs: self.xs.append(1)\n"
        "    def f(self):\n        for x in self.xs: pass"
    ),
    "a few numbers that an object keeps": (
        "class A:\n    def __init__(self):\n        self.xs = []\n        for i in range(9): self.xs.append(i)\n"
        "    def f(self):\n        for x in self.xs: pass"
    ),
    "the parts that an object keeps": (
        "class A:\n    def __init__(self):\n        self.xs = []\n        for i in range(99):\n"
        "            self.xs.append(tf.keras.layers.Dense(i))\n    def f(self):\n        for x in self.xs: pass"
    ),
    "a list that refers to itself": "x = x\nfor i in x: pass",
}


def many(source: str, *, traced: bool = False) -> bool:
    """Whether the last loop of a source runs often."""
    model = model_of(source)
    return model.iterations.are_many(list(model.walk.loops.values())[-1], traced=traced)


@pytest.mark.parametrize("source", MANY.values(), ids=MANY.keys())
def test_a_loop_runs_often_over(source: str) -> None:
    assert many(source)


@pytest.mark.parametrize("source", NOT_MANY.values(), ids=NOT_MANY.keys())
def test_a_loop_is_not_known_to_run_often_over(source: str) -> None:
    assert not many(source)


def test_a_parameter_may_be_a_tensor_in_traced_code() -> None:
    source = "def f(n):\n    for i in range(n): pass"
    assert many(source)
    assert not many(source, traced=True)


IN_ALL = {
    "loops in loops": ("for i in range(3):\n    for x in dataset.take(4): here()", 12),
    "through calls": (
        "def f():\n    for i in [1, 2]: here()\ndef main():\n    for i in range(3): f()\n    f()\nmain()",
        8,
    ),
    "of what somebody starts": ("def main():\n    for i in range(3): here()", 3),
    "of several lists": ("xs = [1, 2]\nif long: xs = [1, 2, 3]\nfor x in xs: here()", 3),
    "of several lists, one of which is not known": (
        "xs = [1, 2]\nif long: xs = read()\nfor x in xs: here()",
        None,
    ),
    "while something holds": ("for i in range(3):\n    while more(): here()", None),
    "what nobody calls": ("def f():\n    for i in range(3): here()", None),
    "what something else may call, too": ("def f():\n    here()\nf()\ntimer.every(60, f)", None),
    "what calls itself": ("def f():\n    here()\n    g()\ndef g():\n    f()\nf()", None),
    "what an object does, and something else may have it do": (
        "class A:\n    def f(self): here()\na = A()\na.f()\non_end(a.f)",
        None,
    ),
}


@pytest.mark.parametrize(("source", "times"), IN_ALL.values(), ids=IN_ALL)
def test_a_program_runs_code_so_often_in_all(source: str, times: int | None) -> None:
    model = model_of(source)
    assert model.totals.at_most(here(model)) == times
