"""TFP204 object-created-per-step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.apis.facts import library
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.rewriting import Doubt
from tflint_perf.edit import Editor
from tflint_perf.edit.hoist import hoist, hoist_expression
from tflint_perf.edit.judged import judged
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .making import Made, Making
from .other_uses import OtherUses

_WHAT = {
    "variable": "a new `{name}` is created on each {time}; create it once and `assign` to it",
    "layer": "a new `{name}` is created on each {time}, with new weights; create it once, above the loop",
    "optimizer": "a new `{name}` is created on each {time}, and knows nothing of earlier ones; create it once, above the loop",
    "metric": "a new `{name}` is created on each {time}; create it once, and call `reset_state()`",
}
_STATELESS = "a new `{name}` is created on each {time}; create it once, above the loop"
_TRACED = "`{name}` is created in compiled code that runs on each step, where no variable can be created; create it outside"


class ObjectCreatedPerStep(Rule):
    """A variable, layer, optimizer or metric that is created again on each training step.

    ## What it does

    Reports such objects where they are created per step, or in compiled code that runs per step. Of objects created
    once an epoch, variables, layers and optimizers.

    ## Why is this bad?

    An optimizer's or layer's constructor creates variables, and names and registers each: that takes as long as
    a small step. What the previous object had learned is gone: momentum and moments, weights, counts. In compiled code
    no variable can be created after the first call, and TensorFlow raises an error. What was measured is a plain
    `SGD` of Keras 3; an optimizer with a state for each weight creates more variables.

    ## Example

    ```python
    for images, labels in dataset:
        optimizer = tf.keras.optimizers.SGD(0.1)
        loss, gradients = gradients_of(images, labels)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    ```

    Use instead:

    ```python
    optimizer = tf.keras.optimizers.SGD(0.1)
    for images, labels in dataset:
        loss, gradients = gradients_of(images, labels)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    ```

    ## What is left alone

    What a first call creates and keeps (`if self.v is None:`), all that a trial creates which trains variables of its own, parts of a model or object that is itself created
    there, what is passed to `compile`, and, once an epoch, whatever depends on the epoch, except variables to which
    the epoch's steps assign: these can take another value. There is a fix where the object holds no state between
    steps: layers without weights, and `SGD` without momentum. It is unsafe, since their names are numbered as they are created.
    Loops without training that the program goes through once beside it; loss objects, which are created in microseconds, and layers without weights, the file's own too, in compiled code, where they are created once per trace.

    ## Sources

    - TensorFlow guide, [Better performance with tf.function](https://www.tensorflow.org/guide/function), "Creating
      tf.Variables"
    """

    code = "TFP204"
    name = "object-created-per-step"
    triggers = ("Variable(", "Dense", "keras", "layers", "optimizers", "metrics", "losses")
    needs = ("for ", "while ", "def ")
    fixes = "unsafe"
    claim = Claim("step time", least=1.5, at="for a plain `SGD`")

    def check(self, model: Model) -> Iterator[Report]:
        if model.programs.is_graph_code():
            return
        for made in model.own(Making).made_again():
            if model.once.runs_seldom(made.call) or model.guard_of(made.call) is not None:
                continue
            if model.single_passes.hold(made.call):
                continue
            yield Report(
                made.call,
                _text(made).format(name=made.name, time=made.time),
                partial(_make_once, made) if made.stateless and made.time in ("step", "epoch") else None,
                # As in the experiment, which has Keras make an optimizer that keeps nothing for each weight.
                as_measured=made.kind == "optimizer"
                and made.stateless
                and made.time == "step"
                and _is_of_keras(model, made),
            )


def _is_of_keras(model: Model, made: Made) -> bool:
    """Whether Keras makes it, or a class derived from one of Keras: optimizers of TensorFlow 1 make no variables yet,
    and those of Keras 2 others."""
    name = model.qualified(made.call.func)
    return not name or (library(name) == "keras" and ".legacy." not in name)


def _text(made: Made) -> str:
    if made.time == "traced":
        return _TRACED
    without_weights = made.kind == "layer" and not made.makes_variables
    return _STATELESS if made.stateless or without_weights else _WHAT.get(made.kind, _STATELESS)


def _make_once(made: Made, edit: Editor) -> Repair | Refusal:
    model = edit.model
    loop = model.loops.innermost_loop(made.call)
    if loop is None:
        return Refusal("it is created in a function that the loop calls", made.call)
    statement = model.statement_of(made.call)
    whole = isinstance(statement, cst.Assign | cst.AnnAssign) and statement.value is made.call
    if whole:
        other = model.own(OtherUses).of_optimizer(statement, loop) if made.kind == "optimizer" else None
        moved = hoist(edit, statement) if other is None else Refusal(other.reason, other.node)
    else:
        moved = hoist_expression(edit, made.call, _name_for(made), loop)
    if isinstance(moved, Refusal):
        return moved
    numbered = Doubt("numbered names, such as those of layers", made.call)
    return judged("Create it once, above the loop", moved.edits, moved.doubt or numbered)


def _name_for(made: Made) -> str:
    return "optimizer" if made.kind == "optimizer" else re.sub(r"(?<=[a-z])(?=[A-Z])", "_", made.name).lower()
