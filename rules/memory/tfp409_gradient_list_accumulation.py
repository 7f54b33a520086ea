"""TFP409 gradient-list-accumulation."""

from __future__ import annotations

from collections.abc import Iterator

from tflint_perf.analysis.model import Model
from tflint_perf.rule import Claim, Report, Rule

from .gradient_sums import GradientSums

# So many sums in all take no time.
_FEW = 100


class GradientListAccumulation(Rule):
    """Gradients of several batches that are added up in a Python list of tensors.

    ## What it does

    Reports lists of tensors to which eager code adds the gradients of each batch, and lists that are filled with zeros
    again for each batch, so that nothing is added up at all.

    ## Why is this bad?

    Each sum is an op of its own, launched from Python, and a new tensor for each variable of the model; the gradients
    have to leave the compiled step for it. A list that starts again on each batch gives the last batch's gradients.
    What was measured is a compiled step, which adds up in variables instead.

    ## Example

    ```python
    for step, (images, labels) in enumerate(dataset):
        gradients = gradients_of(images, labels)
        totals = [total + gradient for total, gradient in zip(totals, gradients)]
    ```

    Use instead:

    ```python
    @tf.function
    def accumulate(images, labels):
        for total, gradient in zip(totals, gradients_of(images, labels)):
            total.assign_add(gradient)

    for step, (images, labels) in enumerate(dataset):
        accumulate(images, labels)
    ```

    Here `totals` are variables. An optimizer of Keras 3 does it by itself with `gradient_accumulation_steps=4`.

    ## What is left alone

    Accumulators that are variables, compiled code, two gradients of one batch that are added, gradients that no
    tape of the file gave, what a program adds up at most a hundred times in all, and sums beside steps that are not compiled:
    in eager mode, `assign_add` is as many ops, so compiling the step comes first (TFP101).

    ## Sources

    - Keras API, [Optimizers: gradient_accumulation_steps](https://keras.io/api/optimizers/)
    """

    code = "TFP409"
    name = "gradient-list-accumulation"
    triggers = ("GradientTape",)
    claim = Claim(
        "step time",
        least=1.2,
        step="a micro-batch",
        at="with its compiled gradients and its share of an update every 4 micro-batches, by `assign_add` in a compiled function, at 10 variables",
    )
    adds_up = True

    def check(self, model: Model) -> Iterator[Report]:
        for found in model.own(GradientSums).all():
            if not model.is_eager(found.node) or not model.is_per_step(found.node):
                continue
            total = model.totals.at_most(found.node)
            if total is not None and total <= _FEW and not found.starts_again:
                continue
            name = model.module.code_for_node(found.total)
            problem = "adds up gradients in a Python list, op by op, on each step"
            tapes = tuple(tape.node for tape in model.tapes.all())
            compiled = [model.is_compiled(tape) for tape in tapes]
            if found.starts_again:
                problem = "starts again from zero on each batch, so no gradients are added up"
            elif not any(compiled):
                continue  # compiling the step comes first; in eager mode, sums in variables take as many ops
            yield Report(
                found.node,
                f"`{name}` {problem}; use variables and `assign_add`, or the optimizer's `gradient_accumulation_steps`",
                # One that starts again is no matter of time, and the experiment's step is compiled.
                as_measured=not found.starts_again and all(compiled),
            )
