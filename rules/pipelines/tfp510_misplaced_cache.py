"""TFP510 misplaced-cache."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.apis.facts import methods
from tflint_perf.analysis.model import Model
from tflint_perf.edit import Editor
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .augmentations import Augmentations
from .chains import move_in_front
from .late_caches import LateCache, LateCaches

# Where only these lie between, a cache in front of them keeps as much of the work.
_CHEAP = frozenset((*methods("Dataset", "makes-batches"), "shuffle", "repeat", "prefetch", "cache"))
_MESSAGES = {
    "random": "`cache` keeps what the random `map` before it draws in the first epoch, for all epochs; "
    "cache before it",
    "shuffle": "`cache` keeps the order that `shuffle` gives in the first epoch, for all epochs; cache before it",
    "endless": "`cache` after an endless `repeat` grows with each step and is never read; cache before it",
    "repeat": "`cache` after `repeat` keeps each element as often as it is repeated; cache before it",
}


class MisplacedCache(Rule):
    """A `cache()` after a `repeat`, a `shuffle` or a random `map`.

    ## What it does

    Reports `cache` after `repeat`, after a `shuffle` that nothing after the cache does again, and after a `map`
    whose function draws random numbers.

    ## Why is this bad?

    A cache is read once it is complete: when all its input has been through. An endless `repeat` has no end, so
    the work before it is done again in every epoch, and every element of every epoch is kept in memory as well. What was
    measured is that work, of a `map` that decodes; where none stands before the cache that reads, decodes or resizes, little is done
    again, and only memory grows.
    After `repeat(n)`, the cache holds each element n times.

    After a random augmentation or a `shuffle`, the cache does save work, but keeps what must not be kept:
    all epochs see the same crops and flips, in the same order. Where the stages are cheap, such a cache is faster than
    one in the right place; what it costs is the augmentation.

    ## Example

    ```python
    dataset = dataset.map(decode).repeat().cache().shuffle(10_000).batch(64)
    ```

    Use instead:

    ```python
    dataset = dataset.map(decode).cache().repeat().shuffle(10_000).batch(64)
    ```

    ## What is left alone

    `cache(filename)` after a shuffle or an augmentation: what is written to a file is meant to stay. A shuffle with
    `reshuffle_each_iteration=False`, one before `take` and `skip`, one of file names that are read by `interleave`, or
    one that another shuffle follows. Random ops under a condition, functions that can't be seen, and datasets that
    are only evaluated on.

    ## Sources

    - TensorFlow guide, [Better performance with the tf.data API,
      *Caching*](https://www.tensorflow.org/guide/data_performance#caching)
    - TensorFlow API, [`tf.data.Dataset.cache`](https://www.tensorflow.org/api_docs/python/tf/data/Dataset#cache)
    """

    code = "TFP510"
    name = "misplaced-cache"
    triggers = (".cache(",)
    needs = (".repeat(", ".shuffle(", "andom", ".map(")
    fixes = "unsafe"
    any_backend = True
    claim = Claim(
        "step time",
        least=2.0,
        at="from the second epoch on, for a `cache` behind `repeat`, which decodes a batch of 64 JPEG images of 128 × 128 anew; its memory grows by an epoch of decoded images with each epoch, the fast form keeps one; no time is saved where a GPU trains longer on a batch than preparing it takes",
    )

    def check(self, model: Model) -> Iterator[Report]:
        for cache in model.calls_named("cache"):
            late = model.own(LateCaches).of(cache)
            if late is not None and not _is_thrown_away(model, cache) and not model.decided.never_runs(cache):
                yield Report(
                    cache,
                    _MESSAGES[late.why],
                    partial(_cache_first, late),
                    # A cache behind others is complete after a pass, and most maps do little anew.
                    as_measured=late.why == "endless" and late.saves,
                )


def _is_thrown_away(model: Model, cache: cst.Call) -> bool:
    """Whether nothing gets the cached dataset, so that nothing is cached: `data.cache()` (TFP606)."""
    receiver = cache.func.value if isinstance(cache.func, cst.Attribute) else None
    return isinstance(receiver, cst.Name | cst.Attribute) and isinstance(model.parent(cache), cst.Expr)


def _cache_first(late: LateCache, edit: Editor) -> Repair | Refusal:
    model = edit.model
    first, *between, cache = late.stages
    for stage in late.stages[:-1]:
        if len(model.successors.directly_behind(stage.call)) > 1:
            return Refusal(f"the result of `{stage.name}` is used in several places", stage.call)
    for stage in between:
        if stage.name not in _CHEAP and not model.own(Augmentations).draws(stage):
            return Refusal(f"`{stage.name}` would run anew in each epoch, behind the cache", stage.call)
    edits = move_in_front(edit, cache.call, first.call)
    if isinstance(edits, Refusal):
        return edits
    return Repair(
        f"Move the `cache` before `{first.name}`",
        edits,
        safe=False,
        may_change="which elements an epoch gets",
    )
