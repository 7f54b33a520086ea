"""Names that a text reads and that nothing gives a value, or only what comes later."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator, Sequence

from tests.hunt.lines import parsed

_KNOWN = {*dir(builtins), "__file__", "__name__", "__doc__", "__path__", "__module__", "__qualname__"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def undefined(text: str) -> set[str]:
    """The names that no scope binds, and, as `name too early`, those that their own scope reads before it binds them."""
    table = symtable.symtable(text, "<text>", "exec")
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(parsed(text))):
        return set()
    bound = {symbol.get_name() for symbol in table.get_symbols() if _binds(symbol)}
    bound |= {
        symbol.get_name()
        for scope in _tables(table)
        for symbol in scope.get_symbols()
        if symbol.is_declared_global() and symbol.is_assigned()
    }
    read = {
        symbol.get_name()
        for scope in _tables(table)
        for symbol in scope.get_symbols()
        if symbol.is_referenced() and symbol.is_global()
    }
    return (read - bound - _KNOWN) | {f"{name} too early" for name in _too_early(parsed(text))}


def _binds(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _too_early(tree: ast.AST) -> set[str]:
    """The names that a scope reads above the first place that binds them there."""
    found: set[str] = set()
    scopes: list[ast.AST] = [tree, *(node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS))]
    for scope in scopes:
        seen: dict[str, bool] = {}
        elsewhere: set[str] = set()
        if isinstance(scope, _FUNCTIONS):
            arguments = scope.args
            every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            every += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
            seen = {one.arg: True for one in every}
        body = scope.body if isinstance(scope.body, list) else [scope.body]  # type: ignore[attr-defined]
        later: set[str] = set()
        for statement in body:
            for name, binds in _events(statement, elsewhere):
                if name not in seen:
                    seen[name] = binds
                elif binds and not seen[name]:
                    later.add(name)
        found |= later - elsewhere - _KNOWN
    return found


def _of_branches(branches: Sequence[Sequence[ast.AST]], elsewhere: set[str]) -> Iterator[tuple[str, bool]]:
    """Of branches only one runs: what one binds is not there for the others."""
    bound: set[str] = set()
    for branch in branches:
        own: set[str] = set()
        for name, binds in (event for statement in branch for event in _events(statement, elsewhere)):
            if binds:
                own.add(name)
            elif name not in own:
                yield name, False
        bound |= own
    for name in sorted(bound):
        yield name, True


def _events(node: ast.AST, elsewhere: set[str]) -> Iterator[tuple[str, bool]]:
    """The names in the order in which they are read and bound (True) when `node` runs; what it defines does not run."""
    match node:
        case ast.Global() | ast.Nonlocal():
            elsewhere.update(node.names)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            for part in [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]:
                yield from _events(part, elsewhere)
            yield node.name, True
        case ast.ClassDef():
            for part in [*node.decorator_list, *node.bases, *node.keywords]:
                yield from _events(part, elsewhere)
            yield node.name, True
        case ast.Lambda():
            return
        case ast.Name():
            yield node.id, not isinstance(node.ctx, ast.Load)
        case ast.alias():
            yield (node.asname or node.name).split(".")[0], True
        case ast.ExceptHandler():
            if node.type is not None:
                yield from _events(node.type, elsewhere)
            if node.name:
                yield node.name, True
            for part in node.body:
                yield from _events(part, elsewhere)
        case ast.MatchAs() | ast.MatchStar():
            if getattr(node, "pattern", None) is not None:
                yield from _events(node.pattern, elsewhere)  # type: ignore[union-attr]
            if node.name:
                yield node.name, True
        case _ if isinstance(node, _COMPREHENSIONS):
            # Its targets are its own.
            own = {
                name.id
                for part in node.generators
                for name in ast.walk(part.target)
                if isinstance(name, ast.Name)
            }
            for part in ast.iter_child_nodes(node):
                yield from ((name, binds) for name, binds in _events(part, elsewhere) if name not in own)
        case ast.Assign():
            yield from _events(node.value, elsewhere)
            for target in node.targets:
                yield from _events(target, elsewhere)
        case ast.AnnAssign():
            if node.value is not None:
                yield from _events(node.value, elsewhere)
                yield from _events(node.target, elsewhere)
        case ast.AugAssign():
            if isinstance(node.target, ast.Name):
                yield node.target.id, False
            yield from _events(node.value, elsewhere)
            yield from _events(node.target, elsewhere)
        case ast.NamedExpr():
            yield from _events(node.value, elsewhere)
            yield from _events(node.target, elsewhere)
        case ast.If():
            yield from _events(node.test, elsewhere)
            yield from _of_branches([node.body, node.orelse], elsewhere)
        case ast.Match():
            yield from _events(node.subject, elsewhere)
            branches = [[case.pattern, *filter(None, [case.guard]), *case.body] for case in node.cases]
            yield from _of_branches(branches, elsewhere)
        case ast.For() | ast.AsyncFor():
            yield from _events(node.iter, elsewhere)
            for part in (node.target, *node.body, *node.orelse):
                yield from _events(part, elsewhere)
        case _:
            for part in ast.iter_child_nodes(node):
                yield from _events(part, elsewhere)
