"""Which releases of Python and TensorFlow a project's own files name. They are read as text: none of them is run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tflint_perf.project.dependencies import FILES, without_comments
from tflint_perf.records import dataclass

Release = tuple[int, ...]

# What else people write dependencies into.
_FILES = (
    *FILES, "*requirements*.txt", "requirements/*.txt", "environment*.yml", "environment*.yaml", "conda*.yml", "conda*.yaml",
)  # fmt: skip
_CLAUSE = r"(?:===|==|~=|>=|<=|!=|<|>|\^|~|=)\s*\d[\w.*]*"
# `tensorflow==2.3`, `tensorflow-gpu [x] >=2.3,<3`, `tensorflow=2.3`; `tensorflow = "2.3"`, `= {version = "^2.3"}`.
_SPECIFIED = (
    rf"""(?P<clauses>{_CLAUSE}(?:\s*,\s*{_CLAUSE})*)"""
    rf"""|["']?\s*=\s*(?:\{{[^}}\n]*?\bversion\s*=\s*)?["'](?P<quoted>(?:{_CLAUSE}|\d[\w.*]*)(?:\s*,\s*{_CLAUSE})*)["']"""
)
_TENSORFLOW = re.compile(
    rf"""(?<![\w.-])tensorflow(?:[-_](?:gpu|cpu|macos|intel|rocm))?(?:\s*\[[\w\s,-]*\])?\s*\(?(?:{_SPECIFIED})""",
    re.IGNORECASE,
)
_PYTHON = re.compile(
    rf"""(?<![\w.-])(?:requires-python|python_requires|python)\s*(?:=\s+)?(?:{_SPECIFIED})"""
)


@dataclass(frozen=True, slots=True)
class Named:
    """What a file asks for, as it stands there: `==2.3.1`, `>=2.12,<3`."""

    asked: str
    file: str

    def is_older_than(self, release: Release) -> bool:
        """Whether all that is asked for is older than this release; `<3` and `~=2.1` are not older than 2.9."""
        return any(_ends_before(clause, release) for clause in self.asked.split(","))


def _ends_before(clause: str, release: Release) -> bool:
    found = re.match(r"\s*([=~<>!^]*)\s*(\d+(?:\.\d+)*)", clause)
    if found is None:
        return False
    sign, newest = found[1], tuple(map(int, found[2].split(".")))
    match sign:
        case "<":
            return newest <= release
        case "~=":
            newest = newest[:-1]
        case "~":
            newest = newest[:2]
        case "^":
            newest = newest[:1]
        case ">" | ">=" | "!=":
            return False
    return newest < release[: len(newest)]


def named_versions(folder: Path) -> tuple[Sequence[Named], Sequence[Named]]:
    """What a project's files say of TensorFlow, and what they say of Python."""
    texts = dict(_texts(folder))
    tensorflow, python = (
        [named for file, text in texts.items() for named in _named(package, text, file)]
        for package in (_TENSORFLOW, _PYTHON)
    )
    return tensorflow, [*_pinned(folder), *python]


def _texts(folder: Path) -> Iterator[tuple[str, str]]:
    for pattern in _FILES:
        for path in sorted(folder.glob(pattern)):
            yield path.relative_to(folder).as_posix(), without_comments(_data(path))


def _data(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # what can't be read names nothing
        return b""


def _named(package: re.Pattern[str], text: str, file: str) -> Iterator[Named]:
    asked = ("".join((found["clauses"] or found["quoted"]).split()) for found in package.finditer(text))
    yield from (Named(clauses, file) for clauses in dict.fromkeys(asked))


def _pinned(folder: Path) -> Iterator[Named]:
    """What pyenv and others are told."""
    if found := re.match(r"\s*(\d+(?:\.\d+)*)\s*$", without_comments(_data(folder / ".python-version"))):
        yield Named(found[1], ".python-version")
