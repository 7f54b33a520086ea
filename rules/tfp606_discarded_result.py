"""TFP606 discarded-result."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.model import Model
from tflint_perf.model.dataset_apis import DATASET_STAGES
from tflint_perf.model.pure_ops import is_pure_op
from tflint_perf.model.syntax import callee_name, calls_below, keyword_argument
from tflint_perf.rule import Report, Rule

_CLOCKS = (
    "time.time",
    "time.perf_counter",
    "time.monotonic",
    "time.process_time",
    "timeit.default_timer",
    "tf.timestamp",
)


class DiscardedResult(Rule):
    """An op whose result is thrown away, as if it changed the tensor that it is given.

    ## What it does

    Reports statements that call an op which does nothing but compute a new tensor (`tf.clip_by_norm(g, 15)`,
    `tf.stop_gradient(x)`), a stage of a dataset (`dataset.shuffle(1000)`), or arithmetic with tensors (`loss * mask`), and
    do nothing with what it gives.

    ## Why is this bad?

    Tensors and datasets never change. The op gives a new one; thrown away, it is work for nothing, and what the
    author meant to happen does not: gradients stay unclipped, the dataset unshuffled.

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
    itself; statements at the top level of a module, where a notebook shows what they give; and TensorFlow 1 graph
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
        for statement in model.walk.at:
            if not isinstance(statement, cst.Expr):
                continue
            if isinstance(statement.value, cst.BinaryOperation):
                yield from _of_arithmetic(model, statement, statement.value)
                continue
            call = _thrown_away(statement.value)
            if call is None or not _only_computes(model, call) or _is_on_purpose(model, statement, call):
                continue
            given = (
                f"`{model.module.code_for_node(call.func)}`"
                if model.qualified(call.func)
                else f"`.{callee_name(call)}()`"
            )
            yield Report(call, f"{given} changes nothing, and what it gives is thrown away; use its result")


def _of_arithmetic(model: Model, statement: cst.Expr, node: cst.BinaryOperation) -> Iterator[Report]:
    """`loss * mask` as a statement of a function."""
    in_function = model.walk.at[statement].block.owner is not model.module
    if not in_function or model.programs.is_graph_code() or model.value(node).kind != "tensor":
        return
    if all(_is_harmless(model, call) for call in calls_below(node)):
        yield Report(
            node, "this changes nothing, and the tensor that it gives is thrown away; use its result"
        )


def _thrown_away(node: cst.BaseExpression) -> cst.Call | None:
    """The call that a statement is, with a sign or without, or that makes each item of a list that it is."""
    if isinstance(node, cst.ListComp | cst.SetComp):
        node = node.elt
    while isinstance(node, cst.UnaryOperation):
        node = node.expression
    return node if isinstance(node, cst.Call) else None


def _only_computes(model: Model, call: cst.Call) -> bool:
    """Whether a call, and every call among its arguments, does nothing but compute."""
    name = model.qualified(call.func)
    if name and not is_pure_op(name):
        return False
    if not name:
        if not isinstance(call.func, cst.Attribute) or callee_name(call) not in DATASET_STAGES:
            return False
        # What is a dataset only by the stages that it is asked for may be anything else here.
        sources = [way[0] for way in model.value(call.func.value).pipelines]
        if not any(source.origin is None or source.origin.path for source in sources):
            return False
    arguments = [below for arg in call.args for below in calls_below(arg.value)]
    return all(_is_harmless(model, below) for below in arguments)


def _is_harmless(model: Model, call: cst.Call) -> bool:
    name = model.qualified(call.func)
    if name:
        return is_pure_op(name) or name.startswith(("tf.constant", "tf.zeros", "tf.ones", "tf.shape", "np."))
    return isinstance(call.func, cst.Name) and call.func.value in (
        "len",
        "int",
        "float",
        "zip",
        "list",
        "range",
    )


def _is_on_purpose(model: Model, statement: cst.Expr, call: cst.Call) -> bool:
    if keyword_argument(call, "name") is not None or model.programs.is_graph_code():
        return True
    block = model.walk.at[statement].block
    if block.owner is model.module:
        return True  # a notebook shows it
    function = model.function_at(call)
    calls = function.calls if function is not None else model.walk.module_calls
    return any(model.qualified(other.func) in _CLOCKS for other in calls) or _is_tried(model, statement)


def _is_tried(model: Model, statement: cst.CSTNode) -> bool:
    """Whether an error is waited for: in a `try`, or in a `with` such as `pytest.raises(…)`."""
    child, current = statement, model.parent(statement)
    while current is not None and not isinstance(current, cst.FunctionDef | cst.Lambda):
        if isinstance(current, cst.Try | cst.TryStar) and child is current.body:
            return True
        if isinstance(current, cst.With):
            names = [callee_name(item.item) for item in current.items if isinstance(item.item, cst.Call)]
            if any(
                "raises" in name.lower() or "profil" in name.lower() or "time" in name.lower()
                for name in names
            ):
                return True
        child, current = current, model.parent(current)
    return False
