"""TFP507 iterator-per-step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.syntax import callee_name
from tflint_perf.edit import Editor
from tflint_perf.edit.hoist import change
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .restarts import Restart, Restarts

_SHOWN = {
    "next": "`next` on a new iterator",
    "name": "a new iterator",
    "take": "`take(1)`",
    "single": "`get_single_element`",
}


class IteratorPerStep(Rule):
    """A dataset whose pipeline is restarted on each training step.

    ## What it does

    Reports `next(iter(dataset))`, `for … in dataset.take(1)` and `get_single_element` that run per step.

    ## Why is this bad?

    Each iterator starts the whole pipeline: its threads, its file readers, its shuffle buffer, which is filled
    again before the first element comes out. All of that is thrown away after one batch. Where the dataset is not
    shuffled, it is also the same batch each time.

    ## Example

    ```python
    for step in range(steps):
        images, labels = next(iter(dataset))
        train_step(images, labels)
    ```

    Use instead:

    ```python
    iterator = iter(dataset.repeat())
    for step in range(steps):
        images, labels = next(iterator)
        train_step(images, labels)
    ```

    ## What is left alone

    One batch taken once or once an epoch, under a guard, or from a dataset that changes with the loop.

    ## Sources

    - TensorFlow guide, [tf.data: Build TensorFlow input pipelines](https://www.tensorflow.org/guide/data)
    """

    code = "TFP507"
    name = "iterator-per-step"
    triggers = ("iter(", "as_numpy_iterator", "__iter__", "take(", "get_single_element")
    fixes = "unsafe"
    any_backend = True
    claim = Claim(
        "step time",
        least=2.0,
        at="for a pipeline of one batch of 64 small images in memory; a `shuffle` would fill its buffer anew each time",
    )

    def check(self, model: Model) -> Iterator[Report]:
        for restart in dict.fromkeys(model.own(Restarts).all()):
            node = restart.node
            if (
                not model.is_per_step(node)
                or model.guard_of(node) is not None
                or model.once.runs_seldom(node)
            ):
                continue
            if model.own(Restarts).changes(restart):
                continue
            yield Report(
                node,
                f"{_SHOWN[restart.form]} restarts the pipeline on each step; create one iterator before the loop",
                partial(_iterate_once, restart) if restart.maker is not None else None,
            )


def _iterate_once(restart: Restart, edit: Editor) -> Repair | Refusal:
    model, maker, dataset = edit.model, restart.maker, restart.dataset
    loop = model.loops.step_loop(restart.node)
    if loop is None or maker is None:
        return Refusal("it runs in a function that the loop calls")
    if isinstance(loop.node, cst.CompFor):
        return Refusal("the loop is a comprehension", loop.node)
    changed = change(model, dataset, loop)
    if changed is not None:
        return changed
    if model.own(Restarts).is_distributed(dataset):
        return Refusal("a distributed dataset can't be repeated", dataset)
    text = edit.text(maker).replace(edit.text(dataset), _repeated(edit, dataset), 1)
    statement = model.statement_of(restart.node)
    if restart.form == "name":
        before, after = edit.start(maker) - edit.start(statement), edit.end(maker) - edit.end(statement)
        whole = edit.text(statement)
        moved = f"{whole[:before]}{text}{whole[len(whole) + after :]}"
        edits = [edit.insert_above(loop.node, f"{moved}\n"), edit.remove_statement(statement)]
    else:
        name = edit.fresh_name("iterator")
        edits = [edit.insert_above(loop.node, f"{name} = {text}\n"), edit.replace(maker, name)]
    return Repair(
        "Create one iterator, above the loop, over the repeated dataset",
        edits,
        safe=False,
        may_change="which elements the steps get",
    )


def _repeated(edit: Editor, dataset: cst.BaseExpression) -> str:
    """The dataset without end, and without a `take` that would end it after the batch."""
    while (
        isinstance(dataset, cst.Call)
        and isinstance(dataset.func, cst.Attribute)
        and callee_name(dataset) == "take"
    ):
        dataset = dataset.func.value
    text = edit.text(dataset)
    endless = isinstance(dataset, cst.Call) and callee_name(dataset) == "repeat" and not dataset.args
    if endless:
        return text
    return (
        f"{text}.repeat()"
        if isinstance(dataset, cst.Name | cst.Attribute | cst.Call | cst.Subscript)
        else f"({text}).repeat()"
    )
