"""Work that is done one row of a tensor at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.iterations import Iterations
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.op_loops import OpLoops
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.python.scopes import Binding, Loop
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    calls_below,
    descendants_here,
    mentions,
    names_read,
    names_written,
)
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import with_targets
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Value
from tflint_perf.analysis.values.written import written_out
from tflint_perf.records import dataclass

# "list": `[int(i) for i in t]`; "ops": ops on one row after the other; "stack": rows of host data made tensors one
# by one, and put together again.
RowForm = Literal["list", "ops", "stack"]

_ON_HOST = frozenset(["numpy", "item", "tolist", "print", "float", "int", "str", "tf.print"])
_KIND_QUESTIONS = frozenset({"isinstance", "type", "is_tensor", "hasattr"})


@dataclass(frozen=True, slots=True)
class RowLoop:
    """A loop over rows. `node` is the loop or comprehension, `tensor` what it takes the rows of."""

    node: cst.CSTNode
    form: RowForm
    tensor: cst.BaseExpression


class Rows(Part):
    """Finds loops over the rows of tensors."""

    _infer: Inference
    _compiled: Compiled
    _loops: Loops
    _iterations: Iterations
    _op_loops: OpLoops

    def __post_init__(self) -> None:
        self._found: list[RowLoop] | None = None

    def all(self) -> list[RowLoop]:
        """Every loop over the rows of a tensor that is known to run in eager mode, in the order of the text."""
        if self._found is None:
            self._found = [row for loop in self._walk.loops.values() for row in self._of_loop(loop)]
        return self._found

    def takes_rows(self, loop: Loop) -> bool:
        """Whether `loop` takes the rows of a tensor one by one."""
        return any(row.node is loop.node for row in self.all())

    def _of_loop(self, loop: Loop) -> Iterator[RowLoop]:
        if isinstance(loop.node, cst.CompFor):
            yield from self._of_comprehension(loop, loop.node)
        elif isinstance(loop.node, cst.For):
            tensor = self._rows_of(loop, loop.node)
            if tensor is None or not self._computes_alone(loop):
                return
            # A loss that a tape records is computed row by row, too.
            if self._loops.kind(loop) == "none" and self._op_loops.runs_in_eager_program(loop, taped=True):
                yield RowLoop(loop.node, "ops", tensor)

    # `for` loops

    def _rows_of(self, loop: Loop, node: cst.For) -> cst.BaseExpression | None:
        """The tensor whose rows `loop` takes one by one to compute with them."""
        counter = self._iterations.counter(loop)
        if counter is None:
            return next(
                (
                    iterated
                    for iterated, target in with_targets(self._infer, node.iter, node.target)
                    if isinstance(target, cst.Name)
                    and self._is_long_tensor(iterated)
                    and self._is_computed(node, target.value)
                ),
                None,
            )
        if not self._iterations.are_many(loop, traced=False):
            return None
        for part in descendants_here(node.body):
            if isinstance(part, cst.Subscript) and self._is_row(part, counter.value, loop):
                if self._feeds_op(part):
                    return part.value
        return None

    def _computes_alone(self, loop: Loop) -> bool:
        """Whether `loop` runs only ops, which could run on all rows at once."""
        return (
            self._op_loops.runs_ops_alone(loop)
            and not self._op_loops.is_steered(loop)
            and not any(map(self._goes_by_row, calls_below(loop.node)))
            and self._is_reduction(loop)
        )

    def _is_long_tensor(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a tensor that may have many rows to iterate over."""
        value = self._infer.value(node)
        return (
            value.kind == "tensor" and not self._is_short(node, value) and not self._is_asked_for_kind(node)
        )

    def _is_asked_for_kind(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is under a check whether it is a list: `if isinstance(outputs, list):`."""
        names = {name.value for name in names_read(node)}
        current = self._walk.parents.get(node)
        while current is not None and not isinstance(current, cst.FunctionDef):
            if isinstance(current, cst.If):
                for call in calls_below(current.test):
                    if callee_name(call) in _KIND_QUESTIONS and mentions(call, names):
                        return True
            current = self._walk.parents.get(current)
        return False

    def _is_short(self, node: cst.BaseExpression, value: Value) -> bool:
        """Whether `node` is a tensor that counts, holds sizes, is seen to have few rows, or is a row itself."""
        if has(value.name, "few-rows"):
            return True
        if isinstance(node, cst.Subscript):
            return True
        if isinstance(node, cst.Name):
            found = self._infer.bindings_reaching(node)
            return found is None or any(self._binds_short(binding) for binding in found[1])
        if isinstance(node, cst.Call):
            given = argument(node, 0)
            if has(value.name, "makes-tensor"):
                items = written_out(self._infer, given)
                return items is not None and len(items) <= 16
            first = self._first_size(node, value)
            return first is not None and first <= 16
        return False

    def _first_size(self, node: cst.Call, value: Value) -> int | None:
        """The number of rows where the shape is in sight: `tf.zeros((4, 2))`."""
        shape = argument(node, 0, "shape")
        if not has(value.name, "takes-shape"):
            return None
        sizes = written_out(self._infer, shape)
        return self._infer.integers.most(sizes[0]) if sizes else None

    def _binds_short(self, binding: Binding) -> bool:
        if binding.kind in ("for", "comprehension"):
            # A row, unless it is a batch of a dataset.
            return binding.value is None or self._infer.value(binding.value).kind not in ("dataset", "iterator",
                                                                                         "generator")  # fmt: skip
        if binding.kind != "assign" or binding.value is None:
            return binding.kind != "param"
        return binding.path == () and self._is_short(binding.value, self._infer.value(binding.value))

    def _is_computed(self, node: cst.For, row: str) -> bool:
        """Whether ops take the row `node`."""
        return any(
            isinstance(part, cst.Name) and part.value == row and self._feeds_op(part)
            for part in descendants_here(node.body)
        )

    def _is_row(self, node: cst.Subscript, counter: str, loop: Loop) -> bool:
        """Whether `node` is a row by the counter: `t[i]`, `t[i, :]`, `t[i + n]`."""
        first = node.slice[0].slice
        return (
            isinstance(first, cst.Index)
            and self._counts_along(first.value, counter, loop, 0)
            and self._infer.value(node.value).kind == "tensor"
            and not self._is_short(node.value, self._infer.value(node.value))
        )

    def _counts_along(self, node: cst.BaseExpression, counter: str, loop: Loop, depth: int) -> bool:
        """Whether `node` is the counter of `loop`, or as far from it in each iteration: `j` of `j = i + n`."""
        match node:
            case cst.Name(value=name) if name == counter:
                return True
            case cst.Name() if depth <= NAMES_DEEP:
                bindings = self._infer.bindings(node)
                return bool(bindings) and all(
                    binding.kind == "assign"
                    and binding.path == ()
                    and binding.value is not None
                    and binding.at.block.loop is loop
                    and self._counts_along(binding.value, counter, loop, depth + 1)
                    for binding in bindings
                )
            case cst.BinaryOperation(left=left, operator=cst.Add(), right=right):
                ways = [(left, right), (right, left)]
            case cst.BinaryOperation(left=left, operator=cst.Subtract(), right=right):
                ways = [(left, right)]
            case _:
                return False
        written = names_written([loop.node])
        return any(
            self._counts_along(counting, counter, loop, depth + 1) and not mentions(away, written)
            for counting, away in ways
        )

    def _feeds_op(self, node: cst.CSTNode) -> bool:
        """Whether `node` is an input of an op: as an operand or an argument."""
        parent = self._walk.parents.get(node)
        while isinstance(
            parent, cst.Arg | cst.Element | cst.List | cst.Tuple | cst.ListComp | cst.UnaryOperation
        ) or (isinstance(parent, cst.Subscript) and parent.value is node):
            node, parent = parent, self._walk.parents.get(parent)
        match parent:
            case cst.Call():
                name = self._infer.names.qualified(parent.func)
                if not name and self._infer.value(parent.func).kind == "loss":
                    return True
                return (
                    library(name) == "tensorflow"
                    and not has(name, "prints")
                    and self._infer.value(parent).kind == "tensor"
                )
            case cst.BinaryOperation() | cst.Comparison():
                return self._infer.value(parent).kind == "tensor"
        return False

    def _is_reduction(self, loop: Loop) -> bool:
        """Whether the iterations of `loop` pass on nothing but a sum or a list: then they could be done at once."""
        for name, bindings in self._op_loops.carried(loop).items():
            for binding in bindings:
                if binding.value is None or binding.path != ():
                    return False
                if binding.kind == "augment":
                    if mentions(binding.value, {name}):
                        return False
                elif not self._adds(binding.value, name):
                    return False
        return True

    def _adds(self, value: cst.BaseExpression, name: str) -> bool:
        """Whether `value` adds to `name`: `x + f(row)`, `tf.concat([x, row], 0)`."""
        match value:
            case cst.BinaryOperation(operator=cst.Add(), left=cst.Name(value=left)):
                return left == name and not mentions(value.right, {name})
            case cst.Call():
                return self._infer.names.is_call_that(value, "adds-on")
        return False

    # Comprehensions

    def _of_comprehension(self, loop: Loop, part: cst.CompFor) -> Iterator[RowLoop]:
        node = self._walk.parents.get(part)
        if not isinstance(node, cst.ListComp) or part.inner_for_in is not None or part.ifs:
            return
        if not isinstance(part.target, cst.Name):
            return
        indexed = self._indexed(loop, node.elt)
        if indexed is not None and self._op_loops.runs_in_eager_program(loop, taped=True):
            yield RowLoop(node, "ops", indexed)
            return
        if self._is_computed_alone(node.elt, part.target.value):
            whole = self._is_long_tensor(part.iter) and not self._is_unpacked(part.iter)
            if whole and self._op_loops.runs_in_eager_program(loop, taped=True):
                yield RowLoop(node, "ops", part.iter)
                return
        if not isinstance(node.elt, cst.Call):
            return
        given = node.elt.args[0].value if len(node.elt.args) >= 1 and not node.elt.args[0].star else None
        if not isinstance(given, cst.Name) or given.value != part.target.value:
            return
        name = builtin_or_qualified(self._infer, node.elt.func)
        if name in ("int", "float") and len(node.elt.args) == 1:
            if self._is_long_tensor(part.iter) and not self._compiled.is_compiled(node):
                yield RowLoop(node, "list", part.iter)
        elif (
            has(name, "makes-tensor") and self._is_joined(node) and self._op_loops.runs_in_eager_program(loop)
        ):
            value = self._infer.value(part.iter)
            if value.kind == "array" or (
                value.kind == "list" and self._iterations.are_many(loop, traced=False)
            ):
                yield RowLoop(node, "stack", part.iter)

    def _indexed(self, loop: Loop, element: cst.BaseExpression) -> cst.BaseExpression | None:
        """The tensor whose rows `element` takes one by one, by the counter, and computes with by ops alone:
        `[tf.image.flip_up_down(images[i]) for i in range(n)]`."""
        counter = self._iterations.counter(loop)
        if counter is None or not self._iterations.are_many(loop, traced=False):
            return None
        if any(map(self._goes_by_row, calls_below(element))):
            return None
        for part in descendants_here(element):
            if not isinstance(part, cst.Subscript) or not self._is_row(part, counter.value, loop):
                continue
            if self._feeds_op(part):
                return part.value
        return None

    def _is_computed_alone(self, element: cst.BaseExpression, row: str) -> bool:
        """Whether `element` computes with the row by ops alone: `tf.nn.sigmoid(x)`, `1 if x > 0.5 else 0`."""
        uses = [node for node in names_read(element) if node.value == row]
        return any(map(self._feeds_op, uses)) and not any(map(self._goes_by_row, calls_below(element)))

    def _is_unpacked(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is one of several results of a call, which may be lists of tensors: `logits, past = model(x)`."""
        return any(binding.path != () for binding in self._infer.bindings(node))

    def _goes_by_row(self, call: cst.Call) -> bool:
        """Whether `call` takes a row to the host, or is an op that takes one at a time."""
        name = builtin_or_qualified(self._infer, call.func)
        return (name or callee_name(call)) in _ON_HOST or has(name, "one-sample")

    def _is_joined(self, node: cst.ListComp) -> bool:
        """Whether the results of the comprehension `node` become one tensor: `tf.stack([tf.constant(x) for x in
        rows])`."""
        parent = self._walk.parents.get(node)
        call = self._walk.parents.get(parent) if isinstance(parent, cst.Arg) else None
        return (
            isinstance(call, cst.Call)
            and call.args[0] is parent
            and self._infer.names.is_call_that(call, "stacks-tensors", "makes-tensor")
            and argument(call, 1, "axis") is None
        )

    def holds_integers(self, node: cst.BaseExpression) -> bool | None:
        """Whether a tensor is known to hold integers; None where that is not known."""
        value = self._infer.value(node)
        if value.dtype:
            return value.dtype.startswith(("int", "uint"))
        return True if has(value.name, "gives-integers") else None
