"""Scores the linter against what must and must not be reported in programs that nobody tuned it to.

    python tests/recall/score.py CHECKOUTS       # a folder with one checkout for each list beside this script

Each list names a public repository, a commit, and places in its files with a verdict that was written down by
reading the program, before the linter saw it. A checkout is looked for under the list's own name, and is best at
the list's commit.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tflint_perf.config.settings import Settings
from tflint_perf.lint.catalogue import catalogue
from tflint_perf.project.linting import lint_files
from tflint_perf.text.files import find_files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LISTS = Path(__file__).parent
# A statement of several lines may be noted at another of its lines.
_NEAR = 2


@dataclass(frozen=True, slots=True)
class Place:
    """What a reader says of a place: "report" it with this code, or stay "silent".

    In a notebook `line` counts in its `cell`, which counts from 1 over all cells.
    """

    repository: str
    file: str
    line: int
    code: str
    verdict: Literal["report", "silent"]
    why: str
    cell: int | None = None

    @property
    def name(self) -> str:
        """The place as a finding's is written."""
        return (
            f"{self.file}:{self.line}" if self.cell is None else f"{self.file}:cell {self.cell}:{self.line}"
        )


# File, cell, row and code of a finding.
Found = tuple[str, int | None, int, str]


def read_lists(folder: Path = LISTS) -> dict[str, list[Place]]:
    """The places of each list, by the list's name."""
    lists: dict[str, list[Place]] = {}
    for path in sorted(folder.glob("*.toml")):
        listed: Mapping[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
        lists[path.stem] = [
            Place(
                listed["repository"],
                **{key: place[key] for key in ("file", "line", "code", "verdict", "why")},
                cell=place.get("cell"),
            )
            for place in listed.get("place", ())
        ]
    return lists


def found_in(checkout: Path, files: set[str]) -> set[Found]:
    """Each finding in the files, with all rules."""
    settings = Settings(
        root=checkout, rules=frozenset(catalogue()), include_tests=True, project_root=checkout
    )
    paths = [path for path in find_files([str(checkout)], settings).files if _name(path, checkout) in files]
    return {
        (_name(Path(result.path), checkout), finding.start.cell, finding.start.row, finding.code)
        for result in lint_files(paths, settings, 1)
        for finding in result.findings
    }


def _name(path: Path, checkout: Path) -> str:
    return path.absolute().relative_to(checkout.absolute()).as_posix()


def score(places: list[Place], found: set[Found]) -> Iterator[tuple[Place, bool]]:
    """Each place, and whether it is reported.

    A finding speaks of the nearest place of its code, and of another one near where a finding that is nearer speaks of
    that already.
    """
    near = sorted(
        (abs(place.line - row), row, place.line, (file, cell, row, code), place)
        for file, cell, row, code in found
        for place in places
        if (place.file, place.cell, place.code) == (file, cell, code) and abs(place.line - row) <= _NEAR
    )
    spoken_of: dict[Found, Place] = {}
    for *_, finding, place in near:
        if finding not in spoken_of and place not in spoken_of.values():
            spoken_of[finding] = place
    for *_, finding, place in near:
        spoken_of.setdefault(finding, place)
    reported = set(spoken_of.values())
    for place in places:
        yield place, place in reported


def main() -> int:
    """Print misses, false alarms and the table; 1 where recall is under 0.90 or alarms are 3% or more."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", type=Path)
    folder = parser.parse_args().checkouts
    counts: Counter[tuple[str, str, bool]] = Counter()
    for name, places in read_lists().items():
        if not (folder / name).is_dir():
            print(f"{name}: no checkout", file=sys.stderr)
            continue
        found = found_in(folder / name, {place.file for place in places})
        for place, reported in score(places, found):
            counts[place.code, place.verdict, reported] += 1
            if reported != (place.verdict == "report"):
                what = "missed" if place.verdict == "report" else "false alarm"
                print(f"{what}: {name}/{place.name} {place.code}: {place.why}")
    print(f"\n{'code':8}{'found':>12}{'false alarms':>16}")
    for code in sorted({code for code, _, _ in counts}):
        print(f"{code:8}{_of(counts, code, 'report'):>12}{_of(counts, code, 'silent'):>16}")
    recall, alarms = _share(counts, "report"), _share(counts, "silent")
    print(f"\nrecall {recall:.3f}, false alarms {alarms:.1%} of the tempting places")
    return 0 if recall >= 0.9 and alarms < 0.03 else 1


def _of(counts: Counter[tuple[str, str, bool]], code: str, verdict: str) -> str:
    whole = counts[code, verdict, True] + counts[code, verdict, False]
    return f"{counts[code, verdict, True]}/{whole}" if whole else ""


def _share(counts: Counter[tuple[str, str, bool]], verdict: str) -> float:
    reported = sum(count for (_, said, reported), count in counts.items() if said == verdict and reported)
    whole = sum(count for (_, said, _), count in counts.items() if said == verdict)
    return reported / whole if whole else 0.0


if __name__ == "__main__":
    raise SystemExit(main())
