"""A compiled function of its own for `fit` on one batch: the gradient step that Keras makes of it, and nothing else."""

from __future__ import annotations

from itertools import chain

import libcst as cst

from tflint_perf.analysis.python.syntax import argument, has_stars, is_name, last_name
from tflint_perf.edit.editor import Editor
from tflint_perf.edit.judged import TRACED
from tflint_perf.rule import Refusal, Repair

from .compiled_forward import DROPPED, as_tensors, home_beside
from .forward_function import Forward, forward_function
from .loss_of_history import loss_of_history

_WEIGHT = "sample_weight"


def compile_fit(edit: Editor, call: cst.Call) -> Repair | Refusal:
    """Replace `model.fit(x, y)` of one batch by a gradient step of the loss and the optimizer that the model was compiled with."""
    assert isinstance(call.func, cst.Attribute)
    trained = call.func.value
    refusal = _refusal(edit, call, trained)
    if refusal is not None:
        return refusal
    beside = home_beside(edit, call, trained)
    if isinstance(beside, Refusal):
        return beside
    history = loss_of_history(edit, call)
    if isinstance(history, Refusal):
        return history
    home, owner, given = beside
    learned = (argument(call, 0, "x"), argument(call, 1, "y"), argument(call, None, _WEIGHT))
    passed, imports = [], []
    for value in (part for part in learned if part is not None):
        tensors = as_tensors(edit, value)
        if isinstance(tensors, Refusal):
            return tensors
        passed.append(tensors[0])
        imports.append(tensors[1])
    inputs = ("x", "y", "weight")[: len(passed)]
    tape, more = edit.spell("GradientTape", home)
    lines = (*_gradient_step(tape, inputs), *(("return loss",) if history.is_read else ()))
    forward = Forward(trained, owner, bool(given), inputs=inputs, does=lines)
    name = f"train_{last_name(trained).strip('_')}"
    own = forward_function(edit, call, home, forward, name)
    target = f"{owner}.{own.name}" if owner else own.name
    made = f"{target}({', '.join([*given, *passed])})"
    return Repair(
        f"Make the gradient step in a `@{own.decorator}` of its own",
        [
            *dict.fromkeys(chain(own.imports, more, *imports)),
            *own.edits,
            edit.replace(history.replaced, history.spelled.format(made)),
            *history.edits,
        ],
        safe=False,
        may_change=f"metrics, callbacks, what is printed, {TRACED}",
        bold=True,
    )


def _refusal(edit: Editor, call: cst.Call, trained: cst.BaseExpression) -> Refusal | None:
    """Why a call of `fit` is more than a gradient step, or not one of Keras's own."""
    if has_stars(call) or argument(call, 0, "x") is None or argument(call, 1, "y") is None:
        return Refusal("not all that the model learns from can be seen here", call)
    for at, arg in enumerate(call.args):
        if arg.keyword is None and at > 1:
            return Refusal(f"`{edit.text(arg.value)}` is passed by position", arg.value)
        if arg.keyword is not None and arg.keyword.value not in (*DROPPED, "x", "y", _WEIGHT):
            return Refusal(f"`{arg.keyword.value}` is more than a gradient step", arg.value)
    if edit.model.value(trained).klass is not None or is_name(trained, "self"):
        return Refusal("the model is of a class of its own, which may train by a step of its own", trained)
    if "mixed_precision" in edit.whole_text:
        return Refusal("the loss may be scaled, for half precision", trained)
    return None


def _gradient_step(tape: str, inputs: tuple[str, ...]) -> tuple[str, ...]:
    """The lines of a function that makes it."""
    x, *rest = inputs
    given = ", ".join([x, rest[0], f"{{model}}({x}, training=True)", *rest[1:]])
    return (
        f"with {tape}() as tape:",
        f"    loss = {{model}}.compute_loss({given})",
        "gradients = tape.gradient(loss, {model}.trainable_variables)",
        "{model}.optimizer.apply_gradients(zip(gradients, {model}.trainable_variables))",
    )
