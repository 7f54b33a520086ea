"""What Python goes over, or takes apart: a trace goes over a tensor by a plain `for` alone."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.python.syntax import callee_name, same_code, string
from tflint_perf.analysis.rewriting.structures import Structures
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import builtin_or_qualified

_FIRST = frozenset(
    {"enumerate", "reversed", "list", "tuple", "set", "sum", "max", "min", "any", "all", "dict", "frozenset"}
)
_LATER = frozenset({"map", "filter", "functools.reduce"})
_APPLYING = frozenset({"apply_gradients", "apply"})
# What tensors have: asking for anything else is to ask an object of another kind.
_OF_TENSORS = frozenset(
    {"shape", "dtype", "numpy", "ndim", "device", "get_shape", "T", "ref", "name", "set_shape", "op", "graph"}
)


class TensorIteration:
    """Answers what stands against going over a value, or taking it apart, in traced code."""

    def __init__(self, infer: Inference, structures: Structures) -> None:
        self._infer = infer
        self._structures = structures
        self._parents = infer.walk.parents

    def reason(self, node: cst.CSTNode) -> str:
        """Why a trace can't go over what a node goes over; "" where nothing is known against it."""
        match node:
            case cst.Call():
                return self._of_call(node)
            case cst.CompFor():
                return self._of_comprehension(node)
            case cst.StarredElement() if self._structures.is_tensor(node.value):
                return "a tensor is taken apart by `*`"
            case (
                cst.Assign(targets=[cst.AssignTarget(cst.Tuple() | cst.List())])
                | cst.For(target=cst.Tuple() | cst.List())
            ):
                taken = node.iter if isinstance(node, cst.For) else node.value
                return "a tensor is taken apart on the host" if self._structures.is_tensor(taken) else ""
        return ""

    def _of_call(self, call: cst.Call) -> str:
        if any(arg.star == "*" and self._structures.is_tensor(arg.value) for arg in call.args):
            return "a tensor is taken apart by `*`"
        name = builtin_or_qualified(self._infer, call.func)
        given = [arg.value for arg in call.args if not arg.star and arg.keyword is None]
        if name in _FIRST:
            over = given[:1] if len(given) == 1 or name in ("enumerate", "sum") else []
        else:
            over = given if name == "zip" else given[1:] if name in _LATER else []
        for position, value in enumerate(over):
            structure = self._structures.of(value)
            if structure == "tensor" or (structure == "gradient" and self._is_of_one(value, over)):
                return f"a tensor is gone over by `{name}`"
            if structure in ("open", "element") and not self._is_of_objects(call, position, name):
                return f"what may be a tensor is gone over by `{name}`"
        return ""

    def _is_of_one(self, gradient: cst.BaseExpression, zipped: list[cst.BaseExpression]) -> bool:
        """Whether a gradient is zipped with a list of what it was asked for: `zip(tape.gradient(loss, v), [v])`."""
        sources = self._structures.sources(gradient)
        return sources is not None and any(
            same_code(element.value, sources)
            for other in zipped
            if isinstance(other, cst.List | cst.Tuple)
            for element in other.elements
        )

    def _of_comprehension(self, node: cst.CompFor) -> str:
        for test in node.ifs:
            if self._structures.is_tensor(test.test):
                return "a condition on a tensor decides what a comprehension takes"
        given = node.iter
        if isinstance(given, cst.Call):
            name = builtin_or_qualified(self._infer, given.func)
            if name == "range" and any(self._structures.is_tensor(arg.value) for arg in given.args):
                return "a tensor says how often a comprehension runs"
            if name in _FIRST or name in _LATER or name == "zip":
                return ""
        structure = self._structures.of(given)
        if structure == "tensor":
            return "a tensor is gone over by a comprehension"
        if structure in ("open", "element") and not self._is_used_as_object(node.target):
            return "what may be a tensor is gone over by a comprehension"
        return ""

    def _is_of_objects(self, call: cst.Call, position: int, name: str) -> bool:
        """Whether what a call goes over is known by what becomes of it: gradients that are applied, objects that are asked."""
        parent = self._parents.get(call)
        if isinstance(parent, cst.Arg):
            taker = self._parents.get(parent)
            return name == "zip" and isinstance(taker, cst.Call) and callee_name(taker) in _APPLYING
        if not isinstance(parent, cst.For | cst.CompFor) or parent.iter is not call:
            return False
        target = parent.target
        if name in ("zip", "enumerate") and isinstance(target, cst.Tuple | cst.List):
            at = position if name == "zip" else 1
            return at < len(target.elements) and self._is_used_as_object(target.elements[at].value)
        return name == "reversed" and self._is_used_as_object(target)

    def _is_used_as_object(self, target: cst.CSTNode) -> bool:
        """Whether a name is called, asked for what no tensor has, or for an item by a text."""
        if isinstance(target, cst.Tuple | cst.List):
            return any(self._is_used_as_object(element.value) for element in target.elements)
        if not isinstance(target, cst.Name):
            return False
        names = self._infer.names
        for mention in names.mentions(target.value, names.home(target)):
            match self._parents.get(mention):
                case cst.Call(func=func) if func is mention:
                    return True
                case cst.Attribute(attr=cst.Name(value=asked)) if asked not in _OF_TENSORS:
                    return True
                case cst.Subscript(value=whole, slice=[cst.SubscriptElement(cst.Index(index))]):
                    if whole is mention and string(index) is not None:
                        return True
        return False
