"""What a compiled function does with a parameter, and so what type a tensor in its place must have."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import callee_name, descendants_here, is_name
from tflint_perf.analysis.values.caller import NumberType
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass

_WANT_PYTHON = {
    "range": "it counts a Python loop",
    "int": "`int()` needs a Python number",
    "float": "`float()` needs a Python number",
    "str": "it is turned into a string",
    "format": "it is turned into a string",
    "print": "it is printed",
    "isinstance": "its Python type is asked for",
    "min": "`min()` compares Python numbers",
    "max": "`max()` compares Python numbers",
    "round": "`round()` needs a Python number",
}
_SHAPES = frozenset(
    ["shape", "axis", "num", "depth", "size", "dims", "perm", "num_or_size_splits", "k", "training"]
)


@dataclass(frozen=True, slots=True)
class Need:
    """What a use of a parameter asks for: a dtype ("" is any), or with `reason` a Python value."""

    node: cst.CSTNode
    dtype: str = ""
    reason: str = ""


class Parameters(Part):
    """Answers what type of tensor can take the place of a Python number."""

    _infer: Inference
    _calls: CallGraph

    def needs_of(self, function: Function, name: str, given: NumberType, depth: int = 0) -> Iterator[Need]:
        """What each use of a parameter asks for, also where the function passes it on in this file."""
        for use in self._uses(function, name):
            yield from self._need(use, given, depth)

    def _uses(self, function: Function, name: str) -> list[cst.Name]:
        return self._infer.names.mentions(name, function.scope)

    def _need(self, use: cst.Name, given: NumberType, depth: int) -> Iterator[Need]:
        parent = self._walk.parents.get(use)
        match parent:
            case cst.BinaryOperation():
                yield self._arithmetic(use, parent, given)
            case (
                cst.If()
                | cst.While()
                | cst.IfExp()
                | cst.BooleanOperation()
                | cst.UnaryOperation(operator=cst.Not())
            ):
                # In a graph only a `bool` is true or false.
                yield Need(use, reason="it is asked whether it is true, as no number in a graph is")
            case cst.Comparison() | cst.ComparisonTarget() | cst.UnaryOperation():
                yield Need(use, reason="a condition on it chooses Python code" if self._chooses(use) else "")
            case cst.Arg():
                call = self._walk.parents[parent]
                assert isinstance(call, cst.Call)
                yield from self._passed(use, parent, call, given, depth)
            case cst.Index():
                yield Need(use, reason="it is an index")
            case cst.Element():
                yield Need(use, reason="it is part of a shape or a list")
            case cst.FormattedStringExpression():
                yield Need(use, reason="it is turned into a string")
            case cst.AugAssign() if parent.target is use:
                yield Need(use, reason="it is changed")
            case cst.AugAssign():
                yield self._with(
                    use, parent.target, given, divides=isinstance(parent.operator, cst.DivideAssign)
                )
            case cst.AssignTarget():
                yield Need(use, reason="it is given another value")
            case _:
                yield Need(use, reason="what happens to it can't be seen")

    def _chooses(self, use: cst.Name) -> bool:
        """Whether a name is in the test of an `if` that gives names numbers: a graph needs both of one type."""
        current: cst.CSTNode | None = use
        while isinstance(current, cst.BaseExpression | cst.ComparisonTarget):
            current = self._walk.parents.get(current)
        return isinstance(current, cst.If) and any(
            isinstance(part, cst.Assign) and self._infer.value(part.value).kind == "number"
            for part in descendants_here(current)
        )

    def _arithmetic(self, use: cst.Name, node: cst.BinaryOperation, given: NumberType) -> Need:
        other = node.right if node.left is use else node.left
        outer: cst.CSTNode | None = node
        while isinstance(outer, cst.BinaryOperation | cst.UnaryOperation):
            outer = self._walk.parents.get(outer)
        call = self._walk.parents.get(outer) if isinstance(outer, cst.Arg) else None
        if isinstance(call, cst.Call) and is_name(call.func, callee_name(call)):
            if (wanted := _WANT_PYTHON.get(callee_name(call))) is not None:
                return Need(use, reason=wanted)
        if isinstance(node.operator, cst.Modulo) and self._infer.value(node.left).kind == "string":
            return Need(use, reason="it is turned into a string")
        divides = isinstance(node.operator, cst.Divide)
        if given == "int" and isinstance(other, cst.Integer) and not divides:
            # What an integer gives with integers is an integer, to be looked at in its own place.
            return self._of_result(use, node)
        return self._with(use, other, given, divides=divides)

    def _of_result(self, use: cst.Name, node: cst.BinaryOperation) -> Need:
        parent = self._walk.parents.get(node)
        if isinstance(parent, cst.Comparison | cst.ComparisonTarget | cst.If):
            return Need(use)
        return Need(use, reason="the type that it is computed with is not known")

    def _with(self, use: cst.Name, other: cst.BaseExpression, given: NumberType, *, divides: bool) -> Need:
        """What arithmetic with another value asks for."""
        value = self._infer.value(other)
        if isinstance(other, cst.Float) or (divides and value.kind == "number"):
            return Need(use, "float32")
        if value.kind in ("tensor", "variable", "array") and value.dtype:
            is_float = value.dtype.startswith(("float", "bfloat", "half"))
            if given == "float" and not is_float:
                return Need(use, reason=f"it is used with a tensor of type {value.dtype}")
            return Need(use, value.dtype)
        if given == "float":
            return Need(use, "float32")
        return Need(use, reason="the type that it is computed with is not known")

    def _passed(
        self, use: cst.Name, arg: cst.Arg, call: cst.Call, given: NumberType, depth: int
    ) -> Iterator[Need]:
        name = callee_name(call)
        qualified = self._infer.names.qualified(call.func)
        keyword = arg.keyword.value if arg.keyword is not None else ""
        if name in _WANT_PYTHON and not qualified:
            yield Need(use, reason=_WANT_PYTHON[name])
        elif keyword in _SHAPES:
            yield Need(use, reason=f"it is the `{keyword}` of an op")
        elif keyword == "step" or (has(qualified, "summary") and call.args.index(arg) == 2):
            yield (
                Need(use, "int64")
                if given == "int"
                else Need(use, reason="it is a step, which is an integer")
            )
        elif has(qualified, "takes-any-integer") or has(qualified, "summary"):
            yield Need(use)
        elif library(qualified) == "tensorflow":
            yield from self._to_op(use, call, given)
        elif self._calls.targets(call) and depth < CALLS_DEEP:
            for target in self._calls.targets(call):
                yield from self._to_function(use, arg, call, target, given, depth)
        elif name in ("assign", "assign_add", "assign_sub") and isinstance(call.func, cst.Attribute):
            yield self._with(use, call.func.value, given, divides=False)
        else:
            yield Need(use, reason=f"it is passed on to `{name or 'a function'}`")

    def _to_op(self, use: cst.Name, call: cst.Call, given: NumberType) -> Iterator[Need]:
        """An op of TensorFlow computes in the type of its other tensors."""
        others = [arg.value for arg in call.args if arg.value is not use and arg.keyword is None]
        tensors = [other for other in others if self._infer.value(other).kind in ("tensor", "variable")]
        if not tensors:
            if given == "float":
                yield Need(use, "float32")
            else:
                yield Need(use, reason=f"the type that `{callee_name(call)}` computes with is not known")
        for tensor in tensors:
            yield self._with(use, tensor, given, divides=False)

    def _to_function(
        self, use: cst.Name, arg: cst.Arg, call: cst.Call, target: Function, given: NumberType, depth: int
    ) -> Iterator[Need]:
        name = (
            arg.keyword.value if arg.keyword is not None else self.name_at(target, list(call.args).index(arg))
        )
        if not name:
            yield Need(use, reason=f"it is passed on to `{target.name}`")
        else:
            yield from self.needs_of(target, name, given, depth + 1)

    @staticmethod
    def name_at(function: Function, position: int) -> str:
        """The parameter that a call gives at `position`; "" where there is none."""
        return function.places[position] if position < len(function.places) else ""
