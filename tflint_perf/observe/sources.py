"""Loads the user's modules with a few calls put into them, in memory: whether a row was reached, and where a step begins.

Rows and columns of what the user wrote stay as they are, in tracebacks too. Only files that are asked about are touched.
"""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType, ModuleType
from typing import Any

_REACHED = "__tflint_perf_reached__"
_STEP = "__tflint_perf_step__"


class Probes:
    """Which rows of which files are asked about, and how often each was reached."""

    def __init__(self, rows: Mapping[str, Sequence[int]], step: tuple[str, int] | None) -> None:
        self.counts: list[int] = []
        self._numbers: dict[tuple[str, int], int] = {}
        for file, wanted in rows.items():
            for row in wanted:
                self._numbers[file, row] = len(self.counts)
                self.counts.append(0)
        self._step = step
        self._files = {file for file, _ in self._numbers} | ({step[0]} if step else set())

    def install(self, on_step: Callable[[], None]) -> None:
        """Give programs the functions that the calls in them call."""
        counts = self.counts

        def reached(number: int) -> None:
            counts[number] += 1

        setattr(builtins, _REACHED, reached)
        setattr(builtins, _STEP, on_step)

    def hook_autograph(self, module: ModuleType) -> None:
        """What goes into a graph is a copy that AutoGraph has made of what the user wrote, without the calls."""
        original: Callable[..., Any] = vars(module)["_convert_actual"]

        def converted(entity: Any, context: Any) -> Any:
            code = getattr(entity, "__code__", None)
            if code is not None:
                self._all_reached(code)
            return original(entity, context)

        vars(module)["_convert_actual"] = converted

    def _all_reached(self, code: CodeType) -> None:
        """The rows of a function."""
        if self.asks_about(code.co_filename):
            last = _last_row(code)
            for (file, row), number in self._numbers.items():
                if file == code.co_filename and code.co_firstlineno <= row <= last:
                    self.counts[number] += 1

    def reached(self) -> list[tuple[str, int]]:
        """The rows that were."""
        return [place for place, number in self._numbers.items() if self.counts[number]]

    def compile(self, source: Any, filename: str) -> CodeType:
        """The code of a file, `filename` being its real path or the name of a cell."""
        if filename not in self._files:
            return compile(source, filename, "exec", dont_inherit=True)
        tree = ast.parse(source, filename)
        rows = {row: number for (file, row), number in self._numbers.items() if file == filename}
        told = self._step[1] if self._step and self._step[0] == filename else None
        _put_in(tree.body, rows, told)
        return compile(tree, filename, "exec", dont_inherit=True)

    def asks_about(self, filename: str) -> bool:
        return filename in self._files


class Finder(importlib.abc.MetaPathFinder):
    """Finds the modules in the files that are asked about."""

    def __init__(self, probes: Probes) -> None:
        self._probes = probes

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.startswith(("tensorflow.", "keras.", "numpy.")):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if (
            spec is None
            or spec.origin is None
            or not isinstance(spec.loader, importlib.machinery.SourceFileLoader)
        ):
            return None
        if self._probes.asks_about(os.path.realpath(spec.origin)):
            spec.loader = _Loader(spec.loader.name, spec.loader.path, self._probes)
            return spec
        return None


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, probes: Probes) -> None:
        super().__init__(name, path)
        self._probes = probes

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code = self._probes.compile(self.get_data(path), os.path.realpath(path))
        return code


def _last_row(code: CodeType) -> int:
    rows = [row for *_, row in code.co_lines() if row is not None]
    inner = [_last_row(part) for part in code.co_consts if isinstance(part, CodeType)]
    return max([code.co_firstlineno, *rows, *inner])


def _put_in(body: list[ast.stmt], rows: dict[int, int], told: int | None) -> None:
    """Put calls in front of the statements that the rows are in, and into the bodies of functions and of the told loop."""
    at = 0
    while at < len(body):
        statement = body[at]
        inner = [part for part in _bodies(statement) if part]
        first, last = _first_row(statement), statement.end_lineno or statement.lineno
        head = min((part[0].lineno for part in inner), default=last + 1) - 1
        head = max(head, statement.lineno)
        mine = [row for row in rows if first <= row <= (head if inner else last)]
        here: list[ast.stmt] = [_call(_REACHED, statement, rows.pop(row)) for row in mine]
        is_told = told is not None and first <= told <= (head if inner else last)
        if is_told and isinstance(statement, (ast.For, ast.While, ast.AsyncFor)):
            statement.body.insert(0, _call(_STEP, statement.body[0]))
            told = None
        elif is_told:
            here.append(_call(_STEP, statement))
            told = None
        for part in inner:
            _put_in(part, rows, told)
        if here and isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            start = 1 if ast.get_docstring(statement, clean=False) is not None else 0
            statement.body[start:start] = here
        elif here and not _must_come_first(statement, at):
            body[at:at] = here
            at += len(here)
        at += 1


def _first_row(statement: ast.stmt) -> int:
    decorators: Iterable[ast.expr] = getattr(statement, "decorator_list", ())
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _must_come_first(statement: ast.stmt, at: int) -> bool:
    """A docstring, or an import from the future."""
    if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        return True
    return at == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _bodies(statement: ast.stmt) -> list[list[ast.stmt]]:
    bodies = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    bodies += [handler.body for handler in getattr(statement, "handlers", [])]
    bodies += [case.body for case in getattr(statement, "cases", [])]
    return bodies


def _call(name: str, at: ast.stmt, *arguments: int) -> ast.stmt:
    made = ast.Expr(
        ast.Call(ast.Name(name, ast.Load()), [ast.Constant(argument) for argument in arguments], [])
    )
    for node in ast.walk(made):
        ast.copy_location(node, at)
        node.end_lineno, node.end_col_offset = at.lineno, at.col_offset  # type: ignore[attr-defined]
    return made
