"""TFP101 eager-train-step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.edit import Editor
from tflint_perf.edit.extract import extract, stretch_between
from tflint_perf.model import GradientStep, Model
from tflint_perf.model.scopes import Function
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule


class EagerTrainStep(Rule):
    """A gradient step that runs in eager mode, op by op, on each step.

    ## What it does

    Reports a `tf.GradientTape` whose gradients are applied (`apply_gradients`, `minimize`, `assign_sub`) per step
    outside compiled code: inline in the training loop, or in a function or method that is not compiled.

    ## Why is this bad?

    In eager mode each op is dispatched from Python, forward and backward, and each variable's update too. A step
    of a small model is hundreds of ops, and Python takes longer to ask for one than the device to run it. A
    `tf.function` is traced once and then runs as one graph.

    ## Example

    ```python
    for images, labels in dataset:
        with tf.GradientTape() as tape:
            loss = loss_fn(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    ```

    Use instead:

    ```python
    @tf.function
    def train_step(images, labels):
        with tf.GradientTape() as tape:
            loss = loss_fn(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))

    for images, labels in dataset:
        train_step(images, labels)
    ```

    ## What is left alone

    Compiled code, a step that is run once, gradients that nothing applies, and methods that may be compiled by
    someone else: those that nothing here calls and whose class has a base in another file. The fix is refused,
    and the finding says why, where tracing would change or break the program.

    ## Sources

    - TensorFlow guide, [Better performance with tf.function](https://www.tensorflow.org/guide/function)
    """

    code = "TFP101"
    name = "eager-train-step"
    triggers = ("GradientTape",)
    fixes = "unsafe"
    claim = Claim("step time", least=2.0)
    always_on = True

    def check(self, model: Model) -> Iterator[Report]:
        by_tape: dict[cst.With, list[GradientStep]] = {}
        for step in model.steps.all():
            by_tape.setdefault(step.tape, []).append(step)
        for tape, steps in by_tape.items():
            if (
                not model.is_eager(tape)
                or not model.loops.may_be_per_step(tape)
                or _lies_in_another(model, tape, by_tape)
            ):
                continue
            yield Report(
                tape,
                "the gradient step runs in eager mode, op by op, on each step; compile it with `@tf.function`",
                partial(_compile, steps=steps),
            )


def _lies_in_another(model: Model, tape: cst.With, tapes: dict[cst.With, list[GradientStep]]) -> bool:
    current = model.parent(tape)
    while current is not None:
        if current in tapes:
            return True
        current = model.parent(current)
    return False


def _compile(edit: Editor, steps: list[GradientStep]) -> Repair | Refusal | None:
    model, step = edit.model, steps[0]
    if model.loops.innermost_loop(step.tape) is None and step.function is not None:
        return _decorate(edit, step.function)
    stretch = stretch_between(
        model, step.tape, [call for step in steps for call in (*step.gradients, *step.applied)]
    )
    if stretch is None:
        return Refusal("the step is spread over several blocks", step.tape)
    return extract(edit, stretch, "train_step")


def _decorate(edit: Editor, function: Function) -> Repair | Refusal:
    model = edit.model
    obstacle = model.tracing.obstacle_in_function(function)
    if obstacle is not None:
        return Refusal(obstacle.reason, obstacle.node)
    spelled, imports = edit.spell("function")
    if model.shapes.vary_for(function):
        spelled += "(reduce_retracing=True)"
    return Repair(
        f"Compile `{function.name}` with `@{spelled}`",
        [*imports, edit.insert_above_def(function.node, f"@{spelled}\n")],
        safe=False,
    )
