"""Finds the training steps in a program that does not say what they are.

A step is an update of weights, or one round of several that take turns. What shows an update, best first: an optimizer that
applies gradients (eagerly, or in a compiled function: then each call of it), a session that runs such an op, a gradient that is taken
without an optimizer. Each place that updates, with its optimizer, is a *source*; a step is over when every source that is still
active has updated since the last one was.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from types import FrameType

from tflint_perf.observe.user_code import Places, Row

# The later the better; what is worse is not looked at any more once something better was seen.
KINDS = ("gradient", "session", "optimizer", "told")
# Updates by others, for each source that is active, after which one that has made none is taken to be done.
_PATIENCE = 12
# How often a source's way through the code is looked at: at first always, later from time to time.
_ALWAYS, _LATER = 24, 16
# More optimizers at one row are taken for one that is made again and again.
_MOST_AT_A_ROW = 6
# With more calls for each update, a library's loop has one round, and it is the user's around it that steps.
_ALONE = 0.6
# A frame of a library with a training loop of its own: what lies further out does not loop over steps.
_OWN_LOOPS = frozenset({"fit", "fit_generator", "evaluate", "predict"})


@dataclass
class Source:
    """A place that updates weights, and by which optimizer.

    `around` is where the call that leads there is, from the outside in: for each of the user's frames the file, its row, and the
    rows of the loops around it. `inside` says that a library's own loop (`fit`) is the innermost, which was begun `calls` times.
    """

    kind: str
    update: Row
    count: int = 0
    last: int = 0
    retired: bool = False
    around: tuple[tuple[str, int, tuple[int, ...]], ...] = ()
    inside: bool = False
    calls: int = 0
    last_call: int = -1


@dataclass
class Clock:
    """Counts updates, and says when a step is over.

    `on_step` is called with the updates that were made since the last, `on_change` when what a step is has changed: another
    source is known, or one is done.
    """

    places: Places
    on_step: Callable[[int], None]
    on_change: Callable[[], None] = lambda: None
    kind: str | None = None
    sources: dict[tuple[Row, Hashable], Source] = field(default_factory=dict)
    updates: int = 0
    # How often a library's own loop was begun.
    library_call: int = 0
    _since: set[Hashable] = field(default_factory=set)
    _pending: int = 0
    _by_many: set[Row] = field(default_factory=set)

    def mark(self, kind: str, who: Hashable, frame: FrameType | None, updates: int = 1) -> None:
        """Weights were updated, `frame` being where: `who` tells one optimizer from the other at the same place."""
        if self.kind != kind:
            if self.kind is not None and KINDS.index(kind) < KINDS.index(self.kind):
                return
            if self.kind is not None:
                self.on_change()
            self.kind = kind
            self.sources.clear()
            self._since.clear()
        inner = self.places.innermost(frame)
        row = self.places.row(inner) if inner is not None else ("?", 0)
        if row in self._by_many:
            who = None
        key = (row, who)
        source = self.sources.get(key)
        if source is None:
            if sum(known == row for known, _ in self.sources) >= _MOST_AT_A_ROW:
                # An optimizer that is made anew for each update: they are all one.
                self._by_many.add(row)
                for old in [old for old in self.sources if old[0] == row]:
                    del self.sources[old]
                    self._since.discard(old)
                key = (row, None)
            source = self.sources[key] = Source(kind, row)
            if len(self.sources) > 1:
                self.on_change()
        self.updates += updates
        self._pending += updates
        source.count += 1
        source.last = self.updates
        if source.last_call != self.library_call:
            source.last_call = self.library_call
            source.calls += 1
        if source.count <= _ALWAYS or source.count % _LATER == 0:
            self._look_around(source, frame)
        self._since.add(key)
        self._retire()
        if self._is_round():
            pending, self._pending = self._pending, 0
            self._since.clear()
            self.on_step(pending)

    def _is_round(self) -> bool:
        return all(
            key in self._since or source.retired or source.count == 0 for key, source in self.sources.items()
        )

    def _retire(self) -> None:
        active = [source for source in self.sources.values() if not source.retired]
        for source in active:
            if self.updates - source.last > _PATIENCE * len(active):
                source.retired = True  # for good: what comes back once in a while would make one step of many
                self.on_change()

    def _look_around(self, source: Source, frame: FrameType | None) -> None:
        around: list[tuple[str, int, tuple[int, ...]]] = []
        inside = is_out = False
        library: FrameType | None = frame
        for user in self.places.stack(frame):
            # A loop of a library's between this frame and those further in?
            while library is not None and library is not user:
                inside = inside or library.f_code.co_name in _OWN_LOOPS
                library = library.f_back
            if inside and not is_out:
                is_out = source.inside = True
                around.clear()
            loops = tuple(self.places.loops_around(user))
            name, row = self.places.row(user)
            around.append((name, row, loops))
            library = user.f_back
        around.reverse()
        if source.around and source.count > _ALWAYS:
            return
        source.around = tuple(around)

    def active(self) -> list[Source]:
        """The sources that still update, or all where none does."""
        return [source for source in self.sources.values() if not source.retired] or [*self.sources.values()]

    def loop(self) -> Row | None:
        """The row of the loop whose rounds are the steps, or of the call that has the loop inside."""
        active = self.active()
        if not active or not active[0].around:
            return None
        if all(source.inside and source.calls <= _ALONE * source.count for source in active):
            name, row, _ = active[0].around[-1]
            return name, row
        common = _common([_chain(source, alone=self._is_alone(source)) for source in active])
        # Several optimizers that update in one line are in no loop over them.
        common = common or _common([_chain(source, alone=True) for source in active])
        if common:
            return common[-1]
        name, row, _ = active[0].around[-1]
        return name, row

    def _is_alone(self, source: Source) -> bool:
        """Whether no other optimizer updates at the same place: then the innermost loop is not one over optimizers."""
        return sum(other.update == source.update for other in self.active()) == 1


def _common(chains: Sequence[Sequence[Row]]) -> list[Row]:
    """The loops that are in all of the chains."""
    return [row for row in chains[0] if all(row in chain for chain in chains[1:])]


def _chain(source: Source, *, alone: bool) -> list[Row]:
    """The loops around a source, from the outside in."""
    rows = [(name, loop) for name, _, loops in source.around for loop in reversed(loops)]
    return rows if alone else rows[:-1]


def now() -> float:
    """Seconds, by the clock that all is timed with."""
    return perf_counter()
