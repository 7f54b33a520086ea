"""Results as a table, for a terminal or in Markdown, and step times as a line of bars."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any

from tflint_perf.catalogue.cost_over_sizes import cost_over_sizes, rows_of_sizes
from tflint_perf.catalogue.figures import seconds
from tflint_perf.catalogue.measured import effect_of, figure_of, runs_of, worse_of

HEADER = ("experiment", "claim", "slow", "fast", "effect", "verdict")
COLOURS: Mapping[str, str] = {
    "confirmed": "green",
    "agrees": "green",
    "refuted": "yellow",
    "inconclusive": "yellow",
    "too noisy": "yellow",
    "failed": "red",
}
_BARS = "▁▂▃▄▅▆▇█"
_BAR_COUNT = 24


def rows(results: Mapping[str, Mapping[str, Any]], titles: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """One row a result of an evidence document; `titles` by name, where there is more to say."""
    for name, result in results.items():
        # In a quick run both scripts ran at once, so its figures mean nothing.
        judged = result["verdict"] != "agrees"
        slow, fast = ((judged and figure_of(result, side)) or "" for side in ("slow", "fast"))
        at = f", {result['size']}" if result.get("size") else ""
        title = f"{name} {titles.get(name, '')}{at}".strip()
        yield title, claim_text(result["claim"]), slow, fast, effect_of(result) or "", result["verdict"]


def worse(results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What the fast scripts do worse, a line each."""
    for name, result in results.items():
        for line in worse_of(result):
            yield f"{name}: the fast script does worse: {line}"


def over_sizes(results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """What was measured at several sizes: a line each, and one that says what the cost does over them."""
    for name, result in results.items():
        rows = list(rows_of_sizes(result))
        if len(rows) < 2:
            continue
        for size, what, slow, fast, times, verdict in rows:
            yield f"{name}, {size} ({what}): slow {slow}, fast {fast}, {times}: {verdict}"
        if said := cost_over_sizes(result):
            yield f"{name}: {said}"


def not_compared(results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Of which experiments trained weights were not compared, and why, a line each."""
    for name, result in results.items():
        losses = result["losses"]
        if losses and losses.get("not_compared") and result["verdict"] != "failed":
            yield f"{name}: trained weights were not compared: {losses['not_compared']}"


def claim_text(claim: Mapping[str, Any]) -> str:
    """A claim in a few words: `step time ≥ 2×`, `traces grow ≥ 1.5×`."""
    metric = claim["metric"]
    grows = f" grow{'' if metric.endswith('s') else 's'}" if claim["kind"] == "growth" else ""
    return f"{metric}{grows} ≥ {claim['least']:g}×" + (" (GPU)" if claim["needs_gpu"] else "")


def markdown(results: Mapping[str, Mapping[str, Any]], titles: Mapping[str, str]) -> Iterator[str]:
    yield f"| {' | '.join(HEADER)} |"
    yield f"|{'---|' * len(HEADER)}"
    for row in rows(results, titles):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    for line in (*over_sizes(results), *worse(results)):
        yield ""
        yield line


def curves(result: Mapping[str, Any]) -> Iterator[str]:
    """Step time over steps in the last run of each script, as a line of bars."""
    for side in ("slow", "fast"):
        for run in runs_of(result, side)[-1:]:
            times = [took / steps for _, steps, took in run["windows"]]
            first, steps, _ = run["windows"][-1]
            yield f"  {side}  {bars(times)}  {seconds(run['step'])} a step, {first + steps:,} steps"


def bars(values: Sequence[float]) -> str:
    """The values as bars from zero to the largest; medians of neighbours where there are many."""
    size = -(-len(values) // _BAR_COUNT)
    shown = [median(values[start : start + size]) for start in range(0, len(values), size)]
    top = max(shown, default=0) or 1.0
    return "".join(_BARS[min(int(value / top * len(_BARS)), len(_BARS) - 1)] for value in shown)
