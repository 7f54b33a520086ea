"""A step that can't be compiled as one, in parts: each pass through a model and what the optimizer does become functions of their
own, which the tape records as it records ops.

What the host does between them stays where it is, and sees what it saw.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import libcst as cst

from tflint_perf.analysis.execution.steps import GradientStep
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    has_stars,
    is_name,
    last_name,
    names_read,
    names_written,
)
from tflint_perf.edit.editor import Editor
from tflint_perf.edit.judged import TRACED
from tflint_perf.finding import Edit
from tflint_perf.rule import Refusal, Repair

from .compiled_forward import as_tensors, home_beside
from .compiling import not_compiled
from .forward_function import Forward, forward_function, more_inputs
from .model_calls import CalledModels
from .optimizer_updates import update_apart
from .shapes import Shapes

# What a layer leaves on its model while it runs, a tensor of the trace.
_LEFT_BEHIND = frozenset({"losses", "updates"})
_BOUND_WITH_BATCH = frozenset({"for", "param"})


def compile_parts(edit: Editor, steps: Sequence[GradientStep]) -> Repair | None:
    """Compile each call of a model that the tapes of `steps` record, here or in functions of this file, and each call that gives
    their gradients to an optimizer; None where no model is called that can be."""
    code = list(_recorded(edit, [step.tape for step in steps]))
    if (
        any(_reads_what_is_left(edit, part) for part in code)
        or _asks_inside(steps, code)
        or not_compiled(edit.model, steps[0].tape) is not None
    ):
        return None
    passes = [made for part in code if isinstance(part, cst.Call) and (made := _pass_apart(edit, part))]
    if not passes:
        return None
    applied = dict.fromkeys(call for step in steps for call in step.applied)
    apart = [update for call in applied if (update := update_apart(edit, call))]
    updates = [[*update.inserted, edit.replace(update.call, update.text)] for update in apart]
    return Repair(
        "Call the model by a `@tf.function` of its own"
        + (", and the optimizer by another" if updates else ""),
        list(dict.fromkeys(chain.from_iterable([*passes, *updates]))),
        safe=False,
        may_change=TRACED,
        bold=True,
        in_parts=True,
    )


def _recorded(edit: Editor, tapes: Sequence[cst.With]) -> Iterator[cst.CSTNode]:
    """What runs eagerly under `tapes`: their statements, and the functions that those call, but for the models' own."""
    model = edit.model
    waiting: list[cst.CSTNode] = [tape.body for tape in tapes]
    seen = set[Function]()
    while waiting:
        for part in descendants(waiting.pop(0)):
            yield part
            if not isinstance(part, cst.Call) or _runs_model(edit, part):
                continue
            for target in model.calls.targets(part):
                if target not in seen and not model.compiled.is_traced(target) and target.name != "__init__":
                    seen.add(target)
                    waiting.append(target.node.body)


def _asks_inside(steps: Sequence[GradientStep], code: Sequence[cst.CSTNode]) -> bool:
    """Whether a gradient is asked of what the code under a tape computes, which may lie inside of a function where the tape sees
    nothing of it; or one of each output, for which functions are taken apart."""
    computed = names_written(part for part in code if isinstance(part, cst.BaseSmallStatement))
    asked = [call for step in steps for call in step.gradients]
    sources = [argument(call, 1, "sources") for call in asked]
    return any(callee_name(call) != "gradient" for call in asked) or any(
        name.value in computed for source in sources if source is not None for name in names_read(source)
    )


def _reads_what_is_left(edit: Editor, part: cst.CSTNode) -> bool:
    return (
        isinstance(part, cst.Attribute)
        and part.attr.value in _LEFT_BEHIND
        and not edit.model.names.qualified(part)
    )


def _runs_model(edit: Editor, call: cst.Call) -> bool:
    """Whether a call runs a whole model, and not a layer of it."""
    return edit.model.own(CalledModels).are_called_by(call) and edit.model.value(call.func).kind != "layer"


def _pass_apart(edit: Editor, call: cst.Call) -> list[Edit] | None:
    """The edits that have a compiled function call the model; None where it can't."""
    model, function = edit.model, edit.model.function_at(call)
    more = more_inputs(edit, call, sure=False)
    if (
        not _runs_model(edit, call)
        or has_stars(call)
        or more is None
        or call.args[0].keyword is not None
        or is_name(call.func, "self")
        or model.tracing.obstacle_in_call(call)
        or model.tracing.obstacle_to_keeping(call.func, function, as_seen=True)
    ):
        return None
    beside = home_beside(edit, call, call.func)
    inputs = call.args[0].value
    tensors = (edit.text(inputs), []) if _comes_with_batch(edit, inputs) else as_tensors(edit, inputs)
    if isinstance(beside, Refusal) or isinstance(tensors, Refusal):
        return None
    home, owner, given = beside
    shapes = model.own(Shapes)
    varies = not shapes.stay(call) and shapes.asked_for([call]) is None
    forward = Forward(
        call.func,
        owner,
        bool(given),
        "model" if given and isinstance(call.func, cst.Attribute) else "",
        rest=more.rest,
        inputs=("inputs", *more.parameters),
        varies=varies,
    )
    own = forward_function(edit, call, home, forward, f"run_{last_name(call.func).strip('_') or 'model'}")
    made = own.called(owner, given, ", ".join([tensors[0], *more.passed]))
    return [*(own.imports or tensors[1]), *own.edits, edit.replace(call, made)]


def _comes_with_batch(edit: Editor, inputs: cst.BaseExpression) -> bool:
    """Whether a model is given what a loop or a caller gives, of which nothing is known: an array or a tensor, or several of them."""
    if not isinstance(inputs, cst.Name) or edit.model.value(inputs).kind != "unknown":
        return False
    found = edit.model.infer.bindings_reaching(inputs)
    return found is not None and all(binding.kind in _BOUND_WITH_BATCH for binding in found[1])
