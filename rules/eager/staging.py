"""What stands against making a loop of the graph of a Python loop: `tf.range` in the place of `range`."""

from __future__ import annotations

from typing import Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.iterations import Iterations
from tflint_perf.analysis.execution.op_loops import OpLoops, is_read
from tflint_perf.analysis.python.obstacles import Obstacle
from tflint_perf.analysis.python.scopes import Binding, Function, Loop, Scope
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    descendants_here,
    has_stars,
    integer,
    keyword_argument,
    mentions,
    names_read,
    names_written,
    statements_of,
    target_names,
)
from tflint_perf.analysis.rewriting.tracing import Tracing
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.scalars import Scalars

_GROWING = frozenset(["append", "extend", "insert", "add", "update", "pop", "setdefault", "remove", "clear"])
_FILLING = frozenset(["append", "extend", "insert"])
_ARITHMETIC = (cst.Add, cst.Subtract, cst.Multiply, cst.FloorDivide, cst.Modulo)


class Staging(Part):
    """Answers why a loop over `range` can't be one over `tf.range`."""

    _infer: Inference
    _calls: CallGraph
    _compiled: Compiled
    _tracing: Tracing
    _scalars: Scalars
    _iterations: Iterations
    _op_loops: OpLoops

    def is_converted(self, function: Function) -> bool:
        """Whether AutoGraph is known to convert the loops of `function`: Keras leaves its methods as they are."""
        return self._is_converted(function, set())

    def _is_converted(self, function: Function, seen: set[Function]) -> bool:
        if function in seen:
            return True
        seen.add(function)
        for decorator in (given.decorator for given in function.decorators):
            if self._infer.names.qualified(decorator).endswith("do_not_convert"):
                return False
            if self._infer.compiles(decorator):
                return not self._is_switched_off(decorator)
        if self._compiled.is_traced(function):
            wrappers = [call for call in self._walk.calls.get("function", ()) if self._wraps(call, function)]
            return bool(wrappers) and not any(map(self._is_switched_off, wrappers))
        callers = [self._calls.function_at(call) for call in self._calls.sites(function)]
        return bool(callers) and all(
            caller is not None and self._is_converted(caller, seen) for caller in callers
        )

    def _wraps(self, call: cst.Call, function: Function) -> bool:
        """Whether a call is `tf.function(function)`."""
        return (
            bool(call.args)
            and self._infer.compiles(call.func)
            and (self._infer.value(call.args[0].value).function is function)
        )

    @staticmethod
    def _is_switched_off(maker: cst.BaseExpression) -> bool:
        return isinstance(maker, cst.Call) and keyword_argument(maker, "autograph") is not None

    def obstacle(self, loop: Loop) -> Obstacle | None:
        """The first thing that `tf.range` would change or break; None where nothing is known against it."""
        node = loop.node
        if not isinstance(node, cst.For) or not self._runs_over_range(node):
            return Obstacle(node, "it does not loop over `range` alone")
        if node.orelse is not None:
            return Obstacle(node, "it has an `else`")
        return (
            self._in_control_flow(node)
            or self._tracing.obstacle_in_statements(
                statements_of(node.body), self._calls.function_at(node), moved=False
            )
            or self._in_calls(node)
            or self._in_counter(loop, node)
            or self._in_names(loop, node)
        )

    def _runs_over_range(self, node: cst.For) -> bool:
        iterable = node.iter
        return (
            isinstance(iterable, cst.Call)
            and isinstance(node.target, cst.Name)
            and builtin_or_qualified(self._infer, iterable.func) == "range"
            and not has_stars(iterable)
        )

    def _in_control_flow(self, node: cst.For) -> Obstacle | None:
        parts = list(descendants_here(node.body))
        for part in parts:
            if isinstance(part, cst.Break | cst.Continue | cst.Return):
                return Obstacle(part, f"`{type(part).__name__.lower()}` leaves the loop")
        for part in parts:
            match part:
                case cst.If() | cst.While() | cst.IfExp():
                    if self._changes(part.test, node):
                        return Obstacle(part, "a condition in it changes from iteration to iteration")
                case cst.FunctionDef() | cst.Lambda() | cst.ClassDef():
                    return Obstacle(part, "a function is defined in it")
                case cst.With() | cst.Try() | cst.Match() | cst.Assert():
                    return Obstacle(part, f"it contains `{type(part).__name__.lower()}`")
        return None

    def _changes(self, test: cst.BaseExpression, node: cst.For) -> bool:
        changed = names_written([node.body]) | {name.value for name in target_names(node.target)}
        return any(isinstance(part, cst.Name) and part.value in changed for part in descendants(test))

    def fills_list(self, loop: Loop) -> bool:
        """Whether the loop puts something into a list, where one of the graph needs a `tf.TensorArray`."""
        return any(
            callee_name(call) in _FILLING and self._infer.value(call.func.value).kind == "list"
            for call in loop.calls
            if isinstance(call.func, cst.Attribute)
        )

    def _in_calls(self, node: cst.For) -> Obstacle | None:
        for part in descendants_here(node.body):
            if not isinstance(part, cst.Call):
                if isinstance(part, cst.Subscript) and isinstance(
                    self._walk.parents.get(part), cst.AssignTarget
                ):
                    return Obstacle(part, "it writes to a container")
                continue
            name = callee_name(part)
            base = self._infer.value(part.func.value) if isinstance(part.func, cst.Attribute) else None
            if name in _GROWING and base is not None and base.kind in ("list", "dict", "unknown"):
                return Obstacle(
                    part, f"`.{name}()` adds to a Python container; a `tf.TensorArray` can hold tensors"
                )
            known = self._infer.value(part).kind in ("tensor", "list", "tuple")
            if not known and not self._calls.targets(part) and not self._is_of_tensor_array(part):
                return Obstacle(part, f"what `{name}` does is not known")
        return None

    def _is_of_tensor_array(self, call: cst.Call) -> bool:
        base = self._infer.value(call.func.value) if isinstance(call.func, cst.Attribute) else None
        return base is not None and has(base.name, "tensor-array")

    # The counter

    def _in_counter(self, loop: Loop, node: cst.For) -> Obstacle | None:
        counter = self._iterations.counter(loop)
        if counter is None:
            return Obstacle(node, "it does not loop over `range` alone")
        inside = set(descendants(node))
        for use in self._mentions(counter.value, loop):
            if use is counter or not is_read(self._walk.parents, use):
                continue
            if use in inside:
                if not self._takes_tensor(use):
                    return Obstacle(use, f"`{counter.value}` is used as a Python number")
            elif self._sees(use, loop):
                return Obstacle(use, f"`{counter.value}` is read after the loop")
        return None

    def _home(self, name: str, loop: Loop) -> Scope | None:
        """The scope of a name that a loop binds."""
        names = self._infer.names
        found = names.lookup(name, names.scope_of(loop.node))
        return found[0] if found is not None else None

    def _mentions(self, name: str, loop: Loop) -> list[cst.Name]:
        """The mentions of a name that a loop binds, and those in the loop that mean something else."""
        found = self._infer.names.mentions(name, self._home(name, loop))
        known = set(found)
        others = (node for node in names_read(loop.node) if node.value == name and node not in known)
        return [*found, *others]

    def _sees(self, use: cst.Name, loop: Loop) -> bool:
        """Whether a name outside the loop may have the value that its target had last."""
        return any(b.at is loop.at and b.kind == "for" for b in self._infer.bindings(use))

    def _takes_tensor(self, use: cst.Name) -> bool:
        """Whether the counter may be a tensor where it stands: as the index of one, or given to an op that takes it."""
        node: cst.CSTNode = use
        parent = self._walk.parents.get(node)
        while isinstance(parent, cst.BinaryOperation):
            other = parent.right if node is parent.left else parent.left
            if not isinstance(parent.operator, _ARITHMETIC) or self._infer.integers.most(other) is None:
                return False
            node, parent = parent, self._walk.parents.get(parent)
        if isinstance(parent, cst.Index):
            element = self._walk.parents.get(parent)
            subscript = self._walk.parents.get(element) if element is not None else None
            return isinstance(subscript, cst.Subscript) and self._is_tensor(subscript)
        if isinstance(parent, cst.Arg):
            call = self._walk.parents.get(parent)
            if not isinstance(call, cst.Call):
                return False
            if self._is_of_tensor_array(call):
                return callee_name(call) in ("write", "read") and call.args[0] is parent
            return self._infer.names.is_call_that(call, "takes-counters")
        return False

    def _is_tensor(self, node: cst.Subscript) -> bool:
        if self._infer.value(node.value).kind in ("tensor", "variable"):
            return True
        # Only arrays and tensors have several axes; what a compiled function is given is a tensor by then.
        found = self._infer.bindings_reaching(node.value) if isinstance(node.value, cst.Name) else None
        return len(node.slice) > 1 and found is not None and all(b.kind == "param" for b in found[1])

    # What the loop leaves behind

    def _in_names(self, loop: Loop, node: cst.For) -> Obstacle | None:
        carried = self._op_loops.carried(loop)
        for name in sorted(names_written([node.body])):
            read_after = self._read_after(name, loop)
            if name not in carried and read_after is None:
                continue
            entry = self._entries(name, loop)
            if not entry:
                return Obstacle(node, f"`{name}` has no value before the loop")
            found = self._in_carried(name, carried.get(name) or self._bound_in(name, loop), entry)
            if found is not None:
                return found
        return None

    def _read_after(self, name: str, loop: Loop) -> cst.Name | None:
        inside = set(descendants(loop.node))
        for use in self._infer.names.mentions(name, self._home(name, loop)):
            if use not in inside and is_read(self._walk.parents, use):
                if any(b.node in inside for b in self._infer.bindings(use)):
                    return use
        return None

    def _bound_in(self, name: str, loop: Loop) -> list[Binding]:
        scope = self._infer.names.scope_of(loop.node)
        inside = set(descendants(loop.node))
        return [binding for binding in scope.bindings.get(name, ()) if binding.node in inside]

    def _entries(self, name: str, loop: Loop) -> list[Binding]:
        """What gives a name its value before the loop."""
        inside = set(descendants(loop.node))
        found: list[Binding] = []
        for binding in self._bound_in(name, loop) or ():
            use = binding.node
            for other in self._infer.bindings(use):
                if other.node not in inside and other not in found:
                    found.append(other)
        return found

    def _in_carried(self, name: str, bindings: list[Binding], entry: list[Binding]) -> Obstacle | None:
        """What stands against a name that iterations hand on: a Python value, or a shape that may change."""
        for binding in entry:
            value = binding.value if binding.kind == "assign" and binding.path == () else None
            if value is None:
                return Obstacle(binding.node, f"the shape of `{name}` before the loop is not known")
            if isinstance(value, cst.Integer) or self._infer.value(value).kind not in (
                "tensor",
                "number",
                "object",
            ):
                return Obstacle(value, f"`{name}` is not a tensor before the loop")
        scalar = all(b.value is not None and self._is_scalar(b.value) for b in entry)
        full = all(b.value is not None and full_tensor(self._infer, b.value) for b in entry)
        for binding in bindings:
            if binding.value is None or binding.path != ():
                return Obstacle(binding.node, f"the shape of `{name}` may change")
            if self._is_array_write(binding.value, name):
                continue
            if not keeps_shape(
                self._infer, self._scalars, binding.value, name, full=full, augments=binding.kind == "augment"
            ) and not (scalar and self._is_scalar(binding.value)):
                return Obstacle(binding.value, f"the shape of `{name}` may change")
        return None

    def _is_scalar(self, node: cst.BaseExpression) -> bool:
        return isinstance(node, cst.Float) or self._scalars.is_scalar(node) is True

    def _is_array_write(self, value: cst.BaseExpression, name: str) -> bool:
        """`outputs = outputs.write(i, x)`."""
        return (
            isinstance(value, cst.Call)
            and callee_name(value) == "write"
            and self._is_of_tensor_array(value)
            and mentions(value.func, {name})
        )


