"""Python that eager mode runs on tensors, and that AutoGraph can't convert or that gives something else in a graph."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.execution.iterations import is_shape
from tflint_perf.analysis.python.obstacles import Obstacle
from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.python.syntax import (
    callee_name,
    descendants_here,
    is_name,
    last_statement,
    same_code,
    string,
    target_names,
)
from tflint_perf.analysis.rewriting.structures import Structures
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.values import Value

# Builtins that ask each tensor of a list whether it is true, or which of two is greater.
_COMPARING = frozenset({"sorted", "max", "min", "all", "any"})


class AutoGraph:
    """Answers what stands against code that tensors steer."""

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._iteration = TensorIteration(infer, Structures(infer, calls))

    def obstacle(self, node: cst.CSTNode, function: Function | None) -> Obstacle | None:
        """Why a node can't be traced where tensors come to it; None where nothing is known against it."""
        reason = self._reason(node, function)
        return Obstacle(node, reason) if reason else self._iteration.obstacle(node)

    def _reason(self, node: cst.CSTNode, function: Function | None) -> str:
        match node:
            case cst.If() if self._is_tensor(node.test):
                return self._of_branch(node, function)
            case cst.Call():
                return self._of_call(node)
            case cst.Comparison(comparisons=[cst.ComparisonTarget(cst.In() | cst.NotIn(), among)]):
                return "a tensor is searched for on the host" if self._holds_tensors(among) else ""
            case cst.Subscript() if self._picks_by_tensor(node):
                return "a tensor is the index of a Python list"
        return ""

    def of_return(self, statement: cst.Return) -> Obstacle | None:
        """A result that a graph gives as a tensor, or can't give: a string, a size."""
        for part in self._parts(statement.value):
            if isinstance(part, cst.SimpleString | cst.FormattedString | cst.ConcatenatedString):
                return Obstacle(part, "it returns a string, which a graph turns into a tensor")
            if is_size(part) or (isinstance(part, cst.Name) and self._is_bound_to_size(part)):
                return Obstacle(part, "it returns a size, which a graph turns into a tensor")
            value = self._infer.value(part)
            if value.kind in ("variable", "instance") and not self._is_tuple(value):
                return Obstacle(part, "it returns an object, which a graph can't")
        return None

    def _parts(self, value: cst.BaseExpression | None) -> Iterator[cst.BaseExpression]:
        """What is returned, and the parts of tuples, lists and dicts in it."""
        match value:
            case None:
                return
            case cst.Tuple() | cst.List():
                parts = [element.value for element in value.elements]
            case cst.Dict():
                parts = [item.value for item in value.elements]
            case cst.Call() if self._is_tuple(self._infer.value(value)):
                parts = [arg.value for arg in value.args]
            case _:
                yield value
                return
        for part in parts:
            yield from self._parts(part)

    def _is_tuple(self, value: Value) -> bool:
        """Whether an object is a tuple whose parts have names, which a graph gives as it does others."""
        return value.klass is not None and self._infer.classes.makes_tuples(value.klass)

    def _is_bound_to_size(self, name: cst.Name) -> bool:
        return any(
            binding.value is not None and binding.path == () and is_size(binding.value)
            for binding in self._infer.bindings(name)
        )

    def _is_tensor(self, node: cst.BaseExpression) -> bool:
        match node:
            case cst.UnaryOperation():
                return self._is_tensor(node.expression)
            case cst.Comparison() if all(
                isinstance(part.operator, cst.Is | cst.IsNot) for part in node.comparisons
            ):
                return False  # Python answers it of any tensor
            case cst.BooleanOperation():
                return self._is_tensor(node.left) or self._is_tensor(node.right)
        return self._infer.value(node).kind == "tensor"

    def _picks_by_tensor(self, node: cst.Subscript) -> bool:
        """Whether a tensor says which parts of a list are meant: one of eager mode is a number for that."""
        if self._infer.value(node.value).kind not in ("list", "tuple"):
            return False
        match node.slice[0].slice:
            case cst.Slice(lower=lower, upper=upper):
                return any(part is not None and self._is_tensor(part) for part in (lower, upper))
            case cst.Index(value=part):
                return self._is_tensor(part)
        return False

    def _holds_tensors(self, node: cst.BaseExpression) -> bool:
        value = self._infer.value(node)
        items = value.items or ((value.element,) if value.element is not None else ())
        return value.kind in ("list", "tuple") and any(item.kind == "tensor" for item in items)

    def _of_call(self, call: cst.Call) -> str:
        name = builtin_or_qualified(self._infer, call.func)
        given = [arg.value for arg in call.args if not arg.star and arg.keyword is None]
        if name not in _COMPARING or not given:
            return ""
        compared = given if len(given) > 1 else []
        of_each = isinstance(given[0], cst.GeneratorExp | cst.ListComp) and self._is_tensor(given[0].elt)
        if of_each or any(map(self._is_tensor, compared)) or (not compared and self._holds_tensors(given[0])):
            return f"`{name}()` compares tensors on the host"
        return ""

    def _of_branch(self, node: cst.If, function: Function | None) -> str:
        """What a tensor's condition can't decide about: AutoGraph runs both branches when it traces."""
        within = list(descendants_here(node))
        if any(isinstance(part, cst.Raise) for part in within):
            return "`raise` under a condition on a tensor runs when it is traced"
        returns = [part for part in within if isinstance(part, cst.Return)]
        if returns and function is not None and isinstance(function.node, cst.FunctionDef):
            last = last_statement(function.node.body)
            always = isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Return)
            if not (always or isinstance(last, cst.Return)) or any(map(_returns_nothing, returns)):
                return "a condition on a tensor decides whether anything is returned"
        targets = (part.target for part in within if isinstance(part, cst.AssignTarget))
        for name in dict.fromkeys(name.value for target in targets for name in target_names(target)):
            if self._has_several_types(name, node):
                return f"a condition on a tensor decides the type of `{name}`"
        return ""

    def _has_several_types(self, name: str, node: cst.If) -> bool:
        """Whether a name gets `None` or a string in one branch, or an integer here and a float there."""
        scope = self._infer.names.scope_of(node)
        types = {_type(binding) for binding in scope.bindings.get(name, ())} - {""}
        return bool(types & {"none", "string"}) or {"int", "float"} <= types


