"""A process that makes programs, fixes them and runs both: a line of JSON asks, a line answers."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from tests.hunt.fixing import SAFE, fixed
from tests.hunt.oracle import Runner, Seen, differences

# One program in so many is run twice though nothing differs: how many give something else each time?
_AGAIN = 25
_OLD_NAMES = "mixed_precision"


def compared(runner: Runner, before: str, after: str) -> tuple[list[str], bool, str]:
    """How the second program differs from the first, whether the first differs from itself, and the error it ended with.

    A difference counts only where it is there again when both are run again.
    """
    first = runner.run(before)
    found = _differences(runner, before, after, first)
    if not found:
        return [], False, first.error
    if _differs_from_itself(runner, before, first):
        return [], True, first.error
    again = _differences(runner, before, after, first)
    return again, not again, first.error


def _differences(runner: Runner, before: str, after: str, first: Seen) -> list[str]:
    second = runner.run(after)
    if _OLD_NAMES in before and _fails_for_want_of_names(first):
        # It runs now, where it failed: what it did until then has to be the same, and what it does with the old names.
        if not second.out.startswith(first.out):
            return differences(first, second)
        first, second = runner.run(before, old_names=True), runner.run(after, old_names=True)
    return differences(first, second)


def _differs_from_itself(runner: Runner, before: str, first: Seen) -> bool:
    if differences(first, runner.run(before)):
        return True
    if not (_OLD_NAMES in before and _fails_for_want_of_names(first)):
        return False
    return bool(differences(*(runner.run(before, old_names=True) for _ in range(2))))


def _fails_for_want_of_names(seen: Seen) -> bool:
    return (
        seen.error.startswith(("AttributeError", "ImportError", "ModuleNotFoundError"))
        and "experimental" in seen.error
    )


def blamed(runner: Runner, text: str, codes: list[str]) -> list[str]:
    """The rules whose fix alone makes a difference; all where it takes several."""
    alone = []
    for code in sorted(set(codes)):
        after, made = fixed(text, [code])
        if made and compared(runner, text, after)[0]:
            alone.append(code)
    return alone or sorted(set(codes))


def answer(runner: Runner, text: str, fixable: list[str], number: int) -> dict[str, Any]:
    """What came of a program: the codes of its fixes, and what they changed."""
    after, codes = fixed(text, fixable)
    told: dict[str, Any] = {"codes": codes, "differences": [], "flaky": False, "error": ""}
    if not codes:
        return told
    found, flaky, error = compared(runner, text, after)
    told.update(differences=found, flaky=flaky, error=error)
    if found:
        told.update(text=text, after=after, blamed=blamed(runner, text, codes))
    elif number % _AGAIN == 0 and not flaky:
        told.update(again=bool(differences(runner.run(text), runner.run(text))))
    return told


def serve(make: Callable[[int, int], str]) -> None:
    """Answer until nobody asks any more. What is printed meanwhile by whomever does not get among the answers."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(1, 2)
    runner = Runner()
    for line in sys.stdin:
        asked = json.loads(line)
        if "after" in asked:
            told = {"differences": compared(runner, asked["before"], asked["after"])[0]}
            answers.write(json.dumps(told) + "\n")
            answers.flush()
            continue
        text = asked.get("text") or make(asked["seed"], asked["number"])
        told = answer(runner, text, asked.get("fixable") or sorted(SAFE), asked.get("number", 1))
        answers.write(json.dumps(told) + "\n")
        answers.flush()


if __name__ == "__main__":
    from tests.hunt.grammar import Maker

    serve(lambda seed, number: Maker(seed, number).program())
