"""A recorder of questions: what a rule asks of a model, and what is asked in turn to answer that, as a tree.

A question is a function or method that has a docstring and gives something. Python says who calls whom
(`sys.setprofile`), so nothing of the analysis has to know of it, and a run that nobody asks about pays nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field
from functools import cache, cached_property
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Literal

from tflint_perf.records import dataclass

# Flags of code, as `inspect` names them: CO_VARARGS, CO_VARKEYWORDS, CO_GENERATOR.
_TAKES_MORE, _TAKES_NAMED, _GENERATES = 0x04, 0x08, 0x20

# "making" is no question: a part of the model is made for whoever first asks it something, and what it asks for that
# is nobody's reason.
Kind = Literal["question", "name", "fact", "making"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What answers a question: a function by its module and its name there, and its docstring.

    `kind` is "name" where a user's word is judged, by a convention or by a pattern, and "fact" where a library is.
    """

    module: str
    name: str
    says: str
    parameters: tuple[str, ...] = ()
    kind: Kind = "question"
    # What the answer is, as it is annotated.
    gives: str = ""

    @property
    def qualified(self) -> str:
        """The whole name: `tflint_perf.analysis.execution.loops.Loops.kind`."""
        return f"{self.module}.{self.name}"

    @property
    def is_private(self) -> bool:
        """Whether nobody else is meant to ask it."""
        return self.name.rpartition(".")[2].startswith("_")


@dataclass(eq=False, slots=True)
class Question:
    """A question as it was asked once: about what, the answer, and what was asked for it.

    `before` is the same question asked before, of which the answer may have been kept. A generator answers with the list
    of what it gave.
    """

    asked: Asked
    about: dict[str, Any]
    answer: Any = None
    because: list[Question] = field(default_factory=list)
    before: Question | None = None

    @property
    def reasons(self) -> list[Question]:
        """What was asked for the answer, this time or before."""
        because = self.because or (self.before.because if self.before is not None else [])
        return [reason for reason in because if reason.asked.kind != "making"]


class Recorder:
    """Records the questions that functions of some modules are asked while it runs."""

    def __init__(self, modules: Iterable[ModuleType], leave_out: Callable[..., object] | None = None) -> None:
        self.questions: list[Question] = []
        self._asked: dict[CodeType, Asked] = {}
        # Functions made to stand in front of others, such as those that keep answers.
        self._in_front: set[CodeType] = set()
        self._open: list[tuple[FrameType, Question]] = []
        # A generator is called again for each thing that it gives.
        self._generators: dict[FrameType, Question] = {}
        self._first: dict[tuple[object, ...], Question] = {}
        for module in modules:
            asked, in_front = _questions_of(module)
            self._asked |= asked
            self._in_front |= in_front
        if leave_out is not None:
            self._asked.pop(leave_out.__code__, None)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Record what this thread asks."""
        before = sys.getprofile()
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(before)

    def add(self, question: Question) -> None:
        """Note what was asked of no function, under the question that is being answered."""
        (self._open[-1][1].because if self._open else self.questions).append(question)

    def _note(self, frame: FrameType, event: str, given: Any) -> None:
        if event == "call":
            if (asked := self._asked.get(frame.f_code)) is not None:
                if (
                    self._open
                    and self._open[-1][0].f_code in self._in_front
                    and self._open[-1][1].asked == asked
                ):
                    return  # what stands in front has begun the question
                values = frame.f_locals
                self._begin(frame, asked, {name: values.get(name) for name in asked.parameters})
            elif frame.f_code in self._in_front:
                self._begin_behind(frame)
        elif event == "return" and self._open and self._open[-1][0] is frame:
            self._end(frame, given)

    def _begin_behind(self, frame: FrameType) -> None:
        """Begin the question of the function that another one stands in front of."""
        values = frame.f_locals
        for name in frame.f_code.co_freevars:
            behind = values.get(name)
            if isinstance(behind, FunctionType) and (asked := self._asked.get(behind.__code__)) is not None:
                given = _positional(frame)
                self._begin(frame, asked, dict(zip(asked.parameters, given, strict=False)))
                return

    def _begin(self, frame: FrameType, asked: Asked, about: dict[str, Any]) -> None:
        question = self._generators.get(frame)
        if question is None:
            question = Question(asked, about)
            self.add(question)
            if frame.f_code.co_flags & _GENERATES:
                question.answer = []
                self._generators[frame] = question
        self._open.append((frame, question))

    def _end(self, frame: FrameType, given: Any) -> None:
        _, question = self._open.pop()
        if frame.f_code.co_flags & _GENERATES:
            if given is not None:
                question.answer.append(given)
            return
        question.answer = given
        key = (question.asked, *(_identity(value) for value in question.about.values()))
        first = self._first.setdefault(key, question)
        if first is not question:
            question.before = first
            if len(question.because) > len(first.because):
                self._first[key] = question


@cache
def _questions_of(module: ModuleType) -> tuple[dict[CodeType, Asked], set[CodeType]]:
    """What the functions of a module are asked, and those that stand in front of one of them."""
    found: dict[CodeType, Asked] = {}
    in_front = set()
    for function in _functions_in(module):
        inner = getattr(function, "__wrapped__", function)
        if inner.__name__ == "__init__" and inner.__code__.co_filename == module.__file__:
            found[inner.__code__] = Asked(module.__name__, inner.__qualname__, "", kind="making")
            continue
        text = (inner.__doc__ or "").strip()
        # What gives nothing does something, and answers no question.
        given = str(inner.__annotations__.get("return"))
        if not text or given == "None":
            continue
        if inner is not function:
            in_front.add(function.__code__)
        says = " ".join(text.split("\n\n", 1)[0].split())
        names = _parameters(inner.__code__)
        asked = Asked(module.__name__, inner.__qualname__, says, names, _kind_of(module.__name__), given)
        found[inner.__code__] = asked
    return found, in_front


def _kind_of(module: str) -> Kind:
    """Whether a module judges words of users, or knows facts about libraries."""
    if module.endswith(".analysis.conventions"):
        return "name"
    return "fact" if ".analysis.apis." in module else "question"


def _identity(value: object) -> object:
    """What tells an argument from others: itself where it is plain, else which object it is."""
    return value if isinstance(value, str | int | None) else id(value)


def _parameters(code: CodeType) -> tuple[str, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & _TAKES_MORE) + bool(code.co_flags & _TAKES_NAMED)
    return code.co_varnames[:count]


def _positional(frame: FrameType) -> list[Any]:
    """What a function was given by position."""
    code, values = frame.f_code, frame.f_locals
    given = [values.get(name) for name in code.co_varnames[: code.co_argcount]]
    if code.co_flags & _TAKES_MORE:
        given += values.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount], ())
    return given


def _functions_in(module: ModuleType) -> Iterator[FunctionType]:
    """The functions that a module defines, and the methods of its classes."""
    for value in list(vars(module).values()):
        if getattr(value, "__module__", None) != module.__name__:
            continue
        for own in list(vars(value).values()) if isinstance(value, type) else [value]:
            function = _function_of(own)
            if function is not None:
                yield function


def _function_of(own: object) -> FunctionType | None:
    """The function that an attribute of a module or class is, or is made of."""
    if isinstance(own, staticmethod | classmethod):
        own = own.__func__
    elif isinstance(own, property):
        own = own.fget
    elif isinstance(own, cached_property):
        own = own.func
    elif not isinstance(own, FunctionType):
        own = getattr(own, "__wrapped__", None)
    return own if isinstance(own, FunctionType) else None
