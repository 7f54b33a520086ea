"""Copies of a device's tensors to the host: each waits for the device."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TypeGuard

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library
from tflint_perf.analysis.execution.guards import Guards
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.steady_conditions import Usual
from tflint_perf.analysis.execution.timed_calls import clocks
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.reach import leads_to, remembered
from tflint_perf.analysis.python.scopes import Loop, Scope
from tflint_perf.analysis.python.syntax import (
    callee_name,
    descendants,
    descendants_here,
    dotted_name,
    is_name,
    mentions,
    target_names,
)
from tflint_perf.analysis.training.host_values import HostValues
from tflint_perf.analysis.training.on_device import HOLDERS, OnDevice
from tflint_perf.analysis.training.showing import effect_besides_showing, prints_tensors, shows
from tflint_perf.analysis.training.training_steps import TrainingSteps
from tflint_perf.analysis.values.caller import Fate
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass


@dataclass(frozen=True, slots=True)
class Sync:
    """One copy: `node` is what makes it, `tensor` what is copied, `fates` what becomes of the copy."""

    node: cst.BaseExpression
    tensor: cst.BaseExpression
    fates: frozenset[Fate]


class Syncs(Part):
    """Finds copies to the host, and asks how often they are made."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _guards: Guards
    _on_device: OnDevice
    _host_values: HostValues
    _training_steps: TrainingSteps

    def __post_init__(self) -> None:
        self._usual = Usual(self._infer)
        self._step_variables = StepVariables(self._infer)
        self._on_each_step: dict[cst.CSTNode, bool] = {}
        self._asked_for: dict[cst.CSTNode | None, set[str]] = {}

    @remembered
    def decides(self, statement: cst.If | cst.While) -> bool:
        """Whether each step copies a tensor to decide by it how to go on: `if metric.result() < 0.01: break`. A count of steps
        is left out, since Python can count as well."""
        syncs = self.of_statement(statement, asked_for=True)
        if any("steering" in sync.fates and self.is_on_each_step(sync.node) for sync in syncs):
            return True
        return any(
            self._on_device.is_made_there(asked)
            and not any(self._is_counter(part) for part in descendants(asked))
            and self.is_on_each_step(asked)
            for asked in _asked_in(statement.test)
        )

    def of_statement(self, statement: cst.CSTNode, *, asked_for: bool = False) -> list[Sync]:
        """The copies that a statement makes; of a compound one those in its head. Those of what decides how the step goes
        on are left out, unless they are `asked_for`."""
        return [
            Sync(node, tensor, frozenset(self._fates(node, tensor)))
            for part in _head(statement)
            for node in descendants_here(part)
            if isinstance(node, cst.BaseExpression)
            for tensor in self._copied(node, asked_for=asked_for)
        ]

    def _fates(self, node: cst.BaseExpression, tensor: cst.BaseExpression) -> set[Fate]:
        if (_counts(node) and tensor is node.left) or self._only_counts(node, tensor):
            return {"counted"}
        if isinstance(node, cst.Call) and shows(self._infer, node):
            return {"shown"}
        fates = self._host_values.fates(node)
        if "unused" in fates and self._is_timed(node):
            fates -= {"unused"}  # it waits on purpose
        return {"counted"} if "counted" in fates and self._on_device.counts_steps(tensor) else fates

    def _is_counter(self, node: cst.CSTNode) -> bool:
        return isinstance(node, cst.Name | cst.Attribute) and (
            self._step_variables.is_one(node) or self._on_device.counts_steps(node)
        )

    def _only_counts(self, node: cst.BaseExpression, variable: cst.BaseExpression) -> bool:
        """Whether a variable is read for a guard: a counter in Python does all that one of steps is asked for."""
        return self._step_variables.is_one(variable) and (
            self._step_variables.is_in_guard(node, variable) or "counted" in self._host_values.fates(node)
        )

    def _is_timed(self, node: cst.CSTNode) -> bool:
        """Whether the same iteration, or call of the function, reads a clock whenever `node` makes a copy."""
        loop, function = self.loop_of(node), self._calls.function_at(node)
        return any(
            self.loop_of(call) is loop
            and self._calls.function_at(call) is function
            and self._stands_in(self._infer.place(call).block.owner, node)
            for call in clocks(self._infer)
        )

    def _stands_in(self, holder: cst.CSTNode, node: cst.CSTNode) -> bool:
        current: cst.CSTNode | None = node
        while current is not None and current is not holder:
            current = self._walk.parents.get(current)
        return current is holder

    def _copied(self, node: cst.BaseExpression, *, asked_for: bool) -> list[cst.BaseExpression]:
        """The tensors, or lists of them, that an expression itself copies to the host."""
        copied = []
        for taken in map(_without_keys, self._taken(node)):
            copied += [
                part
                for part in taken
                if self._only_counts(node, part)
                or (
                    (
                        self._on_device.is_made_there(part)
                        or self._on_device.holds_what_is_made_there(part)
                        or self._is_given_what_is_made_there(part)
                    )
                    # Python can count as well, whatever the count decides.
                    and (asked_for or self._on_device.counts_steps(part) or not self._is_asked_for(part))
                )
            ]
        return copied

    def _is_given_what_is_made_there(self, node: cst.BaseExpression) -> bool:
        """Whether other files pass, on each step, what the device computed as the parameter `node`."""
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        if (
            not found
            or not found[1]
            or found[0].function is None
            or self._infer.value(node).kind != "unknown"
        ):
            return False
        function = found[0].function
        return all(binding.kind == "param" for binding in found[1]) and any(
            given.made for given in self._calls.given_outside(function, found[1][0].name, per_step=True)
        )

    def _taken(self, node: cst.BaseExpression) -> Iterable[cst.BaseExpression]:
        """What an expression makes a host value or text of."""
        match node:
            case cst.Call(func=cst.Attribute(value=receiver, attr=cst.Name(value=name))) if (
                name in HOST_METHODS
            ):
                return [receiver]
            case cst.Call(func=cst.Name(value=name)) if name in HOST_BUILTINS:
                return [arg.value for arg in node.args[:1] if not arg.star]
            case cst.Call(func=cst.Attribute(attr=cst.Name(value="format"))):
                return [arg.value for arg in node.args if not arg.star]
            case cst.Call():
                name = self._infer.names.qualified(node.func)
                if (
                    _takes_arrays(name)
                    or has(name, "reads-variable")
                    or (shows(self._infer, node) and prints_tensors(self._infer, node))
                ):
                    return [arg.value for arg in node.args if not arg.star]
            case cst.FormattedString():
                return [
                    part.expression
                    for part in node.parts
                    if isinstance(part, cst.FormattedStringExpression) and not self._fails(part)
                ]
            case cst.BinaryOperation(operator=cst.Modulo(), right=right):
                if self._infer.value(node.left).kind == "string":
                    return [e.value for e in right.elements] if isinstance(right, cst.Tuple) else [right]
                return [node.left] if self._step_variables.test_around(node) is not None else []
        return []

    def _fails(self, part: cst.FormattedStringExpression) -> bool:
        """Whether `part` asks a dict, list or tuple for a format that only its values have: Python raises an error, and copies
        nothing."""
        return (
            part.format_spec is not None
            and part.conversion is None
            and self._infer.value(part.expression).kind in HOLDERS
        )

    def place_of(self, sync: Sync) -> cst.CSTNode:
        """What people see a copy in: the text that it becomes a part of, or what makes it."""
        place: cst.CSTNode = sync.node
        current, parent = place, self._walk.parents.get(place)
        while parent is not None and current not in self._walk.at:
            match parent:
                case cst.Call(func=cst.Attribute(attr=cst.Name("format"))) if current is not parent.func:
                    place = parent
                case cst.BinaryOperation(operator=cst.Modulo(), left=left) if current is not left:
                    place = parent if self._infer.value(left).kind == "string" else place
                case cst.ConcatenatedString() if current is place:
                    place = parent
            current, parent = parent, self._walk.parents.get(parent)
        return place

    def effect_besides_showing(self, statement: cst.CSTNode) -> cst.CSTNode | None:
        """What a statement does besides showing values; None where it does nothing else."""
        return effect_besides_showing(self._infer, statement)

    # How often

    def is_on_each_step(self, node: cst.CSTNode) -> bool:
        """Whether each step of a long loop runs `node`, under no condition and in no loop that waits anyway."""
        return leads_to(node, self._on_each_step, self._is_on_each_step)

    def _is_on_each_step(self, node: cst.CSTNode) -> bool | list[cst.Call]:
        """Whether each step of a long loop runs `node`, as far as its function shows; or else the calls of that
        function, any of which may do it."""
        loop = self.loop_of(node)
        if self._is_seldom(node, loop) or self._guards.guard_of(node) is not None:
            return False
        if loop is not None:
            return not self._loops.is_gone_through_once(loop)
        function = self._calls.function_at(node)
        around = loops_around(self._loops.innermost_loop(node))
        if function is None or any(self._loops.kind(other) != "none" for other in around):
            return False
        callers = self._calls.callers_outside(function)
        if any(caller.per_step and caller.always for caller in callers):
            return True
        if not callers and not self._calls.sites(function):
            # Whoever calls what makes a gradient step does so again and again.
            return self._loops.may_be_per_step(node) and self._training_steps.hold(node)
        return [site for site in self._calls.sites(function) if self._loops.is_per_step(site)]

    def _is_seldom(self, node: cst.CSTNode, loop: Loop | None) -> bool:
        """Whether most iterations of `loop`, or most calls of the function, may skip `node`."""
        end = loop.node if loop is not None else None
        return not all(
            self._usual.holds(condition) or self._guards.trains_behind(condition)
            for condition in conditions(self._walk, node, end, exits=False)
        )

    def loop_of(self, node: cst.CSTNode) -> Loop | None:
        """The step loop of the same function around `node`, or one that computes on the device without training."""
        found = self._loops.step_loop(node)
        if found is not None:
            return found
        loop = self._loops.innermost_loop(node)
        return loop if loop is not None and self._loops.kind(loop) == "none" and self._carries(loop) else None

    @remembered
    def _carries(self, loop: Loop) -> bool:
        """Whether each iteration of `loop` makes a tensor of the one before: `x = x * 2.0`."""
        return any(
            mentions(statement.value, {name.value})
            for statement in self._assignments.get(loop.node, ())
            for target in statement.targets
            for name in target_names(target.target)
            if self._on_device.is_made_there(statement.value)
        )

    @cached_property
    def _assignments(self) -> dict[cst.CSTNode, list[cst.Assign]]:
        """The assignments by the compound statement whose body they are a part of."""
        found: dict[cst.CSTNode, list[cst.Assign]] = {}
        for statement, at in self._walk.at.items():
            if isinstance(statement, cst.Assign):
                found.setdefault(at.block.owner, []).append(statement)
        return found

    def _is_asked_for(self, tensor: cst.BaseExpression) -> bool:
        """Whether `tensor` decides, in the same loop or function, how to go on: it is copied for that anyway."""
        name = _name_of(tensor)
        if not name:
            return False
        loop = self.loop_of(tensor)
        function = self._calls.function_at(tensor)
        holder = loop.node if loop is not None else function.node if function is not None else None
        if holder not in self._asked_for:
            tests = [
                statement.test
                for statement in (descendants_here(holder) if holder is not None else ())
                if isinstance(statement, cst.If | cst.While) and not self._is_seldom(statement, loop)
            ]
            self._asked_for[holder] = {
                _name_of(node)
                for test in tests
                for node in descendants_here(test)
                if isinstance(node, cst.Name | cst.Attribute | cst.Call) and not self._is_no_question(node)
            }
        return name in self._asked_for[holder]

    # Counters

    def _is_no_question(self, node: cst.CSTNode) -> bool:
        """Whether the condition `node` only asks whether something exists, or for a multiple: `step % 100 == 0`."""
        parent = self._walk.parents.get(node)
        while isinstance(parent, cst.Attribute | cst.Call | cst.Arg):
            node, parent = parent, self._walk.parents.get(parent)
        match parent:
            case cst.BinaryOperation(operator=cst.Modulo()):
                return True
            case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.Is() | cst.IsNot())]):
                return True
        return False


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


