"""Places in public programs that a linter must report, or stay silent at: how many does it get right?

    python benchmarks/places.py fetch CHECKOUTS             # get the programs; needs git and the network
    python benchmarks/places.py score CHECKOUTS             # this linter, or another one's --findings
    python benchmarks/places.py snapshot CHECKOUTS --write before.txt
    python benchmarks/places.py snapshot CHECKOUTS --against before.txt
    python benchmarks/places.py ablation CHECKOUTS          # what each word earns by which users' names are evidence

Each row in `places/` names a public repository, a commit, and a place in one of its files with a verdict that was
written down by reading the program, before the linter saw it. CHECKOUTS is a folder outside the project with a folder
for each repository, called as the column `checkout` says and best at the row's commit. What is not there is left out.
None of the programs' code is run.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from tflint_perf.analysis.conventions import Notion, notions
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.config.files import find_files
from tflint_perf.config.settings import Settings
from tflint_perf.project.linting import FileResult, lint_files

LISTS = Path(__file__).with_name("places")
KINDS = sorted(path.stem for path in LISTS.glob("*.tsv"))
HOST = "https://github.com"
# A statement of several lines may be noted at another of its lines.
_NEAR = 2
# `path:line:code`, and what linters print: `path:line:column: code message`.
_FINDING = re.compile(
    r"(?P<file>.+?)(?::cell (?P<cell>\d+))?:(?P<row>\d+)(?::\d+)?: ?(?P<code>[A-Za-z][\w-]*)(?=[\s:]|$)"
)


class PlacesError(Exception):
    """A checkout or a file of findings can't be had."""


@dataclass(frozen=True, slots=True)
class Place:
    """What a reader says of a place: "report" it with this code, or stay "silent".

    In a notebook `line` counts in its `cell`, which counts from 1 over all cells. `kind` is the name of the row's list.
    """

    kind: str
    repository: str
    commit: str
    checkout: str
    style: str
    file: str
    cell: int | None
    line: int
    code: str
    verdict: Literal["report", "silent"]
    why: str

    @property
    def name(self) -> str:
        """The place as a finding's is written."""
        return _written(self.checkout, self.file, self.cell, self.line)


# File, cell, row and code of a finding.
Found = tuple[str, int | None, int, str]
# What a verdict came to: kind, code, verdict and whether it was reported.
Counts = Counter[tuple[str, str, str, bool]]


def read_places(kinds: Sequence[str] = ()) -> dict[str, list[Place]]:
    """The places of some kinds or of all, by the names of the checkouts."""
    places: dict[str, list[Place]] = {}
    for path in sorted(LISTS.glob("*.tsv")):
        if not kinds or path.stem in kinds:
            with path.open(encoding="utf-8", newline="") as file:
                for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                    places.setdefault(row["checkout"], []).append(_place(path.stem, row))
    return places


def _place(kind: str, row: dict[str, Any]) -> Place:
    cell = int(row["cell"]) if row["cell"] else None
    return Place(kind, **{**row, "cell": cell, "line": int(row["line"])})


def _written(checkout: str, file: str, cell: int | None, row: int) -> str:
    return f"{checkout}/{file}:{row}" if cell is None else f"{checkout}/{file}:cell {cell}:{row}"


# Getting the programs.


