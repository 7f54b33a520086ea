"""What a value of unknown origin must be, since the code uses it as only that can be used."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.model.syntax import keyword_argument
from tflint_perf.model.values import UNKNOWN, Value

if TYPE_CHECKING:
    from tflint_perf.model.infer import Inference
    from tflint_perf.model.scopes import Class, Scope

# A parameter of such a name is a model where tensors are given to it.
_MODEL_NAMES = re.compile(
    r"(\w+_)?(model|net|network|generator|discriminator|encoder|decoder|actor|critic|policy|classifier|backbone|student|"
    r"teacher)$",
    re.I,
)
_OF_MODELS = ("trainable_variables", "trainable_weights", "load_weights", "save_weights")
_MODEL = Value("model")


class ByUse:
    """Answers which names and attributes are models: those that are asked for trainable variables, or are called with
    `training`."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer
        self._walk = infer.walk
        self._names: dict[tuple[Scope, str], Value] = {}
        self._attributes: dict[tuple[Class, str], Value] = {}

    def name(self, name: str, home: Scope) -> Value:
        """What a name of a scope is."""
        known = self._names.get((home, name))
        if known is None:
            known = self._names[home, name] = _MODEL if self._is_model(name, home) else UNKNOWN
        return known

    def _is_model(self, name: str, home: Scope) -> bool:
        uses = [node.value for word in _OF_MODELS for node in self._walk.attributes.get(word, ())]
        calls = self._walk.calls.get(name, ())
        uses += [call.func for call in calls if keyword_argument(call, "training")]
        if home.function is not None and _MODEL_NAMES.match(name) and home.bindings[name][0].kind == "param":
            uses += [call.func for call in calls if self._takes_tensor(call)]
        return any(
            isinstance(use, cst.Name)
            and use.value == name
            and (found := self._infer.names.lookup(name, self._infer.names.scope_of(use))) is not None
            and found[0] is home
            for use in uses
        )

    def _takes_tensor(self, call: cst.Call) -> bool:
        """Whether what a call is given first comes from an op, as far as that shows without asking for values."""
        given = call.args[0].value if call.args else None
        if isinstance(given, cst.Name) and (found := self._infer.bindings_reaching(given)) is not None:
            return bool(found[1]) and all(b.kind == "assign" and self._is_op(b.value) for b in found[1])
        return self._is_op(given)

    def _is_op(self, node: cst.BaseExpression | None) -> bool:
        return isinstance(node, cst.Call) and self._infer.names.qualified(node.func).startswith(
            ("tf.", "np.")
        )

    def attribute(self, node: cst.Attribute) -> Value:
        """What `self.x` is, by all that its class does with it."""
        klass = self._infer.value(node.value).klass
        if klass is None or not isinstance(node.value, cst.Name):
            return UNKNOWN
        name = node.attr.value
        known = self._attributes.get((klass, name))
        if known is None:
            known = self._attributes[klass, name] = _MODEL if self._is_model_of(klass, name) else UNKNOWN
        return known

    def _is_model_of(self, klass: Class, name: str) -> bool:
        uses = [node.value for word in _OF_MODELS for node in self._walk.attributes.get(word, ())]
        uses += [call.func for call in self._walk.calls.get(name, ()) if keyword_argument(call, "training")]
        return any(
            isinstance(use, cst.Attribute)
            and use.attr.value == name
            and isinstance(use.value, cst.Name)
            and self._infer.value(use.value).klass is klass
            for use in uses
        )