def _asked_in(test: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The parts of a test of which Python asks whether they are true."""
    match test:
        case cst.BooleanOperation():
            yield from _asked_in(test.left)
            yield from _asked_in(test.right)
        case cst.UnaryOperation(operator=cst.Not()):
            yield from _asked_in(test.expression)
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.Is() | cst.IsNot())]):
            return  # whether there is one
        case _:
            yield test


def _counts(node: cst.CSTNode) -> TypeGuard[cst.BinaryOperation]:
    """`step % 100`, where that is no format."""
    return (
        isinstance(node, cst.BinaryOperation)
        and isinstance(node.operator, cst.Modulo)
        and not isinstance(node.left, cst.SimpleString | cst.ConcatenatedString | cst.FormattedString)
    )


def _without_keys(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """The values of a dict that stands in the code, one by one; of anything else itself."""
    if isinstance(node, cst.Dict):
        return [item.value for item in node.elements]
    return [node]


def _name_of(node: cst.CSTNode) -> str:
    """What a value goes by: `loss`, `self.loss`, `metric.result()`."""
    if isinstance(node, cst.Call):
        name = dotted_name(node.func)
        return f"{name}()" if name else ""
    return dotted_name(node)


# Variables that count steps, on the device or off it, and what is read of them for a guard alone.


class StepVariables:
    """Answers whether a Python number would do where a program reads a variable."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer
        self._walk = infer.walk

    def is_one(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a variable, or of unknown kind and this file counts it up: `step.assign_add(1)`."""
        kind = self._infer.value(node).kind if isinstance(node, cst.Name | cst.Attribute) else ""
        return kind == "variable" or (kind == "unknown" and self._named(node) in self._counted_up)

    def is_in_guard(self, node: cst.BaseExpression, variable: cst.BaseExpression) -> bool:
        """Whether `node`, which reads a variable, stands in a test that asks for a multiple of it."""
        test = self.test_around(node)
        name = dotted_name(variable)
        return test is not None and any(
            isinstance(part, cst.BinaryOperation)
            and isinstance(part.operator, cst.Modulo)
            and dotted_name(_variable_of(part.left)) == name
            for part in descendants(test)
        )

    def test_around(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """The test of an `if` in which a value is only compared, by Python or by an op: `tf.equal(step % 100, 0)`."""
        current: cst.CSTNode = node
        parent = self._walk.parents.get(node)
        while isinstance(
            parent,
            cst.Comparison
            | cst.ComparisonTarget
            | cst.BinaryOperation
            | cst.BooleanOperation
            | cst.UnaryOperation
            | cst.Arg
            | cst.Call,
        ):
            match parent:
                case cst.Call() if not self._infer.names.is_call_that(parent, "equals", "differs"):
                    return None
                case cst.BinaryOperation(operator=operator) if not isinstance(operator, cst.Modulo):
                    return None
            current, parent = parent, self._walk.parents.get(parent)
        if isinstance(parent, cst.If) and parent.test is current:
            return parent.test
        return None

    def _named(self, node: cst.BaseExpression) -> tuple[str, Scope | None]:
        """A variable's name and, of a plain name, where that is bound: another function may mean something else by it."""
        return dotted_name(node), self._infer.names.home(node) if isinstance(node, cst.Name) else None

    @cached_property
    def _counted_up(self) -> frozenset[tuple[str, Scope | None]]:
        """What the file adds to by `assign_add`: variables, wherever they come from."""
        return frozenset(
            self._named(call.func.value)
            for call in self._walk.calls.get("assign_add", ())
            if isinstance(call.func, cst.Attribute)
        )


def _variable_of(node: cst.BaseExpression) -> cst.BaseExpression:
    """The variable that `int(step)`, `step.numpy()` or `tf.cast(step, tf.int64)` reads."""
    match node:
        case cst.Call(func=cst.Attribute(value=value, attr=cst.Name("numpy")), args=[]):
            return value
        case cst.Call(args=[cst.Arg(value=value)]) if is_name(node.func, "int"):
            return _variable_of(value)
    return node


# Where a tensor may be copied to the host, by the words alone; what is a tensor is asked there.


HOST_METHODS = ("numpy", "item")
HOST_BUILTINS = ("float", "int", "str", "format")
_COPYING = frozenset([*HOST_METHODS, *HOST_BUILTINS, "format", "get_value"])


class Copying(Part):
    """Finds the statements to look at, whoever runs them."""

    same_for_all_callers = True

    _infer: Inference

    @cached_property
    def statements(self) -> list[cst.CSTNode]:
        """The statements that may copy a tensor to the host, in the order of the text."""
        found: dict[cst.CSTNode, None] = {}
        for calls in self._walk.calls.values():
            for call in calls:
                if self._may_copy(call):
                    found[self._walk.statement_of(call)] = None
        for node in self._walk.formats:
            found[self._walk.statement_of(node)] = None
        return sorted(found, key=lambda statement: self._walk.at[statement].order)

    @cached_property
    def tests(self) -> list[cst.If | cst.While]:
        """The statements that decide how to go on."""
        found = [statement for statement in self._walk.at if isinstance(statement, cst.If | cst.While)]
        return sorted(found, key=lambda statement: self._walk.at[statement].order)

    def _may_copy(self, call: cst.Call) -> bool:
        if callee_name(call) in _COPYING or shows(self._infer, call):
            return True
        return bool(call.args) and _takes_arrays(self._infer.names.qualified(call.func))


def _takes_arrays(name: str) -> bool:
    """Whether a function of NumPy is called, which copies a tensor; `np.shape(x)` asks only for an attribute."""
    return library(name) == "numpy" and not has(name, "of-attributes")
