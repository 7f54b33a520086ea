"""`python -m tests.hunt`: all hunts, or the one that is named, with its options."""

from __future__ import annotations

import sys
from importlib import import_module

HUNTS = ("caches", "kills", "mutated", "programs")


def main(arguments: list[str]) -> int:
    """0 where no hunt found anything. Options without a hunt are for all."""
    named = arguments[:1] if arguments[:1] and arguments[0] in HUNTS else list(HUNTS)
    given = arguments[1:] if len(named) == 1 else arguments
    # One imports TensorFlow, the other needs none of it.
    return max([import_module(f"tests.hunt.{name}").main(given) for name in named])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
