"""Whether a value may be changed in place, as an array can be."""

from __future__ import annotations

import libcst as cst

from tflint_perf.model.infer import Inference
from tflint_perf.model.scopes import Loop
from tflint_perf.model.syntax import callee_name, descendants

_READING_METHODS = frozenset(
    {"astype", "copy", "reshape", "mean", "sum", "max", "min", "std", "var", "argmax", "argmin", "tolist", "item",
     "flatten", "transpose", "dot", "any", "all", "round", "clip", "items", "keys", "values", "get", "groupby", "iterrows",
     "to_numpy", "convert", "resize_images"}
)  # fmt: skip
_READING_ATTRIBUTES = frozenset(
    {"shape", "size", "ndim", "dtype", "T", "values", "columns", "index", "files"}
)
_READING_BUILTINS = frozenset(
    {"len", "print", "sum", "max", "min", "sorted", "enumerate", "zip", "range", "str", "list"}
)


class InPlace:
    """Answers what may change a value between two iterations of a loop."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer
        self._walk = infer.walk

    def change(self, name: str, loop: Loop) -> cst.CSTNode | None:
        """Where an iteration of `loop` may change what `name` holds, or hands it to something that may."""
        for node in descendants(loop.node):
            if isinstance(node, cst.Name) and node.value == name and node in self._walk.parents:
                if not self._only_reads(node):
                    return node
        return None

    def _only_reads(self, node: cst.CSTNode) -> bool:
        parent = self._walk.parents.get(node)
        match parent:
            case cst.AssignTarget():
                return parent.target is node and isinstance(node, cst.Name)
            case cst.Subscript():
                return parent.value is not node or self._is_copied(parent)
            case cst.Index() | cst.SubscriptElement() | cst.BinaryOperation() | cst.UnaryOperation():
                return True
            case cst.Comparison() | cst.ComparisonTarget() | cst.FormattedStringExpression() | cst.CompFor():
                return True
            case cst.For():
                return parent.iter is node
            case cst.Attribute():
                return self._is_reading_attribute(parent)
            case cst.Arg():
                return self._is_reading_call(parent)
        return False

    def _is_copied(self, part: cst.Subscript) -> bool:
        """Whether a part of the value is read at once, rather than written to or given a name."""
        parent = self._walk.parents.get(part)
        return isinstance(parent, cst.Arg | cst.BinaryOperation) and self._only_reads(part)

    def _is_reading_attribute(self, node: cst.Attribute) -> bool:
        parent = self._walk.parents.get(node)
        if isinstance(parent, cst.Call) and parent.func is node:
            return node.attr.value in _READING_METHODS
        return node.attr.value in _READING_ATTRIBUTES and not isinstance(
            parent, cst.AssignTarget | cst.AugAssign
        )

    def _is_reading_call(self, arg: cst.Arg) -> bool:
        """Whether a call only reads an argument: functions of TensorFlow, most of NumPy's, models, compiled functions."""
        call = self._walk.parents[arg]
        if not isinstance(call, cst.Call):
            return False
        name = self._infer.names.qualified(call.func)
        if name:
            is_out = arg.keyword is not None and arg.keyword.value == "out"
            return name.startswith(("np.", "tf.", "keras.")) and ".random." not in name and not is_out
        if isinstance(call.func, cst.Name) and callee_name(call) in _READING_BUILTINS:
            return True
        return self._infer.value(call.func).kind in ("compiled", "model", "layer", "loss") or callee_name(
            call
        ) in (
            "train_on_batch",
            "test_on_batch",
            "predict_on_batch",
            "predict",
        )
