"""TFP508 python-in-pipeline."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.rule import Claim, Report, Rule

from .plain_numpy import DECODER
from .python_stages import PythonStage, PythonStages

# So many ops are named in a message; a person finds the others.
_SHOWN = 3


class PythonInPipeline(Rule):
    """Python code in an input pipeline.

    ## What it does

    Reports `tf.py_function` and `tf.numpy_function` in functions given to `Dataset.map`, and `from_generator`, in
    pipelines that are trained on, except Python code that reads what TensorFlow can't. Where there are ops for everything the
    code does (NumPy, arithmetic, reading images, numbers for words), the finding names them. A generator that only hands on
    what is in memory is a hint where a `map` behind it does the work.

    ## Why is this bad?

    Python runs one thread at a time: however parallel the `map`, the elements are processed one at a time, and
    the training loop, which is Python too, waits for the same lock. Each call copies its tensors to Python and
    back, and nothing of it can be saved with the model or run on another machine. What was measured is a `map` that has
    NumPy compute with one small sample at a time; of a whole batch, of images that Python reads and of generators it was not.

    ## Example

    ```python
    def standardize(image):
        return (image - np.mean(image)) / np.std(image)


    dataset = dataset.map(lambda image: tf.numpy_function(standardize, [image], tf.float32))
    ```

    Use instead:

    ```python
    def standardize(image):
        return (image - tf.reduce_mean(image)) / tf.math.reduce_std(image)


    dataset = dataset.map(standardize, num_parallel_calls=tf.data.AUTOTUNE)
    ```

    ## What is left alone

    Functions that can't be seen, and those that read what TensorFlow can't: files of other formats than text, JPEG,
    PNG, BMP and GIF, environments, databases, what a library or a method reads by its name; in a file that mentions HDF5
    or memory maps, all data whose origin can't be seen. Pipelines that are only evaluated on or of which nothing is taken, and what a `cache` keeps
    from the first of several epochs on.

    ## Sources

    - TensorFlow API, [`tf.numpy_function`](https://www.tensorflow.org/api_docs/python/tf/numpy_function),
      [`tf.data.Dataset.from_generator`](https://www.tensorflow.org/api_docs/python/tf/data/Dataset#from_generator)
    - TensorFlow guide, [tf.data: *Applying arbitrary Python
      logic*](https://www.tensorflow.org/guide/data#applying_arbitrary_python_logic)
    """

    code = "TFP508"
    name = "python-in-pipeline"
    triggers = ("py_function", "numpy_function", "py_func(", "from_generator")
    needs = ("ataset",)
    claim = Claim(
        "time per sample",
        least=2.0,
        at="for NumPy on 256 numbers a sample; no time is saved where a GPU trains longer on a batch than preparing it takes",
    )

    def check(self, model: Model) -> Iterator[Report]:
        for stage in model.own(PythonStages).trained_on():
            yield Report(
                stage.node,
                _message(model, stage),
                as_measured=_is_as_measured(model, stage),
                minor=stage.hands_on and model.own(PythonStages).is_followed_by_work(stage.call),
            )


def _is_as_measured(model: Model, stage: PythonStage) -> bool:
    """Whether Python computes with one sample at a time in a `map`, as in the experiment: images that it reads, generators
    and whole batches take another time, each way."""
    in_map = stage.node is not stage.call and DECODER not in (stage.ops or ())
    return stage.computes and in_map and not model.own(PythonStages).gets_batches(stage.call)


def _message(model: Model, stage: PythonStage) -> str:
    if stage.hands_on:
        ragged = " (of ragged tensors, where items differ in length)" if stage.ops is None else ""
        shuffle = ", and `shuffle` behind it" if stage.shuffled else ""
        return (
            "`from_generator` runs Python for each element, only to hand it on; "
            f"where all are in memory, use `tf.data.Dataset.from_tensor_slices`{ragged}{shuffle}"
        )
    shown = [f"`{op}`" for op in (stage.ops or ())[:_SHOWN]]
    if "`tf.io.decode_image`" in shown and len(shown) > 1:
        # Else its result has no shape, and `tf.image.resize` refuses it.
        shown[shown.index("`tf.io.decode_image`")] += " with `expand_animations=False`"
    remedy = f"use {', '.join(shown)}" if shown else "TensorFlow's ops can do what it does"
    if stage.ops is None:
        # What is drawn anew in each epoch can't be done once.
        other = (
            ": `tf.random` draws in `Dataset.map`"
            if stage.draws
            else ", or do the work once, before training"
        )
        remedy = f"use it only where TensorFlow has no op{other}"
    if stage.node is stage.call:
        return f"`from_generator` runs Python for each element, one at a time; {remedy}"
    assert isinstance(stage.node, cst.Call)
    called = model.module.code_for_node(stage.node.func)
    element = "batch" if model.own(PythonStages).gets_batches(stage.call) else "element"
    return f"`{called}` runs Python for each {element}, one at a time; {remedy}"
