"""Code that never runs."""

from __future__ import annotations

import json

import pytest

from tests.analysis.support import here, model_of
from tests.commandline import SLOW, CommandLine
from tflint_perf.analysis.python.dead_code import is_behind_end, never_runs

DEAD = {
    "behind a return": "def f(x):\n    return x\n    here()",
    "behind a raise, in a block below": "def f(x):\n    raise ValueError\n    if x:\n        here()",
    "behind an assertion that always fails": "def f(x):\n    assert False, x\n    here()",
    "behind a continue": "for x in xs:\n    continue\n    here()",
    "in a function that is defined there": "def f(x):\n    return x\n    def g():\n        here()",
    "in a function that is defined anew": "def f(x):\n    here()\ndef f(x):\n    return x\nf(1)",
    "in a method that is defined anew": "class C:\n    def f(self):\n        here()\n    def f(self):\n        return 1",
}
ALIVE = {
    "behind one in another branch": "def f(x):\n    if x:\n        return\n    here()",
    "behind an assertion that may hold": "def f(x):\n    assert x\n    here()",
    "before it": "def f(x):\n    here()\n    return x",
    "on the same line before it": "def f(x): here(); return x",
    "in a function that runs before it is defined anew": "def f(x):\n    here()\nf(1)\ndef f(x):\n    return x",
    "in a function that is kept before it is defined anew": "def f(x):\n    here()\ng = f\ndef f(x):\n    return x",
    "in a function that a decorator keeps": "@app.route('/')\ndef f(x):\n    here()\ndef f(x):\n    return x",
    "in a function that is defined in one of two ways": "if x:\n    def f():\n        here()\nelse:\n    def f():\n        pass",
    "behind the loop that it leaves": "for x in xs:\n    break\nhere()",
}


@pytest.mark.parametrize("source", DEAD.values(), ids=DEAD)
def test_never_runs(source: str) -> None:
    model = model_of(source)
    assert never_runs(model.walk, here(model))


@pytest.mark.parametrize("source", ALIVE.values(), ids=ALIVE)
def test_may_run(source: str) -> None:
    model = model_of(source)
    assert not never_runs(model.walk, here(model))


ENDED = {
    "behind the end of the program": "for x in xs:\n    f(x)\nexit()\nfor x in xs:\n    here()",
    "behind the end that a module brings": "import sys\nif x:\n    sys.exit(1)\n    here()",
}
GOES_ON = {
    "behind an end in another branch": "import sys\nif x:\n    sys.exit()\nhere()",
    "behind what has the name of one": "def exit():\n    pass\nexit()\nhere()",
    "behind an end that does not go far": "for x in xs:\n    here()\nexit()",
    "behind what another file may bring": "from helpers import *\nexit()\nhere()",
}


@pytest.mark.parametrize("source", ENDED.values(), ids=ENDED)
def test_is_behind_the_end_of_the_program(source: str) -> None:
    model = model_of(source)
    assert is_behind_end(model.walk, model.infer.names, here(model))
    assert not never_runs(model.walk, here(model))


@pytest.mark.parametrize("source", GOES_ON.values(), ids=GOES_ON)
def test_is_behind_no_end(source: str) -> None:
    model = model_of(source)
    assert not is_behind_end(model.walk, model.infer.names, here(model))


@pytest.mark.parametrize(("name", "found"), [("train.py", False), ("train.ipynb", True)])
def test_cells_of_a_notebook_can_be_run_behind_what_ends_one(
    tflint_perf: CommandLine, name: str, found: bool
) -> None:
    code = SLOW.replace("def train", "exit()\ndef train", 1)
    cell = {"cell_type": "code", "source": code, "metadata": {}, "outputs": [], "execution_count": None}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}
    tflint_perf.write(name, code if name.endswith(".py") else json.dumps(notebook))
    assert code != SLOW
    assert ("TFP406" in tflint_perf("--select=TFP406", name).out) is found
