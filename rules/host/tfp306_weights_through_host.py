"""TFP306 weights-through-host."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.syntax import dotted_name, same_code
from tflint_perf.edit import Editor
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .assign_loops import AssignLoop, AssignLoops
from .weight_copies import WeightCopies, WeightCopy
from .weights import assign_compiled, loop_compiled

_BEGUN = "`__init__` calls it before the models have weights, and what is traced then does nothing ever after"


class WeightsThroughHost(Rule):
    """Weights that go from model to model through NumPy arrays, or through eager ops, on each training step.

    ## What it does

    Reports `target.set_weights(…)` per step of what is computed from `get_weights()`: a copy of another model's weights, a
    moving average of both, or clipped weights of the same model. Reports averages of `model.weights` alike, and loops over the
    variables of two models that `assign` to each in eager mode.

    ## Why is this bad?

    `get_weights` copies every variable to the host, one at a time, and each copy waits for the device.
    `set_weights` copies all of them back. An average of `model.weights` runs several eager ops for each variable. A
    compiled function that assigns variable to variable does the same in one call, and nothing leaves the device. What was measured is a moving average, which copies the weights of two models.

    ## Example

    ```python
    for batch in dataset:
        train_step(batch)
        target.set_weights(
            [0.01 * w + 0.99 * t for w, t in zip(model.get_weights(), target.get_weights())]
        )
    ```

    Use instead:

    ```python
    @tf.function
    def blend_weights(source, target):
        for w, t in zip(source.weights, target.weights):
            t.assign(0.01 * w + 0.99 * t)


    for batch in dataset:
        train_step(batch)
        blend_weights(model, target)
    ```

    ## What is left alone

    Copies under a condition, every so many steps, or once an epoch; weights that are saved, loaded, restored
    or changed at random; a model that each step makes, for which the function would be traced again; a model that has just been made by a class with a `call`, and has no weights yet. There is no fix where a list of weights is used for something else, too.
    A loop over variables has a bold fix alone where models may have none yet: a function that is traced then does nothing ever after.

    ## Sources

    - TensorFlow API, [`tf.keras.Model`](https://www.tensorflow.org/api_docs/python/tf/keras/Model)
    - TensorFlow guide, [Introduction to Variables](https://www.tensorflow.org/guide/variable)
    """

    code = "TFP306"
    name = "weights-through-host"
    triggers = ("set_weights(", ".assign(")
    needs = (
        "get_weights(",
        ".numpy(",
        ".weights",
        ".trainable_weights",
        ".variables",
        ".trainable_variables",
    )
    fixes = "unsafe"
    bold = True
    claim = Claim("step time", least=1.5, at="for the moving average of 16 small variables")
    adds_up = True

    def check(self, model: Model) -> Iterator[Report]:
        if model.programs.is_graph_code():
            return
        for loop in model.own(AssignLoops).all():
            if _runs_eagerly(model, loop, loop.node):
                yield Report(
                    loop.call,
                    "variables are computed and assigned one by one in eager mode on each step; assign them in a `tf.function`",
                    partial(_compile, loop=loop),
                    as_measured=False,
                    bold=partial(_compile, loop=loop, bold=True),
                )
        for copy in model.own(WeightCopies).all():
            if not _runs_eagerly(model, copy, copy.call):
                continue
            own, others = _of_target(copy)
            remedy = "assign variable to variable" if others else "compute on the variables"
            how = (
                "moves weights through the host"
                if copy.on_host
                else "gets weights that eager ops compute one by one"
            )
            yield Report(
                copy.call,
                f"`set_weights` {how} on each step; {remedy} in a `tf.function`",
                partial(_assign, copy=copy),
                as_measured=own and others and copy.on_host,  # the average that the experiment keeps
            )


def _runs_eagerly(model: Model, copy: WeightCopy | AssignLoop, place: cst.CSTNode) -> bool:
    """Whether each step makes the copy, in eager mode, and a compiled function could."""
    return (
        model.is_eager(copy.call)
        and model.own(WeightCopies).is_on_each_step(place)
        and not _has_new_model(model, copy)
    )


def _has_new_model(model: Model, copy: WeightCopy | AssignLoop) -> bool:
    """Whether each step makes a model of a copy: a function that assigns to it would be traced for each."""
    return any(map(model.lifetimes.is_short, (copy.target, *copy.sources)))


def _of_target(copy: WeightCopy) -> tuple[bool, bool]:
    """Whether a model gets what is made of its own weights, and of those of others."""
    name = dotted_name(copy.target)
    own = [dotted_name(source) == name for source in copy.sources]
    return any(own), not all(own)


def _compile(edit: Editor, loop: AssignLoop, *, bold: bool = False) -> Repair | Refusal:
    begun = _called_to_begin(edit.model, loop)
    return Refusal(_BEGUN, begun) if begun is not None else loop_compiled(edit, loop, bold=bold)


def _assign(edit: Editor, copy: WeightCopy) -> Repair | Refusal:
    begun = _called_to_begin(edit.model, copy)
    if begun is not None:
        return Refusal(_BEGUN, begun)
    statement = edit.model.statement_of(copy.call)
    if not isinstance(statement, cst.Expr) or statement.value is not copy.call:
        return Refusal("it is part of another statement", statement)
    if "#" in edit.text(statement):
        return Refusal("there is a comment in it", statement)
    return assign_compiled(edit, copy)


def _called_to_begin(model: Model, copy: WeightCopy | AssignLoop) -> cst.CSTNode | None:
    """The call in an `__init__` that may find models without weights, and gives the same arguments as the calls of each step."""
    function = model.function_at(copy.call)
    sites = model.calls.sites(function) if function is not None else []
    begun = [
        site for site in sites if (here := model.function_at(site)) is not None and here.name == "__init__"
    ]
    made_later = any(
        (klass := model.value(part).klass) is not None and "call" in klass.methods
        for part in (copy.target, *copy.sources)
    )
    steps = [site for site in sites if model.is_per_step(site)]
    same = (site for site in begun if any(map(partial(same_code, site), steps)))
    return next(same, None) if made_later else None
