"""Functions given to `Dataset.map` that give on a batch what they give on each of its elements."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import has, methods
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import argument, has_stars, is_name, statements_of, string
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.values import Pipeline
from tflint_perf.records import dataclass

_OPERATORS = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.FloorDivide, cst.Modulo, cst.Power)


@dataclass(frozen=True, slots=True)
class _Term:
    """What an expression is for one element: a number that all share, a tensor, or a structure of those.

    Two tensors with the same `shape` (the parameter that they come from, and what was done to it) have the same
    shape, so that an op on both is the same on a batch of them.
    """

    shape: tuple[str, ...] = ()
    parts: tuple[_Term, ...] | None = None

    @property
    def is_number(self) -> bool:
        return not self.shape and self.parts is None

    @property
    def is_tensor(self) -> bool:
        return bool(self.shape)


_NUMBER = _Term()


def arity(function: Function) -> int | None:
    """How many arguments a function or bound method takes; None where that is not a plain number."""
    params = function.node.params
    if (
        params.kwonly_params
        or params.star_kwarg is not None
        or params.star_arg is not cst.MaybeSentinel.DEFAULT
    ):
        return None
    given = _given(function)
    return None if any(param.default is not None for param in given) else len(given)


def _given(function: Function) -> list[cst.Param]:
    """The parameters of `function` that a call gives: not the object whose method it is."""
    return function.parameters[1:] if function.is_bound else function.parameters


def mapped_method(infer: Inference, node: cst.BaseExpression) -> Function | None:
    """The method of a class of this file that an expression like `self.scale` stands for."""
    if not isinstance(node, cst.Attribute) or any(infer.classes.overrides(node)):
        return None
    return infer.value(node).function


def mapped_function(infer: Inference, node: cst.BaseExpression) -> Function | None:
    """The lambda or local function that an expression stands for, as it was written: not a `partial` of it."""
    if isinstance(node, cst.Lambda):
        return infer.walk.functions.get(node)
    bindings = infer.bindings(node)
    if len(bindings) != 1:
        return None
    binding = bindings[0]
    if binding.kind == "def":
        return infer.walk.functions.get(binding.node)
    if binding.kind == "assign" and binding.path == () and isinstance(binding.value, cst.Lambda):
        return infer.walk.functions.get(binding.value)
    return None


def parts_of_element(pipeline: Pipeline) -> int | None:
    """How many arguments a mapped function gets; None where the elements' structure is not in sight."""
    if not pipeline or any(
        stage.name not in methods("Dataset", "keeps-elements") | {"filter", "batch"} for stage in pipeline[1:]
    ):
        return 2 if pipeline and pipeline[-1].name == "enumerate" else None
    source = pipeline[0]
    if source.name == "zip":
        return len(source.inputs) or None
    given = source.call.args[0].value if source.call.args else None
    return (
        len(given.elements) if source.name == "from_tensor_slices" and isinstance(given, cst.Tuple) else None
    )


def is_elementwise(infer: Inference, function: Function) -> bool:
    """Whether `function` consists of element-wise ops, at least one, and so gives the same on a batch.

    Known ops and structure only: anything else, also an op on two tensors that may differ in shape, is a no.
    """
    count = arity(function)
    if not count:
        return False
    reader = _Reader(infer)
    result = reader.call(function, [_Term((f"{index}",)) for index in range(count)], 0)
    return result is not None and reader.saw_op and _is_structure_of_tensors(result)


def _is_structure_of_tensors(term: _Term) -> bool:
    if term.parts is not None:
        return all(map(_is_structure_of_tensors, term.parts))
    return term.is_tensor


