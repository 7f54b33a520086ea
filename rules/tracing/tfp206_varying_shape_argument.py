"""TFP206 varying-shape-argument."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import is_name, keyword_argument
from tflint_perf.edit import Edit, Editor
from tflint_perf.edit.arguments import add_argument, for_all_shapes
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .varying import Retracing, Variation, Varying, serves_all_shapes

_HOW = {
    "padded": "is padded to the longest of each batch",
    "grown": "has a different length on each call",
    "episode": "has a different length on each call",
    "list": "is a list of a different length on each call",
    "sliced": "is cut at a different place on each call",
}


class VaryingShapeArgument(Rule):
    """A compiled function that gets tensors of a different shape from step to step.

    ## What it does

    Reports arguments of a `tf.function` whose shape changes per step: batches of `padded_batch`, lists and arrays
    that grow or are as long as an episode, slices up to a counter.

    ## Why is this bad?

    A `tf.function` is traced again for each new shape. A trace takes as long as hundreds of steps, every
    trace is kept, and finding the right one takes longer the more there are. With
    `reduce_retracing=True`, the second trace leaves open what differs, and serves all shapes. That is so for tensors: a Python
    list of each length is a structure of its own. Inputs of random lengths were measured, some of which come again; what
    grows with each call brings a new shape each time. XLA (`jit_compile=True`) compiles each shape for itself, whatever was traced;
    and where the function reads the static shape, it has to read the size by `tf.shape` first.

    ## Example

    ```python
    @tf.function
    def train_step(words, labels):
        ...

    for words, labels in dataset.padded_batch(64):
        train_step(words, labels)
    ```

    Use instead:

    ```python
    @tf.function(reduce_retracing=True)
    def train_step(words, labels):
        ...

    for words, labels in dataset.padded_batch(64):
        train_step(words, labels)
    ```

    ## What is left alone

    Fixed shapes, one short last batch, `padded_shapes` without `None`, functions with an `input_signature` or
    `reduce_retracing`, and ragged tensors, whose lengths are not part of the trace. The fix is refused for
    Python lists, since each length is a structure of its own; with `jit_compile=True`, since XLA compiles each
    shape for itself; and where the function reads the static shape. It is unsafe, since Python code in the function sees None
    where it saw a size.

    ## Sources

    - TensorFlow guide, [Better performance with tf.function](https://www.tensorflow.org/guide/function),
      "Controlling retracing"
    """

    code = "TFP206"
    name = "varying-shape-argument"
    triggers = (".function", "@function", "function(", "function as", "defun")
    needs = ("padded_batch", "append(", "concat", "stack(", "[:", ":]", " :")
    fixes = "unsafe"
    claim = Claim(
        "traces",
        least=1.5,
        kind="growth",
        steps=120,
        at="for a small net on sentences of random lengths; no step traces any more once each padded length has come",
    )

    def check(self, model: Model) -> Iterator[Report]:
        for call in model.compiled_calls:
            if not model.is_eager(call) or model.guard_of(call) is not None or model.once.runs_seldom(call):
                continue
            function = model.value(call.func).function
            makers = model.own(Retracing).makers(function)
            if not makers or any(map(serves_all_shapes, makers)):
                continue
            for arg in call.args:
                how = None if arg.star else model.own(Varying).variation(arg.value)
                if how is not None and (model.is_per_step(call) or how in ("grown", "episode", "list")):
                    by_xla = any(map(_is_by_xla, makers))
                    reads_shape = (
                        function is not None and model.own(Retracing).shape_read(function) is not None
                    )
                    remedy = "set `reduce_retracing=True`"
                    if reads_shape:
                        remedy = f"read the size by `tf.shape`, and {remedy}"
                    if how == "list":
                        remedy = f"pass a tensor, and {remedy}"
                    yield Report(
                        arg.value,
                        f"`{model.module.code_for_node(arg.value)}` {_HOW[how]}, and each new shape retraces the function; "
                        + (
                            "XLA compiles each shape for itself, so pad to a few lengths"
                            if by_xla
                            else remedy
                        ),
                        partial(_reduce_retracing, makers=makers, function=function, how=how),
                        # The experiment has lengths that come at random, and no XLA.
                        as_measured=how in ("padded", "episode") and not by_xla and not reads_shape,
                    )
                    break


def _is_by_xla(maker: cst.BaseExpression) -> bool:
    return isinstance(maker, cst.Call) and is_name(keyword_argument(maker, "jit_compile"), "True")


def _reduce_retracing(
    edit: Editor, makers: list[cst.BaseExpression], function: Function | None, how: Variation
) -> Repair | Refusal:
    if how == "list":
        return Refusal("a list of a different length is a different structure")
    if function is None or len(makers) != 1:
        return Refusal("the function is created in several places")
    (maker,) = makers
    if _is_by_xla(maker):
        return Refusal("XLA compiles each shape for itself", maker)
    asks = edit.model.own(Retracing).shape_read(function)
    if asks is not None:
        return Refusal("it reads the static shape", asks)
    option = for_all_shapes(edit)
    if not isinstance(maker, cst.Call):
        return _relaxed(edit.replace(maker, f"{edit.text(maker)}({option})"))
    if not maker.args:
        end = edit.end(maker) - 1
        return _relaxed(edit.edit(end, end, option))
    return _relaxed(*add_argument(edit, maker, option))


def _relaxed(*added: Edit) -> Repair:
    return Repair(
        "Reduce retracing",
        [*added],
        safe=False,
        may_change="what Python code in the function sees: varying sizes become None",
    )
