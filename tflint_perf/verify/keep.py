"""Evidence on file: where it lies, how new results join it, and what a new run changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from tflint_perf.problems import ConfigError
from tflint_perf.verify.records import Record, Result, read_record, to_json


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

    Raises:
        ConfigError: the file is from other versions, and has results that were not measured again.
    """
    path, kept = file_of(folder, record), read_kept(folder, record)
    others = (
        {name: result for name, result in kept.results.items() if name not in record.results} if kept else {}
    )
    if kept and others and (kept.versions, kept.device) != (dict(record.versions), record.device):
        raise ConfigError(
            f"measured with other versions or on another machine; measure {', '.join(others)} too", str(path)
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(to_json(replace(record, results={**others, **record.results})), encoding="utf-8")
    return path


def file_of(folder: Path, record: Record) -> Path:
    """The evidence file of the record's device."""
    return folder / f"{record.device.slug}.json"


def changes(kept: Record, results: Mapping[str, Result]) -> Iterator[str]:
    """Each verdict that is not what it was, in a line. A result that was not on file before is no change."""
    for name, result in results.items():
        before = kept.results.get(name)
        if before is not None and before.verdict != result.verdict:
            yield f"{name}: was {before.verdict}, is {result.verdict}: {result.reason}"
