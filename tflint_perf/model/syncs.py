"""Copies of a device's tensors to the host: each waits for the device."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from tflint_perf.model.calls import CallGraph
from tflint_perf.model.conditions import conditions
from tflint_perf.model.flow import loops_around
from tflint_perf.model.guards import Guards
from tflint_perf.model.host_values import Fate, HostValues
from tflint_perf.model.infer import Inference
from tflint_perf.model.loops import Loops
from tflint_perf.model.on_device import OnDevice
from tflint_perf.model.scopes import Function, Loop
from tflint_perf.model.showing import effect_besides_showing, prints_tensors, shows
from tflint_perf.model.size_of_calls import is_of_environment
from tflint_perf.model.syntax import (
    callee_name,
    descendants,
    descendants_here,
    last_name,
    mentions,
    target_names,
)

_METHODS = ("numpy", "item")
_BUILTINS = ("float", "int", "str")
# A loop of so few iterations waits for next to nothing.
_FEW = 100
# The counter of a loop whose iterations are few and long to whoever wrote it.
_EPOCH = re.compile(r"epoch|episode|^ep$", re.I)
_BOUNDED = ("range", "trange", "take")


@dataclass(frozen=True, slots=True)
class Sync:
    """One copy: `node` is what makes it, `tensor` what is copied, `fates` what becomes of the copy."""

    node: cst.BaseExpression
    tensor: cst.BaseExpression
    fates: frozenset[Fate]


class Syncs:
    """Finds copies to the host, and asks how often they are made."""

    def __init__(self, infer: Inference, calls: CallGraph, loops: Loops, guards: Guards) -> None:
        self._infer = infer
        self._calls = calls
        self._loops = loops
        self._guards = guards
        self._walk = infer.walk
        self._on_device = OnDevice(infer, calls)
        self._values = HostValues(infer, calls, loops)
        self._waiting: dict[Loop, bool] = {}

    def statements(self) -> list[cst.CSTNode]:
        """The statements that may copy a tensor to the host, in the order of the text."""
        found: dict[cst.CSTNode, None] = {}
        for calls in self._walk.calls.values():
            for call in calls:
                if self._may_copy(call):
                    found[self._statement_of(call)] = None
        for statement in self._walk.at:
            if isinstance(statement, cst.Assign) and isinstance(
                statement.value, cst.FormattedString | cst.BinaryOperation
            ):
                found[statement] = None
        return sorted(found, key=lambda statement: self._walk.at[statement].order)

    def _may_copy(self, call: cst.Call) -> bool:
        name = callee_name(call)
        if name in _METHODS or name in _BUILTINS or name == "format" or shows(self._infer, call):
            return True
        return bool(call.args) and self._infer.names.qualified(call.func).startswith("np.")

    def _statement_of(self, node: cst.CSTNode) -> cst.CSTNode:
        while node not in self._walk.at:
            node = self._walk.parents[node]
        return node

    def of_statement(self, statement: cst.CSTNode) -> list[Sync]:
        """The copies that a statement makes; of a compound one those in its head."""
        return [
            Sync(node, tensor, frozenset(self._fates(node)))
            for part in _head(statement)
            for node in descendants_here(part)
            if isinstance(node, cst.BaseExpression)
            for tensor in self._copied(node)
        ]

    def _fates(self, node: cst.BaseExpression) -> set[Fate]:
        if isinstance(node, cst.Call) and shows(self._infer, node):
            return {"shown"}
        return self._values.fates(node)

    def _copied(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """The tensors that an expression itself copies to the host."""
        return [tensor for tensor in self._taken(node) if self._on_device.is_made_there(tensor)]

    def _taken(self, node: cst.BaseExpression) -> Iterable[cst.BaseExpression]:
        """What an expression makes a host value or text of."""
        match node:
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value=name))) if name in _METHODS:
                return [receiver]
            case cst.Call(func=cst.Name(value=name)) if name in _BUILTINS:
                return [arg.value for arg in node.args[:1] if not arg.star]
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="format"))):
                return [arg.value for arg in node.args if not arg.star]
            case cst.Call():
                is_numpy = self._infer.names.qualified(node.func).startswith("np.")
                if is_numpy or (shows(self._infer, node) and prints_tensors(self._infer, node)):
                    return [arg.value for arg in node.args if not arg.star]
            case cst.FormattedString():
                return [
                    part.expression for part in node.parts if isinstance(part, cst.FormattedStringExpression)
                ]
            case cst.BinaryOperation(operator=cst.Modulo(), right=right):
                if self._infer.value(node.left).kind == "string":
                    return [e.value for e in right.elements] if isinstance(right, cst.Tuple) else [right]
        return []

    def effect_besides_showing(self, statement: cst.CSTNode) -> cst.CSTNode | None:
        """What a statement does besides showing values; None where it does nothing else."""
        return effect_besides_showing(self._infer, statement)

    # How often

    def is_on_each_step(self, node: cst.CSTNode) -> bool:
        """Whether each step of a long loop runs `node`, behind no condition, in no loop that waits by its nature."""
        return self._on_each_step(node, frozenset())

    def _on_each_step(self, node: cst.CSTNode, seen: frozenset[Function]) -> bool:
        loop = self.loop_of(node)
        if self._is_conditional(node, loop) or self._guards.guard_of(node) is not None:
            return False
        if loop is not None:
            return not self._is_short(loop) and not self._waits_anyway(loop)
        function = self._calls.function_at(node)
        around = loops_around(self._loops.innermost_loop(node))
        if function is None or function in seen or any(self._loops.kind(other) != "none" for other in around):
            return False
        sites = [site for site in self._calls.sites(function) if self._loops.is_per_step(site)]
        return bool(sites) and all(self._on_each_step(site, seen | {function}) for site in sites)

    def _is_conditional(self, node: cst.CSTNode, loop: Loop | None) -> bool:
        """Whether an iteration of `loop`, or a call of the function, may leave `node` out."""
        return any(conditions(self._walk, node, loop.node if loop is not None else None, exits=False))

    def loop_of(self, node: cst.CSTNode) -> Loop | None:
        """The step loop of the same function around `node`, or one that computes on the device without training."""
        found = self._loops.step_loop(node)
        if found is not None:
            return found
        loop = self._loops.innermost_loop(node)
        return loop if loop is not None and self._loops.kind(loop) == "none" and self._carries(loop) else None

    def _carries(self, loop: Loop) -> bool:
        """Whether each iteration makes a tensor of the one before: `x = x * 2.0`."""
        return any(
            mentions(statement.value, {name.value})
            for statement, at in self._walk.at.items()
            if isinstance(statement, cst.Assign) and at.block.owner is loop.node
            for target in statement.targets
            for name in target_names(target.target)
            if self._on_device.is_made_there(statement.value)
        )

    def _is_short(self, loop: Loop) -> bool:
        """Whether a loop runs once, for few iterations; or for as many epochs as nobody knows, of one step each."""
        if loop.parent is not None or isinstance(loop.node, cst.While):
            return False
        function = loop.function
        if function is not None and any(map(self._loops.innermost_loop, self._calls.sites(function))):
            return False
        for node in descendants(loop.node.iter):
            if isinstance(node, cst.Call) and callee_name(node) in _BOUNDED and node.args:
                bound = self._guards.number(node.args[min(1, len(node.args) - 1)].value)
                return bool(_EPOCH.search(last_name(loop.node.target))) if bound is None else bound <= _FEW
        return False

    def _waits_anyway(self, loop: Loop) -> bool:
        """Whether each iteration needs a value of the device: for an environment, or to decide how to go on."""
        known = self._waiting.get(loop)
        if known is None:
            known = self._waiting[loop] = self._steps_environment(loop) or any(
                self._steers(statement)
                for statement, at in self._walk.at.items()
                if isinstance(statement, cst.If | cst.While)
                and (statement is loop.node or loop in loops_around(at.block.loop))
            )
        return known

    def _steps_environment(self, loop: Loop) -> bool:
        return any(map(self._acts_in_environment, loop.calls)) or any(
            map(self._steps_environment, loop.inner)
        )

    def _acts_in_environment(self, call: cst.Call) -> bool:
        """Whether a call steps an environment, here or in the function that it runs."""
        return is_of_environment(call) or any(
            is_of_environment(below) for function in self._calls.targets(call) for below in function.calls
        )

    def _steers(self, statement: cst.If | cst.While) -> bool:
        """Whether a condition waits for the device, but for one that only asks a counter."""
        if self._is_conditional(statement, self.loop_of(statement)):
            return False
        if any("steering" in sync.fates for sync in self.of_statement(statement)):
            return True
        return any(
            isinstance(node, cst.BaseExpression) and self._on_device.is_made_there(node)
            for node in _tested(statement.test)
        )


def _head(statement: cst.CSTNode) -> list[cst.CSTNode]:
    """The parts of a statement that run where it stands: all of a small one, the head of a compound one."""
    match statement:
        case cst.If() | cst.While():
            return [statement.test]
        case cst.For():
            return [statement.iter]
        case cst.BaseSmallStatement():
            return [statement]
    return []


def _tested(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The conditions that `and`, `or` and `not` make a test of."""
    match test:
        case cst.BooleanOperation():
            yield from _tested(test.left)
            yield from _tested(test.right)
        case cst.UnaryOperation():
            yield from _tested(test.expression)
        case _:
            yield test
