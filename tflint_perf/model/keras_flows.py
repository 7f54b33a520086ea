"""Keras's own generators of images, which make batches on the host."""

from __future__ import annotations

import libcst as cst

from tflint_perf.model.infer import Inference
from tflint_perf.model.syntax import callee_name

_FLOWS = frozenset({"flow", "flow_from_directory", "flow_from_dataframe"})
_GENERATORS = (
    "keras.preprocessing.image.ImageDataGenerator",
    "keras.legacy.preprocessing.image.ImageDataGenerator",
)
_DEEPEST = 4


def is_flow(infer: Inference, node: cst.BaseExpression, depth: int = 0) -> bool:
    """Whether a value is what an `ImageDataGenerator` of Keras gives."""
    if isinstance(node, cst.Name) and depth < _DEEPEST:
        found = infer.bindings_reaching(node)
        values = [binding.value for binding in found[1]] if found is not None else []
        return bool(values) and all(
            value is not None and is_flow(infer, value, depth + 1) for value in values
        )
    if (
        not isinstance(node, cst.Call)
        or callee_name(node) not in _FLOWS
        or not isinstance(node.func, cst.Attribute)
    ):
        return False
    return _is_generator(infer, node.func.value, 0)


def _is_generator(infer: Inference, node: cst.BaseExpression, depth: int) -> bool:
    if isinstance(node, cst.Call):
        return infer.names.qualified(node.func) in _GENERATORS
    found = infer.bindings_reaching(node) if isinstance(node, cst.Name) and depth < _DEEPEST else None
    return found is not None and any(
        binding.value is not None and _is_generator(infer, binding.value, depth + 1) for binding in found[1]
    )
