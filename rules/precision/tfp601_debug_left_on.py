"""TFP601 debug-left-on."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.syntax import argument, callee_name, is_name
from tflint_perf.edit import Editor
from tflint_perf.rule import Claim, Refusal, Repair, Report, Rule

# Each switch: what it does, and the calls by which a file takes it back.
# The experiment's.
_MEASURED = "tf.debugging.enable_check_numerics"
_PLACEMENTS = "set_log_device_placement"
_TRACE = "tf.summary.trace_on"
# What was measured to cost next to nothing in a compiled step.
_NIL_IN_GRAPHS = (_PLACEMENTS, _TRACE)
_SWITCHES = {
    _MEASURED: (
        "checks the result of every op for NaN and infinity",
        ("disable_check_numerics",),
    ),
    "tf.debugging.experimental.enable_dump_debug_info": (
        "writes what every op does to disk",
        ("disable_dump_debug_info",),
    ),
    _TRACE: (
        "records what every op does, for a trace that is never exported",
        ("trace_export", "trace_off"),
    ),
}


class DebugLeftOn(Rule):
    """A debugging aid of TensorFlow, left on in training.

    ## What it does

    Reports `tf.debugging.enable_check_numerics()`, `set_log_device_placement(True)`, `enable_dump_debug_info` and
    `tf.summary.trace_on` that a program is certain to run and never undoes, and `tf.debugging.check_numerics` in the
    training step.

    ## Why is this bad?

    The switches do extra work for every op: a check, a log line, a record. `check_numerics` reads its whole tensor,
    and the step waits for the answer. They are there to find a fault, and find none once it is gone.

    What matters is how many ops run one by one. In a step that is compiled as a whole, the log of placements is written
    once, and a trace without `profiler=True` only keeps the graph: both were measured to cost next to nothing there. One
    `check_numerics` in a compiled step was not measured.

    ## Example

    ```python
    tf.debugging.enable_check_numerics()

    for images, labels in dataset:
        train_step(images, labels)
    ```

    Use instead:

    ```python
    for images, labels in dataset:
        train_step(images, labels)
    ```

    ## What is left alone

    `False` and values from elsewhere, anything under a condition or in a function for debugging, a trace that is
    exported, files that do not train, `check_numerics` outside the training step, and steps of a library, whose base
    class is in another file.

    ## Sources

    - TensorFlow documentation,
      [`tf.debugging.enable_check_numerics`](https://www.tensorflow.org/api_docs/python/tf/debugging/enable_check_numerics)
    - TensorFlow guide, [Optimize TensorFlow performance using the
      Profiler](https://www.tensorflow.org/guide/profiler)
    """

    code = "TFP601"
    name = "debug-left-on"
    triggers = ("check_numerics", "set_log_device_placement", "enable_dump_debug_info", "trace_on")
    # Beside what shows devices or values on purpose, a file that trains says so.
    needs = ("train", "fit(", "GradientTape", "minimize(")
    fixes = "unsafe"
    claim = Claim("step time", least=1.5, at="for `enable_check_numerics` on three small Dense layers")

    def check(self, model: Model) -> Iterator[Report]:
        for name, (does, takes_back) in _SWITCHES.items():
            for call in model.calls_to(name):
                if model.left_on.always_runs(call) and not model.calls_named(*takes_back):
                    yield _report(model, call, f"`{callee_name(call)}` {does}", name)
        placements = model.calls_that("logs-placement")
        if all(model.left_on.is_on(call, 0, "enabled") for call in placements):
            for call in placements:
                yield _report(
                    model, call, "`set_log_device_placement(True)` logs a line for every op", _PLACEMENTS
                )
        for call in model.calls_that("checks-numerics"):
            if model.training_steps.hold(call) and not any(conditions(model.walk, call)):
                message = "`check_numerics` looks for NaN and infinity on each training step; remove it"
                yield Report(
                    call,
                    message,
                    partial(_unwrap, call=call),
                    as_measured=False,
                    minor=_is_of_one_number(model, call),
                )


def _is_of_one_number(model: Model, call: cst.Call) -> bool:
    """Whether a compiled step checks one number, the loss: that is one small op."""
    checked = argument(call, 0, "tensor")
    return checked is not None and model.is_compiled(call) and model.scalars.is_scalar(checked) is True


def _report(model: Model, call: cst.Call, does: str, switch: str) -> Report:
    nil = switch in _NIL_IN_GRAPHS and not _profiles(call) and _is_all_compiled(model)
    though = ", though it costs next to nothing in a compiled step" if nil else ""
    return Report(
        call,
        f"{does}; remove it{though}",
        partial(_remove, call=call),
        as_measured=switch == _MEASURED,
        minor=nil,
    )


def _profiles(call: cst.Call) -> bool:
    profiler = argument(call, 1, "profiler")
    return profiler is not None and not is_name(profiler, "False")


def _is_all_compiled(model: Model) -> bool:
    """Whether each gradient step of this file is compiled as a whole."""
    steps = model.steps.all()
    return bool(steps) and all(
        model.is_compiled(part) for step in steps for part in (step.tape, *step.applied)
    )


def _remove(edit: Editor, call: cst.Call) -> Repair | Refusal:
    statement = edit.model.statement_of(call)
    if not isinstance(statement, cst.Expr) or statement.value is not call:
        return Refusal("its result is used", statement)
    return Repair(
        "Remove it", [edit.remove_statement(statement)], safe=False, may_change="what is written or logged"
    )


def _unwrap(edit: Editor, call: cst.Call) -> Repair | Refusal:
    """Put the checked value in the place of the check."""
    model = edit.model
    checked = argument(call, 0, "tensor")
    if checked is None:
        return Refusal("what it checks can't be seen here", call)
    if "#" in edit.text(call):
        return Refusal("there is a comment in it", call)
    caught = model.walk.attributes.get("InvalidArgumentError") or model.walk.names.get("InvalidArgumentError")
    if caught:
        return Refusal("the error that it raises is caught", caught[0])
    statement = model.statement_of(call)
    match statement:
        case cst.Expr(value=value) if value is call:
            removed = True
        case cst.Assign(targets=[cst.AssignTarget(target=target)], value=value) if value is call:
            removed = target.deep_equals(checked)
        case _:
            removed = False
    if isinstance(model.parent(call), cst.Element) and not isinstance(statement, cst.Assign):
        return Refusal("the check is one of a list", call)
    text = edit.text(checked)
    if not isinstance(checked, cst.Name | cst.Attribute | cst.Call | cst.Subscript):
        text = f"({text})"
    return Repair(
        "Remove the check",
        [edit.remove_statement(statement) if removed else edit.replace(call, text)],
        safe=False,
        may_change="when, and whether, a NaN or infinity stops the program",
    )
