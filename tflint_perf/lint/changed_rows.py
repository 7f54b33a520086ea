"""The rows of a file that were changed since a revision, as git keeps it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from pathlib import Path

from tflint_perf.errors import SourceError
from tflint_perf.finding import Finding
from tflint_perf.problems import ConfigError
from tflint_perf.text.source import Source

_OPTION = "--diff-base"
_SINCE_BRANCHING = "..."
_MUCH = 9_000_000
# A hook of git's sets these for the repository that it runs in; the files say which repository they are in.
_OF_HOOKS = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")


def commit_of(revision: str, folder: Path) -> str:
    """The commit that a revision stands for in the repository around a folder.

    `main...` stands for the commit at which the present branch left `main`, as for `git diff`.

    Raises:
        ConfigError: there is no such revision, no repository, or no git.
    """
    try:
        inside = _git(folder, "rev-parse", "--is-inside-work-tree")
    except FileNotFoundError:
        raise ConfigError("needs git, which was not found", _OPTION) from None
    if inside is None:
        raise ConfigError(f"not in a git repository: {folder}", _OPTION)
    name = revision.removesuffix(_SINCE_BRANCHING)
    commit = _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if commit is None:
        raise ConfigError(f"git knows no revision `{name}`; has it been fetched?", _OPTION)
    if name != revision:
        commit = _git(folder, "merge-base", commit.decode().strip(), "HEAD")
        if commit is None:
            raise ConfigError(f"git knows no common ancestor with `{name}`; has all been fetched?", _OPTION)
    return commit.decode().strip()


def on_changed_rows(findings: Iterable[Finding], source: Source, commit: str) -> list[Finding]:
    """Those of the findings that are on a row that was added or changed since the commit.

    In a file that the commit does not have, all rows are new.
    """
    findings = list(findings)
    rows = changed_rows(source, commit) if findings else None
    if rows is None:
        return findings
    return [finding for finding in findings if not rows.isdisjoint(_rows_of(finding, source))]


def _rows_of(finding: Finding, source: Source) -> range:
    first = source.row(finding.start.offset)
    return range(first, first + max(len(finding.lines), 1))


def changed_rows(source: Source, commit: str) -> frozenset[int] | None:
    """The rows of a source, from 1, that the file of the commit does not have; None where it has no such file."""
    data = _at(Path(source.path), commit)
    if data is None:
        return None
    try:
        before = Source.from_bytes(data, source.path)
    except SourceError:
        return None
    return _new_rows(_lines(before), _lines(source))


def _lines(source: Source) -> Sequence[str]:
    return source.lines(1, source.row(len(source.text)))


def _new_rows(before: Sequence[str], now: Sequence[str]) -> frozenset[int]:
    if before == now:
        return frozenset()
    import difflib

    # Most of a file is as it was. Comparing is quadratic in what is left, so that of very much only the lines
    # that are not frequent count: an unchanged one of the others, alone among changed ones, is taken for changed.
    head = _alike(before, now)
    tail = min(_alike(before[::-1], now[::-1]), min(len(before), len(now)) - head)
    old, new = before[head : len(before) - tail], now[head : len(now) - tail]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=len(old) * len(new) > _MUCH)
    rows: set[int] = set()
    for kind, _, _, start, end in matcher.get_opcodes():
        if kind == "replace":
            rows.update(range(head + start + 1, head + end + 1))
        elif kind == "insert":
            rows.update(_slid(now, head + start, head + end))
    return frozenset(rows)


def _slid(lines: Sequence[str], start: int, end: int) -> range:
    """The rows of what was inserted, as far down as the lines allow: git takes the last of equal lines for new."""
    while end < len(lines) and lines[start] == lines[end]:
        start, end = start + 1, end + 1
    return range(start + 1, end + 1)


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _at(path: Path, commit: str) -> bytes | None:
    """The file's bytes at the commit, also under the name that it had there."""
    real = Path(os.path.realpath(path))
    top = _top(real.parent)
    if top is None or not real.is_relative_to(top):
        return None
    name = real.relative_to(top).as_posix()
    return _git(top, "cat-file", "blob", f"{commit}:{_renamed(top, commit).get(name, name)}")


@lru_cache
def _top(folder: Path) -> Path | None:
    found = _git(folder, "rev-parse", "--show-toplevel") if folder.is_dir() else None
    return Path(os.path.realpath(os.fsdecode(found.rstrip(b"\n")))) if found else None


@lru_cache(maxsize=8)
def _renamed(top: Path, commit: str) -> dict[str, str]:
    """The names at the commit of the files that were renamed since, by their present ones."""
    listed = _git(
        top, "diff", "-z", "--no-ext-diff", "--find-renames", "--diff-filter=R", "--name-status", commit, "--"
    )
    fields = os.fsdecode(listed or b"").split("\0")
    return dict(zip(fields[2::3], fields[1::3], strict=False))


def _git(folder: Path, *arguments: str) -> bytes | None:
    """What git prints, or None where it fails."""
    environment = {name: value for name, value in os.environ.items() if name not in _OF_HOOKS}
    ran = subprocess.run(
        ["git", "-c", "core.fsmonitor=false", *arguments],
        cwd=folder,
        env=environment | {"GIT_OPTIONAL_LOCKS": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    return ran.stdout if ran.returncode == 0 else None
