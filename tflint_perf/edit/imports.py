"""Where the imports at the top of a module end."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst


def last_import(lines: Iterable[cst.CSTNode]) -> cst.CSTNode | None:
    """The last import statement of the first run of imports in lines of a module; None when they have none.

    What defines nothing does not end the run: a string, a `try` or `if` that only imports, `__all__ = …`, and settings
    such as `os.environ["A"] = "1"`, which must come before the imports behind them.
    """
    last: cst.CSTNode | None = None
    for line in lines:
        if isinstance(line, cst.SimpleStatementLine):
            imports = [small for small in line.body if isinstance(small, cst.Import | cst.ImportFrom)]
            if imports:
                last = imports[-1]
                continue
        if last is not None and not _belongs_to_run(line):
            break
    return last


def _belongs_to_run(line: cst.CSTNode) -> bool:
    match line:
        case cst.SimpleStatementLine():
            return all(_defines_nothing(small) for small in line.body)
        case cst.Try() | cst.If():
            return _only_imports(line.body)
    return False


def _defines_nothing(statement: cst.BaseSmallStatement) -> bool:
    match statement:
        case cst.Assign():
            return all(_is_setting(target.target) for target in statement.targets)
        case cst.Expr() | cst.Pass():
            return True
    return False


def _is_setting(target: cst.BaseExpression) -> bool:
    match target:
        case cst.Name():
            return target.value.startswith("__") and target.value.endswith("__")
        case cst.Attribute() | cst.Subscript():
            return True
    return False


def _only_imports(suite: cst.BaseSuite) -> bool:
    """Whether a suite only imports. What a `try` or `if` does without the import does not matter."""
    return all(
        isinstance(line, cst.SimpleStatementLine)
        and all(isinstance(small, cst.Import | cst.ImportFrom) for small in line.body)
        for line in suite.body
    )
