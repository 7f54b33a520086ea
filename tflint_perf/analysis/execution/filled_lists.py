"""Lists that a loop fills sample by sample, and that make the array of a batch."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.conventions import names_experience
from tflint_perf.analysis.python.scopes import Binding, Loop
from tflint_perf.analysis.python.syntax import argument, callee_name, dotted_name
from tflint_perf.analysis.python.walk import Walk
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.new_containers import made_by


def is_filled_within(infer: Inference, node: cst.BaseExpression, loop: Loop) -> bool:
    """Whether `node` makes an array of a list that a loop within `loop` fills with computed values: `np.array(images)`."""
    given = argument(node, 0) if isinstance(node, cst.Call) else None
    if not isinstance(given, cst.Name) or not isinstance(node, cst.Call) or names_experience(given.value):
        return False
    if not infer.names.is_call_that(node, "makes-array", "joins-arrays"):
        return False
    return any(
        _is_worked_out(source) for added in _added(given.value, loop) for source in _sources(infer, added)
    )


def appends_by_name(walk: Walk) -> dict[str, list[cst.Call]]:
    """The calls of `append` on a name, by the name."""
    found: dict[str, list[cst.Call]] = {}
    for call in walk.calls.get("append", ()):
        if isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Name):
            found.setdefault(call.func.value.value, []).append(call)
    return found


def _added(name: str, loop: Loop) -> Iterator[cst.BaseExpression]:
    """What the loops within a loop add to a list."""
    for inner in loop.inner:
        if inner.iterable is not None and names_experience(dotted_name(inner.iterable)):
            continue
        for call in inner.calls:
            if callee_name(call) == "append" and dotted_name(call.func) == f"{name}.append" and call.args:
                yield call.args[0].value


def _sources(infer: Inference, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """An expression, and where it is a name what was assigned to it."""
    yield node
    for binding in infer.bindings(node):
        if binding.kind == "assign" and binding.value is not None:
            yield binding.value


def _is_worked_out(node: cst.BaseExpression) -> bool:
    """Whether `node` makes a sample, rather than picks it or counts."""
    if isinstance(node, cst.BinaryOperation):
        picked = isinstance(node.left, cst.Subscript | cst.Call | cst.Name)
        return picked and isinstance(node.operator, cst.Divide | cst.Subtract)
    return isinstance(node, cst.Call) and not has(callee_name(node), "counts")


def is_empty_list(infer: Inference, binding: Binding) -> bool:
    """Whether `binding` gives its name an empty list."""
    made = made_by(infer, binding)
    return made is not None and made.kind == "list" and made.is_empty