def fetch(folder: Path, places: Mapping[str, Sequence[Place]]) -> None:
    """Check out what is not there yet, each at its commit, and say what is gone.

    Raises:
        PlacesError: there is no git, or no network.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, (place, *_) in places.items():
        if name in _folders(folder):
            continue
        # Moved last, so that an interrupted run leaves no half checkout.
        with tempfile.TemporaryDirectory(dir=folder, prefix=".fetching-") as scratch:
            checkout = Path(scratch) / name
            if (folder / name).exists():
                problem = f"names that differ in capitals are one here, and {name} is there"
            else:
                problem = _check_out(place, checkout)
            if problem:
                print(f"{place.repository}: left out: {problem}", file=sys.stderr, flush=True)
            else:
                checkout.rename(folder / name)


def _check_out(place: Place, folder: Path) -> str:
    """Put a repository's files at a commit into a folder; say why that can't be, or nothing."""
    inside = ("-C", str(folder))
    for arguments in (
        ("init", "--quiet", str(folder)),
        (*inside, "fetch", "--quiet", "--depth=1", f"{HOST}/{place.repository}", place.commit),
        (*inside, "-c", "advice.detachedHead=false", "checkout", "--quiet", "FETCH_HEAD"),
    ):
        # Nobody is asked for the password that a host wants for what is gone, and no large data are got.
        quiet = {"GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1", "LC_ALL": "C"}
        try:
            done = subprocess.run(
                ["git", *arguments], capture_output=True, text=True, check=False, env={**os.environ, **quiet}
            )
        except FileNotFoundError:
            raise PlacesError("git is not installed") from None
        if done.returncode:
            problem = (done.stderr.strip() or "git gave no reason").splitlines()[-1].removeprefix("fatal: ")
            if "unable to access" in problem and "returned error" not in problem:
                raise PlacesError(f"{HOST} can't be reached: {problem}")
            return "gone, or not public" if "could not read Username" in problem else problem
    return ""


def present(folder: Path, places: Mapping[str, list[Place]]) -> dict[str, list[Place]]:
    """The places whose checkouts are there; how many are not is said.

    Raises:
        PlacesError: none is.
    """
    folders = _folders(folder)
    there = {name: rows for name, rows in places.items() if name in folders}
    if not there:
        raise PlacesError(f"{folder} has none of the checkouts: get them with `fetch`")
    if len(there) < len(places):
        left_out = len(places) - len(there)
        print(f"{left_out} of {len(places)} repositories are not there and left out", file=sys.stderr)
    return there


def _folders(folder: Path) -> set[str]:
    """The names of the folders in one, as they are spelled: some repositories' names differ in capitals alone."""
    return {path.name for path in folder.glob("*") if path.is_dir()}


# Findings: this linter's, and others'.


def lint(checkout: Path, jobs: int, files: set[str] | None = None) -> list[tuple[str, FileResult]]:
    """What this linter says with all rules of the files, or of all files, by their names in the checkout."""
    checkout = checkout.absolute()  # as the linter's own command gives its roots; with others it finds less
    settings = Settings(
        root=checkout, rules=frozenset(catalogue()), include_tests=True, project_root=checkout
    )
    paths = [
        path
        for path in find_files([str(checkout)], settings).files
        if files is None or _name(path, checkout) in files
    ]
    return [(_name(Path(result.path), checkout), result) for result in lint_files(paths, settings, jobs)]


def _name(path: Path, checkout: Path) -> str:
    return path.absolute().relative_to(checkout).as_posix()


def found_in(checkout: Path, files: set[str], jobs: int = 1) -> set[Found]:
    """Each finding of this linter in the files."""
    return {
        (name, finding.start.cell, finding.start.row, finding.code)
        for name, result in lint(checkout, jobs, files)
        for finding in result.findings
    }


def read_findings(file: Path, checkouts: Path, codes: Mapping[str, str]) -> dict[str, set[Found]]:
    """Each finding that a linter wrote to a file, by checkout: JSON, JSON a line, or `path:line:code` lines.

    Args:
        file: what the linter wrote; its paths are below `checkouts`, or relative to it.
        checkouts: the folder of the checkouts.
        codes: ours for the linter's own.

    Raises:
        PlacesError: the file is none of these.
    """
    try:
        text = file.read_text(encoding="utf-8").strip()
        rows = list(_from_json(text) if text[:1] in ("[", "{") else _from_lines(text))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PlacesError(f"{file} can't be read as findings: {error!r}") from None
    found: dict[str, set[Found]] = {}
    for path, cell, row, code in rows:
        inside = os.path.relpath(checkouts / path, checkouts).replace(os.sep, "/")
        checkout, _, name = inside.partition("/")
        found.setdefault(checkout, set()).add((name, cell, row, codes.get(code, code)))
    return found


