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
import re
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import nbformat

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LIST = Path(__file__).with_name("notebooks.toml")
COMMAND = (sys.executable, "-m", "tflint_perf", "check", "--isolated", "--no-cache", "--select", "ALL")
OPTIONS = ("--no-respect-gitignore", "--include-tests", "--exit-zero")
SAFE, UNSAFE = (), ("--unsafe-fixes",)
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_STYLES = [
    {"indent": indent, "ensure_ascii": ascii_only, "separators": separators}
    for indent, ascii_only, separators in product(
        (1, 2, 4, None, 3, 0, "\t"), (False, True), ((",", ": "), (", ", ": "), (",", ":"))
    )
]


class NotebooksError(Exception):
    """A notebook of the list can't be had, or the linter itself failed."""


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


def verdict(data: bytes) -> str:
    """What nbformat's validator says of a notebook: `valid`, or its first line."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = data.decode("utf-8-sig")
            nbformat.validate(nbformat.reads(text, nbformat.NO_CONVERT))  # type: ignore[no-untyped-call]
    except (nbformat.ValidationError, ValueError, AttributeError) as error:
        return " ".join((str(error).splitlines() or [type(error).__name__])[0].split())[:100]
    return "valid"


def style_of(data: bytes) -> Callable[[Any], bytes] | None:
    """How a notebook was written, as a function that writes one like it; None where no usual way gives its bytes."""
    text = data.decode("utf-8-sig")
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    line_end = "\r\n" if "\r\n" in text else "\n"
    tail = text[len(text.rstrip()) :]
    document = json.loads(text)
    for style in _STYLES:

        def written(document: Any, style: Mapping[str, Any] = style) -> bytes:
            plain = json.dumps(document, **style).replace("\n", line_end)
            return mark + (plain + tail).encode("utf-8", "surrogatepass")

        if written(document) == data:
            return written
    return None


def name_of(data: bytes) -> str:
    """A notebook's way of writing, in a few words."""
    text = data.decode("utf-8-sig")
    indent = re.match(r"\{\r?\n([ \t]*)", text)
    words = [f"indent {len(indent[1])}" if indent else "one line"]
    words += ["CRLF"] if "\r\n" in text else []
    words += [] if text.endswith("\n") else ["no last line end"]
    words += [] if text.isascii() else ["non-ASCII"]
    words += [] if style_of(data) else ["by hand"]
    return ", ".join(words)


def source_of(cell: Mapping[str, Any]) -> str:
    """The source of a cell as one text."""
    source = cell.get("source", "")
    return source if isinstance(source, str) else "".join(source)


def code_cells(document: Mapping[str, Any]) -> dict[int, str]:
    """The sources of the code cells, by the cells' numbers from 1."""
    return {
        number: source_of(cell)
        for number, cell in enumerate(document.get("cells", ()), 1)
        if cell.get("cell_type") == "code"
    }


# What is held against each notebook: each gives a complaint, or nothing.


def changed_elsewhere(before: Any, after: Any) -> str | None:
    """Whether anything but sources of code cells differs, or a source changed its kind."""
    if len(before["cells"]) != len(after["cells"]):
        return "the number of cells differs"
    for number, (old, new) in enumerate(zip(before["cells"], after["cells"], strict=True), 1):
        if old == new:
            continue
        if old.get("cell_type") != "code" or {**old, "source": 0} != {**new, "source": 0}:
            return f"cell {number} differs beside its source"
        if type(old["source"]) is not type(new["source"]):
            return f"the source of cell {number} is of another kind"
        if isinstance(new["source"], list) and not are_lines(old["source"], new["source"]):
            return f"the source of cell {number} is not a list of lines"
    rest = [{**document, "cells": 0} for document in (before, after)]
    return None if rest[0] == rest[1] else "the metadata differ"


def are_lines(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether a source is a list of lines, as far as it was one before."""
    kept = set(old)
    return all(line in kept or re.fullmatch(r"[^\n]*\n?", line) for line in new) and all(
        line.endswith("\n") or line in kept for line in new[:-1]
    )


def other_bytes(before: bytes, after: bytes) -> str | None:
    """Whether bytes changed that need not, for what was intended."""
    written = style_of(before)
    if written is not None:
        same = written(json.loads(after.decode("utf-8-sig"))) == after
        return None if same else "is written in another way"
    pieces = [around_sources(data) for data in (before, after)]
    return None if pieces[0] == pieces[1] else "bytes outside of the changed sources differ"


def around_sources(data: bytes) -> list[str]:
    """What stands in the file between the sources of its cells, by decoding it piece by piece."""
    text, pieces, at = data.decode("utf-8-sig"), [data[:3].hex()], 0
    decoder = json.JSONDecoder(strict=False)
    for match in re.finditer(r'"source"\s*:\s*', text):
        if match.start() < at:  # inside a source
            continue
        _, end = decoder.raw_decode(text, match.end())
        pieces.append(text[at : match.end()])
        at = end
    return [*pieces, text[at:]]


def patched(sources: Mapping[int, str], diff: Mapping[int, str]) -> dict[int, str]:
    """The sources after the hunks of a unified diff of each cell.

    Raises:
        NotebooksError: a hunk does not fit.
    """
    return {number: _patched(source, diff.get(number, "")) for number, source in sources.items()}


def _patched(source: str, diff: str) -> str:
    """A source after a diff, in which the last line of a cell ends like all others."""
    old: list[str] = re.findall(r"[^\n]*\n", source + "\n" * (not source.endswith("\n")))
    new: list[str] = []
    at = 0
    for row in re.findall(r"[^\n]*\n", diff):
        if hunk := _HUNK.match(row):
            first = int(hunk[1]) - (hunk[2] != "0")
            new += old[at:first]
            at = first
        elif row[0] in " -":
            if at >= len(old) or old[at] != row[1:]:
                raise NotebooksError("a hunk of the diff does not fit")
            new += [old[at]] * (row[0] == " ")
            at += 1
        elif row[0] == "+":
            new.append(row[1:])
    text = "".join([*new, *old[at:]])
    return text if source.endswith("\n") else text.removesuffix("\n")


def diffs_by_cell(out: str) -> dict[str, dict[int, str]]:
    """The hunks that `--diff` printed, by notebook and cell."""
    found: dict[str, dict[int, str]] = {}
    for part in re.split(r"(?m)^--- a/", out)[1:]:
        name, rest = part.split("\n", 1)
        path, _, cell = name.rpartition(":cell ")
        found.setdefault(path, {})[int(cell)] = rest.split("\n", 1)[1]
    return found


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
