"""TFP107 eager-inference-step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.apis.facts import fact
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.scopes import Binding
from tflint_perf.analysis.python.syntax import argument
from tflint_perf.analysis.values.written import bindings_of, written_out
from tflint_perf.edit import Editor
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .compiled_forward import compile_call, compile_forward
from .compiling import compile_function, once_switched_on
from .forward_passes import ForwardPass, ForwardPasses, is_cut_from_what_gets_longer
from .shapes import Shapes
from .split_step import is_evaluated, pass_with_results

# So many layers are no forward pass like that of the experiment, which has 13.
_FEW = 6
# A plain `tf.function` would trace each length.
_FOR_LENGTHS = (
    "its input gets longer with each call, so pad it to one length and compile the forward pass with `@tf.function`, "
    "or let that take any length (`reduce_retracing=True`)"
)
_FOR_PADDED = (
    "its batches differ in shape, so compile the forward pass with `@tf.function(reduce_retracing=True)`"
)


class EagerInferenceStep(Rule):
    """A model that is called in eager mode, op by op, on each step.

    ## What it does

    Reports a model or layer that is called directly per step outside compiled code and outside a gradient tape that is asked
    for gradients: an evaluation loop, an agent's `act`, a teacher that a student learns from. One finding per forward pass: what runs
    on the results of a model belongs to its pass, and so does what another branch of an `if` runs in its stead.

    ## Why is this bad?

    `model(x)` in eager mode asks Python for each op of each layer. For a small batch, or a model of many small
    layers, that takes longer than the ops themselves. What matters is the work in each op: for layers that keep
    the device busy for milliseconds the difference is small. A `tf.function` is traced once and then runs as one graph.
    What was measured are inputs of one shape, not padded ones, nor shapes that are left open, in a model of
    13 layers: a few layers alone were not measured, nor recurrent ones, nor a pass whose layers can't be counted or that a
    distribution strategy runs.

    ## Example

    ```python
    def act(state):
        return tf.argmax(model(state), axis=1)

    while not done:
        state, reward, done, _, _ = env.step(act(state))
    ```

    Use instead:

    ```python
    @tf.function
    def act(state):
        return tf.argmax(model(state), axis=1)

    while not done:
        state, reward, done, _, _ = env.step(act(state))
    ```

    ## What is left alone

    Compiled code, the forward pass of a gradient step and what runs beside it for its tensors, calls that run once,
    once an epoch or under a guard, loops over a few inputs or over the parts of a model, loops that
    show each result to a person (`plt.show()`) or draw a figure of it, a loop over data that a program which
    trains goes through once (the test set, behind the last epoch), calls that are timed and whose results nobody reads, models whose own code can't
    be traced, and what is a `tf.function` in a program that runs all of them eagerly (TFP104 names the cause). The fix is refused, and the finding says why, where
    tracing would change or break the function around the call, and where an input gets longer with each call: each
    length would be retraced, unless an `input_signature` leaves it open. Where the function draws random numbers by NumPy or
    Python, which a trace would keep, the finding says so.

    ## Sources

    - TensorFlow guide, [Better performance with tf.function](https://www.tensorflow.org/guide/function)
    """

    code = "TFP107"
    name = "eager-inference-step"
    # A model is one of Keras, or of a class derived from one, or goes by a usual name.
    triggers = ("keras", "train", "model", "net", "actor", "critic", "policy", "generator", "coder", "dqn")
    through_imports = True
    fixes = "unsafe"
    bold = True
    claim = Claim(
        "step time",
        least=1.5,
        at="for one forward call, without gradients, of a model of 12 Dense layers with 32 units, always on one input shape, beside a compiled step that trains another; fewer layers save less time, and larger ones make it a smaller share",
    )
    adds_up = True

    def check(self, model: Model) -> Iterator[Report]:
        passes = model.own(ForwardPasses)
        for found in passes.all():
            call = found.calls[0]
            grows, padded = passes.grows(found), _gets_padded(model, found)
            remedy = _FOR_PADDED if padded else "compile the forward pass with `@tf.function`"
            remedy = _FOR_LENGTHS if grows else remedy
            if not grows and not padded and (draw := _drawn_on_host(model, found)) is not None:
                remedy = _around_draw(model, draw)
            yield Report(
                call,
                f"`{model.module.code_for_node(call.func)}` runs in eager mode, op by op, on each step; {once_switched_on(model, remedy)}",
                partial(_compile, found=found),
                bold=partial(_compile_apart, found=found),
                bold_first=_is_computed_with(model, found),
                # The experiment has a model of many layers, whose inputs have one shape.
                as_measured=not grows
                and not padded
                and not _is_of_few_layers(model, found)
                and not model.programs.is_recurrent(),
                minor=model.programs.applies_only()
                or model.single_passes.hold(call)
                or _is_now_and_then(model, call),
            )


def _gets_padded(model: Model, found: ForwardPass) -> bool:
    """Whether the loop that runs a forward pass, here or where its function is called, runs over batches of varying shape."""
    shapes = model.own(Shapes)
    if any(map(shapes.is_of_own_length, found.calls)):
        return True
    if found.loop is not None:
        return shapes.vary_in(found.loop)
    return found.function is not None and shapes.vary_for(found.function)


def _drawn_on_host(model: Model, found: ForwardPass) -> cst.Call | None:
    """The call that stands against compiling the function of a forward pass, where that draws random numbers on the host,
    for a value rather than a decision: a trace keeps what it draws."""
    if found.loop is not None or found.function is None:
        return None
    obstacle = model.tracing.obstacle_in_function(found.function)
    draw = obstacle.node if obstacle is not None else None
    if not isinstance(draw, cst.Call) or not model.names.is_call_that(draw, "draws-on-host"):
        return None
    return draw if isinstance(model.statement_of(draw), cst.Assign | cst.AugAssign | cst.Return) else None


def _around_draw(model: Model, draw: cst.Call) -> str:
    twin = fact(model.qualified(draw.func), "twin")
    instead = f"draw by `{twin}`" if twin else "have its caller draw"
    return (
        f"compiled, it would keep one draw of `{model.module.code_for_node(draw.func)}`, so {instead} and compile the "
        "forward pass with `@tf.function`"
    )


def _is_of_few_layers(model: Model, found: ForwardPass) -> bool:
    """Whether all that a forward pass calls are a few layers, and no model of many."""
    layers = [_layers(model, call.func) for call in found.calls]
    return None not in layers and sum(filter(None, layers)) <= _FEW


def _layers(model: Model, callee: cst.BaseExpression) -> int | None:
    """Of how many layers `callee` is at most: itself one, or a `Sequential` of some that are written out; None where that
    is not in sight."""
    value = model.value(callee)
    if value.kind in ("layer", "tensor"):
        return int(value.kind == "layer")  # an input is no layer
    bindings = bindings_of(model.infer, callee) if isinstance(callee, cst.Name | cst.Attribute) else []
    numbers = [_layers_listed(model, binding) for binding in bindings]
    return None if None in numbers else max(filter(None, numbers), default=None)


def _layers_listed(model: Model, binding: Binding) -> int | None:
    match binding:
        case Binding(value=cst.Call() as made, path=()) if model.names.is_call_that(made, "sequential"):
            layers = written_out(model.infer, argument(made, 0, "layers")) or ()
            numbers = [_layers(model, layer) for layer in layers]
            return None if None in numbers else sum(filter(None, numbers)) or None
    return None


def _is_now_and_then(model: Model, call: cst.Call) -> bool:
    """Whether the loops that run a forward pass again and again, as an evaluation does, are themselves behind `step % n`."""
    loops = model.loops.running(call, lambda site: not model.parts_of_steps.has(site))
    return bool(loops) and all(model.guard_of(loop.node) is not None for loop in loops)


def _is_computed_with(model: Model, found: ForwardPass) -> bool:
    """Whether losses, metrics or ops of the loop around a forward pass use what it gives, and can be compiled with it."""
    if found.function is not None and found.loop is None:
        return False
    stretch = pass_with_results(model, found.calls[0])
    return len(stretch) > 1 or is_evaluated(model, stretch)


def _compile(edit: Editor, found: ForwardPass) -> Repair | Refusal:
    if edit.model.own(ForwardPasses).grows(found):
        return Refusal(
            "an input gets longer with each call, and each length would be retraced", found.calls[0]
        )
    if found.loop is not None or found.function is None:
        if len(found.calls) > 1:
            return Refusal(
                "several models run one behind the other, in no function of their own", found.calls[1]
            )
        if is_cut_from_what_gets_longer(edit.model.loops, found.calls[0]):
            return Refusal(
                "the input is cut from what gets longer with each call, and each length would be retraced",
                found.calls[0],
            )
        return compile_call(edit, found.calls[0], varies=_gets_padded(edit.model, found))
    return compile_function(edit, found.function)


def _compile_apart(edit: Editor, found: ForwardPass) -> Repair | Refusal | None:
    if edit.model.own(ForwardPasses).grows(found) or len(found.calls) > 1:
        return None
    if is_cut_from_what_gets_longer(edit.model.loops, found.calls[0]):
        return None
    if found.loop is None and found.function is not None:
        made = compile_function(edit, found.function, bold=True)
        if isinstance(made, Repair) and made.bold:
            return made
    return compile_forward(edit, found.calls[0])
