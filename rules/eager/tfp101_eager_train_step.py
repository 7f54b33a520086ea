"""TFP101 eager-train-step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library, methods
from tflint_perf.analysis.execution.step_loop_paths import Way
from tflint_perf.analysis.execution.steps import GradientStep
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    dotted_name,
    last_name,
    mentions,
    target_names,
)
from tflint_perf.analysis.values.integers import FEW
from tflint_perf.analysis.values.iterables import source
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.edit import Editor
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .compiling import compile_function, once_switched_on
from .crossing import Crossings
from .extract import extract
from .for_each_model import compile_for_each_model
from .model_calls import CompiledModels
from .shapes import Shapes
from .split_step import has_results_behind, split
from .step_in_parts import compile_parts

_ASKED_FOR = "what a minimizer asks for, the loss and its gradients, is computed"


class EagerTrainStep(Rule):
    """A gradient step that runs in eager mode, op by op, on each step.

    ## What it does

    Reports a `tf.GradientTape` whose gradients are applied (`apply_gradients`, `minimize`, `assign_sub`) per step
    outside compiled code: inline in the training loop, or in a function or method that is not compiled. Also
    `optimizer.minimize(loss, variables)` where `loss` is a function: it opens a tape itself. And a tape in a function that gives
    a minimizer a loss and its gradients, `scipy.optimize.minimize(loss_and_gradients, start, jac=True)`, which asks for them
    again and again.

    ## Why is this bad?

    In eager mode each op is dispatched from Python, forward and backward, and each variable is updated by ops of its own. A step
    of a small model is hundreds of ops, and Python takes longer to launch one than the device takes to run it. A
    `tf.function` is traced once and then runs as one graph. What was measured are batches of one shape, through
    convolutions and Dense layers; padded ones need `reduce_retracing=True`, or each length is traced. A step whose forward
    pass is compiled already was not measured, nor one that can be compiled in part only, that makes its optimizer anew, or that a
    minimizer asks for; nor recurrent layers: these are one op, or many for each part of a sequence.

    ## Example

    ```python
    for images, labels in dataset:
        with tf.GradientTape() as tape:
            loss = loss_fn(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    ```

    Use instead:

    ```python
    @tf.function
    def train_step(images, labels):
        with tf.GradientTape() as tape:
            loss = loss_fn(labels, model(images, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))

    for images, labels in dataset:
        train_step(images, labels)
    ```

    ## What is left alone

    Compiled code, a step that runs once or a few times and no more, counted over all loops around it, a step for each of several layers or models, each of which
    is trained once, gradients that are never applied, and methods that may be compiled
    elsewhere: those that nothing here calls and whose class has a base in another file. Also a `tf.function` in a
    program that runs all of them eagerly: `run_functions_eagerly(True)` is the cause, and TFP104 names it. And a
    function that nothing uses any more, in a program that trains with another step. The fix is refused, and the finding
    says why, where tracing would change or break the program: in the step, in what it calls, or in what that calls in the
    project's other files.

    ## Sources

    - TensorFlow guide, [Better performance with tf.function](https://www.tensorflow.org/guide/function)
    """

    code = "TFP101"
    name = "eager-train-step"
    triggers = ("GradientTape", "minimize(")
    fixes = "unsafe"
    bold = True
    claim = Claim(
        "step time",
        least=2.0,
        at="with batches of one shape all along; each further layer adds to what is lost, and larger layers make it a smaller share",
    )
    adds_up = True
    always_on = True

    def check(self, model: Model) -> Iterator[Report]:
        if model.versions.never_runs_eagerly():
            return
        trained = {_trained(step) for step in model.steps.all()}
        elsewhere = {
            step.tape: [step]
            for step in model.steps.given_back
            if _is_applied_elsewhere(model, step) or model.steps.are_minimized(step)
        }
        places = model.steps.by_tape | {call: [] for call in model.steps.without_tape} | elsewhere
        for place, steps in places.items():
            if (
                not model.is_eager(place)
                or not (model.loops.may_be_per_step(place) or model.loops.is_repeated(place))
                or _lies_in_another(model, place)
                or _is_switched_off(model, place)
                or _is_of_few_steps(model, place)
                or _trains_each_part_once(model, place, steps)
                or (_is_minimized(model, steps) and _left_eager(model, steps))
                or model.programs.leaves_out(model.function_at(place))
            ):
                continue
            varies = _gets_varying_shapes(model, place)
            made_by = "@tf.function(reduce_retracing=True)" if varies else "@tf.function"
            left = _left_eager(model, steps)
            eager = left or (_ASKED_FOR if _is_minimized(model, steps) else "the gradient step runs")
            anew = _made_anew(model, steps)
            whole = "the whole step" if left else "it" if anew is None else "the step"
            remedy = f"compile {whole} with `{made_by}`"
            if anew is not None:
                remedy = f"make `{dotted_name(anew)}` once, not on each step, then {remedy}"
            remedy = once_switched_on(model, remedy)
            yield Report(
                place,
                f"{eager} in eager mode, op by op, on each step; {remedy}",
                partial(_compile, place=place, steps=steps, trained=trained),
                bold=partial(_split, place=place, steps=steps, trained=trained),
                steps=_from_innermost_loop(model, place),
                # The batches of the experiment have one shape, nothing of its step is compiled, an optimizer ends it, and no
                # layer of it is recurrent.
                as_measured=not varies
                and not left
                and anew is None
                and not _only_assigns(steps)
                and not _is_minimized(model, steps)
                and not _has_compiled_part(model, steps)
                and not model.programs.is_recurrent(),
                # Compiled alone, what computes the gradients leaves the optimizer in eager mode, and a step its metrics.
                bold_first=any(
                    _is_spread(model, step) or _is_followed_by_metric(model, step) for step in steps
                ),
            )


def _made_anew(model: Model, steps: list[GradientStep]) -> cst.BaseExpression | None:
    """The model that steps train and each of them makes: a compiled step would be traced for each."""
    for call in (call for step in steps for call in step.gradients):
        trained = argument(call, 1, "sources")
        while isinstance(trained, cst.Attribute) and model.value(trained).kind != "model":
            trained = trained.value
        if trained is not None and model.value(trained).kind == "model" and model.lifetimes.is_short(trained):
            return model.lifetimes.given_as(trained)
    return None


def _is_minimized(model: Model, steps: list[GradientStep]) -> bool:
    """Whether a minimizer such as SciPy's takes the gradients, and nothing here applies them."""
    return any(not step.applied and model.steps.are_minimized(step) for step in steps)


def _only_assigns(steps: list[GradientStep]) -> bool:
    """Whether no optimizer takes the gradients: what they change is assigned."""
    applied = [call for step in steps for call in step.applied]
    return bool(applied) and all(callee_name(call) in methods("Variable", "assigns") for call in applied)


def _from_innermost_loop(model: Model, place: cst.CSTNode) -> Way:
    """The way from the loop that makes the step, where that is another than the loop of steps: each of the tasks of an
    epoch makes one."""
    innermost = model.loops.innermost_loop(place)
    if innermost is None or innermost is model.loops.step_loop(place):
        return ()
    return model.step_loop_paths.through(innermost, place)


def _left_eager(model: Model, steps: list[GradientStep]) -> str:
    """What of a step is left in eager mode where the tapes record compiled functions and models, whose gradients are compiled
    with them, and else only what is computed with their results; "" where that is more."""
    left = ""
    for step in steps:
        # What asks the tape and what applies the gradients may stand in its block, too.
        behind = {part for call in (*step.gradients, *step.applied) for part in descendants(call)}
        calls = [
            part
            for part in descendants(step.tape.body)
            if isinstance(part, cst.Call) and part not in behind and not _makes_no_op(model, part)
        ]
        others = [call for call in calls if not _runs_graph(model, call)]
        if len(others) == len(calls) or not all(_is_made_of_results(model, call) for call in others):
            return ""
        left = left or "the gradients are applied"
        if others:
            left = "the loss is computed and the gradients are applied"
    return left


def _has_compiled_part(model: Model, steps: list[GradientStep]) -> bool:
    """Whether a tape records what a compiled function does."""
    return any(
        isinstance(part, cst.Call) and _runs_graph(model, part)
        for step in steps
        for part in descendants(step.tape.body)
    )


def _runs_graph(model: Model, call: cst.Call) -> bool:
    """Whether `call` runs a compiled function, or a model whose own `call` is one."""
    value = model.value(call.func)
    return value.kind == "compiled" or (
        value.kind == "model" and model.own(CompiledModels).has(call.func, value)
    )


def _makes_no_op(model: Model, call: cst.Call) -> bool:
    """Whether `call` is of Python alone: `isinstance(outputs, tuple)`, `zip(losses, names)`, `losses.append(loss)`."""
    match call.func:
        case cst.Attribute(value=holder, attr=cst.Name(value="append" | "extend")):
            return model.value(holder).kind == "list"
    return has(builtin_or_qualified(model.infer, call.func), "reads", "hands-on")


def _is_made_of_results(model: Model, call: cst.Call) -> bool:
    """Whether `call` is of an op on results, or of a function of this file that is made of such alone."""
    if _is_op_on_results(model, call):
        return True
    targets = model.calls.targets(call)
    return bool(targets) and all(
        target.calls and all(_is_op_on_results(model, below) for below in target.calls) for target in targets
    )


def _is_op_on_results(model: Model, call: cst.Call) -> bool:
    """Whether `call` is of an op, or of a loss of Keras, and no layer of a network that is written out: it takes no variables."""
    if library(model.qualified(call.func)) != "tensorflow" and model.value(call.func).kind != "loss":
        return False
    return not any(
        isinstance(part, cst.Name | cst.Attribute)
        and model.value(part).kind in ("variable", "layer", "model")
        for arg in call.args
        for part in descendants(arg.value)
        if not (isinstance(parent := model.parent(part), cst.Call) and parent.func is part)
    )


def _gets_varying_shapes(model: Model, place: cst.CSTNode) -> bool:
    """Whether the loop around a step, here or where its function is called, runs over padded batches."""
    loop, function = model.loops.innermost_loop(place), model.function_at(place)
    if loop is not None:
        return model.own(Shapes).vary_in(loop)
    return function is not None and model.own(Shapes).vary_for(function)


def _is_of_few_steps(model: Model, place: cst.CSTNode) -> bool:
    """Whether the loop around a step makes a few and no more, which to trace takes longer than to run."""
    loops = model.loops.running(place)
    if not loops or not all(map(model.loops.is_gone_through_once, loops)):
        return False
    # Ten tasks in each of ten epochs are a hundred steps.
    integers, times = model.infer.integers, 1
    for loop in loops_around(model.loops.innermost_loop(place)):
        if loop.iterable is not None:
            most = model.iterations.at_most(loop) or integers.cut(source(model.infer, loop.iterable))
            times *= most or 1
    return times <= FEW


def _trains_each_part_once(model: Model, place: cst.CSTNode, steps: list[GradientStep]) -> bool:
    """Whether the loop around a step goes over what is trained, once: `for layer in layers:`, each of which would be traced
    for a single step, as for the slots of an optimizer."""
    loop = model.loops.innermost_loop(place)
    if (
        loop is None
        or not steps
        or model.loops.may_be_per_step(loop.node)
        or model.loops.is_repeated(loop.node)
    ):
        return False
    asked = [argument(call, 1, "sources") for step in steps for call in step.gradients]
    return all(sources is not None and _is_picked_by(model, sources, loop) for sources in asked)


def _is_picked_by(model: Model, node: cst.BaseExpression, loop: Loop) -> bool:
    """Whether each iteration of `loop` gets another object, of which `node` is an attribute, by its target: `layer`,
    `layers[i]`."""
    if isinstance(loop.node, cst.While):
        return False
    targets = {name.value for name in target_names(loop.node.target)}
    while isinstance(node, cst.Attribute | cst.Subscript | cst.Name):
        if isinstance(node, cst.Subscript) and mentions(node, targets):
            return True
        if not isinstance(node, cst.Name):
            node = node.value
            continue
        bindings = model.infer.bindings(node)
        if node.value in targets or len(bindings) != 1:
            return node.value in targets
        if bindings[0].kind != "assign" or bindings[0].path != () or bindings[0].value is None:
            return False
        node = bindings[0].value
    return False


def _is_applied_elsewhere(model: Model, step: GradientStep) -> bool:
    """Whether another file calls the function around the tape of `step`, and applies the gradients that it returns."""
    callers = model.calls.callers_outside(step.function) if step.function is not None else ()
    return any(caller.applied for caller in callers)


def _lies_in_another(model: Model, place: cst.CSTNode) -> bool:
    """Whether a tape around `place` is reported in its stead: one of a few steps is not."""
    current = model.parent(place)
    while current is not None:
        if current in model.steps.by_tape and not _is_of_few_steps(model, current):
            return True
        current = model.parent(current)
    return False


def _is_switched_off(model: Model, place: cst.CSTNode) -> bool:
    """Whether the step at `place` would be compiled without the switch that turns eager mode on for everything."""
    function = model.function_at(place)
    return function is not None and model.compiled.is_switched_off(function)


def _compile(
    edit: Editor, place: cst.CSTNode, steps: list[GradientStep], trained: set[str]
) -> Repair | Refusal:
    model = edit.model
    loop, function = model.loops.innermost_loop(place), model.function_at(place)
    anew = _made_anew(model, steps)
    if anew is not None:
        return Refusal(
            f"each step makes another `{dotted_name(anew)}`, and would be traced for each",
            model.lifetimes.made_at(anew),
        )
    if loop is None and function is not None:
        return compile_function(edit, function)
    if not steps:
        return Refusal("`minimize` does the whole step, and has no function of its own", place)
    step = steps[0]
    calls = [call for step in steps for call in (*step.gradients, *step.applied)]
    # A later loop may use the same names for a step of its own.
    calls = [call for call in calls if loop in loops_around(model.loops.innermost_loop(call))]
    stretch = model.own(Crossings).stretch_between(step.tape, loop, calls)
    if stretch is None:
        return Refusal("the step is spread over several blocks", step.tape)
    # `train_step`; `train_discriminator` where the file trains several networks.
    name = _trained(step)
    return extract(edit, stretch, f"train_{name}" if name and len(trained) > 1 else "train_step")


def _split(
    edit: Editor, place: cst.CSTNode, steps: list[GradientStep], trained: set[str]
) -> Repair | Refusal | None:
    """Compile what of the step a device can do."""
    if not steps or _made_anew(edit.model, steps) is not None:
        return None
    model, step = edit.model, steps[0]
    loop = model.loops.innermost_loop(step.tape)
    calls = [call for step in steps for call in (*step.gradients, *step.applied)]
    calls = [call for call in calls if loop is None or loop in loops_around(model.loops.innermost_loop(call))]
    if _is_minimized(model, steps):
        return split(edit, step.tape, calls, "compute_gradients")
    whole = _function_of_the_whole(model, step)
    if whole is not None:
        return compile_function(edit, whole, bold=True, as_seen=True)
    around = model.function_at(step.tape)
    if loop is None and around is not None and not _is_spread(model, step):
        made = compile_for_each_model(edit, around) or compile_function(edit, around, bold=True)
        if isinstance(made, Repair) and made.bold:
            return made
    trained_by = _trained(step)
    name = f"train_{trained_by}" if trained_by and len(trained) > 1 else "train_step"
    if around is not None and around.owner is None and around.name == name:
        name = "compiled_step"
    site = _site_in_loop(model, step)
    if site is not None:
        made = split(edit, model.statement_of(site), [site, *step.applied], name)
    else:
        made = split(edit, step.tape, calls, name)
    if isinstance(made, Repair):
        return made
    return compile_parts(edit, steps) or made


def _function_of_the_whole(model: Model, step: GradientStep) -> Function | None:
    """The function that has one of its functions compute the gradients, and applies them or has another one do so."""
    applying = {model.function_at(call) for call in step.applied}
    if step.function is None or step.function in applying:
        return None
    waiting, seen = [step.function], {step.function}
    for function in waiting:
        sites = model.calls.sites(function)
        for caller in (model.function_at(site) for site in sites if model.loops.innermost_loop(site) is None):
            if caller is not None and applying <= {caller, *model.invariance.reached([caller.node])}:
                return caller
            if caller is not None and caller not in seen:
                seen.add(caller)
                waiting.append(caller)
    return None


def _is_spread(model: Model, step: GradientStep) -> bool:
    """Whether the gradients are applied outside the function that computes them."""
    return step.function is not None and all(
        model.function_at(call) is not step.function for call in step.applied
    )


def _is_followed_by_metric(model: Model, step: GradientStep) -> bool:
    """Whether a loop makes the step, and updates a metric by it that would be left eager."""
    return model.loops.innermost_loop(step.tape) is not None and has_results_behind(
        model, step.tape, [*step.gradients, *step.applied]
    )


def _site_in_loop(model: Model, step: GradientStep) -> cst.Call | None:
    """The call in a loop that has the gradients computed which that loop applies."""
    if step.function is None or not _is_spread(model, step):
        return None
    for site in model.calls.sites(step.function):
        loop = model.loops.innermost_loop(site)
        if loop is not None and all(model.loops.innermost_loop(call) is loop for call in step.applied):
            return site
    return None


def _trained(step: GradientStep) -> str:
    """The name of the network whose variables a step changes; "" where it has none of its own."""
    for call in step.gradients:
        sources = argument(call, 1, "sources")
        if isinstance(sources, cst.Attribute):
            name = last_name(sources.value).strip("_").lower()
            return "" if name in ("self", "model") else name
    return ""
