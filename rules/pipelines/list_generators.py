"""Generators that only hand on what is there: the items of lists and arrays, one after the other."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.pipelines.reads_without_op import data_of
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import callee_name, descendants, is_name
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part

_COUNTING = frozenset({"len", "range", "zip", "enumerate", "list", "reversed", "iter"})
# What gives one item after the other, each of which is made as it is asked for.
_MADE_ON_DEMAND = frozenset({"generator", "iterator", "dataset", "instance", "model"})


class HandingOn(Part):
    """Answers whether that is all that a generator does."""

    _infer: Inference

    def is_all_of(self, function: Function) -> bool:
        """Whether `function` goes over what it has, and makes nothing of the items but arrays of their own."""
        body = function.node.body
        parts = list(descendants(body))
        if function.decorators or not function.yields or not any(isinstance(p, cst.For) for p in parts):
            return False
        if any(self._infer.value(data).kind in _MADE_ON_DEMAND for data in data_of(self._infer, body)):
            return False
        return all(map(self._is_no_work, parts))

    def shuffles(self, function: Function) -> bool:
        """Whether `function` gives its items in a random order."""
        return any(self._infer.names.is_call_that(call, "shuffles") for call in function.calls)

    def _is_no_work(self, node: cst.CSTNode) -> bool:
        match node:
            case cst.Call():
                return self._only_counts(node) or self._wraps_item(node)
            case cst.BinaryOperation() | cst.UnaryOperation():
                return self._is_of_place(node)
            case cst.ListComp() | cst.GeneratorExp() | cst.With() | cst.Lambda() | cst.Try():
                return False
            case cst.For():
                return not isinstance(node.iter, cst.Call) or self._only_counts(node.iter)
        return True

    def _only_counts(self, call: cst.Call) -> bool:
        name = builtin_or_qualified(self._infer, call.func)
        if name in _COUNTING or has(name, "shuffles"):
            return True
        return not name and callee_name(call) == "copy" and not call.args

    def _wraps_item(self, call: cst.Call) -> bool:
        """Whether `call` makes an array of one item, or gives it another shape: `np.array(sample["box"]).reshape(-1, 3)`."""
        if self._infer.names.is_call_that(call, "makes-array"):
            return bool(call.args) and isinstance(call.args[0].value, cst.Name | cst.Subscript)
        return isinstance(call.func, cst.Attribute) and is_name(call.func.attr, "reshape")

    def _is_of_place(self, node: cst.BaseExpression) -> bool:
        """Whether `node` only says which part is meant: of an index, a slice or a range."""
        current: cst.CSTNode | None = node
        while current is not None and not isinstance(
            current, cst.BaseSmallStatement | cst.BaseCompoundStatement
        ):
            if isinstance(current, cst.Index | cst.Slice):
                return True
            if isinstance(current, cst.Call):
                return self._only_counts(current) or isinstance(current.func, cst.Attribute)
            current = self._infer.walk.parents.get(current)
        return False
