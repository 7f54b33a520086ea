"""NumPy's reductions of what a step computes, of which TensorFlow has an op: `np.amax(q, axis=1)`.

In eager mode the host computes them, and the tape sees constants. A compiled step can do so itself, where that is surely the
same: of floats, or the place of the largest, and where what is made of the result takes a tensor as it takes an array.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has, library
from tflint_perf.analysis.execution.tapes import tape_around
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.python.syntax import argument, callee_name, descendants, integer, keyword_argument
from tflint_perf.analysis.rewriting.ops_for_numpy import op_for
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.readers import Readers
from tflint_perf.records import dataclass

from .crossing import Crossings

_PLACES = frozenset({"argmax", "argmin"})
_ARITHMETIC = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.Power)
# What an op is told by name besides tensors.
_SETTINGS = frozenset({"axis", "name", "shape", "dtype", "depth", "keepdims", "num", "perm"})


@dataclass(frozen=True, slots=True)
class Twin:
    """A call of NumPy's and the op that does it. `fetched` is `q.numpy()`, where it is called of that; `constant` says that a
    tape would follow the op, but not the call."""

    call: cst.Call
    op: str
    fetched: cst.Call | None
    constant: bool

    @property
    def is_place(self) -> bool:
        """Whether it is the place of the largest or smallest, an integer."""
        return callee_name(self.call) in _PLACES

    @property
    def calls(self) -> set[cst.CSTNode]:
        """What no longer runs on the host."""
        return {self.call} if self.fetched is None else {self.call, self.fetched}

    @property
    def of(self) -> cst.BaseExpression:
        """The tensor."""
        given = self.fetched.func if self.fetched is not None else None
        return given.value if isinstance(given, cst.Attribute) else self.call.args[0].value


class Twins(Part):
    """Finds the ops for NumPy's calls in a step."""

    own = (Crossings,)

    _infer: Inference
    _calls: CallGraph
    _crossings: Crossings

    def __post_init__(self) -> None:
        self._readers = Readers(self._infer)

    def of(self, call: cst.CSTNode, step: Collection[cst.CSTNode]) -> Twin | None:
        """The op for a call in the statements of a step, which are given with all that is in them; None where it may give
        something else, or what is made of it may."""
        if not isinstance(call, cst.Call) or not call.args or call.args[0].keyword is not None:
            return None
        name = self._infer.names.qualified(call.func)
        op = op_for(name, call)
        if op is None:
            return None
        twin = Twin(call, op, self._fetched(call.args[0].value), constant=False)
        is_place = twin.is_place
        if not is_place and fact(name, "alike") != "reduction":
            return None
        if not all(map(_is_plain, call.args[1:])) or self._infer.value(twin.of).kind != "tensor":
            return None
        if (is_place and not self._axis_is_told(call)) or not (is_place or self._is_float(twin.of, (), 0)):
            return None
        if not self._takes_tensor(call, is_place, frozenset(step), set()):
            return None
        constant = not is_place and self._is_followed(call) and not self._is_constant(twin.of)
        return Twin(call, op, twin.fetched, constant)

    def _fetched(self, node: cst.BaseExpression) -> cst.Call | None:
        match node:
            case cst.Call(func=cst.Attribute(attr=cst.Name("numpy")), args=[]):
                return node
        return None

    def _axis_is_told(self, call: cst.Call) -> bool:
        """Whether it is a number; NumPy takes all axes for one where there is none, and TensorFlow the first."""
        return integer(argument(call, 1, "axis")) is not None

    # What a tape sees

    def _is_followed(self, call: cst.Call) -> bool:
        """Whether a tape records what stands where `call` does, one of a function that calls this one perhaps."""
        function = self._calls.function_at(call)
        sites: Iterable[cst.CSTNode] = self._calls.sites(function) if function is not None else ()
        return any(tape_around(self._infer, place) is not None for place in (call, *sites))

    def _is_constant(self, node: cst.BaseExpression) -> bool:
        """Whether no gradient goes through a tensor anyway."""
        if isinstance(node, cst.Call):
            name = self._infer.names.qualified(node.func)
            return library(name) == "tensorflow" and callee_name(node) == "stop_gradient"
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        return found is not None and all(
            binding.kind == "assign"
            and not binding.path
            and isinstance(binding.value, cst.Call)
            and self._is_constant(binding.value)
            for binding in found[1]
        )

    # Whether it is of floats

    def _is_float(self, node: cst.BaseExpression, path: tuple[int, ...], depth: int) -> bool:
        """Whether a tensor, or that part of several, is surely one of floats."""
        known = self._infer.value(node).dtype if not path else ""
        if known or depth > NAMES_DEEP:
            return known.startswith(("float", "bfloat", "half"))
        match node:
            case cst.Name():
                found = self._infer.bindings_reaching(node)
                return found is not None and all(
                    binding.kind == "assign"
                    and binding.path is not None
                    and binding.value is not None
                    and self._is_float(binding.value, (*binding.path, *path), depth + 1)
                    for binding in found[1]
                )
            case cst.Tuple() | cst.List() if path:
                elements = node.elements
                return path[0] < len(elements) and self._is_float(
                    elements[path[0]].value, path[1:], depth + 1
                )
            case cst.BinaryOperation(operator=cst.Add() | cst.Subtract() | cst.Multiply() | cst.Divide()):
                return self._is_float(node.left, path, depth + 1) or self._is_float(
                    node.right, path, depth + 1
                )
            case cst.UnaryOperation(operator=cst.Minus()):
                return self._is_float(node.expression, path, depth + 1)
            case cst.Subscript():
                return self._infer.value(node.value).kind == "tensor" and self._is_float(
                    node.value, (), depth + 1
                )
            case cst.IfExp():
                return all(self._is_float(part, path, depth + 1) for part in (node.body, node.orelse))
            case cst.Call():
                return self._gives_floats(node, path, depth)
        return False

    def _gives_floats(self, call: cst.Call, path: tuple[int, ...], depth: int) -> bool:
        name = self._infer.names.qualified(call.func)
        if name:
            keeps = has(name, "keeps-floats") or (has(name, "keeps-scalars") and bool(fact(name, "shape")))
            return (
                not path
                and library(name) == "tensorflow"
                and keeps
                and bool(call.args)
                and self._is_float(call.args[0].value, (), depth + 1)
            )
        targets = self._calls.targets(call)
        if targets:
            returned = [r.value for target in targets for r in target.returns if r.value is not None]
            return bool(returned) and all(self._is_float(value, path, depth + 1) for value in returned)
        called = self._infer.value(call.func)
        if called.kind == "layer" and library(called.name) == "keras":
            # Others give floats of floats.
            return has(called.name, "of-floats") or (
                not has(called.name, "of-integers")
                and bool(call.args)
                and self._is_float(call.args[0].value, (), depth + 1)
            )
        # What Keras builds of layers computes with floats; what another file calls may give anything.
        return called.kind == "model" and called.klass is None and library(called.name) == "keras"

    # What is made of it

    def _takes_tensor(
        self, node: cst.CSTNode, is_place: bool, step: frozenset[cst.CSTNode], seen: set[cst.CSTNode]
    ) -> bool:
        """Whether the step alone uses a result, and does with a tensor what it does with an array: arithmetic and ops."""
        parent = self._walk.parents.get(node)
        match parent:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))]):
                return self._is_read_alike(name, parent, is_place, step, seen)
            case cst.Arg():
                return self._is_argument_of_op(parent, is_place)
        if is_place:
            return False
        match parent:
            case cst.BinaryOperation():
                return isinstance(parent.operator, _ARITHMETIC) and self._takes_tensor(
                    parent, False, step, seen
                )
            case cst.UnaryOperation(operator=cst.Minus()):
                return self._takes_tensor(parent, False, step, seen)
            case cst.Subscript() if parent.value is node and all(map(_is_plain_part, parent.slice)):
                return self._takes_tensor(parent, False, step, seen)
        return False

    def _is_read_alike(
        self,
        name: str,
        bound: cst.Assign,
        is_place: bool,
        step: frozenset[cst.CSTNode],
        seen: set[cst.CSTNode],
    ) -> bool:
        if bound in seen:
            return True
        seen.add(bound)
        home = self._infer.names.lookup(name, self._infer.names.scope_of(bound))
        readers = self._readers.of(name, home[0]) if home is not None else {}
        mentions = {mention for node in descendants(bound) for mention in readers.get(node, ())}
        uses = set(filter(self._crossings.is_read, mentions))
        return bool(uses) and all(
            use in step and self._takes_tensor(use, is_place, step, seen) for use in uses
        )

    def _is_argument_of_op(self, given: cst.Arg, is_place: bool) -> bool:
        call = self._walk.parents.get(given)
        if not isinstance(call, cst.Call) or given.star:
            return False
        name = self._infer.names.qualified(call.func)
        is_op = library(name) == "tensorflow" and has(name, "pure", "elementwise", "elementwise-of-two")
        if is_place:
            at = fact(name, "indices-at")
            return is_op and bool(at) and argument(call, int(at), "indices") is given.value
        if given.keyword is not None and given.keyword.value in _SETTINGS:
            return False
        is_loss = self._infer.value(call.func).kind in ("loss", "model", "layer") and not self._calls.targets(
            call
        )
        return is_loss or (
            is_op and not has(name, "makes-tensor") and keyword_argument(call, "dtype") is None
        )


def _is_plain(arg: cst.Arg) -> bool:
    """Whether an argument is written out: a number, several, or a switch."""
    parts = [e.value for e in arg.value.elements] if isinstance(arg.value, cst.Tuple) else [arg.value]
    return all(
        integer(part) is not None or (isinstance(part, cst.Name) and part.value in ("True", "False"))
        for part in parts
    )


def _is_plain_part(part: cst.SubscriptElement) -> bool:
    """Whether it takes a place, a range of them, or makes a new axis."""
    if isinstance(part.slice, cst.Slice):
        bounds = [
            bound for bound in (part.slice.lower, part.slice.upper, part.slice.step) if bound is not None
        ]
        return all(integer(bound) is not None for bound in bounds)
    value = part.slice.value if isinstance(part.slice, cst.Index) else None
    is_new_axis = isinstance(value, cst.Name) and value.value == "None"
    is_new_axis |= isinstance(value, cst.Attribute) and value.attr.value == "newaxis"
    return is_new_axis or integer(value) is not None or isinstance(value, cst.Ellipsis)
