"""Notebooks of others, linted and fixed on copies: do they open again, and did nothing but the intended lines change?

    python benchmarks/notebooks.py DIR

takes every notebook below DIR. `--list notebooks.toml --checkouts CHECKOUTS` first fills DIR with those of the list,
out of the repositories that git cloned into CHECKOUTS, one folder OWNER+NAME each; `--fetch` clones what is not
there. The notebooks stay outside the project, and none of their code is run.

Of each notebook this is held:

opens      nbformat's validator says the same of it before and after all fixes
lines      before and after differ, as JSON, in sources of code cells only, which stay a string or a list of lines
bytes      whoever wrote the file would have written the fixed one to the letter; where no usual way to write JSON
           gives the file as it is ("by hand"), the bytes outside of the changed sources are the same
diff       what `--diff` prints, made by hand, gives what `--fix` writes, cell by cell
settled    a second run changes nothing
quiet      nothing could not be done: no crash, no failure, no fault of our own

With safe fixes alone, and with all of them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from notebook_files import (
    NotebooksError,
    changed_elsewhere,
    code_cells,
    diffs_by_cell,
    name_of,
    other_bytes,
    patched,
    verdict,
)

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIST = Path(__file__).with_name("notebooks.toml")
COMMAND = (sys.executable, "-m", "tflint_perf", "check", "--isolated", "--no-cache", "--select", "ALL")
OPTIONS = ("--no-respect-gitignore", "--include-tests", "--exit-zero")
SAFE, UNSAFE = (), ("--unsafe-fixes",)


@dataclass(frozen=True, slots=True)
class Ran:
    """What one run on a folder said: standard output, the lines of standard error, and the seconds."""

    out: str
    said: tuple[str, ...]
    seconds: float


def lint(folder: Path, *options: str) -> Ran:
    """Run the linter on a folder, as somebody in it would.

    Raises:
        NotebooksError: it ended in a way that it should not.
    """
    started = time.perf_counter()
    done = subprocess.run(
        [*COMMAND, *OPTIONS, *options], cwd=folder, capture_output=True, encoding="utf-8", check=False
    )
    if done.returncode not in (0, 2) or "Traceback" in done.stderr:
        raise NotebooksError(f"the linter failed: {done.stderr.strip()[-500:]}")
    return Ran(done.stdout, tuple(done.stderr.splitlines()), time.perf_counter() - started)


# Reading notebooks, without the linter's own means.


@dataclass(slots=True)
class Row:
    """What came of one notebook."""

    path: str
    version: str
    cells: int
    writing: str
    findings: Counter[str] = field(default_factory=Counter)
    changed: dict[str, int] = field(default_factory=dict)
    complaints: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        found = sum(self.findings.values())
        counts = (
            f"{self.version:>4} {self.cells:>5} {found:>8} {self.changed['safe']:>5} {self.changed['all']:>5}"
        )
        return f"{self.path[-58:]:<58} {counts}   {'; '.join(self.complaints) or 'holds':<8} {self.writing}"


HEADING = f"{'notebook':<58} {'4.x':>4} {'cells':>5} {'findings':>8} {'safe':>5} {'all':>5}   {'verdict':<8} written with"


def hold(folder: Path) -> tuple[list[Row], list[str]]:
    """Lint and fix copies of all notebooks below a folder; one row each, and what the runs said on standard error."""
    paths = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.ipynb"))
    before = {path: (folder / path).read_bytes() for path in paths}
    rows = {path: _row(path, data) for path, data in before.items()}
    said: list[str] = []
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "copy"
        for kind, options in (("safe", SAFE), ("all", UNSAFE)):
            shutil.rmtree(copy, ignore_errors=True)
            _copy(before, copy)
            found = lint(copy, "--output-format", "json")
            diff = lint(copy, "--diff", *options)
            _complain(rows, _unchanged(before, copy), f"was changed without --fix ({kind})")
            fixing = lint(copy, "--fix", *options, "--quiet")
            after = {path: (copy / path).read_bytes() for path in paths}
            again = lint(copy, "--fix", *options, "--quiet")
            _complain(rows, _unchanged(after, copy), f"changes again ({kind})")
            said += [line for ran in (found, diff, fixing, again) for line in ran.said if _is_grave(line)]
            for entry in json.loads(found.out) if kind == "safe" else ():
                rows[entry["filename"]].findings[entry["code"]] += 1
            hunks = diffs_by_cell(diff.out)
            for path, row in rows.items():
                _judge(row, kind, before[path], after[path], hunks.get(path, {}))
            print(
                f"{kind} fixes: linted in {found.seconds:.1f} s, fixed in {fixing.seconds:.1f} s", flush=True
            )
    return list(rows.values()), list(dict.fromkeys(said))


def _row(path: str, data: bytes) -> Row:
    try:
        document = json.loads(data.decode("utf-8-sig"))
        version = f"{document['nbformat']}.{document.get('nbformat_minor', '?')}"
        return Row(path, version, len(code_cells(document)), name_of(data))
    except (ValueError, KeyError, TypeError):
        return Row(path, "?", 0, "not a notebook")


def _copy(data: Mapping[str, bytes], into: Path) -> None:
    for path, content in data.items():
        (into / path).parent.mkdir(parents=True, exist_ok=True)
        (into / path).write_bytes(content)


def _unchanged(data: Mapping[str, bytes], folder: Path) -> Iterator[tuple[str, bool]]:
    for path, content in data.items():
        yield path, (folder / path).read_bytes() == content


def _complain(rows: Mapping[str, Row], held: Iterator[tuple[str, bool]], complaint: str) -> None:
    for path, holds in held:
        if not holds:
            rows[path].complaints.append(complaint)


def _is_grave(line: str) -> bool:
    """Whether a line of standard error says that something could not be done."""
    return line.startswith("tflint-perf: ") and "invalid-syntax" not in line


def _judge(row: Row, kind: str, before: bytes, after: bytes, diff: Mapping[int, str]) -> None:
    row.changed[kind] = len(diff)
    if before == after:
        row.complaints += [f"--diff shows what --fix does not write ({kind})"] if diff else []
        return
    old, new = (json.loads(data.decode("utf-8-sig")) for data in (before, after))
    complaints = [changed_elsewhere(old, new), other_bytes(before, after)]
    if verdict(before) != verdict(after):
        complaints.append(f"{verdict(before)} before, {verdict(after)} after")
    try:
        if patched(code_cells(old), diff) != code_cells(new):
            complaints.append("--diff shows something else than --fix writes")
    except NotebooksError as error:
        complaints.append(str(error))
    row.complaints += [f"{complaint} ({kind})" for complaint in complaints if complaint]


def gather(rows: Sequence[Mapping[str, str]], checkouts: Path, into: Path, fetch: bool) -> None:
    """Put the notebooks of a list into a folder, from the repositories at the commits that the list names.

    Raises:
        NotebooksError: one can't be had.
    """
    for row in rows:
        repository, commit, path = row["repository"], row["commit"], row["path"]
        root = checkouts / repository.replace("/", "+")
        if fetch and not root.exists():
            _git("clone", "--quiet", "--no-checkout", f"https://github.com/{repository}", str(root))
        if not root.is_dir():
            raise NotebooksError(f"{root} is missing: clone {repository} into it, or use --fetch")
        target = into / root.name / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(_git("-C", str(root), "cat-file", "blob", f"{commit}:{path}"))


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], capture_output=True, check=False)
    if done.returncode:
        raise NotebooksError((done.stderr.decode().strip() or f"git {arguments[0]} failed").splitlines()[-1])
    return done.stdout


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder of the notebooks")
    parser.add_argument("--list", type=Path, metavar="FILE", nargs="?", const=LIST, help="what to put there")
    parser.add_argument("--checkouts", type=Path, metavar="CHECKOUTS", help="OWNER+NAME folders in it")
    parser.add_argument("--fetch", action="store_true", help="clone the repositories that are not there")
    options = parser.parse_args(arguments)
    try:
        if options.list is not None:
            rows = tomllib.loads(options.list.read_text(encoding="utf-8"))["notebook"]
            gather(rows, options.checkouts or options.folder / ".checkouts", options.folder, options.fetch)
        held, said = hold(options.folder)
    except NotebooksError as error:
        print(error, file=sys.stderr)
        return 2
    print(HEADING, "-" * len(HEADING), *held, sep="\n")
    codes = sum((row.findings for row in held), Counter())
    print(f"\n{' '.join(f'{code} {count}' for code, count in sorted(codes.items()))}")
    print(*said, sep="\n")
    bad = sum(bool(row.complaints) for row in held)
    print(f"{len(held) - bad} of {len(held)} notebooks hold, {len(said)} lines on standard error")
    return 1 if bad or said else 0


if __name__ == "__main__":
    sys.exit(main())
