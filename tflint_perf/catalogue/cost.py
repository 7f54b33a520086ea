"""What a finding says that it costs, and where that was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

from tflint_perf.catalogue.cost_over_sizes import (
    Behaviour,
    SizedCost,
    became,
    behaviour,
    cost_over_sizes,
    in_range,
    sized_costs,
    slowdown,
    subject,
)
from tflint_perf.catalogue.evidence import Evidence, all_evidence
from tflint_perf.catalogue.figures import count, gibibytes, ratio, seconds, size
from tflint_perf.catalogue.measured import Side, runs_of, value_of
from tflint_perf.records import dataclass

MEASURED_WITH = "TensorFlow 2.21 and Keras 3.15, on two cores or the GPU named"
HOW_TO_READ_ARROWS = (
    "A → B: what the slow form took and the fast one, +A: what the slow form takes more; of several sizes, the smallest and the largest. "
    "A step is a whole one of training, after the first, which takes longer where code is compiled. "
)
# What stands below a report that tells of costs.
NOT_YOUR_COSTS = (
    "In your program, on your device, it may be quite different, and the fast form may save nothing or cost more: `tflint-perf run` and `tflint-perf prove` measure there. Two findings "
    "about the same code save only once."
)
# What stands below a table of rules.
WHAT_COSTS_ARE = (
    f"Costs come from each rule's own small script, run with {MEASURED_WITH}, and hold for its form and size alone. "
    f"{HOW_TO_READ_ARROWS}In your program, on your device, it may all be quite different, and the fast form may save nothing or cost more. "
    "A rule is off by default where its cost says why, or where less than half of what it found in programs not seen before was right: "
    "`tflint-perf rule CODE` tells."
)
# A price of the fast form that a message tells, and how. What later steps make good for before so many is soon over.
_MUCH = 1.5
_LONG = 100
_WHAT: Mapping[str, str] = {
    "step time": "in each later step",
    "first step": "in the first step",
    "time per sample": "a sample",
    "host memory": "host memory at its peak",
    "peak device memory": "device memory at its peak",
}
_PRICES = frozenset(_WHAT)
_NO_GAIN = 1.05
# The first steps of a run may be the only ones without a new trace.
_EACH = 0.9


def cost_on_record(code: str) -> str | None:
    """The cost of a rule by the evidence on record."""
    return cost_of(all_evidence().get(code, ()))


def cost_of(evidence: Sequence[Evidence]) -> str | None:
    """The cost in a few words for each kind of device that has measured it: `CPU: +16 ms on a step of 1.0 ms`.

    Where it was measured at three sizes, they say what it is (`sizes`). It is of the rule's own script, so it stands where rules are told of,
    never in a finding's message: there people would read it as a measurement of their own step.

    The newest record of a kind of device speaks for it. A claim that did not hold there says so beside its
    figure, for people may select a rule that is off. None where no device has a figure.
    """
    said = [_cost(record) for record in _newest(evidence)]
    return "; ".join(said) or None


def _newest(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The newest record with a figure of each kind of device."""
    newest: dict[str, Evidence] = {}
    for record in sorted(evidence, key=lambda record: record.date):
        if record.record.get("effect"):
            newest[record.kind] = record
    return [newest[kind] for kind in sorted(newest)]


@dataclass(frozen=True, slots=True)
class Cost:
    """What the experiment of a rule measured on one device, as data: `value` is how many times as much of the metric the slow
    script takes as the fast one, or where `kind` is "growth", its last steps as its first; with its interval.

    `over_sizes` says what the cost does from a small to a large size, and `sizes` what was measured at each; it is None,
    and there are none, where a single size was."""

    metric: str
    kind: str
    value: float
    low: float
    high: float
    device: str
    verdict: str
    date: str
    over_sizes: Behaviour | None = None
    sizes: tuple[SizedCost, ...] = ()


def figures_on_record(code: str) -> Sequence[Cost]:
    """The figures of a rule by the evidence on record; none where nothing was measured."""
    return figures_of(all_evidence().get(code, ()))


def figures_of(evidence: Sequence[Evidence]) -> list[Cost]:
    """The figures of the newest record of each kind of device."""
    return list(map(_figure, _newest(evidence)))


