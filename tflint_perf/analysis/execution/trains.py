"""Which calls train: an optimizer's, that change variables, and Keras's, that train a model on a batch or on a whole dataset.

    trains_by(infer, call)  # "update" for `optimizer.apply_gradients(…)`, "batch", "fit", or None

A call goes by its method's name, unless it is known to be one of something else. `TrainCalls.trains` in `training` asks this, and
says besides what runs in a session or in a function of another file.
"""

from __future__ import annotations

from typing import Literal

import libcst as cst

from tflint_perf.analysis.python.syntax import callee_name
from tflint_perf.analysis.values.infer import Inference

# "update": an optimizer changes variables; "batch": a model is trained on one batch; "fit": on all there are.
By = Literal["update", "batch", "fit"]

METHODS: dict[str, By] = {
    "apply_gradients": "update",
    "minimize": "update",
    "train_on_batch": "batch",
    "fit": "fit",
    "fit_generator": "fit",
}
# Keras's own loops over what makes batches.
FITS = tuple(name for name, by in METHODS.items() if by == "fit")
# What is none of these trains nothing by methods of these names.
_MAY_TRAIN = frozenset(
    {"unknown", "never", "none", "model", "layer", "optimizer", "instance", "class", "object", "strategy"}
)


def trains_by(infer: Inference, call: cst.Call) -> By | None:
    """How `call` itself trains; None where it does not, or runs a function that may."""
    by = METHODS.get(callee_name(call))
    if by is None or not isinstance(call.func, cst.Attribute) or infer.names.dotted(call.func):
        return None
    return by if infer.value(call.func.value).kind in _MAY_TRAIN else None
