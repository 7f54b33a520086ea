"""Loops that cut whole arrays into batches, and convert each slice."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from tflint_perf.analysis.execution.invariance import Invariance
from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.analysis.python.syntax import callee_name, descendants, integer, same_code
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass


@dataclass(frozen=True, slots=True)
class Slice:
    """`x = tf.convert_to_tensor(images[start : start + size])`; `dtype` is there where the array has another type."""

    statement: cst.Assign
    target: cst.Name
    array: cst.BaseExpression
    dtype: cst.BaseExpression | None = None


@dataclass(frozen=True, slots=True)
class SlicingLoop:
    """A loop over the batches of arrays. `count` is the number of batches where the loop counts those."""

    loop: cst.For
    size: cst.BaseExpression
    slices: tuple[Slice, ...]
    count: cst.BaseExpression | None = None


class Slicing(Part):
    """Recognises slicing loops."""

    same_for_all_callers = True

    _infer: Inference
    _calls: CallGraph
    _invariance: Invariance

    def of_loop(self, loop: Loop) -> SlicingLoop | str:
        """The loop as one over batches, or why it can't be seen as one."""
        node = loop.node
        if not isinstance(node, cst.For) or not isinstance(node.target, cst.Name):
            return "the loop does not count through the arrays"
        counter = node.target.value
        slices = self._slices(node)
        if not slices:
            return "the loop does not slice whole arrays into batches"
        if node.orelse is not None or self._uses_counter_elsewhere(node, slices, counter):
            return f"`{counter}` is used for more than slicing"
        for part in slices:
            if self._invariance.change(part.array, loop) is not None:
                return "an array changes in the loop"
        return self._with_bounds(node, slices)

    def _slices(self, node: cst.For) -> list[Slice]:
        found = []
        for line in node.body.body:
            if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1:
                part = self._slice(line.body[0])
                if part is not None:
                    found.append(part)
        return found

    def _slice(self, statement: cst.BaseSmallStatement) -> Slice | None:
        match statement:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Name() as target)],
                value=cst.Call(args=[cst.Arg(value=cst.Subscript(value=array, slice=[_])), *others]) as call,
            ) if self._infer.names.is_call_that(call, "makes-tensor", "casts") and isinstance(
                array, cst.Name | cst.Attribute
            ):
                dtype = _dtype(others)
                if len(others) > 1 or (others and dtype is None) or _cut(statement) is None:
                    return None
                is_of_it = dtype is not None and self._has_type(array, call)
                return Slice(statement, target, array, None if is_of_it else dtype)
        return None

    def _has_type(self, array: cst.BaseExpression, call: cst.Call) -> bool:
        """Whether an array is known to have the type already that a conversion gives it."""
        known = self._infer.value(array).dtype
        return bool(known) and known == self._infer.value(call).dtype

    def _uses_counter_elsewhere(self, node: cst.For, slices: list[Slice], counter: str) -> bool:
        """Whether the counter is read outside the slices, in the loop or after it."""
        inside = {below for part in slices for below in descendants(part.statement)}
        home = self._infer.names.home(node.target) if isinstance(node.target, cst.Name) else None
        return any(
            name is not node.target and name not in inside and self._is_read_of(node, name)
            for name in self._infer.names.mentions(counter, home)
        )

    def _is_read_of(self, node: cst.For, name: cst.Name) -> bool:
        return any(
            binding.node is node.target and binding.kind == "for" for binding in self._infer.bindings(name)
        ) and not isinstance(self._infer.walk.parents.get(name), cst.AssignTarget | cst.For)

    def _with_bounds(self, node: cst.For, slices: list[Slice]) -> SlicingLoop | str:
        iterable, counter = node.iter, node.target
        if not isinstance(iterable, cst.Call) or callee_name(iterable) != "range":
            return "the loop does not count through the arrays"
        bounds = [arg.value for arg in iterable.args]
        cuts = [_cut(part.statement) for part in slices]
        if len(bounds) == 3 and integer(bounds[0]) == 0:
            size = bounds[2]
            if not all(cut is not None and _steps_by(cut, counter, size) for cut in cuts):
                return "the slices differ in size"
            if not any(self._is_length(bounds[1], part.array) for part in slices):
                return "the loop may not go through the whole arrays"
            return SlicingLoop(node, size, tuple(slices))
        if len(bounds) == 1:
            sizes = [_counted_size(cut, counter) if cut is not None else None for cut in cuts]
            size_of_first = sizes[0]
            if size_of_first is None or not all(s is not None and same_code(s, size_of_first) for s in sizes):
                return "the slices differ in size"
            return SlicingLoop(node, size_of_first, tuple(slices), bounds[0])
        return "the loop does not count through the arrays"

    def _is_length(self, node: cst.BaseExpression, array: cst.BaseExpression) -> bool:
        """`len(x)`, `x.shape[0]`, or a name for one of those."""
        match node:
            case cst.Call(func=cst.Name("len"), args=[cst.Arg(value=given)]):
                return same_code(given, array)
            case cst.Subscript(value=cst.Attribute(value=given, attr=cst.Name("shape"))):
                return same_code(given, array)
            case cst.Name():
                bindings = self._infer.bindings(node)
                values = [b.value for b in bindings if b.kind == "assign" and b.path == ()]
                return len(values) == 1 and values[0] is not None and self._is_length(values[0], array)
        return False


def _dtype(args: Sequence[cst.Arg]) -> cst.BaseExpression | None:
    """The type that a conversion names behind what it converts."""
    match args:
        case [cst.Arg(value=dtype, star="", keyword=None | cst.Name("dtype"))]:
            return dtype if isinstance(dtype, cst.Attribute | cst.SimpleString) else None
    return None


def _cut(statement: cst.Assign) -> cst.Slice | None:
    """The slice of a conversion: `[a:b]` with both bounds and no stride."""
    call = statement.value
    assert isinstance(call, cst.Call)
    part = call.args[0].value
    assert isinstance(part, cst.Subscript)
    cut = part.slice[0].slice
    if isinstance(cut, cst.Slice) and cut.lower is not None and cut.upper is not None and cut.step is None:
        return cut
    return None


def _steps_by(cut: cst.Slice, counter: cst.BaseExpression, size: cst.BaseExpression) -> bool:
    """`[i : i + size]`."""
    match cut.upper:
        case cst.BinaryOperation(left=left, operator=cst.Add(), right=right):
            return cut.lower is not None and (
                same_code(cut.lower, counter) and same_code(left, counter) and same_code(right, size)
            )
    return False


def _counted_size(cut: cst.Slice, counter: cst.BaseExpression) -> cst.BaseExpression | None:
    """The size in `[i * size : (i + 1) * size]`."""
    match cut:
        case cst.Slice(
            lower=cst.BinaryOperation(left=i, operator=cst.Multiply(), right=size),
            upper=cst.BinaryOperation(
                left=cst.BinaryOperation(left=j, operator=cst.Add(), right=one),
                operator=cst.Multiply(),
                right=again,
            ),
        ) if same_code(i, counter) and same_code(j, counter) and integer(one) == 1:
            return size if same_code(again, size) else None
    return None
