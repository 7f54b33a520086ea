"""TFP204 object-created-per-step."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.apis.facts import library
from tflint_perf.analysis.model import Function, Model
from tflint_perf.analysis.rewriting import Doubt
from tflint_perf.edit import Editor
from tflint_perf.edit.hoist import hoist, hoist_expression
from tflint_perf.edit.judged import judged
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .making import Made, Making
from .other_uses import OtherUses
from .variable_uses import VariableUses

_WHAT = {
    "variable": "a new `{name}` is created on each {time}; create it once and `assign` to it",
    "layer": "a new `{name}` is created on each {time}, with new weights; create it once, {where}",
    "optimizer": "a new `{name}` is created on each {time}, and knows nothing of earlier ones; create it once, {where}",
    "metric": "a new `{name}` is created on each {time}; create it once, and call `reset_state()`",
}
_STATELESS = "a new `{name}` is created on each {time}; create it once, {where}"
_WITHOUT_WEIGHTS = "a new `{name}`, a layer without weights, is created on each {time}; call an op instead, or create it once, {where}"
_TRACED = "`{name}` is created in compiled code that runs on each step, where no variable can be created; create it outside"
_ONLY_READ = "a new `{name}` is created on each {time}, and nothing assigns to it; a tensor will do"
_ADDED_UP = "a new `{name}` is created on each {time} to add up numbers; add to a tensor instead"
_TRACED_TENSOR = "`{name}` is created in compiled code that runs on each step, where no variable can be created; a tensor will do"


class ObjectCreatedPerStep(Rule):
    """A variable, layer, optimizer or metric that is created again on each training step.

    ## What it does

    Reports such objects where they are created per step, or in compiled code that runs per step. Of objects created
    once an epoch, variables, layers and optimizers. Where a variable is only read, or added to, the finding says that a
    tensor will do. Layers without weights, which take about as long to create as to call, are of severity `info`, and one is
    reported for each function.

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
    claim = Claim("step time", least=1.5, at="for making a plain `SGD` for 4 variables")

    def check(self, model: Model) -> Iterator[Report]:
        if model.programs.is_graph_code():
            return
        seen: set[Function | None] = set()
        for made in model.own(Making).made_again():
            if model.once.runs_seldom(made.call) or model.guard_of(made.call) is not None:
                continue
            if model.single_passes.hold(made.call):
                continue
            without_weights = made.kind == "layer" and not made.makes_variables
            if without_weights and model.loops.innermost_loop(made.call) is None:
                if model.function_at(made.call) in seen:
                    continue  # one cause, and not worth a finding for each
                seen.add(model.function_at(made.call))
            yield Report(
                made.call,
                _text(model, made).format(name=made.name, time=made.time, where=_where(model, made)),
                partial(_make_once, made) if made.stateless and made.time in ("step", "epoch") else None,
                # As in the experiment, which has Keras make an optimizer that keeps nothing for each weight.
                as_measured=made.kind == "optimizer"
                and made.stateless
                and made.time == "step"
                and _is_of_keras(model, made),
                minor=without_weights,
            )


def _is_of_keras(model: Model, made: Made) -> bool:
    """Whether Keras makes it, or a class derived from one of Keras: optimizers of TensorFlow 1 make no variables yet,
    and those of Keras 2 others."""
    name = model.qualified(made.call.func)
    return not name or (library(name) == "keras" and ".legacy." not in name)


def _text(model: Model, made: Made) -> str:
    use = model.own(VariableUses).of(made.call) if made.kind == "variable" else "kept"
    if made.time == "traced":
        return _TRACED if use == "kept" else _TRACED_TENSOR
    if use != "kept":
        return _ONLY_READ if use == "read" else _ADDED_UP
    if made.kind == "layer" and not made.makes_variables:
        return _WITHOUT_WEIGHTS if made.stateless else _STATELESS
    return _STATELESS if made.stateless else _WHAT.get(made.kind, _STATELESS)


def _where(model: Model, made: Made) -> str:
    """Where it can be created once."""
    function = model.function_at(made.call)
    if (
        function is None
        or isinstance(function.node, cst.Lambda)
        or model.loops.innermost_loop(made.call) is not None
    ):
        return "above the loop"
    return "in `__init__`" if function.owner is not None else f"outside `{function.name}`"


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
