"""Statements that compute something, and do nothing else: what they give is thrown away."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import has, methods
from tflint_perf.analysis.conventions import names_watching
from tflint_perf.analysis.python.syntax import callee_name, calls_below, keyword_argument
from tflint_perf.analysis.training.train_calls import TrainCalls
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part

# Functions of Python's own that do nothing but compute, and qualified names that begin like an op's.
_HARMLESS = frozenset({"len", "int", "float", "zip", "list", "range"})


class Discarded(Part):
    """Finds the results that nobody gets, of calls and of arithmetic."""

    _infer: Inference
    _calls: CallGraph
    _train_calls: TrainCalls

    def all(self) -> Iterator[cst.Call | cst.BinaryOperation]:
        """Every computation whose result is thrown away, in the order of the text."""
        for statement in self._walk.at:
            if not isinstance(statement, cst.Expr):
                continue
            if isinstance(statement.value, cst.BinaryOperation):
                if self._is_of_tensors(statement, statement.value):
                    yield statement.value
                continue
            call = _thrown_away(statement.value)
            if call is not None and self._only_computes(call) and not self._is_on_purpose(statement, call):
                yield call

    def _is_of_tensors(self, statement: cst.Expr, node: cst.BinaryOperation) -> bool:
        """Whether `node` is arithmetic that makes a tensor, as a statement of a function: `loss * mask`."""
        return (
            not self._is_shown(statement)
            and not self._train_calls.is_graph_code()
            and self._infer.value(node).kind == "tensor"
            and all(map(self._is_harmless, calls_below(node)))
        )

    def _is_shown(self, statement: cst.Expr) -> bool:
        """Whether `statement` is at the top level of the module, where a notebook shows its result."""
        return self._walk.at[statement].block.owner is self._walk.module

    def _only_computes(self, call: cst.Call) -> bool:
        """Whether `call`, and every call among its arguments, does nothing but compute."""
        name = self._infer.names.qualified(call.func)
        if name and (not has(name, "pure") or self._infer.names.may_be_of_others(call.func)):
            return False
        if not name:
            if not isinstance(call.func, cst.Attribute) or callee_name(call) not in methods(
                "Dataset", "stage"
            ):
                return False
            # What is a dataset only by the stages that it is asked for may be anything else here.
            sources = [way[0] for way in self._infer.value(call.func.value).pipelines]
            if not any(source.origin is None or source.origin.path for source in sources):
                return False
        arguments = [below for arg in call.args for below in calls_below(arg.value)]
        return all(map(self._is_harmless, arguments))

    def _is_harmless(self, call: cst.Call) -> bool:
        name = self._infer.names.qualified(call.func)
        if name:
            return has(name, "pure") or has(name, "harmless-to-make")
        return isinstance(call.func, cst.Name) and call.func.value in _HARMLESS

    def _is_on_purpose(self, statement: cst.Expr, call: cst.Call) -> bool:
        if keyword_argument(call, "name") is not None or self._train_calls.is_graph_code():
            return True
        if self._is_shown(statement):
            return True
        if not self._infer.names.qualified(call.func):
            return self._is_tried(statement)  # a stage of a dataset takes no time
        function = self._calls.function_at(call)
        calls = function.calls if function is not None else self._walk.module_calls
        return any(
            self._infer.names.is_call_that(other, "clock", "device-clock") for other in calls
        ) or self._is_tried(statement)

    def _is_tried(self, statement: cst.CSTNode) -> bool:
        """Whether `statement` is there to see whether it raises an error: in a `try`, or in a `with` such as
        `pytest.raises(…)`."""
        child, current = statement, self._walk.parents.get(statement)
        while current is not None and not isinstance(current, cst.FunctionDef | cst.Lambda):
            if isinstance(current, cst.Try | cst.TryStar) and child is current.body:
                return True
            if isinstance(current, cst.With):
                names = [callee_name(item.item) for item in current.items if isinstance(item.item, cst.Call)]
                if any(map(names_watching, names)):
                    return True
            child, current = current, self._walk.parents.get(current)
        return False


def _thrown_away(node: cst.BaseExpression) -> cst.Call | None:
    """The call whose result is thrown away where `node` is a statement, also behind a sign, or as each item of a list."""
    if isinstance(node, cst.ListComp | cst.SetComp):
        node = node.elt
    while isinstance(node, cst.UnaryOperation):
        node = node.expression
    return node if isinstance(node, cst.Call) else None
