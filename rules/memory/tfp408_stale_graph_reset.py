"""TFP408 stale-graph-reset."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import libcst as cst

from tflint_perf.analysis.conventions import names_making
from tflint_perf.analysis.model import Model
from tflint_perf.analysis.python.syntax import callee_name, descendants
from tflint_perf.edit import Editor
from tflint_perf.rule import Claim, Repair, Report, Rule


class StaleGraphReset(Rule):
    """A reset of the default graph, which does nothing in TensorFlow 2, and `clear_session()` on each step.

    ## What it does

    Reports `reset_default_graph()` in code for TensorFlow 2, and Keras's `clear_session()` that runs per step.

    ## Why is this bad?

    The default graph of TensorFlow 1 holds nothing in eager mode: there is nothing to free. `clear_session()` resets
    it too, throws away the kernels that TensorFlow keeps for later ops, and collects the garbage of the whole
    program. It is meant for the time between two models. On each step, it makes the device wait. What
    was measured are recurrent layers, which have many kernels each.

    ## Example

    ```python
    for image in images:
        scores = model.predict_on_batch(image)
        tf.keras.backend.clear_session()
    ```

    Use instead:

    ```python
    for image in images:
        scores = model.predict_on_batch(image)
    ```

    ## What is left alone

    Graph code of TensorFlow 1, and files that may be for either version; `clear_session()` where models are built
    or loaded in the same loop, once an epoch, or under a guard. The fix is unsafe: functions of
    TensorFlow 1 keep collections and a step in that graph, even in version 2.

    ## Sources

    - TensorFlow API, [tf.compat.v1.reset_default_graph](https://www.tensorflow.org/api_docs/python/tf/compat/v1/reset_default_graph)
    - Keras API, [Config utilities: clear_session](https://keras.io/api/utils/config_utils/#clearsession-function)
    """

    code = "TFP408"
    name = "stale-graph-reset"
    triggers = ("reset_default_graph", "clear_session")
    fixes = "unsafe"
    claim = Claim("step time", least=2.0, at="for `clear_session` in each step of one model")

    def check(self, model: Model) -> Iterator[Report]:
        for call in model.calls_that("resets-graph"):
            # Without `compat.v1` in its name, there is none in version 2.
            if ".compat.v1." in (model.names.dotted(call.func) or "") and model.versions.is_version_2():
                yield Report(
                    call,
                    "`reset_default_graph()` does nothing in TensorFlow 2, where that graph is empty; remove it",
                    partial(
                        _remove,
                        call=call,
                        may_change="names and collections of TensorFlow 1, if the program uses any",
                    ),
                    as_measured=False,  # the experiment clears the session
                )
        for call in model.calls_that("clears-session"):
            if (
                _runs_per_step(model, call)
                and not _makes_models(model, call)
                and not model.versions.builds_graphs()
            ):
                yield Report(
                    call,
                    "`clear_session()` on each step throws away kernels that are needed again and collects all "
                    "garbage while the device waits; remove it",
                    partial(_remove, call=call, may_change="numbered names, and when memory is freed"),
                    as_measured=model.programs.is_recurrent(),  # layers of many kernels
                )


def _runs_per_step(model: Model, call: cst.Call) -> bool:
    return (
        model.is_per_step(call)
        and not model.is_compiled(call)
        and model.guard_of(call) is None
        and not model.once.runs_seldom(call)
    )


def _makes_models(model: Model, call: cst.Call) -> bool:
    """Whether the loop or function around `call` may make models, directly or through calls."""
    loop, function = model.loops.step_loop(call), model.function_at(call)
    waiting: list[cst.CSTNode] = [
        loop.node if loop is not None else function.node if function else model.module
    ]
    seen: set[cst.CSTNode] = set()
    while waiting:
        holder = waiting.pop()
        if holder in seen:
            continue
        seen.add(holder)
        for node in descendants(holder):
            if isinstance(node, cst.Call):
                if _may_make_model(model, node):
                    return True
                waiting += [target.node for target in model.calls.targets(node)]
    return False


def _may_make_model(model: Model, call: cst.Call) -> bool:
    kind = model.value(call).kind
    if kind == "unknown":
        name = callee_name(call)
        return not model.qualified(call.func) and bool(name[:1].isupper() or names_making(name))
    return kind in ("model", "layer")


def _remove(edit: Editor, call: cst.Call, may_change: str) -> Repair | None:
    edits = edit.remove_call(call)
    if edits is None:
        return None
    return Repair(f"Remove `{callee_name(call)}()`", edits, safe=False, may_change=may_change)
