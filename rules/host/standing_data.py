"""Data that stand before the steps do, so that a dataset can hold them. What is new on each step none can: samples of a
memory, say, or what the program has just played."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.execution.sizes import has_environment
from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference

# How many names, calls and parameters are followed to where a batch comes from.
_DEEPEST = 6
_CONSTRUCTORS = frozenset({"__init__", "build", "setup"})


class StandingData:
    """Answers whether a batch is a part of such data."""

    needs = ("infer", "calls")

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._calls = calls
        self._walk = infer.walk

    def give(self, node: cst.BaseExpression) -> bool:
        """Whether the batch `node` is a slice of standing data, or what a loop or `next` takes of them, also where a step
        computes with it. What a program plays, it makes as it goes."""
        return not self._plays and self._is_part(node, 0)

    @cached_property
    def _plays(self) -> bool:
        return has_environment(self._walk.calls)

    @cached_property
    def _filled(self) -> frozenset[str]:
        """The attributes that methods fill as the program goes: `self.states[i] = state`, `self.memory.append(…)`."""
        places = [
            target.target.value
            for statement in self._walk.at
            if isinstance(statement, cst.Assign)
            for target in statement.targets
            if isinstance(target.target, cst.Subscript)
        ]
        places += [
            call.func.value
            for call in self._walk.calls.get("append", ())
            if isinstance(call.func, cst.Attribute)
        ]
        return frozenset(
            place.attr.value
            for place in places
            if isinstance(place, cst.Attribute)
            and (function := self._calls.function_at(place)) is not None
            and function.name not in _CONSTRUCTORS
        )

    def _is_part(self, node: cst.BaseExpression, depth: int) -> bool:
        if depth > _DEEPEST:
            return False
        match node:
            case cst.Subscript():
                return not (isinstance(node.value, cst.Attribute) and node.value.attr.value in self._filled)
            case cst.Name():
                found = self._infer.bindings_reaching(node)
                return found is not None and any(
                    self._is_bound_to_part(binding, found[0].function, depth) for binding in found[1]
                )
            case cst.Call(func=cst.Name("next")):
                return True
            case cst.Call() if has(self._infer.names.qualified(node.func), "draws-doubles"):
                return True  # noise in place of data, as examples have it
            case cst.Call():
                parts = [arg.value for arg in node.args]
                if not has(self._infer.names.qualified(node.func), "computes-values"):
                    parts = [node.func.value] if isinstance(node.func, cst.Attribute) else []
                return any(self._is_part(part, depth + 1) for part in parts)
            case (
                cst.BinaryOperation(left=cst.List() as repeated)
                | cst.BinaryOperation(right=cst.List() as repeated)
            ):
                return self._is_part(repeated, depth + 1)
            case cst.BinaryOperation(left=left, right=right):
                return any(self._is_part(side, depth + 1) for side in (left, right))
            case cst.List() | cst.Tuple():
                return any(self._is_part(element.value, depth + 1) for element in node.elements)
        return False

    def _is_bound_to_part(self, binding: Binding, function: Function | None, depth: int) -> bool:
        match binding.kind:
            case "for":
                return True
            case "assign" | "comprehension":
                return binding.value is not None and self._is_part(binding.value, depth + 1)
            case "param":
                given = self._calls.arguments(function, binding.name) if function is not None else []
                return any(self._is_part(each, depth + 1) for each in given)
        return False
