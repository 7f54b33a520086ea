"""TFP501 unbatched-dataset."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.pipelines.batching import batch_of_one
from tflint_perf.analysis.pipelines.consumption import Consumption
from tflint_perf.edit import Editor
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .chains import insert_in_front


class UnbatchedDataset(Rule):
    """A dataset that gives a model one sample at a time.

    ## What it does

    Reports a dataset that was never batched where it is given to `fit`, `evaluate` or `predict`, or iterated into
    a training or inference step; also one in batches of one, `batch(1)`, where the file names a batch size above 1.

    ## Why is this bad?

    A step costs about the same for one sample as for dozens: reading an element, dispatching the step and updating
    the variables are paid once a step. With one sample a step, all of that is paid for each sample, and the device is
    idle most of the time. What was measured is training, not prediction.

    ## Example

    ```python
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(1000)
    model.fit(dataset, epochs=10)
    ```

    Use instead:

    ```python
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).shuffle(1000).batch(64)
    model.fit(dataset, epochs=10)
    ```

    ## What is left alone

    Datasets of unknown origin, those that `image_dataset_from_directory` and the like batch, those with a stage whose
    function can't be seen and may make batches, samples that are given a batch axis by hand, lists of one sample, and
    loops that only look at a few elements.

    ## Sources

    - TensorFlow guide, [*tf.data: Batching dataset elements*](https://www.tensorflow.org/guide/data#batching_dataset_elements)
    """

    code = "TFP501"
    name = "unbatched-dataset"
    triggers = (
        "from_tensor_slices",
        "TFRecordDataset",
        "TextLineDataset",
        "FixedLengthRecordDataset",
        "CsvDataset",
        "SqlDataset",
        "list_files",
        "load(",
        # What another file makes goes by such a name.
        "data",
        "_ds",
    )
    needs = ("fit", "evaluate", "predict", "keras", "function")
    fixes = "unsafe"
    any_backend = True
    claim = Claim(
        "time per sample",
        least=5.0,
        tolerance=1e-4,
        at="for a linear model that both forms update once an epoch; a loop with an update for each batch makes fewer updates with larger batches, and learns differently",
    )
    always_on = True

    def check(self, model: Model) -> Iterator[Report]:
        for consumption in model.pipelines.consumptions():
            elements = model.batching.elements(consumption.value)
            if elements not in ("single", "ones") or model.element_uses.makes_batches_itself(consumption):
                continue
            if elements == "single":
                message = "the dataset was never batched, so each step gets one sample; add `.batch(n)`"
                fix = partial(_batch, consumption=consumption)
                yield Report(consumption.node, message, fix, as_measured=consumption.use == "train")
            elif (
                elements == "ones"
                and model.batching.names_size_above_one()
                and not consumption.infers_in_loop
            ):
                message = (
                    "the dataset comes in batches of one, so each step gets one sample; use the batch size"
                )
                fix = partial(_raise_size, consumption=consumption)
                yield Report(consumption.node, message, fix, as_measured=consumption.use == "train")


def _batch(edit: Editor, consumption: Consumption) -> Repair | Refusal:
    """Batch in front of a last `prefetch`, else where the dataset is consumed."""
    model, node = edit.model, consumption.node
    last = consumption.value.pipelines[0][-1]
    in_front = len(consumption.value.pipelines) == 1 and last.name == "prefetch"
    in_front = in_front and not model.pipelines.is_used_otherwise(last.call)
    if not in_front and (not isinstance(node, cst.Name | cst.Attribute | cst.Call) or node.lpar):
        return Refusal("it is not a plain name or call", node)
    if not in_front and model.distributed.is_distributed(node):
        return Refusal("it is distributed before it is batched", node)
    size = model.batching.size_in_reach(last.call if in_front else node)
    if size is None:
        return Refusal("the file has no name for a batch size in scope", node)
    link = f".batch({size})"
    edits = [
        insert_in_front(edit, last.call, link)
        if in_front
        else edit.edit(edit.end(node), edit.end(node), link)
    ]
    return Repair(
        f"Add `{link}`", edits, safe=False, may_change="what is learned: each step gets several samples"
    )


def _raise_size(edit: Editor, consumption: Consumption) -> Repair | Refusal:
    edits = []
    for pipeline in consumption.value.pipelines:
        one = batch_of_one(pipeline)
        size = edit.model.batching.size_in_reach(one) if one is not None else None
        if one is None or size is None:
            return Refusal("the file has no name for a batch size in scope", one)
        edits.append(edit.replace(one, size))
    return Repair(
        "Use the batch size", edits, safe=False, may_change="what is learned: each step gets several samples"
    )
