"""TFP202 python-value-argument."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import is_constant
from tflint_perf.analysis.values.caller import Change
from tflint_perf.analysis.values.values import Value
from tflint_perf.edit import Editor
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .values_new_each_step import NewValues

_PASS = "Pass a tensor"
_SEES = "what Python code in the function sees: a tensor instead of a number"


class PythonValueArgument(Rule):
    """A Python number or string that changes from step to step, passed to a compiled function.

    ## What it does

    Reports arguments of a `tf.function` that are Python numbers or strings and differ from call to call: a loop's
    counter, a learning rate worked out in Python, `float(...)`, `.item()`.

    ## Why is this bad?

    A `tf.function` is traced again for each new Python value. A trace takes as long as hundreds of steps,
    every trace is kept, and finding the right one takes longer the more there are. What was measured is a value that is new
    on each step: a counter that goes on, a draw, a loss, or arithmetic with them. One that changes once an epoch costs a trace an
    epoch, one that is rounded, divided without a rest or kept within bounds a trace for each number that comes out, and a counter
    that starts again with each epoch costs none after the first. A tensor, or a NumPy value, is data: one trace serves all its values.

    ## Example

    ```python
    for step, (images, labels) in enumerate(dataset):
        rate = 0.1 * 0.99**step
        train_step(images, labels, rate)
    ```

    Use instead:

    ```python
    for step, (images, labels) in enumerate(dataset):
        rate = 0.1 * 0.99**step
        train_step(images, labels, tf.constant(rate))
    ```

    ## What is left alone

    Constants, switches (`training=True`, `step > 100`), one of a few values that the code writes out (`1.0 if step < 100 else 0.1`),
    a number beside the model or optimizer that it picks (`step(models[i], x, i)`), which needs a trace of its own,
    NumPy values, arguments of a function with an
    `input_signature`, which turns them into tensors, and calls that do not run per step. The fix is refused where
    the function needs the Python value (as a shape, for `range`, in a string), or where the type that it
    computes with is not known; for a function of another file it is bold.

    ## Sources

    - TensorFlow guide, [Better performance with tf.function](https://www.tensorflow.org/guide/function), "Rules
      of tracing" and "Controlling retracing"
    """

    code = "TFP202"
    name = "python-value-argument"
    triggers = ("import",)  # what is compiled may stand in any file
    through_imports = True
    fixes = "unsafe"
    bold = True
    claim = Claim(
        "traces",
        least=1.5,
        kind="growth",
        steps=60,
        at="as each step brings a new value, for a linear classifier",
    )

    def check(self, model: Model) -> Iterator[Report]:
        for call in model.compiled_calls:
            if not model.is_eager(call) or not model.is_per_step(call) or model.guard_of(call) is not None:
                continue
            callee = model.value(call.func)
            if _takes_tensors(model, callee):
                continue
            for arg in call.args:
                change = None if arg.star else _change(model, arg.value)
                values = model.own(NewValues)
                if change is None or values.are_few(arg.value) or values.come_with_objects(call, arg.value):
                    continue
                is_new = change == "step" and values.come_each_step(arg.value)
                often = _often(model, call, change) if is_new or change == "epoch" else ""
                yield Report(
                    arg.value,
                    f"`{model.module.code_for_node(arg.value)}` is a Python value{often}, "
                    "and each new value retraces the function; pass a tensor",
                    partial(_pass_tensor, call=call, arg=arg, function=callee.function),
                    as_measured=is_new,  # the experiment has a trace for each step
                    bold=partial(_pass_boldly, arg=arg) if callee.function is None else None,
                )


def _change(model: Model, node: cst.BaseExpression) -> Change | None:
    """How often `node`, a Python number or string, changes; None for all that never makes a new trace."""
    if is_constant(node) or (isinstance(node, cst.Call) and getattr(node.func, "value", "") == "len"):
        return None
    number = model.numbers.type_of(node)
    if number == "bool" or (number is None and model.value(node).kind != "string"):
        return None
    return model.numbers.changes(node)


def _often(model: Model, call: cst.Call, change: Change) -> str:
    """How often what `call` is given changes, in words."""
    if change == "step" or _has_epochs(model):
        return f" that changes from {change} to {change}"
    function = model.function_at(call)
    named = function is not None and function.name
    return f" that changes from one call of `{named}` to the next" if named else ""


def _has_epochs(model: Model) -> bool:
    """Whether the loops around those of steps are of epochs: they train, or go through a dataset. Others make a picture each, say,
    in some steps."""
    return any(
        (model.loops.kind(loop) == "epoch" and model.file_reads.is_trained_in(loop))
        or (isinstance(loop.node, cst.For) and model.loops.takes_batches(loop.node.iter))
        for loop in model.walk.loops.values()
    )


def _takes_tensors(model: Model, callee: Value) -> bool:
    """Whether a compiled function makes tensors of what it is given, by an `input_signature`."""
    if callee.function is not None:
        return model.compiled.has_signature(callee.function)
    return bool(callee.outside) and model.infer.outside.takes_tensors(callee.outside)


def _pass_tensor(edit: Editor, call: cst.Call, arg: cst.Arg, function: Function | None) -> Repair | Refusal:
    model = edit.model
    number = model.numbers.type_of(arg.value)
    if number is None or number == "number" or function is None:
        reason = "a string decides what is traced" if number is None else "its type is not known"
        return Refusal(reason if function is not None else "the function is not in this file", arg.value)
    parameters = model.parameters
    name = arg.keyword.value if arg.keyword is not None else ""
    name = name or parameters.name_at(function, list(call.args).index(arg))
    if name not in function.scope.bindings:
        return Refusal("which parameter it becomes is not known", arg.value)
    dtypes: set[str] = set()
    for need in parameters.needs_of(function, name, number):
        if need.reason:
            return Refusal(need.reason, need.node)
        dtypes.add(need.dtype)
    dtypes.discard("")
    if len(dtypes) > 1:
        return Refusal(f"`{name}` is used with tensors of several types", function.node)
    spelled, imports = edit.spell("constant", arg.value)
    # The type that TensorFlow gives to such a number by itself needs no mention.
    dtype = dtypes.pop() if dtypes else ""
    closing = ")"
    if dtype and dtype != {"int": "int32", "float": "float32"}[number]:
        named, more = edit.spell(dtype, arg.value)
        closing, imports = f", {named})", [*imports, *(more if not imports else [])]
    return Repair(
        _PASS, [*imports, *edit.wrap(arg.value, f"{spelled}(", closing)], safe=False, may_change=_SEES
    )


def _pass_boldly(edit: Editor, arg: cst.Arg) -> Repair | Refusal:
    """Pass a tensor to a function of another file, which is seen to take one of the type that a Python number gets."""
    if edit.model.numbers.type_of(arg.value) is None:
        return Refusal("a string decides what is traced", arg.value)
    spelled, imports = edit.spell("constant", arg.value)
    return Repair(
        _PASS,
        [*imports, *edit.wrap(arg.value, f"{spelled}(", ")")],
        safe=False,
        may_change=_SEES,
        bold=True,
    )
