"""Time the linter and its peers on six real packages, and print one table.

The exit code is 1 when a limit of the project's is missed. Nothing is written but the corpus (in a cache
outside the project) and the peers' environment.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import corpus
import peers
from table import Table, megabytes, ratio, seconds
from timing import Run, Worker, median, run, up_to_three

PROGRAM = Path(sys.executable).with_name("tflint-perf")
KEEPING = (PROGRAM, "check", "--isolated", "--select=ALL", "--config=include-tests=true", "--quiet")
CHECK = (*KEEPING, "--no-cache")
CHUNK = 50
STARTS = 11
SAMPLE = 300

MOST_PER_PARSE = 1.3
MOST_VERSION = 0.08
MOST_CLEAN_FILE = 0.15
MOST_FILE_WITH_FINDINGS = 0.35
MOST_COLD_PER_PARSE = 0.5
MOST_WARM = 0.25
MOST_WARM_CORPUS = 1.0
MOST_MEMORY = 200e6


@dataclass(slots=True)
class Totals:
    """What both workers measured, added up."""

    read: float = 0.0
    screen: float = 0.0
    parse: float = 0.0
    check: float = 0.0
    unparsable: int = 0
    lines: dict[Path, int] = field(default_factory=dict)
    passing: set[Path] = field(default_factory=set)
    findings: dict[Path, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    parse_peak: int = 0
    check_peak: int = 0


def measure(files: Sequence[Path]) -> Totals:
    """Parse and check the files in turns, a chunk at a time, each worker first every other time."""
    totals = Totals()
    parser, checker = Worker("parse"), Worker("check")
    for path in files:
        path.read_bytes()  # into the page cache, so that reading costs both the same
    for start in range(0, len(files), CHUNK):
        chunk = files[start : start + CHUNK]
        first, second = (parser, checker) if start // CHUNK % 2 else (checker, parser)
        answers = first.ask(chunk) | second.ask(chunk)
        totals.read += answers["read"]
        totals.screen += answers["screen"]
        totals.parse += answers["parse"]
        totals.check += answers["check"]
        totals.unparsable += answers["unparsable"]
        totals.lines.update(zip(chunk, answers["lines"], strict=True))
        totals.passing.update(Path(path) for path in answers["passing"])
        totals.findings.update({Path(path): count for path, count in answers["findings"].items()})
        totals.failures += answers["failures"]
    totals.parse_peak, totals.check_peak = parser.end(), checker.end()
    return totals


def show_files(table: Table, totals: Totals) -> None:
    passing = sum(totals.lines[path] for path in totals.passing)
    table.title("The files")
    table.row("files", f"{len(totals.lines):,}", f"{sum(totals.lines.values()):,} lines")
    table.row("files that pass the screen", f"{len(totals.passing):,}", f"{passing:,} lines")
    table.row("files that libcst cannot parse", f"{totals.unparsable:,}")
    table.row("findings", f"{sum(totals.findings.values()):,}", f"in {len(totals.findings):,} files")
    for failure in totals.failures:
        table.row("could not be linted", "", failure)


def show_one_process(table: Table, totals: Totals) -> None:
    least = totals.read + totals.parse
    table.title("One process, all rules on (processor time)")
    table.row("reading every file", seconds(totals.read))
    table.row("screening every file", seconds(totals.screen))
    table.row("libcst.parse_module on what passes", seconds(totals.parse))
    table.row("reading and parsing", seconds(least), "the least that a linter on libcst can take")
    table.row("linting", seconds(totals.check))
    table.limit("linting / (reading and parsing)", totals.check / least, MOST_PER_PARSE, ratio)
    table.row("peak memory: parsing alone", megabytes(totals.parse_peak))
    table.limit("peak memory: linting", totals.check_peak, MOST_MEMORY, megabytes)


def show_commands(table: Table, folder: Path) -> None:
    table.title("The command, start-up and all")
    for name, jobs in (("one process", ("--jobs=1",)), (f"as it comes, {os.cpu_count()} cores", ())):
        done = succeeded(up_to_three([*CHECK, *jobs, folder]))
        table.row(f"tflint-perf check, {name}", seconds(done.seconds), of_the_processors(done))
        table.row("  peak memory of its largest process", megabytes(done.peak))


def show_start_up(table: Table, totals: Totals) -> None:
    """Single files, as a commit hook runs them: those of median length of their kind."""
    table.title(f"Start-up (median of {STARTS})")
    clean = [path for path in totals.lines if path not in totals.findings]
    kinds = {
        "a clean file that is not parsed": [path for path in clean if path not in totals.passing],
        "a clean file that is parsed": [path for path in clean if path in totals.passing],
        "a file with findings": list(totals.findings),
    }
    bare = median([sys.executable, "-c", "pass"], STARTS)
    table.row("python -c pass", seconds(bare.seconds))
    done = succeeded(median([PROGRAM, "--version"], STARTS))
    table.limit("tflint-perf --version", done.seconds, MOST_VERSION, seconds, of_the_processors(done))
    for kind, paths in kinds.items():
        if not paths:
            table.row(kind, "none")
            continue
        path = sorted(paths, key=lambda path: (totals.lines[path], path))[len(paths) // 2]
        done = succeeded(median([*CHECK, path], STARTS))
        what = f"{kind} ({totals.lines[path]} lines)"
        most = MOST_CLEAN_FILE if kind.startswith("a clean") else MOST_FILE_WITH_FINDINGS
        table.limit(what, done.seconds, most, seconds, of_the_processors(done))
        with tempfile.TemporaryDirectory() as kept:
            done = succeeded(median(changed(path, Path(kept)), STARTS))
        table.limit("  changed, with what was kept of others", done.seconds, most, seconds)


def changed(path: Path, kept: Path) -> list[str | Path]:
    """Lint what is known of no earlier run, beside files that one has looked at: as a hook does a file that was changed."""
    with_text = ("sh", "-c", 'exec "$@" < "$0"', path)
    return [*with_text, *KEEPING, f"--cache-dir={kept}", f"--stdin-filename={path}", "-"]


def tensorflow_files(files: Sequence[Path]) -> list[Path]:
    """Those that name TensorFlow."""
    return [path for path in files if b"tensorflow" in path.read_bytes()]


def show_cache(table: Table, files: Sequence[Path], root: Path, *, whole: bool) -> None:
    """A first run and a second one, on a sample of TensorFlow files in a folder of their own, and on the `whole` corpus."""
    chosen = random.Random(0).sample(tensorflow_files(files), SAMPLE)
    with tempfile.TemporaryDirectory() as scratch:
        folder = peers.copy_sample(chosen, root, Path(scratch) / "sample")["tensorflow"]
        parser = Worker("bare")
        bare = parser.ask(sorted(folder.rglob("*.py")))["parse"]
        parser.end()
        table.title(f"{SAMPLE} TensorFlow files, drawn by seed 0, all cores")
        table.row("bare libcst.parse_module of all, one core", seconds(bare))
        # A first run is one only where nothing is kept yet: each of three has a folder of its own.
        runs = [cold_and_warm(folder, Path(scratch) / f"cache{n}") for n in range(3)]
        cold, warm = (sorted(which, key=lambda each: each.seconds)[1] for which in zip(*runs, strict=True))
        table.limit(
            "cold / bare parse", cold.seconds / bare, MOST_COLD_PER_PARSE, ratio, seconds(cold.seconds)
        )
        table.limit("warm", warm.seconds, MOST_WARM, seconds, of_the_processors(warm))
        if not whole:
            return
        cold, warm = cold_and_warm(root, Path(scratch) / "whole")
        table.row("all files, cold", seconds(cold.seconds), of_the_processors(cold))
        table.limit("all files, warm", warm.seconds, MOST_WARM_CORPUS, seconds, of_the_processors(warm))


def cold_and_warm(folder: Path, cache: Path) -> tuple[Run, Run]:
    """A run that keeps what it finds, and the median of those that use it."""
    command: list[str | Path] = [*KEEPING, f"--cache-dir={cache}", folder]
    return succeeded(run(command)), succeeded(up_to_three(command))


def show_peers(table: Table, files: list[Path], root: Path, venv: Path, how_many: int | None) -> None:
    """Time the peers and ourselves on the same TensorFlow files."""
    problem = peers.install(venv)
    chosen = tensorflow_files(files)
    if how_many is not None and how_many < len(chosen):
        what = f"{how_many} of the {len(chosen):,} TensorFlow files, drawn by seed 0"
        chosen = random.Random(0).sample(chosen, how_many)
    else:
        what = f"all {len(chosen):,} TensorFlow files"
    with tempfile.TemporaryDirectory() as scratch:
        folders = peers.copy_sample(chosen, root, Path(scratch))
        lines = sum(path.read_bytes().count(b"\n") for path in chosen)
        table.title(f"Peers on {what}, {lines:,} lines, each with all the cores that it takes")
        ours = succeeded(up_to_three([*CHECK, folders["tensorflow"]]))
        alone = succeeded(up_to_three([*CHECK, "--jobs=1", folders["tensorflow"]]))
        show_peer(table, "tflint-perf", ours, ours)
        show_peer(table, "tflint-perf, one process", alone, ours)
        for peer in peers.PEERS:
            note = "" if peer.dialect == "tensorflow" else f", with {peer.dialect} for tensorflow"
            done = peers.measure(peer, venv, folders[peer.dialect], problem)
            if isinstance(done, peers.NotMeasured):
                table.row(f"{peer.name}{note}", "not measured", done.reason)
            else:
                show_peer(table, f"{peer.name}{note}", done, ours)


def show_peer(table: Table, name: str, done: Run, ours: Run) -> None:
    remark = f"{ratio(done.seconds / ours.seconds):>9}   {of_the_processors(done)}"
    table.row(name, seconds(done.seconds), remark)


def of_the_processors(done: Run) -> str:
    return f"{seconds(done.processor)} of the processors"


def succeeded(done: Run) -> Run:
    """The run, if it linted: a command that fails early is quick, and proves nothing."""
    if done.status not in (0, 1) or "no Python files" in done.last_words:
        raise SystemExit(f"tflint-perf failed with exit code {done.status}: {done.last_words}")
    return done


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--into", type=Path, default=corpus.default_folder(), help="folder of the corpus")
    parser.add_argument("--peers-venv", type=Path, default=Path(".venv-bench"), help="the peers' environment")
    parser.add_argument("--without-peers", action="store_true")
    parser.add_argument("--all-files", action="store_true", help=f"peers on all files, not on {SAMPLE}")
    parser.add_argument(
        "--files",
        type=int,
        metavar="N",
        help=f"N files of the corpus, drawn by seed 0 ({2 * SAMPLE} or more)",
    )
    return parser.parse_args()


def main() -> int:
    options = arguments()
    root = options.into.resolve()
    try:
        files = corpus.python_files(corpus.ensure(root))
    except corpus.CorpusError as error:
        print(error, file=sys.stderr)
        return 2
    if options.files is not None:
        files = sorted(random.Random(0).sample(files, options.files))
    print(
        f"tflint-perf {version('tflint-perf')}, libcst {version('libcst')}, Python {platform.python_version()}"
    )
    print(f"{platform.platform()}, {os.cpu_count()} cores; load {os.getloadavg()[0]:.1f} at the start")
    print(", ".join(f"{name} {number}" for name, number in corpus.PACKAGES.items()))
    table = Table()
    totals = measure(files)
    show_files(table, totals)
    show_one_process(table, totals)
    if options.files is None:
        show_commands(table, root)
    show_start_up(table, totals)
    show_cache(table, files, root, whole=options.files is None)
    if not options.without_peers:
        show_peers(table, files, root, options.peers_venv, None if options.all_files else SAMPLE)
    print(f"\n{len(table.missed)} limits missed" + "".join(f"\n  {what}" for what in table.missed))
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
