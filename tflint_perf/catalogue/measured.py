"""What a result on record says of either script, by the metric of its claim."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Literal

from tflint_perf.catalogue.figures import change, count, gibibytes, number, ratio, seconds, size

Side = Literal["slow", "fast"]
Result = Mapping[str, Any]
Run = Mapping[str, Any]


def runs_of(result: Result, side: Side) -> Sequence[Run]:
    """The runs of one of the two scripts, pair by pair; a run that failed is left out."""
    return [run for pair in result.get("pairs") or () if (run := pair.get(side))]


def value_of(result: Result, side: Side) -> float | None:
    """The median over the runs of one script of what the claim is about.

    Step time and time per sample in seconds, memory in bytes (a step, where its growth is claimed), live
    tensors a step, traces a step. A growth of step time is the ratio of its last quarter to its first.
    """
    values = values_of(result, side)
    return median(values) if values else None


def values_of(result: Result, side: Side) -> Sequence[float]:
    """The same run by run."""
    measure = _MEASURES[_key(result)][0]
    return [float(value) for run in runs_of(result, side) if (value := measure(run)) is not None]


def figure_of(result: Result, side: Side) -> str | None:
    """The same in words, with its unit."""
    value = value_of(result, side)
    return None if value is None else in_words(result, value)


def in_words(result: Result, value: float) -> str:
    """A figure of what the claim is about, with its unit."""
    said = _MEASURES[_key(result)][1](value)
    return said.replace("a step", result["claim"].get("step", "a step"))


def effect_of(result: Result) -> str | None:
    """The effect with its interval: `17× (16× to 18×)`."""
    effect = result.get("effect")
    if not effect:
        return None
    low, value, high = (number(effect[key], 3) for key in ("low", "value", "high"))
    return f"{value}× ({low} to {high})"


def worse_of(result: Result) -> Iterator[str]:
    """What the fast script does worse, one by one: `step time 2.8× (2.2 to 3.3): 13 ms instead of 4.8 ms, …`."""
    for one in result.get("worse") or ():
        say = size if one["metric"].endswith("memory") else seconds
        figures = f"{say(one['fast'])} instead of {say(one['slow'])}"
        yield f"{one['metric']} {effect_of(one)}: {figures}{_made_good(one)}"


def _made_good(one: Mapping[str, Any]) -> str:
    if one["steps"] is None:
        return ""
    steps = f"{max(round(one['steps']), 1):,}"
    if one["metric"] == "first step":
        return f", which the other steps make up for from step {steps} on"
    return f", which eats up what the first step saves from step {steps} on"


def _key(result: Result) -> tuple[str, str]:
    key = (result["claim"]["metric"], result["claim"]["kind"])
    return key if key in _MEASURES else ("step time", "ratio")


def _traces_a_step(run: Run) -> float | None:
    if not run["windows"] or run.get("traces") is None:
        return None
    # The first steps, which are not timed, are traced as well.
    first, steps, _ = run["windows"][-1]
    return float(run["traces"] / (first + steps))


def _time_a_sample(run: Run) -> float | None:
    return float(run["step"]) / (run.get("samples_per_step") or 1)


def _device_memory(which: str) -> Callable[[Run], float | None]:
    return lambda run: (run.get("device_memory") or {}).get(which)


def _most_resident(run: Run) -> float | None:
    """The most that the process grew by since before its first step."""
    (_, before), *later = run["memory"]
    return max((float(held - before) for _, held in later), default=None)


def _most_tensors(run: Run) -> float | None:
    return float(run["counts"][-1][1]) if run["counts"] else None


def _got(name: str) -> Callable[[Run], float | None]:
    return lambda run: run.get(name)


_MEASURES: Mapping[tuple[str, str], tuple[Callable[[Run], float | None], Callable[[float], str]]] = {
    ("step time", "ratio"): (_got("step"), seconds),
    ("step time", "growth"): (_got("growth"), ratio),
    ("time per sample", "ratio"): (_time_a_sample, seconds),
    ("host memory", "ratio"): (_most_resident, size),
    ("host memory", "growth"): (
        _got("host_bytes_per_step"),
        lambda value: f"{change(size(value))} a step",
    ),
    ("live tensors", "ratio"): (_most_tensors, count),
    ("live tensors", "growth"): (
        _got("live_tensors_per_step"),
        lambda value: f"{change(count(value))} a step",
    ),
    ("device memory", "ratio"): (_device_memory("reserved"), gibibytes),
    ("peak device memory", "ratio"): (_device_memory("peak"), size),
    ("first step", "ratio"): (_got("first_step"), seconds),
    ("graph ops", "ratio"): (_got("graph_ops"), count),
    ("graph ops", "growth"): (_got("graph_ops"), lambda value: f"{count(value)} in the end"),
    ("traces", "ratio"): (_got("traces"), count),
    ("traces", "growth"): (_traces_a_step, lambda value: f"{count(value)} a step"),
}
