"""What is written out in the source: items of dicts, and the arguments that a call unpacks."""

from __future__ import annotations

import libcst as cst
import pytest

from tests.analysis.support import function, here, model_of
from tflint_perf.analysis.values.written import arguments

MADE = "net = keras.Sequential([])\n"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("here(1, x=2)", [("", 0, "1"), ("x", -1, "2")]),
        ("d = {'x': 1, 'y': 2}\nhere(**d)", [("x", -1, "1"), ("y", -1, "2")]),
        ("here(0, **dict(x=1), y=2)", [("", 0, "0"), ("x", -1, "1"), ("y", -1, "2")]),
        ("pair = (1, 2)\nhere(0, *pair, 3)", [("", 0, "0"), ("", 1, "1"), ("", 2, "2"), ("", 3, "3")]),
        ("d = dict(x=1)\nd['y'] = 2\nhere(**d)", [("x", -1, "1"), ("y", -1, "2")]),
        ("d = {'x': 1}\nd.update(y=2)\nhere(**d)", [("x", -1, "1"), ("y", -1, "2")]),
        # What a key has two values for is not told.
        ("d = {'x': 1, 'y': 2}\nd['x'] = 3\nhere(**d)", [("y", -1, "2")]),
        # What is hidden ends it.
        ("here(0, *rest, 1)", [("", 0, "0"), ("*", -1, "")]),
        ("d = {'x': 1}\nd[key] = 2\nhere(**d)", [("*", -1, "")]),
        ("d = {'x': 1}\nd.update(other)\nhere(**d)", [("*", -1, "")]),
        ("d = {'x': 1, **more}\nhere(**d)", [("*", -1, "")]),
        ("d = {'x': 1}\nprint(d)\nd['x']\nhere(**d)", [("x", -1, "1")]),
        ("d = {'x': 1}\nchange(d)\nhere(**d)", [("*", -1, "")]),
        ("d = {'x': 1}\nother = d\nother['x'] = 2\nhere(**d)", [("*", -1, "")]),
        ("d = {'x': 1}\ndel d['x']\nhere(**d)", [("*", -1, "")]),
        ("d = {'x': 1}\nd.pop('x')\nhere(**d)", [("*", -1, "")]),
        ("items = [1, 2]\nitems[0] = 3\nhere(*items)", [("*", -1, "")]),
        ("a = {'x': 1}\nd = a\na['x'] = 2\nhere(**d)", [("*", -1, "")]),
    ],
)
def test_a_call_s_arguments_with_those_that_it_unpacks(
    source: str, expected: list[tuple[str, int, str]]
) -> None:
    model = model_of(source)
    empty = cst.Module([])
    found = [
        (given.keyword, given.place, empty.code_for_node(given.value) if given.value is not None else "")
        for given in arguments(model.infer, here(model))
    ]
    assert found == expected


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("train(**{'model': net, 'epochs': 2})", "model"),
        ("settings = {'epochs': 2, 'model': net}\ntrain(**settings)", "model"),
        ("given = (net, 2)\ntrain(*given)", "model"),
        ("settings = {'epochs': 2}\ntrain(**settings)", "unknown"),
        ("train(**load_settings())", "unknown"),
    ],
)
def test_a_parameter_has_the_value_that_a_call_unpacks(call: str, kind: str) -> None:
    model = model_of(MADE + "def train(model, epochs):\n    print(model)\n" + call)
    (read,) = (
        node for node in model.walk.names["model"] if model.function_at(node) is function(model, "train")
    )
    assert model.value(read).kind == kind