def is_size(node: cst.BaseExpression) -> bool:
    """`x.shape`, `x.shape[0]`, `x.shape.as_list()[1]`."""
    return is_shape(node.value if isinstance(node, cst.Subscript) else node)


def _returns_nothing(statement: cst.Return) -> bool:
    return statement.value is None or is_name(statement.value, "None")


def _type(binding: Binding) -> str:
    """The type of a constant that a name is given; "" for anything else."""
    match binding.value if binding.kind == "assign" and binding.path == () else None:
        case cst.Name(value="None"):
            return "none"
        case cst.SimpleString() | cst.FormattedString() | cst.ConcatenatedString():
            return "string"
        case cst.Integer():
            return "int"
        case cst.Float():
            return "float"
    return ""


# What Python goes over, or takes apart: a trace goes over a tensor by a plain `for` alone.


_FIRST = frozenset(
    {"enumerate", "reversed", "list", "tuple", "set", "sum", "max", "min", "any", "all", "dict", "frozenset"}
)
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

    def obstacle(self, node: cst.CSTNode) -> Obstacle | None:
        """Why a trace can't go over what a node goes over; None where nothing is known against it."""
        match node:
            case cst.Call():
                return self._of_call(node)
            case cst.CompFor():
                return self._of_comprehension(node)
        reason = self._of_parts(node)
        return Obstacle(node, reason) if reason else None

    def _of_parts(self, node: cst.CSTNode) -> str:
        match node:
            case cst.StarredElement() if self._structures.is_tensor(node.value):
                return "a tensor is unpacked by `*`"
            case (
                cst.Assign(targets=[cst.AssignTarget(cst.Tuple() | cst.List())])
                | cst.For(target=cst.Tuple() | cst.List())
            ):
                taken = node.iter if isinstance(node, cst.For) else node.value
                return "a tensor is unpacked on the host" if self._structures.is_tensor(taken) else ""
        return ""

    def _of_call(self, call: cst.Call) -> Obstacle | None:
        if any(arg.star == "*" and self._structures.is_tensor(arg.value) for arg in call.args):
            return Obstacle(call, "a tensor is unpacked by `*`")
        name = builtin_or_qualified(self._infer, call.func)
        given = [arg.value for arg in call.args if not arg.star and arg.keyword is None]
        if name in _FIRST:
            over = given[:1] if len(given) == 1 or name in ("enumerate", "sum") else []
        else:
            over = given if name == "zip" else given[1:] if has(name, "calls-on-each") else []
        for position, value in enumerate(over):
            structure = self._structures.of(value)
            if structure == "tensor" or (structure == "gradient" and self._is_of_one(value, over)):
                return Obstacle(call, f"`{name}` iterates over a tensor")
            if structure in ("open", "element") and not self._is_of_objects(call, position, name):
                return Obstacle(call, f"`{name}` iterates over what may be a tensor", may=True)
        return None

    def _is_of_one(self, gradient: cst.BaseExpression, zipped: list[cst.BaseExpression]) -> bool:
        """Whether a gradient is zipped with a list of what it was asked for: `zip(tape.gradient(loss, v), [v])`."""
        sources = self._structures.sources(gradient)
        return sources is not None and any(
            same_code(element.value, sources)
            for other in zipped
            if isinstance(other, cst.List | cst.Tuple)
            for element in other.elements
        )

    def _of_comprehension(self, node: cst.CompFor) -> Obstacle | None:
        for test in node.ifs:
            if self._structures.is_tensor(test.test):
                return Obstacle(node, "a condition on a tensor decides what a comprehension takes")
        given = node.iter
        if isinstance(given, cst.Call):
            name = builtin_or_qualified(self._infer, given.func)
            if name == "range" and any(self._structures.is_tensor(arg.value) for arg in given.args):
                return Obstacle(node, "a tensor decides how often a comprehension runs")
            if name in _FIRST or has(name, "calls-on-each") or name == "zip":
                return None
        structure = self._structures.of(given)
        if structure == "tensor":
            return Obstacle(node, "a comprehension iterates over a tensor")
        if structure in ("open", "element") and not self._is_used_as_object(node.target):
            return Obstacle(node, "a comprehension iterates over what may be a tensor", may=True)
        return None

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
