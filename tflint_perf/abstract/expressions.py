"""Expressions: from those of Python's own parser to those of libcst."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from tflint_perf.abstract import nodes as n


class UnknownCodeError(Exception):
    """Code of a kind that is left to libcst's own parser."""


# A string that is one token: what is not may be several ones side by side.
_ONE_STRING = re.compile(
    r"""[A-Za-z]{0,2}(?:'''(?:[^'\\]|\\.|'(?!''))*'''|\"{3}(?:[^"\\]|\\.|"(?!""))*\"{3}|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")""",
    re.DOTALL,
)
_NEW_LINE = re.compile(rb"\r\n|\r|\n")
ASYNCHRONOUS = cst.Asynchronous()
_STAR = n.bare_star()

# Nobody walks operators, so that all expressions can share them.
BINARY: dict[type[ast.operator], cst.BaseBinaryOp] = {
    ast.Add: cst.Add(), ast.Sub: cst.Subtract(), ast.Mult: cst.Multiply(), ast.Div: cst.Divide(),
    ast.FloorDiv: cst.FloorDivide(), ast.Mod: cst.Modulo(), ast.Pow: cst.Power(), ast.MatMult: cst.MatrixMultiply(),
    ast.LShift: cst.LeftShift(), ast.RShift: cst.RightShift(), ast.BitOr: cst.BitOr(), ast.BitXor: cst.BitXor(),
    ast.BitAnd: cst.BitAnd(),
}  # fmt: skip
AUGMENTED: dict[type[ast.operator], cst.BaseAugOp] = {
    ast.Add: cst.AddAssign(), ast.Sub: cst.SubtractAssign(), ast.Mult: cst.MultiplyAssign(),
    ast.Div: cst.DivideAssign(), ast.FloorDiv: cst.FloorDivideAssign(), ast.Mod: cst.ModuloAssign(),
    ast.Pow: cst.PowerAssign(), ast.MatMult: cst.MatrixMultiplyAssign(), ast.LShift: cst.LeftShiftAssign(),
    ast.RShift: cst.RightShiftAssign(), ast.BitOr: cst.BitOrAssign(), ast.BitXor: cst.BitXorAssign(),
    ast.BitAnd: cst.BitAndAssign(),
}  # fmt: skip
_UNARY: dict[type[ast.unaryop], cst.BaseUnaryOp] = {
    ast.Not: cst.Not(), ast.USub: cst.Minus(), ast.UAdd: cst.Plus(), ast.Invert: cst.BitInvert(),
}  # fmt: skip
_BOOLEAN: dict[type[ast.boolop], cst.BaseBooleanOp] = {ast.And: cst.And(), ast.Or: cst.Or()}
_COMPARING: dict[type[ast.cmpop], cst.BaseCompOp] = {
    ast.Eq: cst.Equal(), ast.NotEq: cst.NotEqual(), ast.Lt: cst.LessThan(), ast.LtE: cst.LessThanEqual(),
    ast.Gt: cst.GreaterThan(), ast.GtE: cst.GreaterThanEqual(), ast.In: cst.In(), ast.NotIn: cst.NotIn(),
    ast.Is: cst.Is(), ast.IsNot: cst.IsNot(),
}  # fmt: skip


