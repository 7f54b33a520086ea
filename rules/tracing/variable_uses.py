"""What becomes of a variable where it is made: whether a tensor would do."""

from __future__ import annotations

from typing import Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import library
from tflint_perf.analysis.execution.tapes import GRADIENTS
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.scopes import Scope
from tflint_perf.analysis.python.syntax import argument, callee_name
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part

# It is only read; numbers are added to it besides; or something else is done with it, as far as is known.
Use = Literal["read", "added", "kept"]

_ADDING = ("assign_add", "assign_sub")


class VariableUses(Part):
    """Answers what a variable is made for."""

    _infer: Inference
    _calls: CallGraph

    def of(self, made: cst.Call) -> Use:
        """What becomes of the variable that `made` makes."""
        statement = self._walk.parents.get(made)
        if not isinstance(statement, cst.Assign | cst.AnnAssign):
            return self._at(made, 0)
        targets = (
            [statement.target]
            if isinstance(statement, cst.AnnAssign)
            else [target.target for target in statement.targets]
        )
        if len(targets) != 1 or not isinstance(targets[0], cst.Name):
            return "kept"
        name = targets[0]
        return self._by_name(name.value, self._infer.names.home(name), 0, made)

    def _by_name(self, name: str, home: Scope | None, depth: int, made: cst.Call | None = None) -> Use:
        """What becomes of a variable where a name stands for it, and not for something else that the name gets instead of what
        `made` gives."""
        places = self._infer.names.mentions(name, home)
        uses = {self._at(node, depth) for node in places if made is None or self._may_be(node, made)}
        return "kept" if "kept" in uses else "added" if "added" in uses else "read"

    def _may_be(self, node: cst.Name, made: cst.Call) -> bool:
        found = self._infer.bindings_reaching(node)
        return found is None or any(binding.value is made for binding in found[1])

    def _at(self, node: cst.BaseExpression, depth: int) -> Use:
        """What is done with a variable where `node` stands for it."""
        parent = self._walk.parents.get(node)
        match parent:
            case cst.Attribute(attr=cst.Name(name)):
                if name in _ADDING:
                    return "added"
                return "kept" if name.startswith("assign") else "read"
            case cst.Subscript(value=base) if base is node:
                return self._at(parent, depth)
            case cst.BinaryOperation() | cst.UnaryOperation() | cst.Comparison() | cst.AugAssign():
                return "read"
            case cst.AssignTarget() | cst.FormattedStringExpression() | cst.Index() | cst.Param():
                return "read"
            case cst.Assign() if isinstance(node, cst.Subscript):
                return "read"  # a part of it is a tensor
            case cst.Arg():
                call = self._walk.parents.get(parent)
                return self._given(call, node, depth) if isinstance(call, cst.Call) else "kept"
        return "kept"

    def _given(self, call: cst.Call, node: cst.BaseExpression, depth: int) -> Use:
        """What `call` does with a variable that it is given as it is."""
        name = self._infer.names.qualified(call.func)
        if name:
            last = name.rpartition(".")[2]
            is_op = library(name) in ("tensorflow", "numpy") and last[:1].islower()
            return "read" if is_op and last not in GRADIENTS and not last.startswith("assign") else "kept"
        is_target = callee_name(call) in GRADIENTS and argument(call, 0, "target") is node
        if (
            is_target
            or callee_name(call) == "watch"
            or self._infer.value(call.func).kind in ("model", "layer")
        ):
            return "read"
        targets = self._calls.targets(call)
        if depth >= CALLS_DEEP or not targets:
            return "kept"
        for function in targets:
            taken = [
                parameter
                for at, parameter in enumerate(function.places)
                if argument(call, at, parameter) is node
            ]
            if len(taken) != 1 or self._by_name(taken[0], function.scope, depth + 1) != "read":
                return "kept"
        return "read"
