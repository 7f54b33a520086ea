"""How often noise confirms a false claim, or refutes a true one: the verifier's own statistics on runs that are made up.

python -m benchmarks.false_verdicts [--draws 1000] [--seed 1]

Each row is one kind of claim under one kind of noise. `short` is the share of experiments that confirm a claim which is false
by a hair, the worst case, and `true` that which refutes one that is true by a hair; both are promised to be 5% at most. The
others say what such noise leaves of the power to tell: how many experiments confirm an effect that is twice what is claimed
(`clear`), and refute one that is not there (`nothing`). Noise is that of one run, in shares of the figure.

A second table is of `prove`: how many fixes that change nothing it calls faster (`nothing`), and how many that save a
third of the time it calls faster (`third`); then the same of those that save two thirds, where it is asked for as few runs as it takes (`few`).
"""

from __future__ import annotations

import argparse
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tflint_perf.prove.times import Timed, Way
from tflint_perf.rule import Claim
from tflint_perf.verify.records import Effect
from tflint_perf.verify.statistics import LEAST_PAIRS, LOOKS, PAIRS_TO_SETTLE, growth, over_pairs
from tflint_perf.verify.verdict import judge_effect, without_doubt

PROMISED: Final = 0.05
_HAIR: Final = 1e-6
_WINDOWS: Final = 40

# The effects of pair after pair, whose middle is the true one.
Pairs = Iterator[float]
# A series of numbers around 0.
Noise = Callable[[random.Random], Iterator[float]]


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of claim under a kind of noise; `effects` draws an experiment's pairs for a true effect."""

    name: str
    least: float
    effects: Callable[[random.Random, float], Pairs]
    growth: bool = False


def gaussian(rng: random.Random) -> Iterator[float]:
    """Numbers that know nothing of each other."""
    while True:
        yield rng.gauss(0, 1)


def lasting(share: float, noise: Noise = gaussian) -> Noise:
    """Noise of which so much is still there a pair later."""

    def drawn(rng: random.Random) -> Iterator[float]:
        fresh = noise(rng)
        now = next(fresh)
        while True:
            yield now
            now = share * now + math.sqrt(1 - share**2) * next(fresh)

    return drawn


def disturbed(rng: random.Random) -> Iterator[float]:
    """Quiet, but for one run in six, which another program slows by far more."""
    while True:
        yield rng.gauss(0, 1) * (6 if rng.random() < 1 / 6 else 1)


def ratios(size: float, noise: Noise) -> Callable[[random.Random, float], Pairs]:
    """Slow over fast, with noise of this size on each pair."""

    def drawn(rng: random.Random, true: float) -> Pairs:
        for moved in noise(rng):
            yield true * math.exp(size * moved)

    return drawn


def growths(
    windows: int, size: float, pairs: Noise | None = None, drift: float = 0.0
) -> Callable[[random.Random, float], Pairs]:
    """What the growth of runs of so many windows is found to be, with noise of this size on each window.

    With `pairs`, how much a run grows is moved by so much (`drift`) by what lasts from one run to the next.
    """

    def drawn(rng: random.Random, true: float) -> Pairs:
        moved = pairs(rng) if pairs is not None else None
        while True:
            grows = true * math.exp(drift * next(moved)) if moved is not None else true
            yield growth(_series(rng, grows, windows, size)).value

    return drawn


def _series(rng: random.Random, true: float, windows: int, size: float) -> Sequence[tuple[float, float]]:
    """Step times whose last quarter is `true` times the first."""
    rate = (true - 1) / (0.875 - 0.125 * true)
    return [
        (at, max((1 + rate * at / (windows - 1)) * (1 + rng.gauss(0, size)), 0.01)) for at in range(windows)
    ]


