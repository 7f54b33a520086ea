"""Somebody who waits for the findings of a file: told of them before their fixes are worked out, and free to go.

Whoever lints for an editor says so with `waited_for`; the work asks here, wherever it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from tflint_perf.finding import Finding
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.text.trees import EditedTree


class Gone(BaseException):
    """Nobody waits any more. It is no fault, so that nothing that deals with faults stops it on its way."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What is done with findings that have no fixes yet, and whether nobody wants any more.

    `some` says that there are likely to be some, as there were before the last key; `tree` is that of the text before it.
    """

    found: Callable[[tuple[Finding, ...]], None]
    is_gone: Callable[[], bool]
    some: bool = False
    tree: EditedTree | None = None


_waiting: ContextVar[Waiting | None] = ContextVar("waiting", default=None)


@contextmanager
def waited_for(waiting: Waiting) -> Iterator[None]:
    """Work for somebody who waits."""
    before = _waiting.set(waiting)
    try:
        yield
    finally:
        _waiting.reset(before)


def is_waited_for() -> bool:
    """Whether somebody wants to be told early."""
    return _waiting.get() is not None


def expects_some() -> bool:
    """Whether there are likely to be findings, so that a look for those that have none is one too many."""
    waiting = _waiting.get()
    return waiting is not None and waiting.some


def edited_tree() -> EditedTree | None:
    """The tree of the text that somebody edits, to be made the one of the text as it is now."""
    waiting = _waiting.get()
    return waiting.tree if waiting is not None else None


def tell(findings: tuple[Finding, ...]) -> None:
    """Tell whoever waits what was found, by what is known of other files so far."""
    waiting = _waiting.get()
    if waiting is not None:
        waiting.found(findings)


def go_on() -> None:
    """Go on if the work is still wanted.

    Raises:
        Gone: it is not.
    """
    waiting = _waiting.get()
    if waiting is not None and waiting.is_gone():
        raise Gone
