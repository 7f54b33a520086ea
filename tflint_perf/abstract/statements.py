"""Statements: from those of Python's own parser to those of libcst."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from tflint_perf.abstract import nodes as n
from tflint_perf.abstract.expressions import ASYNCHRONOUS, AUGMENTED, Expressions, UnknownCodeError

_COMPOUND = (
    ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.FunctionDef, ast.AsyncFunctionDef,
    ast.ClassDef, *([ast.TryStar] if hasattr(ast, "TryStar") else []),
)  # fmt: skip
# No comment stands in a tree of code alone.
_NO_COMMENT = cst.TrailingWhitespace()
_NO_LINES: tuple[cst.EmptyLine, ...] = ()


class Statements:
    """Makes the statements of one module."""

    def __init__(self, text: str) -> None:
        self._expressions = Expressions(text)
        self._make = self._expressions.make
        self._maybe = self._expressions.maybe
        self.rows = self._expressions.rows

    def body(self, statements: Sequence[ast.stmt]) -> list[Any]:
        """Statements below each other, small ones that share a line in one.

        Raises:
            UnknownCodeError: there is code that no node of libcst is known for.
        """
        lines: list[cst.BaseStatement] = []
        small: list[cst.BaseSmallStatement] = []
        row = -1
        for statement in statements:
            maker = _MAKERS.get(statement.__class__)
            if maker is None:
                raise UnknownCodeError(type(statement).__name__)
            made = maker(self, statement)
            if isinstance(statement, _COMPOUND):
                lines.append(made)
                row = -1
                continue
            if statement.lineno == row:
                small.append(made)
            else:
                small = [made]
                lines.append(n.line(small, _NO_LINES, _NO_COMMENT))
            row = statement.end_lineno or -1
        return lines

    def _suite(self, statements: Sequence[ast.stmt]) -> cst.BaseSuite:
        """What follows a colon: a block, or small statements on the same line."""
        body = self.body(statements)
        first = statements[0]
        if isinstance(first, _COMPOUND):
            return n.block(body)
        # Nothing stands before a first statement whose indentation a backslash has put on the line above.
        if self._expressions.lines[first.lineno - 1][: first.col_offset].strip():
            # One line, which may have been made several where a string in it takes some.
            return n.suite([part for line in body for part in line.body], None, _NO_COMMENT)
        return n.block(body)

    # Small statements

    def _expression(self, node: ast.Expr) -> cst.Expr:
        return n.expression(self._make(node.value))

    def _assign(self, node: ast.Assign) -> cst.Assign:
        return n.assign(
            [n.assign_target(self._make(target)) for target in node.targets], self._make(node.value)
        )

    def _augmented(self, node: ast.AugAssign) -> cst.AugAssign:
        return n.augmented_assign(
            self._make(node.target), AUGMENTED[node.op.__class__], self._make(node.value)
        )

    def _annotated(self, node: ast.AnnAssign) -> cst.AnnAssign:
        return n.annotated_assign(
            self._make(node.target), self._expressions.annotation(node.annotation), self._maybe(node.value)
        )

    def _return(self, node: ast.Return) -> cst.Return:
        return n.return_(self._maybe(node.value))

    def _delete(self, node: ast.Delete) -> cst.Del:
        if len(node.targets) == 1:
            return n.delete(self._make(node.targets[0]))
        return n.delete(n.tuple_([n.element(self._make(target)) for target in node.targets]))

    def _pass(self, node: ast.Pass) -> cst.Pass:
        return n.pass_()

    def _break(self, node: ast.Break) -> cst.Break:
        return n.break_()

    def _continue(self, node: ast.Continue) -> cst.Continue:
        return n.continue_()

    def _import(self, node: ast.Import) -> cst.Import:
        return n.import_([_alias(alias) for alias in node.names])

    def _import_from(self, node: ast.ImportFrom) -> cst.ImportFrom:
        names: Any = (
            n.import_star()
            if len(node.names) == 1 and node.names[0].name == "*"
            else [_alias(alias) for alias in node.names]
        )
        module = _dotted(node.module) if node.module else None
        return n.import_from(module, names, [n.dot() for _ in range(node.level)])

    def _global(self, node: ast.Global) -> cst.Global:
        return n.global_([n.name_item(n.name(name)) for name in node.names])

    def _nonlocal(self, node: ast.Nonlocal) -> cst.Nonlocal:
        return n.nonlocal_([n.name_item(n.name(name)) for name in node.names])

    def _raise(self, node: ast.Raise) -> cst.Raise:
        cause = n.from_(self._make(node.cause)) if node.cause is not None else None
        return n.raise_(self._maybe(node.exc), cause)

    def _assert(self, node: ast.Assert) -> cst.Assert:
        return n.assert_(self._make(node.test), self._maybe(node.msg))

    # Compound statements

    def _if(self, node: ast.If) -> cst.If:
        test, body, orelse = self._make(node.test), self._suite(node.body), node.orelse
        if not orelse:
            return n.if_(test, body, None)
        # An `elif` stands in the same column as its `if`, what follows an `else` does not.
        first = orelse[0]
        if len(orelse) == 1 and isinstance(first, ast.If) and first.col_offset == node.col_offset:
            return n.if_(test, body, self._if(first))
        return n.if_(test, body, n.else_(self._suite(orelse)))

    def _else(self, statements: Sequence[ast.stmt]) -> cst.Else | None:
        return n.else_(self._suite(statements)) if statements else None

    def _for(self, node: ast.For | ast.AsyncFor) -> cst.For:
        made = n.for_(
            self._make(node.target),
            self._make(node.iter),
            self._suite(node.body),
            self._else(node.orelse),
            ASYNCHRONOUS if isinstance(node, ast.AsyncFor) else None,
        )
        self.rows[made] = node.lineno
        return made

    def _while(self, node: ast.While) -> cst.While:
        made = n.while_(self._make(node.test), self._suite(node.body), self._else(node.orelse))
        self.rows[made] = node.lineno
        return made

    def _with(self, node: ast.With | ast.AsyncWith) -> cst.With:
        items = [
            n.with_item(
                self._make(item.context_expr),
                n.as_name(self._make(item.optional_vars)) if item.optional_vars is not None else None,
            )
            for item in node.items
        ]
        return n.with_(
            items, self._suite(node.body), ASYNCHRONOUS if isinstance(node, ast.AsyncWith) else None
        )

    def _try(self, node: ast.Try) -> cst.Try:
        return n.try_(*self._parts_of_try(node, n.except_))

    def _try_star(self, node: Any) -> cst.TryStar:
        return n.try_star(*self._parts_of_try(node, n.except_star))

    def _parts_of_try(self, node: Any, make: Callable[..., Any]) -> tuple[Any, ...]:
        handlers = [
            make(
                self._suite(handler.body),
                self._maybe(handler.type),
                n.as_name(n.name(handler.name)) if handler.name is not None else None,
            )
            for handler in node.handlers
        ]
        final = n.finally_(self._suite(node.finalbody)) if node.finalbody else None
        return self._suite(node.body), handlers, self._else(node.orelse), final

    # Definitions

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> cst.FunctionDef:
        if getattr(node, "type_params", None):
            raise UnknownCodeError("type parameters")
        made = n.function(
            n.name(node.name),
            self._expressions.parameters(node.args),
            self._suite(node.body),
            self._decorators(node.decorator_list),
            self._expressions.annotation(node.returns),
            ASYNCHRONOUS if isinstance(node, ast.AsyncFunctionDef) else None,
        )
        self.rows[made] = node.lineno
        return made

    def _class(self, node: ast.ClassDef) -> cst.ClassDef:
        if getattr(node, "type_params", None):
            raise UnknownCodeError("type parameters")
        bases = self._expressions.arguments(node.bases, ())
        keywords = self._expressions.arguments((), node.keywords)
        return n.class_(
            n.name(node.name),
            self._suite(node.body),
            bases,
            keywords,
            self._decorators(node.decorator_list),
        )

    def _decorators(self, nodes: Sequence[ast.expr]) -> list[cst.Decorator]:
        return [n.decorator(self._make(node)) for node in nodes]


def _dotted(name: str) -> cst.Name | cst.Attribute:
    first, *others = name.split(".")
    made: cst.Name | cst.Attribute = n.name(first)
    for other in others:
        made = n.attribute(made, n.name(other))
    return made


def _alias(node: ast.alias) -> cst.ImportAlias:
    return n.import_alias(
        _dotted(node.name), n.as_name(n.name(node.asname)) if node.asname is not None else None
    )


_MAKERS: dict[type[ast.stmt], Callable[[Statements, Any], Any]] = {
    ast.Expr: Statements._expression,
    ast.Assign: Statements._assign,
    ast.AugAssign: Statements._augmented,
    ast.AnnAssign: Statements._annotated,
    ast.Return: Statements._return,
    ast.Delete: Statements._delete,
    ast.Pass: Statements._pass,
    ast.Break: Statements._break,
    ast.Continue: Statements._continue,
    ast.Import: Statements._import,
    ast.ImportFrom: Statements._import_from,
    ast.Global: Statements._global,
    ast.Nonlocal: Statements._nonlocal,
    ast.Raise: Statements._raise,
    ast.Assert: Statements._assert,
    ast.If: Statements._if,
    ast.For: Statements._for,
    ast.AsyncFor: Statements._for,
    ast.While: Statements._while,
    ast.With: Statements._with,
    ast.AsyncWith: Statements._with,
    ast.Try: Statements._try,
    ast.FunctionDef: Statements._function,
    ast.AsyncFunctionDef: Statements._function,
    ast.ClassDef: Statements._class,
}
if hasattr(ast, "TryStar"):
    _MAKERS[ast.TryStar] = Statements._try_star
