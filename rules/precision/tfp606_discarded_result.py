"""TFP606 discarded-result."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.syntax import callee_name, descendants, same_code
from tflint_perf.rule import Report, Rule

from .discarded import Discarded


class DiscardedResult(Rule):
    """An op whose result is thrown away, as if it changed the tensor that it is given.

    ## What it does

    Reports statements that call an op which does nothing but compute a new tensor (`tf.clip_by_norm(g, 15)`,
    `tf.stop_gradient(x)`), a stage of a dataset (`dataset.shuffle(1000)`), or arithmetic with tensors (`loss * mask`),
    and do nothing with the result.

    ## Why is this bad?

    Tensors and datasets never change. The op returns a new one; if that is thrown away, the work is wasted, and
    what the author wanted does not happen: gradients stay unclipped, the dataset unshuffled.

    ## Example

    ```python
    for gradient in gradients:
        tf.clip_by_norm(gradient, 15.0)
    optimizer.apply_gradients(zip(gradients, variables))
    ```

    Use instead:

    ```python
    gradients = [tf.clip_by_norm(gradient, 15.0) for gradient in gradients]
    optimizer.apply_gradients(zip(gradients, variables))
    ```

    ## What is left alone

    Ops with effects, assertions and prints; random ops and constants, which warm a device up; ops that are timed, or
    tried for the error that they raise; what has a `name=`; what is computed from a call that may do something
    itself; statements at the top level of a module, where a notebook shows their result; and TensorFlow 1 graph
    code.

    ## Sources

    - TensorFlow guide, [Introduction to Tensors](https://www.tensorflow.org/guide/tensor): "All tensors are
      immutable"
    """

    code = "TFP606"
    name = "discarded-result"
    triggers = ("tensorflow", "keras")
    fixes = "none"

    def check(self, model: Model) -> Iterator[Report]:
        for node in model.own(Discarded).all():
            if isinstance(node, cst.BinaryOperation):
                message = "this changes nothing, and the tensor that it returns is thrown away; use its result, or delete the line"
            else:
                called = (
                    f"`{model.module.code_for_node(node.func)}`"
                    if model.qualified(node.func)
                    else f"`.{callee_name(node)}()`"
                )
                remedy = (
                    "drop it, as the next line does the same"
                    if _is_done_next(model, node)
                    else "use its result"
                )
                message = f"{called} changes nothing, and what it returns is thrown away; {remedy}"
            yield Report(node, message)


def _is_done_next(model: Model, call: cst.Call) -> bool:
    """Whether the statement behind `call` calls the same again, and uses the result."""
    statement = model.statement_of(call)
    beside = model.walk.at[statement].block.statements
    behind = beside[beside.index(statement) + 1 :][:1]
    return any(
        same_code(part, call)
        for after in behind
        if not isinstance(after, cst.Expr) and isinstance(after, cst.BaseSmallStatement)
        for part in descendants(after)
    )
