"""The hunt for a fix that breaks a file: real files, written otherwise, and what their fixes leave.

No mutant is run. Each is fixed, by safe fixes and by all, and must compile, need no second run, keep its comments,
name nothing that is not there, and be shown by `--diff` as `--fix` writes it.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.hunt.corpus import Program, is_fixable, own_programs, programs_in, tested_programs
from tests.hunt.examine import Examined, Failure, difference, examine
from tests.hunt.lines import compiles, rows_of
from tests.hunt.mutations import mutations
from tests.hunt.newer import NEWER
from tests.hunt.shrink import shrunk
from tflint_perf.errors import SourceError

_CODING = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
# The command line takes longer than everything else.
_DIFFED = 20


class Mutant(NamedTuple):
    """A program after some mutations; `newer` if it has syntax that is not for this Python."""

    name: str
    data: bytes
    newer: bool = False


def mutants(programs: Sequence[Program], count: int, seed: int) -> Iterator[Mutant]:
    """As many, each of a program in turn, the same for the same seed."""
    made = 0
    while made < count:
        random = Random(f"{seed} {made}")
        program = programs[random.randrange(len(programs))]
        yield _mutant(random, program, f"{made} of {program.name}")
        made += 1


def _mutant(random: Random, program: Program, name: str) -> Mutant:
    text, known = program.text, mutations()
    done: list[str] = []
    for _ in range(random.choice((1, 1, 2, 3, 4, 6))):
        for _ in range(4):
            which = random.choice(list(known))
            if (new := _data(_made(random, text, which))) is not None and new[0] != text:
                text = new[0]
                done.append(which)
                break
    # What stands in front of `from __future__` is refused by every Python.
    if random.random() < 0.03 and "from __future__" not in text:
        newer = random.choice(NEWER) + text
        return Mutant(f"{name}: newer, {', '.join(done)}", newer.encode(), not compiles(newer))
    made = _data(text)
    assert made is not None, name
    return Mutant(f"{name}: {', '.join(done)}", made[1])


def _made(random: Random, text: str, which: str) -> str:
    try:
        return mutations()[which](random, text)
    except (ValueError, IndexError, SyntaxError, RecursionError):  # two mutations that don't go together
        return text


def _data(text: str) -> tuple[str, bytes] | None:
    """A text that this Python takes, and its bytes."""
    encoding = _declared(text)
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError:
        return None
    return (text, data) if compiles(text.removeprefix("\ufeff")) else None


def _declared(text: str) -> str:
    """The encoding that one of the first two lines declares."""
    for row in rows_of(text)[:2]:
        if found := _CODING.match(row):
            return found[1]
        if row.strip() and not row.strip().startswith("#"):
            break
    return "utf-8"


def examined(mutant: Mutant, number: int = 1) -> Examined:
    """What is wrong with its fixes."""
    return examine(mutant.data, diff=number % _DIFFED == 0, ever_compiled=not mutant.newer)


def smallest(mutant: Mutant, failure: Failure, number: int, seconds: float) -> str:
    """A text with the same failure, and as few lines as can be."""

    def still(text: str) -> bool:
        if not mutant.newer and not compiles(text.removeprefix("\ufeff")):
            return False
        try:
            found = examined(Mutant("", text.encode(), mutant.newer), number).failures
        except SourceError:  # cut down, it declares an encoding that it is not in
            return False
        return any(other.of_a_kind == failure.of_a_kind for other in found)

    text = mutant.data.decode("utf-8", "replace")
    return shrunk(text, still, seconds) if still(text) else text


def main(arguments: list[str]) -> int:
    """Hunt, tell what was found, and return 1 if anything was."""
    options = _options(arguments)
    programs = [] if options.only_sources else [*own_programs(), *tested_programs()]
    programs += [program for folder in options.sources for program in programs_in(folder)]
    if not options.all:
        programs = [program for program in programs if is_fixable(program.text)]
    print(f"{len(programs)} programs", flush=True)
    kinds: Counter[str] = Counter()
    seen: Counter[tuple[str, tuple[str, ...]]] = Counter()
    fixes, fixed, begun = 0, 0, time.monotonic()
    for number, mutant in enumerate(mutants(programs, options.count, options.seed)):
        try:
            done = examined(mutant, number)
        except Exception as error:
            done = Examined(0, [Failure("harness", (), f"{type(error).__name__}: {error}")])
        fixes, fixed = fixes + done.fixes, fixed + bool(done.fixes)
        for failure in done.failures:
            kinds[failure.kind] += 1
            seen[failure.of_a_kind] += 1
            if seen[failure.of_a_kind] <= options.show:
                _show(mutant, failure, number, options.shrink)
        if number % 500 == 499:
            print(f"-- {number + 1} in {time.monotonic() - begun:.0f} s: {dict(kinds)}", flush=True)
    took = time.monotonic() - begun
    print(
        f"{options.count} mutants, {fixed} with {fixes} fixes, {took:.0f} s: {dict(kinds) or 'nothing wrong'}"
    )
    for (kind, codes), times in seen.most_common():
        print(f"{times:6} {kind} {' '.join(codes)}")
    return int(bool(kinds))


def _show(mutant: Mutant, failure: Failure, number: int, seconds: float) -> None:
    print(f"\n=== {failure.kind} {' '.join(failure.codes)}: {mutant.name}")
    text = smallest(mutant, failure, number, seconds)
    print(ascii_of(text))
    what = (
        failure.what
        if "\n" not in failure.what
        else difference(mutant.data.decode("utf-8", "replace"), failure.what)
    )
    print(f"--- {ascii_of(what[:1500])}", flush=True)


def ascii_of(text: str) -> str:
    """The text with what can't be seen in it shown."""
    shown = (
        text.replace("\r\n", "<crlf>\n").replace("\r", "<cr>\n").replace("\f", "<ff>").replace("\t", "<tab>")
    )
    return shown if len(shown) < 4000 else shown[:4000] + " ..."


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests.hunt mutated", description="Fix mutated files.")
    parser.add_argument("--count", type=int, default=1000, help="how many mutants")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--sources", type=Path, action="append", default=[], help="a folder of scripts to mutate"
    )
    parser.add_argument("--only-sources", action="store_true", help="none of this repository's own programs")
    parser.add_argument("--all", action="store_true", help="also programs without anything to fix")
    parser.add_argument("--show", type=int, default=2, help="how many failures of a kind to show")
    parser.add_argument("--shrink", type=float, default=20.0, help="seconds to make one small")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
