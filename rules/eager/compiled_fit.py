"""A compiled function of its own for `fit` on few rows: the gradient steps that Keras makes of them, and nothing else."""

from __future__ import annotations

from itertools import chain

import libcst as cst

from tflint_perf.analysis.apis.facts import has, named
from tflint_perf.analysis.python.syntax import (
    argument,
    descendants,
    has_stars,
    is_name,
    keyword_argument,
    last_name,
)
from tflint_perf.edit.editor import Editor
from tflint_perf.edit.judged import TRACED
from tflint_perf.finding import Edit
from tflint_perf.rule import Refusal, Repair

from .compiled_forward import DROPPED, as_tensors, home_beside
from .forward_function import Forward, forward_function
from .loss_of_history import loss_of_history
from .mini_batches import MiniBatches, in_turn, mini_batches, names_in_turn

_WEIGHT = "sample_weight"
# What a class of models defines to train otherwise than Keras's own.
_OF_TRAINING = ("train_step", "make_train_function", "compute_loss", "compiled_loss", "compile", "fit")


def compile_fit(edit: Editor, call: cst.Call) -> Repair | Refusal:
    """Replace `model.fit(x, y)` by the gradient steps that it makes of the loss and with the optimizer that the model was compiled
    with: one, or where the rows may be more than one batch one for each mini-batch."""
    assert isinstance(call.func, cst.Attribute)
    trained = call.func.value
    refusal = _refusal(edit, call, trained)
    if refusal is not None:
        return refusal
    beside = home_beside(edit, call, trained)
    if isinstance(beside, Refusal):
        return beside
    home, owner, given = beside
    another = edit.model.tracing.obstacle_to_keeping(trained, edit.model.function_at(call), as_seen=True)
    if another is not None and not given:
        return Refusal(another.reason, another.node)
    learned, batches = _learned(edit, call), mini_batches(edit, call)
    if isinstance(learned, Refusal):
        return learned
    if isinstance(batches, Refusal):
        return batches
    history = loss_of_history(edit, call, again=batches is not None and batches.again)
    if isinstance(history, Refusal):
        return history
    passed, imports = learned
    inputs = ("x", "y", "weight")[: len(passed)]
    if batches is None and (reordered := unlike_shuffled(edit, call)) is not None:
        return reordered
    lines, more = _lines(edit, home, inputs, batches, gives_loss=history.is_read)
    if batches is not None:
        inputs, passed = (*inputs, *batches.parameters), [*passed, *batches.passed]
    forward = Forward(trained, owner, bool(given), inputs=inputs, does=lines)
    name = f"train_{last_name(trained).strip('_')}"
    own = forward_function(edit, call, home, forward, name)
    target = f"{owner}.{own.name}" if owner else own.name
    made = f"{target}({', '.join([*given, *passed])})"
    does = "Make the gradient step" if batches is None else "Make the gradient steps of its mini-batches"
    return Repair(
        f"{does} in a `@{own.decorator}` of its own",
        [
            *dict.fromkeys(chain(own.imports, more, imports)),
            *own.edits,
            edit.replace(history.replaced, _where_nothing_listens(edit, call, history.spelled.format(made))),
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
        if (
            arg.keyword is not None
            and arg.keyword.value == "callbacks"
            and _listening(edit, call) is not None
        ):
            continue
        if arg.keyword is not None and arg.keyword.value not in (*DROPPED, "x", "y", _WEIGHT):
            return Refusal(f"`{arg.keyword.value}` is more than a gradient step", arg.value)
    if _trains_its_own_way(edit, trained):
        return Refusal("the model is of a class of its own, which may train by a step of its own", trained)
    if "mixed_precision" in edit.whole_text:
        return Refusal("the loss may be scaled, for half precision", trained)
    return None


def unlike_shuffled(edit: Editor, call: cst.Call) -> Refusal | None:
    """Why a batch can't be trained on in the order in which it is given: `fit` shuffles it, and what a layer draws for each row
    would fall on another one."""
    given = argument(call, 0, "x")
    if is_name(keyword_argument(call, "shuffle"), "False") or given is None:
        return None
    drawing = [name.rpartition(".")[2] for name in named("differs-in-training") if has(name, "draws")]
    if edit.model.loops.batches.size(given) == "sample" or not edit.model.programs.names(*drawing):
        return None
    return Refusal(
        "`fit` shuffles the rows, of which a layer drops out others then; tell it `shuffle=False` first", call
    )


def _learned(edit: Editor, call: cst.Call) -> tuple[list[str], list[Edit]] | Refusal:
    """The inputs, the targets and the weights of a call as tensors, and the imports for that."""
    passed, imports = [], []
    for value in (argument(call, 0, "x"), argument(call, 1, "y"), argument(call, None, _WEIGHT)):
        tensors = as_tensors(edit, value) if value is not None else None
        if isinstance(tensors, Refusal):
            return tensors
        if tensors is not None:
            passed.append(tensors[0])
            imports += tensors[1]
    return passed, imports


def _listening(edit: Editor, call: cst.Call) -> tuple[cst.IfExp, cst.BaseExpression] | None:
    """The choice of a statement that calls `fit` with callbacks on one condition and with none otherwise, and these
    callbacks: `callbacks=[board] if done else None`."""
    given = keyword_argument(call, "callbacks")
    line = edit.model.parent(edit.model.statement_of(call))
    if (
        not isinstance(given, cst.IfExp)
        or not isinstance(edit.model.parent(call), cst.Expr)
        or not isinstance(line, cst.SimpleStatementLine)
        or len(line.body) > 1
        or any(isinstance(part, cst.Call) for part in descendants(given.test))
    ):
        return None
    if is_name(given.orelse, "None"):
        return given, given.body
    return (given, given.orelse) if is_name(given.body, "None") else None


def _where_nothing_listens(edit: Editor, call: cst.Call, made: str) -> str:
    """The step where a call has no callbacks; where it has some on one condition, the call as it is on that."""
    listening = _listening(edit, call)
    if listening is None:
        return made
    given, callbacks = listening
    text, start = edit.text(call), edit.start(call)
    before, behind = text[: edit.start(given) - start], text[edit.end(given) - start :]
    kept = f"{before}{edit.text(callbacks)}{behind}"
    then, otherwise = (kept, made) if callbacks is given.body else (made, kept)
    indent = edit.indent(edit.model.statement_of(call))
    deeper = indent + edit.one_indent(indent)
    return f"if {edit.text(given.test)}:\n{deeper}{then}\n{indent}else:\n{deeper}{otherwise}"


def _trains_its_own_way(edit: Editor, trained: cst.BaseExpression) -> bool:
    """Whether the class of a model, here or in another file, says how it trains, or has a base of which nobody knows."""
    classes, outside = edit.model.infer.classes, edit.model.infer.outside
    for value in edit.model.value(trained).alternatives:
        paths = [value.outside] if value.outside.endswith("()") else []
        if value.klass is not None:
            line = classes.lineage(value.klass)
            own = {name for klass in line for name in (*klass.methods, *klass.attributes)}
            if classes.has_foreign_base(value.klass) or not own.isdisjoint(_OF_TRAINING):
                return True
            paths += [f"{base}()" for klass in line for base in classes.bases_outside(klass)]
        if any(outside.member(path, name).kind != "unknown" for path in paths for name in _OF_TRAINING):
            return True
    return False


def _lines(
    edit: Editor,
    home: cst.CSTNode,
    inputs: tuple[str, ...],
    batches: MiniBatches | None,
    *,
    gives_loss: bool,
) -> tuple[tuple[str, ...], list[Edit]]:
    """The lines of a function that trains on its `inputs`, at once or by mini-batches, and the imports for them. The loss that it
    gives is the mean over all rows, as that of `fit` is."""
    tape, imports = edit.spell("GradientTape", home)
    if batches is None:
        return (*_gradient_step(tape, inputs), *(("return loss",) if gives_loss else ())), imports
    step = _gradient_step(tape, names_in_turn(inputs))
    if not gives_loss:
        lines, more = in_turn(edit, home, batches, inputs, step)
        return lines, [*imports, *more]
    shape, needed = edit.spell("shape", home)
    cast, also = edit.spell("cast", home)
    adds = f"total += loss * {cast}({shape}({names_in_turn(inputs)[0]})[0], loss.dtype)"
    lines, more = in_turn(edit, home, batches, inputs, (*step, adds), ("total = 0.0",))
    return (*lines, f"return total / {cast}(rows, total.dtype)"), [*imports, *more, *needed, *also]


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
