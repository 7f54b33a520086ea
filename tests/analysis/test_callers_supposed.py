"""What is worked out once, whoever calls: only parts of a model that ask nothing about callers in other files."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import FrameType

import libcst as cst
import pytest

from tflint_perf.analysis.model import SAME_FOR_ALL_CALLERS, Model
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.outside import NOTHING
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.config.settings import Settings
from tflint_perf.lint.check import check_source
from tflint_perf.text.source import Source

SCRIPTS = sorted((Path(__file__).parents[2] / "fixtures").glob("TFP*/*.py"))


@pytest.fixture(scope="module")
def lent() -> set[str]:
    """The modules of what one model lends to another."""
    model = Model(cst.parse_module("x = 1\n"), "x = 1\n")
    kinds = [type(getattr(model, name)) for name in SAME_FOR_ALL_CALLERS]
    return {str(import_module(kind.__module__).__file__) for kind in kinds}


def test_what_is_lent_asks_nothing_about_callers(lent: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: set[str] = set()
    by_itself = CallGraph.callers_outside

    def noted(calls: CallGraph, function: Function) -> tuple[object, ...]:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            asked.add(frame.f_code.co_filename)
            frame = frame.f_back
        return by_itself(calls, function)

    monkeypatch.setattr(CallGraph, "callers_outside", noted)
    settings = Settings(root=SCRIPTS[0].parents[1], rules=frozenset(catalogue()))
    for path in SCRIPTS:
        check_source(Source.from_bytes(path.read_bytes(), path.name), settings, NOTHING)
    assert any("loops.py" in file for file in asked)
    assert not lent & asked


def test_another_model_gives_back_what_it_was_lent() -> None:
    text = "for n in range(100):\n    pass\n"
    model = Model(cst.parse_module(text), text)
    (loop,) = model.walk.loops.values()
    assert model.iterations.are_many(loop, traced=False)
    other = model.with_callers(NOTHING)
    assert other.iterations is model.iterations
    assert other.loops is not model.loops
    other.forget()
    assert model.iterations.are_many(loop, traced=False)
