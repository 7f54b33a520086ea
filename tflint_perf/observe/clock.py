"""Finds the training steps in a program that does not say what they are.

A step is an update of weights, or one round of several that take turns. What shows an update, best first: an optimizer that
applies gradients (eagerly, or in a compiled function: then each call of it), a session that runs such an op, a gradient that is taken
without an optimizer. Each place that updates, with its optimizer, is a *source*. A round begins where the source that was seen first
updates, as a program begins with the first update of a round, and is over once every source that is still active has updated. What
updates in some rounds of a loop only, as a generator in each fifth, is waited for in none. Whatever
shows later of what a round is, the rounds so far are counted again: so the same one is the hundredth, however many of its updates are
compiled together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
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
# More steps than so many are no parts of one: what updates from then on does so once in a while.
FEW = 30
# What was called so often was left before.
_OFTEN = 2
# So many updates are kept, to be counted again.
_MOST_KEPT = 1000
# A frame of a library with a training loop of its own: what lies further out does not loop over steps.
_OWN_LOOPS = frozenset({"fit", "fit_generator", "evaluate", "predict"})


# A place that updates, and what tells one optimizer there from another.
Key = tuple[Row, Hashable]


@dataclass
class Source:
    """A place that updates weights, and by which optimizer.

    `around` is where the call that leads there is, from the outside in: for each of the user's frames the file, its row, and the
    rows of the loops around it. `inside` says that a library's own loop (`fit`) is the innermost, which was begun `calls` times.
    """

    kind: str
    update: Row
    count: int = 0
    # How many optimizers update there: several where one compiled function holds their steps.
    optimizers: int = 1
    last: int = 0
    retired: bool = False
    # Is never waited for, since it updates in some rounds only.
    rare: bool = False
    around: tuple[tuple[str, int, tuple[int, ...]], ...] = ()
    # By each way that leads there, how often: of those that were looked at.
    ways: Counter[tuple[tuple[str, int, tuple[int, ...]], ...]] = field(default_factory=Counter)
    inside: bool = False
    calls: int = 0
    last_call: int = -1


@dataclass
class Clock:
    """Counts updates, and says when a step is over.

    `on_step` is called with the updates that were made since the last, `on_change` when what a step is has changed: another
    source is known, or one is done. It is given the steps so far as they are counted now, each by when it ended and its updates;
    None where they are not counted again, since there are too many, or another kind of source has taken over.
    """

    places: Places
    on_step: Callable[[int], None]
    on_change: Callable[[Sequence[tuple[float, int]] | None], None] = lambda steps: None
    kind: str | None = None
    sources: dict[Key, Source] = field(default_factory=dict)
    updates: int = 0
    # How often a library's own loop was begun.
    library_call: int = 0
    _round: Round = field(default_factory=lambda: Round())
    _steps: int = 0
    _by_many: set[Row] = field(default_factory=set)
    # All updates so far, and when they were made; None once there are too many.
    _kept: list[tuple[Key, float, int]] | None = field(default_factory=list)

    def mark(
        self, kind: str, who: Hashable, frame: FrameType | None, updates: int = 1, optimizers: int = 1
    ) -> None:
        """Weights were updated, `frame` being where: `who` tells one optimizer from the other at the same place."""
        if self.kind != kind:
            if self.kind is not None and KINDS.index(kind) < KINDS.index(self.kind):
                return
            if self.kind is not None:
                self.on_change(None)
            self.kind = kind
            self.sources.clear()
            self._round, self._kept, self._steps = Round(), [], 0
        key = self._key(who, frame)
        if key not in self.sources:
            key = self._know(key)
        source = self.sources[key]
        self.updates += updates
        source.count += 1
        source.optimizers = max(source.optimizers, optimizers)
        source.last = self.updates
        if source.last_call != self.library_call:
            source.last_call = self.library_call
            source.calls += 1
        if source.count <= _ALWAYS or source.count % _LATER == 0:
            self._look_around(source, frame)
        if source.count <= _ALWAYS:
            self._retire_rare()
        self._retire()
        self._keep(key, updates)
        if self._round.saw(key, updates, self._in_turn()):
            self._steps += 1
            self.on_step(self._round.end())

    def begins_round(self, kind: str, who: Hashable, frame: FrameType | None) -> bool:
        """Whether what updates next begins a round: all that went before it is over."""
        return kind == self.kind and self._round.is_over and self._in_turn()[:1] == [self._key(who, frame)]

    def _key(self, who: Hashable, frame: FrameType | None) -> Key:
        inner = self.places.innermost(frame)
        return self._merged((self.places.row(inner) if inner is not None else ("?", 0), who))

    def _know(self, key: Key) -> Key:
        """Keep a source that was not seen before: what was taken for a few steps were parts of one, then. Gives its key."""
        row, _ = key
        if sum(known == row for known, _ in self.sources) >= _MOST_AT_A_ROW:
            # An optimizer that is made anew for each update: they are all one.
            self._by_many.add(row)
            for old in [old for old in self.sources if old[0] == row]:
                del self.sources[old]
            key = (row, None)
        self.sources[key] = Source(self.kind or "", row)
        if 0 < self._steps <= FEW:
            self._count_again()
        return key

    def _in_turn(self) -> list[Key]:
        """The sources that a round waits for, in the order in which they were first seen."""
        return [key for key, source in self.sources.items() if not source.retired]

    def _retire_rare(self) -> None:
        """What updates in few of the rounds of a loop in which another source does in each is a part of some steps.

        One way through the code is taken once in a round of the innermost loop around it.
        """
        rounds: dict[Row, int] = {}
        # Several that update in one line may be those of a loop over them.
        active = [one for one in self.active() if not one.retired and self._is_alone(one)]
        for source in active:
            loop = _innermost_loop(source)
            if loop is not None:
                rounds[loop] = max(rounds.get(loop, 0), *source.ways.values())
        for source in active:
            loop = _innermost_loop(source)
            if loop is not None and rounds[loop] > 2 * max(source.ways.values()):
                source.retired = source.rare = True
                self._count_again()

    def _retire(self) -> None:
        active = [source for source in self.sources.values() if not source.retired]
        for source in active:
            if self.updates - source.last > _PATIENCE * len(active):
                source.retired = True  # for good: what comes back once in a while would make one step of many
                self._count_again()

    def _keep(self, key: Key, updates: int) -> None:
        if self._kept is not None:
            self._kept.append((key, now(), updates))
            if len(self._kept) > _MOST_KEPT:
                self._kept = None

    def _count_again(self) -> None:
        """Count the rounds so far by what is known now of their sources; one that is done is waited for where it was alone."""
        if self._kept is None:
            self.on_change(None)
            return
        kept = [(self._merged(key), at, updates) for key, at, updates in self._kept]
        last = {key: number for number, (key, _, _) in enumerate(kept)}
        done = sorted(
            last[key] + 1 for key, source in self.sources.items() if source.retired and not source.rare
        )
        active = self._in_turn()
        steps: list[tuple[float, int]] = []
        self._round = Round()
        for start, end in pairwise([0, *done, len(kept)]):
            here = {key for key, _, _ in kept[start:end]}
            alone = [key for key in self.sources if key in here]
            waits_for = active if end == len(kept) else [key for key in active if key in here] or alone
            for key, at, updates in kept[start:end]:
                if self._round.saw(key, updates, waits_for):
                    steps.append((at, self._round.end()))
        self._steps = len(steps)
        self.on_change(steps)

    def _merged(self, key: Key) -> Key:
        row, who = key
        return row, None if row in self._by_many else who

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
        source.ways[source.around] += 1

    def active(self) -> list[Source]:
        """The sources that still update, or all where none does."""
        return [source for source in self.sources.values() if not source.retired] or [*self.sources.values()]

    @property
    def optimizers(self) -> int:
        """How many a step is known to wait for."""
        return sum(source.optimizers for source in self.active())

    def loop(self) -> Row | None:
        """The row of the loop whose rounds are the steps, or of the call that has the loop inside."""
        active = self.active()
        if not active or not active[0].around:
            return None
        if self.is_in_library():
            name, row, _ = active[0].around[-1]
            return name, row
        # Several optimizers that update in one line are in no loop over them.
        common = self._common_loops(active, alone=False) or self._common_loops(active, alone=True)
        if common:
            return common[-1]
        name, row, _ = active[0].around[-1]
        return name, row

    def _common_loops(self, active: Sequence[Source], *, alone: bool) -> list[Row]:
        """The loops around the source that updates most and all others that share one with it: what has only begun to update, as
        a `fit` behind the loop, does not say what the steps were."""
        chains = {id(one): _chain(one, alone=alone or self._is_alone(one)) for one in active}
        most = chains[id(max(active, key=lambda one: one.count))]
        return _common([most, *(chain for chain in chains.values() if not set(chain).isdisjoint(most))])

    def is_in_library(self) -> bool:
        """Whether the rounds are those of a library's own loop (`fit`).

        Where each call of it makes one update, it is the user's loop around the calls that steps.
        """
        active = self.active()
        return bool(active) and all(source.inside and source.calls < source.count for source in active)

    def is_called_often(self) -> bool:
        """Whether a library's own loop was left several times: then it will be soon again."""
        return any(source.inside and source.calls > _OFTEN for source in self.active())

    def _is_alone(self, source: Source) -> bool:
        """Whether no other optimizer updates at the same place: then the innermost loop is not one over optimizers."""
        return sum(other.update == source.update for other in self.active()) == 1


