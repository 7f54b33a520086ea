"""Answers to questions that may lead back to themselves: `x = f(x)`, functions that call each other."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar, cast

from tflint_perf.analysis.limits import MANY_ASKED_ANEW

Answer = TypeVar("Answer")

# Deeper than any question: nothing was read that is not final.
_FINAL = 1 << 30


class Fixpoints:
    """Remembers answers so that each is the same whoever asks first.

    A question that is met while it is being answered is told what it begins with, and adds no more to itself. What is
    answered meanwhile rests on that, too: it is good for the question in progress alone, and is worked out again when
    somebody asks once that one is answered.
    """

    def __init__(self, nothing: object = None, unknown: object = None) -> None:
        """An answer that is still `nothing` in the end is `unknown`: whatever it rests on leads back to the question."""
        self._nothing, self._unknown = nothing, unknown
        self._known: dict[Hashable, Any] = {}
        # What is not final, in the order of asking: by the question, how deep the outermost one in progress stands that
        # its answer rests on.
        self._rests_on: dict[Hashable, int] = {}
        self._depth = 0
        # The least of those that were read since the innermost question in progress began.
        self._read = _FINAL

    def forget(self) -> None:
        """Drop all answers."""
        self._known.clear()
        self._rests_on.clear()

    def get(self, question: Hashable) -> Any:
        """The answer to `question`, or what is known of it so far; None where nobody has asked."""
        known = self._known.get(question)
        if known is not None and self._rests_on:
            depth = self._rests_on.get(question)
            if depth is not None and depth < self._read:
                self._read = depth
        return known

    def of(self, question: Hashable, beginning: Answer, work: Callable[[], Answer]) -> Answer:
        """The answer to `question`, which `work` finds where nobody has asked before."""
        known: Answer | None = self.get(question)
        return known if known is not None else self.work_out(question, beginning, work)

    def work_out(self, question: Hashable, beginning: Answer, work: Callable[[], Answer]) -> Answer:
        """What `work` gives for a question that nobody has asked."""
        depth, read = self._depth, self._read
        self._known[question], self._rests_on[question] = beginning, depth
        self._depth, self._read = depth + 1, _FINAL
        answered = False
        try:
            answer = work()
            answered = True
        finally:
            found, self._depth = self._read, depth
            self._read = min(read, found) if found < depth else read
            if not answered or found >= depth:
                self._forget_from(question)
        if found < depth:
            self._rests_on[question] = found
        elif answer is self._nothing:
            answer = cast("Answer", self._unknown)
        self._known[question] = answer
        return answer

    def _forget_from(self, question: Hashable) -> None:
        """Drop what was answered since `question` was asked and rests on it, and what is known of that itself.

        Of a circle of very many, such as functions that all call each other, the answers stay as they are: to ask each of
        them anew would take a time that grows with the square of their number."""
        dropped: list[Hashable] = []
        while not dropped or dropped[-1] is not question:
            dropped.append(self._rests_on.popitem()[0])
        for last in dropped if len(dropped) <= MANY_ASKED_ANEW else [question]:
            del self._known[last]
