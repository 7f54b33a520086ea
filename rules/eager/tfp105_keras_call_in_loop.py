"""TFP105 keras-call-in-loop."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.execution.short_loops import runs_over_files
from tflint_perf.analysis.execution.step_loop_paths import Way
from tflint_perf.analysis.execution.timed_calls import is_only_timed
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    dotted_name,
    has_stars,
    keyword_argument,
    mentions,
    same_code,
    target_names,
)
from tflint_perf.analysis.values.frameworks import packages
from tflint_perf.analysis.values.iterables import sources
from tflint_perf.edit import Editor
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

from .compiled_fit import compile_fit, unlike_shuffled
from .compiled_forward import DROPPED, compile_prediction
from .few_results import FewResults
from .model_calls import CalledModels

_ON_BATCH = {"predict": "predict_on_batch", "evaluate": "test_on_batch", "fit": "train_on_batch"}
_BOLD = {"predict": compile_prediction, "fit": compile_fit}
# How many of the first arguments may be given by position, and which keywords mean the same in both calls.
_POSITIONAL = {"predict": 1, "evaluate": 2, "fit": 2}
# Below which place those follow that change nothing of a single batch: `batch_size` and `verbose`.
_DROPPED_BELOW = {"predict": 3, "evaluate": 4, "fit": 3}
_KEPT = {
    "predict": {"x"},
    "evaluate": {"x", "y", "sample_weight", "return_dict"},
    "fit": {"x", "y", "sample_weight", "class_weight"},
}
# `fit` alone keeps a history, and has callbacks without being given any.
_MAY_CHANGE = {
    "predict": "what is printed",
    "evaluate": "what is printed",
    "fit": "callbacks, the history and what is printed",
}


class KerasCallInLoop(Rule):
    """`predict`, `evaluate` or `fit` of a Keras model, called for one batch on each step.

    ## What it does

    Reports `predict`, `evaluate` and `fit` per step on one batch or one sample, also where `fit` goes a few times through it, and
    `predict` on what is read of each file.

    ## Why is this bad?

    Each call wraps its arrays in a `tf.data` pipeline, creates an iterator, runs the callbacks, and looks up the
    function to run. That pays for itself over a dataset; for one batch it takes many times as long as the work
    itself. `predict_on_batch`, `test_on_batch` and `train_on_batch` do that work and nothing else. Where a loop asks
    for the samples of a batch one by one, a single call on the stacked samples replaces them all.

    ## Example

    ```python
    for images in dataset:
        answers = teacher.predict(images, verbose=0)
        train_step(images, answers)
    ```

    Use instead:

    ```python
    for images in dataset:
        answers = teacher.predict_on_batch(images)
        train_step(images, answers)
    ```

    ## What is left alone

    Calls on a whole dataset, even once an epoch, calls under `step % n`, a new model for each fold or
    trial, a model that is compiled before each call, loops of a few iterations or that show a picture of each answer, a class's own `predict`, calls that are timed and whose answers nobody reads, slices that the call cuts
    into batches (`batch_size=`), and code for TensorFlow 1. The fix is refused, and the finding says why, where an argument has no counterpart (`callbacks`, several epochs), where the history that `fit` returns is used, or
    where `fit` shuffles rows for layers that drop out, which then learn from other numbers.

    ## Sources

    - Keras documentation, [Model training APIs](https://keras.io/api/models/model_training_apis/): "`predict` …
      is designed for batch processing of large numbers of inputs. It is not intended for use inside of loops"
    """

    code = "TFP105"
    name = "keras-call-in-loop"
    triggers = (".predict(", ".evaluate(", ".fit(")
    through_imports = True
    through_callers = (".predict(",)
    fixes = "unsafe"
    bold = True
    claim = Claim(
        "step time",
        least=2.0,
        step="a call",
        at="`predict` → `predict_on_batch`, on batches of one shape",
    )
    adds_up = True

    def check(self, model: Model) -> Iterator[Report]:
        if model.programs.is_graph_code() or model.versions.is_version_1():
            return  # version 1 sets up no pipeline
        calls = model.calls_named(*_ON_BATCH)
        if not calls or model.infer.outside.needs_older(2) or _is_of_keras_alone(model):
            return
        for call in calls:
            batches = model.loops.batches
            again = batches.are_taken_again_by(call)
            if not _is_of_keras_model(model, call) or not (again or batches.are_taken_by(call)):
                continue
            files = () if model.is_per_step(call) else _from_loop_over_files(model, call)
            if not (model.is_per_step(call) or files):
                continue
            if model.is_compiled(call) or model.guard_of(call) is not None:
                continue
            if model.own(FewResults).is_for_few(call) or model.own(CalledModels).makes_variables(call):
                continue
            if is_only_timed(model.infer, call) or _is_compiled_anew(model, call):
                continue
            name = callee_name(call)
            yield Report(
                call,
                _SAID_AGAIN if again else _said(model, call),
                partial(_call_on_batch, call=call),
                bold=partial(_BOLD[name], call=call) if name in _BOLD else None,
                bold_first=True,
                steps=files,
                as_measured=name == "predict",
                minor=model.programs.applies_only() or model.single_passes.hold(call),
            )


def _is_of_keras_alone(model: Model) -> bool:
    """Whether the file is for a Keras before it became TensorFlow's own, which sets up no pipeline either: that alone takes
    `nb_epoch`."""
    if any(
        keyword_argument(call, "nb_epoch") is not None for call in model.calls_named("fit", "fit_generator")
    ):
        return True
    return model.infer.outside.keras_has_own_engine() and "tensorflow" not in packages(model.walk)


# The other calls take a batch once.
_SAID_AGAIN = (
    "`fit` sets up an input pipeline for few rows on each step; make its gradient steps in a `tf.function`"
)


def _said(model: Model, call: cst.Call) -> str:
    name, batch = callee_name(call), _batch_taken_apart(model, call)
    if batch is None:
        return f"`{name}` sets up an input pipeline for one batch on each step; call `{_ON_BATCH[name]}`"
    of = f" of `{dotted_name(batch)}`" if dotted_name(batch) else ""
    return (
        f"`{name}` sets up an input pipeline for each sample{of}; stack the samples and call it once on the whole batch, "
        f"or at least call `{_ON_BATCH[name]}`"
    )


def _batch_taken_apart(model: Model, call: cst.Call) -> cst.BaseExpression | None:
    """The batch whose samples the loop around `call` predicts one at a time."""
    loop, given = model.loops.innermost_loop(call), argument(call, 0, "x")
    if callee_name(call) != "predict" or given is None or loop is None or isinstance(loop.node, cst.While):
        return None
    if any(isinstance(part, cst.Call) and model.train_calls.trains(part) for part in descendants(loop.node)):
        return None  # what it predicts of one sample hangs on what it learned of those before
    size, targets = model.loops.batches.size, {name.value for name in target_names(loop.node.target)}
    if size(given) != "sample" or not mentions(given, targets):
        return None
    indexed = (
        part.value
        for part in descendants(given)
        if isinstance(part, cst.Subscript) and any(mentions(index, targets) for index in part.slice)
    )
    parts = (*sources(model.infer, loop.node.iter), *indexed)
    return next((part for part in parts if size(part) == "batch"), None)


def _is_of_keras_model(model: Model, call: cst.Call) -> bool:
    if not isinstance(call.func, cst.Attribute) or model.calls.targets(call):
        return False
    if model.given_models.is_method_of_keras(call.func):
        return True
    own = model.value(call.func).outside  # a method that a class of another file defines
    return not own and model.value(call.func.value).kind == "model" and not _gives_tensors(model, call)


def _is_compiled_anew(model: Model, call: cst.Call) -> bool:
    """Whether the model is compiled before each such call: then Keras makes and traces its function anew, by whatever it is
    called, and a pipeline costs little beside that."""
    asked = call.func.value if isinstance(call.func, cst.Attribute) else None
    here, loop = model.function_at(call), model.loops.innermost_loop(call)
    under = set(conditions(model.walk, call))
    return any(
        isinstance(compiles.func, cst.Attribute)
        and same_code(compiles.func.value, asked)
        and model.function_at(compiles) is here
        and model.loops.innermost_loop(compiles) is loop
        and under.issuperset(conditions(model.walk, compiles))
        for compiles in model.calls_named("compile")
    )


def _from_loop_over_files(model: Model, call: cst.Call) -> Way:
    """The way from a loop in which `call` predicts for each of several files; () where there is none. Such a loop is one of
    epochs where it trains, and of steps where it does not."""
    if callee_name(call) != "predict":
        return ()
    function, ways = model.function_at(call), [[call]]
    if model.loops.innermost_loop(call) is None and function is not None:
        ways = [[site, call] for site in model.calls.sites(function)]
    for way in ways:
        loop = model.loops.innermost_loop(way[0])
        if loop is not None and runs_over_files(model.infer, loop) and not model.loops.waits_for_person(loop):
            return model.step_loop_paths.through(loop, *way)
    return ()


def _gives_tensors(model: Model, call: cst.Call) -> bool:
    """Whether the result of `call` is asked for its NumPy values: it is no method of Keras's, then, which gives these."""
    statement, function = model.statement_of(call), model.function_at(call)
    if not isinstance(statement, cst.Assign) or statement.value is not call:
        return False
    names = {name.value for target in statement.targets for name in target_names(target.target)}
    return any(
        isinstance(asked.value, cst.Name)
        and asked.value.value in names
        and model.function_at(asked) is function
        for asked in model.walk.attributes.get("numpy", ())
    )


def _call_on_batch(edit: Editor, call: cst.Call) -> Repair | Refusal:
    assert isinstance(call.func, cst.Attribute)
    name = callee_name(call)
    if has_stars(call):
        return Refusal("not all of its arguments can be seen here", call)
    if edit.model.loops.batches.are_taken_again_by(call):
        return Refusal(f"`{_ON_BATCH[name]}` has no `epochs`", call)
    dropped: list[cst.Arg] = []
    for index, arg in enumerate(call.args):
        if arg.keyword is None:
            if index >= _DROPPED_BELOW[name]:
                return Refusal(f"`{edit.text(arg.value)}` is passed by position", arg.value)
            if index >= _POSITIONAL[name]:
                dropped.append(arg)
        elif arg.keyword.value in DROPPED:
            dropped.append(arg)
        elif arg.keyword.value not in _KEPT[name]:
            return Refusal(f"`{_ON_BATCH[name]}` has no `{arg.keyword.value}`", arg.value)
    if name == "fit" and _is_used(edit.model, call):
        return Refusal("the history that `fit` returns is used", call)
    if name == "fit" and (reordered := unlike_shuffled(edit, call)) is not None:
        return reordered
    edits = [edit.replace(call.func.attr, _ON_BATCH[name]), *edit.remove_arguments(call, dropped)]
    return Repair(
        f"Call `{_ON_BATCH[name]}`",
        edits,
        safe=False,
        may_change=_MAY_CHANGE[name],
    )


def _is_used(model: Model, call: cst.Call) -> bool:
    """Whether the program does anything with what `call` returns."""
    statement = model.statement_of(call)
    if isinstance(statement, cst.Expr) and statement.value is call:
        return False
    match statement:
        case cst.Assign(value=value, targets=[cst.AssignTarget(target=cst.Name(name))]) if value is call:
            return len(model.walk.names.get(name, ())) > 1
    return True