@dataclass
class Round:
    """The updates since the last step was over."""

    is_over: bool = True
    _since: set[Key] = field(default_factory=set)
    _updates: int = 0

    def saw(self, key: Key, updates: int, waits_for: Sequence[Key]) -> bool:
        """An update by one of the sources that the round waits for: whether that makes it a whole one."""
        self._updates += updates
        if self.is_over and waits_for and key != waits_for[0]:
            return False  # of the round that is over, which has more of these than of others
        self.is_over = False
        self._since.add(key)
        return self._since.issuperset(waits_for)

    def end(self) -> int:
        """The round is over; gives its updates."""
        updates, self._updates = self._updates, 0
        self._since.clear()
        self.is_over = True
        return updates


def _common(chains: Sequence[Sequence[Row]]) -> list[Row]:
    """The loops that are in all of the chains."""
    return [row for row in chains[0] if all(row in chain for chain in chains[1:])]


def _innermost_loop(source: Source) -> Row | None:
    """The one around a source, where that is the user's and the same each time."""
    loops = {next(iter(_chain(replace(source, around=way), alone=True)[-1:]), None) for way in source.ways}
    return loops.pop() if len(loops) == 1 and not source.inside else None


def _chain(source: Source, *, alone: bool) -> list[Row]:
    """The loops around a source, from the outside in."""
    rows = [(name, loop) for name, _, loops in source.around for loop in reversed(loops)]
    return rows if alone else rows[:-1]


def now() -> float:
    """Seconds, by the clock that all is timed with."""
    return perf_counter()
