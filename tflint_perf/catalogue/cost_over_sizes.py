"""What a cost is, by what it does from a small to a large size: the same each step, a share of the step, or neither.

A ratio that was measured on a small step reads as if any step took so many times as long. So an experiment is measured at
three sizes, and what both forms took at the smallest and at the largest is told. Where the *difference* of slow and fast
stays within a factor of two, the cost is so many milliseconds, and the ratio says nothing of another step; where the *ratio*
does, the cost is a share of it. Where it is not the step that grows from size to size but what costs, the difference alone says
what it does: the ratio would be one to this script's step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Final, Literal

from tflint_perf.catalogue.figures import count, ratio, seconds, size
from tflint_perf.catalogue.measured import in_words
from tflint_perf.records import dataclass

# Over sizes whose steps differ by more than that, what stays within it is said to stay.
_STAYS: Final = 2.0
# Figures that differ by less than that are one.
_ONE: Final = 1.2
_HARDLY: Final = 0.15
_TIMES = ("step time", "time per sample", "first step")
SIZES_HEADER: Final = ("size", "what it is", "slow", "fast", "effect", "verdict")
_SUBJECTS: Final[Mapping[str, str]] = {
    "time per sample": "a sample, training included,",
    "first step": "the first step",
    "host memory": "host memory at its peak (over that of TensorFlow alone)",
    "peak device memory": "device memory at its peak",
}
_TIMES_SIGN: Final = "\N{MULTIPLICATION SIGN}"

Behaviour = Literal["constant", "share", "depends"]


@dataclass(frozen=True, slots=True)
class SizedCost:
    """What an experiment showed at one size, medians over its pairs: seconds, bytes, or numbers; `times` slow over fast."""

    size: str
    what: str
    of: str
    at: int
    slow: float
    fast: float
    times: float
    verdict: str

    @property
    def more(self) -> float:
        """What the slow script takes more."""
        return self.slow - self.fast


def sized_costs(record: Mapping[str, Any]) -> tuple[SizedCost, ...]:
    """What was measured at each size, from small to large; nothing on files from before there were sizes."""
    return tuple(
        SizedCost(
            one["name"],
            one["what"],
            one["of"],
            one["at"],
            median(one["slow"]),
            median(one["fast"]),
            float(one["effect"]["value"]),
            one["verdict"],
        )
        for one in record.get("sizes") or ()
        if one["slow"] and one["fast"] and one["effect"]
    )


def behaviour(record: Mapping[str, Any]) -> Behaviour | None:
    """What the cost does over sizes; None where fewer than three were measured."""
    costs = sized_costs(record)
    if len(costs) < 3:
        return None
    if record["claim"]["kind"] == "growth":
        # How much slower a step becomes is what is beyond once.
        since = 1.0 if record["claim"]["metric"] == "step time" else 0.0
        return "constant" if _spread([cost.slow - since for cost in costs]) <= _STAYS else "depends"
    if _is_of_cause(record):
        return "constant" if _spread([cost.more for cost in costs]) <= _STAYS else "depends"
    more, times = _spread([cost.more for cost in costs]), _spread([cost.times for cost in costs])
    if more <= _STAYS and more <= times:
        return "constant"
    return "share" if times <= _STAYS else "depends"


def cost_over_sizes(record: Mapping[str, Any]) -> str | None:
    """A cost in words that say what it was measured on: `a step 9.7 → 1.0 ms (64 units), 700 → 500 ms (4,096 units)`.

    None where it was not measured at three sizes.
    """
    kind, costs = behaviour(record), sized_costs(record)
    if kind is None:
        return None
    if record["claim"]["kind"] == "growth":
        say, around = _growth(record)
        figures = [cost.slow for cost in costs]
        if max(figures) <= _ONE * min(figures):
            return around.format(in_range(figures, say))
        first, last = costs[0], costs[-1]
        plus = "+" if around.startswith("+") else ""
        return f"{around.format(say(first.slow))} ({first.what}), {plus}{say(last.slow)} ({last.what})"
    metric = record["claim"]["metric"]
    ends = [f"{became(cost.slow, cost.fast, metric)} ({cost.what})" for cost in (costs[0], costs[-1])]
    return f"{subject(metric, record['sizes'][0]['step'])} {', '.join(ends)}"


def subject(metric: str, step: str = "a step") -> str:
    """Whose time or memory it is: `a step`, `a sample, training included,`, `host memory`."""
    return step if metric == "step time" else _SUBJECTS.get(metric, metric)


def became(slow: float, fast: float, metric: str) -> str:
    """What the slow form takes and the fast one: `9.7 → 1.0 ms`, `1.1 s → 20 ms`; `6.4 ms both` where they are said alike."""
    say = seconds if metric in _TIMES else size
    before, after = say(slow), say(fast)
    if before == after:
        return f"{after} both"
    figure, _, unit = before.partition(" ")
    return f"{figure if after.endswith(f' {unit}') else before} → {after}"


def rows_of_sizes(record: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """What was measured at each size, as `SIZES_HEADER` heads it."""
    for cost in sized_costs(record):
        figures = (in_words(record, value) for value in (cost.slow, cost.fast))
        yield cost.size, cost.what, *figures, ratio(cost.times), cost.verdict


def slowdown(times: str, record: Mapping[str, Any]) -> str:
    """How a growth of step time is said: `of 60 steps, the last 15 take 2.8× as long as the first 15`."""
    quarter = f"{record['steps'] // 4:,}"
    return f"steps get ever slower: of {record['steps']:,}, the last {quarter} take {times} as long as the first {quarter}"


def _growth(record: Mapping[str, Any]) -> tuple[Callable[[float], str], str]:
    """How a growth is said: its figure, and the words around that."""
    metric = record["claim"]["metric"]
    if metric == "step time":
        return ratio, slowdown("{}", record)
    step = record["sizes"][0]["step"]
    if metric == "host memory":
        return size, f"+{{}} kept {step}"
    ones = all(_whole(cost.slow) == "1" for cost in sized_costs(record))
    kept = " kept" if metric.startswith("live ") else ""
    return _whole, f"+{{}} {metric.removeprefix('live ').removesuffix('s')}{'' if ones else 's'}{kept} {step}"


def _whole(value: float) -> str:
    """How many each step; the first steps of a run may be the only ones without."""
    return count(round(value)) if abs(value - round(value)) < _HARDLY * value else count(value)


def in_range(figures: Sequence[float], say: Callable[[float], str]) -> str:
    """From the least to the largest; one where they are said alike."""
    low, high = say(min(figures)), say(max(figures))
    return low if low == high else _from_to(low, high)


def _from_to(low: str, high: str) -> str:
    """Both with their unit, unless it is the same: `1.4 to 9.7×`, `130 to 220 ms`, `900 µs to 1.1 ms`."""
    figure, _, unit = low.rstrip(_TIMES_SIGN).partition(" ")
    same = high.endswith(f" {unit}") if unit else low.endswith(_TIMES_SIGN) == high.endswith(_TIMES_SIGN)
    return f"{figure if same else low} to {high}"


def _is_of_cause(record: Mapping[str, Any]) -> bool:
    return bool(record["sizes"][0]["grows"] == "cause")


def _spread(values: Sequence[float]) -> float:
    """How many times the smallest the largest is; beyond measure where one is nothing, or less."""
    return max(values) / min(values) if min(values) > 0 else float("inf")
