"""Whether a dataset's elements are made ahead of the step that takes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from tflint_perf.analysis.apis.facts import methods
from tflint_perf.analysis.pipelines.applied import applied
from tflint_perf.analysis.python.scopes import Block, Scope
from tflint_perf.analysis.python.syntax import argument, integer
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.values import NOWHERE, Pipeline, Stage, Value

# "late": made when a step asks for them; "ahead": made before; "kept": in memory once they are made; "raw": nothing has
# to be made.
Readiness = Literal["raw", "late", "ahead", "kept", "unknown"]

_BY_NAME: dict[str, Readiness] = {"raw": "raw", "late": "late", "ahead": "ahead", "kept": "kept"}
_WORST_FIRST: tuple[Readiness, ...] = ("unknown", "late", "ahead", "kept")
# A pipeline that takes no more elements than this is looked at, not trained on.
_FEW = 10


def readiness(value: Value) -> Readiness:
    """How far ahead a dataset's elements are made, however it was built; "unknown" where that differs.

    Where it is kept in memory or not as an option says, they are late.
    """
    found = {readiness_along(pipeline) for pipeline in value.pipelines}
    if found == {"late", "kept"}:
        return "late"
    return found.pop() if len(found) == 1 else "unknown"


def late_ways(infer: Inference, value: Value, scope: Scope | None) -> list[list[Pipeline]]:
    """The pipelines of the dataset that don't prepare their elements ahead of time; alternatives together, in their
    order.

    Where it is an option to make them ahead, they are left out, and so are the beginnings of other ways. What `scope`
    builds for itself by a condition is one dataset; what it gets from elsewhere is another for each caller.
    """
    going_on = {stage.call for way in value.pipelines for stage in way[:-1] if readiness_along(way) != "kept"}
    late = [way for way in value.pipelines if readiness_along(way) == "late" and way[-1].call not in going_on]
    late.sort(key=lambda way: infer.place(way[-1].call).order)
    groups: list[list[Pipeline]] = []
    for way in late:
        group = next((group for group in groups if _are_alternatives(infer, group[0], way, scope)), None)
        if group is None:
            groups.append([way])
        else:
            group.append(way)
    return groups


def _are_alternatives(infer: Inference, one: Pipeline, other: Pipeline, scope: Scope | None) -> bool:
    """Whether two ways end in one statement, or in branches of `scope` of which only one is taken."""
    here, there = (infer.place(way[-1].call) for way in (one, other))
    if here.order == there.order:
        return True
    if infer.names.scope_of(one[-1].call) is not scope:
        return False
    branches = {block.owner: block.branch for block in _around(here.block)}
    taken = [
        (branches[block.owner], block.branch) for block in _around(there.block) if block.owner in branches
    ]
    return any(branch != another for branch, another in taken)


def _around(block: Block) -> Iterator[Block]:
    current: Block | None = block
    while current is not None:
        yield current
        current = current.parent


def last_work(pipeline: Pipeline) -> Stage:
    """The last stage that does any work on elements; the last of all where another file does that."""
    kept = any(stage.name == "cache" for stage in pipeline)
    working = (
        stage
        for stage in reversed(pipeline)
        if (applied(stage.call) if stage.name == "apply" else stage.name) in methods("Dataset", "works")
        or stage.name in methods("Dataset", "joins")
        or (stage.name == "cache" and stage.call.args)
        or (stage.name == "shuffle" and kept)
    )
    return next(working, pipeline[-1])


def readiness_along(pipeline: Pipeline) -> Readiness:
    """The same at the end of one way in which a dataset is built."""
    state: Readiness = "raw"
    if pipeline and pipeline[0].origin is NOWHERE:
        return "unknown"
    if pipeline and pipeline[0].origin is not None:
        state = _BY_NAME.get(pipeline[0].origin.ready, "unknown")
        pipeline = pipeline[1:]
    few = False  # elements: to look at, or to try something out
    for stage in pipeline:
        few = (few and stage.name not in methods("Dataset", "multiplies", "joins")) or (
            stage.name == "take" and not takes_many(stage)
        )
        state = _after(stage, state)
    return "unknown" if few else state


def _after(stage: Stage, state: Readiness) -> Readiness:
    name = applied(stage.call) or stage.name if stage.name == "apply" else stage.name
    if name in methods("Dataset", "ahead"):
        return "ahead"
    if name == "cache" and not stage.call.args:
        return "kept"
    if name in methods("Dataset", "works") or (name == "shuffle" and state == "kept"):
        return "late"
    if name == "take" and not takes_many(stage):
        return "unknown"
    if name == "apply":
        return "unknown"
    if name in methods("Dataset", "joins"):
        return _joined([state, *map(readiness, stage.inputs)] if stage.inputs else ["unknown"])
    return state


def takes_many(stage: Stage) -> bool:
    """Whether `stage` is a `take` of more than a few elements."""
    few = range(_FEW + 1)
    return stage.name == "take" and integer(argument(stage.call, 0, "count")) not in few


def _joined(states: list[Readiness]) -> Readiness:
    """What several datasets make together: it is late where one of them is, and the others are known."""
    return next((state for state in _WORST_FIRST if state in states), "raw")