def _from_json(text: str) -> Iterator[Found]:
    entries = json.loads(text) if text.startswith("[") else map(json.loads, text.splitlines())
    for entry in entries:
        row = entry["location"]["row"] if "location" in entry else entry["line"]
        yield entry.get("filename") or entry["path"], entry.get("cell"), int(row), str(entry["code"])


def _from_lines(text: str) -> Iterator[Found]:
    matches = [match for match in map(_FINDING.match, text.splitlines()) if match]
    if text and not matches:
        raise ValueError("no line is like path:line:code")
    for match in matches:
        cell = int(match["cell"]) if match["cell"] else None
        yield match["file"], cell, int(match["row"]), match["code"]


# The score.


def score(places: Sequence[Place], found: set[Found]) -> Iterator[tuple[Place, bool]]:
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


def count(
    places: Mapping[str, list[Place]], found: Callable[[str, set[str]], set[Found]]
) -> tuple[Counts, list[str]]:
    """How many places of each kind and code are reported, and a line for each that is missed or a false alarm.

    Args:
        places: by checkout.
        found: gives the findings in some files of a checkout.
    """
    counts: Counts = Counter()
    wrong = []
    for name, rows in places.items():
        for place, reported in score(rows, found(name, {place.file for place in rows})):
            counts[place.kind, place.code, place.verdict, reported] += 1
            if reported != (place.verdict == "report"):
                what = "missed" if place.verdict == "report" else "false alarm"
                wrong.append(f"{what}: {place.name} {place.code}: {place.why}")
    return counts, wrong


def table(counts: Counts) -> Iterator[str]:
    """Lines with what is found and false by kind, by code and in all."""
    for at, heading in enumerate(("kind", "code")):
        yield f"{heading:24}{'found':>12}{'false alarms':>16}"
        for name in sorted({cast("str", key[at]) for key in counts}):
            some = Counter({key: number for key, number in counts.items() if key[at] == name})
            yield f"{name:24}{_of(some, 'report'):>12}{_of(some, 'silent'):>16}"
        yield ""
    yield f"{'total':24}{_of(counts, 'report'):>12}{_of(counts, 'silent'):>16}"
    recall, alarms = _share(counts, "report"), _share(counts, "silent")
    yield f"recall {recall:.3f}, false alarms {alarms:.1%} of the tempting places"


def _said(counts: Counts, verdict: str) -> tuple[int, int]:
    """How many places with a verdict are reported, and how many there are."""
    numbers = [(number, key[3]) for key, number in counts.items() if key[2] == verdict]
    return sum(number for number, reported in numbers if reported), sum(number for number, _ in numbers)


def _of(counts: Counts, verdict: str) -> str:
    reported, whole = _said(counts, verdict)
    return f"{reported}/{whole}" if whole else ""


def _share(counts: Counts, verdict: str) -> float:
    reported, whole = _said(counts, verdict)
    return reported / whole if whole else 0.0


# The snapshot.


def snapshot(folder: Path, names: Iterable[str], jobs: int) -> list[str]:
    """A line for each finding of this linter in all files of the checkouts, and for each file that is not linted."""
    lines = []
    for name in names:
        for file, result in lint(folder / name, jobs):
            for finding in result.findings:
                where = _written(name, file, finding.start.cell, finding.start.row)
                lines.append(f"{where}: {finding.code} {finding.message}")
            for problem in filter(None, (result.failure, *result.problems)):
                lines.append(f"{name}/{file}{problem.removeprefix(result.path)}")
    # Names of files need not be text.
    return sorted(line.encode(errors="backslashreplace").decode() for line in lines)


