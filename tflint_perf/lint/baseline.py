"""A baseline: the findings that a project has taken note of, which count as suppressed until their code changes."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tflint_perf.config.files import reason, replace_file
from tflint_perf.config.selection import INVALID_SYNTAX
from tflint_perf.finding import Finding
from tflint_perf.lint.identity import content
from tflint_perf.problems import ConfigError
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.config.settings import Settings
    from tflint_perf.text.source import Source

_VERSION = 1
# How often there is a finding with this code and these source lines in a file.
_Counts = Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True)
class Baseline:
    """What is on file; the files in it are relative to the baseline's folder, with slashes."""

    path: Path
    files: Mapping[str, _Counts]

    def new(self, findings: Iterable[Finding], file: str) -> list[Finding]:
        """Those of all findings of a file that the baseline does not hold; the first ones of equals are the old."""
        left = Counter(self._of(file))
        remaining = []
        for finding in findings:
            known = finding.code, content(finding)
            if left[known] > 0:
                left[known] -= 1
            else:
                remaining.append(finding)
        return remaining

    def gone(self, findings: Iterable[Finding], file: str, rules: AbstractSet[str]) -> int:
        """How many findings of these rules the baseline holds that the file does not have any more."""
        present = Counter((finding.code, content(finding)) for finding in findings)
        left = Counter(self._of(file)) - present
        return sum(count for (code, _), count in left.items() if code in rules)

    def _of(self, file: str) -> _Counts:
        return self.files.get(_name(file, self.path), {})


def read(path: Path) -> Baseline:
    """Read a baseline; one that did not change since is not parsed again.

    Raises:
        ConfigError: it is missing, or is no baseline.
    """
    try:
        status = path.stat()
    except FileNotFoundError:
        raise ConfigError(
            f"no such file: {_shown(path)}; --write-baseline creates one", "--baseline"
        ) from None
    except OSError as error:
        raise ConfigError(f"{_shown(path)}: {reason(error)}", "--baseline") from None
    return _read(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=16)
def _read(path: Path, changed: int, size: int) -> Baseline:
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{_shown(path)}: {reason(error)}", "--baseline") from None
    except ValueError as error:
        raise ConfigError(f"{_shown(path)}: not a baseline: not JSON: {error}", "--baseline") from None
    if isinstance(document, dict) and document.get("version", _VERSION) != _VERSION:
        raise ConfigError(
            f"{_shown(path)}: from another version of tflint-perf; write it again", "--baseline"
        )
    try:
        return Baseline(path, {file: _counts(entries) for file, entries in document["findings"].items()})
    except (KeyError, TypeError, AttributeError):
        raise ConfigError(f"{_shown(path)}: not a baseline of tflint-perf", "--baseline") from None


def _counts(entries: Any) -> _Counts:
    counts: Counter[tuple[str, str]] = Counter()
    for entry in entries:
        counts[str(entry["code"]), str(entry["content"])] += int(entry["count"])
    return counts


def write(path: Path, found: Mapping[str, Sequence[Finding]], folders: Iterable[Path]) -> int:
    """Write the findings of these files, and give how many they are.

    What a baseline at `path` says of files that are there, but neither among these nor in the `folders`, stays:
    this run has not looked at them.

    Raises:
        ConfigError: what is at `path` is no baseline.
        OSError: it cannot be written.
    """
    files: dict[str, _Counts] = {}
    old = path.read_bytes() if path.exists() else None
    if old is not None:
        looked_at = {_name(file, path) for file in found}
        inside = tuple(Path(os.path.realpath(folder)) for folder in folders)
        for name, counts in read(path).files.items():
            file = Path(os.path.realpath(path.parent / name))
            if name not in looked_at and file.exists() and not any(map(file.is_relative_to, inside)):
                files[name] = counts
    for file_name, findings in found.items():
        files[_name(file_name, path)] = Counter(
            (finding.code, content(finding)) for finding in findings if finding.code != INVALID_SYNTAX
        )
    data = (json.dumps(_document(files), indent=2, ensure_ascii=False) + "\n").encode(errors="replace")
    if old is None:
        path.write_bytes(data)
    elif data != old:
        replace_file(path, old, data)
    return sum(counts.total() for counts in map(Counter, files.values()))


def _document(files: Mapping[str, _Counts]) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "findings": {
            file: [
                {"code": code, "content": lines, "count": count}
                for (code, lines), count in sorted(counts.items())
            ]
            for file, counts in sorted(files.items())
            if counts
        },
    }


def _shown(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _name(file: str, baseline: Path) -> str:
    """The file as a baseline names it."""
    folder = os.path.realpath(baseline.parent)
    parent, name = os.path.split(file)
    return Path(os.path.relpath(Path(os.path.realpath(parent or "."), name), folder)).as_posix()


def counting(findings: Iterable[Finding], source: Source, settings: Settings) -> list[Finding]:
    """Those of all findings of a source that count: new ones, on changed rows if that is asked for."""
    remaining = list(findings)
    if settings.baseline is not None:
        remaining = read(settings.baseline).new(remaining, source.path)
    if settings.diff_base is not None:
        from tflint_perf.lint.changed_rows import on_changed_rows

        unread = [finding for finding in remaining if finding.code == INVALID_SYNTAX]
        remaining = unread or on_changed_rows(remaining, source, settings.diff_base)
    return remaining
