"""Where a value turns up again: in the names that a loop gives its parts, and where an attribute that holds it is read."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.conventions import names_a_figure
from tflint_perf.analysis.python.syntax import integer, is_name, target_names
from tflint_perf.analysis.python.walk import Walk
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import with_targets


def is_written(walk: Walk, node: cst.CSTNode) -> bool:
    """Whether `node`, a name or attribute, is assigned to."""
    current = node
    parent = walk.parents.get(node)
    while isinstance(parent, cst.Element | cst.Tuple | cst.List | cst.StarredElement):
        current, parent = parent, walk.parents.get(parent)
    match parent:
        case cst.AssignTarget():
            return True
        case cst.AnnAssign() | cst.AugAssign() | cst.For() | cst.CompFor():
            return parent.target is current
    return False


def is_put_into(walk: Walk, node: cst.CSTNode) -> bool:
    """Whether something is put into what `node` is, and nothing taken: `node[i] = x`, `node[i][j] += x`."""
    parent = walk.parents.get(node)
    while isinstance(parent, cst.Subscript) and parent.value is node:
        node, parent = parent, walk.parents.get(parent)
    return isinstance(node, cst.Subscript) and is_written(walk, node)


def is_appended_to(walk: Walk, node: cst.CSTNode) -> bool:
    """Whether a name stands in `name.append`."""
    parent = walk.parents.get(node)
    return isinstance(parent, cst.Attribute) and parent.attr.value == "append"


def is_filled(walk: Walk, node: cst.CSTNode) -> bool:
    """Whether a statement only adds to what a name stands for, or to a part of it: `history["loss"].append(x)`."""
    parent = walk.parents.get(node)
    while isinstance(parent, cst.Subscript) and parent.value is node:
        node, parent = parent, walk.parents.get(parent)
    call = walk.parents.get(parent) if is_appended_to(walk, node) and parent is not None else None
    return isinstance(call, cst.Call) and isinstance(walk.parents.get(call), cst.Expr)


def is_tested(walk: Walk, node: cst.CSTNode) -> bool:
    """Whether an `if` asks for a value, alone or compared with others."""
    parent = walk.parents.get(node)
    while isinstance(
        parent, cst.Comparison | cst.ComparisonTarget | cst.BooleanOperation | cst.UnaryOperation
    ):
        node, parent = parent, walk.parents.get(parent)
    return isinstance(parent, cst.If) and parent.test is node


def part_taken(subscript: cst.Subscript, path: tuple[int, ...]) -> tuple[int, ...] | None:
    """What of the part behind `path` is left when an index is taken, from the end any; None where another part is."""
    match subscript.slice:
        case [cst.SubscriptElement(slice=cst.Index(value=value))] if (
            path and (at := integer(value)) is not None
        ):
            return path[1:] if at < 0 or at == path[0] else None
    return ()


def names_over(infer: Inference, node: cst.CSTNode) -> list[cst.Name]:
    """The names that a loop over a value gives its parts: `for box in boxes`, `for box, score in zip(boxes, scores)`."""
    parents = infer.walk.parents
    outer, parent = node, parents.get(node)
    while isinstance(parent, cst.Arg) and isinstance(call := parents.get(parent), cst.Call):
        outer, parent = call, parents.get(call)
    if not isinstance(parent, cst.For | cst.CompFor) or parent.iter is not outer:
        return []
    taken = with_targets(infer, parent.iter, parent.target)
    return [
        name
        for given, target in taken
        if given is node and target is not None
        for name in target_names(target)
    ]


def reads_for_a_log(infer: Inference, target: cst.BaseExpression) -> list[cst.Attribute] | None:
    """Where the class reads `self.loss`, which one of its methods gives a value; None for other attributes."""
    if not isinstance(target, cst.Attribute) or not names_a_figure(target.attr.value):
        return None
    value = infer.value(target.value)
    if not is_name(target.value, "self") or value.kind == "unknown" or value.klass is None:
        return None
    return list(_reads(infer.walk, target.attr.value))


def _reads(walk: Walk, name: str) -> Iterator[cst.Attribute]:
    for node in walk.attributes.get(name, ()):
        if isinstance(node, cst.Attribute) and not is_written(walk, node):
            parent = walk.parents.get(node)
            # A method of that name is no attribute.
            if not (isinstance(parent, cst.Call) and parent.func is node):
                yield node
