"""Writes to what lives outside a function, and reads of what changes between its calls: tracing would do them once."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import libcst as cst

from tflint_perf.analysis.execution.op_loops import is_read
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding, Class, Function, Loop, Scope
from tflint_perf.analysis.python.syntax import descendants, dotted_name, is_name
from tflint_perf.analysis.rewriting.between_calls import BetweenCalls
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.mutations import places_changed

_CONSTRUCTORS = frozenset({"__init__", "build", "setup", "compile", "__new__"})
_CHANGED_BY_OPS = frozenset({"variable", "metric", "compiled"})
_TRAINED = frozenset({"trainable_variables", "trainable_weights"})
# What compiled code reads when it runs, not when it is traced.
_STATE = frozenset({"tensor", "variable", "metric", "optimizer", "model", "layer", "compiled"})


# Objects with variables of their own, which a first trace may make.
_MADE_ONCE = frozenset({"variable", "metric", "loss", "layer", "model"})


class SideEffects:
    """Answers what stands against a write, an attribute or a name in traced code."""

    def __init__(self, infer: Inference, calls: CallGraph, between_calls: BetweenCalls) -> None:
        self._infer = infer
        self._calls = calls
        self._between_calls = between_calls

    def of_write(
        self,
        node: cst.Assign | cst.AugAssign | cst.AnnAssign,
        function: Function | None,
        within: Collection[cst.CSTNode] | None,
    ) -> str:
        """A write to an attribute, or to a container from outside: it happens once, when the function is traced."""
        targets = [t.target for t in node.targets] if isinstance(node, cst.Assign) else [node.target]
        for target in targets:
            for part in _attributes_bound(target):
                if not (isinstance(node, cst.AugAssign) and self._infer.value(part).kind == "variable"):
                    return f"it writes to `{dotted_name(part, '…')}`"
            if isinstance(target, cst.Subscript) and is_outer(self._infer, target.value, function, within):
                return "it writes to a container outside the step"
        return ""

    def of_declaration(self, node: cst.Global | cst.Nonlocal, function: Function | None) -> str:
        """A `global` whose names are written to, but for what the first call alone makes: `if metric is None:`."""
        for name in dict.fromkeys(item.name.value for item in node.names):
            for target in self._infer.walk.names.get(name, ()):
                parent = self._infer.walk.parents.get(target)
                written = not isinstance(parent, cst.NameItem) and not is_read(
                    self._infer.walk.parents, target
                )
                if written and self._calls.function_at(target) is function:
                    if not self._is_made_by_first_call(target, name):
                        return "it writes to a name in another scope"
        return ""

    def _is_made_by_first_call(self, node: cst.CSTNode, name: str) -> bool:
        """Whether an object is bound to a name by the first call alone: `if metric is None: metric = Mean()`. A tensor that a
        trace makes can't be kept for the next one."""
        current: cst.CSTNode | None = node
        while current is not None and not isinstance(current, cst.Assign | cst.BaseCompoundStatement):
            current = self._infer.walk.parents.get(current)
        if not isinstance(current, cst.Assign) or self._infer.value(current.value).kind not in _MADE_ONCE:
            return False
        tests = conditions(self._infer.walk, current, exits=False)
        return any(_asks_whether_made(test, name) for test in tests)

    def of_attribute(self, node: cst.Attribute, function: Function | None, *, as_seen: bool = False) -> str:
        """An attribute that methods other than the constructor change, or what is trained: tracing would freeze it. Or else,
        `as_seen`, one that such a method is seen to bind anew between two reads."""
        if node.attr.value in _TRAINED and self._between_calls.sets_trainable(node):
            return "what is trained changes between calls"
        if self._infer.value(node).kind not in _CHANGED_BY_OPS and self._between_calls.sets_attribute(node):
            return f"`{dotted_name(node, '…')}` is set between calls"
        owner = self._class_of(node.value, function)
        for klass in self._infer.classes.lineage(owner) if owner is not None else ():
            if (
                node.attr.value in self._changed_in_place(klass)
                and self._infer.value(node).kind not in _STATE
            ):
                return f"`{dotted_name(node, '…')}` changes between calls"
            for binding in klass.attributes.get(node.attr.value, ()):
                if (
                    self._changes_later(binding)
                    and self._infer.value(node).kind != "compiled"
                    and not (as_seen and not self._between_calls.may_come_between(binding.node, node))
                ):
                    return f"`{dotted_name(node, '…')}` is reassigned between calls"
        return ""

    def _class_of(self, node: cst.BaseExpression, function: Function | None) -> Class | None:
        """The class of this file whose object `node` is: `self`, also in a function nested in a method."""
        method = function
        while method is not None and method.owner is None:
            method = method.outer
        if method is not None and method.owner is not None and isinstance(node, cst.Name):
            if method.positional[:1] == [node.value]:
                return method.owner
        value = self._infer.value(node)
        return value.klass if value.kind == "instance" else None

    @remembered
    def _changed_in_place(self, klass: Class) -> set[str]:
        """The attributes whose containers methods other than the constructor change: `self.states.append(x)`."""
        return {
            place.attr.value
            for method in klass.methods.values()
            if method.positional and not self._belongs_to_constructor(method)
            for place in self._containers_changed(method)
            if is_name(place.value, method.positional[0])
        }

    def _containers_changed(self, function: Function) -> Iterator[cst.Attribute]:
        """The attributes whose values a function changes in place: `a.b` in `a.b[0] = 1` and `a.b.append(1)`."""
        for part in descendants(function.node):
            for place in places_changed(part):
                while isinstance(place, cst.Subscript):
                    place = place.value
                # In `a.b = 1` the attribute is bound anew, which its class tells.
                parent = self._infer.walk.parents.get(place)
                if isinstance(place, cst.Attribute) and isinstance(parent, cst.Subscript | cst.Attribute):
                    yield place

    def _belongs_to_constructor(self, function: Function) -> bool:
        """Whether a function is a constructor, or runs in constructors alone, through however many calls."""
        seen, waiting, found = {function}, [function], False
        while waiting:
            current = waiting.pop()
            if current.name in _CONSTRUCTORS:
                found = True
                continue
            sites = self._calls.sites(current)
            for caller in map(self._calls.function_at, sites):
                if caller is None:
                    return False
                if caller not in seen:
                    seen.add(caller)
                    waiting.append(caller)
            if not sites:
                return False
        return found

    def _changes_later(self, binding: Binding) -> bool:
        holder = self._calls.function_at(binding.node)
        if binding.kind == "augment":
            return True
        return holder is not None and not self._belongs_to_constructor(holder)

    def of_name(self, node: cst.Name) -> str:
        """A name of an outer scope that changes between calls: tracing would freeze it."""
        scope = self._infer.names.scope_of(node)
        found = self._infer.names.lookup(node.value, scope)
        inner = self._function_below(found[0], scope) if found is not None else None
        if found is None or inner is None or self._infer.value(node).kind == "compiled":
            return ""
        around = loops_around(inner.at.block.loop)
        bindings = [
            b
            for b in found[1]
            if not (self._is_made_by_first_call(b.node, node.value) or _is_ahead_of(b, inner, found[0]))
        ]
        again = any(self._is_bound_again(binding, found[0], around) for binding in bindings)
        if again or (len(bindings) > 1 and not around and self._is_bound_later(bindings, node)):
            return f"`{node.value}` is reassigned between calls"
        if self._between_calls.changes_container(node):
            return f"`{node.value}` changes between calls"
        return ""

    def _is_bound_later(self, bindings: list[Binding], use: cst.Name) -> bool:
        """Whether a name gets another value between two calls that read it."""
        return any(b.kind == "assign" and self._between_calls.may_come_between(b.node, use) for b in bindings)

    def _function_below(self, home: Scope, scope: Scope) -> Function | None:
        """The function directly in `home` in which `scope` lies."""
        function = scope.function
        if function is None or function.scope is home:
            return None
        while function.outer is not None and function.outer.scope is not home:
            function = function.outer
        return function

    def _is_bound_again(self, binding: Binding, home: Scope, around: list[Loop]) -> bool:
        """Whether a binding stands in another function than its name's, or in a loop that is none of `around`."""
        if binding.kind not in ("assign", "augment", "for", "with"):
            return False
        if binding.at.block.scope is not home:
            return True
        loops = loops_around(binding.at.block.loop)
        if binding.kind == "for":
            loops += [loop for loop in self._infer.walk.loops.values() if loop.at is binding.at]
        return any(loop not in around for loop in loops)


