"""Conditions that Python decides where a trace would not ask again."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import (
    callee_name,
    descendants,
    descendants_here,
    is_constant,
    is_name,
    names_read,
)
from tflint_perf.analysis.rewriting.between_calls import BetweenCalls
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference

# What a trace knows of a tensor.
_STATIC = frozenset({"shape", "ndim", "rank", "dtype", "get_shape"})
# Functions that ask for that: Python's own and those of Keras's backend.
_ASKING_STATIC = frozenset({"len", "dtype", "ndim", "int_shape"})


class HostConditions:
    """Finds conditions on what callers pass or objects count."""

    def __init__(self, infer: Inference, calls: CallGraph, between_calls: BetweenCalls) -> None:
        self._infer = infer
        self._calls = calls
        self._between_calls = between_calls
        self._walk = infer.walk

    def reason(self, node: cst.If, function: Function | None) -> str:
        """A condition on what a caller passes or an object counts, when it is no tensor and no switch."""
        for part in descendants(node.test):
            if self._asks_rank(part):
                return "a condition on the rank decides what is traced"
            if isinstance(part, cst.BinaryOperation) and isinstance(part.operator, cst.Modulo):
                if self._infer.value(part).kind not in ("tensor", "variable"):
                    return "a Python counter is compared on the host"
            if isinstance(part, cst.Comparison) and self._compares_count(part):
                return "a condition on a counter of an object is decided on the host"
        for name in names_read(node.test):
            found = self._infer.names.lookup(name.value, self._infer.names.scope_of(name))
            if found is None or found[0].function is not function or self._is_static(name):
                continue
            if self._between_calls.switches_on_optimizer(node, function):
                return f"`{name.value}` enables an optimizer, which can create no variables in a later trace"
            if any(b.kind == "param" and b.value is None for b in found[1]) and not self._is_switch(
                node.test, name
            ):
                if not (function is not None and function.positional[:1] == [name.value] and function.owner):
                    return f"a condition on `{name.value}` is decided on the host"
        return ""

    def _asks_rank(self, node: cst.CSTNode) -> bool:
        """Whether an expression is, or a name was given, what `tf.rank` says: a tensor, unlike `len(x.shape)`."""
        if isinstance(node, cst.Name):
            values = [b.value for b in self._infer.bindings(node) if b.kind == "assign"]
            return any(self._asks_rank(part) for value in values if value for part in _calls_in(value))
        return self._infer.names.is_call_that(node, "ranks")

    def _compares_count(self, node: cst.Comparison) -> bool:
        """`self.memory.size < self.batch_size`: an object of unknown class is asked for a number."""
        for part in (node.left, *(target.comparator for target in node.comparisons)):
            if (
                isinstance(part, cst.Attribute)
                and isinstance(part.value, cst.Attribute)
                and not self._infer.names.dotted(part)
                and self._infer.value(part).kind in ("unknown", "number")
                and part.attr.value not in _STATIC
            ):
                return True
        return False

    def _is_static(self, name: cst.Name) -> bool:
        """Whether a name is asked for what a trace knows, `x.shape[0]`, or has a value that each call site writes out."""
        current: cst.CSTNode | None = self._walk.parents.get(name)
        while isinstance(current, cst.Attribute | cst.Subscript | cst.Arg | cst.Call):
            if isinstance(current, cst.Attribute) and current.attr.value in _STATIC:
                return True
            if isinstance(current, cst.Call) and callee_name(current) in _ASKING_STATIC:
                return True
            current = self._walk.parents.get(current)
        value = self._infer.value(name)
        if value.kind in ("string", "tensor", "variable"):
            return True
        found = self._infer.bindings_reaching(name)
        function = found[0].function if found is not None else None
        given = self._calls.arguments(function, name.value) if function is not None else []
        return bool(given) and all(is_constant(value) for value in given)

    @staticmethod
    def _is_switch(test: cst.BaseExpression, name: cst.Name) -> bool:
        """`if training:`, `if x is None:`: one trace for each value is what is wanted."""
        if test is name or (isinstance(test, cst.UnaryOperation) and test.expression is name):
            return True
        return any(_asks_identity(part) for part in descendants(test))

    def of_returns(self, function: Function) -> Iterator[cst.CSTNode]:
        """Conditions around a `return` that are steered by attributes or counters."""
        for statement in function.returns:
            current = self._walk.parents.get(statement)
            while current is not None and current is not function.node:
                if isinstance(current, cst.If):
                    for part in descendants_here(current.test):
                        if _counts(part):
                            yield current.test
                current = self._walk.parents.get(current)


def _calls_in(node: cst.CSTNode) -> Iterator[cst.Call]:
    return (part for part in descendants(node) if isinstance(part, cst.Call))


def _counts(node: cst.CSTNode) -> bool:
    """`step % 10`, `len(memory)`; but `len(x.shape)` is the rank, which a trace knows."""
    if not isinstance(node, cst.Call):
        return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo)
    given = node.args[0].value if node.args else None
    is_rank = isinstance(given, cst.Attribute) and given.attr.value in _STATIC
    return callee_name(node) in ("len", "size", "ready") and not is_rank


def _asks_identity(node: cst.CSTNode) -> bool:
    """`is`, `is not`, `== None` or `isinstance(…)`: what Python answers of any value, tensor or not."""
    if isinstance(node, cst.ComparisonTarget):
        return isinstance(node.operator, cst.Is | cst.IsNot) or is_name(node.comparator, "None")
    return isinstance(node, cst.Call) and callee_name(node) == "isinstance"