def _figure(evidence: Evidence) -> Cost:
    claim, effect = evidence.record["claim"], evidence.record["effect"]
    value, low, high = (float(effect[part]) for part in ("value", "low", "high"))
    return Cost(
        claim["metric"],
        claim["kind"],
        value,
        low,
        high,
        evidence.device,
        evidence.verdict,
        evidence.date,
        behaviour(evidence.record),
        sized_costs(evidence.record),
    )


def _cost(evidence: Evidence) -> str:
    claim = evidence.record["claim"]
    say = _WORDS.get((claim["metric"], claim["kind"]), _other)
    # What becomes of a step is told by the steps themselves, at one size.
    grows = (claim["metric"], claim["kind"]) == ("step time", "growth")
    said = None if grows else cost_over_sizes(evidence.record)
    if said is None:
        said = say(evidence)
    elif claim["metric"] == "traces":
        said += _time_of_traces(evidence)
    of = f", {claim['at']}" if claim.get("at") else ""
    if evidence.verdict != "confirmed":
        elsewhere = "" if evidence.kind == "gpu" else "; not measured on a GPU"
        return f"{evidence.where}: {said}{of}; {_too_little(evidence)}, so off by default{elsewhere}"
    off = ", so the rule is off by default" if evidence.is_lost_again else ""
    return f"{evidence.where}: {said}{of}{_price(evidence.record)}{off}"


def _too_little(evidence: Evidence) -> str:
    """What keeps a claim from holding, in words."""
    if behaviour(evidence.record) is not None:
        return "too little at some sizes"
    if evidence.verdict != "refuted":
        return "not surely a gain"
    return "no gain" if _effect(evidence) < _NO_GAIN else "too little a gain"


