"""TFP603 unguarded-logging."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.syntax import argument, callee_name, string
from tflint_perf.edit import Editor
from tflint_perf.rule import Beside, Claim, Refusal, Repair, Report, Rule

from .every import every
from .writes import Writes

# As often as is usual, and so seldom that the cost is lost in the noise.
_STEPS = 100
_DOES = {
    "summary": "copies a whole tensor to the host and processes it there, on each step",
    "weights": "writes all weights to disk on each step",
    "flush": "waits for the disk on each step",
}


class UnguardedLogging(Rule):
    """Histograms, images, weights or checkpoints written on each training step.

    ## What it does

    Reports `tf.summary.histogram` and `tf.summary.image`, a model's `save` and `save_weights`, a checkpoint's `save`
    and a summary writer's `flush` that run per step.

    ## Why is this bad?

    What is written must first be copied to the host, which waits for the device. Then a histogram is sorted into buckets,
    an image encoded, a checkpoint put on disk, while the next step could run. Nobody looks at that many of them.
    What was measured is saving weights; a model that is saved to a folder has its functions traced as well.

    ## Example

    ```python
    for step, (images, labels) in enumerate(dataset):
        loss = train_step(images, labels)
        tf.summary.histogram("weights", model.weights[0], step=step)
    ```

    Use instead:

    ```python
    for step, (images, labels) in enumerate(dataset):
        loss = train_step(images, labels)
        if step % 100 == 0:
            tf.summary.histogram("weights", model.weights[0], step=step)
    ```

    ## What is left alone

    Scalars, a checkpoint manager with a `checkpoint_interval`, what is under `if step % n` or any other condition, once an epoch, pictures of several items that each have
    a name of their own, programs that apply a model which was trained before, and TensorFlow 1 graph code. The fix needs a step counter in scope: that of the loop, or one
    that it counts up.

    ## Sources

    - TensorFlow guide, [Training
      checkpoints](https://www.tensorflow.org/guide/checkpoint)
    - TensorFlow documentation, [`tf.summary.record_if`](https://www.tensorflow.org/api_docs/python/tf/summary/record_if)
    """

    code = "TFP603"
    name = "unguarded-logging"
    triggers = ("histogram(", "image(", "save(", "save_weights(", "flush(")
    fixes = "unsafe"
    claim = Claim(
        "step time",
        least=1.5,
        at="for saving the weights of two Dense layers, of 64 and 10 units, on each step instead of each hundredth",
    )

    def check(self, model: Model) -> Iterator[Report]:
        if model.programs.is_graph_code():
            return
        written = [write for write in model.own(Writes).all() if model.own(Writes).runs_each_step(write.call)]
        calls = {write.call for write in written}
        for write in written:
            if model.single_passes.hold(write.call):
                continue
            others = tuple(other.call for other in written if _is_of_same_step(model, other.call, write.call))
            yield Report(
                write.call,
                f"`{model.module.code_for_node(write.call.func)}` {_DOES[write.kind]}; "
                f"do so every {_STEPS} steps or once an epoch",
                partial(_guard, call=write.call, calls=calls),
                # As in the experiment, and not what else a folder of a saved model has.
                as_measured=write.kind == "weights" and not _saves_folder(model, write.call),
                beside=(Beside("the step writes in {lines}, too: one guard does for all of them", others),)
                if others
                else (),
            )


def _is_of_same_step(model: Model, call: cst.Call, other: cst.Call) -> bool:
    """Whether two calls that write are made by the same iteration, or else call of a function."""
    return (
        call is not other
        and model.function_at(call) is model.function_at(other)
        and model.loops.innermost_loop(call) is model.loops.innermost_loop(other)
    )


def _saves_folder(model: Model, call: cst.Call) -> bool:
    """Whether a model is saved with its functions, to a path without an ending."""
    if callee_name(call) != "save" or not isinstance(call.func, cst.Attribute):
        return False
    path = string(argument(call, 0, "filepath"))
    return (
        path is not None and "." not in path.split("/")[-1] and model.value(call.func.value).kind == "model"
    )


def _guard(edit: Editor, call: cst.Call, calls: Collection[cst.Call]) -> Repair | Refusal:
    statement = edit.model.statement_of(call)
    if not isinstance(statement, cst.Expr) or statement.value is not call:
        return Refusal("its result is used", statement)
    edits = every(edit, statement, lambda node: isinstance(node, cst.Expr) and node.value in calls, _STEPS)
    if isinstance(edits, Refusal):
        return edits
    if isinstance(call.func, cst.Attribute) and call.func.attr.value == "flush":
        return Repair(
            f"Flush every {_STEPS} steps", edits, safe=False, may_change="when summaries reach the disk"
        )
    return Repair(
        f"Write every {_STEPS} steps", edits, safe=False, may_change="what is written: one step in a hundred"
    )
