"""Findings made by hand, and reports of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tflint_perf.config.settings import Settings
from tflint_perf.finding import Edit, Finding, Fix, Place
from tflint_perf.report import Entry, Outcome, render
from tflint_perf.report.style import Style

SETTINGS = Settings(Path("/p"), frozenset(), fixable=frozenset({"TFP406", "TFP403"}))
GC = Finding(
    code="TFP406",
    name="gc-in-loop",
    message="`gc.collect()` runs each step; remove it",
    start=Place(100, 7, 5),
    end=Place(112, 7, 17),
    lines=("    gc.collect()",),
    noqa_row=7,
    fix=Fix("Remove the call", (Edit(Place(96, 7, 1), Place(113, 8, 1), ""),), safe=True),
)
UNSAFE = replace(GC, code="TFP403", name="persistent-tape", fix=replace(GC.fix, safe=False))
BARE = replace(GC, code="TFP402", name="tape-spans-loop", fix=None, note="`x` is read later")
BROKEN = Finding(
    "invalid-syntax", "invalid-syntax", "unexpected indent", Place(0, 1, 1), Place(1, 1, 2), (" x",), 1
)
IN_CELL = replace(GC, start=Place(100, 3, 9, 2), end=Place(112, 3, 21, 2), lines=("        gc.collect()",))


def outcome(
    *findings: Finding, path: str = "train.py", settings: Settings = SETTINGS, **options: Any
) -> Outcome:
    return Outcome(tuple(Entry.of(path, finding, settings) for finding in findings), **options)


def text(format: Any, *findings: Finding, **options: Any) -> str:
    return "\n".join(render(format, outcome(*findings, **options), Style()))