def _much_worse(record: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """What the fast form costs of step time and memory where that is much, at whatever size; a rule's page has the rest."""
    sizes = {sized["name"]: sized for sized in record.get("sizes") or ()}
    own = sizes.pop(record["size"], {}).get("what", "") if sizes else ""
    measured = [(record, own), *((sized, sized["what"]) for sized in sizes.values())]
    worse: dict[str, list[Mapping[str, Any]]] = {}
    for one, what in ((one, what) for each, what in measured for one in each.get("worse") or ()):
        is_soon_over = one["metric"] == "first step" and (one["steps"] or 0) < _LONG
        if one["metric"] in _PRICES and one["effect"]["value"] >= _MUCH and not is_soon_over:
            worse.setdefault(one["metric"], []).append({**one, "what": what})
    return worse


def _price(record: Mapping[str, Any]) -> str:
    """That in words."""
    worse = _much_worse(record)
    much = [f"{_much_more(ones)} more {_WHAT[metric]}" for metric, ones in worse.items()]
    return f"; the fast form takes {' and '.join(much)}{_ahead_until(record, worse)}" if much else ""


def _ahead_until(record: Mapping[str, Any], worse: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Up to which step the fast form is ahead, where its later steps eat up what it saves in the first."""
    later = worse.get("step time", ()) if record["claim"]["metric"] == "first step" else ()
    limits = sorted((float(one["steps"]), one["what"]) for one in later if one["steps"] is not None)
    told = [f"{_tens(steps)} steps{f' ({what})' if what else ''}" for steps, what in limits]
    return (
        f": it paid only in runs of fewer than {' or '.join(dict.fromkeys((told[0], told[-1])))}"
        if told
        else ""
    )


def _tens(value: float) -> str:
    return f"{round(value, -1):,.0f}"


def _much_more(worse: Sequence[Mapping[str, Any]]) -> str:
    """From the size where the fast form takes least more to the one where it takes most."""
    more = sorted(one["fast"] - one["slow"] for one in worse)
    return in_range(more, size if worse[0]["metric"].endswith("memory") else seconds)


def _effect(evidence: Evidence) -> float:
    return float(evidence.record["effect"]["value"])


def _slowdown(evidence: Evidence) -> str:
    """`steps get ever slower: of 60, the first 15 take 55 ms each and the last 15 take 160 ms each; in the fast form all take 1.0 ms`."""
    steps = evidence.record["steps"]
    ends = [_took(evidence, "slow", within) for within in ((0, steps / 4), (steps * 3 / 4, steps))]
    fast = [run["step"] for run in runs_of(evidence.record, "fast") if run.get("step")]
    if None in ends or not fast:
        return slowdown(ratio(_effect(evidence)), evidence.record)
    first, last = (seconds(end) for end in ends if end is not None)
    quarter = f"{steps // 4:,}"
    return (
        f"steps get ever slower: of {steps:,}, the first {quarter} take {first} each and the last {quarter} take {last} each; "
        f"in the fast form all take {seconds(median(fast))}"
    )


def _took(evidence: Evidence, side: Side, within: tuple[float, float]) -> float | None:
    """Seconds of a step between two steps of a run: the median over the runs of their means."""
    start, end = within
    means = []
    for run in runs_of(evidence.record, side):
        timed = [(took, steps) for at, steps, took in run["windows"] if start <= at < end]
        if timed:
            means.append(sum(took for took, _ in timed) / sum(steps for _, steps in timed))
    return median(means) if means else None


def _kept_tensors(evidence: Evidence) -> str:
    more = value_of(evidence.record, "slow")
    if more is None:
        return _other(evidence)
    tensors = count(more)
    return f"+{tensors} tensor{'' if tensors == '1' else 's'} kept a step"


def _kept_bytes(evidence: Evidence) -> str:
    more = value_of(evidence.record, "slow")
    return (
        _other(evidence)
        if more is None
        else f"+{size(more)} kept {evidence.record['claim'].get('step', 'a step')}"
    )


def _taken(evidence: Evidence) -> str:
    slow, fast = (value_of(evidence.record, side) for side in ("slow", "fast"))
    if slow is None or fast is None:
        return _other(evidence)
    metric = evidence.record["claim"]["metric"]
    return (
        f"nearly all {metric} taken ({gibibytes(slow)}), where the script's small net needs {gibibytes(fast)}"
    )


def _traces(evidence: Evidence) -> str:
    traces = value_of(evidence.record, "slow")
    if traces is None:
        return _other(evidence)
    if traces > _EACH:
        return f"a new trace each step{_time_of_traces(evidence)}"
    # How many there are depends on how many different shapes there are.
    steps = evidence.record["steps"]
    enough = count((value_of(evidence.record, "fast") or 0.0) * steps)
    said = f"traces in {steps:,} steps {count(traces * steps)} → {enough}"
    return f"{said}{_time_of_traces(evidence)}"


def _time_of_traces(evidence: Evidence) -> str:
    """What a trace took on top of a step, of the runs that the verdict is of."""
    (slow, traces), (fast, _) = (_step_and_traces(evidence, side) for side in ("slow", "fast"))
    return f", {seconds((slow - fast) / traces)} each" if traces and slow > fast else ""


def _step_and_traces(evidence: Evidence, side: Side) -> tuple[float, float]:
    """Seconds of a step in the mean, and traces."""
    runs = [run for run in runs_of(evidence.record, side) if run["windows"]]
    if not runs:
        return 0.0, 0.0
    means = [
        sum(took for _, _, took in run["windows"]) / sum(steps for _, steps, _ in run["windows"])
        for run in runs
    ]
    return median(means), value_of(evidence.record, side) or 0.0


def _other(evidence: Evidence) -> str:
    """`a step 7.6 → 1.0 ms`; a ratio of what has no unit, or of figures that are not on record."""
    claim = evidence.record["claim"]
    metric = claim["metric"]
    slow, fast = (value_of(evidence.record, side) for side in ("slow", "fast"))
    if metric not in _WHAT or claim["kind"] == "growth" or slow is None or fast is None or fast <= 0:
        return f"{ratio(_effect(evidence))} the {metric}"
    return f"{subject(metric, claim.get('step', 'a step'))} {became(slow, fast, metric)}"


_WORDS: Mapping[tuple[str, str], Callable[[Evidence], str]] = {
    ("step time", "growth"): _slowdown,
    ("live tensors", "growth"): _kept_tensors,
    ("host memory", "growth"): _kept_bytes,
    ("traces", "growth"): _traces,
    # That one takes all there is, no factor tells.
    ("device memory", "ratio"): _taken,
}
