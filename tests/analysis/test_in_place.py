"""What an iteration may change in place of what moved code reads."""

from __future__ import annotations

from textwrap import indent

import pytest

from tests.analysis.support import here, model_of

CHANGED = {
    "by a function of the file": "def shrink(target):\n    target *= 0.9\n|shrink(y)",
    "by a function that it calls": ("def shrink(a):\n    a *= 0.9\ndef both(b):\n    shrink(b)\n|both(y)"),
    "by name, in a function": "def shrink():\n    np.add(y, 1, out=y)\n|shrink()",
    "by a view made before": "view = y[:8]\n|view += 1",
    "by a view made in the loop": "|view = y.reshape(-1)\nview[0] = 1",
    "as a view of another array": "base = y\n|base[0] = 1",
    "row by row": "|for row in y:\n    row *= 2",
    "as an output": "|np.multiply(y, 0.9, out=y)",
    "by a shuffle": "|np.random.shuffle(y)",
    "by what fills it": "|np.put(y, [0], [1.0])",
    "by something that is not in sight": "|change(y)",
}
READ = {
    "by a function of the file": "def mean(target):\n    return target.mean()\n|mean(y)",
    "by NumPy": "|np.mean(y)",
    "by a copy": "other = y.copy()\n|other *= 0.9",
    "part by part": "|print(y[0])",
    "by the name of another": "def shrink():\n    y = np.ones(3)\n    y *= 2\n|shrink()",
}


def _changes(code: str) -> bool:
    before, within = code.split("|")
    source = (
        f"y = np.ones((64, 1))\n{before}for step in range(100):\n    x = here(y)\n{indent(within, '    ')}\n"
    )
    model = model_of(source)
    loop = model.loops.innermost_loop(here(model))
    assert loop is not None
    return model.in_place.change_below(here(model), loop) is not None


@pytest.mark.parametrize("code", CHANGED.values(), ids=CHANGED.keys())
def test_an_array_may_be_changed(code: str) -> None:
    assert _changes(code)


@pytest.mark.parametrize("code", READ.values(), ids=READ.keys())
def test_an_array_is_only_read(code: str) -> None:
    assert not _changes(code)


def test_a_dict_is_changed_by_what_gets_it() -> None:
    model = model_of("""
        settings = {"delta": 1.0}
        def shrink(given):
            given["delta"] *= 0.7
        for step in range(100):
            here(settings["delta"])
            shrink(settings)
    """)
    loop = model.loops.innermost_loop(here(model))
    assert loop is not None
    assert model.in_place.change_below(here(model), loop) is not None
