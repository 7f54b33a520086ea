"""Shuffles whose buffer holds what an earlier stage has made large: decoded images, floats, whole batches."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has, methods
from tflint_perf.analysis.conventions import names_a_batch_size
from tflint_perf.analysis.execution.decided import Told, constant_of, is_left_out
from tflint_perf.analysis.pipelines.applied import applied
from tflint_perf.analysis.pipelines.batching import Batching
from tflint_perf.analysis.pipelines.growth import OF_BYTES, Growth
from tflint_perf.analysis.pipelines.stages import Stages
from tflint_perf.analysis.pipelines.successors import Successors
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    is_name,
    keyword_argument,
    last_name,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Pipeline, Stage, Value
from tflint_perf.records import dataclass

BATCHES = "batches"
_BUCKETING = "bucket_by_sequence_length"
# A buffer of so many bytes is nothing beside what TensorFlow itself takes.
_LITTLE = 16 * 2**20
# Photos of a million numbers in as many floats take 160 MB.
_FEW = 40
_PARTS = frozenset({"take", "skip"})
# Stages that may as well stand behind a shuffle; a source may not.
_MOVABLE = frozenset({"map", "apply", *methods("Dataset", "makes-batches")})
# Stands for what comes behind a dataset.
_END = Stage("end", cst.Call(cst.Name("end")))


@dataclass(frozen=True, slots=True)
class LateShuffle:
    """`stages` go from the one that makes elements large to the `shuffle`; `how` is what it does, or `BATCHES`."""

    stages: Pipeline
    how: str


class LateShuffles(Part):
    """Answers which shuffles come too late."""

    _infer: Inference
    _batching: Batching
    _growth: Growth
    _stages: Stages
    _successors: Successors
    _calls: CallGraph

    def of(self, shuffle: cst.Call) -> LateShuffle | None:
        """What makes `shuffle` come too late in its pipeline; None where that is not so on each way in which its
        dataset is built.

        A way that leads through the same stage, and then through one of which nothing is known, may be as late.
        """
        if self._infer.integers.only(argument(shuffle, 0, "buffer_size")) == 1:
            return None
        if self._successors.is_only_looked_at(shuffle):
            return None
        if self._is_thrown_away(shuffle):
            return None
        ways = [way for way in self._stages.before(shuffle) if way[-1].call is shuffle]
        # To keep all elements is an option where another way leads past it, if it is not the usual one.
        passing = [way for way in ways if not any(map(_keeps_all, way))]
        usual = [way for way in ways if any(_keeps_all(each) and self._is_usual(each.call) for each in way)]
        found = {way: self._along(way) for way in usual or passing or ways}
        found = {
            way: late for way, late in found.items() if late is None or not self._holds_little(way, late)
        }
        late = next((each for each in found.values() if each is not None), None)
        if late is None or late.how == BATCHES:
            return late if None not in found.values() else None
        large = late.stages[0].call
        others = (way for way, how in found.items() if how is None)
        return late if all(_may_be_as_late(way, large) for way in others) else None

    def _is_usual(self, stage: cst.Call) -> bool:
        """Whether a parameter that is true by default has `stage` added."""
        function = self._calls.function_at(stage)
        told = Told(self._infer, self._calls).by_call(function, None) if function is not None else None
        return told is not None and any(
            constant_of(test, told) == (True,) and not is_left_out(self._infer.walk, stage, told)
            for test in conditions(self._infer.walk, stage, exits=False)
            if isinstance(test, cst.BaseExpression)
        )

    def _holds_little(self, way: Pipeline, late: LateShuffle) -> bool:
        """Whether the buffer takes next to nothing with images or floats in it, too: a few of them, or small ones."""
        held = self._infer.integers.most(argument(way[-1].call, 0, "buffer_size"))
        if held is None or late.how == BATCHES:
            return False
        return held <= _FEW or (late.how == OF_BYTES and held * self._growth.bytes_of_floats(way) < _LITTLE)

    def _is_thrown_away(self, shuffle: cst.Call) -> bool:
        """Whether the result of `shuffle` is thrown away, as in a statement `dataset.shuffle(n)`: nothing is shuffled
        by that."""
        receiver = shuffle.func.value if isinstance(shuffle.func, cst.Attribute) else None
        return isinstance(receiver, cst.Name) and isinstance(self._infer.walk.parents.get(shuffle), cst.Expr)

    def _along(self, pipeline: Pipeline) -> LateShuffle | None:
        others = (
            index
            for index, stage in enumerate(pipeline)
            if stage.name in methods("Dataset", "other-elements") and not self._buckets(stage)
        )
        start = max(others, default=-1) + 1
        for index in range(start, len(pipeline) - 1):
            if pipeline[index].name == "shuffle":
                return None  # what stands behind it is shuffled already
            how = self._how(pipeline, index)
            behind = pipeline[index + 1 : -1]
            if not how:
                continue
            if any(stage.name == "shuffle" for stage in behind):
                return None
            # A shuffle in front of a cache gives one order for good, which is not random enough wherever batches are kept.
            if how != BATCHES and any(map(_keeps_all, behind)):
                continue
            if pipeline[index].name not in _MOVABLE and self._is_split(pipeline[index:-1]):
                return None
            stay_large = how == BATCHES or all(
                self._growth.stays_large(stage, pipeline[:at], how)
                for at, stage in enumerate(behind, index + 1)
            )
            return LateShuffle(pipeline[index:], how) if stay_large else None
        return None

    def _is_split(self, stages: Pipeline) -> bool:
        """Whether `take` and `skip` split what one of `stages` gives into several datasets: in another order, elements
        would be now in one of them and now in the other."""
        return any(
            sum(behind.name in _PARTS for behind in self._successors.directly_behind(stage.call)) > 1
            for stage in stages
        )

    def how_large(self, value: Value) -> str:
        """How the elements of a dataset, which are not batched, were made large in all ways of building it."""
        if any(
            stage.name in methods("Dataset", "makes-batches", "other-elements", "rebatches")
            for way in value.pipelines
            for stage in way
        ):
            return ""
        return self._at_end(value)

    def _how(self, pipeline: Pipeline, index: int) -> str:
        """How a stage makes elements large; "" where nothing is seen to."""
        stage = pipeline[index]
        if stage.origin is not None:
            batched = stage.origin.elements == "batches" and not self._is_batched_later(pipeline[-1].call)
            return stage.origin.large or (BATCHES if batched else "")
        if self._buckets(stage):
            return BATCHES if not self._is_batched_later(pipeline[-1].call) else ""
        if stage.name in methods("Dataset", "makes-batches") or fact(stage.name, "batched") == "yes":
            if self._infer.integers.is_one_batch(pipeline[: index + 1]):
                return ""
            return BATCHES if self._makes_batches(stage, pipeline[-1].call) else ""
        if stage.name == "zip":
            if {self._batching.elements(given) for given in stage.inputs} == {"batches"}:
                return BATCHES if not self._is_batched_later(pipeline[-1].call) else ""
            return next(filter(None, map(self._at_end, stage.inputs)), "")
        return self._growth.of_stage(stage, pipeline[:index])

    def _at_end(self, value: Value) -> str:
        """How a dataset that is joined to others was made large, however it was built; "" where it was not."""
        hows = {late.how if (late := self._along((*way, _END))) else "" for way in value.pipelines}
        return hows.pop() if len(hows) == 1 and BATCHES not in hows else ""

    def _is_batched_later(self, shuffle: cst.Call) -> bool:
        return any(
            behind.name in methods("Dataset", "makes-batches", "other-elements", "rebatches")
            for behind in self._successors.behind(shuffle)
        )

    def _buckets(self, stage: Stage) -> bool:
        """Whether `stage` makes batches of sequences of similar length, by itself or through a function with a name
        that it applies."""
        if stage.name != "apply":
            return stage.name == _BUCKETING
        given = argument(stage.call, 0, "transformation_func")
        if not isinstance(given, cst.Name):
            return applied(stage.call) == _BUCKETING
        made = [binding.value for binding in self._infer.bindings(given)]
        return bool(made) and all(
            isinstance(each, cst.Call) and callee_name(each) == _BUCKETING for each in made
        )

    def _makes_batches(self, stage: Stage, shuffle: cst.Call) -> bool:
        """Whether `stage` makes the batches that a step gets, and not sequences that are batched later."""
        if self._is_batched_later(shuffle):
            return False
        if fact(stage.name, "batched") == "yes":
            size = keyword_argument(stage.call, "batch_size")
            if has(stage.name, "shuffled") and not is_name(keyword_argument(stage.call, "shuffle"), "False"):
                return False
            return not is_name(size, "None") and self._infer.integers.only(size) != 1
        if self._successors.is_consumed(shuffle):
            return self._infer.integers.only(argument(stage.call, 0, "batch_size")) != 1
        size = argument(stage.call, 0 if stage.name == "batch" else None, "batch_size")
        return bool(names_a_batch_size(last_name(size)))


def _may_be_as_late(way: Pipeline, large: cst.Call) -> bool:
    """Whether a way leads through the stage that makes elements large, and no other dataset is joined to it behind that: a
    shuffle is there to mix the two."""
    at = next((index for index, stage in enumerate(way) if stage.call is large), None)
    return at is not None and not any(stage.name in methods("Dataset", "joins") for stage in way[at:])


def _keeps_all(stage: Stage) -> bool:
    """Whether `stage` keeps all elements, so that those in front of it run only once."""
    return stage.name == "cache"
