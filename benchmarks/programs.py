"""Programs of others, before and after all fixes: do they still run, do they learn the same, how much faster?

The programs are listed in `programs.toml` and stay outside the project: `--checkouts DIR` is a folder that
holds each repository, as git cloned it, at the commit named in the list (`--fetch` clones what is not there).
Of each program two copies are made and edited alike to run on synthetic data for a short time (see
`run_program.py`). One of them is fixed, with all rules and unsafe fixes. Both are run in fresh processes,
and the losses that they print are compared:

agree   step by step, within the tolerance
follow  as many losses, all finite; falling alike, and alike at the end (only where the list expects no more)
differ  anything else

What the fixes bring forth, a rule that finds something in the fixed copy and nothing in the other, counts against them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIST = Path(__file__).with_name("programs.toml")
RUNNER = Path(__file__).with_name("run_program.py")
# How far apart the means of the last third may be where losses only follow each other.
FOLLOWS_WITHIN = 0.2
FIXED = re.compile(r"(\d+) × (TFP\d+)")


class ProgramError(Exception):
    """A program is not as the list says, or a copy of it failed."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A text that stands once in a file, and what is put in its place in both copies."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Program:
    """One row of the list; `programs.toml` says what each key means."""

    name: str
    repository: str
    commit: str
    script: str
    losses: re.Pattern[str]
    folder: str = ""
    files: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    samples: int = 2048
    edits: tuple[Edit, ...] = ()
    expect: str = "agree"
    tolerance: float = 1e-3


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run printed as losses, by step, and the seconds that it took, TensorFlow's import left out."""

    losses: dict[int, float]
    seconds: float


def read_list(path: Path) -> list[Program]:
    """The programs of a list.

    Raises:
        ProgramError: a row has an unknown key, or lacks one.
    """
    programs = []
    for row in tomllib.loads(path.read_text(encoding="utf-8"))["program"]:
        row["losses"] = re.compile(row["losses"])
        row["edits"] = tuple(Edit(**edit) for edit in row.get("edits", ()))
        row["files"] = tuple(row.get("files", ())) or (row["script"],)
        row["arguments"] = tuple(row.get("arguments", ()))
        try:
            programs.append(Program(**row))
        except TypeError as error:
            raise ProgramError(f"{row.get('name', path)}: {error}") from None
    return programs


def checkout(program: Program, checkouts: Path, fetch: bool) -> Path:
    """The program's folder in its checkout.

    Raises:
        ProgramError: there is no checkout, or it is at another commit.
    """
    root = checkouts / program.repository.replace("/", "+")
    if fetch and not root.is_dir():
        _git("clone", "--quiet", f"https://github.com/{program.repository}", str(root))
        _git("-C", str(root), "checkout", "--quiet", program.commit)
    if not root.is_dir():
        raise ProgramError(f"{root} is missing: clone {program.repository} into it, or use --fetch")
    head = _git("-C", str(root), "rev-parse", "HEAD").strip()
    if head != program.commit:
        raise ProgramError(f"{root} is at {head[:12]}, the list says {program.commit[:12]}")
    return root / program.folder


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProgramError((done.stderr.strip() or f"git {arguments[0]} failed").splitlines()[-1])
    return done.stdout


def copy(program: Program, source: Path, into: Path) -> Path:
    """Copy the program's files and edit them.

    Raises:
        ProgramError: an edit's text does not stand in its file once.
    """
    for name in program.files:
        target = into / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target)
    for edit in program.edits:
        path = into / edit.file
        code = path.read_text(encoding="utf-8")
        if code.count(edit.old) != 1:
            raise ProgramError(
                f"{edit.file}: {edit.old!r} stands there {code.count(edit.old)} times, not once"
            )
        path.write_text(code.replace(edit.old, edit.new), encoding="utf-8")
    return into


