"""TFP401 tensor-accumulation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.model import Loop, Model
from tflint_perf.analysis.python.syntax import descendants, mentions, target_names
from tflint_perf.analysis.training.single_passes import Passes
from tflint_perf.analysis.values.values import Value
from tflint_perf.edit import Editor
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .containers import Addition, Containers, Kept, additions
from .converting import copy_at_once

# So many tensors of one number take some ten megabytes.
_EASILY_HELD = 100_000
# These take a few hundred KB.
_NOTHING = 500


class TensorAccumulation(Rule):
    """A list or dict that keeps a tensor from each step.

    ## What it does

    Reports tensors that are added per step to a container that outlives the loop: `losses.append(loss)`,
    `history["loss"].append(loss)`, `predictions += [logits]`, `self.losses.append(loss)`.

    ## Why is this bad?

    A tensor that is still referenced keeps its memory, on a GPU the device's. A list that gets one more on
    each step grows until the memory is full, and no smaller batch size helps. A number costs a few bytes, and a tensor of one
    some hundred: that is little, but as long as the loop runs. The finding says how many there are at most, where the code shows
    it. Larger tensors were not measured.

    Copying each number to the host as it comes makes the step wait for the device (TFP302). Copied many at a time, it is
    one wait for all of them, and no more tensors are kept than those of an epoch, or a hundred.

    ## Example

    ```python
    losses = []
    for epoch in range(epochs):
        for images, labels in dataset:
            loss = train_step(images, labels)
            losses.append(loss)
    ```

    Use instead:

    ```python
    losses = []
    for epoch in range(epochs):
        epoch_losses = []
        for images, labels in dataset:
            loss = train_step(images, labels)
            epoch_losses.append(loss)
        losses.extend(one.numpy() for one in epoch_losses)
    ```

    Where no loop of epochs is in sight, the fix copies a hundred at a time. Where only the mean is asked for, a
    `tf.keras.metrics.Mean` that the compiled step updates keeps no list at all.

    ## What is left alone

    Numbers and NumPy values, elements of a dataset, `tf.TensorArray`, compiled code, a `deque` with a maximum length, containers that
    are created again or emptied each epoch, or hold some hundred scalars at most, parts of a tensor that was there before the
    loop, tensors that a gradient needs, what is kept under `step % n`, and what a loop without training keeps once, unless it is made there for
    another loop to read. A list that nothing reads is dropped. There is no fix where what is kept is not a scalar, or is later used as a
    tensor. Large tensors, such as the predictions of each batch, are better kept as NumPy arrays.

    ## Sources

    - TensorFlow guide, [Use a GPU](https://www.tensorflow.org/guide/gpu)
    - TensorFlow API, [`tf.keras.metrics.Mean`](https://www.tensorflow.org/api_docs/python/tf/keras/metrics/Mean)
    """

    code = "TFP401"
    name = "tensor-accumulation"
    triggers = (".append(", ".extend(", ".appendleft(", "+= [")
    # Nothing runs per step without one of these; tensors that are made where they are kept need no step.
    needs = (
        "GradientTape", "_gradients", "_on_batch", "minimize(", "predict(", "fit(", "evaluate(", ".function", "function(",
        "@function", "function as", "defun", ".run(", "get_next", "next(", ".step(", "ataset", "Sequential", "Model",
        "load_model", "clone_model", "model_from_json", "applications", "hub.load",
        "train", "learn", "step(", "append(tf", "append(tensorflow", "append(constant(",
    )  # fmt: skip
    fixes = "unsafe"
    through_imports = True
    claim = Claim(
        "live tensors",
        least=1.5,
        kind="growth",
        at="of one number: a few hundred bytes, freed only when the list is",
    )
    always_on = True

    def check(self, model: Model) -> Iterator[Report]:
        if model.programs.is_graph_code():
            return
        for addition in additions(model.walk):
            if not _tensors(model, addition) or not model.is_eager(addition.node):
                continue
            if _is_of_one_call(model, addition) or not _accumulates(model, addition):
                continue
            name = model.module.code_for_node(addition.container)
            number = _numbers_at_most(model, addition)
            if number is not None and number <= _NOTHING:
                continue
            kept = f"at most {number:,} of one number each" if number is not None else "and its memory"
            yield Report(
                addition.node,
                f"`{name}` keeps a tensor from each step, {kept}; {_remedy(model, addition)}",
                partial(_keep_less, addition=addition),
                as_measured=_are_scalars(model, addition),
                minor=number is not None or model.single_passes.hold(addition.node),
            )


def _numbers_at_most(model: Model, addition: Addition) -> int | None:
    """How many numbers `addition` keeps at most, where that is in sight and memory holds them easily."""
    if not _are_scalars(model, addition):
        return None
    runs = model.own(Containers).runs_at_most(addition)
    return (
        runs * len(_parts(model, _tensors(model, addition)))
        if runs is not None and runs <= _EASILY_HELD
        else None
    )


def _is_of_one_call(model: Model, addition: Addition) -> bool:
    """Whether each call of what is a `tf.function`, but for a switch that has all run in eager mode, makes the container
    anew: its loops are parts of a step."""
    function = model.function_at(addition.node)
    if not isinstance(addition.container, cst.Name) or function is None:
        return False
    found = model.infer.bindings_reaching(addition.container)
    return found is not None and found[0].function is function and model.compiled.is_switched_off(function)


def _are_scalars(model: Model, addition: Addition) -> bool:
    """Whether each tensor that is kept may be of one number, as in the experiment."""
    return all(map(model.scalars.may_be_scalar, _parts(model, _tensors(model, addition))))


def _parts(model: Model, kept: list[cst.BaseExpression]) -> list[cst.BaseExpression]:
    """The tensors, also those of a list that stands in the code: `history.append([loss, accuracy])`."""
    return [
        part
        for each in kept
        for part in ([e.value for e in each.elements] if isinstance(each, cst.List | cst.Tuple) else [each])
        if part is each or _is_tensor(model.value(part))
    ]


def _remedy(model: Model, addition: Addition) -> str:
    if _is_never_read(model, addition):
        return "nothing reads it, so drop it"
    return f"keep {'numbers, copied to the host many at a time' if _are_scalars(model, addition) else 'NumPy values'}"


def _accumulates(model: Model, addition: Addition) -> bool:
    if not model.is_per_step(addition.node):
        return model.own(Containers).life(addition) == "run" and model.own(Containers).is_store(addition)
    # Memory runs out as soon where a model is only applied.
    if _is_guarded(model, addition) or model.single_passes.hold(addition.node, Passes(of_results=False)):
        return False
    if model.own(Kept).feeds_gradient(addition) or model.own(Kept).is_asked_for(addition):
        return False
    if model.own(Containers).is_bounded(addition):
        return False
    if _are_scalars(model, addition) and model.totals.are_few(addition.node):
        return False
    return model.own(Containers).life(addition) == "run" and not _is_wanted(model, addition)


def _is_guarded(model: Model, addition: Addition) -> bool:
    """Whether a guard keeps `addition` from adding tensors on each step; one that the step itself stands behind does
    not."""
    guard = model.guard_of(addition.node)
    if guard is None:
        return False
    steps = filter(None, map(model.training_steps.gives, _tensors(model, addition)))
    return not any(behind is not None and behind.node is guard.node for behind in map(model.guard_of, steps))


def _is_wanted(model: Model, addition: Addition) -> bool:
    """Whether the program needs what `addition` keeps: as tensors of a computation, as scalars for a number at its end, or
    as one large array, which takes as much memory."""
    of_list, kept = model.own(Kept), _tensors(model, addition)
    if of_list.is_replaced(addition):
        return True
    if all(model.scalars.is_scalar(each) is False for each in kept):
        return of_list.is_used_up(addition, arrays=model.function_at(addition.node) is not None)
    if not of_list.is_used_up(addition):
        return False
    return of_list.use_as_tensor(addition) is not None or all(map(model.scalars.may_be_scalar, kept))


def _tensors(model: Model, addition: Addition) -> list[cst.BaseExpression]:
    """The tensors among what `addition` adds; parts of one that is there anyway, one in each iteration, are none."""
    loop = model.own(Containers).filled_by(addition)
    return [
        kept
        for kept in addition.added
        if _is_tensor(model.value(kept)) and not (loop is not None and _is_part(model, kept, loop))
    ]


def _is_part(model: Model, kept: cst.BaseExpression, loop: Loop) -> bool:
    """Whether `kept` is another part, in each iteration of `loop`, of what was there before: `scores[:, step]`. Together
    they are as large as that."""
    whole = kept.value if isinstance(kept, cst.Subscript) else None
    if not isinstance(whole, cst.Name | cst.Attribute) or not isinstance(loop.node, cst.For):
        return False
    names = {name.value for name in target_names(loop.node.target)}
    return mentions(kept, names) and model.invariance.change(whole, loop) is None


def _is_tensor(value: Value) -> bool:
    if value.kind in ("list", "tuple"):
        parts = value.items or ((value.element,) if value.element is not None else ())
        return any(_is_tensor(part) for part in parts)
    # An element of a dataset is host memory already, and its NumPy value the same memory. An input of a model that
    # is being built holds nothing.
    return value.kind == "tensor" and not value.host and not has(value.name, "input")


def _keep_less(edit: Editor, addition: Addition) -> Repair | Refusal:
    statement = edit.model.statement_of(addition.node)
    if not isinstance(statement, cst.Expr) or not _is_never_read(edit.model, addition):
        return _keep_numbers(edit, addition)
    if edit.cell(statement) is not None and edit.model.function_at(statement) is None:
        return _keep_numbers(edit, addition)  # a cell that nobody saved may read it
    edits = [edit.remove_statement(each) for each in (*_made_for(edit.model, addition), statement)]
    return Repair("Drop the list, which nothing reads", edits, safe=False, may_change="when memory is freed")


def _made_for(model: Model, addition: Addition) -> list[cst.Assign]:
    """The statement that makes a list for one addition alone: `losses = []`."""
    if not isinstance(addition.container, cst.Name):
        return []
    scope = model.names.home(addition.container)
    bindings = scope.bindings[addition.container.value] if scope is not None else []
    if len(bindings) != 1 or len(model.own(Containers).uses(addition.container)) != 1:
        return []
    made = model.parent(bindings[0].value) if bindings[0].value is not None else None
    is_empty = isinstance(bindings[0].value, cst.List) and not bindings[0].value.elements
    return [made] if is_empty and isinstance(made, cst.Assign) and len(made.targets) == 1 else []


def _is_never_read(model: Model, addition: Addition) -> bool:
    """Whether `addition` keeps tensors in a list that nothing reads, and computes nothing to do so: a function's own list,
    or one of a script, which fills it itself."""
    if not isinstance(addition.container, cst.Name):
        return False
    scope = model.names.home(addition.container)
    return (
        scope is not None
        and scope.function is model.function_at(addition.node)
        and not model.sees_names()
        and all(binding.kind == "assign" for binding in scope.bindings[addition.container.value])
        and not any(True for _ in model.own(Containers).reads(addition))
        and not any(isinstance(part, cst.Call) for kept in addition.added for part in descendants(kept))
    )


def _keep_numbers(edit: Editor, addition: Addition) -> Repair | Refusal:
    model = edit.model
    kept = _tensors(model, addition)
    for value in kept:
        if model.value(value).kind != "tensor" or not model.scalars.may_be_scalar(value):
            return Refusal("what is kept may not be a scalar", value)
    obstacle = model.own(Kept).use_as_tensor(addition, besides_ops=True)
    if obstacle is not None:
        return Refusal("what is kept is used as a tensor", obstacle)
    return copy_at_once(edit, addition)
