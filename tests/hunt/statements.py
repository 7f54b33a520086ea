"""Making a program smaller as long as it still does what it was kept for."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Iterator


def shrunk(text: str, still: Callable[[str], bool], most: int = 150) -> str:
    """The smallest program found by leaving out statements and unwrapping blocks, in so many tries at most."""
    tries = 0
    smaller = True
    while smaller:
        smaller = False
        for less in list(_lesser(text)):
            if tries >= most:
                return text
            tries += 1
            if len(less) < len(text) and still(less):
                text, smaller = less, True
                break
    return text


def _lesser(text: str) -> Iterator[str]:
    """The program with one statement less each time, the largest first."""
    tree = ast.parse(text)
    lists = [
        (body, at)
        for node in ast.walk(tree)
        for field in ("body", "orelse", "finalbody", "handlers", "cases")
        if isinstance(body := getattr(node, field, None), list)
        for at in range(len(body))
    ]
    lists.sort(key=lambda found: _size(found[0][found[1]]), reverse=True)
    for body, at in lists:
        one = body[at]
        inner = getattr(one, "body", None)
        for instead in (
            [],
            inner if isinstance(inner, list) and not isinstance(one, ast.FunctionDef) else None,
        ):
            if instead is None or (not instead and len(body) == 1):
                continue
            body[at : at + 1] = instead
            with contextlib.suppress(ValueError, AttributeError):
                yield ast.unparse(tree) + "\n"
            body[at : at + len(instead)] = [one]


def _size(node: ast.AST) -> int:
    return (getattr(node, "end_lineno", 0) or 0) - (getattr(node, "lineno", 0) or 0)
