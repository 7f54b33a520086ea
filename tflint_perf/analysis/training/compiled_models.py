"""Models whose own `call` is a `tf.function`: calling them in eager code runs a graph."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.syntax import last_name
from tflint_perf.analysis.values.methods import objects_of_several
from tflint_perf.analysis.values.values import Value

if TYPE_CHECKING:
    from tflint_perf.analysis.model import Model

# Parameters are followed through no more calls than this.
_DEEPEST = 3


class CompiledModels:
    """Answers which models are compiled themselves."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._walk = model.walk

    def has(self, called: cst.BaseExpression, value: Value) -> bool:
        """Whether the class has a `call` that is a `tf.function`, or the object was given one: `net.call = tf.function(…)`,
        or the model is a parameter for which somebody gives such a one."""
        values = (value, *objects_of_several(self._model.infer, called))
        return (
            any(map(self._is_compiled, values))
            or (self._is_of_any_class(value) and self._are_all_here)
            or last_name(called) in self._given_call
            or self._is_given(called, 0)
        )

    @staticmethod
    def _is_of_any_class(value: Value) -> bool:
        """Whether nothing is known of a model but that it is one, by its name or what is asked of it."""
        return value.klass is None and not value.outside and not value.name

    @cached_property
    def _are_all_here(self) -> bool:
        """Whether all models that the file defines are compiled: one of unknown class is one of them, as far as it shows."""
        classes = self._model.infer.classes
        calls = [
            klass.methods["call"]
            for klass in self._walk.classes.values()
            if "call" in klass.methods and classes.keras_kind(klass) == "model"
        ]
        return bool(calls) and all(self._model.infer.function_value(c).kind == "compiled" for c in calls)

    def _is_compiled(self, value: Value) -> bool:
        infer = self._model.infer
        own = infer.classes.member(value, "call") if value.klass is not None else None
        if own is None and value.outside:
            own = infer.outside.member(value.outside, "call")
        return own is not None and own.kind == "compiled"

    @remembered
    def _is_given(self, called: cst.BaseExpression, depth: int) -> bool:
        """Whether a name is a parameter, and callers, here or in other files, give a model as that which is compiled."""
        model = self._model
        found = model.infer.bindings_reaching(called) if isinstance(called, cst.Name) else None
        function = found[0].function if found is not None else None
        if found is None or function is None or depth > _DEEPEST:
            return False
        names = [binding.name for binding in found[1] if binding.kind == "param"]
        here = (given for name in names for given in model.calls.arguments(function, name))
        there = (given.path for name in names for given in model.calls.given_outside(function, name))
        return any(
            self._is_compiled(model.value(given)) or self._is_given(given, depth + 1) for given in here
        ) or any(path and model.infer.outside.member(path, "call").kind == "compiled" for path in there)

    @cached_property
    def _given_call(self) -> frozenset[str]:
        """The names of objects whose `call` is made a `tf.function`."""
        return frozenset(
            last_name(arg.value.value)
            for given in self._walk.attribute_writes.get("call", ())
            if isinstance(given, cst.Call) and self._model.infer.compiles(given.func)
            for arg in given.args
            if isinstance(arg.value, cst.Attribute)
        )
