"""TFP302 host-sync-per-step."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from typing import TypeVar

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library, methods
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.analysis.python.syntax import callee_name, descendants, whole_of
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.edit import Editor
from tflint_perf.edit.behind import behind_counter
from tflint_perf.rule import Beside, Claim, Refusal, Repair, Report, Rule

from .progress_bars import counts_its_calls, remedy_on_bar
from .syncs import Copying, Sync, Syncs

_Node = TypeVar("_Node", bound=cst.CSTNode)
_EVERY = 100
# Where a loop is known to be so short that next to nothing would be shown, every tenth step is.
_SHORT = 500
_EVERY_IN_SHORT = 10
# A tensor with a longer name than this is called "a tensor".
_LONG = 40
_AS_TENSOR = "add it up on the device, as a tensor"
_REMEDIES = {
    "counted": "count the steps in a Python number",
    "summed": "add it up on the device, in a `tf.keras.metrics.Mean` that the compiled step updates",
    "shown": "show it every {every} steps{guard}",
    "glanced": "copy it only where it is used",
    "later": "read it once, after the loop",
    "drawn": "copy only what is looked at, or one batch while the next one is computed",
    "filed": "write it every {every} steps, or copy one batch while the next one is computed",
    "returned": "compute with it on the device",
    "unused": "nothing reads the copy",
}
# What becomes of an element that somebody only looks at.
_LOOKED_AT = frozenset({"drawn", "filed", "shown"})
# The experiment prints a loss.
_MEASURED = frozenset({"shown", "glanced"})
_PLAIN = frozenset({"array", "tensor", "string", "number", "list", "dict"})


class HostSyncPerStep(Rule):
    """A value that each training step copies from the device, only to print it, log it, draw it or add it up.

    ## What it does

    Reports `.numpy()`, `float(t)`, `int(t)`, NumPy functions, `print`, f-strings, `format` and `%` that turn a tensor
    which the device computed, or a list or dict of such tensors, into a host value, unguarded per step, where that
    is printed, logged, drawn or written to a file, added to a number or to a list that is only added up or averaged, given
    back to TensorFlow, or never read; and tensors and variables that are used as step counters
    (`if optimizer.iterations % 100 == 0`, `if global_step.numpy() % 100 == 0`).

    ## Why is this bad?

    TensorFlow hands ops to a GPU and moves on: while the device computes one step, Python prepares the next one.
    To give a value to Python it has to wait until everything before that is done. Then the device in turn waits for
    Python to begin the next step. On a CPU there is little to wait for. What was measured is printing beside
    a compiled step; in eager mode, starting ops is what all wait for. A `Mean` that Python updates
    takes several ops a step, which may cost more than the copy: let the compiled step do that.

    ## Example

    ```python
    for step, (images, labels) in enumerate(dataset):
        loss = train_step(images, labels)
        print(f"step {step}: loss {loss:.4f}")
    ```

    Use instead:

    ```python
    for step, (images, labels) in enumerate(dataset):
        loss = train_step(images, labels)
        if step % 100 == 0:
            print(f"step {step}: loss {loss:.4f}")
    ```

    ## What is left alone

    What runs under a guard or another condition, unless that holds on most steps (`if len(memory) > 1000`), once an
    epoch, in a loop of up to ten steps, in a program that makes at most a hundred in all, or in one without training that the program goes through once beside it; values that decide what the program does, reach an environment, or are
    kept in a list or an attribute; code in `with tf.device("/cpu:0")`; elements of a dataset, shapes and strings, which are already on the host; and what comes
    after `train_on_batch` and the like, which have waited for the device; files that a loop without training makes; what a loop without
    a model shows of a dataset's elements; results of a call of which the step needs another
    copy anyway, or behind which it calls a function that needs one of its own. The fix
    moves only statements that do nothing but show values: it leaves a progress bar that counts its calls, `bar.update(1)`, as it
    is. Such a bar can be given the value of a few steps ago, for which nobody has to wait any more.

    A step that waits in several lines waits until none of them is left: the finding tells of the others.

    ## Sources

    - TensorFlow guide, [Optimize TensorFlow GPU performance with the TensorFlow Profiler](https://www.tensorflow.org/guide/gpu_performance_analysis)
    - TensorFlow guide, [Better performance with tf.function](https://www.tensorflow.org/guide/function)
    """

    code = "TFP302"
    name = "host-sync-per-step"
    # "print(" ends in "int(".
    triggers = ("int(", "numpy(", "float(", "item(", "str(", "format(", "np.", "postfix", "set_description", ".desc", ".info(",
                ".write(", ".log", ".debug(", "get_value(", ".comment", ".iterations", "assign_add(")  # fmt: skip
    # A file with none of these has no step, and nothing that runs per step.
    needs = (
        "GradientTape", "_gradients", "minimize(", ".function", "function(", "@function", "function as", "defun", "next(",
        "ataset", "Sequential", "Model", "load_model", "clone_model", "model_from_json", "applications", "hub.load",
        "reduce_", "tf.", "train", "learn", "step(",
    )  # fmt: skip
    fixes = "unsafe"
    through_imports = True
    claim = Claim(
        "step time",
        least=1.05,
        needs_gpu=True,
        at="for printing the loss of each compiled step instead of each hundredth, in a loop with no other work on the host; such work would wait for the device too in the slow form, which would then lose more (not measured)",
    )
    adds_up = True

    def check(self, model: Model) -> Iterator[Report]:
        if model.programs.is_graph_code() or model.devices.uses_no_gpu():
            return
        flagged = {
            statement: sync
            for statement in model.own(Copying).statements
            if (sync := _flagged(model, statement)) is not None
        }
        for statement, sync in flagged.items():
            needed = _needed_beside(model, statement)
            as_measured = (
                sync.fates <= _MEASURED
                and not needed
                and not _is_eager_or_none(model)
                and _is_number_of_compiled_step(model, sync, statement)
            )
            yield Report(
                model.own(Syncs).place_of(sync),
                _message(model, sync, statement),
                partial(_show_seldom, statement=statement, sync=sync),
                as_measured=as_measured,
                minor=not as_measured,  # what was measured is as dear as any, and costs little
                beside=tuple(_told_of_step(model, statement, flagged, needed)),
            )


def _told_of_step(
    model: Model, statement: cst.CSTNode, flagged: Collection[cst.CSTNode], needed: tuple[cst.CSTNode, ...]
) -> Iterator[Beside]:
    """Where the same step waits as well: nothing is gained until it does so nowhere."""
    others = tuple(other for other in _copying_beside(model, statement) if other in flagged)
    if others:
        yield Beside("the step waits in {lines}, too: change all of them together", others)
    if needed:
        yield Beside(
            "the step waits in {lines}, too, for what decides how it goes on: nothing is gained unless it asks for that seldom",
            needed,
        )


def _needed_beside(model: Model, statement: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    """The tests of the same step for which a tensor is copied each time."""
    copies = model.own(Syncs)
    tests = _beside(model, statement, model.own(Copying).tests)
    return tuple(test for test in tests if copies.decides(test))


def _copying_beside(model: Model, statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
    return _beside(model, statement, model.own(Copying).statements)


def _beside(model: Model, statement: cst.CSTNode, others: Iterable[_Node]) -> Iterator[_Node]:
    """Those of `others` that may run whenever `statement` does: of the same loop, or else function."""
    copies = model.own(Syncs)
    loop, function = copies.loop_of(statement), model.function_at(statement)
    innermost = model.loops.innermost_loop(statement)
    for beside in others:
        if (
            beside is not statement
            and copies.loop_of(beside) is loop
            and model.function_at(beside) is function
            and (innermost is None or innermost in loops_around(model.loops.innermost_loop(beside)))
        ):
            yield beside


def _is_number_of_compiled_step(model: Model, sync: Sync, statement: cst.CSTNode) -> bool:
    """Whether what is copied is a loss or a metric of a compiled step that trains: it waits for all of that."""
    if not model.scalars.may_be_scalar(sync.tensor):
        return False
    made = _made_by(model, sync.tensor)
    if made and all(_is_result_of_metric(model, call) for call in made):
        made = [call for call in _calls_beside(model, statement) if _trains_compiled(model, call)]
    return bool(made) and all(_trains_compiled(model, call) for call in made)


def _is_result_of_metric(model: Model, call: cst.Call) -> bool:
    return (
        isinstance(call.func, cst.Attribute)
        and call.func.attr.value == "result"
        and model.value(call.func.value).kind == "metric"
    )


def _trains_compiled(model: Model, call: cst.Call) -> bool:
    """Whether `call` runs a compiled function, of this file or another, that trains."""
    if model.value(call.func).kind != "compiled":
        return False
    targets = model.calls.targets(call)
    reached = [*targets, *model.invariance.reached([target.node for target in targets])]
    return model.programs.trains_in(reached) or model.train_calls.trains(call)


def _is_eager_or_none(model: Model) -> bool:
    """Whether this file has gradient steps in eager mode, where Python is what all wait for, or applies what
    another one has trained."""
    return model.programs.applies_only() or any(model.is_eager(step.tape) for step in model.steps.all())


def _flagged(model: Model, statement: cst.CSTNode) -> Sync | None:
    """The first copy to the host in `statement`, if it runs on each step and the program could do without all of them."""
    if not model.is_eager(statement) or model.devices.is_on_cpu(statement):
        return None
    if model.programs.leaves_out(model.function_at(statement)):
        return None
    syncs = [
        sync
        for sync in model.own(Syncs).of_statement(statement)
        if model.own(Syncs).is_on_each_step(sync.node)
    ]
    if (
        not syncs
        or model.single_passes.hold(statement)
        or _is_export(model, statement, syncs)
        or _has_waited(model, statement)
        or _waits_anyway(model, statement, syncs)
        or any(not sync.fates or not sync.fates <= _REMEDIES.keys() for sync in syncs)
        or any("later" in sync.fates and _has_many(model, sync) for sync in syncs)
    ):
        return None
    return syncs[0]


def _has_many(model: Model, sync: Sync) -> bool:
    """Whether what is copied is no single number: an attribute that keeps such for later keeps data, as for the samples of
    a batch, rather than a figure for a log."""
    return model.scalars.is_scalar(sync.tensor) is False


def _is_export(model: Model, statement: cst.CSTNode, syncs: list[Sync]) -> bool:
    """Whether the loop around `statement` trains nothing and makes files, which need what is copied, or only looks at a
    dataset's elements without a model: no step waits for the copies."""
    loop = model.own(Syncs).loop_of(statement)
    if loop is None:
        return False
    if all(sync.fates == {"filed"} for sync in syncs) and model.single_passes.only_looks(loop):
        return True
    if loop.iterable is None or not model.loops.takes_batches(loop.iterable):
        return False
    if any(not sync.fates <= _LOOKED_AT for sync in syncs):
        return False
    run = [
        *(part for part in descendants(loop.node) if isinstance(part, cst.Call)),
        *(call for function in model.invariance.reached([loop.node]) for call in function.calls),
    ]
    return not any(map(model.loops.actions.acts, run)) and all(_is_no_model(model, call) for call in run)


def _is_no_model(model: Model, call: cst.Call) -> bool:
    """Whether `call` is known to be of Python, of a library, of the project or of a plain value."""
    value = model.value(call.func)
    if value.kind in ("compiled", "model", "layer"):
        return False
    name = builtin_or_qualified(model.infer, call.func)
    if model.calls.targets(call) or value.paths or library(name) or has(name, "pictures"):
        return True
    if name in vars(builtins) or name.split(".")[0] in sys.stdlib_module_names:
        return True
    return isinstance(call.func, cst.Attribute) and model.value(call.func.value).kind in _PLAIN


def _has_waited(model: Model, statement: cst.CSTNode) -> bool:
    """Whether the step has waited for the device before `statement`, for numbers that Keras gives: nothing is left to
    wait for."""
    place = model.infer.place
    return any(
        callee_name(call) in methods("Model", "gives-numbers")
        and isinstance(call.func, cst.Attribute)
        and _is_of_keras(model, call.func)
        and place(call).order < place(statement).order
        for call in _calls_beside(model, statement)
    )


def _calls_beside(model: Model, statement: cst.CSTNode) -> list[cst.Call]:
    """The calls of the step around `statement`: of its loop, or else of its function."""
    loop, function = model.own(Syncs).loop_of(statement), model.function_at(statement)
    return loop.calls if loop is not None else function.calls if function is not None else []


def _waits_anyway(model: Model, statement: cst.CSTNode, syncs: list[Sync]) -> bool:
    """Whether the same step needs a copy of what the same calls gave as the tensors of `syncs`, or where these only count, of
    anything: it waits for the device all the same."""
    copies = model.own(Syncs)
    made = {value for sync in syncs for value in _made_by(model, sync.tensor)}
    only_counts = all(sync.fates == {"counted"} for sync in syncs)
    if not (made or only_counts):
        return False
    if made and _waits_where_it_calls(model, statement, made):
        return True
    return any(
        other.fates - _REMEDIES.keys()
        and (only_counts or not made.isdisjoint(_made_by(model, other.tensor)))
        and copies.is_on_each_step(other.node)
        for beside in _copying_beside(model, statement)
        for other in copies.of_statement(beside)
    )


def _waits_where_it_calls(model: Model, statement: cst.CSTNode, made: Collection[cst.CSTNode]) -> bool:
    """Whether the step, once it has `made` what `statement` copies, calls functions that need a copy of what they compute: the
    device does one after the other."""
    place = model.infer.place
    around = set(_calls_beside(model, statement))
    if not around.issuperset(made):
        return False
    since = max(place(call).order for call in made)
    return any(
        place(call).order > since and _is_beside(model, call, statement) and _needs_copy(model, call)
        for call in around
    )


def _is_beside(model: Model, call: cst.Call, statement: cst.CSTNode) -> bool:
    """Whether `call` runs whenever `statement` does."""
    return set(conditions(model.walk, call)) <= set(conditions(model.walk, statement))


def _needs_copy(model: Model, call: cst.Call) -> bool:
    """Whether each call of the functions of this file that `call` runs copies a tensor that it computes on with."""
    copies, targets = model.own(Syncs), model.calls.targets(call)
    return bool(targets) and any(
        model.function_at(copying) in targets
        and not any(conditions(model.walk, copying))
        and any(sync.fates - _REMEDIES.keys() for sync in copies.of_statement(copying))
        for copying in model.own(Copying).statements
    )


def _made_by(model: Model, tensor: cst.BaseExpression) -> list[cst.Call]:
    """The calls of which `tensor`, or what it is a part of, is a result: itself, or by a name."""
    whole = whole_of(tensor)
    found = model.infer.bindings_reaching(whole) if isinstance(whole, cst.Name) else None
    values = [binding.value for binding in found[1] if binding.value is not None] if found else [whole]
    return [made for made in map(whole_of, values) if isinstance(made, cst.Call)]


def _is_of_keras(model: Model, method: cst.Attribute) -> bool:
    """Whether a method is asked of a model that Keras itself makes, or that is given and defines none of its own."""
    asked = model.value(method.value)
    own = asked.klass is not None or asked.outside or asked.either
    return model.given_models.is_method_of_keras(method) or (asked.kind == "model" and not own)


def _message(model: Model, sync: Sync, statement: cst.CSTNode) -> str:
    name = model.module.code_for_node(sync.tensor)
    named = f"`{name}`" if len(name) <= _LONG and "\n" not in name else "a tensor"
    if sync.fates == {"counted"}:
        # True of a variable that is on the host already, too.
        return f"{named} is read on each step to count; {_REMEDIES['counted']}"
    loop = model.own(Syncs).loop_of(statement)
    every = _every(model, loop)
    guard = f", under `if {model.counters.name(loop) or 'step'} % {every} == 0:`" if loop is not None else ""
    remedy = next(text for fate, text in _REMEDIES.items() if fate in sync.fates)
    remedy = remedy.format(guard=guard, every=every)
    if remedy == _REMEDIES["summed"] and (
        _is_added_to_array(model, statement) or _is_made_in_eager_mode(model, sync)
    ):
        remedy = _AS_TENSOR
    if not sync.fates.isdisjoint(_LOOKED_AT):
        remedy = remedy_on_bar(model, sync.node, statement, every, guard) or remedy
        if sync.fates == {"shown"} and _is_of_evaluation(model, statement):
            remedy += ", or a mean of all, once, after the loop"
    return f"{named} is copied to the host on each step, which waits for the device; {remedy}"


def _is_of_evaluation(model: Model, statement: cst.CSTNode) -> bool:
    """Whether only loops that train nothing show it: the lines of a validation are its result, and a mean says as much."""
    loops = model.loops.running(statement)
    return bool(loops) and all(map(model.single_passes.only_looks, loops))


def _every(model: Model, loop: Loop | None) -> int:
    """Every how many steps of `loop` a value is to be shown."""
    runs = model.iterations.at_most(loop) if loop is not None else None
    return _EVERY_IN_SHORT if runs is not None and runs <= _SHORT else _EVERY


def _is_made_in_eager_mode(model: Model, sync: Sync) -> bool:
    """Whether no compiled step, which could update a metric, made what is copied."""
    made = _made_by(model, sync.tensor)
    trains_eagerly = any(model.is_eager(step.tape) for step in model.steps.all())
    return bool(made) and all(
        model.value(call.func).kind in ("model", "layer", "loss")
        or any(target.returns and model.is_eager(target.returns[0]) for target in model.calls.targets(call))
        or (trains_eagerly and model.value(call.func).kind not in ("compiled", "metric"))
        for call in made
    )


def _is_added_to_array(model: Model, statement: cst.CSTNode) -> bool:
    """Whether `total += t.numpy()` adds to an array: a metric would make one number of it."""
    return isinstance(statement, cst.AugAssign) and model.value(statement.target).kind == "array"


def _show_seldom(edit: Editor, statement: cst.CSTNode, sync: Sync) -> Repair | Refusal:
    model = edit.model
    if sync.fates == {"counted"}:
        return Refusal(
            "a number in Python has to begin where this one does, which may be a checkpoint", sync.node
        )
    refusal = _does_more(edit, statement)
    if refusal is not None:
        return refusal
    loop = model.own(Syncs).loop_of(statement)
    if loop is None:
        return Refusal("it is in a function that the loop calls", statement)
    remainder = _remainder_before(model, statement, loop)
    if remainder is not None:
        return Refusal("the condition may be meant the other way round, with `== 0`", remainder)
    every = _every(model, loop)
    moved = behind_counter(edit, _with_neighbours(edit, statement), loop, every)
    if isinstance(moved, Refusal):
        return moved
    shown = "one step in a hundred" if every == _EVERY else "one step in ten"
    return Repair(f"Show it every {every} steps", moved, safe=False, may_change=f"what is shown: {shown}")


def _remainder_before(model: Model, statement: cst.CSTNode, loop: Loop) -> cst.CSTNode | None:
    """The condition in front of a statement that holds on all steps but one in several: `if step % 100:`."""
    return next(
        (
            condition
            for condition in conditions(model.walk, statement, loop.node, exits=False)
            if any(
                isinstance(part, cst.BinaryOperation) and isinstance(part.operator, cst.Modulo)
                for part in descendants(condition)
            )
        ),
        None,
    )


def _with_neighbours(edit: Editor, statement: cst.CSTNode) -> list[cst.CSTNode]:
    """The statements directly around one that are flagged, too, and only show values."""
    statements = edit.model.walk.at[statement].block.statements
    first = last = statements.index(statement)
    while first > 0 and _moves(edit, statements[first - 1]):
        first -= 1
    while last + 1 < len(statements) and _moves(edit, statements[last + 1]):
        last += 1
    return statements[first : last + 1]


def _moves(edit: Editor, statement: cst.CSTNode) -> bool:
    return _flagged(edit.model, statement) is not None and _does_more(edit, statement) is None


def _does_more(edit: Editor, statement: cst.CSTNode) -> Refusal | None:
    """Why a statement has to run on each step: it does something besides showing values."""
    if isinstance(statement, cst.Expr) and counts_its_calls(statement.value):
        return Refusal("the progress bar counts how often this is called", statement)
    found = edit.model.own(Syncs).effect_besides_showing(statement)
    return Refusal("it does more than show values", found) if found is not None else None