class _Reader:
    """Follows a function's body; every answer is None where something is not known to be element-wise."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer
        self.saw_op = False

    def call(self, function: Function, given: list[_Term], depth: int) -> _Term | None:
        if depth > CALLS_DEEP or arity(function) != len(given) or function.yields:
            return None
        if not all(map(self._keeps, (given.decorator for given in function.decorators))):
            return None
        env = dict(zip((param.name.value for param in _given(function)), given, strict=True))
        if isinstance(function.node, cst.Lambda):
            return self._term(function.node.body, env, depth)
        for small in statements_of(function.node.body):
            if isinstance(small, cst.Return):
                return self._term(small.value, env, depth) if small.value is not None else None
            if not self._statement(small, env, depth):
                return None
        return None

    def _keeps(self, decorator: cst.BaseExpression) -> bool:
        """Whether a decorator leaves what a function computes as it is."""
        return self._infer.compiles(decorator) or is_name(decorator, "staticmethod")

    def _statement(self, node: cst.CSTNode, env: dict[str, _Term], depth: int) -> bool:
        match node:
            case cst.Expr(value=cst.SimpleString() | cst.ConcatenatedString()):
                return True
            case cst.Assign(targets=[target]):
                return self._assign(target.target, self._term(node.value, env, depth), env)
            case cst.AnnAssign() if node.value is not None:
                return self._assign(node.target, self._term(node.value, env, depth), env)
            case cst.AugAssign(target=cst.Name(value=name)):
                if not isinstance(node.operator, _AUGMENTED):
                    return False
                value = self._term(node.value, env, depth)
                return self._assign(node.target, self._together([env.get(name), value]), env)
        return False

    @staticmethod
    def _assign(target: cst.BaseExpression, term: _Term | None, env: dict[str, _Term]) -> bool:
        if term is None:
            return False
        if isinstance(target, cst.Name):
            env[target.value] = term
            return True
        if not isinstance(target, cst.Tuple) or term.parts is None or len(target.elements) != len(term.parts):
            return False
        for element, part in zip(target.elements, term.parts, strict=True):
            if not isinstance(element.value, cst.Name):
                return False
            env[element.value.value] = part
        return True

    def _term(self, node: cst.BaseExpression, env: dict[str, _Term], depth: int) -> _Term | None:
        match node:
            case cst.Integer() | cst.Float():
                return _NUMBER
            case cst.Name() if node.value in env:
                return env[node.value]
            case cst.Name():
                return _NUMBER if self._infer.value(node).kind == "number" else None
            case cst.Attribute():
                known = has(self._infer.names.qualified(node), "constant")
                return _NUMBER if known or self._infer.value(node).kind == "number" else None
            case cst.UnaryOperation(operator=cst.Minus() | cst.Plus()):
                return self._together([self._term(node.expression, env, depth)])
            case cst.BinaryOperation() if isinstance(node.operator, _OPERATORS):
                return self._together([self._term(node.left, env, depth), self._term(node.right, env, depth)])
            case cst.Comparison(comparisons=[comparison]) if isinstance(comparison.operator, _COMPARISONS):
                right = self._term(comparison.comparator, env, depth)
                return self._together([self._term(node.left, env, depth), right])
            case cst.Tuple():
                return _structure([self._term(element.value, env, depth) for element in node.elements])
            case cst.Dict():
                if any(not isinstance(e, cst.DictElement) or string(e.key) is None for e in node.elements):
                    return None
                return _structure([self._term(element.value, env, depth) for element in node.elements])
            case cst.Subscript(
                value=cst.Name(value=name), slice=[cst.SubscriptElement(slice=cst.Index(value=index))]
            ):
                key, held = string(index), env.get(name)
                return (
                    _Term((*held.shape, f"[{key}]"))
                    if key is not None and held is not None and held.shape
                    else None
                )
            case cst.Call() if not has_stars(node):
                return self._of_call(node, env, depth)
        return None

    def _of_call(self, call: cst.Call, env: dict[str, _Term], depth: int) -> _Term | None:
        name = self._infer.names.qualified(call.func)
        if not name and isinstance(call.func, cst.Name) and call.func.value in ("float", "int"):
            name = call.func.value
        positional = [arg.value for arg in call.args if arg.keyword is None]
        keywords = {arg.keyword.value for arg in call.args if arg.keyword is not None}
        if has(name, "elementwise", "one-hot"):
            first = argument(call, 0, "indices" if has(name, "one-hot") else "x")
            term = self._term(first, env, depth) if first is not None else None
            if has(name, "one-hot"):
                return self._one_hot(call, term)
            if (len(positional) > 1 and not has(name, "changes-type")) or not keywords <= {
                "x",
                "dtype",
                "name",
            }:
                return None
            return self._together([term])
        if keywords - {"name", "dtype"}:
            return None
        if has(name, "makes-scalar"):
            term = self._term(positional[0], env, depth) if positional else None
            return term if term is not None and term.is_number else None
        if (has(name, "elementwise-of-two") and len(positional) == 2) or (
            has(name, "elementwise-of-three") and len(positional) == 3
        ):
            return self._together([self._term(node, env, depth) for node in positional])
        if not name and len(positional) == 1 and has(self._infer.value(call.func).name, "rescales"):
            return self._together([self._term(positional[0], env, depth)])
        function = mapped_function(self._infer, call.func) if not name and not keywords else None
        given = [term for node in positional if (term := self._term(node, env, depth)) is not None]
        return (
            self.call(function, given, depth + 1)
            if function is not None and len(given) == len(positional)
            else None
        )

    def _one_hot(self, call: cst.Call, indices: _Term | None) -> _Term | None:
        """The new axis is the last one, on a batch too, unless the call says otherwise."""
        if indices is None or not indices.is_tensor or argument(call, 4, "axis") is not None:
            return None
        self.saw_op = True
        return _Term((*indices.shape, "one-hot"))

    def _together(self, terms: list[_Term | None]) -> _Term | None:
        """What an op on numbers and on tensors of one shape gives."""
        known = [term for term in terms if term is not None]
        shapes = {term.shape for term in known if term.is_tensor}
        if len(known) < len(terms) or len(shapes) > 1 or any(term.parts is not None for term in known):
            return None
        if not shapes:
            return _NUMBER
        self.saw_op = True
        return _Term(shapes.pop())


_AUGMENTED = (cst.AddAssign, cst.SubtractAssign, cst.MultiplyAssign, cst.DivideAssign, cst.FloorDivideAssign,
              cst.ModuloAssign, cst.PowerAssign)  # fmt: skip
_COMPARISONS = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual)


def _structure(parts: list[_Term | None]) -> _Term | None:
    known = tuple(part for part in parts if part is not None)
    return _Term(parts=known) if len(known) == len(parts) and known else None
