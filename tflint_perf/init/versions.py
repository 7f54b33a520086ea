"""Which releases of Python and TensorFlow a project's own files name. They are read as text: none of them is run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tflint_perf.project.dependencies import FILES, SPECIFIED, TENSORFLOW, Named, named_in, without_comments

# What else people write dependencies into.
_FILES = (
    *FILES, "*requirements*.txt", "requirements/*.txt", "environment*.yml", "environment*.yaml", "conda*.yml", "conda*.yaml",
)  # fmt: skip
_PYTHON = re.compile(rf"""(?<![\w.-])(?:requires-python|python_requires|python)\s*(?:=\s+)?(?:{SPECIFIED})""")


def named_versions(folder: Path) -> tuple[Sequence[Named], Sequence[Named]]:
    """What a project's files say of TensorFlow, and what they say of Python."""
    texts = dict(_texts(folder))
    tensorflow, python = (
        [named for file, text in texts.items() for named in named_in(package, text, file)]
        for package in (TENSORFLOW, _PYTHON)
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


def _pinned(folder: Path) -> Iterator[Named]:
    """What pyenv and others are told."""
    if found := re.match(r"\s*(\d+(?:\.\d+)*)\s*$", without_comments(_data(folder / ".python-version"))):
        yield Named(found[1], ".python-version")
