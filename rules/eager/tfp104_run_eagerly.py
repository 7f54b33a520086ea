"""TFP104 run-eagerly."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.apis.facts import has, last_names, methods
from tflint_perf.analysis.execution.trains import METHODS
from tflint_perf.analysis.model import Function, Model
from tflint_perf.analysis.python.syntax import argument, callee_name, descendants, dotted_name, same_code
from tflint_perf.analysis.values.outside import Outside
from tflint_perf.edit import Editor
from tflint_perf.edit.judged import TRACED
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

_APPLYING = frozenset({"evaluate", "predict"})
# Methods of Keras that run a step, which `run_eagerly` decides about.
_RUNNING = frozenset(METHODS) | _APPLYING | {
    "evaluate_generator", "predict_generator", "test_on_batch", "predict_on_batch",
    "make_train_function", "make_test_function", "make_predict_function",
}  # fmt: skip


class RunEagerly(Rule):
    """Compilation switched off for debugging, and left off.

    ## What it does

    Reports `compile(run_eagerly=True)`, `tf.config.run_functions_eagerly(True)` and
    `tf.data.experimental.enable_debug_mode()` in a program that is certain to run them and never undoes them.

    ## Why is this bad?

    The first two switches make `tf.function` and Keras start every op of every step from Python, with nothing fused; the last
    makes pipelines of `tf.data`, on which the others do not act, run nothing ahead or in parallel. They are meant for a
    debugger's breakpoints. What was measured is Keras's `run_eagerly` where a model of Dense layers is trained; to evaluate it
    starts fewer ops, and a recurrent layer many for each part of a sequence.

    ## Example

    ```python
    model.compile(optimizer="adam", loss="mse", run_eagerly=True)
    model.fit(dataset)
    ```

    Use instead:

    ```python
    model.compile(optimizer="adam", loss="mse")
    model.fit(dataset)
    ```

    ## What is left alone

    `run_functions_eagerly` in a program that has no `tf.function` and runs no loop of Keras, `False` and values from elsewhere, switches under any condition, in a function for debugging or in a test,
    a file that switches back, and `run_eagerly` of a model that a program only calls, `model(x)`, in its loops. Where
    code in the file, or in what it imports, would then be compiled but cannot be, since it calls `.numpy()` or keeps a metric's tensors in a list, for instance, the finding says that this has to be changed first. So it does
    where `fit` gets a dataset of `tf.py_function` without `set_shape`, for which Keras compiles no step.

    ## Sources

    - TensorFlow documentation,
      [`tf.config.run_functions_eagerly`](https://www.tensorflow.org/api_docs/python/tf/config/run_functions_eagerly)
    - TensorFlow documentation,
      [`tf.data.experimental.enable_debug_mode`](https://www.tensorflow.org/api_docs/python/tf/data/experimental/enable_debug_mode)
    """

    code = "TFP104"
    name = "run-eagerly"
    triggers = ("run_eagerly", "run_functions_eagerly", "enable_debug_mode")
    fixes = "unsafe"
    claim = Claim(
        "step time",
        least=2.0,
        at="in training; each further layer adds to what is lost, and larger layers make it a smaller share",
    )

    def check(self, model: Model) -> Iterator[Report]:
        for call in model.calls_named("compile"):
            if model.left_on.is_on(call, None, "run_eagerly") and not _is_only_called(model, call):
                arg = next(arg for arg in call.args if arg.keyword and arg.keyword.value == "run_eagerly")
                yield Report(
                    arg,
                    f"`run_eagerly=True` makes Keras start every op of each step from Python; {_remedy(model, call)}",
                    partial(_remove, call=call, arg=arg),
                    # The experiment trains, by layers that are not recurrent.
                    as_measured=_trains_behind(model, call) and not model.programs.is_recurrent(),
                )
        for call in model.left_on.eager_switches() if _has_compiled(model) else ():
            yield Report(
                call,
                f"`run_functions_eagerly(True)` runs every `tf.function` as plain Python; {_remedy(model, call)}",
                partial(_remove, call=call),
                as_measured=False,
            )
        for call in model.calls_that("runs-pipelines-eagerly"):
            if model.left_on.always_runs(call):
                yield Report(
                    call,
                    "`enable_debug_mode()` makes every pipeline run in Python, with nothing in parallel; "
                    + _remedy(model, call),
                    partial(_remove, call=call),
                    as_measured=False,  # the experiment has a model run eagerly
                )


def _has_compiled(model: Model) -> bool:
    """Whether the program, or one that imports the file, may have anything that `run_functions_eagerly` acts on: a
    `tf.function`, or a method of Keras that runs one. `Dataset.map` compiles what it is given all the same."""
    return not model.programs.is_one() or model.programs.names(*last_names("compiles"), *_RUNNING)


def _trains_behind(model: Model, compiles: cst.Call) -> bool:
    """Whether a model may be trained behind the call that compiles it, rather than only evaluated or asked."""
    calls = model.walk.calls.keys()
    if calls.isdisjoint(METHODS):
        return calls.isdisjoint(_APPLYING | last_names("restores"))
    here, loop = model.function_at(compiles), model.loops.innermost_loop(compiles)
    order = model.infer.place(compiles).order
    return loop is not None or any(
        model.function_at(call) is not here or model.infer.place(call).order > order
        for call in model.calls_named(*METHODS)
    )


def _is_only_called(model: Model, call: cst.Call) -> bool:
    """Whether all that a program does with the model that `call` compiles is to call it: `model(x)` heeds no `run_eagerly`.

    It does so in a loop of its own, as no module does that makes a model for other files.
    """
    receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
    home = model.names.home(receiver) if isinstance(receiver, cst.Name) else None
    if not isinstance(receiver, cst.Name) or home is not model.walk.top or model.value(receiver).klass:
        return False
    is_called = False
    for use in model.names.mentions(receiver.value, home):
        match model.parent(use):
            case cst.Call(func=func) as made if func is use:
                in_loop = model.loops.innermost_loop(made) is not None
                is_called = is_called or (in_loop and model.function_at(made) is None)
            case cst.Attribute(value=base, attr=cst.Name(name)) if base is use and name not in _RUNNING:
                pass
            case cst.AssignTarget():
                pass
            case _:
                return False
    return is_called


def _remedy(model: Model, call: cst.Call) -> str:
    hindered = _first_hindered(model, call)
    return "remove it" if hindered is None else f"remove it once {hindered[0]}"


def _first_hindered(model: Model, call: cst.Call) -> tuple[str, Refusal] | None:
    """What has to be changed before the switch can go, and why: the first function that TensorFlow would compile and
    cannot, or a dataset of which a compiled step would know too little."""
    for function in _compiled_then(model, call):
        obstacle = model.tracing.obstacle_in_function(function)
        if obstacle is not None:
            return _hindered(function.name, obstacle.reason, obstacle.node)
    return next(_hindered_elsewhere(model, call), None) or _fed_without_shapes(model, call)


def _hindered(name: str, reason: str, node: cst.CSTNode | None = None) -> tuple[str, Refusal]:
    return f"`{name}` can be compiled", Refusal(f"`{name}` would be compiled, but {reason}", node)


def _fed_without_shapes(model: Model, call: cst.Call) -> tuple[str, Refusal] | None:
    """The dataset that the model which `call` compiles is given, where Keras could not tell how many axes its elements
    have: eager code sees that of each tensor."""
    if not isinstance(call.func, cst.Attribute) or callee_name(call) != "compile":
        return None
    for run in model.calls_named(*_RUNNING):
        data = argument(run, 0, "x")
        if data is None or not _is_of_same(model, run.func, call.func):
            continue
        python = model.open_shapes.left_by(model.value(data))
        if python:
            shown = model.module.code_for_node(data)
            return (
                f"what `{python}` gives for `{shown}` has a shape, by `set_shape`",
                Refusal(f"the step would be compiled, and no shape is known of what `{python}` gives", data),
            )
    return None


def _is_of_same(model: Model, one: cst.BaseExpression, other: cst.Attribute) -> bool:
    """Whether two methods are looked up in what goes by one name: `model.fit`, `model.compile`."""
    if not isinstance(one, cst.Attribute) or not same_code(one.value, other.value):
        return False
    if not isinstance(one.value, cst.Name) or not isinstance(other.value, cst.Name):
        return dotted_name(one.value) != ""
    return model.names.home(one.value) is model.names.home(other.value)


def _hindered_elsewhere(model: Model, call: cst.Call) -> Iterator[tuple[str, Refusal]]:
    """The like in other files: of all that this one imports, or of the model, losses and metrics that Keras is given."""
    outside, name = model.infer.outside, model.qualified(call.func)
    if has(name, "runs-eagerly"):
        found = outside.hindered_import()
        if found is not None:
            yield _hindered(*found)
    elif not has(name, "runs-pipelines-eagerly"):
        for node in descendants(call):
            paths = model.value(node).paths if isinstance(node, cst.Name | cst.Attribute | cst.Call) else ()
            for path in paths:
                yield from _hindered_by_keras(outside, path)


def _hindered_by_keras(outside: Outside, path: str) -> Iterator[tuple[str, Refusal]]:
    """What Keras would compile and cannot, of a function or an object of another file."""
    if path.endswith("()"):
        # Whoever removes the switch means to train.
        names = sorted(methods("model", "compiled"), key=lambda name: ("train" not in name, name))
        names += [name for kind in ("metric", "loss") for name in sorted(methods(kind, "compiled"))]
        reasons = {name: outside.hindrance_of_compiled(f"{path}.{name}") for name in names}
    else:
        own, found = path.rpartition("::")[2].rpartition(">")[2], outside.hindrance(path)
        reasons = {own.rpartition(".")[2]: found.reason if found is not None else ""}
    yield from (_hindered(name, reason) for name, reason in reasons.items() if reason)


def _remove(edit: Editor, call: cst.Call, arg: cst.Arg | None = None) -> Repair | Refusal:
    model = edit.model
    hindered = _first_hindered(model, call)
    if hindered is not None:
        return hindered[1]
    if arg is not None:
        return Repair(
            "Let Keras compile the step", [edit.remove_argument(call, arg)], safe=False, may_change=TRACED
        )
    statement = model.statement_of(call)
    if not isinstance(statement, cst.Expr) or statement.value is not call:
        return Refusal("its result is used", statement)
    return Repair("Remove the switch", [edit.remove_statement(statement)], safe=False, may_change=TRACED)


def _compiled_then(model: Model, call: cst.Call) -> Iterator[Function]:
    """The functions of the file that TensorFlow compiles once the switch is gone."""
    traced = [
        function for function in model.walk.functions.values() if model.compiled.would_be_traced(function)
    ]
    name = model.qualified(call.func)
    if has(name, "runs-eagerly"):
        # What a dataset is given is compiled already.
        yield from (f for f in traced if f.decorators or f.owner or not model.compiled.is_for_dataset(f))
    elif has(name, "runs-pipelines-eagerly"):
        yield from (function for function in traced if not function.decorators and function.owner is None)
    else:
        yield from (function for function in traced if function.owner is not None)
        yield from _handed_over(model, call)


def _handed_over(model: Model, call: cst.Call) -> Iterator[Function]:
    """The functions of the file that a call is given: losses and metrics."""
    for node in descendants(call):
        if isinstance(node, cst.Name | cst.Attribute | cst.Lambda):
            value = model.value(node)
            if value.kind == "function" and value.function is not None:
                yield value.function
