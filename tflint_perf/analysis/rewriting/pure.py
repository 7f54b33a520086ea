"""Code that computes and does nothing else: it gives the same whenever it runs, and nobody sees whether it ran."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has, methods
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.pipelines.elementwise import mapped_function
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import callee_name, has_stars, is_of_names, statements_of
from tflint_perf.analysis.rewriting.doubts import Doubt, Move, if_it_changes
from tflint_perf.analysis.rewriting.natures import Natures, computes, writes_to_an_argument
from tflint_perf.analysis.rewriting.unchanging import Unchanging
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference

_LITERALS = (cst.Integer, cst.Float, cst.Imaginary, cst.SimpleString, cst.ConcatenatedString)


class Purity:
    """Answers what an expression or a function does besides computing something of what never changes."""

    def __init__(self, infer: Inference, calls: CallGraph, unchanging: Unchanging, natures: Natures) -> None:
        self._infer = infer
        self._names = infer.names
        self._calls = calls
        self._unchanging = unchanging
        self._natures = natures

    def doubt(self, node: cst.CSTNode, move: Move) -> Doubt | None:
        """Why an expression, or what an assignment or `def` makes, may be another thing where `move` has it evaluated."""
        match node:
            case cst.Assign(value=value):
                return self._of(value, move, None, 0)
            case cst.AnnAssign(value=cst.BaseExpression() as value):
                return self._of(value, move, None, 0)
            case cst.FunctionDef():
                return self.doubt_of_function(self._infer.walk.functions[node], move)
            case cst.BaseExpression():
                return self._of(node, move, None, 0)
        return Doubt("what it does", node)

    def doubt_of_mapped(self, node: cst.BaseExpression, move: Move) -> Doubt | None:
        """Why a function that is given to a dataset may give something else another time, or be seen to run."""
        function = mapped_function(self._infer, node)
        return self.doubt_of_function(function, move) if function is not None else _of_call_unseen(node)

    def doubt_of_function(self, function: Function, move: Move, depth: int = 0) -> Doubt | None:
        """Why a function may give something else for the same arguments, or do more than to give it."""
        node = function.node
        if depth > CALLS_DEEP or function.yields or function.scope.elsewhere:
            return _of_call_unseen(node)
        for decorator in function.decorators:
            made = decorator.decorator
            callee = made.func if isinstance(made, cst.Call) else made
            if not has(self._names.qualified(callee), "compiles") or depth:
                return Doubt("what its decorator does", decorator)
            of_given = self._of_arguments(made, move, None, depth) if isinstance(made, cst.Call) else None
            if of_given is not None:
                return of_given
        if node.params.star_kwarg is not None or isinstance(node.params.star_arg, cst.Param):
            return _of_call_unseen(node)
        for param in function.parameters:
            if param.default is None:
                continue
            if self._natures.of(param.default) != "fixed":
                return if_it_changes(param, f"`{param.name.value}`")
            of_default = self._of(param.default, move, None, depth)
            if of_default is not None:
                return of_default
        if isinstance(node, cst.Lambda):
            return self._of(node.body, move, function, depth)
        return _first(
            self._of_statement(statement, move, function, depth) for statement in statements_of(node.body)
        )

    def may_fail(self, node: cst.CSTNode) -> bool:
        """Whether an evaluation may raise an error: all but that of literals, and what is made of them, may."""
        match node:
            case cst.Assign(value=value):
                return self.may_fail(value)
            case cst.FunctionDef() | cst.Lambda():
                function = self._infer.walk.functions[node]
                return any(
                    isinstance(decorator.decorator, cst.Call) for decorator in function.decorators
                ) or any(
                    param.default is not None and self.may_fail(param.default)
                    for param in function.parameters
                )
            case cst.Call():
                name = self._names.qualified(node.func)
                if has(name, "makes-tensor"):
                    return len(node.args) != 1 or not isinstance(node.args[0].value, cst.Integer | cst.Float)
                if has(name, "compiles") and len(node.args) == 1:
                    made = node.args[0].value
                    return isinstance(made, cst.Lambda) and self.may_fail(made)
                return not (has(name, "loss") and not node.args)
        return not isinstance(node, _LITERALS)

    # Statements and expressions

    def _of_statement(
        self, statement: cst.CSTNode, move: Move, function: Function, depth: int
    ) -> Doubt | None:
        match statement:
            case cst.Assign():
                for target in statement.targets:
                    if not is_of_names(target.target):
                        return Doubt("what it writes to", target)
                return self._of(statement.value, move, function, depth)
            case cst.Return():
                return (
                    self._of(statement.value, move, function, depth) if statement.value is not None else None
                )
            case cst.Expr():
                return self._of(statement.value, move, function, depth)
            case cst.Pass():
                return None
        return Doubt("what it does", statement)

    def _of(self, node: cst.CSTNode, move: Move, function: Function | None, depth: int) -> Doubt | None:
        """The first doubt in an expression; `function` is the one whose parameters and names are its own."""
        match node:
            case (
                cst.SimpleString() | cst.Integer() | cst.Float() | cst.Imaginary() | cst.ConcatenatedString()
            ):
                return None
            case cst.Name():
                own = function is not None and self._names.home(node) is function.scope
                return None if own else self._unchanging.doubt(node, move)
            case cst.Attribute():
                return self._of_attribute(node, move, function, depth)
            case cst.UnaryOperation(expression=inner):
                return self._of_operands([inner], move, function, depth)
            case cst.BinaryOperation():
                return self._of_operands([node.left, node.right], move, function, depth)
            case cst.Comparison() if function is not None:
                sides = [node.left, *(target.comparator for target in node.comparisons)]
                return self._of_operands(sides, move, function, depth)
            case cst.Tuple() | cst.List():
                parts = [element for element in node.elements if isinstance(element, cst.Element)]
                if len(parts) == len(node.elements):
                    return _first(self._of(part.value, move, function, depth) for part in parts)
            case cst.Dict():
                pairs = [element for element in node.elements if isinstance(element, cst.DictElement)]
                if len(pairs) == len(node.elements):
                    sides = [side for pair in pairs for side in (pair.key, pair.value)]
                    return _first(self._of(side, move, function, depth) for side in sides)
            case cst.Subscript():
                return self._of_part(node, move, function, depth)
            case cst.Call():
                return self._of_call(node, move, function, depth)
        return Doubt("what it computes", node)

    def _of_operands(
        self, nodes: list[cst.BaseExpression], move: Move, function: Function | None, depth: int
    ) -> Doubt | None:
        """Operators of numbers, arrays and tensors compute; those of other objects may do anything."""
        for node in nodes:
            doubt = self._of(node, move, function, depth)
            if doubt is None and function is None and self._natures.of(node) is None:
                doubt = Doubt("what the operator does", node)
            if doubt is not None:
                return doubt
        return None

    def _of_attribute(
        self, node: cst.Attribute, move: Move, function: Function | None, depth: int
    ) -> Doubt | None:
        if self._names.dotted(node):
            return (
                None if self._unchanging.is_of_library(node) else if_it_changes(node, f"`{node.attr.value}`")
            )
        if node.attr.value in methods("ndarray", "describes") and (
            function is not None or self._natures.of(node.value) is not None
        ):
            return self._of(node.value, move, function, depth)
        return if_it_changes(node, f"`.{node.attr.value}`")

    def _of_part(
        self, node: cst.Subscript, move: Move, function: Function | None, depth: int
    ) -> Doubt | None:
        if function is None and self._natures.of(node) is None:
            return Doubt("what it takes", node)
        indexes = [part for element in node.slice for part in _parts_of_index(element.slice)]
        return _first(self._of(part, move, function, depth) for part in (node.value, *indexes))

    def _of_call(self, call: cst.Call, move: Move, function: Function | None, depth: int) -> Doubt | None:
        if has_stars(call):
            return _of_call_unseen(call)
        name = self._names.qualified(call.func)
        if name:
            of_callee = None if self._is_known(call, name) else _of_call_unseen(call)
            return of_callee or self._of_arguments(call, move, function, depth)
        if isinstance(call.func, cst.Attribute) and self._is_stage(call, call.func, function):
            return self._of(call.func.value, move, function, depth) or self._of_arguments(
                call, move, function, depth
            )
        if isinstance(call.func, cst.Attribute) and self._is_array_method(call, call.func):
            return self._of(call.func.value, move, function, depth) or self._of_arguments(
                call, move, function, depth
            )
        if isinstance(call.func, cst.Name) and function is None:
            is_builtin = self._names.is_builtin(call.func)
            if is_builtin and has(call.func.value, "pure"):
                return self._of_arguments(call, move, function, depth)
        if isinstance(call.func, cst.Name) and function is not None:
            called = mapped_function(self._infer, call.func)
            if called is not None and called is not function:
                return self.doubt_of_function(called, move, depth + 1) or self._of_arguments(
                    call, move, function, depth
                )
        return _of_call_unseen(call)

    def _is_known(self, call: cst.Call, name: str) -> bool:
        if has(name, "copies"):
            return not writes_to_an_argument(name, call)
        if fact(name, "gives") == "loss" or has(name, "compiles"):
            return True
        return computes(name) or has(name, "repeatable")

    def _is_stage(self, call: cst.Call, func: cst.Attribute, function: Function | None) -> bool:
        return (
            function is None
            and func.attr.value in methods("Dataset", "repeatable")
            and self._infer.value(call).kind == "dataset"
            and self._infer.value(func.value).kind == "dataset"
            and all(arg.keyword is None or arg.keyword.value != "deterministic" for arg in call.args)
        )

    def _is_array_method(self, call: cst.Call, func: cst.Attribute) -> bool:
        return (
            func.attr.value in methods("ndarray", "copies", "views")
            and self._natures.of(call) == "array"
            and not self._natures.is_generator(func.value)
        )

    def _of_arguments(
        self, call: cst.Call, move: Move, function: Function | None, depth: int
    ) -> Doubt | None:
        takes_function = callee_name(call) in methods("Dataset", "calls") or self._names.is_call_that(
            call, "compiles"
        )
        for index, arg in enumerate(call.args):
            if takes_function and index == 0 and arg.keyword is None:
                doubt = self.doubt_of_mapped(arg.value, move)
            else:
                doubt = self._of(arg.value, move, function, depth)
            if doubt is not None:
                return doubt
        return None


def _parts_of_index(index: cst.BaseSlice) -> list[cst.BaseExpression]:
    if isinstance(index, cst.Index):
        return [index.value]
    if isinstance(index, cst.Slice):
        return [part for part in (index.lower, index.upper, index.step) if part is not None]
    return []


def _of_call_unseen(node: cst.CSTNode) -> Doubt:
    return Doubt("what it computes, and what else it does: not all that it calls is known", node)


def _first(doubts: Iterable[Doubt | None]) -> Doubt | None:
    return next((doubt for doubt in doubts if doubt is not None), None)
