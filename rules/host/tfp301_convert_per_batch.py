"""TFP301 convert-per-batch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.values.new_containers import new_container
from tflint_perf.edit import Editor
from tflint_perf.edit.hoist import change, hoist, hoist_expression
from tflint_perf.edit.judged import judged
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .host_conversions import Conversion, HostConversions, StandingData, takes_part
from .slices import loop_over_dataset
from .slicing import Slicing

# What is so converted are small batches in nearly all programs, for which the experiment shows no gain.
_ONCE = "convert it once, above the loop"
_DROP = "take it as it is, or cast in the pipeline's `map`"
_DATASET = "feed the step from a `tf.data.Dataset`"
_IN_ARRAYS = "keep the data in NumPy arrays of that type, which are copied at once"
_BESIDE = (
    "a `tf.data.Dataset` that prefetches copies it beside the step before (little to gain from small batches)"
)


class ConvertPerBatch(Rule):
    """A batch of host data that the training loop itself converts to a tensor, on each step.

    ## What it does

    Reports `tf.convert_to_tensor`, `tf.constant` and `tf.cast` of a batch of host data (NumPy values, slices of
    whole arrays, elements of a dataset) per step, where a gradient step or a model uses the result.

    ## Why is this bad?

    The conversion copies the batch, and on a GPU sends it to the device, between two steps: the device waits. A
    `tf.data` pipeline does the same work in other threads while the device computes the step before. A list takes longer
    still, since each of its values is looked at: an array is copied at once.

    Of small batches, which most programs have, little is to be gained. So these are hints, and the rule is off until it is
    selected.

    ## Example

    ```python
    for start in range(0, len(images), BATCH):
        x = tf.convert_to_tensor(images[start : start + BATCH])
        y = tf.convert_to_tensor(labels[start : start + BATCH])
        train_step(x, y)
    ```

    Use instead:

    ```python
    dataset = (
        tf.data.Dataset.from_tensor_slices((images, labels))
        .batch(BATCH)
        .prefetch(tf.data.AUTOTUNE)
    )
    for x, y in dataset:
        train_step(x, y)
    ```

    ## What is left alone

    Scalars, single samples, an environment's observation, compiled code, what no step uses, and loops without training
    that the program goes through once beside it; a cast of a dataset's
    elements, since the copy to the device is smaller before it; a list that tensors may be in. What a loop does not change
    is moved above it; a conversion of what is already a tensor is dropped; these fixes are
    safe where nothing else can write to the array, and where the value is known to be one tensor.

    ## Sources

    - TensorFlow guide, [Better performance with the tf.data API](https://www.tensorflow.org/guide/data_performance)
    """

    code = "TFP301"
    name = "convert-per-batch"
    triggers = ("convert_to_tensor(", "constant(", "cast(")
    # A file with none of these has no step, and makes no batch for one of another file.
    needs = (
        "GradientTape", "_gradients", "_on_batch", "minimize(", "predict(", "fit(", "evaluate(", ".function", "function(",
        "@function", "function as", "defun", ".run(", "get_next", "next(", ".step(", "ataset", "Sequential", "Model",
        "load_model", "clone_model", "model_from_json", "applications", "hub.load", "sample", "batch",
    )  # fmt: skip
    fixes = "both"
    through_imports = True
    claim = Claim(
        "step time",
        least=1.2,
        steps=50,
        at="for 700 MB of arrays in batches of 14 MB; the fast form first copies them all, so that it paid only after 11 passes through them",
    )
    adds_up = True
    opt_in = True

    def check(self, model: Model) -> Iterator[Report]:
        if model.programs.is_graph_code():
            return
        for found in model.own(HostConversions).all():
            if model.single_passes.hold(found.call):
                continue
            does, remedy = _said(model, found)
            yield Report(
                found.call,
                f"`{model.module.code_for_node(found.call.func)}` {does} on each step; {remedy}",
                partial(_repair, call=found.call, unchanged=found.unchanged),
                as_measured=remedy == _DATASET and _is_slice(found.call.args[0].value),
                minor=remedy not in (_DATASET, _ONCE),
            )


def _said(model: Model, found: Conversion) -> tuple[str, str]:
    """What a conversion does on each step, and what to do instead."""
    if not found.unchanged and model.value(found.call.args[0].value).kind == "tensor":
        return "converts a batch that is a tensor already", _DROP
    return "copies a batch of host data", _remedy(model, found)


def _remedy(model: Model, found: Conversion) -> str:
    given = found.call.args[0].value
    if found.unchanged:
        return _ONCE
    if model.own(StandingData).give(given):
        return _DATASET
    made = new_container(model.infer, given)
    is_list = model.value(given).kind == "list" or (made is not None and made.kind == "list")
    return _IN_ARRAYS if is_list else _BESIDE


def _is_slice(node: cst.BaseExpression) -> bool:
    """Whether a batch is cut out of a whole array, as in the experiment."""
    return (
        isinstance(node, cst.Subscript)
        and takes_part(node)
        and any(isinstance(part.slice, cst.Slice) for part in node.slice)
    )


def _repair(edit: Editor, call: cst.Call, unchanged: bool) -> Repair | Refusal:
    model = edit.model
    if unchanged:
        return _convert_once(edit, call)
    if model.value(call.args[0].value).kind == "tensor":
        return _drop(edit, call)
    loop = model.loops.innermost_loop(call)
    found = (
        model.own(Slicing).of_loop(loop) if loop is not None else "it is in a function that the loop calls"
    )
    if isinstance(found, str):
        return Refusal(found, call)
    if all(part.statement.value is not call for part in found.slices):
        return Refusal("what is converted is not a slice of a whole array", call)
    return Repair(
        "Loop over a dataset of the arrays",
        loop_over_dataset(edit, found),
        safe=False,
        may_change="what runs between batches, and when",
    )


def _convert_once(edit: Editor, call: cst.Call) -> Repair | Refusal:
    model = edit.model
    statement, loop = model.statement_of(call), model.loops.step_loop(call)
    if isinstance(statement, cst.Assign) and statement.value is call:
        moved = hoist(edit, statement)
    elif loop is not None:
        moved = change(model, call, loop) or hoist_expression(edit, call, "converted", loop)
    else:
        return Refusal("it is in a function that the loop calls", call)
    if isinstance(moved, Refusal):
        return moved
    return judged("Convert it once, above the loop", moved.edits, moved.doubt)


def _drop(edit: Editor, call: cst.Call) -> Repair | Refusal:
    model, given = edit.model, call.args[0].value
    if model.names.is_call_that(call, "casts") or len(call.args) > 1:
        wanted = model.value(call).dtype
        if not wanted or wanted != model.value(given).dtype:
            return Refusal("it may change the type; do that in a `map` of the pipeline", call)
    statement = model.statement_of(call)
    doubt = model.rewriting.doubt_of_taking_as_it_is(given)
    match statement:
        case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value) if value is call:
            if target.deep_equals(given):
                return judged("Drop the conversion", [edit.remove_statement(statement)], doubt)
    return judged("Drop the conversion", [edit.replace(call, edit.text(given))], doubt)
