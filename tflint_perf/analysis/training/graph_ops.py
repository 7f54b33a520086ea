"""What adds to TensorFlow 1's graph when it is called, by qualified name and by kind of value."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has, library, methods
from tflint_perf.analysis.python.syntax import callee_name
from tflint_perf.analysis.values.infer import Inference


def adds_to_graph(infer: Inference, call: cst.Call) -> bool:
    """Whether `call`, made in graph mode, is known to add ops or variables to the graph."""
    name = infer.names.qualified(call.func)
    if name:
        return _adds_by_name(name)
    if not isinstance(call.func, cst.Attribute):
        return infer.value(call.func).kind == "layer"
    method, base = call.func.attr.value, infer.value(call.func.value)
    match base.kind:
        case "optimizer":
            return method in methods("Optimizer", "adds-op") and base.klass is None
        case "variable":
            return method in methods("Variable", "assigns")
        case "unknown":
            # Nothing else that a session's program calls so takes one value.
            return (
                method in methods("Variable", "assigns-whole")
                and len(call.args) == 1
                and call.args[0].keyword is None
                and not call.args[0].star
            )
        case "dataset":
            return method in methods("Dataset", "stage") or method in methods(
                "Dataset Iterator", "starts-iterator"
            )
        case "iterator":
            return method == "get_next"
    return False


def _adds_by_name(name: str) -> bool:
    if has(name, "of-collections", "adds-op"):
        return True
    if library(name) != "tensorflow" or has(name, "adds-none"):
        return False
    return has(name, "source") or fact(name, "gives") in ("tensor", "tensors", "dataset")


def makes_state(infer: Inference, call: cst.Call) -> bool:
    """Whether `call` makes variables, or something else that remembers from one run to the next."""
    name = infer.names.qualified(call.func)
    return has(name, "holds-state") or infer.value(call.func).kind == "layer"


def assigned(infer: Inference, call: cst.Call) -> cst.BaseExpression | None:
    """The variable that `call` assigns to: `tf.assign(v, x)` or `v.assign(x)`."""
    if callee_name(call) not in methods("Variable", "assigns"):
        return None
    if infer.names.qualified(call.func):
        return call.args[0].value if call.args else None
    return call.func.value if isinstance(call.func, cst.Attribute) else None


def adds_to_collections(infer: Inference, call: cst.Call) -> bool:
    """Whether `call` adds to the graph's collections, where others find it: variables, summaries, losses."""
    name = infer.names.qualified(call.func)
    if has(name, "of-collections"):
        return False
    return makes_state(infer, call) or trains(infer, call) or has(name, "collected")


def makes_iterator(call: cst.Call) -> bool:
    """Whether `call` makes an iterator that begins where the dataset begins."""
    return callee_name(call) in methods("Dataset Iterator", "starts-iterator")


def trains(infer: Inference, call: cst.Call) -> bool:
    """Whether `call` asks an optimizer for its ops, which may bring variables of its own."""
    return isinstance(call.func, cst.Attribute) and infer.value(call.func.value).kind == "optimizer"
