"""Which tensors are scalars: losses and metrics, as opposed to batches."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.conventions import names_a_figure
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    integer,
    keyword_argument,
    last_name,
    string,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part


class Scalars(Part):
    """Answers whether an expression is a scalar."""

    _infer: Inference
    _calls: CallGraph

    def is_scalar(self, node: cst.BaseExpression) -> bool | None:
        """True or False where the code shows it, None where it does not."""
        return self._ask(node, (), 0)

    def may_be_scalar(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a scalar, or has the name of one (`loss`, `accuracy`) and nothing says otherwise."""
        known = self.is_scalar(node)
        if known is not None:
            return known
        return bool(names_a_figure(_name(node)))

    @remembered
    def _ask(self, node: cst.BaseExpression, path: tuple[int, ...], depth: int) -> bool | None:
        """Whether `node`, or the part of it that is asked for, is a scalar."""
        if depth > NAMES_DEEP:
            return None
        match node:
            case cst.Tuple() | cst.List() if path and path[0] < len(node.elements):
                return self._ask(node.elements[path[0]].value, path[1:], depth + 1)
            case cst.Integer() | cst.Float():
                return True
            case cst.Name():
                return _all(
                    self._of_binding(b, path, depth)
                    for b in self._infer.bindings(node)
                    if b.kind != "augment"
                )
            case cst.Call():
                return self._of_call(node, path, depth)
            case cst.BinaryOperation():
                return _all([self._ask(node.left, (), depth + 1), self._ask(node.right, (), depth + 1)])
            case cst.UnaryOperation():
                return self._ask(node.expression, (), depth + 1)
        return None

    def _of_binding(self, binding: Binding, path: tuple[int, ...], depth: int) -> bool | None:
        if binding.path is None or binding.value is None:
            return None
        if binding.kind in ("for", "comprehension"):
            return False if self._infer.value(binding.value).kind in ("dataset", "iterator") else None
        return (
            self._ask(binding.value, (*binding.path, *path), depth + 1) if binding.kind == "assign" else None
        )

    def _of_call(self, call: cst.Call, path: tuple[int, ...], depth: int) -> bool | None:
        name = self._infer.names.qualified(call.func)
        if name:
            return self._of_op(call, name, depth)
        targets = self._calls.targets(call)
        if targets:
            return _all(self._of_function(target, path, depth) for target in targets)
        kind = self._infer.value(call.func).kind
        if kind in ("model", "layer"):
            return False
        if kind == "loss":
            return self._is_reduced(call.func)
        if kind == "metric":
            return True
        if isinstance(call.func, cst.Attribute):
            base = self._infer.value(call.func.value).kind
            if callee_name(call) == "reduce" and base == "strategy":
                return True
            return True if callee_name(call) == "result" and base == "metric" else None
        return None

    def _of_op(self, call: cst.Call, name: str, depth: int) -> bool | None:
        if has(name, "reduces"):
            # Along the second axis or a later one, it gives one number for each row.
            axis = integer(argument(call, 1 if has(name, "one-number") else None, "axis"))
            if axis is not None and axis > 0:
                return False
            return True if len(call.args) == 1 else None
        if has(name, "keeps-scalars"):
            return _all(self._ask(arg.value, (), depth + 1) for arg in call.args if arg.keyword is None)
        if has(name, "gives-many"):
            return False
        return None

    def _of_function(self, function: Function, path: tuple[int, ...], depth: int) -> bool | None:
        return _all(self._ask(r.value, path, depth + 1) for r in function.returns if r.value is not None)

    def _is_reduced(self, func: cst.BaseExpression) -> bool | None:
        """Whether a loss object gives one number: False where it was told to give one a sample, `reduction="none"`, and None
        where what it was told is not known."""
        found = self._infer.bindings_reaching(func) if isinstance(func, cst.Name) else None
        if found is None:
            return None
        told = [
            keyword_argument(binding.value, "reduction")
            for binding in found[1]
            if isinstance(binding.value, cst.Call)
        ]
        if not any(told):
            return True
        is_none = [one is not None and (string(one) or last_name(one)).lower() == "none" for one in told]
        return False if all(is_none) and len(told) == len(found[1]) else None


def _name(node: cst.BaseExpression) -> str:
    """What a value goes by: its name, its attribute's, or the key that it has in a dict."""
    match node:
        case cst.Attribute():
            return node.attr.value
        case cst.Name():
            return node.value
        case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(key))]):
            return string(key) or ""
    return ""


def _all(answers: Iterable[bool | None]) -> bool | None:
    """True when all are, False when one is known not to be."""
    found = list(answers)
    if False in found:
        return False
    return True if found and None not in found else None
