"""What experiments have shown, as kept in `fixtures/evidence/<device>.json`."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Mapping
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any

from tflint_perf.catalogue.plugins import plugins
from tflint_perf.catalogue.rules import catalogue
from tflint_perf.records import dataclass


@dataclass(frozen=True, slots=True)
class Evidence:
    """One verdict on one rule's claim, from one device; `record` is the whole entry as it stands in the file.

    `kind` is `cpu` or `gpu`. `versions` holds those of TensorFlow, Keras, Python and the linter.
    """

    device: str
    verdict: str
    record: Mapping[str, Any]
    kind: str = "cpu"
    date: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """The device in a word or two: a GPU by its name, a CPU as such, for they differ little."""
        return "CPU" if self.kind == "cpu" else self.device

    @property
    def holds(self) -> bool:
        """Whether the claim is confirmed, and what the first step gains is not lost again in the steps after it."""
        return self.verdict == "confirmed" and not self.is_lost_again

    @property
    def is_lost_again(self) -> bool:
        """Whether the fast form gains in the first step alone, and takes longer in each later one, at some size."""
        if self.record["claim"]["metric"] != "first step":
            return False
        measured = (self.record, *(self.record.get("sizes") or ()))
        return any(worse["metric"] == "step time" for one in measured for worse in one.get("worse") or ())


# What was measured again and again in a run, the most of a file by far: lists of lists of numbers.
_SERIES = re.compile(r'("(?:memory|windows)":\s*)\[\s*\[[^"]*\]\s*\]')


@cache
def all_evidence(*, series: bool = True) -> Mapping[str, tuple[Evidence, ...]]:
    """The evidence on record by code, device by device in the order of the file names; also that of plugins.

    Without `series`, what was measured step by step is left out: each run of the linter asks for the verdicts.
    """
    found = dict(read_evidence(evidence_folder(), series=series))
    for plugin in plugins():
        # What a plugin has measured says nothing of another package's rules.
        for code, records in read_evidence(plugin.fixtures / "evidence", series=series).items():
            info = catalogue().get(code)
            if info is not None and info.plugin == plugin:
                found[code] = records
    return found


def evidence_folder() -> Path:
    """Where the evidence on record is kept."""
    return Path(importlib.import_module("tflint_perf.fixtures").__path__[0]) / "evidence"


def read_evidence(folder: Path, *, series: bool = True) -> Mapping[str, tuple[Evidence, ...]]:
    """The evidence in the files of a folder; none if it is not there."""
    found: dict[str, list[Evidence]] = {}
    for file in sorted(folder.glob("*.json")):
        text = file.read_text(encoding="utf-8")
        document = json.loads(text if series else _SERIES.sub(r"\1[]", text))
        for code, evidence in evidence_of(document).items():
            found.setdefault(code, []).append(evidence)
    return {code: tuple(records) for code, records in found.items()}


def evidence_of(document: Mapping[str, Any]) -> Mapping[str, Evidence]:
    """The evidence in one document, which is what one run of the experiments came to."""
    device = document["device"]
    return {
        code: Evidence(
            device["name"],
            record["verdict"],
            record,
            device["kind"],
            record.get("date") or document["date"],
            document["versions"],
        )
        for code, record in document["results"].items()
    }