def difference(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Lines that are gone, with a minus, and new ones, with a plus."""
    gone, new = Counter(before) - Counter(after), Counter(after) - Counter(before)
    signed = [(line, "-") for line in gone.elements()] + [(line, "+") for line in new.elements()]
    return [f"{sign} {line}" for line, sign in sorted(signed)]


# The ablation.


# A word of a notion.
Word = tuple[Notion, str]


@dataclass(frozen=True, slots=True)
class Listed:
    """A file with places, what is found in it, and the words that alone decided about some name meanwhile."""

    checkout: Path
    places: Sequence[Place]
    found: set[Found]
    decisive: Sequence[Word]

    def found_without(self, words: Sequence[Word]) -> set[Found]:
        """What is found where these words are not in the tables."""
        with ExitStack() as stack:
            for notion, word in words:
                stack.enter_context(notion.without(word))
            return found_in(self.checkout, {self.places[0].file})


@dataclass(slots=True)
class Earning:
    """What a word of a notion earns.

    With it so many more places are `found`, and so many more `false` alarms given. It alone decides about some name in so
    many `files`, of which it changes so many findings, listed or not.
    """

    notion: str
    word: str
    files: int = 0
    changed: int = 0
    found: int = 0
    false: int = 0

    @property
    def net(self) -> int:
        return self.found - self.false


def lint_listed(
    folder: Path, places: Mapping[str, Sequence[Place]], chosen: Sequence[Notion]
) -> Iterator[Listed]:
    """Each file that has places, linted alone."""
    for name, rows in places.items():
        for file in sorted({place.file for place in rows}):
            for notion in chosen:
                notion.forget()
            found = found_in(folder / name, {file})
            decisive = [
                (notion, word)
                for notion in chosen
                for word in sorted(
                    {words[0] for words in map(notion.all_in_name, notion.asked) if len(words) == 1}
                )
            ]
            yield Listed(folder / name, [place for place in rows if place.file == file], found, decisive)


def earnings(chosen: Sequence[Notion], files: Iterable[Listed]) -> list[Earning]:
    """What each word of some notions earns."""
    earned = {(notion, word): Earning(notion.name, word) for notion in chosen for word in notion.words}
    for file in files:
        for word in file.decisive:
            earned[word].files += 1
        for word, without in changing(file, file.decisive):
            one = earned[word]
            one.changed += len(file.found ^ without)
            for sign, found in ((1, file.found), (-1, without)):
                reported = Counter(place.verdict for place, told in score(file.places, found) if told)
                one.found += sign * reported["report"]
                one.false += sign * reported["silent"]
    return list(earned.values())


def changing(file: Listed, words: Sequence[Word]) -> Iterator[tuple[Word, set[Found]]]:
    """The words each of which alone changes what is found in a file, with what is found without it.

    Nearly all change nothing, so that many are left out at once, and halves of them only where that changed something.
    """
    if not words or (without := file.found_without(words)) == file.found:
        return
    if len(words) == 1:
        yield words[0], without
        return
    middle = len(words) // 2
    yield from changing(file, words[:middle])
    yield from changing(file, words[middle:])


def earnings_table(earnings: Sequence[Earning]) -> Iterator[str]:
    """A line for each word that changes findings, those that earn most first; then what changes none, by notion."""
    yield f"{'notion':28}{'word':24}{'files':>6}{'changed':>9}{'found':>7}{'false':>7}{'net':>5}"
    for one in sorted(earnings, key=lambda each: (-each.net, -each.changed, each.notion, each.word)):
        if one.changed:
            yield f"{one.notion:28}{one.word:24}{one.files:6}{one.changed:9}{one.found:7}{one.false:7}{one.net:5}"
    yield ""
    yield "These change nothing; in brackets, in how many files they alone decide about a name."
    for notion in dict.fromkeys(one.notion for one in earnings):
        idle = [f"{one.word} ({one.files})" for one in earnings if one.notion == notion and not one.changed]
        if idle:
            yield f"{notion}: {', '.join(idle)}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 2 where something can't be had, 1 where a score is too low or a snapshot differs."""
    options = _parser().parse_args(arguments)
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "fetch": _fetch,
        "score": _score,
        "snapshot": _snapshot,
        "ablation": _ablation,
    }
    try:
        return commands[options.command](options)
    except PlacesError as error:
        print(error, file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    fetching = commands.add_parser("fetch", help="check out the repositories that are not there")
    scoring = commands.add_parser(
        "score",
        help="print misses, false alarms and tables; 1 where recall is under 0.90 or alarms are 3%% or more",
    )
    snapping = commands.add_parser(
        "snapshot", help="keep each finding of this linter, or compare with a file"
    )
    ablating = commands.add_parser(
        "ablation", help="print what each word earns by which users' names are taken for evidence"
    )
    for command in (fetching, scoring, snapping, ablating):
        command.add_argument("checkouts", type=Path, metavar="CHECKOUTS")
        command.add_argument(
            "--kind", action="append", default=[], choices=KINDS, help="of this kind alone; may be repeated"
        )
    for command in (scoring, snapping):
        command.add_argument("--jobs", type=int, default=1, metavar="N", help="lint in so many processes")
    scoring.add_argument(
        "--findings", type=Path, metavar="FILE", help="another linter's: JSON, or `path:line:code` lines"
    )
    scoring.add_argument(
        "--code",
        action="append",
        default=[],
        type=_pair,
        metavar="THEIRS=OURS",
        help="count findings of this code of theirs for ours; may be repeated",
    )
    ablating.add_argument(
        "--notion",
        action="append",
        default=[],
        choices=[notion.name for notion in notions()],
        metavar="NAME",
        help="the words of this notion alone; may be repeated",
    )
    either = snapping.add_mutually_exclusive_group(required=True)
    either.add_argument("--write", type=Path, metavar="FILE", help="put the findings there, sorted")
    either.add_argument("--against", type=Path, metavar="FILE", help="print what differs, and end with 1")
    return parser


def _pair(text: str) -> tuple[str, str]:
    theirs, equals, ours = text.partition("=")
    if not equals or ours not in catalogue():
        raise argparse.ArgumentTypeError(f"{text!r} is not like W123=TFP404")
    return theirs, ours


def _fetch(options: argparse.Namespace) -> int:
    places = read_places(options.kind)
    fetch(options.checkouts, places)
    there = present(options.checkouts, places)
    print(f"{len(there)} of {len(places)} repositories are in {options.checkouts}")
    return 0


def _score(options: argparse.Namespace) -> int:
    places = present(options.checkouts, read_places(options.kind))

    def ours(name: str, files: set[str]) -> set[Found]:
        return found_in(options.checkouts / name, files, options.jobs)

    found = ours
    if options.findings is not None:
        theirs = read_findings(options.findings, options.checkouts, dict(options.code))
        found = partial(_listed, theirs)
    counts, wrong = count(places, found)
    print(*wrong, "", *table(counts), sep="\n")
    return 0 if _share(counts, "report") >= 0.9 and _share(counts, "silent") < 0.03 else 1


def _listed(found: Mapping[str, set[Found]], name: str, files: set[str]) -> set[Found]:
    return {finding for finding in found.get(name, ()) if finding[0] in files}


def _snapshot(options: argparse.Namespace) -> int:
    names = set(present(options.checkouts, read_places(options.kind)))
    before: list[str] = []
    if options.against is not None:
        try:
            kept = options.against.read_text(encoding="utf-8").split("\n")
        except OSError as error:
            raise PlacesError(f"{options.against} can't be read: {error.strerror}") from None
        # What can't be linted here can't differ.
        before = [line for line in kept if line.partition("/")[0] in names]
    after = snapshot(options.checkouts, names, options.jobs)
    if options.write is not None:
        options.write.write_text("".join(f"{line}\n" for line in after), encoding="utf-8")
        print(f"{len(after)} lines of {len(names)} repositories are in {options.write}")
        return 0
    differs = difference(before, after)
    print(*differs, sep="\n", end="\n" if differs else "")
    return 1 if differs else 0


def _ablation(options: argparse.Namespace) -> int:
    chosen = [notion for notion in notions() if not options.notion or notion.name in options.notion]
    places = present(options.checkouts, read_places(options.kind))
    print(*earnings_table(earnings(chosen, lint_listed(options.checkouts, places, chosen))), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
