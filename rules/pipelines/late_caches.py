"""Caches that keep what was to be made anew, or that are never complete."""

from __future__ import annotations

from typing import Literal

import libcst as cst

from tflint_perf.analysis.conventions import names_an_epoch
from tflint_perf.analysis.pipelines.stages import Stages
from tflint_perf.analysis.pipelines.successors import Successors
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.syntax import (
    argument,
    descendants,
    has_stars,
    integer,
    is_name,
    last_name,
    same_code,
)
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Pipeline
from tflint_perf.records import dataclass

from .augmentations import Augmentations
from .mapped_work import MappedWork

Why = Literal["random", "shuffle", "repeat", "endless"]

# A shuffle in front of these is one of files, or a way to split a dataset: its order is to be kept, or does not matter.
_SPLITS = frozenset({"take", "skip", "shard", "flat_map", "interleave", "unbatch", "take_while"})


@dataclass(frozen=True, slots=True)
class LateCache:
    """`stages` go from the one that the cache should stand in front of to the cache; `saves` says whether a `map` before it
    is seen to read, decode or resize, which a cache in the right place saves."""

    stages: Pipeline
    why: Why
    saves: bool


class LateCaches(Part):
    """Answers what a `cache` stands behind but should stand in front of."""

    own = (Augmentations, MappedWork)

    _infer: Inference
    _stages: Stages
    _successors: Successors
    _augmentations: Augmentations
    _mapped_work: MappedWork

    def of(self, cache: cst.Call) -> LateCache | None:
        """The nearest stage before `cache` that should not be there, in one of the pipelines that build its dataset."""
        ways = [way for way in self._stages.before(cache) if way[-1].call is cache]
        for way in ways:
            for index in reversed(range(len(way) - 1)):
                why = self._why(way, index)
                if why is not None:
                    saves = any(
                        stage.name == "map" and self._mapped_work.reads_or_decodes(stage) for stage in way
                    )
                    return LateCache(way[index:], why, saves)
        return None

    def _why(self, way: Pipeline, index: int) -> Why | None:
        stage, cache = way[index], way[-1].call
        if has_stars(stage.call) or self._excludes(stage.call, cache):
            return None
        if stage.name == "repeat" and index:
            if any(behind.name in ("take", "take_while") for behind in way[index:]):
                return None  # that ends it
            given = argument(stage.call, 0, "count")
            if given is None or is_name(given, "None") or integer(given) == -1:
                return "endless"
            several = (integer(given) or 0) > 1 or bool(names_an_epoch(last_name(given)))
            return "repeat" if several and not cache.args else None
        # What is written to a file once is meant to be kept.
        if cache.args or self._successors.is_for_evaluation(cache):
            return None
        if stage.name == "map" and self._augmentations.draws(stage):
            return "random"
        return "shuffle" if stage.name == "shuffle" and self._keeps_order(way, index) else None

    def _excludes(self, one: cst.Call, other: cst.Call) -> bool:
        """Whether the conditions on `one` and on `other` ask different things of one value: both may never hold."""
        asked, also = (list(conditions(self._walk, call, exits=False)) for call in (one, other))
        return any(
            here is not there and _names_in(here) & _names_in(there) and not same_code(here, there)
            for here in asked
            for there in also
            if here not in also and there not in asked
        )

    def _keeps_order(self, way: Pipeline, index: int) -> bool:
        """Whether a shuffle gives another order in each epoch, which nothing after the cache does again."""
        stage = way[index]
        again = argument(stage.call, 2, "reshuffle_each_iteration")
        if again is not None and not is_name(again, "True"):
            return False
        names = {behind.name for behind in way[index + 1 :]}
        later = {behind.name for behind in self._successors.behind(way[-1].call)}
        return not names & _SPLITS and not later & {"shuffle", *_SPLITS}


def _names_in(node: cst.CSTNode) -> set[str]:
    """The names of what a condition asks: `cache` for `not self.cache`."""
    parts = list(descendants(node))
    bases = {part.value for part in parts if isinstance(part, cst.Attribute)}
    return {
        last_name(part) for part in parts if isinstance(part, cst.Name | cst.Attribute) and part not in bases
    }