def _attributes_bound(target: cst.BaseExpression) -> list[cst.Attribute]:
    """The attributes that an assignment to `target` writes to."""
    parts = (
        [element.value for element in target.elements]
        if isinstance(target, cst.Tuple | cst.List)
        else [target]
    )
    return [part for part in parts if isinstance(part, cst.Attribute)]


def is_outer(
    infer: Inference,
    node: cst.BaseExpression,
    function: Function | None,
    within: Collection[cst.CSTNode] | None = None,
) -> bool:
    """Whether a container lives outside the function: an attribute, a parameter or a name of another scope. Where only the
    statements `within` are to become a function, it does so as well where it is not made by them."""
    while isinstance(node, cst.Subscript):
        node = node.value
    if isinstance(node, cst.Attribute):
        return not infer.names.dotted(node)
    if not isinstance(node, cst.Name):
        return False
    found = infer.names.lookup(node.value, infer.names.scope_of(node))
    if found is None:
        return True
    scope, bindings = found
    owner = scope.function
    while owner is not None and owner is not function:
        owner = owner.outer  # what a function has for itself, its caller around it has not
    if owner is not function or any(binding.kind == "param" for binding in bindings):
        return True
    return within is not None and not all(_is_in(infer, binding.node, within) for binding in bindings)


def _is_in(infer: Inference, node: cst.CSTNode, statements: Collection[cst.CSTNode]) -> bool:
    current: cst.CSTNode | None = node
    while current is not None and current not in statements:
        current = infer.walk.parents.get(current)
    return current is not None


def _asks_whether_made(test: cst.CSTNode, name: str) -> bool:
    """`name is None`, `not name`."""
    match test:
        case cst.Comparison(
            left=left, comparisons=[cst.ComparisonTarget(operator=cst.Is(), comparator=cst.Name("None"))]
        ):
            return is_name(left, name)
        case cst.UnaryOperation(operator=cst.Not(), expression=asked):
            return is_name(asked, name)
    return False


def _is_ahead_of(binding: Binding, inner: Function, home: Scope) -> bool:
    """Whether a function around `inner` binds a name of its own before it makes `inner` anew: nothing is left to bind between calls."""
    return home.function is not None and binding.at.block.scope is home and binding.at.order < inner.at.order
