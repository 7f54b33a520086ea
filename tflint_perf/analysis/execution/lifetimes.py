"""How long objects live: which models, optimizers and others are made in the iteration that uses them, and end with it.

    lifetimes.ends_with(copy, loop)     # `copy = clone_model(model)` in the body of `loop`, whatever else it goes through there
    lifetimes.is_short(copy)            # the same of the loop around it; outside all, of a call of its function

A trace, a slot or a copy on the device that belongs to such an object serves one iteration and no other.
"""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has
from tflint_perf.analysis.execution.invariance import Invariance
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.scopes import Binding, Function, Loop
from tflint_perf.analysis.python.syntax import part_at
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part

_OBJECTS = frozenset({"model", "layer", "optimizer", "variable", "metric"})

Path = tuple[int, ...]


class Lifetimes(Part):
    """Answers which objects are made again and again."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops

    def is_short(self, node: cst.BaseExpression) -> bool:
        """Whether the loop around `node`, or its function outside all loops, uses another object by that name each time."""
        return self._is_new(node, (), self._loops.iteration_around(node), frozenset(), 0)

    def ends_with(self, node: cst.BaseExpression, loop: Loop) -> bool:
        """Whether each iteration of `loop`, in the same function as `node`, makes the object that `node` stands for."""
        return self._is_new(node, (), loop, frozenset(), 0)

    def _is_new(
        self, node: cst.BaseExpression, path: Path, loop: Loop | None, seen: frozenset[Binding], depth: int
    ) -> bool:
        """Whether `node`, or the part of it at `path`, is new in each iteration of `loop`, or else in each call of its function.
        What is `seen` already goes round in the iteration: `model, loss = step(model, x)`."""
        if depth > CALLS_DEEP:
            return False
        match node:
            case cst.Name():
                scope, bindings = self._infer.bindings_reaching(node) or (None, [])
                here = scope is not None and scope.function is self._calls.function_at(node)
                return (
                    here
                    and (loop is not None or self._calls.function_at(node) is not None)
                    and bool(bindings)
                    and all(b in seen or self._is_bound_new(b, path, loop, seen, depth) for b in bindings)
                )
            case cst.Tuple() | cst.List() if path:
                part = part_at(node, path[:1])
                return part is not None and self._is_new(part, path[1:], loop, seen, depth)
            case cst.Attribute():
                return self._is_new(node.value, (), loop, seen, depth)
            case cst.Call():
                return self._is_made_by(node, path, loop, seen, depth)
        return False

    def _is_bound_new(
        self, binding: Binding, path: Path, loop: Loop | None, seen: frozenset[Binding], depth: int
    ) -> bool:
        if binding.kind == "param":
            function = self._infer.names.function_with.get(binding.node)
            return loop is None and function is not None and self.is_given_anew(function, binding.name, depth)
        if binding.kind != "assign" or binding.value is None or binding.path is None:
            return False
        if loop is not None and not Invariance.is_bound_in(binding, loop):
            return False
        return self._is_new(binding.value, (*binding.path, *path), loop, seen | {binding}, depth)

    def is_given_anew(self, function: Function, name: str, depth: int = 0) -> bool:
        """Whether each call of `function`, here or in another file, makes what it gives as a parameter."""
        given, callers = self._calls.arguments(function, name), self._calls.callers_outside(function)
        there = list(self._calls.given_outside(function, name))
        return (
            (bool(given) or bool(callers))
            and len(there) >= len(callers)
            and all(each.anew for each in there)
            and all(
                self._is_new(each, (), self._loops.iteration_around(each), frozenset(), depth + 1)
                for each in given
            )
        )

    def given_as(self, node: cst.BaseExpression, depth: int = 0) -> cst.BaseExpression:
        """What callers call the object of a short life that `node` stands for: the argument, where it is a parameter."""
        params = [binding for binding in self._infer.bindings(node) if binding.kind == "param"]
        given = self._calls.given(params[0]) if params else []
        if not given or not isinstance(given[0], cst.Name | cst.Attribute) or depth > CALLS_DEEP:
            return node
        return self.given_as(given[0], depth + 1)

    def made_at(self, node: cst.BaseExpression) -> cst.CSTNode:
        """Where what a name stands for is first made, as far as its function shows: that is what people look for."""
        first = min(self._infer.bindings(node), key=lambda binding: binding.at.order, default=None)
        return first.node if first is not None else node

    def _is_made_by(
        self, call: cst.Call, path: Path, loop: Loop | None, seen: frozenset[Binding], depth: int
    ) -> bool:
        name = builtin_or_qualified(self._infer, call.func)
        if has(name, "copies-whole") or self._infer.value(call.func).kind == "class":
            return not path
        if name and fact(name, "gives") in _OBJECTS:
            return not path
        targets = self._calls.targets(call)
        return bool(targets) and all(
            self._is_returned_new(target, call, path, loop, seen, depth) for target in targets
        )

    def _is_returned_new(
        self,
        function: Function,
        call: cst.Call,
        path: Path,
        loop: Loop | None,
        seen: frozenset[Binding],
        depth: int,
    ) -> bool:
        """Whether all that `function` returns to `call` is made by it, or is what that call gave it, new itself."""
        if not function.returns or function.yields:
            return False
        for back in function.returns:
            part = part_at(back.value, path) if back.value is not None else None
            if part is None:
                return False
            parameter = self._parameter(part)
            if parameter is None:
                if not self._is_new(part, (), None, frozenset(), depth + 1):
                    return False
                continue
            given = self._calls.arguments(function, parameter, [call])
            if not given or not all(self._is_new(each, (), loop, seen, depth + 1) for each in given):
                return False
        return True

    def _parameter(self, node: cst.BaseExpression) -> str | None:
        """The parameter that `node` hands back as it came."""
        bindings = self._infer.bindings(node)
        if len(bindings) == 1 and bindings[0].kind == "param":
            return bindings[0].name
        return None