def fix(folder: Path, ignore: str = "") -> Counter[str]:
    """Apply all fixes to a folder; return how many of each code."""
    command = [sys.executable, "-m", "tflint_perf", "check", "--fix", "--unsafe-fixes", "--select", "ALL"]
    options = ["--isolated", "--no-respect-gitignore", "--include-tests", "--show-fixes", "--exit-zero"]
    done = subprocess.run(
        [*command, *options, *(["--ignore", ignore] if ignore else []), str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )
    if done.returncode:
        raise ProgramError(f"the linter failed: {done.stderr.strip()}")
    return count_fixes(done.stdout + done.stderr)


def found(folder: Path) -> set[str]:
    """The codes of all that the linter finds in a folder."""
    command = [sys.executable, "-m", "tflint_perf", "check", "--select", "ALL", "--output-format", "json"]
    options = ["--isolated", "--no-cache", "--no-respect-gitignore", "--include-tests", "--exit-zero"]
    done = subprocess.run([*command, *options, str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProgramError(f"the linter failed: {done.stderr.strip()}")
    return {finding["code"] for finding in json.loads(done.stdout)}


def count_fixes(said: str) -> Counter[str]:
    """How many of each code, in what `--show-fixes` lists by file."""
    counts: Counter[str] = Counter()
    for number, code in FIXED.findall(said):
        counts[code] += int(number)
    return counts


def run(program: Program, folder: Path, limit: float) -> Outcome:
    """Run a copy once, in a fresh process.

    Raises:
        ProgramError: it failed or took too long, or printed no losses.
    """
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.json"
        command = [sys.executable, str(RUNNER), f"--report={report}", f"--samples={program.samples}"]
        try:
            done = subprocess.run(
                [*command, program.script, *program.arguments],
                cwd=folder,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=limit,
                check=False,
                env={
                    **os.environ,
                    "MPLBACKEND": "agg",
                    "PYTHONHASHSEED": "0",
                    "PYTHONIOENCODING": "utf-8",
                    "TF_CPP_MIN_LOG_LEVEL": "3",
                },
            )
        except subprocess.TimeoutExpired:
            raise ProgramError(f"it took longer than {limit:.0f} s") from None
        if done.returncode:
            raise ProgramError("\n".join(["it failed:", *done.stderr.strip().splitlines()[-20:]]))
        seconds = float(json.loads(report.read_text(encoding="utf-8"))["seconds"])
    # Some print with TensorFlow, which writes to standard error.
    losses = read_losses(program.losses, done.stdout) or read_losses(program.losses, done.stderr)
    if not losses:
        raise ProgramError(f"it printed nothing like {program.losses.pattern!r}")
    return Outcome(losses, seconds)


def read_losses(pattern: re.Pattern[str], text: str) -> dict[int, float]:
    """The losses in a text: by the group `step` where the pattern has one, else counted from 0."""
    by_step = "step" in pattern.groupindex
    return {
        int(found["step"]) if by_step else number: float(found["loss"])
        for number, found in enumerate(pattern.finditer(text))
    }


def judge(program: Program, original: dict[int, float], fixed: dict[int, float]) -> tuple[str, str]:
    """`agree`, `follow` or `differ`, and what decided it.

    A fix may make a program print its loss on fewer steps, if the pattern tells the steps.
    """
    if not fixed.keys() <= original.keys() or (
        "step" not in program.losses.groupindex and original.keys() != fixed.keys()
    ):
        return "differ", f"{len(original)} losses, {len(fixed)} when fixed"
    pairs = [(original[step], fixed[step]) for step in sorted(fixed)]
    if not all(math.isfinite(value) for pair in pairs for value in pair):
        return "differ", "a loss is not finite"
    apart = max(abs(one - other) / max(abs(one), 1e-3) for one, other in pairs)
    if apart <= program.tolerance:
        return "agree", f"{len(pairs)} losses, at most {apart:.0e} apart"
    third = max(1, len(pairs) // 3)
    first = [statistics.fmean(values) for values in zip(*pairs[:third], strict=True)]
    last = [statistics.fmean(values) for values in zip(*pairs[-third:], strict=True)]
    ends = abs(last[0] - last[1]) / max(abs(last[0]), 1e-3)
    says = f"{len(pairs)} losses, up to {apart:.0e} apart, {ends:.0%} at the end"
    falls = all(after < before for before, after in zip(first, last, strict=True))
    follows = program.expect == "follow" and falls and ends <= FOLLOWS_WITHIN
    return ("follow" if follows else "differ"), says


@dataclass(slots=True)
class Row:
    """One line of the table, as far as it came; `failure` says why it went no further."""

    program: Program
    fixes: Counter[str]
    verdict: str = "-"
    remark: str = ""
    original: float = math.nan
    fixed: float = math.nan
    failure: str = ""
    brought_forth: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        return self.verdict in ("agree", "follow") and bool(self.fixes) and not self.brought_forth

    def __str__(self) -> str:
        fixes = " ".join(f"{number}×{code}" for code, number in sorted(self.fixes.items())) or "none"
        times = f"{self.original:>9.2f} s {self.fixed:>9.2f} s {self.original / self.fixed:>7.2f}×"
        return f"{self.program.name:<34} {fixes:<34} {self.verdict:<7} {times}  {self.remark}".rstrip()


HEADING = f"{'program':<34} {'fixes':<34} {'losses':<7} {'original':>11} {'fixed':>11} {'speed-up':>8}"


def compare(program: Program, source: Path, options: argparse.Namespace, scratch: Path) -> Row:
    """Copy, fix and run one program, and compare what its copies printed."""
    row = Row(program, Counter())
    try:
        original = copy(program, source, scratch / "original")
        fixed = copy(program, source, scratch / "fixed")
        row.fixes = fix(fixed, options.ignore)
        row.brought_forth = tuple(sorted(found(fixed) - found(original)))
        before = [run(program, original, options.limit)]
        row.original = before[0].seconds
        try:
            after = [run(program, fixed, options.limit)]
        except ProgramError as error:
            raise ProgramError(f"when fixed, {error}") from None
        for _ in range(options.repeat - 1):
            before.append(run(program, original, options.limit))
            after.append(run(program, fixed, options.limit))
    except ProgramError as error:
        row.verdict, row.failure = "FAILED", str(error)
        return row
    row.original = statistics.median(each.seconds for each in before)
    row.fixed = statistics.median(each.seconds for each in after)
    row.verdict, row.remark = judge(program, before[0].losses, after[0].losses)
    if row.brought_forth:
        row.remark += f"; brought forth {', '.join(row.brought_forth)}"
    return row


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    programs = [each for each in read_list(options.list) if re.search(options.only, each.name)]
    print(HEADING, "-" * len(HEADING), sep="\n", flush=True)
    rows: list[Row] = []
    for program in programs:
        with tempfile.TemporaryDirectory() as temporary:
            scratch = Path(options.keep or temporary) / re.sub(r"\W+", "-", program.name)
            try:
                row = compare(program, checkout(program, options.checkouts, options.fetch), options, scratch)
            except ProgramError as error:
                row = Row(program, Counter(), verdict="FAILED", failure=str(error))
        rows.append(row)
        print(row, flush=True)
    for row in rows:
        if row.failure:
            print(f"\n{row.program.name}: {row.failure}")
    held = sum(row.holds for row in rows)
    print(f"\n{held} of {len(rows)} programs were fixed, run, and learn as before")
    return 0 if held == len(rows) else 1


def parse(arguments: list[str] | None) -> Any:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--checkouts", type=Path, required=True, metavar="DIR", help="OWNER+NAME folders in it"
    )
    parser.add_argument("--fetch", action="store_true", help="clone the repositories that are not there")
    parser.add_argument("--list", type=Path, default=LIST, metavar="FILE")
    parser.add_argument("--only", default="", metavar="PATTERN", help="programs whose name matches")
    parser.add_argument("--ignore", default="", metavar="RULES", help="rules whose fixes are not applied")
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="runs of each; times are the median"
    )
    parser.add_argument("--limit", type=float, default=300, metavar="SECONDS", help="for one run")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the copies in this folder")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
