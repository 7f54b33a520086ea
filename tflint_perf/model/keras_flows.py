"""Keras's own generators of images, which make batches on the host."""

from __future__ import annotations

import libcst as cst

from tflint_perf.model.infer import Inference
from tflint_perf.model.syntax import callee_name

# The methods of an `ImageDataGenerator` that give batches.
FLOWS = frozenset({"flow", "flow_from_directory", "flow_from_dataframe"})
_GENERATORS = (
    "keras.preprocessing.image.ImageDataGenerator",
    "keras.legacy.preprocessing.image.ImageDataGenerator",
)
_DEEPEST = 4


def is_flow(infer: Inference, call: cst.Call) -> bool:
    """Whether a call gives what an `ImageDataGenerator` of Keras makes."""
    return (
        callee_name(call) in FLOWS
        and isinstance(call.func, cst.Attribute)
        and _is_generator(infer, call.func.value, 0)
    )


def _is_generator(infer: Inference, node: cst.BaseExpression, depth: int) -> bool:
    match node:
        case cst.Call() if infer.names.qualified(node.func) in _GENERATORS:
            return True
        case cst.Call():
            function = infer.value(node.func).function
            returned = function.returns if function is not None and depth < _DEEPEST else ()
            return any(r.value is not None and _is_generator(infer, r.value, depth + 1) for r in returned)
        case cst.Name() if depth < _DEEPEST:
            found = infer.bindings_reaching(node)
            bindings = found[1] if found is not None else []
        case cst.Attribute() if depth < _DEEPEST:
            bindings = infer.classes.bindings_of(node)
        case _:
            return False
    return any(
        binding.value is not None and binding.path == () and _is_generator(infer, binding.value, depth + 1)
        for binding in bindings
    )
