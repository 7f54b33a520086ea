"""Programs by chance, run before and after their safe fixes: nothing that they compute or print may change."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.hunt.fixing import SAFE
from tests.hunt.pool import Asked, Worker, answers
from tests.hunt.statements import shrunk


@dataclass
class Hunted:
    """What a hunt has found so far."""

    made: int = 0
    with_fix: int = 0
    failing: int = 0
    flaky: int = 0
    asked_again: int = 0
    else_again: int = 0
    died: Counter[str] = field(default_factory=Counter)
    by_rule: Counter[str] = field(default_factory=Counter)
    found: list[Asked] = field(default_factory=list)

    def count(self, told: Asked) -> None:
        self.made += 1
        if "died" in told:
            self.died[told["died"]] += 1
            return
        if not told["codes"]:
            return
        if told["flaky"]:
            self.flaky += 1
            return
        self.with_fix += 1
        self.failing += bool(told["error"])
        self.by_rule.update(set(told["codes"]))
        if "again" in told:
            self.asked_again += 1
            self.else_again += told["again"]
        if told["differences"]:
            self.found.append(told)

    def shown(self, seconds: float) -> str:
        rules = ", ".join(f"{code} {count}" for code, count in sorted(self.by_rule.items()))
        died = ", ".join(f"{count} {how}" for how, count in sorted(self.died.items()))
        undefined = sum("NameError" in str(told["differences"]) for told in self.found)
        return "\n".join(
            [
                f"{self.made} programs in {seconds:.0f} s; {self.with_fix} with safe fixes, run before and after ({rules})",
                f"{self.failing} of these end with an error of their own; {self.flaky} more differ from themselves and are "
                f"left out, {self.else_again} of {self.asked_again} asked again; {died or 'none died'}",
                f"{len(self.found)} with changed values or prints, {undefined} of them with undefined names",
            ]
        )


def hunt(
    *,
    seed: int,
    count: int,
    jobs: int,
    fixable: list[str],
    seconds: float | None = None,
    fixes: int | None = None,
    limit_s: float = 20.0,
) -> Iterator[tuple[Hunted, Asked, Asked]]:
    """Make and run programs, so many or for so long, or until so many had fixes."""
    begin = time.monotonic()
    hunted = Hunted()

    def asked() -> Iterator[Asked]:
        for number in range(count) if count else itertools.count():
            enough = fixes is not None and hunted.with_fix >= fixes
            if enough or (seconds is not None and time.monotonic() - begin > seconds):
                return
            yield {"seed": seed, "number": number, "fixable": fixable}

    for one, told in answers(asked(), jobs, limit_s):
        hunted.count(told)
        yield hunted, one, told


def main(arguments: list[str]) -> int:
    """Hunt as the command line says; 1 where a safe fix changed a program."""
    parser = argparse.ArgumentParser(prog="tests.hunt.programs", description=__doc__)
    parser.add_argument("--count", type=int, default=0, help="programs to make; 0 for no end")
    parser.add_argument("--fixes", type=int, help="programs with safe fixes to run")
    parser.add_argument("--seconds", type=float, help="how long to hunt")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--select", default="", help="codes of the rules whose fixes are made, by commas")
    parser.add_argument(
        "--out", type=Path, help="a folder for programs that differ, and one text of the small ones"
    )
    parser.add_argument(
        "--small", type=int, default=2, help="of each rule, how many to make small; that takes a minute each"
    )
    parser.add_argument("--show", type=int, metavar="NUMBER", help="print this program, and make no other")
    options = parser.parse_args(arguments)
    if options.show is not None:
        from tests.hunt.grammar import Maker

        print(Maker(options.seed, options.show).program())
        return 0
    count = options.count or (0 if options.seconds or options.fixes else 1000)
    fixable = [
        code
        for code in sorted(SAFE)
        if not options.select or code.startswith(tuple(options.select.split(",")))
    ]
    begin = told_at = time.monotonic()
    hunted = Hunted()
    keeper = _Keeper(options.out, options.small)
    for hunted, one, told in hunt(
        seed=options.seed,
        count=count,
        jobs=options.jobs,
        fixable=fixable,
        seconds=options.seconds,
        fixes=options.fixes,
    ):
        if told.get("differences"):
            keeper.keep(one, told)
        elif "died" in told:
            print(f"seed {one['seed']} number {one['number']}: {told['died']}", file=sys.stderr)
        if time.monotonic() - told_at > 60:
            told_at = time.monotonic()
            print(hunted.shown(told_at - begin), file=sys.stderr)
    keeper.close()
    print(hunted.shown(time.monotonic() - begin))
    return 1 if hunted.found else 0


class _Keeper:
    """Shows programs that differ, the first of each rule made small, and keeps them in a folder."""

    def __init__(self, folder: Path | None, small: int) -> None:
        self._folder = folder
        self._small = small
        self._worker = Worker(20.0)
        self._by_rule: Counter[str] = Counter()
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def keep(self, one: Asked, told: Asked) -> None:
        code = "+".join(told["blamed"])
        name = f"{code}-{one['seed']}-{one['number']}"
        self._by_rule[code] += 1
        if self._folder is not None:
            (self._folder / f"{name}.py").write_text(told["text"], encoding="utf-8")
        if self._by_rule[code] > self._small:
            print(f"{name}: {'; '.join(told['differences'])[:200]}")
            return
        asked = {"fixable": told["blamed"]}

        def still(less: str) -> bool:
            found = self._worker.ask({**asked, "text": less})
            return bool(found.get("differences")) and found["error"] == told["error"]

        small = shrunk(told["text"], still)
        last = self._worker.ask({**asked, "text": small})
        text = f"# {name}: {'; '.join(last.get('differences', told['differences']))[:300]}\n{small}"
        print(text)
        if self._folder is not None:
            with (self._folder / "small.txt").open("a", encoding="utf-8") as file:
                file.write(f"{text}\n")

    def close(self) -> None:
        self._worker.close()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
