"""Evidence on file: where it lies, how new results join it, and what a new run changes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tflint_perf.problems import ConfigError
from tflint_perf.verify.machine import NOISE_ON_FILE
from tflint_perf.verify.records import Record, Result, read_record, to_json
from tflint_perf.verify.verdict import TIMES

_SAME_MEMORY = 0.01


def read_kept(folder: Path, record: Record) -> Record | None:
    """What is on file from the device of the record; None if nothing is.

    Raises:
        ConfigError: the file cannot be read.
    """
    path = file_of(folder, record)
    if not path.is_file():
        return None
    try:
        return read_record(path)
    except (OSError, ValueError) as error:
        raise ConfigError(str(error), str(path)) from None


def keep(folder: Path, record: Record) -> Path:
    """Write the results to the device's file, in place of those of the same name; the path of the file.

    What was measured on a busy machine is left out: what is on file of it stays.

    Raises:
        ConfigError: the file is from other versions, and has results that were not measured again.
    """
    results = {name: result for name, result in record.results.items() if is_of_a_calm_machine(result)}
    path = file_of(folder, record)
    if not results:
        _unfinished(folder, record).unlink(missing_ok=True)
        return path
    kept = read_kept(folder, record)
    others = {name: result for name, result in kept.results.items() if name not in results} if kept else {}
    if kept and others and not _alike(kept, record):
        raise ConfigError(
            f"measured with other versions or on another machine; measure {', '.join(others)} too", str(path)
        )
    if kept and kept.date != record.date:
        others = {name: replace(result, date=result.date or kept.date) for name, result in others.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_json(replace(record, results={**others, **results})), encoding="utf-8")
    _unfinished(folder, record).unlink(missing_ok=True)
    return path


def keep_as_it_comes(folder: Path, record: Record) -> None:
    """Put results beside the device's file, so that a run which is cut off leaves what it has measured.

    `keep` takes them over at the end. What other versions left there is dropped.
    """
    path = _unfinished(folder, record)
    before = _results_like(path, record)
    results = {name: result for name, result in record.results.items() if is_of_a_calm_machine(result)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_json(replace(record, results={**before, **results})), encoding="utf-8")


def is_of_a_calm_machine(result: Result) -> bool:
    """Whether the figures may stand as evidence: they are said in findings, and a busy machine makes each time too long."""
    return result.verdict != "too noisy" and are_figures_calm(result)


def are_figures_calm(result: Result) -> bool:
    """Whether the machine was calm enough for the figures of a result, whatever they say of the claim."""
    return result.noise is None or result.noise <= NOISE_ON_FILE or result.claim.metric not in TIMES


def measured_before(folder: Path, record: Record) -> Mapping[str, Result]:
    """What is on file of the same versions on the same device, be it from a run that was cut off."""
    return {
        **_results_like(file_of(folder, record), record),
        **_results_like(_unfinished(folder, record), record),
    }


def _results_like(path: Path, record: Record) -> Mapping[str, Result]:
    if not path.is_file():
        return {}
    try:
        found = read_record(path)
    except (OSError, ValueError):  # cut off while it was written
        return {}
    return found.results if _alike(found, record) else {}


def _alike(one: Record, other: Record) -> bool:
    """Whether both are of the same versions on the same device; of memory a system takes a little more or less each time."""
    same = dict(one.versions) == dict(other.versions) and replace(one.device, memory=0) == replace(
        other.device, memory=0
    )
    return same and math.isclose(one.device.memory, other.device.memory, rel_tol=_SAME_MEMORY)


def _unfinished(folder: Path, record: Record) -> Path:
    # Not `.json`: what is read as evidence has been kept by a run that came to its end.
    return folder / f"{record.device.slug}.unfinished"


def file_of(folder: Path, record: Record) -> Path:
    """The evidence file of the record's device."""
    return folder / f"{record.device.slug}.json"


def changes(kept: Record, results: Mapping[str, Result]) -> Iterator[str]:
    """Each verdict that is not what it was, in a line. A result that was not on file before is no change.

    Of experiments with sizes, those at the same size are compared. Of a machine that is too noisy to judge, nothing is said.
    """
    for name, result in results.items():
        before = kept.results.get(name)
        if before is None:
            continue
        verdicts = {sized.name: sized.verdict for sized in before.sizes} | {before.size: before.verdict}
        was = verdicts.get(result.size)
        if was is not None and result.verdict not in (was, "too noisy"):
            yield f"{name}: was {was}, is {result.verdict}: {result.reason}"
