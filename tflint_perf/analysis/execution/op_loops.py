"""Loops made of TensorFlow ops: what an iteration updates, what it does besides, and whether a program runs them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.invariance import Invariance
from tflint_perf.analysis.execution.iterations import Iterations
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.tapes import is_under_tape
from tflint_perf.analysis.execution.trains import trains_by
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding, Function, Loop, Scope
from tflint_perf.analysis.python.syntax import (
    callee_name,
    calls_below,
    descendants_here,
    is_name,
    mentions,
    names_read,
    names_written,
    target_names,
)
from tflint_perf.analysis.values.bound_values import value_of_binding
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part

_ASSIGNS = frozenset(["assign", "assign_add", "assign_sub"])
_READS = frozenset(["numpy", "item", "tolist", "get_shape", "as_list", "set_shape"])
_LIST_METHODS = frozenset(["append", "extend"])
_ON_HOST = frozenset(["float", "int", "bool", "numpy", "item", "tolist"])
_PARTS = ("layer", "model", "variable", "optimizer")


class OpLoops(Part):
    """Answers what loops do with tensors."""

    _infer: Inference
    _calls: CallGraph
    _compiled: Compiled
    _loops: Loops
    _invariance: Invariance
    _iterations: Iterations

    # What an iteration leaves to the next

    def carried(self, loop: Loop) -> dict[str, list[Binding]]:
        """The names that an iteration reads as the one before it left them, with their bindings in the loop."""
        found: dict[str, list[Binding]] = {}
        if isinstance(loop.node, cst.CompFor):
            return found
        inside = set(descendants_here(loop.node))
        for name in sorted(names_written([loop.node.body])):
            for use in self._infer.names.mentions_in(loop.function, name):
                if use in inside and self._reads_last_iteration(use, loop):
                    scope, _ = self._infer.bindings_reaching(use) or (None, [])
                    bindings = scope.bindings.get(name, []) if scope is not None else []
                    found[name] = [b for b in bindings if self._invariance.is_bound_in(b, loop)]
                    break
        return found

    def _reads_last_iteration(self, use: cst.Name, loop: Loop) -> bool:
        parent = self._walk.parents.get(use)
        is_added_to = isinstance(parent, cst.AugAssign) and parent.target is use
        if not is_added_to and not is_read(self._walk.parents, use):
            return False
        # What `x += …` may add to is itself, too, in the iteration before.
        reached = self._infer.bindings(use)
        order = self._infer.place(use).order
        within = [b for b in reached if self._invariance.is_bound_in(b, loop) and b.node is not loop.node]
        return any(b.at.order >= order and b.at is not loop.at for b in within) and len(within) < len(reached)

    def updated_tensors(self, loop: Loop) -> list[str]:
        """The tensors that each iteration of `loop` computes by ops from what the one before it left."""
        return [
            name
            for name, bindings in self.carried(loop).items()
            if any(self._is_op(binding) for binding in bindings)
        ]

    def _is_op(self, binding: Binding) -> bool:
        value, scope = binding.value, self._scope_of(binding)
        if value is None or scope is None or binding.path != ():
            return False
        if binding.kind == "augment":
            return value_of_binding(self._infer, binding, scope).kind == "tensor"
        return (
            binding.kind == "assign"
            and isinstance(value, cst.BinaryOperation | cst.UnaryOperation | cst.Call)
            and self._infer.value(value).kind == "tensor"
            and not self._only_converts(binding, value)
        )

    def _only_converts(self, binding: Binding, value: cst.BaseExpression) -> bool:
        """Whether a name becomes a tensor of what it is: `angle = tf.constant(angle)`, which changes it once at most."""
        if not isinstance(value, cst.Call) or not value.args:
            return False
        name = self._infer.names.qualified(value.func)
        return has(name, "makes-tensor", "casts") and is_name(value.args[0].value, binding.name)

    def _scope_of(self, binding: Binding) -> Scope | None:
        node = binding.node
        found = self._infer.names.lookup(binding.name, self._infer.names.scope_of(node))
        return found[0] if found is not None else None

    # What else an iteration does

    def runs_ops_alone(self, loop: Loop) -> bool:
        """Whether `loop` calls nothing but ops, and functions that show or collect their results."""
        body = loop.node.body if not isinstance(loop.node, cst.CompFor) else None
        return body is not None and all(self.is_op_call(call, 0) for call in calls_below(body))

    def follows_gradients(self, loop: Loop) -> bool:
        """Whether `loop` asks a tape for gradients, by ops and models alone, and changes no variable by them: it looks
        for an input, and trains no model."""
        own = list(calls_below(loop.node.body)) if not isinstance(loop.node, cst.CompFor) else []
        calls = list(own)
        for call in calls:
            calls += [
                inner for target in self._calls.targets(call) for inner in target.calls if inner not in calls
            ]
        return (
            any(callee_name(call) == "gradient" for call in calls)
            and not any(callee_name(call) in _ASSIGNS or trains_by(self._infer, call) for call in calls)
            and all(self.is_op_call(call, 0, gradients=True) for call in own)
        )

    def is_op_call(self, call: cst.Call, depth: int, *, gradients: bool = False) -> bool:
        """Whether `call` runs ops alone, or shows what they gave; with `gradients`, models and tapes as well."""
        name = builtin_or_qualified(self._infer, call.func)
        kind = self._infer.value(call).kind
        if has(name, "harmless") or (gradients and self._is_of_tape(call, name)):
            return True
        if has(name, "loss") or (not name and self._infer.value(call.func).kind == "loss"):
            return True
        if has(name, "ops"):
            return kind in ("tensor", "list", "tuple") or has(name, "tensor-array")
        if name or depth > CALLS_DEEP:
            return False
        targets = self._calls.targets(call)
        if targets:
            return all(self._runs_ops(target, depth + 1, gradients=gradients) for target in targets)
        return isinstance(call.func, cst.Attribute) and self._is_op_method(call.func)

    def _is_of_tape(self, call: cst.Call, name: str) -> bool:
        """Whether `call` opens a tape, asks it, or runs a model or loss for it."""
        if fact(name, "gives") == "tape" or self._infer.value(call.func).kind in ("model", "layer", "loss"):
            return True
        return isinstance(call.func, cst.Attribute) and self._infer.value(call.func.value).kind == "tape"

    def _is_op_method(self, func: cst.Attribute) -> bool:
        base, name = self._infer.value(func.value).kind, func.attr.value
        if name in _READS:
            return True
        if base in ("tensor", "variable"):
            return True
        if base == "list":
            return name in _LIST_METHODS
        return base == "string" and name in ("format", "join")

    @remembered
    def _runs_ops(self, function: Function, depth: int, *, gradients: bool) -> bool:
        """Whether `function` does nothing but run ops."""
        if self._compiled.is_traced(function) or function.yields:
            return False
        return all(self.is_op_call(call, depth, gradients=gradients) for call in function.calls)

    def is_steered(self, loop: Loop) -> bool:
        """Whether the host decides how `loop` goes on, by what is computed in it."""
        written = names_written([loop.node.body]) if not isinstance(loop.node, cst.CompFor) else set()
        return any(self._is_host_test(test, loop, written) for test in _tests(loop))

    def _is_host_test(self, test: cst.BaseExpression, loop: Loop, written: set[str]) -> bool:
        for node in descendants_here(test):
            if isinstance(node, cst.Call):
                name = builtin_or_qualified(self._infer, node.func)
                if has(name, "ops") or (name or callee_name(node)) in _ON_HOST:
                    return True
            if isinstance(node, cst.Name) and node.value in written and not self._is_counter(node, loop):
                return True
        return False

    def _is_counter(self, name: cst.Name, loop: Loop) -> bool:
        """Whether all that `loop` does to `name` is to count: `i += 1`."""
        scope = self._infer.names.lookup(name.value, self._infer.names.scope_of(name))
        within = [b for b in scope[1] if self._invariance.is_bound_in(b, loop)] if scope is not None else []
        return bool(within) and all(
            (added := _added(b)) is not None and self._infer.integers.most(added) is not None for b in within
        )

    def counts(self, loop: Loop) -> bool:
        """Whether `loop` is a `while` that counts: `while i < n:` with `i += 1` in it."""
        if not isinstance(loop.node, cst.While) or not isinstance(loop.node.test, cst.Comparison):
            return False
        test = loop.node.test
        return any(
            isinstance(side, cst.Name) and self._is_counter(side, loop)
            for side in (test.left, *(part.comparator for part in test.comparisons))
        )

    def builds_ops(self, loop: Loop) -> bool:
        """Whether `loop` computes with tensors."""
        if isinstance(loop.node, cst.CompFor):
            return False
        for node in descendants_here(loop.node.body):
            match node:
                case cst.Call() if self._infer.value(node).kind == "tensor":
                    name = self._infer.names.qualified(node.func)
                    if not name or has(name, "ops"):
                        return True
                case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.Is() | cst.IsNot())]):
                    pass
                case cst.BinaryOperation() | cst.Comparison() if self._infer.value(node).kind == "tensor":
                    return True
                case cst.Subscript(value=cst.Name() as base, slice=[_, _, *_]) if self._is_tensor_given(base):
                    return True
        return False

    def _is_tensor_given(self, name: cst.Name) -> bool:
        """Whether `name` is a parameter of compiled code: one that is cut along several axes is a tensor."""
        found = self._infer.bindings_reaching(name)
        if found is None or found[0].function is None or not self._compiled.is_traced(found[0].function):
            return False
        return all(binding.kind == "param" for binding in found[1])

    def takes_parts(self, loop: Loop) -> bool:
        """Whether `loop` picks a layer, a variable or another object by its counter in each iteration."""
        counter = self._iterations.counter(loop)
        if counter is None or isinstance(loop.node, cst.CompFor):
            return False
        for node in descendants_here(loop.node.body):
            match node:
                case cst.Subscript(slice=[cst.SubscriptElement(cst.Index(index))]) if mentions(
                    index, {counter.value}
                ):
                    if self._infer.value(node.value).kind not in ("tensor", "array", "variable"):
                        return True
                case cst.FormattedString() if mentions(node, {counter.value}):
                    if not self._is_shown(node):
                        return True
                case cst.Call() if callee_name(node) in ("getattr", "str") and mentions(
                    node, {counter.value}
                ):
                    return True
                case cst.Call() if self._infer.value(node).kind in _PARTS:
                    return True
        return False

    def works_on_text(self, loop: Loop) -> bool:
        """Whether `loop` goes over Python's strings and does with one what can't be done with a tensor: asks for its first
        letter, or puts it into a pattern."""
        if not isinstance(loop.node, cst.For):
            return False
        names = {name.value for name in target_names(loop.node.target)}
        return any(
            name.value in names
            and self._infer.value(name).kind == "string"
            and not isinstance(self._walk.parents.get(name), cst.Arg)
            and not self._is_shown(name)
            for name in names_read(loop.node.body)
        )

    def _is_shown(self, node: cst.CSTNode) -> bool:
        """Whether `node` is, or is in, a string that is printed."""
        current = self._walk.parents.get(node)
        while current is not None and not isinstance(current, cst.Call):
            current = self._walk.parents.get(current)
        return isinstance(current, cst.Call) and callee_name(current) in ("print", "info", "debug")

    # Where a loop runs

    def runs_in_eager_program(self, loop: Loop, *, taped: bool = False) -> bool:
        """Whether an eager program is seen to run `loop`: a script, or the loop of its training, here or in another file;
        under a tape, as a part of a gradient step, only where `taped` says so.

        A function that nothing calls may be compiled by someone else; so may what it calls.
        """
        if not self._compiled.is_eager(loop.node) or (not taped and is_under_tape(self._infer, loop.node)):
            return False
        function = self._calls.function_at(loop.node)
        switched_off = function is not None and self._compiled.is_switched_off(function)
        return not switched_off and self._is_in_program(function, set(), taped)

    def _is_in_program(self, function: Function | None, seen: set[Function], taped: bool) -> bool:
        if function is None:
            return True
        if function in seen or self._compiled.state(function) != "eager":
            return False
        seen.add(function)
        if function.name == "main" or any(self._loops.kind(loop) != "none" for loop in function.loops):
            return True
        return any(
            self._is_in_program(self._calls.function_at(call), seen, taped)
            and (taped or not is_under_tape(self._infer, call))
            for call in self._calls.sites(function)
        ) or any(
            caller.how == "call"
            and caller.state == "eager"
            and caller.per_step
            and (taped or not caller.taped)
            for caller in self._calls.callers_outside(function)
        )


def _added(binding: Binding) -> cst.BaseExpression | None:
    """What a binding adds to what its name was: `i += 1`, `i = i + 1`."""
    match binding:
        case Binding(kind="augment"):
            return binding.value
        case Binding(
            kind="assign",
            value=cst.BinaryOperation(left=cst.Name(value=name), operator=cst.Add(), right=added),
        ) if name == binding.name:
            return added
    return None


def is_read(parents: dict[cst.CSTNode, cst.CSTNode], node: cst.Name | cst.Attribute) -> bool:
    """Whether `node` is read here, rather than assigned."""
    current: cst.CSTNode = node
    parent = parents.get(node)
    while isinstance(parent, cst.Element | cst.Tuple | cst.List | cst.StarredElement):
        current, parent = parent, parents.get(parent)
    match parent:
        case cst.AssignTarget() | cst.Del() | cst.AsName():
            return False
        case cst.AnnAssign() | cst.AugAssign() | cst.For() | cst.CompFor() | cst.NamedExpr():
            return parent.target is not current
    return True


def _tests(loop: Loop) -> Iterator[cst.BaseExpression]:
    """The conditions that decide how `loop` goes on."""
    if isinstance(loop.node, cst.CompFor):
        return
    if isinstance(loop.node, cst.While):
        yield loop.node.test
    for node in descendants_here(loop.node.body):
        if isinstance(node, cst.If | cst.While | cst.IfExp | cst.Assert):
            yield node.test
