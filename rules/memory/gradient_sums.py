"""Gradients of several batches that are added up in Python lists of tensors."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library
from tflint_perf.analysis.execution.tapes import GRADIENTS
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.python.flow import encloses, loops_around
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding, Function, Loop
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    is_name,
    keyed_targets,
    mentions,
    same_code,
    target_names,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import counting, sources, taken_part, with_targets
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass

# Of a subscript, only one with a constant key: `gradients["actor"]`.
Total = cst.Name | cst.Attribute | cst.Subscript


@dataclass(frozen=True, slots=True)
class GradientSum:
    """One statement that adds the gradients of a batch to a list.

    `starts_again` marks one whose list is made of zeros anew for each batch.
    """

    node: cst.CSTNode
    total: Total
    starts_again: bool


class GradientSums(Part):
    """Finds where gradients are added up in lists."""

    same_for_all_callers = True

    _infer: Inference
    _calls: CallGraph

    def all(self) -> Iterator[GradientSum]:
        """Every statement that adds up gradients of several batches in a list, in the order of the text."""
        for statement in self._walk.at:
            total = self._total_of(statement)
            kept = self._is_kept(statement, total) if total is not None else None
            if total is not None and kept is not None:
                yield GradientSum(statement, total, not kept)

    # What is added

    def _total_of(self, statement: cst.CSTNode) -> Total | None:
        """The list that `statement` adds gradients to; None for every other statement."""
        match statement:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Name() | cst.Attribute() | cst.Subscript() as total)],
                value=cst.ListComp(elt=added, for_in=cst.CompFor(inner_for_in=None) as part),
            ):
                if isinstance(total, cst.Subscript) and not any(keyed_targets(total)):
                    return None
                return total if self._adds_part(added, part, total) else None
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Name() | cst.Attribute() as total)],
                value=cst.Call(args=[cst.Arg(value=adding), *given]) as call,
            ) if self._infer.names.is_call_that(call, "calls-on-parts"):
                return total if self._adds_parts(adding, [arg.value for arg in given], total) else None
            case cst.AugAssign(
                target=cst.Subscript(value=cst.Name() | cst.Attribute() as total), operator=cst.AddAssign()
            ):
                gradient: cst.BaseExpression = statement.value
            case cst.Assign(
                targets=[
                    cst.AssignTarget(
                        target=cst.Subscript(value=cst.Name() | cst.Attribute() as total) as place
                    )
                ],
                value=added,
            ):
                found = self._added_to(added, place)
                if found is None:
                    return None
                gradient = found
            case _:
                return None
        return total if self._is_list_of_tensors(total) and self._is_one_gradient(gradient, 0) else None

    def _adds_part(self, added: cst.BaseExpression, each: cst.CompFor, total: Total) -> bool:
        """Whether `added`, in a comprehension, adds a gradient to each item of `total`."""
        pairs = [
            (given, target)
            for given, target in with_targets(self._infer, each.iter, each.target)
            if target is not None
        ]
        ours = [target for given, target in pairs if same_code(given, total)]
        if ours:
            gradients = {
                name.value
                for given, target in pairs
                if not same_code(given, total) and self._are_gradients(given, (), 0)
                for name in target_names(target)
            }
            gradient = self._added_to(added, ours[0])
            return gradient is not None and mentions(gradient, gradients)
        for place in _subscripts(added):
            if same_code(place.value, total):
                gradient = self._added_to(added, place)
                return gradient is not None and self._is_one_gradient(gradient, 0)
        return False

    def _adds_parts(self, adding: cst.BaseExpression, given: list[cst.BaseExpression], total: Total) -> bool:
        """Whether the function `adding`, which is called on the parts of what is given side by side, adds gradients to `total`."""
        if len(given) != 2 or not any(same_code(each, total) for each in given):
            return False
        if not any(not same_code(each, total) and self._are_gradients(each, (), 0) for each in given):
            return False
        if has(self._infer.names.qualified(adding), "adds-up"):
            return True
        function = self._infer.value(adding).function
        names = function.positional if function is not None else []
        return len(names) == 2 and any(
            (gradient := self._added_to(added, cst.Name(names[0]))) is not None
            and is_name(gradient, names[1])
            for added in _given_by(function)
        )

    def _added_to(self, added: cst.BaseExpression, to: cst.BaseExpression) -> cst.BaseExpression | None:
        """What `added` adds to `to`: `g` in `to + g`, `tf.add(to, g)` or `tf.add_n([to, g])`."""
        match added:
            case cst.IfExp():
                return self._added_to(added.body, to) or self._added_to(added.orelse, to)
            case cst.BinaryOperation(operator=cst.Add()):
                sides = [added.left, added.right]
            case cst.Call() if self._infer.names.is_call_that(added, "adds-up"):
                sides = [arg.value for arg in added.args[:2]]
                if len(sides) == 1 and isinstance(sides[0], cst.List | cst.Tuple):
                    sides = [element.value for element in sides[0].elements]
            case _:
                return None
        others = [side for side in sides if not same_code(side, to)]
        return others[0] if len(others) == 1 and len(sides) == 2 else None

    def _is_list_of_tensors(self, total: Total) -> bool:
        value = self._infer.value(total)
        return value.kind == "list" and (
            value.element is None or value.element.kind in ("tensor", "number", "unknown")
        )

    # Gradients

    @remembered
    def _is_one_gradient(self, node: cst.BaseExpression, depth: int) -> bool:
        """Whether `node` is computed from one of the gradients that a tape gave."""
        if depth > NAMES_DEEP:
            return False
        match node:
            case cst.Subscript():
                return self._are_gradients(node.value, (), depth + 1)
            case cst.BinaryOperation():
                return self._is_one_gradient(node.left, depth + 1) or self._is_one_gradient(
                    node.right, depth + 1
                )
            case cst.Call() if library(self._infer.names.qualified(node.func)) == "tensorflow":
                return any(self._is_one_gradient(arg.value, depth + 1) for arg in node.args)
            case cst.Name():
                return any(
                    self._runs_over_gradients(binding, depth) for binding in self._infer.bindings(node)
                )
        return False

    def _runs_over_gradients(self, binding: Binding, depth: int) -> bool:
        """Whether a loop binds a name to one gradient after the other, by itself or with `enumerate` and `zip`."""
        if binding.kind not in ("for", "comprehension") or binding.path is None or binding.value is None:
            return False
        found = taken_part(self._infer, binding.value, binding.path)
        return found is not None and not found[1] and self._are_gradients(found[0], (), depth + 1)

    @remembered
    def _are_gradients(self, node: cst.BaseExpression, path: tuple[int, ...], depth: int) -> bool:
        """Whether `node`, or the part of it that is asked for, is what a tape gave for several variables."""
        if depth > NAMES_DEEP:
            return False
        match node:
            case cst.Name():
                return any(
                    self._are_gradients(value, (*(binding.path or ()), *path), depth + 1)
                    for binding in self._infer.bindings(node)
                    for value in self._values(node, binding)
                )
            case cst.Tuple() if path:
                return path[0] < len(node.elements) and self._are_gradients(
                    node.elements[path[0]].value, path[1:], depth + 1
                )
            case cst.Subscript() if self._index(node) is not None:
                return self._are_gradients(node.value, (self._index(node) or 0, *path), depth + 1)
            case cst.ListComp() if not path:
                return self._is_one_gradient(node.elt, depth + 1)
            case cst.Call():
                return self._call_gives_gradients(node, path, depth)
        return False

    def _call_gives_gradients(self, call: cst.Call, path: tuple[int, ...], depth: int) -> bool:
        func = call.func
        if callee_name(call) in GRADIENTS and isinstance(func, cst.Attribute):
            return not path and self._infer.value(func.value).kind == "tape"
        if has(self._infer.names.qualified(func), "clips-together"):
            given = argument(call, 0, "t_list")
            return path == (0,) and given is not None and self._are_gradients(given, (), depth + 1)
        arguments = [arg.value for arg in call.args]
        if has(self._infer.names.qualified(func), "calls-on-parts"):
            return not path and any(self._are_gradients(part, (), depth + 1) for part in arguments[1:])
        run = self._calls.targets(call)
        if has(self._infer.names.qualified(func), "runs-one-of"):
            functions = [self._infer.value(each).function for each in arguments[1:]]
            run = [function for function in functions if function is not None]
        return any(
            self._are_gradients(value, path, depth + 1) for target in run for value in _given_by(target)
        )

    @staticmethod
    def _index(node: cst.Subscript) -> int | None:
        match node.slice:
            case [cst.SubscriptElement(slice=cst.Index(value=cst.Integer() as index))]:
                return int(index.evaluated_value)
        return None

    def _values(self, node: cst.Name, binding: Binding) -> list[cst.BaseExpression]:
        """What a binding gives a name: the right side, or what callers pass."""
        if binding.kind == "param":
            function = self._calls.function_at(node)
            return self._calls.arguments(function, binding.name) if function is not None else []
        return (
            [binding.value] if binding.kind == "assign" and binding.value and binding.path is not None else []
        )

    # From batch to batch

    def _is_kept(self, statement: cst.CSTNode, total: Total) -> bool | None:
        """Whether `statement` adds to a list that is kept from batch to batch; False where it starts from zero, None
        where that is open."""
        while isinstance(total, cst.Subscript):
            total = total.value  # type: ignore[assignment]
        if isinstance(total, cst.Attribute):
            return True
        read = next((name for name in self._walk.names[total.value] if self._reads(name, statement)), None)
        if read is None:
            return None
        bindings = self._infer.bindings(read)
        own = self._infer.place(total)
        loops = [loop for loop in loops_around(own.block.loop) if not self._is_over_gradients(loop)]
        if not bindings or any(binding.kind == "param" for binding in bindings):
            return None
        if any(binding.at is own for binding in bindings):
            return True
        if any(loop not in loops_around(binding.at.block.loop) for binding in bindings for loop in loops):
            return True
        if not loops or len(bindings) > 1 or not encloses(bindings[0].at.block, own.block):
            return None
        return False if self._is_zeros(bindings[0].value) else None

    def _reads(self, name: cst.Name, statement: cst.CSTNode) -> bool:
        """Whether `statement` reads the list where it mentions `name`."""
        if self._infer.place(name) is not self._walk.at[statement]:
            return False
        return not isinstance(self._walk.parents.get(name), cst.AssignTarget)

    def _is_over_gradients(self, loop: Loop) -> bool:
        """Whether `loop` runs over gradients, or over their indices."""
        if isinstance(loop.node, cst.While) or loop.iterable is None:
            return False
        counted = counting(self._infer, loop.iterable)
        if counted is not None and len(counted.args) == 1:
            length = counted.args[0].value
            return isinstance(length, cst.Call) and is_name(length.func, "len")
        return any(self._are_gradients(node, (), 0) for node in sources(self._infer, loop.iterable))

    def _is_zeros(self, node: cst.BaseExpression | None) -> bool:
        match node:
            case cst.ListComp(elt=cst.Call() as made):
                return self._infer.names.is_call_that(made, "makes-zeros")
            case cst.BinaryOperation(operator=cst.Multiply(), left=cst.List()):
                return True
        return False


def _given_by(function: Function | None) -> list[cst.BaseExpression]:
    """What `function` returns."""
    if function is not None and isinstance(function.node, cst.Lambda):
        return [function.node.body]
    return (
        [found.value for found in function.returns if found.value is not None] if function is not None else []
    )


def _subscripts(node: cst.BaseExpression) -> Iterator[cst.Subscript]:
    match node:
        case cst.Subscript():
            yield node
        case cst.BinaryOperation():
            yield from _subscripts(node.left)
            yield from _subscripts(node.right)
        case cst.Call():
            for arg in node.args:
                yield from _subscripts(arg.value)
        case cst.List() | cst.Tuple():
            for element in node.elements:
                yield from _subscripts(element.value)
        case cst.IfExp():
            yield from _subscripts(node.body)
            yield from _subscripts(node.orelse)
