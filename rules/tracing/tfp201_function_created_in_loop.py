"""TFP201 function-created-in-loop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.apis.facts import fact
from tflint_perf.analysis.execution.invariance import bound_names
from tflint_perf.analysis.model import Loop, Model
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import (
    argument,
    calls_below,
    has_stars,
    is_name,
    keyword_argument,
    names_read,
)
from tflint_perf.analysis.rewriting import Doubt
from tflint_perf.edit import Editor
from tflint_perf.edit.hoist import hoist, hoist_out
from tflint_perf.edit.judged import TRACED, judged
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

_KINDS_WITH_STATE = frozenset({"variable", "layer", "model", "optimizer", "metric"})


class FunctionCreatedInLoop(Rule):
    """A `tf.function` that is created again on each training step.

    ## What it does

    Reports a function that is decorated with `tf.function`, or given to it, in a step loop or in a function that
    a step loop calls; and one that each epoch makes anew for its own steps.

    ## Why is this bad?

    Each `tf.function` has its own traces. One that is created on each step has none yet: TensorFlow runs its Python
    code again, builds the graph, optimizes it, and throws it away after one call. That costs more than running
    the same code in eager mode. One that is created in each epoch makes the first step of each epoch as slow as the
    very first one. What was measured is a training step on each step. A function of a few ops is traced sooner, and with
    `jit_compile=True`, XLA compiles each one besides.

    ## Example

    ```python
    for images, labels in dataset:

        @tf.function
        def train_step(images, labels):
            ...

        train_step(images, labels)
    ```

    Use instead:

    ```python
    @tf.function
    def train_step(images, labels):
        ...

    for images, labels in dataset:
        train_step(images, labels)
    ```

    ## What is left alone

    A factory that is called once, a function that a cache or an attribute keeps (`if self._step is None:`),
    one that is created under a guard, or to be exported, and one that reads a model which each call of the function around it
    makes, or is given one such model after the other. The fix is refused where the function reads what the loop changes; it is
    safe only for a function that is known to do nothing but compute, from tensors and from what cannot change.

    ## Sources

    - TensorFlow guide, [Better performance with tf.function](https://www.tensorflow.org/guide/function)
    """

    code = "TFP201"
    name = "function-created-in-loop"
    triggers = (".function", "@function", "function(", "function as", "defun")
    fixes = "both"
    claim = Claim("step time", least=2.0, at="as each step traces its function anew")

    def check(self, model: Model) -> Iterator[Report]:
        for made in _functions_made(model):
            on_each_step = model.eager_steps.run(made)
            if not on_each_step and not _is_of_each_epoch(model, made):
                continue
            if model.once.runs_seldom(made) or model.guard_of(made) is not None or _is_exported(model, made):
                continue
            if _is_of_new_model(model, made) or (not on_each_step and _is_given_models(model, made)):
                continue
            often = "on each step" if on_each_step else "in each epoch"
            yield Report(
                made,
                f"a `tf.function` is created {often}, and traced again each time; create it once, above the loop",
                partial(_make_once, made),
                as_measured=on_each_step and not _is_by_xla(made),
            )


def _is_by_xla(made: cst.FunctionDef | cst.Call) -> bool:
    """Whether XLA compiles each new function besides, which takes far longer."""
    makers = [made] if isinstance(made, cst.Call) else [each.decorator for each in made.decorators]
    return any(
        isinstance(maker, cst.Call) and is_name(keyword_argument(maker, "jit_compile"), "True")
        for maker in makers
    )


def _is_exported(model: Model, made: cst.FunctionDef | cst.Call) -> bool:
    """Whether the function that creates `made` writes such functions for other programs: each is of another model."""
    function = model.function_at(made)
    return function is not None and any(model.names.is_call_that(call, "exports") for call in function.calls)


def _is_of_new_model(model: Model, made: cst.FunctionDef | cst.Call) -> bool:
    """Whether `made` reads a parameter of the function around it for which each call makes a model: the one of before would
    go on with another model."""
    function = model.function_at(made)
    read = {name.value for name in names_read(made)} if function is not None else set()
    return function is not None and any(
        model.lifetimes.is_given_anew(function, name) for name in function.positional if name in read
    )


def _is_given_models(model: Model, made: cst.FunctionDef | cst.Call) -> bool:
    """Whether `made` is of a function that is given one model after the other: the one of before would have to make variables
    for the next."""
    traced = _traced(model, made)
    return isinstance(made, cst.Call) and traced is not None and model.tracing.is_given_models(traced)


def _is_of_each_epoch(model: Model, made: cst.FunctionDef | cst.Call) -> bool:
    """Whether a loop over epochs makes `made` anew in each, for the steps of that epoch: itself, or in a function that
    it calls."""
    function, loop = model.function_at(made), model.loops.training_loop(made)
    if not model.is_eager(made):
        return False
    if loop is not None or function is None:
        return loop is not None and _are_epochs(model, loop) and _objection(model, made, loop) is None
    if not model.loops.has_step_loop(function) or any(map(partial(_are_epochs, model), function.loops)):
        return False
    if any(caller.looped and caller.state == "eager" for caller in model.calls.callers_outside(function)):
        return True
    return any(
        (around := model.loops.training_loop(site)) is not None
        and _are_epochs(model, around)
        and not any(
            _is_another(model, node, around) for node in (site.func, *(arg.value for arg in site.args))
        )
        for site in model.calls.sites(function)
    )


def _are_epochs(model: Model, loop: Loop) -> bool:
    return model.loops.kind(loop) == "epoch" and model.file_reads.is_trained_in(loop)


def _is_another(model: Model, node: cst.BaseExpression, loop: Loop) -> bool:
    """Whether `node` is another model, optimizer or what may hold one in each iteration of `loop`: it is a trial."""
    if model.lifetimes.ends_with(node, loop):
        return True
    return model.value(node).kind not in (
        "number",
        "dataset",
        "iterator",
        "function",
    ) and model.invariance.varies(node, loop)


def _functions_made(model: Model) -> Iterator[cst.FunctionDef | cst.Call]:
    """The functions decorated with `tf.function`, and the calls that make one."""
    for node, function in model.walk.functions.items():
        if isinstance(node, cst.FunctionDef) and any(
            model.infer.compiles(decorator.decorator) for decorator in function.decorators
        ):
            yield node
    older = [call for call in model.calls_named("defun") if model.names.is_call_that(call, "compiles")]
    for call in dict.fromkeys([*model.calls_that("compiles"), *older]):
        parent = model.parent(call)
        if isinstance(parent, cst.Decorator):
            continue
        if argument(call, 0, "func") is not None:
            yield call
        elif isinstance(parent, cst.Call) and parent.func is call and parent.args:
            yield parent  # tf.function(jit_compile=True)(f)


def _make_once(made: cst.FunctionDef | cst.Call, edit: Editor) -> Repair | Refusal:
    model = edit.model
    statement = model.statement_of(made)
    if model.loops.innermost_loop(made) is None:
        return _make_beside(made, edit)
    if isinstance(statement, cst.Assign | cst.AnnAssign) and statement.value is not made:
        return Refusal("it is used where it is created", made)
    moved = hoist(edit, statement, lambda loop: _objection(model, made, loop))
    if isinstance(moved, Refusal):
        return moved
    doubt = moved.doubt or _doubt(model, statement)
    return judged("Create the `tf.function` once, above the loop", moved.edits, doubt)


def _make_beside(made: cst.FunctionDef | cst.Call, edit: Editor) -> Repair | Refusal:
    """Move what a function on each step defines out of that function."""
    model, function = edit.model, edit.model.function_at(made)
    if not isinstance(made, cst.FunctionDef) or function is None:
        return Refusal("it is created in a function that the loop calls")
    loops = filter(None, map(model.loops.innermost_loop, model.calls.sites(function)))
    objections = [_objection(model, made, loop) for loop in loops]
    if not objections:
        return Refusal("it is created in a function that the loop of another file calls")
    moved = next(filter(None, objections), None) or hoist_out(edit, made)
    if isinstance(moved, Refusal):
        return moved
    message = f"Create `{made.name.value}` once, above `{function.name}`"
    return Repair(message, moved, safe=False, may_change=TRACED)


def _doubt(model: Model, statement: cst.CSTNode) -> Doubt | None:
    """Why calls of a function that is traced once may give something else: it is handed on, or sees Python objects."""
    for name in bound_names(statement) or []:
        for mention in model.names.mentions(name.value, model.names.home(name)):
            call = model.parent(mention)
            if mention is name:
                continue
            if not isinstance(call, cst.Call) or call.func is not mention or has_stars(call):
                return Doubt("what else is done with the function", mention)
            for arg in call.args:
                if model.value(arg.value).kind not in ("tensor", "array", "number"):
                    return Doubt("what it does with an argument that may be any object", arg.value)
    return None


def _traced(model: Model, made: cst.FunctionDef | cst.Call) -> Function | None:
    """The function of this file that is traced."""
    return model.walk.functions.get(made) if isinstance(made, cst.FunctionDef) else model.value(made).function


def _objection(model: Model, made: cst.FunctionDef | cst.Call, loop: Loop) -> Refusal | None:
    """Why one trace is not the same as a trace on each step."""
    traced = _traced(model, made)
    if traced is None:
        return None
    changed = model.invariance.change(traced.node, loop)
    if changed is not None:
        return Refusal(changed.reason, changed.node)
    for call in calls_below(traced.node.body):
        if fact(model.qualified(call.func), "gives") in _KINDS_WITH_STATE:
            return Refusal("what it creates would outlive the step", call)
    obstacle = model.tracing.obstacle_in_function(traced)
    return Refusal(obstacle.reason, obstacle.node) if obstacle is not None else None