class Expressions:
    """Makes the expressions of one module. Places in its text are given in lines and bytes, as Python's parser does."""

    def __init__(self, text: str) -> None:
        self.lines = _NEW_LINE.split(text.encode())
        # Where calls, loops and functions stand: a call where the name ends of what is called.
        self.rows: dict[cst.CSTNode, int] = {}

    def make(self, node: ast.expr) -> Any:
        """The same expression.

        Raises:
            UnknownCodeError: no node of libcst is known for it.
        """
        maker = _MAKERS.get(node.__class__)
        if maker is None:
            raise UnknownCodeError(type(node).__name__)
        return maker(self, node)

    def maybe(self, node: ast.expr | None) -> Any:
        """The same expression, or None where there is none."""
        return None if node is None else self.make(node)

    # The text

    def text(self, node: ast.expr) -> str:
        """The text of an expression."""
        first, last, end = node.lineno - 1, (node.end_lineno or node.lineno) - 1, node.end_col_offset
        if first == last:
            return self.lines[first][node.col_offset : end].decode()
        between = self.lines[first + 1 : last]
        return b"\n".join([self.lines[first][node.col_offset :], *between, self.lines[last][:end]]).decode()

    def _parsed(self, node: ast.expr) -> cst.BaseExpression:
        """What libcst's parser makes of an expression: where the text tells more than Python's parser gives."""
        try:
            return cst.parse_expression(f"({self.text(node)})")
        except cst.ParserSyntaxError as error:
            raise UnknownCodeError("text") from error

    # Names, calls

    def _name(self, node: ast.Name) -> cst.Name:
        return n.name(node.id)

    def _attribute(self, node: ast.Attribute) -> cst.Attribute:
        return n.attribute(self.make(node.value), n.name(node.attr))

    def _call(self, node: ast.Call) -> cst.Call:
        made = n.call(self.make(node.func), self.arguments(node.args, node.keywords))
        self.rows[made] = node.func.end_lineno or node.lineno
        return made

    def arguments(self, plain: Sequence[ast.expr], keywords: Sequence[ast.keyword]) -> list[cst.Arg]:
        """The arguments of a call, in the order of the text."""
        made = [self._argument(arg) for arg in plain]
        if not keywords:
            return made
        given = [self._keyword(keyword) for keyword in keywords]
        if not plain or _place(plain[-1]) < _place(keywords[0]):
            return made + given
        placed = sorted(
            zip([*map(_place, plain), *map(_place, keywords)], made + given, strict=True),
            key=lambda pair: pair[0],
        )
        return [arg for _, arg in placed]

    def _argument(self, node: ast.expr) -> cst.Arg:
        if isinstance(node, ast.Starred):
            return n.arg(self.make(node.value), None, "*")
        return n.arg(self.make(node), None, "")

    def _keyword(self, node: ast.keyword) -> cst.Arg:
        if node.arg is None:
            return n.arg(self.make(node.value), None, "**")
        return n.arg(self.make(node.value), n.name(node.arg), "")

    # Literals

    def _constant(self, node: ast.Constant) -> cst.BaseExpression:
        value = node.value
        kind = value.__class__
        if kind is str or kind is bytes:
            text = self.text(node)
            return n.string(text) if _ONE_STRING.fullmatch(text) else self._parsed(node)
        if value is None or kind is bool:
            return n.name(str(value))
        if kind is int:
            return n.integer(self.text(node))
        if kind is float:
            return n.float_(self.text(node))
        if kind is complex:
            return n.imaginary(self.text(node))
        if value is ...:
            return n.ellipsis_()
        raise UnknownCodeError(kind.__name__)

    def _elements(self, nodes: Sequence[ast.expr]) -> list[cst.Element | cst.StarredElement]:
        return [
            n.starred_element(self.make(node.value))
            if isinstance(node, ast.Starred)
            else n.element(self.make(node))
            for node in nodes
        ]

    def _tuple(self, node: ast.Tuple) -> cst.Tuple:
        return n.tuple_(self._elements(node.elts))

    def _list(self, node: ast.List) -> cst.List:
        return n.list_(self._elements(node.elts))

    def _set(self, node: ast.Set) -> cst.Set:
        return n.set_(self._elements(node.elts))

    def _dict(self, node: ast.Dict) -> cst.Dict:
        return n.dict_(
            [
                n.starred_dict_element(self.make(value))
                if key is None
                else n.dict_element(self.make(key), self.make(value))
                for key, value in zip(node.keys, node.values, strict=True)
            ]
        )

    # Subscripts

    def _subscript(self, node: ast.Subscript) -> cst.Subscript:
        value = self.make(node.value)
        inside = node.slice
        if not isinstance(inside, ast.Tuple) or not inside.elts or self._is_bracketed(inside):
            return n.subscript(value, [n.subscript_element(self._slice(inside))])
        return n.subscript(value, [n.subscript_element(self._slice(part)) for part in inside.elts])

    def _slice(self, node: ast.expr) -> cst.BaseSlice:
        if isinstance(node, ast.Slice):
            return n.slice_(self.maybe(node.lower), self.maybe(node.upper), self.maybe(node.step))
        if isinstance(node, ast.Starred):
            return n.index(self.make(node.value), "*")
        return n.index(self.make(node), None)

    def _is_bracketed(self, node: ast.Tuple) -> bool:
        """Whether a tuple in a subscript has brackets of its own: `x[(1, 2)]`."""
        if any(isinstance(part, ast.Slice | ast.Starred) for part in node.elts):
            return False
        text = self.text(node)
        if not (text.startswith("(") and text.endswith(")")):
            return False
        # `x[(a), (b)]` begins and ends with brackets, too.
        whole = cst.parse_expression(f"x[{text}]")
        assert isinstance(whole, cst.Subscript)
        return len(whole.slice) == 1

    # Operations

    def _binary(self, node: ast.BinOp) -> cst.BinaryOperation:
        return n.binary(self.make(node.left), BINARY[node.op.__class__], self.make(node.right))

    def _unary(self, node: ast.UnaryOp) -> cst.UnaryOperation:
        return n.unary(_UNARY[node.op.__class__], self.make(node.operand))

    def _boolean(self, node: ast.BoolOp) -> cst.BooleanOperation:
        operator = _BOOLEAN[node.op.__class__]
        made = self.make(node.values[0])
        for value in node.values[1:]:
            made = n.boolean(made, operator, self.make(value))
        return made  # type: ignore[no-any-return]

    def _comparison(self, node: ast.Compare) -> cst.Comparison:
        return n.comparison(
            self.make(node.left),
            [
                n.comparison_target(_COMPARING[operator.__class__], self.make(side))
                for operator, side in zip(node.ops, node.comparators, strict=True)
            ],
        )

    def _conditional(self, node: ast.IfExp) -> cst.IfExp:
        return n.conditional(self.make(node.test), self.make(node.body), self.make(node.orelse))

    # Comprehensions

    def _list_comprehension(self, node: ast.ListComp) -> cst.ListComp:
        return n.list_comprehension(self.make(node.elt), self._for_in(node.generators))

    def _set_comprehension(self, node: ast.SetComp) -> cst.SetComp:
        return n.set_comprehension(self.make(node.elt), self._for_in(node.generators))

    def _generator(self, node: ast.GeneratorExp) -> cst.GeneratorExp:
        return n.generator(self.make(node.elt), self._for_in(node.generators))

    def _dict_comprehension(self, node: ast.DictComp) -> cst.DictComp:
        return n.dict_comprehension(self.make(node.key), self.make(node.value), self._for_in(node.generators))

    def _for_in(self, parts: Sequence[ast.comprehension]) -> cst.CompFor:
        made = None
        for part in reversed(parts):
            made = n.comprehension_for(
                self.make(part.target),
                self.make(part.iter),
                [n.comprehension_if(self.make(test)) for test in part.ifs],
                made,
                ASYNCHRONOUS if part.is_async else None,
            )
            self.rows[made] = part.target.lineno
        assert made is not None
        return made

    # Functions

    def _lambda(self, node: ast.Lambda) -> cst.Lambda:
        return n.lambda_(self.parameters(node.args), self.make(node.body))

    def parameters(self, node: ast.arguments) -> cst.Parameters:
        """The parameters of a function."""
        plain = [*node.posonlyargs, *node.args]
        defaults = [None] * (len(plain) - len(node.defaults)) + list(node.defaults)
        made = [self._parameter(arg, default, "") for arg, default in zip(plain, defaults, strict=True)]
        before = len(node.posonlyargs)
        if node.vararg is not None:
            star: Any = self._parameter(node.vararg, None, "*")
        else:
            star = _STAR if node.kwonlyargs else cst.MaybeSentinel.DEFAULT
        return n.parameters(
            made[before:],
            star,
            [
                self._parameter(arg, default, "")
                for arg, default in zip(node.kwonlyargs, node.kw_defaults, strict=True)
            ],
            self._parameter(node.kwarg, None, "**") if node.kwarg is not None else None,
            made[:before],
            cst.MaybeSentinel.DEFAULT,
        )

    def _parameter(self, node: ast.arg, default: ast.expr | None, star: str) -> cst.Param:
        return n.parameter(n.name(node.arg), self.annotation(node.annotation), self.maybe(default), star)

    def annotation(self, node: ast.expr | None) -> cst.Annotation | None:
        """What is said of the type of a parameter, a variable or a result."""
        return n.annotation(self.make(node)) if node is not None else None

    def _await(self, node: ast.Await) -> cst.Await:
        return n.await_(self.make(node.value))

    def _yield(self, node: ast.Yield) -> cst.Yield:
        return n.yield_(self.maybe(node.value))

    def _yield_from(self, node: ast.YieldFrom) -> cst.Yield:
        return n.yield_(n.from_(self.make(node.value)))

    def _named(self, node: ast.NamedExpr) -> cst.NamedExpr:
        return n.named(self.make(node.target), self.make(node.value))


def _place(node: ast.expr | ast.keyword) -> tuple[int, int]:
    return node.lineno, node.col_offset


_MAKERS: dict[type[ast.expr], Callable[[Expressions, Any], cst.CSTNode]] = {
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.Call: Expressions._call,
    ast.Constant: Expressions._constant,
    # Python's parser loses which quotes and how many strings there were.
    ast.JoinedStr: Expressions._parsed,
    ast.Tuple: Expressions._tuple,
    ast.List: Expressions._list,
    ast.Set: Expressions._set,
    ast.Dict: Expressions._dict,
    ast.Subscript: Expressions._subscript,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.BoolOp: Expressions._boolean,
    ast.Compare: Expressions._comparison,
    ast.IfExp: Expressions._conditional,
    ast.ListComp: Expressions._list_comprehension,
    ast.SetComp: Expressions._set_comprehension,
    ast.GeneratorExp: Expressions._generator,
    ast.DictComp: Expressions._dict_comprehension,
    ast.Lambda: Expressions._lambda,
    ast.Await: Expressions._await,
    ast.Yield: Expressions._yield,
    ast.YieldFrom: Expressions._yield_from,
    ast.NamedExpr: Expressions._named,
}
