"""TFP506 dataset-created-in-loop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.pipelines.rebuilt import Rebuild
from tflint_perf.analysis.rewriting import Doubt
from tflint_perf.edit import Editor
from tflint_perf.edit.hoist import hoist, hoist_chain, hoist_expression
from tflint_perf.edit.judged import judged
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .links import stages_of_name


class DatasetCreatedInLoop(Rule):
    """A dataset that is rebuilt from the same inputs on each epoch or step.

    ## What it does

    Reports a dataset that a training loop builds in each iteration although nothing that it is built from changes,
    also in a function that the loop calls: there, at the call. Also maps, batches and the like that each epoch adds
    to the same dataset.

    ## Why is this bad?

    To build a dataset, TensorFlow copies the arrays that it is made of, traces the functions given to its stages, and
    optimizes the whole pipeline again. A dataset that is built once can be iterated over any number of times; it is
    reshuffled each time, and keeps what `cache()` has put in memory: one that is rebuilt fills that cache anew, which costs what is
    cached, and was not measured.

    ## Example

    ```python
    for epoch in range(epochs):
        for x, y in tf.data.Dataset.from_tensor_slices((images, labels)).map(scale).batch(64):
            train_step(x, y)
    ```

    Use instead:

    ```python
    dataset = tf.data.Dataset.from_tensor_slices((images, labels)).map(scale).batch(64)
    for epoch in range(epochs):
        for x, y in dataset:
            train_step(x, y)
    ```

    ## What is left alone

    Inputs that change with the loop or may change where it can't be seen, such as `shuffle(seed=epoch)`, arrays that are
    shuffled in place, and what a call from elsewhere returns; loops of trials that train for several epochs each; what takes, skips,
    repeats or prefetches elements of a dataset that was built before the loop. The fix is safe where all that the
    dataset is made of is known not to change: not variables, growing lists, arrays that others hold, or files.

    ## Sources

    - TensorFlow guide, [tf.data: Build TensorFlow input pipelines](https://www.tensorflow.org/guide/data)
    """

    code = "TFP506"
    name = "dataset-created-in-loop"
    triggers = ("ataset", ".map(", ".batch(")
    needs = ("for ", "while ")
    fixes = "both"
    any_backend = True
    claim = Claim(
        "step time",
        least=1.5,
        step="an epoch",
        at="for building a dataset anew in each epoch, from 0.3 to 26 MB of arrays",
    )

    def check(self, model: Model) -> Iterator[Report]:
        for rebuild in model.rebuilt.all():
            often = "step" if model.loops.kind(rebuild.loop) == "step" else "epoch"
            caches = any(
                stage.name == "cache" and not stage.call.args
                for way in model.value(rebuild.node).pipelines
                for stage in way
            )
            emptied = ", with an empty cache each time" if caches else ""
            yield Report(
                rebuild.node,
                f"the dataset is rebuilt from the same inputs on each {often}{emptied}; build it once, above the loop",
                partial(_build_once, rebuild=rebuild),
                as_measured=often == "epoch" and not caches,  # the experiment's is not cached
            )


def _build_once(edit: Editor, rebuild: Rebuild) -> Repair | Refusal:
    model, node = edit.model, rebuild.node
    if model.value(node).kind != "dataset":
        return Refusal("it is built in a function that the loop calls", rebuild.dataset)
    statement = model.statement_of(node)
    chain = stages_of_name(model, statement) if getattr(statement, "value", None) is node else []
    if len(chain) > 1:
        moved, built = hoist_chain(edit, chain, rebuild.loop), chain[-1].value
    elif chain:
        moved, built = hoist(edit, statement), node
    else:
        moved, built = hoist_expression(edit, node, "dataset", rebuild.loop), node
    if isinstance(moved, Refusal):
        return moved
    doubt = moved.doubt or _not_the_same_again(model, rebuild, built)
    return judged("Build the dataset once, above the loop", moved.edits, doubt)


def _not_the_same_again(model: Model, rebuild: Rebuild, built: cst.BaseExpression) -> Doubt | None:
    """Why one dataset, run through again, may give other elements than a new one."""
    if rebuild.node is not rebuild.dataset or model.invariance.asks_the_host(built):
        return Doubt("what it is built from", rebuild.dataset)
    if model.value(built).some_pipeline_has("cache"):
        return Doubt("what is read again: what is cached in the first epoch stays as it is")
    if not model.statefulness.is_deterministic(model.value(built)):
        return Doubt("the order of the elements, or what is drawn for them")
    return None
