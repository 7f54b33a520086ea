"""What the steps that are looked at closely cost: seconds by part, and what happens by line of the user's code."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from tflint_perf.observe.user_code import Stack

# A part, and what stands for the time in which nothing that is known to the observer goes on.
PYTHON = "python"

_COUNT, _SECONDS, _SIZE = 0, 1, 2


class Ledger:
    """Time is exclusive by part (what goes on inside is the inner part's) and inclusive by event.

    Only one thread writes: the one that makes the steps. Everything happens between `begin` and `end`, of one step; what
    reaches over an end counts in none.
    """

    def __init__(self) -> None:
        # Of each step, seconds by part.
        self.by_step: list[dict[str, float]] = []
        # How often a part was entered from another: (outer, inner).
        self.entries: dict[tuple[str, str], int] = {}
        self.events: dict[tuple[str, str, Stack], list[float]] = {}
        self._parts: dict[str, float] = {}
        self._stack: list[str] = []
        self._last = 0.0
        self._period = 0
        self._before: tuple[dict[tuple[str, str], int], dict[tuple[str, str, Stack], list[float]]] = {}, {}
        self.on = False
        # What is to be done, too, as steps begin and end that are looked at.
        self.on_turn: list[Callable[[bool], None]] = []

    @property
    def steps(self) -> int:
        """How many steps were looked at."""
        return len(self.by_step)

    @property
    def current(self) -> str:
        """The part that is going on."""
        return self._stack[-1] if self._stack else PYTHON

    def begin(self) -> None:
        """A step begins."""
        self._stack, self._parts = [], {}
        self._before = dict(self.entries), {key: list(found) for key, found in self.events.items()}
        self._period += 1
        self.turn(on=True)
        self._last = perf_counter()

    def end(self) -> None:
        """The step is over."""
        self._settle(self.current)
        self.by_step.append(self._parts)
        self.turn(on=False)

    def forget(self) -> None:
        """The step is none of those that count: it is as if nobody had looked at it."""
        self.entries, self.events = self._before
        self.turn(on=False)

    def turn(self, *, on: bool) -> None:
        """Look from now on, or no more."""
        self.on = on
        for act in self.on_turn:
            act(on)

    def enter(self, part: str) -> tuple[int, int, float]:
        """A part begins; `leave` ends it with what this gives."""
        outer = self.current
        self._settle(outer)
        self.entries[outer, part] = self.entries.get((outer, part), 0) + 1
        self._stack.append(part)
        return self._period, len(self._stack), self._last

    def leave(self, entered: tuple[int, int, float]) -> float:
        """The seconds since `enter`; negative if that was in another step, so that it counts for nothing."""
        period, depth, began = entered
        if period != self._period or not self.on:
            return -1.0
        self._settle(self.current)
        del self._stack[depth - 1 :]
        return self._last - began

    def _settle(self, part: str) -> None:
        now = perf_counter()
        self._parts[part] = self._parts.get(part, 0.0) + now - self._last
        self._last = now

    def note(self, kind: str, what: str, rows: Stack, seconds: float = 0.0, size: float = 0.0) -> None:
        """Something happened at the first of these rows, which the others had called."""
        key = (kind, what, rows)
        found = self.events.get(key)
        if found is None:
            found = self.events[key] = [0, 0.0, 0.0]
        found[_COUNT] += 1
        found[_SECONDS] += seconds
        found[_SIZE] += size
