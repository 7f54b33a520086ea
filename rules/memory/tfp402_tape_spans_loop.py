"""TFP402 tape-spans-loop."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.execution.loops import runs_over_batches
from tflint_perf.analysis.execution.tapes import GRADIENTS, Tape
from tflint_perf.analysis.model import Loop, Model
from tflint_perf.analysis.python.syntax import argument, callee_name, is_name
from tflint_perf.rule import Claim, Report, Rule


class TapeSpansLoop(Rule):
    """A gradient tape that is opened outside the training loop and records every step of it.

    ## What it does

    Reports a `tf.GradientTape` in eager mode whose `with` holds a step loop: one whose iterations ask the tape for a
    gradient and apply it, or one over the batches of a dataset.

    ## Why is this bad?

    A tape keeps what it records, the tensors of each op on trainable variables, as long as it is open. Opened outside
    the loop it keeps all steps: memory grows until none is left. A gradient computed inside, which takes a persistent
    tape, is recorded as well. What was measured is such a tape. A single gradient behind the loop is that of all batches: the sum
    of theirs is the same, at the memory of one.

    ## Example

    ```python
    with tf.GradientTape(persistent=True) as tape:
        for images, labels in dataset:
            loss = loss_fn(labels, model(images, training=True))
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    ```

    Use instead:

    ```python
    for images, labels in dataset:
        with tf.GradientTape() as tape:
            loss = loss_fn(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    ```

    ## What is left alone

    Loops that are part of one step: over time, over the moves of an episode, over losses, over a few batches. Loops
    that open tapes of their own, as meta-learning does; tapes that are reset or stopped, or that are not persistent and asked in
    the loop: it can only come round once; compiled code.

    ## Sources

    - TensorFlow guide, [Introduction to gradients and automatic
      differentiation](https://www.tensorflow.org/guide/autodiff)
    """

    code = "TFP402"
    name = "tape-spans-loop"
    triggers = ("GradientTape",)
    claim = Claim("host memory", least=1.2, kind="growth")

    def check(self, model: Model) -> Iterator[Report]:
        for tape in model.tapes.all():
            if not model.is_eager(tape.node) or _is_reset_or_stopped(model, tape):
                continue
            loops = [
                loop
                for loop in _loops(model, tape)
                if _makes_steps(model, tape, loop) or _takes_batches(model, tape, loop)
            ]
            if not loops:
                continue
            asks = any(_asks(model, tape, loop) for loop in loops)
            if asks and _gives_one_gradient(tape):
                continue  # such a tape gives one gradient, so the loop comes round once
            yield Report(
                tape.made,
                f"`{tape.target.value}` is opened outside the loop and records every step of it, so memory grows; "
                f"open a tape in the loop, for each step{'' if asks else ', and add up the gradients'}",
                as_measured=asks,  # the experiment's tape records its own gradients as well
            )


def _loops(model: Model, tape: Tape) -> Iterator[Loop]:
    """The step loops that run while `tape` is open."""
    for loop in tape.function.loops if tape.function is not None else model.walk.module_loops:
        if model.loops.kind(loop) == "step" and _lies_in(model, loop.node, tape.node):
            yield loop


def _makes_steps(model: Model, tape: Tape, loop: Loop) -> bool:
    """Whether `loop` asks `tape` for gradients and applies them, both in its body."""
    return any(
        any(_lies_in(model, call, loop.node) for call in step.gradients)
        and any(_lies_in(model, call, loop.node) for call in step.applied)
        for step in model.steps.by_tape.get(tape.node, ())
        if step.name == tape.target.value
    )


def _asks(model: Model, tape: Tape, loop: Loop) -> bool:
    """Whether each iteration of `loop` asks `tape` for a gradient, rather than the code behind it, for all at once."""
    calls = (model.tapes.call_on(mention) for mention in model.tapes.mentions(tape))
    return any(
        call is not None and callee_name(call) in GRADIENTS and _lies_in(model, call, loop.node)
        for call in calls
    )


def _gives_one_gradient(tape: Tape) -> bool:
    """Whether `tape` fails when it is asked for a second gradient."""
    persistent = argument(tape.made, 0, "persistent")
    is_open = any(arg.star for arg in tape.made.args)
    return not is_open and (persistent is None or is_name(persistent, "False"))


def _takes_batches(model: Model, tape: Tape, loop: Loop) -> bool:
    """Whether `loop` takes batches from a dataset, and no tape but `tape` is around it or in it."""
    if loop.iterable is None or not runs_over_batches(model.value(loop.iterable)):
        return False
    return not any(
        _lies_in(model, other.node, loop.node) or _lies_in(model, loop.node, other.node)
        for other in model.tapes.all()
        if other.node is not tape.node
    )


def _is_reset_or_stopped(model: Model, tape: Tape) -> bool:
    calls = (model.tapes.call_on(mention) for mention in model.tapes.mentions(tape))
    return any(call is not None and callee_name(call) in ("reset", "stop_recording") for call in calls)


def _lies_in(model: Model, node: cst.CSTNode, outer: cst.CSTNode) -> bool:
    current = model.parent(node)
    while current is not None:
        if current is outer:
            return True
        current = model.parent(current)
    return False
