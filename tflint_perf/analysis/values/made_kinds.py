"""What kind of object a call makes that holds what a model learns or measures, and whether it holds anything."""

from __future__ import annotations

from typing import Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has
from tflint_perf.analysis.python.reach import remembered_in_circles
from tflint_perf.analysis.python.scopes import Class, Function
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    is_constant,
    is_super,
    keyword_argument,
    last_name,
)
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import builtin_or_qualified

Kind = Literal["variable", "layer", "optimizer", "metric", "loss"]

_KINDS = frozenset({"variable", "layer", "optimizer", "metric", "loss"})
_SPECS = frozenset({"Input", "InputLayer", "InputSpec", "Layer", "Wrapper"})
_STATELESS_LAYERS = frozenset(
    {"Flatten", "Reshape", "Permute", "RepeatVector", "Activation", "ReLU", "LeakyReLU", "ELU", "Softmax", "Concatenate",
     "Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Dot", "Rescaling", "Resizing", "CenterCrop", "Masking",
     "Identity", "UnitNormalization"}
)  # fmt: skip
_STATELESS_STARTS = ("MaxPool", "AveragePool", "AvgPool", "GlobalMaxPool", "GlobalAveragePool", "GlobalAvgPool", "UpSampling",
                     "ZeroPadding", "Cropping")  # fmt: skip
# Layers without weights that draw random numbers, or do what they are told.
_WITHOUT_WEIGHTS = ("Dropout", "Noise", "Random", "Lambda", "ActivityRegularization", "TimeDistributed")
# How a layer makes a weight of its own.
_ADDING = frozenset({"add_weight", "add_variable", "add_metric"})
# Arguments of an SGD without momentum: nothing in it changes with its steps.
_OF_PLAIN_SGD = frozenset({"learning_rate", "lr", "name", "clipnorm", "clipvalue", "global_clipnorm"})


class MadeKinds:
    """Answers what a call makes."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer

    def kind(self, call: cst.Call) -> Kind | None:
        """The kind of object that `call` makes; None for what is no optimizer, layer or the like."""
        made = self._infer.value(call.func)
        name = builtin_or_qualified(self._infer, call.func)
        if made.kind == "class":
            kind: str = self._infer.value(call).kind
        elif name:
            last = name.rpartition(".")[2]
            if last in _SPECS or not last[:1].isupper():
                return None
            kind = fact(name, "gives")
        else:
            return None
        return kind if kind in _KINDS else None  # type: ignore[return-value]

    def is_stateless(self, call: cst.Call, kind: Kind) -> bool:
        """Whether the object that `call` makes gives the same result however often it was used before."""
        name = builtin_or_qualified(self._infer, call.func)
        last = name.rpartition(".")[2]
        if not name:
            return False
        match kind:
            case "loss":
                return True
            case "layer":
                return last in _STATELESS_LAYERS or last.startswith(_STATELESS_STARTS)
            case "optimizer":
                return last in ("SGD", "GradientDescentOptimizer") and self._is_plain(call)
        return False

    def makes_no_variable(self, call: cst.Call) -> bool:
        """Whether the layer that `call` makes may be made while a function is traced: it makes neither weights nor a
        state of random numbers."""
        return self.is_stateless(call, "layer") or last_name(call.func) == "Lambda"

    def has_weights(self, call: cst.Call) -> bool:
        """Whether the layer that `call` makes has weights to learn, as far as is known; older versions of Keras drop
        units, too, without a variable."""
        name = last_name(call.func)
        made = self._infer.value(call.func)
        if made.kind == "class" and made.klass is None:
            return False  # another file has it
        if made.kind == "class" and made.klass is not None:
            return not self._learns_nothing(made.klass)
        if call.args and has(builtin_or_qualified(self._infer, call.func), "wraps-layer"):
            parts = (part for part in descendants(call.args[0]) if isinstance(part, cst.Call))
            return any(self.kind(part) == "layer" and self.has_weights(part) for part in parts)
        return not self.is_stateless(call, "layer") and not any(word in name for word in _WITHOUT_WEIGHTS)

    # One that makes others like it, `cls(**config)`, says nothing by that.
    @remembered_in_circles(True)
    def _learns_nothing(self, klass: Class) -> bool:
        """Whether a layer of the class `klass`, of this file, has no weights: nothing that it does makes any, and its
        constructor calls nothing else that might."""
        if self._infer.classes.has_foreign_base(klass):
            return False
        methods = [method for each in self._infer.classes.lineage(klass) for method in each.methods.values()]
        return not any(
            method.name == "build" or any(self._may_make_weights(call, method) for call in method.calls)
            for method in methods
        )

    def _may_make_weights(self, call: cst.Call, method: Function) -> bool:
        kind, made = self.kind(call), self._infer.value(call)
        if kind == "layer":
            return method.name == "__init__" or self.has_weights(call)
        if kind in ("variable", "metric") or made.kind == "model" or callee_name(call) in _ADDING:
            return True
        if method.name != "__init__" or builtin_or_qualified(self._infer, call.func):
            return False
        on_super = isinstance(call.func, cst.Attribute) and is_super(call.func.value)
        return not on_super and not made.known

    def _is_plain(self, call: cst.Call) -> bool:
        keywords = {arg.keyword.value for arg in call.args if arg.keyword is not None}
        rate = argument(call, 0, "learning_rate") or keyword_argument(call, "lr")
        if sum(arg.keyword is None for arg in call.args) > 1 or any(arg.star for arg in call.args):
            return False
        known = rate is None or is_constant(rate) or self._infer.value(rate).kind == "number"
        return known and keywords <= _OF_PLAIN_SGD
