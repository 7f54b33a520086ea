"""TFP301 convert-per-batch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.edit import Editor
from tflint_perf.edit.hoist import change, hoist, hoist_expression
from tflint_perf.model import Model
from tflint_perf.model.slicing import SlicingLoop
from tflint_perf.model.syntax import is_constant, last_name
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

# Names of numbers that a step is given besides its batch.
_SETTING = re.compile(
    r"(?i)rate|eps|alpha|beta|gamma|lambda|sigma|step|epoch|temperature|weight|coef|scale|index|^lr$|^[nk]$|num|(?<!dis)count|(^|_)size"
)
_CONVERSIONS = ("tf.convert_to_tensor", "tf.constant", "tf.cast")


class ConvertPerBatch(Rule):
    """A batch of host data that the training loop itself converts to a tensor, on each step.

    ## What it does

    Reports `tf.convert_to_tensor`, `tf.constant` and `tf.cast` of a batch of host data (NumPy values, slices of
    whole arrays, elements of a dataset) per step, where a gradient step or a model uses the result.

    ## Why is this bad?

    The conversion copies the batch, and on a GPU sends it to the device, between two steps: the device waits. A
    `tf.data` pipeline does the same work in other threads while the device computes the step before.

    ## Example

    ```python
    for start in range(0, len(images), BATCH):
        x = tf.convert_to_tensor(images[start : start + BATCH])
        y = tf.convert_to_tensor(labels[start : start + BATCH])
        train_step(x, y)
    ```

    Use instead:

    ```python
    for x, y in tf.data.Dataset.from_tensor_slices((images, labels)).batch(BATCH).prefetch(tf.data.AUTOTUNE):
        train_step(x, y)
    ```

    ## What is left alone

    Scalars, single samples, an environment's observation, compiled code, and what no step uses. What a loop does
    not change is moved above it; a conversion of what is a tensor already is dropped; only these fixes are safe.

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
    claim = Claim("step time", least=1.2, steps=50)
    always_on = True

    def check(self, model: Model) -> Iterator[Report]:
        if model.programs.is_graph_code():
            return
        for call in model.calls_to(*_CONVERSIONS):
            given = call.args[0].value if call.args else None
            if (
                given is None
                or is_constant(given)
                or not model.is_eager(call)
                or not _is_per_step(model, call)
            ):
                continue
            unchanged = _is_unchanged_array(model, given)
            if not unchanged and not _is_host_batch(model, call, given):
                continue
            if model.loops.batches.is_made_one_of(call):
                continue
            # A gradient step behind a guard is a step all the same, and takes this batch.
            if (
                model.feeds.a_step(call)
                if model.guard_of(call) is None
                else model.feeds.a_gradient_step(call)
            ):
                remedy = (
                    "convert it once, above the loop"
                    if unchanged
                    else "feed the step from a `tf.data.Dataset`"
                )
                yield Report(
                    call,
                    f"`{model.module.code_for_node(call.func)}` copies a batch of host data on each step; {remedy}",
                    partial(_repair, call=call, unchanged=unchanged),
                )


def _is_per_step(model: Model, call: cst.Call) -> bool:
    """Whether a conversion runs per step, or beside a gradient step that a loop makes again and again, or may make."""
    return model.is_per_step(call) or (
        model.training_steps.hold(call)
        and (model.loops.may_be_per_step(call) or model.loops.is_repeated(call))
    )


def _is_host_batch(model: Model, call: cst.Call, node: cst.BaseExpression) -> bool:
    value = model.value(node)
    match value.kind:
        case "array":
            on_host = True
        case "list":
            # Of tensors, one is made on the device.
            of = value.element
            on_host = of is None or of.kind not in ("tensor", "variable") or of.host
        case "tensor":
            # An element of a dataset. A function that gets it, a loss for instance, may get any tensor.
            on_host = value.host and model.loops.step_loop(call) is not None
        case "unknown":
            # A batch that is made a tensor was none.
            on_host = model.qualified(call.func) != "tf.cast" and not model.loops.batches.is_length(node)
        case _:
            on_host = False
    if not on_host:
        return False
    size = model.loops.batches.size(node)
    # What a gradient step is fed, and is no setting of it, is a batch.
    return size == "batch" or (
        size == "unknown"
        and value.kind != "tensor"
        and (value.kind == "array" or model.qualified(call.func) != "tf.cast")
        and not _SETTING.search(last_name(node))
        and model.feeds.a_gradient_step(call)
        and not model.feeds.is_differentiated(call)
    )


