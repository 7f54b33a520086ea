"""Writes to what lives outside a function, and reads of what changes between its calls: tracing would do them once."""

from __future__ import annotations

import libcst as cst

from tflint_perf.model.calls import CallGraph
from tflint_perf.model.infer import Inference
from tflint_perf.model.scopes import Binding, Function
from tflint_perf.model.syntax import dotted_name


class SideEffects:
    """Answers what stands against a write, an attribute or a name in traced code."""

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._calls = calls

    def of_write(self, node: cst.Assign | cst.AugAssign | cst.AnnAssign, function: Function | None) -> str:
        """A write to an attribute, or to a container from outside: it happens once, when the function is traced."""
        targets = [t.target for t in node.targets] if isinstance(node, cst.Assign) else [node.target]
        for target in targets:
            for part in _attributes_bound(target):
                if not (isinstance(node, cst.AugAssign) and self._infer.value(part).kind == "variable"):
                    return f"it writes to `{dotted_name(part, '…')}`"
            if isinstance(target, cst.Subscript) and is_outer(self._infer, target.value, function):
                return "it writes to a container outside the step"
        return ""

    def of_attribute(self, node: cst.Attribute, function: Function | None) -> str:
        """An attribute of `self` that methods other than the constructor change: tracing would freeze it."""
        method = function
        while method is not None and method.owner is None:
            method = method.outer  # a function nested in a method sees its `self`
        if method is None or method.owner is None or not isinstance(node.value, cst.Name):
            return ""
        if method.positional[:1] != [node.value.value]:
            return ""
        for klass in self._infer.classes.lineage(method.owner):
            for binding in klass.attributes.get(node.attr.value, ()):
                if self._changes_later(binding) and self._infer.value(node).kind not in (
                    "tensor",
                    "variable",
                    "compiled",
                ):
                    return f"`{dotted_name(node, '…')}` is reassigned between calls"
        return ""

    def _changes_later(self, binding: Binding) -> bool:
        holder = self._calls.function_at(binding.node)
        if binding.kind == "augment":
            return True
        return (
            holder is not None
            and holder.name not in ("__init__", "build", "setup", "compile", "__new__")
            and not (self._called_from_constructor(holder))
        )

    def _called_from_constructor(self, function: Function) -> bool:
        sites = self._calls.sites(function)
        return bool(sites) and all(
            (caller := self._calls.function_at(call)) is not None and caller.name == "__init__"
            for call in sites
        )

    def of_name(self, node: cst.Name) -> str:
        """A module-level name that functions change through `global`: tracing would freeze it."""
        scope = self._infer.names.scope_of(node)
        found = self._infer.names.lookup(node.value, scope)
        if found is None or found[0] is scope:
            return ""
        if any(b.at.block.scope is not found[0] and b.kind in ("assign", "augment") for b in found[1]):
            if self._infer.value(node).kind not in ("tensor", "variable"):
                return f"`{node.value}` is reassigned between calls"
        return ""


def _attributes_bound(target: cst.BaseExpression) -> list[cst.Attribute]:
    """The attributes that an assignment to `target` writes to."""
    parts = (
        [element.value for element in target.elements]
        if isinstance(target, cst.Tuple | cst.List)
        else [target]
    )
    return [part for part in parts if isinstance(part, cst.Attribute)]


def is_outer(infer: Inference, node: cst.BaseExpression, function: Function | None) -> bool:
    """Whether a container lives outside the function: an attribute, a parameter or a name of another scope."""
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
    return scope.function is not function or any(binding.kind == "param" for binding in bindings)
