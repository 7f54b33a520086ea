"""TFP403 persistent-tape."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.execution.tapes import GRADIENTS, Tape
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.syntax import callee_name, is_name
from tflint_perf.analysis.rewriting import Doubt
from tflint_perf.edit import Editor
from tflint_perf.edit.judged import judged
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .gradients_beside_tapes import SecondPasses

# What a tape that is not persistent does as well, as long as no gradient was asked of it.
_BEFORE_THE_GRADIENT = frozenset({"watch", "stop_recording", "reset"})
# Other arguments of `jacobian` have the loop over its rows ask for a gradient each time.
_ONCE = "is persistent, but is asked for only one gradient; drop `persistent=True`, so that it releases what it recorded"
# One that is not persistent would keep as much: it releases that with its gradient.
_NEVER = "records for gradients, but is asked for none; drop the tape"
_ROW_BY_ROW = frozenset({"experimental_use_pfor", "parallel_iterations"})


class PersistentTape(Rule):
    """A persistent gradient tape that is asked for at most one gradient.

    ## What it does

    Reports `tf.GradientTape(persistent=True)` that the code asks for one gradient, or none.

    ## Why is this bad?

    In eager mode, a tape that is not persistent releases what the forward pass recorded while it computes
    the gradient. A persistent one keeps all of it until the tape itself is gone: in a loop, until the next step opens
    another. What runs meanwhile, a second pass or the validation after an epoch, has that much less memory. What was
    measured is a second gradient step in the same loop. A validation keeps little beside it, and where nothing runs before the tape
    is gone, memory has the same peak without `persistent`.

    A tape that is asked for no gradient keeps what it recorded either way: nothing needs it.

    ## Example

    ```python
    with tf.GradientTape(persistent=True) as tape:
        loss = loss_fn(labels, model(images, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    del tape
    ```

    Use instead:

    ```python
    with tf.GradientTape() as tape:
        loss = loss_fn(labels, model(images, training=True))
    gradients = tape.gradient(loss, model.trainable_variables)
    del tape
    ```

    ## What is left alone

    Compiled code, whose graph is the same either way; tapes that are asked for two or more gradients or Jacobians, or for
    one in a loop; tapes that are returned, passed on, kept or used by a nested function; a Jacobian that is computed row by row. The fix is safe for
    one `gradient` right after the tape. A tape that is asked for none is left to its author.

    ## Sources

    - TensorFlow API, [tf.GradientTape](https://www.tensorflow.org/api_docs/python/tf/GradientTape)
    """

    code = "TFP403"
    name = "persistent-tape"
    triggers = ("GradientTape",)
    needs = ("persistent", "GradientTape(True")
    fixes = "both"
    claim = Claim(
        "peak device memory",
        least=1.2,
        needs_gpu=True,
        at="for 4 layers of 1,024 units and batches of 4,096, recorded in eager mode, only where work that takes memory follows before the tape is dropped: here a second gradient step",
    )

    def check(self, model: Model) -> Iterator[Report]:
        for tape in model.tapes.all():
            persistent = _persistent(tape.made)
            if persistent is None or model.is_compiled(tape.node):
                continue
            asked = _asked(model, tape)
            if asked is None or len(asked) > 1:
                continue
            yield Report(
                tape.made,
                f"`{tape.target.value}` {_ONCE if asked else _NEVER}",
                partial(_drop, tape=tape, asked=asked, persistent=persistent),
                # The experiment has a second gradient step beside what the tape keeps.
                as_measured=any(model.own(SecondPasses).run_beside(tape, gradient) for gradient in asked),
            )


def _persistent(call: cst.Call) -> cst.Arg | None:
    """The argument of `call` that makes a tape persistent."""
    for index, arg in enumerate(call.args):
        if arg.star:
            return None
        if (arg.keyword is None and index == 0) or (
            arg.keyword is not None and arg.keyword.value == "persistent"
        ):
            return arg if is_name(arg.value, "True") else None
    return None


def _asked(model: Model, tape: Tape) -> list[cst.Call] | None:
    """The gradients that the file asks of `tape`; None where it may be asked for more elsewhere."""
    asked: list[cst.Call] = []
    for mention in model.tapes.mentions(tape):
        if model.function_at(mention) is not tape.function:
            return None
        call = model.tapes.call_on(mention)
        name = callee_name(call) if call is not None else ""
        if call is not None and name in GRADIENTS and _is_asked_once(model, call, tape):
            asked.append(call)
        elif name != "watched_variables" and (name not in _BEFORE_THE_GRADIENT or asked):
            return None
    return asked


def _is_asked_once(model: Model, call: cst.Call, tape: Tape) -> bool:
    """Whether `call` asks for its gradient once each time that `tape` is opened."""
    loop, around = model.loops.innermost_loop(call), model.loops.innermost_loop(tape.node)
    while around is not None and around is not loop:
        around = around.parent
    if around is not loop:
        return False
    return callee_name(call) == "gradient" or not (
        len(call.args) > 3
        or any(arg.star or (arg.keyword and arg.keyword.value in _ROW_BY_ROW) for arg in call.args)
    )


def _drop(edit: Editor, tape: Tape, asked: list[cst.Call], persistent: cst.Arg) -> Repair | Refusal:
    if not asked:
        return Refusal("what its block does would have to move out of the `with`", tape.node)
    if "#" in edit.text(tape.made):
        return Refusal("there is a comment in it", tape.made)
    removed = edit.remove_argument(tape.made, persistent)
    return judged("Drop `persistent=True`", [removed], _doubt(edit.model, tape, asked))


def _doubt(model: Model, tape: Tape, asked: list[cst.Call]) -> Doubt | None:
    """Why a tape that lets go of what it recorded may give something else: it is asked elsewhere than right behind it."""
    here = model.walk.at[tape.node].block
    for mention in model.tapes.mentions(tape):
        call = model.tapes.call_on(mention)
        if call not in asked and (call is None or callee_name(call) != "watch"):
            return Doubt("what the tape is asked for elsewhere", mention)
    for call in asked:
        statement = model.statement_of(call)
        if callee_name(call) != "gradient" or not isinstance(statement, cst.BaseSmallStatement):
            return Doubt("what is computed from the gradient", call)
        if model.walk.at[statement].block is not here or not _is_unconditional(model, call, statement):
            return Doubt("whether, and how often, the tape is asked", call)
    return model.rewriting.doubt_of_the_file


def _is_unconditional(model: Model, call: cst.Call, statement: cst.CSTNode) -> bool:
    """Whether a call is evaluated once where its statement runs."""
    node: cst.CSTNode | None = model.parent(call)
    while node is not None and node is not statement:
        if not isinstance(node, cst.Arg | cst.Call | cst.Tuple | cst.List | cst.Element):
            return False
        node = model.parent(node)
    return True
