"""Code that never runs."""

from __future__ import annotations

from math import inf

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.python.names import Names
from tflint_perf.analysis.python.scopes import Block
from tflint_perf.analysis.python.walk import Walk


def never_runs(walk: Walk, node: cst.CSTNode) -> bool:
    """Whether a `return`, `raise`, `break`, `continue` or `assert False` stands before a node in its block, or in one around
    it, or the function that it is in is defined anew further down."""
    current: cst.CSTNode | None = node
    while current is not None:
        at = walk.at.get(current)
        if at is not None and at.block.left_at is not None and at.block.left_at < at.order:
            return True
        if isinstance(current, cst.FunctionDef) and current is not node and _is_defined_anew(walk, current):
            return True
        current = walk.parents.get(current)
    return False


def is_behind_end(walk: Walk, names: Names, node: cst.CSTNode) -> bool:
    """Whether `sys.exit()` or its like stands before a node of a script in its block, or in one around it.

    That is enough to say nothing of the code, and not for a fix to go by: what exits may be somebody else's function.
    """
    current: cst.CSTNode | None = node
    while current is not None:
        at = walk.at.get(current)
        if at is not None and _end_of(walk, names, at.block) < at.order:
            return True
        current = walk.parents.get(current)
    return False


def _end_of(walk: Walk, names: Names, block: Block) -> float:
    """The place of the first statement of a block that ends the program."""
    known = walk.ends.get(block)
    if known is None:
        ends = (
            walk.at[statement].order
            for statement in block.statements
            if isinstance(statement, cst.Expr)
            and isinstance(statement.value, cst.Call)
            and has(_name(names, statement.value.func), "ends-program")
        )
        known = walk.ends[block] = next(ends, inf)
    return known


def _name(names: Names, function: cst.BaseExpression) -> str:
    """What the API tables call a function: the name of an imported one, or of one that is built in."""
    if isinstance(function, cst.Name) and names.is_builtin(function):
        return "" if names.stars_outside else function.value
    return names.qualified(function)


def _is_defined_anew(walk: Walk, function: cst.FunctionDef) -> bool:
    """Whether a `def` further down in the same block takes a function's name before anything reads it."""
    if function.decorators or (at := walk.at.get(function)) is None:
        return False
    name = function.name.value
    anew = [
        binding.at.order
        for binding in at.block.scope.bindings.get(name, ())
        if isinstance(binding.node, cst.FunctionDef)
        and binding.at.block is at.block
        and binding.at.order > at.order
    ]
    return bool(anew) and not any(
        at.order < _order(walk, use) < min(anew)
        for use in walk.names.get(name, ())
        if walk.parents.get(use) is not function
    )


def _order(walk: Walk, node: cst.CSTNode) -> int:
    """The place of the statement in a file that a node is in, in order."""
    current: cst.CSTNode | None = node
    while current is not None:
        if (at := walk.at.get(current)) is not None:
            return at.order
        current = walk.parents.get(current)
    return -1