# Expressions that have the shape of a tensor that they are computed from.


# "same": the shape of the name asked about; "other": a shape that is not known to be that.
Shape = Literal["same", "scalar", "other"]

_OPERATORS = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.Power)


def keeps_shape(
    infer: Inference,
    scalars: Scalars,
    node: cst.BaseExpression,
    name: str,
    *,
    full: bool,
    augments: bool = False,
) -> bool:
    """Whether `node`, computed from the tensor `name`, has its shape; as `name += node` where it `augments`.

    `full` says that no axis of `name` is to be stretched, so that what is added to it has no larger shape.
    """
    shapes = _Shapes(infer, scalars, name, full)
    if augments:
        return shapes.together("same", shapes.of(node)) == "same"
    return shapes.of(node) == "same"


def full_tensor(infer: Inference, node: cst.BaseExpression) -> bool:
    """Whether a tensor is made with a shape of several axes, none of which is 1 in sight."""
    if not isinstance(node, cst.Call):
        return False
    name = infer.names.qualified(node.func)
    if has(name, "makes-like"):
        return True
    shape = argument(node, 0, "dims" if has(name, "takes-dims") else "shape")
    if not has(name, "makes-of-shape") or shape is None:
        return False
    if isinstance(shape, cst.Tuple | cst.List):
        return bool(shape.elements) and all(integer(element.value) != 1 for element in shape.elements)
    return any(isinstance(part, cst.Attribute) and part.attr.value == "shape" for part in descendants(shape))


