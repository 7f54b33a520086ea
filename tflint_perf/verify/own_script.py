"""A user's own script, looked at before anything runs: whether it can be one of a pair."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from tflint_perf.problems import ConfigError

_WANTED = "a generator `train(steps)` that yields the loss of each step"
_ELSE = "`tflint-perf prove` compares a program as it is with its fixes"


def refuse_no_experiment(script: Path) -> None:
    """Refuse a script that surely has no generator `train(steps)`; what cannot be seen in its code is let pass.

    Raises:
        ConfigError: with what is missing.
    """
    try:
        tree = ast.parse(script.read_bytes(), str(script))
    except (SyntaxError, ValueError) as error:
        row = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        said = error.msg if isinstance(error, SyntaxError) else str(error)
        raise ConfigError(f"not Python: {said}", f"{script}{row}") from None
    if not any(_may_name_train(statement) for statement in _at_top(tree.body)):
        raise ConfigError(f"there is no function `train`; --pair takes {_WANTED} ({_ELSE})", str(script))
    for statement in _at_top(tree.body):
        if isinstance(statement, ast.FunctionDef) and statement.name == "train":
            if fault := _fault(statement):
                raise ConfigError(
                    f"`train` {fault}; --pair takes {_WANTED} ({_ELSE})", f"{script}:{statement.lineno}"
                )


def _at_top(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when the module does, those in conditions and the like with them."""
    for statement in statements:
        yield statement
        if isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While):
            for name in ("body", "orelse", "finalbody"):
                yield from _at_top(getattr(statement, name, ()))
            for handler in getattr(statement, "handlers", ()):
                yield from _at_top(handler.body)


def _may_name_train(statement: ast.stmt) -> bool:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return name == "train"
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return any((alias.asname or alias.name) in ("train", "*") for alias in names)
        case _:
            # A name that is set in any other way, or through `globals()`.
            return any(
                isinstance(node, ast.Name) and node.id in ("train", "globals") for node in ast.walk(statement)
            )


def _fault(function: ast.FunctionDef) -> str | None:
    """What keeps a function from being asked for steps, if its code says so."""
    if function.decorator_list:
        return None
    given = function.args
    if not (given.posonlyargs or given.args or given.vararg):
        return "takes no number of steps"
    gives = (ast.Yield, ast.YieldFrom)
    if not any(
        isinstance(node, gives) or (isinstance(node, ast.Return) and node.value is not None)
        for node in _of_its_own(function)
    ):
        return "yields nothing"
    return None


def _of_its_own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What stands in a function and in none inside it."""
    left: list[ast.AST] = list(function.body)
    while left:
        node = left.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            left += ast.iter_child_nodes(node)
