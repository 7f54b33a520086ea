"""Following what leads to what, each place once: who calls whom may go round in circles, and in many ways to one place."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

T = TypeVar("T", bound=Hashable)
P = ParamSpec("P")
R = TypeVar("R")


def leads_to(start: T, known: dict[T, bool], ask: Callable[[T], bool | Iterable[T]]) -> bool:
    """Whether something is true of `start` or of anything that it leads to.

    `ask` says whether it is true of one place, or what to look at in its stead. What is found out is put into `known`,
    so that many questions take no longer than one.
    """
    came_from: dict[T, T | None] = {start: None}
    waiting = [start]
    while waiting:
        current = waiting.pop()
        answer = known[current] if current in known else ask(current)
        if answer is True:
            on_the_way: T | None = current
            while on_the_way is not None:
                known[on_the_way] = True
                on_the_way = came_from[on_the_way]
            return True
        for following in answer or ():
            if following not in came_from:
                came_from[following] = current
                waiting.append(following)
    known.update(dict.fromkeys(came_from, False))
    return False


def remembered(method: Callable[Concatenate[Any, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Keep what a method answers, by its arguments: in few steps, many ways may lead to one place.

    How deep a question is has to be one of the arguments, where that decides on the answer.
    """
    return _remembering(method)


def remembered_in_circles(
    beginning: Any,
) -> Callable[[Callable[Concatenate[Any, P], R]], Callable[Concatenate[Any, P], R]]:
    """The same for a question that may lead back to itself, as of functions that call each other: the answer is `beginning`
    until it is known."""
    return partial(_remembering, begins=True, beginning=beginning)


def _remembering(
    method: Callable[Concatenate[Any, P], R], begins: bool = False, beginning: Any = None
) -> Callable[Concatenate[Any, P], R]:
    name = f"_answers_of_{method.__name__}"

    @wraps(method)
    def ask(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        answers: dict[Hashable, R] = self.__dict__.setdefault(name, {})
        question = (args, *kwargs.items())
        if question not in answers:
            if begins:
                answers[question] = beginning
            answers[question] = method(self, *args, **kwargs)
        return answers[question]

    return ask
