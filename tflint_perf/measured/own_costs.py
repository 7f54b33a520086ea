"""Findings with what a run of the user's own program said of them: `check --measured run.json`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from tflint_perf.config.files import reason
from tflint_perf.finding import Finding, OwnCost
from tflint_perf.lint.identity import content
from tflint_perf.measured.record import Record, Settled, read_record
from tflint_perf.problems import ConfigError
from tflint_perf.records import dataclass

# What a finding is known by while its file changes around it: its rule, its cell and its code.
_Known = tuple[str, str]


@dataclass(frozen=True)
class Measured:
    """What a run on a device said of findings, by the file that they are in, with its real path; `step` is how many seconds
    a step took."""

    files: dict[str, tuple[Settled, ...]]
    device: str = ""
    step: float | None = None

    def join(self, findings: Sequence[Finding], file: Path | str) -> tuple[Finding, ...]:
        """The findings of a file, in their order; those that the run judged say so.

        A finding is the one that the run knew if the code is the same and the row too, or else if all findings by the
        same rule with the same code are there still: rows move, and a figure at the wrong one is worse than none.
        """
        settled = self.files.get(os.path.realpath(file), ())
        if not settled:
            return tuple(findings)
        by_known: dict[_Known, list[Settled]] = {}
        for one in settled:
            # What a run saw by itself stands in no file.
            if one.status != "seen in a run" and one.source:
                by_known.setdefault((one.code, one.source), []).append(one)
        for known in by_known.values():
            known.sort(key=lambda one: (one.spot.cell or 0, one.spot.row))
        alike: dict[_Known, list[Finding]] = {}
        for finding in findings:
            alike.setdefault((finding.code, content(finding)), []).append(finding)
        return tuple(
            self._said(finding, _found(finding, alike[key], by_known.get(key, ())))
            for finding in findings
            for key in [(finding.code, content(finding))]
        )

    def _said(self, finding: Finding, settled: Settled | None) -> Finding:
        if settled is None or settled.status == "not judged":
            return finding
        why = "not reached in that run" if settled.status == "not reached" else settled.why
        return replace(
            finding,
            message=f"{finding.message} (here: {why})",
            own_cost=OwnCost(settled.status, settled.seconds, self.step, self.device),
        )


def _found(finding: Finding, alike: Sequence[Finding], known: Sequence[Settled]) -> Settled | None:
    """What the run said of a finding, of all that it said of findings with the same code."""
    if len(alike) == len(known):
        return known[alike.index(finding)]
    start = finding.start
    return next((one for one in known if (one.spot.cell, one.spot.row) == (start.cell, start.row)), None)


def read(path: Path, where: str) -> Measured:
    """Read the record of a run; one that did not change since is not parsed again.

    Args:
        where: what names the file, for messages.

    Raises:
        ConfigError: it is missing, no record of a run, or of one that made no steps and so knows no costs.
    """
    try:
        status = path.stat()
        measured = _read(path, status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise ConfigError(f"{path}: {reason(error)}", where) from None
    except (ValueError, RecursionError) as error:
        said = " ".join(str(error).split())
        raise ConfigError(
            f"{path}: no record of a run, as `tflint-perf run -o` writes it: {said}", where
        ) from None
    if measured is None:
        raise ConfigError(
            f"{path}: that run made no training steps, so it tells nothing of what findings cost", where
        )
    return measured


@lru_cache(maxsize=4)
def _read(path: Path, mtime: int, size: int) -> Measured | None:
    record = read_record(path)
    if not record.steps.count:
        return None
    root = root_of(record, path)
    files: dict[str, list[Settled]] = {}
    for one in record.findings:
        files.setdefault(os.path.realpath(root / one.spot.file), []).append(one)
    step = record.step.value if record.step is not None else None
    return Measured({file: tuple(found) for file, found in files.items()}, record.device, step)


def root_of(record: Record, path: Path) -> Path:
    """The folder that the record's files are relative to: where they were, or else around the record's own file."""
    root, files = Path(record.root), {one.spot.file for one in record.findings}
    if _has(root, files):
        return root
    here = path.absolute().parent
    return next((folder for folder in (here, *here.parents) if _has(folder, files)), root)


def _has(folder: Path, files: Iterable[str]) -> bool:
    return all((folder / file).is_file() for file in files)
