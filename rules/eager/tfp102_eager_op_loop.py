"""TFP102 eager-op-loop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.model import Function, Loop, Model
from tflint_perf.analysis.training.sequences import writes_sequence
from tflint_perf.edit import Editor
from tflint_perf.edit.judged import TRACED
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .staging import Staging
from .tensor_rows import Rows


class EagerOpLoop(Rule):
    """A Python loop that updates a tensor op by op in eager mode.

    ## What it does

    Reports loops that run in eager mode, more than 16 times or an unknown number of times, and compute
    a tensor in each iteration from the result of the one before: a simulation, a power iteration, a recurrence, the
    search for an input by its gradient, a model that extends its own output.

    ## Why is this bad?

    In eager mode Python asks for each op and each time waits until it is dispatched, which takes longer than
    computing a small tensor. In a `tf.function`, a loop over `tf.range` is one op to Python, however many iterations
    it has. What matters is the work of one op: with large tensors Python's share vanishes. What was measured is a loop that
    each step runs; one that the program runs once, that asks for gradients or calls a model was not.

    ## Example

    ```python
    def largest_singular_value(matrix):
        vector = tf.ones((matrix.shape[1],))
        for _ in range(100):
            vector = tf.linalg.matvec(matrix, tf.linalg.matvec(matrix, vector), transpose_a=True)
            vector = vector / tf.norm(vector)
        return tf.norm(tf.linalg.matvec(matrix, vector))
    ```

    Use instead:

    ```python
    @tf.function
    def largest_singular_value(matrix):
        vector = tf.ones((matrix.shape[1],))
        for _ in tf.range(100):
            vector = tf.linalg.matvec(matrix, tf.linalg.matvec(matrix, vector), transpose_a=True)
            vector = vector / tf.norm(vector)
        return tf.norm(tf.linalg.matvec(matrix, vector))
    ```

    ## What is left alone

    Compiled code and functions that may be compiled elsewhere, training loops and what a tape records as part of a gradient step,
    loops over variables or layers, or over texts that a tensor can't stand for, loops that call anything but ops and models, and loops that are steered on the host by what they
    compute. Printing the value does not exempt a loop. The fix is refused where tracing would change or break the function, and where
    the loop is only one of several things that the function does.

    ## Sources

    - TensorFlow guide, [Better performance with tf.function](https://www.tensorflow.org/guide/function)
    """

    code = "TFP102"
    name = "eager-op-loop"
    triggers = ("for ", "while ")
    needs = ("tf.", "tensorflow", "keras")
    fixes = "unsafe"
    claim = Claim(
        "step time", least=1.5, at="where each step runs a loop of 50 iterations, on a matrix of 64 × 10"
    )
    adds_up = True

    def check(self, model: Model) -> Iterator[Report]:
        for loop in model.walk.loops.values():
            if isinstance(loop.node, cst.CompFor) or not _is_eager_op_loop(model, loop):
                continue
            if not model.programs.is_graph_code():
                yield Report(
                    loop.node,
                    f"`{model.op_loops.updated_tensors(loop)[0]}` is updated op by op in eager mode; put the loop in a "
                    "`@tf.function`, with `tf.range`",
                    partial(_compile, loop=loop),
                    as_measured=_is_as_measured(model, loop),
                )


def _is_as_measured(model: Model, loop: Loop) -> bool:
    """Whether each step runs the loop, and its iterations only ops: gradients and models take their time, too."""
    return (
        model.is_per_step(loop.node)
        and not model.op_loops.follows_gradients(loop)
        and not writes_sequence(model.infer, model.op_loops, loop)
    )


def _is_eager_op_loop(model: Model, loop: Loop) -> bool:
    op_loops = model.op_loops
    return (
        (op_loops.counts(loop) or model.iterations.are_many(loop, traced=False))
        and bool(op_loops.updated_tensors(loop))
        and (
            (model.loops.kind(loop) == "none" and op_loops.runs_ops_alone(loop))
            or op_loops.follows_gradients(loop)
            or writes_sequence(model.infer, op_loops, loop)
        )
        and not op_loops.takes_parts(loop)
        and not op_loops.works_on_text(loop)
        and not op_loops.is_steered(loop)
        and op_loops.runs_in_eager_program(loop)
        and not model.own(Rows).takes_rows(loop)
    )


def _compile(edit: Editor, loop: Loop) -> Repair | Refusal:
    model = edit.model
    function = model.function_at(loop.node)
    obstacle = model.own(Staging).obstacle(loop)
    if obstacle is not None:
        return Refusal(obstacle.reason, obstacle.node)
    if function is None or not isinstance(function.node, cst.FunctionDef) or loop.parent is not None:
        return Refusal("it is not in a function of its own", loop.node)
    refusal = _stays_eager(function, loop)
    if refusal is not None:
        return refusal
    obstacle = model.tracing.obstacle_in_function(function)
    if obstacle is not None:
        return Refusal(obstacle.reason, obstacle.node)
    assert isinstance(loop.node, cst.For) and isinstance(loop.node.iter, cst.Call)
    decorator, imports = edit.spell("function", function.node)
    ranged, _ = edit.spell("range", loop.node)
    return Repair(
        f"Compile `{function.name}` with `@{decorator}`, and loop over `{ranged}`",
        [
            *imports,
            edit.insert_above_def(function.node, f"@{decorator}\n"),
            edit.replace(loop.node.iter.func, ranged),
        ],
        safe=False,
        may_change=TRACED,
    )


def _stays_eager(function: Function, loop: Loop) -> Refusal | None:
    """Why the function around a loop is none to compile."""
    if function.outer is not None or function.owner is not None:
        return Refusal(f"`{function.name}` is a method, or is defined inside another function", function.node)
    others = [
        other for other in function.loops if other is not loop and isinstance(other.node, cst.For | cst.While)
    ]
    if others:
        return Refusal("the function has other loops", others[0].node)
    return None
