"""TFP203 graph-op-in-session-loop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.model import Loop, Model
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.syntax import callee_name, calls_below
from tflint_perf.analysis.training import graph_ops as ops
from tflint_perf.edit import Editor
from tflint_perf.edit.hoist import hoist, hoist_expression
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

_STEPS = 60
_REMEDY = "create it once, above the loop"


class GraphOpInSessionLoop(Rule):
    """An op that is added to the graph in each iteration of a loop that runs a session.

    ## What it does

    Reports ops, `Saver`, `global_variables_initializer`, `merge_all`, `assign` and `minimize` in TensorFlow 1
    style code that are created inside a loop that runs a session, or in a function that such a loop calls, even in another
    file: one finding for each statement of the loop, and for each function that creates ops and runs a session. A function
    that creates ops and leaves it to the loop to run them is reported where the loop calls it.

    ## Why is this bad?

    A graph only grows. Each iteration adds the same ops again, and since the graph has changed, the session
    has to prepare it again before it runs: every step is slower than the one before, and memory grows. What is added
    only once an epoch makes the graph grow as seldom, and the severity is `info`; what that costs was not measured, nor
    what a loop costs that ends after a few steps.

    ## Example

    ```python
    for step in range(steps):
        accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
        sess.run([train_op, accuracy])
    ```

    Use instead:

    ```python
    accuracy = tf.reduce_mean(tf.cast(correct, tf.float32))
    for step in range(steps):
        sess.run([train_op, accuracy])
    ```

    ## What is left alone

    Ops created before the loop, an op or two in each of a few dozen epochs, a loop that builds a graph and runs nothing, a loop of a few iterations
    (`for i in range(3)`), and a fresh graph per iteration (`with tf.Graph().as_default():` in the loop, or
    `reset_default_graph()`); what runs only where a loss has become NaN. The fix is refused where the loop changes what the op is made from, and for
    variables. It is unsafe: ops that are created later get other names and, where the graph has a seed, other random
    numbers; `merge_all` and initializers take in what else the graph holds, and a single `Saver` deletes
    old checkpoints.

    ## Sources

    - TensorFlow API, [`tf.Graph.finalize`](https://www.tensorflow.org/api_docs/python/tf/Graph#finalize), which
      makes such a loop fail instead
    """

    code = "TFP203"
    name = "graph-op-in-session-loop"
    triggers = ("sess.", "session", "Session")
    fixes = "unsafe"
    claim = Claim(
        "step time",
        least=2.0,
        kind="growth",
        steps=60,
        at="for a confusion matrix that each step adds to the graph",
    )

    def check(self, model: Model) -> Iterator[Report]:
        for (holder, loop), calls in _by_cause(model).items():
            what = _shown(model, calls[0])
            if isinstance(holder, cst.FunctionDef) and len(calls) > 1:
                what = f"`{holder.name.value}`, which makes several ops,"
            once_an_epoch = loop is not None and model.loops.kind(loop) == "epoch"
            soon_over = _is_soon_over(model, loop)
            if (
                once_an_epoch
                and soon_over
                and all(_is_plain(model, b) for c in calls for b in calls_below(c))
            ):
                continue
            when = "epoch" if once_an_epoch else "iteration of a loop that runs a session"
            yield Report(
                calls[0],
                f"{what} adds to the graph in each {when}; {_REMEDY}",
                partial(_make_one_once, calls, loop),
                # The experiment adds an op on each of so many steps.
                as_measured=not once_an_epoch and not soon_over,
                minor=once_an_epoch,
            )


def _is_soon_over(model: Model, loop: Loop | None) -> bool:
    """Whether `loop` is known to end before the experiment does."""
    most = model.iterations.at_most(loop) if loop is not None else None
    return most is not None and most < _STEPS


def _is_plain(model: Model, call: cst.Call) -> bool:
    """Whether `call` adds an op or two, rather than some for each variable of a model."""
    return not (
        ops.makes_state(model.infer, call)
        or ops.trains(model.infer, call)
        or model.names.is_call_that(call, "of-collections")
        or model.calls.targets(call)
    )


def _by_cause(model: Model) -> dict[tuple[cst.CSTNode, Loop | None], list[cst.Call]]:
    """The ops that session loops make, by the statement of the loop or the called function that makes them."""
    causes: dict[tuple[cst.CSTNode, Loop | None], list[cst.Call]] = {}
    for call, loop in model.sessions.ops_in_loops():
        guard = model.guard_of(call)
        if guard is not None and not guard.counts:
            continue  # behind `counter % n` the graph grows, too
        function = model.function_at(call)
        is_called = function is not None and (loop is None or function is not loop.function)
        holder = function.node if function is not None and is_called else model.statement_of(call)
        causes.setdefault((holder, loop), []).append(call)
    for calls in causes.values():
        function = model.function_at(calls[0])
        order = function.calls if function is not None else model.walk.module_calls
        calls.sort(key=order.index)
    return causes


def _shown(model: Model, call: cst.Call) -> str:
    """What `call` calls, as the file writes it."""
    if model.qualified(call.func):
        return f"`{model.module.code_for_node(call.func)}`"
    dot = "." if isinstance(call.func, cst.Attribute) else ""
    return f"`{dot}{callee_name(call)}()`" if callee_name(call) else "a layer"


def _make_one_once(calls: list[cst.Call], loop: Loop | None, edit: Editor) -> Repair | Refusal:
    """Move the first that can be moved: the others are found again. Where none can, say why the first stays."""
    found = [_make_once(call, loop, edit) for call in calls]
    return next((repair for repair in found if isinstance(repair, Repair)), found[0])


def _make_once(call: cst.Call, loop: Loop | None, edit: Editor) -> Repair | Refusal:
    model = edit.model
    if loop is None:
        return Refusal("it is created in a function that a loop in another file calls")
    if model.loops.innermost_loop(call) is None or model.function_at(call) is not loop.function:
        return Refusal("it is created in a function that the loop calls", loop.node)
    statement = model.statement_of(call)
    assigned = statement.value if isinstance(statement, cst.Assign | cst.AnnAssign) else None
    whole = assigned is not None and not any(model.sessions.is_run(below) for below in calls_below(assigned))
    moved = assigned if whole and assigned is not None else call
    refusal = next((r for below in calls_below(moved) if (r := _stays(model, below, statement, loop))), None)
    if refusal is not None:
        return refusal
    if whole:
        hoisted = hoist(edit, statement)
    else:
        hoisted = hoist_expression(edit, call, f"{callee_name(call).lower().removesuffix('_op')}_op", loop)
    if isinstance(hoisted, Refusal):
        return hoisted
    return Repair(
        "Create it once, above the loop", hoisted.edits, safe=False, may_change=_may_change(model, moved)
    )


def _may_change(model: Model, moved: cst.BaseExpression) -> str:
    """What is another thing with one op than with a new one in each iteration."""
    if model.invariance.draws_random_numbers(moved):
        return "the random numbers, and the names of ops that are created later"
    if any(
        ops.trains(model.infer, call) or model.names.is_call_that(call, "of-collections")
        for call in calls_below(moved)
    ):
        return "what the op takes in from the graph, and the names of ops that are created later"
    # A seed for the whole graph gives each random op a number of its own, by how many ops there are before it.
    return "the names of ops that are created later and, where the graph has a seed, their random numbers"


def _stays(model: Model, call: cst.Call, statement: cst.CSTNode, loop: Loop) -> Refusal | None:
    """Why a call, in what would be moved, has to stay in the loop."""
    if ops.makes_state(model.infer, call):
        return Refusal("it makes variables, which would keep their values from step to step", call)
    if ops.makes_iterator(call):
        return Refusal("the iterator would continue where it now starts again", call)
    if model.names.is_call_that(call, "of-collections"):
        for other, other_loop in model.sessions.ops_in_loops():
            if (
                other_loop is not None
                and loop in loops_around(other_loop)
                and model.statement_of(other) is not statement
                and ops.adds_to_collections(model.infer, other)
            ):
                return Refusal("it also takes in what else the loop adds to the graph", other)
    if not model.sessions.is_pure(call):
        return Refusal(f"`{callee_name(call)}()` may do more than create ops", call)
    return None
