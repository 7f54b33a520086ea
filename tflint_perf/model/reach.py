"""Following what leads to what, each place once: who calls whom may go round in circles, and in many ways to one place."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


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
