"""What experiments have shown, as kept in `fixtures/evidence/<device>.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
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
    folder = files("tflint_perf.fixtures") / "evidence"
    found: dict[str, list[Evidence]] = {}
    if not folder.is_dir():
        return {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if not file.name.endswith(".json"):
            continue
        document = json.loads(file.read_text(encoding="utf-8"))
        for code, record in document["results"].items():
            found.setdefault(code, []).append(
                Evidence(device_name(document["device"]), record["verdict"], record)
            )
    return {code: tuple(records) for code, records in found.items()}


def device_name(device: str | Mapping[str, Any]) -> str:
    """The device in words: evidence files give it as a string, or as an object with a `name`."""
    return device if isinstance(device, str) else str(device["name"])
