"""The trees of a source: the whole one by libcst, and the one by its code alone."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import libcst as cst

from tflint_perf.text.layout import without_feeds

# Deeply nested code needs deep recursion, in the walk and in code generation.
_RECURSION_LIMIT = 8_000
# The check that a node has by itself, also where several threads parse at once.
_CHECKED = cst.CSTNode.__post_init__


def whole_module(text: str) -> cst.Module:
    """The tree of a module, whose nodes are right as the parser makes them: checking each takes an eighth of the time.

    Raises:
        ParserSyntaxError, RecursionError: it can't be parsed.
    """
    cst.CSTNode.__post_init__ = _unchecked  # type: ignore[method-assign,assignment]
    try:
        return cst.parse_module(text)
    except cst.ParserSyntaxError:
        plain = without_feeds(text) if "\f" in text else text
        if plain == text:
            raise
        return cst.parse_module(plain)
    finally:
        cst.CSTNode.__post_init__ = _CHECKED  # type: ignore[method-assign]


def _unchecked(node: cst.CSTNode) -> None:
    """In place of a node's own check."""


@contextmanager
def room_for_trees() -> Iterator[None]:
    """Let trees be deep, and keep the garbage collector from walking one that grows again and again.

    Parsing is a third quicker without it. The tree is let go before it is switched on again (`Model.release`), so that
    it finds nothing to do.
    """
    if sys.getrecursionlimit() < _RECURSION_LIMIT:
        sys.setrecursionlimit(_RECURSION_LIMIT)
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
