"""What a finding says that it costs, and where that was measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from tflint_perf.catalogue.cost_over_sizes import (
    Behaviour,
    SizedCost,
    behaviour,
    cost_over_sizes,
    sized_costs,
)
from tflint_perf.catalogue.evidence import Evidence, all_evidence
from tflint_perf.catalogue.figures import count, ratio, size
from tflint_perf.catalogue.measured import value_of
from tflint_perf.records import dataclass

WHAT_COSTS_ARE = (
    "Costs come from each rule's own small script, its slow form against its fast one: in your program they may be larger or "
    "smaller, and they don't add up or multiply."
)
# A price of the fast form that a message tells, and how: the first step is over soon.
_MUCH = 1.5
_PRICES = frozenset({"step time", "time per sample", "host memory", "peak device memory"})
# The first steps of a run may be the only ones without a new trace.
_EACH = 0.9
_SHORT_OF = {"refuted": "less than", "inconclusive": "not surely"}


def with_cost(code: str, message: str) -> str:
    """The message of a finding with the cost of its rule at the end; as it is when nothing was measured."""
    cost = cost_on_record(code)
    return message if cost is None else f"{message} ({cost})"


def without_cost(code: str, message: str) -> str:
    """The message of a finding without that cost."""
    cost = cost_on_record(code)
    return message if cost is None else message.removesuffix(f" ({cost})")


def with_own_cost(code: str, message: str, own: str) -> str:
    """The message of a finding with what a run of the user's own program says, behind the cost of its rule."""
    cost = cost_on_record(code)
    if cost is not None and message.endswith(f" ({cost})"):
        return f"{message[:-1]}; {own})"
    return f"{message} ({own})"


@cache
def cost_on_record(code: str) -> str | None:
    """The cost of a rule by the evidence on record."""
    return cost_of(all_evidence().get(code, ()))


def cost_of(evidence: Sequence[Evidence], *, in_table: bool = False) -> str | None:
    """The cost in a few words for each kind of device that has measured it: `rule's script, CPU: 17× the step time`.

    So nobody takes it for a measurement of his own step; a table of rules is about none, and does without. Where it was measured
    at three sizes, they say what it is (`sizes`).

    The newest record of a kind of device speaks for it. A claim that did not hold there says so beside its
    figure, for people may select a rule that is off. None where no device has a figure.
    """
    said = [_cost(record) for record in _newest(evidence)]
    if not said:
        return None
    return "; ".join(said) if in_table else f"rule's script, {'; '.join(said)}"


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


def costs_said(code: str, message: str) -> list[Cost]:
    """The figures behind the cost that a finding's message says; none where it says none."""
    cost = cost_on_record(code)
    if cost is None or not (message.endswith(f" ({cost})") or f" ({cost}; " in message):
        return []
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
    said = cost_over_sizes(evidence.record) or say(evidence)
    if evidence.verdict != "confirmed":
        short = _SHORT_OF.get(evidence.verdict)
        held = f"{short} the {ratio(claim['least'])} that it claims" if short else evidence.verdict
        return f"{evidence.where}: {said}, {held}"
    return f"{evidence.where}: {said}{_price(evidence)}"


def _price(evidence: Evidence) -> str:
    """What the fast form costs of step time and memory where that is much; a rule's page has the rest."""
    much = [
        f"{ratio(one['effect']['value'])} the {one['metric']}"
        for one in evidence.record.get("worse") or ()
        if one["metric"] in _PRICES and one["effect"]["value"] >= _MUCH
    ]
    return f", but the fast form takes {' and '.join(much)}" if much else ""


def _effect(evidence: Evidence) -> float:
    return float(evidence.record["effect"]["value"])


def _slowdown(evidence: Evidence) -> str:
    return f"{ratio(_effect(evidence))} the first steps' time after {evidence.record['steps']:,} steps"


def _kept_tensors(evidence: Evidence) -> str:
    more = value_of(evidence.record, "slow")
    if more is None:
        return _other(evidence)
    tensors = count(more)
    return f"+{tensors} tensor{'' if tensors == '1' else 's'} a step"


def _kept_bytes(evidence: Evidence) -> str:
    more = value_of(evidence.record, "slow")
    return (
        _other(evidence)
        if more is None
        else f"+{size(more)} {evidence.record['claim'].get('step', 'a step')}"
    )


def _taken(evidence: Evidence) -> str:
    slow, fast = (value_of(evidence.record, side) for side in ("slow", "fast"))
    if slow is None or fast is None:
        return _other(evidence)
    return f"{size(slow)} of {evidence.record['claim']['metric']} instead of {size(fast)}"


def _traces(evidence: Evidence) -> str:
    traces = value_of(evidence.record, "slow")
    if traces is None:
        return _other(evidence)
    if traces > _EACH:
        return "a new trace each step"
    # How many more come depends on how many different shapes there are.
    steps = evidence.record["steps"]
    return f"+{count(traces * steps)} traces in {steps:,} steps"


def _other(evidence: Evidence) -> str:
    return f"{ratio(_effect(evidence))} the {evidence.record['claim']['metric']}"


_WORDS: Mapping[tuple[str, str], Callable[[Evidence], str]] = {
    ("step time", "growth"): _slowdown,
    ("live tensors", "growth"): _kept_tensors,
    ("host memory", "growth"): _kept_bytes,
    ("traces", "growth"): _traces,
    # That one takes all there is, no factor tells.
    ("device memory", "ratio"): _taken,
}
