"""Whether a dataset's elements are made ahead of the step that takes them."""

from __future__ import annotations

from typing import Literal

from tflint_perf.model.dataset_apis import BATCHING
from tflint_perf.model.syntax import argument, integer
from tflint_perf.model.values import Pipeline, Stage, Value

# "late": made when a step asks for them; "ahead": made before, or kept in memory; "raw": nothing has to be made.
Readiness = Literal["raw", "late", "ahead", "unknown"]

_WORKING = frozenset((*BATCHING, "map"))
_AHEAD = frozenset({"prefetch", "prefetch_to_device"})
_JOINING = frozenset({"zip", "concatenate", "choose_from_datasets", "sample_from_datasets"})
# A pipeline that takes no more elements than this is looked at, not trained on.
_FEW = 10


def readiness(value: Value) -> Readiness:
    """How far ahead a dataset's elements are made, however it was built; "unknown" where that differs."""
    found = {readiness_along(pipeline) for pipeline in value.pipelines}
    return found.pop() if len(found) == 1 else "unknown"


def readiness_along(pipeline: Pipeline) -> Readiness:
    """The same at the end of one way in which a dataset is built."""
    state: Readiness = "raw"
    for stage in pipeline:
        state = _after(stage, state)
    return state


def _after(stage: Stage, state: Readiness) -> Readiness:
    name = stage.name
    if name in _AHEAD or (name == "cache" and not stage.call.args):
        return "ahead"
    if name in _WORKING:
        return "late"
    if name == "take" and integer(argument(stage.call, 0, "count")) in range(_FEW + 1):
        return "unknown"
    if name == "apply":
        return "unknown"
    if name in _JOINING:
        return _joined([state, *map(readiness, stage.inputs)] if stage.inputs else ["unknown"])
    return state


def _joined(states: list[Readiness]) -> Readiness:
    """What several datasets make together: it is late where one of them is, and the others are known."""
    if "unknown" in states:
        return "unknown"
    return "late" if "late" in states else "ahead" if "ahead" in states else "raw"
