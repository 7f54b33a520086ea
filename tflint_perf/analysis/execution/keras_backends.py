"""Keras on another backend than TensorFlow: whether a file lets it run there, and which branches are for others alone."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.python.syntax import string
from tflint_perf.analysis.python.walk import Walk
from tflint_perf.analysis.values.frameworks import packages
from tflint_perf.analysis.values.infer import Inference

_TENSORFLOW = "tensorflow"
_OTHERS = frozenset({"jax", "torch"})


def imports_another_backend(walk: Walk) -> bool:
    """Whether the file imports Keras and what else it may run on, and not TensorFlow."""
    imported = set(packages(walk))
    return "keras" in imported and _TENSORFLOW not in imported and not imported.isdisjoint(_OTHERS)


def is_for_another_backend(infer: Inference, node: cst.CSTNode) -> bool:
    """Whether `node` stands in a branch that is not taken on TensorFlow, behind `if keras.backend.backend() == "jax":`, or under what
    only another framework knows: `with torch.no_grad():`."""
    parents = infer.walk.parents
    child, current = node, parents.get(node)
    while current is not None:
        if isinstance(current, cst.If | cst.IfExp) and child is not current.test:
            holds = _holds_on_tensorflow(infer, current.test)
            if holds is not None and holds != (child is current.body):
                return True
        if isinstance(current, cst.With) and any(_is_of_another(infer, item.item) for item in current.items):
            return True
        child, current = current, parents.get(current)
    return False


def _is_of_another(infer: Inference, manager: cst.BaseExpression) -> bool:
    """Whether a context manager is one of another framework."""
    name = infer.names.dotted(manager.func) if isinstance(manager, cst.Call) else None
    return name is not None and name.split(".")[0] in _OTHERS


def _holds_on_tensorflow(infer: Inference, test: cst.BaseExpression) -> bool | None:
    """Whether a comparison of the backend's name is true of TensorFlow's; None where it compares something else."""
    match test:
        case cst.UnaryOperation(operator=cst.Not()):
            holds = _holds_on_tensorflow(infer, test.expression)
            return not holds if holds is not None else None
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=operator, comparator=other)]):
            names = _names(other)
            if names is None or not _is_backend(infer, test.left):
                return None
            if isinstance(operator, cst.Equal | cst.In):
                return _TENSORFLOW in names
            return _TENSORFLOW not in names if isinstance(operator, cst.NotEqual | cst.NotIn) else None
    return None


def _names(node: cst.BaseExpression) -> list[str] | None:
    """The strings that an expression is, or holds; None where anything else is among them."""
    parts = (
        [element.value for element in node.elements]
        if isinstance(node, cst.Tuple | cst.List | cst.Set)
        else [node]
    )
    texts = [string(part) for part in parts]
    return [text for text in texts if text is not None] if None not in texts else None


def _is_backend(infer: Inference, node: cst.BaseExpression) -> bool:
    """Whether `node` is the name of Keras's backend, or a name for that."""
    if isinstance(node, cst.Name):
        bindings = infer.bindings(node)
        if len(bindings) != 1 or bindings[0].value is None or bindings[0].path != ():
            return False
        node = bindings[0].value
    return infer.names.is_call_that(node, "tells-backend")
