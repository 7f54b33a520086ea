"""Sequences whose items stand in the source: `[1, 2]`, `sizes` of `sizes = (1, 2)`, `self.sizes` likewise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.python.scopes import Binding
from tflint_perf.analysis.python.syntax import last_name, part_at
from tflint_perf.analysis.values.iterables import wrapper

if TYPE_CHECKING:
    from tflint_perf.analysis.values.infer import Inference


def written_out(infer: Inference, node: cst.BaseExpression | None) -> tuple[cst.BaseExpression, ...] | None:
    """The items of `node`, a sequence that is written out, in the order of the source (that of `sorted(…)` may be
    another); None for what is none, has items by `*`, or gets more of them elsewhere in the file."""
    seen: set[cst.CSTNode] = set()
    while node is not None and node not in seen:
        seen.add(node)
        match node:
            case cst.List() | cst.Tuple() | cst.Set():
                items = [element for element in node.elements if isinstance(element, cst.Element)]
                return tuple(item.value for item in items) if len(items) == len(node.elements) else None
            case cst.Call():
                found = wrapper(infer, node)
                keeps = found is not None and found.how.gives == "elements" and found.how.all_once
                node = found.given[0] if found is not None and keeps else None
            case cst.Name() | cst.Attribute():
                node = _bound_to(infer, node)
            case _:
                return None
    return None


def _bound_to(infer: Inference, node: cst.Name | cst.Attribute) -> cst.BaseExpression | None:
    """What a name or attribute is bound to where nothing else is, and nothing is added to it."""
    match bindings_of(infer, node):
        case [Binding(kind="assign", value=cst.BaseExpression() as value, path=path)]:
            return part_at(value, path) if not infer.contents.grows(last_name(node)) else None
    return None


def bindings_of(infer: Inference, node: cst.Name | cst.Attribute) -> list[Binding]:
    """The bindings whose value a name, or an attribute of an object or class of this file, may have where it stands."""
    if isinstance(node, cst.Attribute):
        return infer.classes.bindings_of(node) or _of_class(infer, node)
    found = infer.bindings_reaching(node)
    return found[1] if found is not None else []


def _of_class(infer: Inference, node: cst.Attribute) -> list[Binding]:
    """What the body of the nearest class binds an attribute to that nothing writes to: `batch_size = 32` below `class Config`."""
    klass, name = infer.value(node.value).klass, node.attr.value
    if klass is None or name in infer.walk.attribute_writes:
        return []
    return next(
        (each.scope.bindings[name] for each in infer.classes.lineage(klass) if name in each.scope.bindings),
        [],
    )
