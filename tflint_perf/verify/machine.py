"""Whether the machine is calm enough to judge by: the same piece of work, timed before each run.

Statistics tell what disturbs single runs. What lasts for a whole experiment, another program on the same cores say, moves all
of its pairs alike, and no interval shows it. But it shows in work that is the same each time. Where that takes so many times
as long as on the machine at rest, times may be wrong by as much, in either direction: a verdict that would not hold then is
none (`verdict.judge`). Counts and memory are what they are on a busy machine, too.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Final

from tflint_perf.cli.options import cores

# A look takes some 50 ms on a machine at rest: on each core, at the same time, so many pieces of so many bytes are hashed. A
# piece is short enough to be left alone at times on a busy machine, and all of them long enough not to be.
_PIECES: Final = 60
_BYTES: Final = bytes(1 << 20)
_MOST_THREADS: Final = 8
# What a machine at rest comes to.
CALM: Final = 1.25
# Times that were measured on a machine which is busier than that may give a verdict, but are no evidence to be kept.
NOISE_ON_FILE: Final = 1.5


def pieces_of_work() -> int:
    """How many pieces the work has on each core."""
    return _PIECES


def same_work() -> tuple[float, float]:
    """Seconds that the work takes on all cores at once, and the shortest that a piece of it took, on any of them."""
    pieces: list[float] = []
    # Hashing lets other threads run.
    threads = [threading.Thread(target=_hash, args=(pieces,)) for _ in range(min(cores(), _MOST_THREADS))]
    began = perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return perf_counter() - began, min(pieces)


def _hash(pieces: list[float]) -> None:
    for _ in range(_PIECES):
        began = perf_counter()
        hashlib.sha256(_BYTES)
        pieces.append(perf_counter() - began)


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
