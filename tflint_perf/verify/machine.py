"""Whether the machine is calm enough to judge by: the same piece of work, timed before each run.

Statistics tell what disturbs single runs. What lasts for a whole experiment, another program on the same cores say, moves all
of its pairs alike, and no interval shows it. But it shows in work that is the same each time. Where that takes so many times
as long as on the machine at rest, times may be wrong by as much, in either direction: a verdict that would not hold then is
none (`verdict.judge`). Counts and memory are what they are on a busy machine, too.
"""

from __future__ import annotations

import hashlib
import threading
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from time import perf_counter
from typing import Final

from tflint_perf.cli.options import cores

# A look takes some 50 ms on a machine at rest: on each core, at the same time, so many pieces of so many bytes are hashed. A
# piece is short enough to be left alone at times on a busy machine, and all of them long enough not to be.
_PIECES: Final = 60
_BYTES: Final = bytes(1 << 20)
_MOST_THREADS: Final = 8
# Of so few pieces of a core, the best is not known.
_FEW: Final = 6
# What a machine at rest comes to.
CALM: Final = 1.25
# Times that were measured on a machine which is busier than that may give a verdict, but are no evidence to be kept.
NOISE_ON_FILE: Final = 1.5


def pieces_of_work() -> int:
    """How many pieces the work has on each core."""
    return _PIECES


def same_work() -> tuple[float, float]:
    """Seconds that the work took on the core that was disturbed most, and a piece of it on the average core at its best.

    A core is compared with itself, and only while all of them work: two that share a core of the hardware are slower then
    than either is alone, on a machine at rest as well.
    """
    count = min(cores(), _MOST_THREADS)
    ends: list[list[float]] = [[] for _ in range(count)]
    together = threading.Barrier(count)
    # Hashing lets other threads run.
    threads = [threading.Thread(target=_hash, args=(own, together)) for own in ends]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return disturbed(ends)


def disturbed(ends: Sequence[Sequence[float]]) -> tuple[float, float]:
    """As `same_work`, of when each core began and when it was through with each of its pieces."""
    first_over = min(own[-1] for own in ends)
    pieces = [_pieces(own, first_over) for own in ends]
    best = fmean(min(own) for own in pieces)
    return _PIECES * best * max(fmean(own) / min(own) for own in pieces), best


def _pieces(ends: Sequence[float], until: float) -> list[float]:
    """How long each piece took, of those that were done by then; all of them where these are too few to tell."""
    count = bisect_right(ends, until) - 1
    return [end - begin for begin, end in pairwise(ends if count < _FEW else ends[: count + 1])]


def _hash(ends: list[float], together: threading.Barrier) -> None:
    together.wait()
    ends.append(perf_counter())
    for _ in range(_PIECES):
        hashlib.sha256(_BYTES)
        ends.append(perf_counter())


@dataclass(slots=True)
class Machine:
    """Knows how short a piece of the work was at best, of all looks of a session; one look after the other in `looks`."""

    work: Callable[[], tuple[float, float]] = same_work
    best: float = float("inf")
    looks: list[float] = field(default_factory=list)

    def look(self) -> None:
        """Time the work now."""
        took, piece = self.work()
        self.best = min(self.best, piece)
        self.looks.append(took)

    def noise(self, since: int = 0) -> float:
        """How many times as long as at best the work took, in a quarter of the looks from this one on; 1 on a calm machine.

        What disturbs fewer of them disturbs single runs.
        """
        slowest = sorted(self.looks[since:], reverse=True)
        if not slowest:
            return 1.0
        times = slowest[max(len(slowest) // 4, 1) - 1] / (_PIECES * self.best)
        return times if times > CALM else 1.0
