"""TFP405 late-memory-growth."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.syntax import argument, calls_below, is_name
from tflint_perf.edit import Editor
from tflint_perf.rule import Refusal, Repair, Report, Rule

from .ahead import move_ahead
from .device_setup import DeviceSetup

_PLAIN = frozenset({"print", "len", "range", "enumerate", "str", "int", "RuntimeError", "ValueError"})


class LateMemoryGrowth(Rule):
    """Memory growth or virtual devices that are requested after TensorFlow has set up its devices.

    ## What it does

    Reports `set_memory_growth`, `set_logical_device_configuration` and `set_virtual_device_configuration` that run
    after an op, a variable, a dataset, a strategy or `list_logical_devices`.

    ## Why is this bad?

    The first op makes TensorFlow set up its devices and take their memory. What comes after raises
    `RuntimeError` where there is a GPU: the program ends there or, if the error is caught, continues with all memory taken.
    Without a GPU nothing is raised, and nobody notices.

    ## Example

    ```python
    weights = tf.constant([0.2, 0.8])

    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)
    ```

    Use instead:

    ```python
    for gpu in tf.config.list_physical_devices("GPU"):
        tf.config.experimental.set_memory_growth(gpu, True)

    weights = tf.constant([0.2, 0.8])
    ```

    ## What is left alone

    Settings that were also made before; ops that may not run, that build a graph, or that are in another file;
    TensorFlow 1 graph code.

    ## Sources

    - TensorFlow guide, [Use a GPU: Limiting GPU memory
      growth](https://www.tensorflow.org/guide/gpu#limiting_gpu_memory_growth)
    """

    code = "TFP405"
    name = "late-memory-growth"
    triggers = ("set_memory_growth", "set_logical_device_configuration", "set_virtual_device_configuration")
    fixes = "unsafe"
    claim = None

    def check(self, model: Model) -> Iterator[Report]:
        setters = [
            call
            for call in model.calls_that("sets-memory")
            if not is_name(argument(call, 1, "enable"), "False")
        ]
        if not setters or model.programs.is_graph_code():
            return
        for call in setters:
            early = model.own(DeviceSetup).before(call)
            if early is None or _was_set_before(model, setters, early):
                continue
            shown = model.module.code_for_node(early.func)
            yield Report(
                call,
                f"`{shown}` has already run, and TensorFlow has set up its devices: this raises `RuntimeError` where "
                "there is a GPU; do it before the first op",
                partial(_move, late=call, early=early),
            )


def _was_set_before(model: Model, setters: list[cst.Call], early: cst.Call) -> bool:
    """Whether the same may be set before `early` already, so that setting it again does nothing."""
    return any(_runs_before(model, setter, early, 0) for setter in setters)


def _runs_before(model: Model, call: cst.Call, early: cst.Call, depth: int) -> bool:
    function = model.function_at(call)
    if (
        function is model.function_at(early)
        and model.infer.place(call).order < model.infer.place(early).order
    ):
        return True
    sites = model.calls.sites(function) if function is not None and depth < CALLS_DEEP else []
    return any(_runs_before(model, site, early, depth + 1) for site in sites)


def _move(edit: Editor, late: cst.Call, early: cst.Call) -> Repair | Refusal:
    if edit.model.function_at(late) is not edit.model.function_at(early):
        return Refusal("they are in different functions", early)
    edits = move_ahead(edit, late, early, partial(_does_more, edit.model))
    if isinstance(edits, Refusal):
        return edits
    return Repair(
        "Configure the devices before the first op",
        edits,
        safe=False,
        may_change="what runs before the devices are set up",
    )


def _does_more(model: Model, statement: cst.CSTNode) -> Refusal | None:
    """Why a statement is not about the configuration of devices alone."""
    for call in calls_below(statement):
        name = model.qualified(call.func)
        if has(name, "configures") or (isinstance(call.func, cst.Name) and call.func.value in _PLAIN):
            continue
        return Refusal("its statement does other things, too", call)
    return None
