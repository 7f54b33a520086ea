"""TFP502 missing-prefetch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.pipelines.consumption import Consumption
from tflint_perf.analysis.pipelines.prefetching import last_work, late_ways
from tflint_perf.analysis.python.syntax import callee_name
from tflint_perf.analysis.values.values import Pipeline
from tflint_perf.edit import Editor
from tflint_perf.edit.judged import judged
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .links import append, autotune, has_no_autotune, name_of_autotune


class MissingPrefetch(Rule):
    """A dataset that makes a batch only when a step asks for it.

    ## What it does

    Reports a dataset that is given to `fit`, `evaluate` or `predict`, or iterated into a training or inference
    step, with no `prefetch` after its last `batch` or `map`; also one that an estimator's input function returns,
    or that a TensorFlow 1 graph trains on through an iterator.

    ## Why is this bad?

    Without `prefetch`, the next batch is made after the step, not while the step runs, so that a step takes as long
    as both. Current TensorFlow adds a `prefetch` itself where the last stage works in the calling thread
    (`inject_prefetch`, on by default), and a parallel `map` works ahead anyway: there, the call changes nothing. It
    matters in older versions, and where these optimizations are switched off, which was not measured.

    ## Example

    ```python
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(64)
    model.fit(dataset)
    ```

    Use instead:

    ```python
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(64).prefetch(tf.data.AUTOTUNE)
    model.fit(dataset)
    ```

    ## What is left alone

    Datasets kept in memory by `cache()` with nothing after it, joined from inputs that are prefetched, of unknown
    origin, or distributed by a strategy, which prefetches itself; loops that only look at a few elements. The fix is
    safe where nothing that the elements are made from can change before they are needed: no files, generators or variables.

    ## Sources

    - TensorFlow guide, [Better performance with the tf.data API,
      *Prefetching*](https://www.tensorflow.org/guide/data_performance#prefetching)
    - TensorFlow API, [`tf.data.experimental.OptimizationOptions`,
      *inject_prefetch*](https://www.tensorflow.org/api_docs/python/tf/data/experimental/OptimizationOptions)
    """

    code = "TFP502"
    name = "missing-prefetch"
    triggers = ("batch(", ".map(")
    needs = ("ataset", "_ds", "_set", "oader", "fit", "evaluate", "predict", "GradientTape", "_on_batch")
    fixes = "both"
    any_backend = True
    claim = Claim(
        "step time",
        least=1.2,
        steps=200,
        at="from a source as slow as the rest of the step; TensorFlow adds a prefetch by itself",
    )

    def check(self, model: Model) -> Iterator[Report]:
        seen: set[cst.CSTNode] = set()
        # Who consumes what this file makes for others is asked only where the answer counts.
        elsewhere = model.exported_datasets.consumptions(
            lambda value: any(_end(ways[-1]) not in seen for ways in late_ways(model.infer, value, None))
        )
        here = ((each, model.names.scope_of(each.node)) for each in model.pipelines.consumptions())
        for consumption, scope in chain(here, ((each, None) for each in elsewhere)):
            for ways in late_ways(model.infer, consumption.value, scope):
                end = _end(ways[-1])
                # What another file makes is reported there.
                if end is None or end in seen or model.distributed.is_distributed(consumption.node):
                    continue
                seen.add(end)
                if model.decided.never_runs(end):
                    continue
                is_off = model.parallelism.never_prefetches(last_work(ways[-1]).call)
                by_itself = (
                    "and this one's options keep TensorFlow from adding it"
                    if is_off
                    else "which TensorFlow adds by itself unless that is off"
                )
                yield Report(
                    _at_fault(model, ways[-1]),
                    f"the pipeline ends without a `prefetch`, {by_itself}; add `.prefetch(tf.{name_of_autotune(model)})` at the end",
                    partial(_prefetch, consumption=consumption, end=end if len(ways) == 1 else None),
                    as_measured=not is_off,  # the experiment leaves TensorFlow its way
                )


def _at_fault(model: Model, way: Pipeline) -> cst.Call:
    """The last stage that works on elements; where several pipelines branch off right behind it, the last of this one."""
    work, end = last_work(way), way[-1]
    here = model.function_at(work.call)
    behind = [stage for stage in model.stages.goes_on(work.call) if model.function_at(stage) is here]
    branches = len(behind) > 1 and end.origin is None and model.function_at(end.call) is here
    return end.call if branches else work.call


def _end(way: Pipeline) -> cst.Call | None:
    """The last stage of a pipeline, if this file adds it; what takes some of the batches does not count."""
    stages = [stage for stage in way if stage.name != "take"]
    return stages[-1].call if stages[-1].origin is None else None


def _prefetch(edit: Editor, consumption: Consumption, end: cst.Call | None) -> Repair | Refusal:
    """Prefetch where the dataset is built, at the `end` of the only way to do that, else where it is consumed."""
    model, node = edit.model, consumption.node
    if (missing := has_no_autotune(edit, node)) is not None:
        return missing
    if end is not None and _has_one_use(model, end):
        changed: cst.BaseExpression = end
        autotuned, imports = autotune(edit, end)
        added = append(edit, end, f".prefetch({autotuned})")
    elif not isinstance(node, cst.Name | cst.Attribute | cst.Call) or node.lpar:
        return Refusal("it is not a plain name or call", node)
    elif consumption.value.kind != "dataset":
        return Refusal("it is already an iterator", node)
    else:
        changed = node
        autotuned, imports = autotune(edit, node)
        added = edit.edit(edit.end(node), edit.end(node), f".prefetch({autotuned})")
    doubt = model.rewriting.doubt_of_reading_ahead(consumption.value, changed)
    return judged(f"Add `.prefetch({autotuned})`", [*imports, added], doubt)


def _has_one_use(model: Model, end: cst.Call) -> bool:
    """Whether steps consume all that the stage `end` gives."""
    behind = model.stages.goes_on(end)
    return not model.pipelines.is_looped_over_otherwise(end) and all(
        callee_name(call) == "take" for call in behind
    )
