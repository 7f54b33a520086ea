"""Whether two scripts compute the same: the losses of as many steps, and what they have trained at the end of them.

A script that does less is fast. So both do as many steps, each loss is compared, and no step is timed that was not. Trained
variables are measured by how far training moved them. What is further apart than the claim allows is held against a third
run, of the slow script with its weights nudged: so far, and no further, rounding alone may go (`learning`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tflint_perf.verify.learning import Apart, Learned, apart, read_learned, sameness, share
from tflint_perf.verify.records import Losses

# Losses move less than weights do: these may differ by so many times what those may.
_TIMES_WEIGHTS = 10.0


@dataclass(frozen=True, slots=True)
class Values:
    """What a run has computed: the loss of each of its `steps`, and what it has trained; None where that was not seen."""

    steps: int
    losses: Mapping[int, float]
    trained: Learned | None

    @property
    def variables(self) -> int:
        """How many variables were seen to be trained."""
        return len(self.trained.last) if self.trained is not None else 0


def values_of(measured: Mapping[str, Any], out: Path) -> Values:
    """The values of a run from its raw figures, and the file in which it has left what it trained."""
    losses = {int(step): float(loss) for step, loss in measured["losses"]}
    steps = int(measured["yields"])
    trained = read_learned(out, steps)
    if trained is not None:
        trained = replace(trained, losses={step: (loss,) for step, loss in losses.items()})
    return Values(steps, losses, trained)


def compare_values(slow: Values, fast: Values, tolerance: float, control: Callable[[], Values]) -> Losses:
    """Whether both computed the same; `control` runs the slow script nudged, where that is to be known.

    `tolerance` is by how much losses may differ, relative to their size.
    """
    losses = compare_losses(slow.losses, fast.losses, tolerance)
    found = replace(losses, steps=min(slow.steps, fast.steps))
    if slow.variables and not fast.variables:
        why = f"the fast script trains nothing, the slow one {_variables(slow.variables)}"
        return replace(found, agree=False, not_compared="the fast script trains nothing", why=why)
    distance = _distance(slow, fast)
    if isinstance(distance, str):
        found, distance = replace(found, not_compared=distance), Apart(losses=_apart_in_losses(slow, fast))
    else:
        found = replace(found, weights=distance.most)
    if not math.isfinite(found.difference):
        return found
    if found.agree and _are_close(distance, tolerance):
        return found
    return _held_against(found, distance, slow, control())


def _held_against(found: Losses, distance: Apart, slow: Values, nudged: Values) -> Losses:
    """What is said of a difference, once it is known how far rounding alone goes."""
    if slow.trained is None or nudged.trained is None:
        return found
    same = sameness([distance], apart(slow.trained, nudged.trained), [])
    if same.verdict == "same":
        return replace(
            found, agree=True, why=f"the same {same.why}" if same.why.startswith("in ") else same.why
        )
    if same.verdict == "unknown":
        return replace(found, agree=False, why=f"it is unclear whether they compute the same: {same.why}")
    return replace(found, agree=False, why=same.why if found.agree else "")


def _distance(slow: Values, fast: Values) -> Apart | str:
    """How far apart what was trained is, or why that is not compared."""
    if slow.trained is None or fast.trained is None:
        return "what they train could not be seen"
    if not slow.variables:
        return "no variable was seen to be trained"
    found = apart(slow.trained, fast.trained)
    if found.mismatch:
        return f"the fast script {found.mismatch}"
    if any(math.isnan(difference) for difference in found.variables):
        return "they are not finite"
    return found


def _apart_in_losses(slow: Values, fast: Values) -> tuple[tuple[int, float], ...]:
    if slow.trained is None or fast.trained is None:
        return ()
    return apart(replace(slow.trained, first=(), last=()), replace(fast.trained, first=(), last=())).losses


def _are_close(distance: Apart, tolerance: float) -> bool:
    return all(
        own <= max(_TIMES_WEIGHTS * tolerance, rounding)
        for own, rounding in zip(distance.variables, distance.rounding, strict=True)
    )


def compare_losses(slow: Mapping[int, float], fast: Mapping[int, float], tolerance: float) -> Losses:
    """The losses that both runs looked at, by step; the difference is relative to the larger one.

    Up to the last step that both reached, both must have looked at the same ones.
    """
    last = min(max(slow, default=-1), max(fast, default=-1))
    steps = {step for step in (*slow, *fast) if step <= last}
    difference = max((_difference(slow.get(step), fast.get(step)) for step in steps), default=math.inf)
    return Losses(difference <= tolerance, difference)


def _difference(one: float | None, other: float | None) -> float:
    if one is None or other is None or not (math.isfinite(one) and math.isfinite(other)):
        return math.inf
    return abs(one - other) / max(abs(one), abs(other)) if one != other else 0.0


def disagreement(losses: Losses, tolerance: float) -> str:
    """What is not the same, in a few words."""
    if losses.why:
        return losses.why
    if math.isinf(losses.difference):
        return "the losses are not all finite, or were not seen at the same steps"
    return f"the losses differ by {losses.difference:.2g}; the claim allows {tolerance:g}"


def agreement(losses: Losses) -> str:
    """What was compared, in a sentence without its full stop: losses of how many steps, weights or why not."""
    if losses.steps is None:
        return ""
    said = f"the losses of {losses.steps:,} steps"
    if losses.weights is None:
        return f"{said} agree; trained weights were not compared: {losses.not_compared}"
    to = f"to {share(losses.weights)} of what training moved them" if losses.weights else "to the last bit"
    return f"{said} and the trained weights agree, these {to}"


def _variables(count: int) -> str:
    return f"{count} variable{'s' * (count != 1)}"
