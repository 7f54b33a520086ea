"""TFP406 gc-in-loop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.syntax import argument, integer
from tflint_perf.edit import Editor
from tflint_perf.rule import Claim, Repair, Report, Rule

# So rarely, a full collection is lost in the noise.
_RARE = 1_000
_YOUNG = (0, 1)


class GcInLoop(Rule):
    """`gc.collect()` on each training step.

    ## What it does

    Reports `gc.collect()` that runs per step, also under `step % n` with a small `n`.

    ## Why is this bad?

    A full collection walks every Python object of the program, TensorFlow's and Keras's among them: tens to
    hundreds of milliseconds, while the device waits. Tensors are freed as soon as nothing refers to them, by
    reference counting; a collection frees no device memory that was not already free.

    ## Example

    ```python
    for images, labels in dataset:
        loss = train_step(images, labels)
        gc.collect()
    ```

    Use instead:

    ```python
    for images, labels in dataset:
        loss = train_step(images, labels)
    ```

    ## What is left alone

    A collection once an epoch, under a debug flag, or under `step % n` with `n` of 1,000 or more; a collection of the
    young generations (`gc.collect(0)`, `gc.collect(1)`), which walks few objects. The fix is unsafe:
    whoever collects may have had a reason to, such as running out of memory.

    ## Sources

    - Python documentation, [`gc.collect`](https://docs.python.org/3/library/gc.html#gc.collect)
    """

    code = "TFP406"
    name = "gc-in-loop"
    triggers = ("collect(",)
    needs = ("gc",)
    fixes = "unsafe"
    claim = Claim("step time", least=2.0, at="as `gc.collect()` goes through all Python objects")

    def check(self, model: Model) -> Iterator[Report]:
        for call in model.calls_that("collects-garbage"):
            if _is_of_young(call) or not model.is_per_step(call) or model.is_compiled(call):
                continue
            guard = model.guard_of(call)
            if guard is None or (guard.every is not None and guard.every < _RARE):
                message = "`gc.collect()` runs on each step"
                if guard is not None:
                    message = f"`gc.collect()` runs every {guard.every} steps"
                yield Report(
                    call,
                    f"{message} and walks all Python objects while the device waits; remove it",
                    partial(_remove, call=call),
                    as_measured=guard is None,  # the experiment collects on each step
                )


def _is_of_young(call: cst.Call) -> bool:
    """Whether `call` collects young objects only, which are few."""
    return integer(argument(call, 0, "generation")) in _YOUNG


def _remove(edit: Editor, call: cst.Call) -> Repair | None:
    edits = edit.remove_call(call)
    if edits is None:
        return None
    return Repair("Remove the collection", edits, safe=False, may_change="when memory is freed")
