"""What experiments have shown, as kept in `fixtures/evidence/<device>.json`."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Evidence:
    """One verdict on one rule's claim, from one device; `record` is the whole entry as it stands in the file."""

    device: str
    verdict: str
    record: Mapping[str, Any]


@cache
def all_evidence() -> Mapping[str, tuple[Evidence, ...]]:
    """The evidence on record by code, device by device in the order of the file names."""
    return read_evidence(Path(importlib.import_module("tflint_perf.fixtures").__path__[0]) / "evidence")


def read_evidence(folder: Path) -> Mapping[str, tuple[Evidence, ...]]:
    """The evidence in the files of a folder; none if it is not there."""
    found: dict[str, list[Evidence]] = {}
    for file in sorted(folder.glob("*.json")):
        document = json.loads(file.read_text(encoding="utf-8"))
        for code, record in document["results"].items():
            found.setdefault(code, []).append(
                Evidence(device_name(document["device"]), record["verdict"], record)
            )
    return {code: tuple(records) for code, records in found.items()}


def device_name(device: str | Mapping[str, Any]) -> str:
    """The device in words: evidence files give it as a string, or as an object with a `name`."""
    return device if isinstance(device, str) else str(device["name"])