class _Shapes:
    def __init__(self, infer: Inference, scalars: Scalars, name: str, full: bool) -> None:
        self._infer = infer
        self._scalars = scalars
        self._name = name
        self._full = full

    def of(self, node: cst.BaseExpression) -> Shape:
        match node:
            case cst.Name() if node.value == self._name:
                return "same"
            case cst.UnaryOperation(operator=cst.Minus()):
                return self.of(node.expression)
            case cst.BinaryOperation(operator=cst.MatrixMultiply()):
                return self._product(node.left, node.right)
            case cst.BinaryOperation() if isinstance(node.operator, _OPERATORS):
                return self.together(self.of(node.left), self.of(node.right))
            case cst.Call():
                found = self._of_call(node)
                if found != "other":
                    return found
        return "scalar" if self._is_scalar(node) else "other"

    def together(self, left: Shape, right: Shape) -> Shape:
        """The shape of an element-wise op on two values."""
        if left == right:
            return left
        if "same" in (left, right):
            return "same" if self._full or "scalar" in (left, right) else "other"
        return "other"

    def _of_call(self, call: cst.Call) -> Shape:
        qualified = self._infer.names.qualified(call.func)
        if not call.args:
            return "other"
        given = [arg.value for arg in call.args if arg.keyword is None]
        shape = fact(qualified, "shape")
        if has(qualified, "casts") and given:
            # Of a tensor that iterations hand on it changes the type.
            return "scalar" if self.of(given[0]) == "scalar" else "other"
        if shape == "kept" and given:
            return self.of(given[0])
        if shape == "broadcast" and len(given) == 2:
            return self.together(self.of(given[0]), self.of(given[1]))
        if shape == "product" and len(given) == 2:
            return self._product(*given)
        return "other"

    def _product(self, left: cst.BaseExpression, right: cst.BaseExpression) -> Shape:
        """A product that is multiplied by the same matrix again has kept its shape: else it would not fit."""
        return "same" if "same" in (self.of(left), self.of(right)) else "other"

    def _is_scalar(self, node: cst.BaseExpression) -> bool:
        return self._infer.value(node).kind == "number" or self._scalars.is_scalar(node) is True
