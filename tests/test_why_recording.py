"""The recorder of questions, and the patterns that are watched, on a module made for it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.test_fixtures_lint import RULES, WITH_CLAIM, source
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.values.outside import NOTHING
from tflint_perf.text.trees import whole_module
from tflint_perf.why.matching import watched
from tflint_perf.why.recording import Question, Recorder
from tflint_perf.why.tracing import traced

TEXT = '''
import re
from functools import cached_property
from tflint_perf.analysis.python.reach import remembered

_STEP = re.compile(r"step")


class Part:
    def __init__(self):
        self._known = {}
        is_small(7)

    def asks(self, n: int) -> bool:
        """Whether all of `n` is small.

        More than anybody wants to know.
        """
        self.does(n)
        return all(self.is_kept(each) for each in range(n))

    def does(self, n: int) -> None:
        """Do something."""

    def is_kept(self, n: int) -> bool:
        """Whether `n` is small, by what is known."""
        if n not in self._known:
            self._known[n] = is_small(n)
        return self._known[n]

    @remembered
    def kept(self, n: int) -> bool:
        """Whether `n` is small, remembered."""
        return is_small(n)

    @cached_property
    def all(self) -> list[int]:
        """Every small number."""
        return list(small(self))


def small(part: Part) -> Iterator[int]:
    """Small numbers."""
    for n in range(3):
        if is_small(n):
            yield n


def is_small(n: int) -> bool:
    """Whether `n` is small."""
    if n > 1:
        raise ValueError
    return helper(n)


def helper(n):
    return n < 5


def is_step(name: str) -> bool:
    """Whether a name is a step."""
    return _STEP.search(name) is not None
'''


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module, written for it to have a file."""
    (tmp_path / "asked_about.py").write_text(f"from __future__ import annotations\n{TEXT}")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "asked_about", raising=False)
    return __import__("asked_about")


def said(questions: list[Question]) -> list[Any]:
    """Each question by its name, with its answer and what it rests on."""
    return [(each.asked.name, each.answer, said(each.reasons)) for each in questions]


def test_a_question_rests_on_those_that_were_asked_for_it(module: ModuleType) -> None:
    part = module.Part.__new__(module.Part)
    part._known = {}
    recorder = Recorder([module])
    with recorder.running():
        part.asks(2)
    small = [("is_small", True, [])]
    assert said(recorder.questions) == [
        ("Part.asks", True, [("Part.is_kept", True, small), ("Part.is_kept", True, small)])
    ]
    (asks,) = recorder.questions
    assert asks.asked.says == "Whether all of `n` is small."
    assert asks.asked.qualified == "asked_about.Part.asks"
    assert (asks.about["self"], asks.about["n"]) == (part, 2)


@pytest.mark.parametrize("method", ["is_kept", "kept"])
def test_an_answer_that_was_kept_has_the_reasons_of_the_first_time(module: ModuleType, method: str) -> None:
    part = module.Part.__new__(module.Part)
    part._known = {}
    recorder = Recorder([module])
    with recorder.running():
        getattr(part, method)(1)
        getattr(part, method)(1)
    first, second = recorder.questions
    assert second.because == []
    assert second.before is first
    assert said([first]) == said([second])
    assert "is_small" in str(said([second]))


def test_a_generator_answers_with_all_that_it_gave(module: ModuleType) -> None:
    part = module.Part.__new__(module.Part)
    recorder = Recorder([module])
    with recorder.running(), pytest.raises(ValueError):
        part.all  # noqa: B018
    (everything,) = recorder.questions
    small = [("is_small", True, []), ("is_small", True, []), ("is_small", None, [])]
    assert said([everything]) == [("Part.all", None, [("small", [0, 1], small)])]


def test_what_is_asked_to_make_a_part_is_nobodys_reason(module: ModuleType) -> None:
    recorder = Recorder([module])
    with recorder.running(), pytest.raises(ValueError):
        module.Part()
    (making,) = recorder.questions
    assert making.asked.kind == "making"
    assert said(making.because) == [("is_small", None, [])]


def test_nothing_is_recorded_when_it_is_over(module: ModuleType) -> None:
    recorder = Recorder([module])
    before = sys.getprofile()
    with recorder.running():
        module.is_small(1)
    assert sys.getprofile() is before
    module.is_small(1)
    assert len(recorder.questions) == 1


def test_a_name_that_matches_a_pattern_is_noted_where_it_was_asked_for(module: ModuleType) -> None:
    pattern = module._STEP
    recorder = Recorder([module])
    with watched([module], recorder.add), recorder.running():
        assert module.is_step("train_step")
        assert not module.is_step("epoch")
        assert module.is_step("a step, and so much more of a text that it is no name: it is a line")
        assert module._STEP.pattern == "step"
    assert module._STEP is pattern
    first, *others = recorder.questions
    (matched,) = first.because
    assert (matched.asked.kind, matched.about, matched.answer) == ("name", {"name": "train_step"}, True)
    assert [each.because for each in others] == [[], []]


def patterns() -> Iterator[object]:
    """All patterns of the analysis that are imported."""
    for name, module in list(sys.modules.items()):
        if name.startswith("tflint_perf.analysis"):
            yield from (value for value in vars(module).values() if isinstance(value, re.Pattern))


@pytest.mark.slow
@pytest.mark.parametrize("code", WITH_CLAIM)
def test_a_rule_reports_the_same_while_it_is_recorded(code: str) -> None:
    script, rule = source(code, "slow"), RULES[code]
    module = whole_module(script.text)
    plain = [(report.message, report.node) for report in rule().check(Model(module, script.text))]
    trace = traced(script, rule, NOTHING)
    assert [(each.report.message, each.asked > 0, each.against) for each in trace.reports] == [
        (message, True, "") for message, _ in plain
    ]
    assert all(isinstance(pattern, re.Pattern) for pattern in patterns())
