"""TFP303 host-data-per-step."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.pipelines.host_batches import HostBatch
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.python.syntax import callee_name, calls_below
from tflint_perf.rule import Claim, Report, Rule

_LONG = 50
_REMEDIES = {
    "drawn": "draw it with `tf.random`",
    "stacked": "make it in `Dataset.map`, or ahead of the step in a generator behind `prefetch`",
    "preprocessed": "prepare samples in `Dataset.map`",
    "augmented": "read and augment images in `Dataset.map`",
}
_AHEAD = (
    "makes a batch on the host for {step}, in {threads} beside it: where {batch} longer than a step, "
    "the device waits; {remedy}"
)
_TO_HOST = frozenset({"numpy", "item", "tolist"})


class HostDataPerStep(Rule):
    """Batches that Python makes on the host between two training steps.

    ## What it does

    Reports, once for each statement of a training loop, an expression that gives a batch which is made per step on the
    host: drawn by NumPy, stacked or filled sample by sample, or prepared sample by sample by eager ops. It may be a call, `next()`
    or what the loop iterates over; functions, generators and classes of all linted files are followed. Also a Keras
    `Sequence` or generator that `fit` trains on, or instead of it each `ImageDataGenerator` behind it, where that is
    created; one that is only validated on where no other is behind what is trained on. Of the same code in two loops of a
    function, the first. Keras makes such batches in one thread beside the step, so a step waits for them only where they take longer
    than it does: the severity is `info`, unless images are augmented to train on.

    ## Why is this bad?

    Python makes one sample at a time while the device has nothing to do. A `tf.data` pipeline runs the same
    work as a graph, in several threads, while the device computes the step before. Random numbers are drawn fastest
    where they are used. What was measured are ops that cost little but their start: what reads or decodes files takes as long as
    that takes. What Keras makes beside the step was not measured: how long a step waits for it hangs on both.

    ## Example

    ```python
    for start in range(0, len(images), BATCH):
        batch = tf.stack([tf.image.per_image_standardization(x) for x in images[start : start + BATCH]])
        train_step(batch)
    ```

    Use instead:

    ```python
    dataset = tf.data.Dataset.from_tensor_slices(images)
    dataset = dataset.map(tf.image.per_image_standardization, num_parallel_calls=tf.data.AUTOTUNE)
    for batch in dataset.batch(BATCH).prefetch(tf.data.AUTOTUNE):
        train_step(batch)
    ```

    ## What is left alone

    Files that step an environment, and samples of a replay memory; batches that are only cut out of arrays, or picked by numbers that are put together; noise that
    a loop draws by itself, not by a function; data that
    is made once or once an epoch, under a condition that may change, or in a `tf.data` pipeline; loops that only predict, except the
    validation of each epoch, and others without training that the program goes through once; what is computed from a model's answers in this step, and what several processes make for `fit`
    (`workers=4, use_multiprocessing=True`).

    ## Sources

    - TensorFlow guide, [Better performance with the tf.data API](https://www.tensorflow.org/guide/data_performance)
    - TensorFlow API, [`ImageDataGenerator`](https://www.tensorflow.org/api_docs/python/tf/keras/preprocessing/image/ImageDataGenerator)
    """

    code = "TFP303"
    name = "host-data-per-step"
    triggers = (
        "random", "array(", "stack(", "concatenate(", "zeros(", "empty(", "ones(", "tf.image", "tf.io", "decode",
        "ImageDataGenerator", "rand(", "normal(", "batch", "load", "Load", "next(", "gener", "noise", "fit(", "full(",
        "ataset[", "data[", "_gen", "sample(",
    )  # fmt: skip
    needs = (
        "apply_gradients",
        "train_on_batch",
        "minimize(",
        "fit(",
        "fit_generator(",
        ".run(",
        "train",
        "learn",
        "step(",
    )
    through_imports = True
    claim = Claim(
        "step time",
        least=1.2,
        at="for three `tf.image` calls, of several eager ops each, on each of 32 images, from arrays of 110 MB, which the fast form copies",
    )
    adds_up = True

    def check(self, model: Model) -> Iterator[Report]:
        for batch in model.host_batches.all():
            if model.single_passes.hold(batch.node):
                continue
            name = model.module.code_for_node(batch.node)
            named = f"`{name}`" if len(name) <= _LONG and "\n" not in name else "this"
            if batch.ahead:
                is_augmented = batch.how == "augmented"
                yield Report(
                    batch.node,
                    f"{named} {_ahead(batch)}",
                    as_measured=False,
                    minor=not is_augmented or batch.validates,
                )
            else:
                yield Report(
                    batch.node,
                    f"{named} makes a batch on the host on each step; {_REMEDIES[batch.how]}",
                    as_measured=batch.how == "preprocessed" and _is_of_ops_alone(model, batch.node),
                )


def _ahead(batch: HostBatch) -> str:
    """What there is to say of a batch that Keras makes beside the step."""
    threads, needs = "one thread of Keras's", "a batch takes"
    if batch.several:
        threads, needs = (
            "threads of Keras's, of which one runs Python at a time,",
            "the Python code of a batch takes",
        )
    workers = "`use_multiprocessing=True`" if batch.several else "several workers"
    remedy = (
        f"make it in `Dataset.map`, or where TensorFlow has no ops for it, in a `Sequence` with {workers}"
    )
    if batch.how == "augmented":
        remedy = _REMEDIES["augmented"]
    step = "each step of the validation" if batch.validates else "each step"
    return _AHEAD.format(step=step, threads=threads, batch=needs, remedy=remedy)


def _is_of_ops_alone(model: Model, node: cst.BaseExpression) -> bool:
    """Whether all that is done there is to start eager ops, as the experiment does, whose step waits for some on each sample: no file
    is read or decoded, nothing is copied to the host, and no other library computes."""
    known: dict[cst.Call, bool] = {}

    def leads(call: cst.Call) -> bool | list[cst.Call]:
        name = model.qualified(call.func)
        if callee_name(call) in _TO_HOST or (name and library(name) != "tensorflow"):
            return True
        if has(name, "reads-file", "decodes", "decodes-images"):
            return True
        return [below for target in model.calls.targets(call) for below in target.calls]

    return not any(leads_to(call, known, leads) for call in calls_below(node))