KINDS: Final = (
    Kind("ratio 2×, 20% noise", 2.0, ratios(0.2, gaussian)),
    Kind("ratio 1.05×, 2% noise", 1.05, ratios(0.02, gaussian)),
    Kind("ratio 2×, 1 of 6 runs disturbed", 2.0, ratios(0.05, disturbed)),
    Kind("ratio 2×, 20% noise that lasts (0.5)", 2.0, ratios(0.2, lasting(0.5))),
    Kind("ratio 1.2×, disturbances that last (0.5)", 1.2, ratios(0.05, lasting(0.5, disturbed))),
    Kind("growth 1.2×, 40 windows, 20% noise", 1.2, growths(_WINDOWS, 0.2), growth=True),
    Kind("growth 2×, 40 windows, 20% noise", 2.0, growths(_WINDOWS, 0.2), growth=True),
    Kind("growth 2×, 20 windows, 20% noise", 2.0, growths(_WINDOWS // 2, 0.2), growth=True),
    Kind(
        "growth 2×, 10% noise, runs that last (0.5)",
        2.0,
        growths(_WINDOWS, 0.1, lasting(0.5), 0.1),
        growth=True,
    ),
)


NOISES: Final = {
    "2% noise": ratios(0.02, gaussian),
    "10% noise": ratios(0.1, gaussian),
    "10% noise that lasts (0.5)": ratios(0.1, lasting(0.5)),
    "5% noise, 1 of 6 runs disturbed": ratios(0.05, disturbed),
    "disturbances that last (0.5)": ratios(0.05, lasting(0.5, disturbed)),
}


def verdict(kind: Kind, rng: random.Random, true: float) -> str:
    """What an experiment comes to: as many looks as it takes. The fast script of a growth is flat."""
    claim = Claim("step time", kind.least, "growth" if kind.growth else "ratio")
    effects = kind.effects(rng, true)
    pairs: list[float] = []
    found = "inconclusive"
    flat = Effect(1.0, 1.0, 1.0) if kind.growth else None
    pairs += [next(effects) for _ in range(PAIRS_TO_SETTLE)]
    if (early := without_doubt(claim, over_pairs(pairs), flat)) is not None:
        return early.verdict
    for look, confidence in enumerate(LOOKS):
        pairs += [next(effects) for _ in range(LEAST_PAIRS * 2**look - len(pairs))]
        found = judge_effect(claim, over_pairs(pairs, confidence), flat).verdict
        if found != "inconclusive":
            break
    return found


def shares(kind: Kind, draws: int, seed: int = 1) -> dict[str, float]:
    """Of so many experiments each, how many come to the verdict that the columns ask for."""
    asked = {
        "short": (kind.least * (1 - _HAIR), "confirmed"),
        "true": (kind.least * (1 + _HAIR), "refuted"),
        "clear": (2 * kind.least, "confirmed"),
        "nothing": (1.0, "refuted"),
    }
    rng = random.Random(seed)
    return {
        column: Counter(verdict(kind, rng, true) for _ in range(draws))[wanted] / draws
        for column, (true, wanted) in asked.items()
    }


def lines(draws: int, seed: int = 1) -> Iterator[str]:
    """The table in Markdown, row by row."""
    yield "| claim and noise | short | true | clear | nothing |"
    yield "|---|---|---|---|---|"
    for kind in KINDS:
        yield f"| {kind.name} | {' | '.join(f'{share:.1%}' for share in shares(kind, draws, seed).values())} |"


def called(kind: Kind, rng: random.Random, true: float, least: int = LEAST_PAIRS) -> Way:
    """What `prove` says of the time of a fix that is so many times as fast: as many looks as it takes, `least` pairs at first."""
    effects = kind.effects(rng, true)
    pairs: list[float] = []
    found: Way = "flat"
    for confidence in LOOKS:
        pairs += [next(effects) for _ in range(len(pairs) or least)]
        found = Timed(1.0, 1.0, over_pairs(pairs, confidence)).way
        if found != "flat":
            break
    return found


def lines_of_prove(draws: int, seed: int = 1) -> Iterator[str]:
    """The second table, row by row."""
    yield "| noise | nothing | third | few: nothing | few: two thirds |"
    yield "|---|---|---|---|---|"
    rng = random.Random(seed)
    for name, effects in NOISES.items():
        kind = Kind(name, 1.0, effects)
        shares = (
            sum(called(kind, rng, true, least) == "up" for _ in range(draws)) / draws
            for true, least in (
                (1.0, LEAST_PAIRS),
                (1.5, LEAST_PAIRS),
                (1.0, PAIRS_TO_SETTLE),
                (3.0, PAIRS_TO_SETTLE),
            )
        )
        yield f"| {name} | {' | '.join(f'{share:.1%}' for share in shares)} |"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description="How often noise decides a verdict.")
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for line in lines(asked.draws, asked.seed):
        print(line, flush=True)
    print()
    for line in lines_of_prove(asked.draws, asked.seed):
        print(line, flush=True)


if __name__ == "__main__":
    main()
