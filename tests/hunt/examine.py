"""What must hold of the fixes of any file, and what does not."""

from __future__ import annotations

import contextlib
import difflib
import io
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from tests.hunt.fixing import ALL
from tests.hunt.lines import compiles, rows_of, tokens
from tests.hunt.undefined import undefined
from tflint_perf.config.settings import Settings
from tflint_perf.lint.fix import Fixed, fix_source
from tflint_perf.text.source import Source

_NOT_OURS_TO_KEEP = re.compile(r"noqa|tflint-perf", re.IGNORECASE)
# Said of code that Python takes and libcst does not.
_NOT_READ = "not linted: Python accepts this layout"
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class Failure(NamedTuple):
    """What does not hold: its kind, the codes of the fixes that were made, and what is to be seen."""

    kind: str
    codes: tuple[str, ...]
    what: str

    @property
    def of_a_kind(self) -> tuple[str, tuple[str, ...]]:
        """What smaller programs that fail alike have in common."""
        return self.kind, self.codes[:1]


class Examined(NamedTuple):
    """How many fixes were made, and what does not hold."""

    fixes: int
    failures: list[Failure]


def examine(data: bytes, *, diff: bool = False, ever_compiled: bool = True) -> Examined:
    """Fix a file, with safe fixes alone and with all, and look at what came of it. With `diff` as the command line."""
    failures: list[Failure] = []
    fixes = 0
    before = Source.from_bytes(data, "mutated.py")
    for unsafe in (False, True):
        settings = Settings(root=Path(), rules=ALL, fixable=ALL, fix="apply", unsafe_fixes=unsafe)
        try:
            done = fix_source(before, settings)
        except Exception as error:
            return Examined(fixes, [Failure("crash", (), f"{type(error).__name__}: {error}")])
        if any(finding.code == "invalid-syntax" for finding in done.remaining):
            kind = "refused" if ever_compiled and not done.applied else ""
            if kind:
                failures.append(Failure(kind, (), _words(done, "invalid-syntax")))
            if not done.applied:
                return Examined(fixes, failures)
        fixes += len(done.applied)
        failures += _failures(before, done, settings, ever_compiled)
        if diff and done.applied and not failures:
            failures += _as_diffed(data, done, unsafe)
        if failures:
            break
    return Examined(fixes, failures)


def _failures(before: Source, done: Fixed, settings: Settings, ever_compiled: bool) -> list[Failure]:
    codes = tuple(sorted({finding.code for finding in done.applied}))
    found = [_told(problem) for problem in done.problems if _NOT_READ not in problem]
    old, new = before.text, done.source.text
    if not done.applied:
        if new != old or done.source.encode() != before.encode():
            found.append(Failure("changed by nothing", codes, new))
        return found
    if not ever_compiled:
        found.append(Failure("fixed what this Python can't read", codes, new))
        return found
    if not compiles(new):
        return [*found, Failure("does not compile", codes, new)]
    lost = _lost_comments(old, new)
    if lost:
        found.append(Failure("lost comment", codes, f"{lost}"))
    # Where one name takes the place of another one that was missing, too, the program fails where it did.
    missing = undefined(new) - undefined(old)
    if len(missing) > len(undefined(old) - undefined(new)):
        found.append(Failure("undefined name", codes, f"{sorted(missing)}"))
    read = Source.from_bytes(done.source.encode(), before.path)
    if read.text != new:
        found.append(Failure("not written as it is", codes, read.text))
    again = fix_source(read, settings)
    if again.source.text != new:
        more = tuple(sorted({finding.code for finding in again.applied}))
        found.append(Failure("not settled", more, again.source.text))
    return found


def _told(problem: str) -> Failure:
    code = re.search(r"TFP\d{3}", problem)
    kind = "did not settle" if "settle" in problem else "please report it"
    return Failure(kind, (code[0],) if code else (), problem)


def _words(done: Fixed, code: str) -> str:
    return next(finding.message for finding in done.remaining if finding.code == code)


def _lost_comments(before: str, after: str) -> list[str]:
    """The comments that are gone, but those that suppress, and those that are code now: `# @tf.function`."""
    gone = (_comments(before) - _comments(after)).elements()
    lines = {row.strip() for row in rows_of(after)}
    return [
        comment
        for comment in gone
        if not _NOT_OURS_TO_KEEP.search(comment) and not (comment.startswith("# @") and comment[2:] in lines)
    ]


def _comments(text: str) -> Counter[str]:
    return Counter(token.string.rstrip() for token in tokens(text) if token.string[:1] == "#")


def _as_diffed(data: bytes, done: Fixed, unsafe: bool) -> list[Failure]:
    """Whether the command line makes the same of the file, and shows the same."""
    codes = tuple(sorted({finding.code for finding in done.applied}))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mutated.py"
        path.write_bytes(data)
        options = ["--isolated", "--no-cache", "--select=ALL", *(["--unsafe-fixes"] if unsafe else [])]
        shown = _ran("check", "--diff", "--quiet", *options, str(path))
        if path.read_bytes() != data:
            return [Failure("written by --diff", codes, "")]
        _ran("check", "--fix", "--quiet", *options, str(path))
        written = path.read_bytes()
    if written != done.source.encode():
        return [Failure("--fix is not the fix", codes, written.decode("utf-8", "replace"))]
    before, after = (Source.from_bytes(it, "mutated.py").text for it in (data, written))
    return [] if _patched(before, shown) == after else [Failure("--diff is not --fix", codes, shown)]


def _ran(*arguments: str) -> str:
    from tflint_perf.commands import run

    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    old = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        with contextlib.suppress(SystemExit):
            run(list(arguments))
    finally:
        sys.stdout, sys.stderr = old
    out.flush()
    return out.buffer.getvalue().decode()  # type: ignore[attr-defined]


def _patched(text: str, diff: str) -> str:
    """The text as a unified diff makes it."""
    old = re.findall(r"[^\n]*\n|[^\n]+", text)
    new: list[str] = []
    at, mark = 0, ""
    for line in re.findall(r"[^\n]*\n|[^\n]+", diff)[2:]:
        hunk = _HUNK.match(line)
        if hunk is not None:
            start = int(hunk[1]) - (hunk[2] != "0")
            new += old[at:start]
            at = start
        elif line.startswith("\\"):
            last = new[-1] if new else ""
            if mark == "+" or mark == " ":
                new[-1] = last.removesuffix("\n")
        else:
            mark = line[0]
            if mark in " -":
                at += 1
            if mark in " +":
                new.append(line[1:])
    return "".join([*new, *old[at:]])


def difference(before: str, after: str) -> str:
    """For people: what changed."""
    return "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), n=2))
