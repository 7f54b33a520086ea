"""TFP505 map-before-batch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.apis.facts import methods
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.syntax import argument
from tflint_perf.analysis.values.values import Pipeline, Stage
from tflint_perf.edit import Editor
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .chains import move_behind


class MapBeforeBatch(Rule):
    """An element-wise `map` that runs on one element at a time, before `batch`.

    ## What it does

    Reports `map(f)` before `batch(n)`, with only `take`, `skip`, `shuffle`, `repeat`, `cache` and `prefetch`
    between them, where `f` is made of element-wise ops: arithmetic with numbers, `tf.cast`, `tf.one_hot`, `tf.math.log`
    and the like. Those give the same result on a batch.

    ## Why is this bad?

    Each call of a mapped function costs tens of microseconds, whatever it computes. Before `batch` it is
    called for each element; after it, once per batch, and its ops work on the whole batch at a time. What was measured are
    elements of 256 bytes, to train on: the larger they are, the less the call matters.

    ## Example

    ```python
    dataset = dataset.map(lambda x, y: (tf.cast(x, tf.float32) / 255.0, y)).batch(64)
    ```

    Use instead:

    ```python
    dataset = dataset.batch(64).map(lambda x, y: (tf.cast(x, tf.float32) / 255.0, y))
    ```

    ## What is left alone

    Functions with anything that is not known to be element-wise: decoding, resizing, random ops, reductions,
    reshaping, indexing, arithmetic between tensors that may differ in shape. Also `padded_batch` and the like, a
    `map` that already gets batches, pipelines that read or decode a file for each element, next to which a call is
    nothing, and what a `cache` after the `map` keeps from the first of several epochs on. Datasets
    that nothing reads, or of which only a few elements are looked at.

    ## Sources

    - TensorFlow guide, [Better performance with the tf.data API, *Vectorizing
      mapping*](https://www.tensorflow.org/guide/data_performance#vectorizing_mapping)
    """

    code = "TFP505"
    name = "map-before-batch"
    triggers = (".batch(",)
    fixes = "unsafe"
    any_backend = True
    claim = Claim(
        "time per sample",
        least=2.0,
        at="for a cast and a division of 256 bytes a sample, in batches of 256; no time is saved where a GPU trains longer on a batch than preparing it takes",
    )

    def check(self, model: Model) -> Iterator[Report]:
        seen: set[cst.Call] = set()
        for batch in model.calls_named("batch"):
            pipelines = model.stages.before(batch)
            if model.infer.integers.only(argument(batch, 0, "batch_size")) == 1:
                continue  # behind such a `batch` it is called as often
            if any(map(model.growth.decodes, pipelines)):
                continue
            for found in _elementwise_maps(model, pipelines, batch):
                call = found[0].call
                function = argument(call, 0, "map_func")
                if call in seen or function is None or model.successors.is_kept(call):
                    continue
                if model.successors.is_only_looked_at(batch):
                    continue
                seen.add(call)
                named = isinstance(function, cst.Name | cst.Attribute)
                name = f"`{model.module.code_for_node(function)}`" if named else "this function"
                yield Report(
                    function,
                    f"{name} is called for each element but gives the same result on a batch; move the `map` after `batch`",
                    partial(_move, stages=found),
                    as_measured=not model.successors.is_for_evaluation(call),  # the experiment trains
                )


def _elementwise_maps(model: Model, pipelines: list[Pipeline], batch: cst.Call) -> Iterator[Pipeline]:
    """The element-wise maps before `batch`, each with the stages that follow it.

    A map that only one of several ways leads through has to be in front of `batch` on each of them.
    """
    ways = [way for pipeline in pipelines if pipeline[-1].call is batch for way in _ways(model, pipeline)]
    for way in ways:
        through = [p for p in pipelines if any(stage.call is way[0].call for stage in p)]
        if len(through) == sum(other[0].call is way[0].call for other in ways):
            yield way


def _ways(model: Model, pipeline: Pipeline) -> Iterator[Pipeline]:
    for index in range(len(pipeline) - 2, -1, -1):
        stage = pipeline[index]
        if stage.name == "map" and _gives_the_same_on_a_batch(model, stage, pipeline[:index]):
            yield pipeline[index:]
        elif stage.name not in methods("Dataset", "keeps-elements"):
            return


def _gives_the_same_on_a_batch(model: Model, stage: Stage, before: Pipeline) -> bool:
    given = argument(stage.call, 0, "map_func")
    return (
        given is not None
        and model.stages.is_elementwise(given, before)
        and model.batching.along(before) != "batches"
    )


def _move(edit: Editor, stages: Pipeline) -> Repair | Refusal:
    mapped, *between, batch = stages
    for stage in between:
        if stage.name == "map":
            return Refusal("the `map` after it has to move first", argument(stage.call, 0, "map_func"))
    if len(list(edit.model.stages.goes_on(mapped.call))) > 1:
        return Refusal("the mapped dataset is used in several places")
    edits = move_behind(edit, mapped.call, batch.call)
    if isinstance(edits, Refusal):
        return edits
    return Repair(
        "Move the `map` after `batch`",
        edits,
        safe=False,
        may_change="rounding, and what fails on the last batch",
    )