def _is_unchanged_array(model: Model, node: cst.BaseExpression) -> bool:
    """Whether a NumPy array with a name stays the same in the step loop."""
    loop = model.loops.step_loop(node)
    if loop is None or not isinstance(node, cst.Name | cst.Attribute) or model.value(node).kind != "array":
        return False
    return model.loops.batches.size(node) not in ("scalar", "sample") and not model.invariance.varies(
        node, loop
    )


def _repair(edit: Editor, call: cst.Call, unchanged: bool) -> Repair | Refusal:
    model = edit.model
    if unchanged:
        return _convert_once(edit, call)
    if model.value(call.args[0].value).kind == "tensor":
        return _drop(edit, call)
    loop = model.loops.innermost_loop(call)
    found = model.slicing.of_loop(loop) if loop is not None else "it stands in a function that the loop calls"
    if isinstance(found, str):
        return Refusal(found, call)
    if all(part.statement.value is not call for part in found.slices):
        return Refusal("what is converted is no slice of a whole array", call)
    return _loop_over_dataset(edit, found)


def _convert_once(edit: Editor, call: cst.Call) -> Repair | Refusal:
    model = edit.model
    statement, loop = model.statement_of(call), model.loops.step_loop(call)
    if isinstance(statement, cst.Assign) and statement.value is call:
        moved = hoist(edit, statement)
    elif loop is not None:
        moved = change(model, call, loop) or hoist_expression(edit, call, "converted", loop)
    else:
        return Refusal("it stands in a function that the loop calls", call)
    if isinstance(moved, Refusal):
        return moved
    return Repair("Convert it once, above the loop", moved, safe=True)


def _drop(edit: Editor, call: cst.Call) -> Repair | Refusal:
    model, given = edit.model, call.args[0].value
    if model.qualified(call.func) == "tf.cast" or len(call.args) > 1:
        wanted = model.value(call).dtype
        if not wanted or wanted != model.value(given).dtype:
            return Refusal("it may change the type; a `map` of the pipeline can do that", call)
    statement = model.statement_of(call)
    match statement:
        case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value) if value is call:
            if target.deep_equals(given):
                return Repair("Drop the conversion", [edit.remove_statement(statement)], safe=True)
    return Repair("Drop the conversion", [edit.replace(call, edit.text(given))], safe=True)


def _loop_over_dataset(edit: Editor, found: SlicingLoop) -> Repair:
    names = ", ".join(part.target.value for part in found.slices)
    arrays = ", ".join(edit.text(part.array) for part in found.slices)
    if len(found.slices) > 1:
        arrays = f"({arrays})"
    dataset, imports = edit.spell("data.Dataset")
    autotune, _ = edit.spell("data.AUTOTUNE")
    take = f".take({edit.text(found.count)})" if found.count is not None else ""
    pipeline = (
        f"{dataset}.from_tensor_slices({arrays}).batch({edit.text(found.size)}){take}.prefetch({autotune})"
    )
    read = [*(part.array for part in found.slices), found.size, *([found.count] if found.count else [])]
    outer = edit.model.rebuilt.outermost_loop_around(found.loop, read)
    edits = [*imports, edit.replace(found.loop.target, names)]
    if outer is None:
        edits.append(edit.replace(found.loop.iter, pipeline))
    else:
        name = edit.fresh_name("dataset", found.loop)
        edits += [
            edit.insert_above(outer.node, f"{name} = {pipeline}\n"),
            edit.replace(found.loop.iter, name),
        ]
    edits += [edit.remove_statement(part.statement) for part in found.slices]
    return Repair("Loop over a dataset of the arrays", edits, safe=False)
