"""What is kept from one run to the next of a file's findings, and of the callers in a project: when it may be used."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from tflint_perf.analysis.values.caller import Caller, Callers
from tflint_perf.config.settings import Settings
from tflint_perf.finding import Finding
from tflint_perf.lint.applicability import is_applicable
from tflint_perf.project.cache import Cache
from tflint_perf.project.packed import UnpackError, pack, unpack
from tflint_perf.project.surroundings import digest_of
from tflint_perf.records import dataclass

Asked = Mapping[Path, Mapping[str, tuple[str, ...]]]
_Found = dict[str, dict[str, tuple[Caller, ...]]]


@dataclass(frozen=True, slots=True)
class Kept:
    """What linting a file gave. `open` and `unasked` are as in `FileResult`."""

    findings: tuple[Finding, ...]
    suppressed: int
    open: dict[str, tuple[str, ...]]
    unasked: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A file, and all that decides on what linting it gives besides the files themselves."""

    file: str
    settings: Settings
    callers: Callers | None = None

    @property
    def variant(self) -> str:
        """What tells it from other questions about the same file."""
        named = "named" if self.file in self.settings.named else ""
        callers = "" if self.callers is None else _digest_of_json(pack(dict(self.callers)))
        return f"{_digest_of_settings(self.settings)} {named} {callers}"


def find(cache: Cache, file: str, question: Question) -> Kept | None:
    """The answer of an earlier run, if nothing has changed since and nothing is to be fixed; else None."""
    try:
        kept = unpack(Kept, cache.find(file, question.variant))
    except UnpackError:
        return None
    # Fixes are made from the code, never from what lies in a folder that anybody may write to.
    settings = question.settings
    if settings.fix != "no" and any(is_applicable(finding, settings) for finding in kept.findings):
        return None
    return kept


def keep(cache: Cache, file: str, question: Question, heard: Iterable[str], kept: Kept) -> None:
    """Keep an answer; `heard` are the files and folders that had a say in it."""
    cache.keep(file, question.variant, heard, pack(kept))


def find_callers(
    cache: Cache, root: Path, asked: Asked, project: Sequence[Path]
) -> dict[Path, Callers] | None:
    """The callers that an earlier run found when it asked the same of the same files."""
    try:
        found = unpack(_Found, cache.find(f"{root}/", _asking(root, asked, project)))
    except UnpackError:
        return None
    return {root / file: callers for file, callers in found.items()}


def keep_callers(
    cache: Cache,
    root: Path,
    asked: Asked,
    project: Sequence[Path],
    heard: Iterable[str],
    found: Mapping[Path, Callers],
) -> None:
    """Keep the callers that were found; any file of the project may be one, so all of them have a say."""
    packed = {_inside(root, file): pack(dict(callers)) for file, callers in found.items()}
    cache.keep(f"{root}/", _asking(root, asked, project), {*map(str, project), *heard}, packed)


def find_imported(cache: Cache, root: Path, project: Sequence[Path]) -> frozenset[Path] | None:
    """Those of the same files that an earlier run found others to import."""
    try:
        found = unpack(frozenset[str], cache.find(f"{root}/", _importing(root, project)))
    except UnpackError:
        return None
    return frozenset(root / file for file in found)


def keep_imported(
    cache: Cache, root: Path, project: Sequence[Path], heard: Iterable[str], imported: Iterable[Path]
) -> None:
    """Keep which files of a project others import; `heard` are the folders that were looked into."""
    found = sorted(_inside(root, file) for file in imported)
    cache.keep(f"{root}/", _importing(root, project), {*map(str, project), *heard}, found)


def _importing(root: Path, project: Sequence[Path]) -> str:
    return f"imported {_digest_of_json([_inside(root, file) for file in project])}"


def _asking(root: Path, asked: Asked, project: Sequence[Path]) -> str:
    questions = [[_inside(root, file), dict(names)] for file, names in sorted(asked.items())]
    return f"callers {_digest_of_json([questions, [_inside(root, file) for file in project]])}"


def _inside(root: Path, file: Path) -> str:
    """A file's path from the root, if it lies there. By its text: a `Path` for each file of a project takes its time."""
    return str(file).removeprefix(f"{str(root).rstrip(os.sep)}{os.sep}")


@lru_cache(maxsize=64)
def _digest_of_settings(settings: Settings) -> str:
    """What of the settings decides on findings, and on how far their fixes go."""
    codes = (settings.rules, settings.fixable, settings.safe_by_request, settings.unsafe_by_request)
    return _digest_of_json(
        [
            *map(sorted, codes),
            settings.ignore_noqa,
            settings.unsafe_fixes,
            settings.bold_fixes,
            str(settings.project_root),
        ]
    )


def _digest_of_json(data: object) -> str:
    return digest_of(json.dumps(data, sort_keys=True).encode())
