"""Values on their way into compiled code: which would be traced anew each time, or mean something else there."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has, library
from tflint_perf.analysis.execution.sizes import is_of_environment
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.python.syntax import argument, callee_name, is_constant
from tflint_perf.analysis.rewriting.parameters import Parameters
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Value

_TENSORS = frozenset({"tensor", "array", "variable"})
_OBJECTS = frozenset({"object", "session", "instance", "generator", "strategy"})
# What tensors and arrays have; an unknown thing of which more is asked is an object.
_OF_TENSORS = frozenset(
    {"shape", "dtype", "ndim", "T", "numpy", "astype", "get_shape", "set_shape", "reshape", "size"}
)
_EXACT_TYPES = frozenset({"float32", "int32", "int64", "uint8", "bool"})
# Ops whose arguments must have one type. Losses and layers of Keras cast theirs.
_OF_ONE_TYPE = frozenset(
    {"subtract", "multiply", "add", "divide", "maximum", "minimum", "squared_difference", "matmul", "pow"}
)
# What casts what it is given to its own type.
_CASTING = frozenset({"model", "layer", "loss", "metric"})


class Passing(Part):
    """Answers what stands against giving a value to compiled code, if it changes from call to call."""

    _infer: Inference
    _calls: CallGraph

    def python_value(self, node: cst.BaseExpression) -> str:
        """ "a Python number" and the like, where each new value would be traced anew; "" for tensors and the unknown."""
        value = self._infer.value(node)
        match value.kind:
            case "number" | "string":
                return f"a Python {value.kind}"
            case "list" | "dict" | "tuple":
                return "" if self._holds_tensors(value) else f"a Python {value.kind}"
            case "unknown":
                return "a Python number" if self._is_told_by_environment(node, 0) else ""
        return "a Python object" if value.kind in _OBJECTS else ""

    def _holds_tensors(self, value: Value) -> bool:
        """Whether a container's parts may be tensors; a tuple of unknown make is no Python list."""
        if value.items is not None:
            return all(
                item.kind in _TENSORS or item.kind == "unknown" or self._holds_tensors(item)
                for item in value.items
            )
        if value.element is None:
            return value.kind == "tuple"
        return value.element.kind in _TENSORS or value.element.kind in ("model", "layer")

    @remembered
    def _is_told_by_environment(self, node: cst.BaseExpression, depth: int) -> bool:
        """Whether a value is, or is made of, the reward or the end that a step of an environment tells."""
        if depth > CALLS_DEEP:
            return False
        match node:
            case cst.Name():
                return any(self._is_told_to(b, depth) for b in self._infer.bindings(node))
            case cst.IfExp():
                parts = [node.body, node.orelse]
            case cst.BinaryOperation() | cst.BooleanOperation():
                parts = [node.left, node.right]
            case cst.UnaryOperation():
                parts = [node.expression]
            case _:
                return False
        return any(self._is_told_by_environment(part, depth + 1) for part in parts)

    def _is_told_to(self, binding: Binding, depth: int) -> bool:
        if binding.kind != "assign" or binding.value is None:
            return False
        if binding.path == ():
            return self._is_told_by_environment(binding.value, depth + 1)
        call = binding.value
        # The first part is the observation: an array.
        return (
            isinstance(call, cst.Call)
            and callee_name(call) == "step"
            and is_of_environment(call)
            and binding.path is not None
            and binding.path[0] > 0
        )

    def is_used_as_object(self, uses: Iterable[cst.Name]) -> bool:
        """Whether something of unknown kind is called, or asked for what tensors do not have."""
        for use in uses:
            parent = self._infer.walk.parents.get(use)
            if isinstance(parent, cst.Attribute) and parent.attr.value not in _OF_TENSORS:
                return True
            if isinstance(parent, cst.Call) and parent.func is use:
                return True
        return False

    def meets_tensors(self, uses: Iterable[cst.Name]) -> bool:
        """Whether a NumPy array, which compiled code gets as a tensor of its own type, is computed with.

        Eager ops convert an array to the type of the tensor that it meets: float64 to float32.
        """
        return any(self._is_free_array(use) and self._meets(use, 0) for use in uses)

    def converted(self, uses: Iterable[cst.Name]) -> cst.Call | None:
        """Where what may be an array is converted to a type: compiled code gets a tensor, whose type that refuses to change."""
        for use in uses:
            parent = self._infer.walk.parents.get(use)
            call = self._infer.walk.parents.get(parent) if isinstance(parent, cst.Arg) else None
            if not isinstance(call, cst.Call) or call.args[0] is not parent:
                continue
            name = self._infer.names.qualified(call.func)
            place = fact(name, "dtype-at")
            if has(name, "makes-tensor") and place and argument(call, int(place), "dtype") is not None:
                if self._infer.value(use).kind == "unknown" or self._is_free_array(use):
                    return call
        return None

    def _is_free_array(self, use: cst.Name) -> bool:
        value = self._infer.value(use)
        return value.kind == "array" and value.dtype not in _EXACT_TYPES

    def _meets(self, use: cst.Name, depth: int) -> bool:
        parent = self._infer.walk.parents.get(use)
        if isinstance(parent, cst.BinaryOperation):
            other = parent.right if parent.left is use else parent.left
            return self._infer.value(other).kind not in ("array", "number")
        call = self._infer.walk.parents.get(parent) if isinstance(parent, cst.Arg) else None
        if not isinstance(call, cst.Call) or not isinstance(parent, cst.Arg):
            return False
        if library(self._infer.names.qualified(call.func)) in ("tensorflow", "keras"):
            return callee_name(call) in _OF_ONE_TYPE
        if self._infer.value(call.func).kind in _CASTING:
            return False
        targets = self._calls.targets(call)
        if targets:
            return any(self._meets_in(target, call, parent, depth) for target in targets)
        # A function that is not in sight may compute with it and what else it is given.
        return any(arg is not parent and not is_constant(arg.value) for arg in call.args)

    def _meets_in(self, target: Function, call: cst.Call, given: cst.Arg, depth: int) -> bool:
        """Whether a function of this file computes with the parameter that an argument becomes."""
        name = (
            given.keyword.value
            if given.keyword is not None
            else Parameters.name_at(target, list(call.args).index(given))
        )
        if not name or depth > CALLS_DEEP:
            return True
        return any(self._meets(use, depth + 1) for use in self.uses(target, name))

    def uses(self, function: Function, name: str) -> list[cst.Name]:
        """Where a function reads a parameter."""
        targets = {parameter.name for parameter in function.parameters}
        return [node for node in self._infer.names.mentions_in(function, name) if node not in targets]
