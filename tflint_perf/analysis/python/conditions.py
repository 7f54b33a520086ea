"""What decides whether a statement runs: the conditions, handlers and early exits in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

import libcst as cst

from tflint_perf.analysis.python.syntax import descendants, is_name, last_statement, same_code
from tflint_perf.analysis.python.walk import Walk

_LEAVES = (cst.Return, cst.Continue, cst.Break, cst.Raise)


def conditions(
    walk: Walk,
    node: cst.CSTNode,
    end: cst.CSTNode | None = None,
    *,
    exits: bool = True,
    errors: bool = True,
) -> Iterator[cst.CSTNode]:
    """What decides whether `node` runs when `end`, or the function around it, does, from the inside out.

    Of an `if` its test, also of one before `node` that leaves the block unless `exits` is false, or raises an error unless
    `errors` is; otherwise the handler or the case.
    """
    child, current = node, walk.parents.get(node)
    while current is not None and current is not end:
        match current:
            case cst.FunctionDef() | cst.Lambda() | cst.ClassDef():
                return
            case cst.If() | cst.IfExp() if child is not current.test:
                yield current.test
            case cst.BooleanOperation() if child is current.right:
                yield current.left
            case cst.ExceptHandler() | cst.ExceptStarHandler() | cst.MatchCase():
                yield current
            case cst.IndentedBlock() if exits:
                yield from (
                    statement.test
                    for statement in exits_before(walk, child, current)
                    if errors or not isinstance(last_statement(statement.body), cst.Raise)
                )
        child, current = current, walk.parents.get(current)


def exits_before(walk: Walk, child: cst.CSTNode, block: cst.IndentedBlock) -> Iterator[cst.If]:
    """The `if not debug: return` and its like that stand in a block before one of its statements."""
    exits = walk.exits.get(block)
    if exits is None:
        exits = walk.exits[block] = [
            statement
            for statement in block.body
            if isinstance(statement, cst.If) and isinstance(last_statement(statement.body), _LEAVES)
        ]
    if exits:
        order = walk.at[child.body[0] if isinstance(child, cst.SimpleStatementLine) else child].order
        yield from takewhile(lambda statement: walk.at[statement].order < order, exits)


def is_done_either_way(walk: Walk, condition: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether the `else` of `condition` calls the function that `node` calls, too: `if rgb: imread(path) else: imread(path,
    0)`."""
    branch = walk.parents.get(condition)
    return isinstance(node, cst.Call) and isinstance(branch, cst.If) and _all_call(branch, node.func)


def _all_call(branch: cst.If | cst.Else | None, function: cst.BaseExpression) -> bool:
    """Whether all branches from `branch` on call `function`, the last of which is an `else`."""
    if branch is None:
        return False
    calls = any(
        isinstance(below, cst.Call) and same_code(below.func, function) for below in descendants(branch.body)
    )
    return calls and (isinstance(branch, cst.Else) or _all_call(branch.orelse, function))


def asked_around(walk: Walk, node: cst.CSTNode) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """What each `if` around a place asks, without a `not`, and whether that holds there: `x is not None` asks for `x`."""
    child, current = node, walk.parents.get(node)
    while current is not None:
        if isinstance(current, cst.If) and child is not current.test:
            yield _without_not(current.test, child is current.body)
        child, current = current, walk.parents.get(current)


def _without_not(test: cst.BaseExpression, holds: bool) -> tuple[cst.BaseExpression, bool]:
    match test:
        case cst.UnaryOperation(operator=cst.Not()):
            return _without_not(test.expression, not holds)
        case cst.Comparison(
            comparisons=[cst.ComparisonTarget(operator=cst.Is() | cst.IsNot() as asks, comparator=right)]
        ):
            if is_name(right, "None"):
                return test.left, holds == isinstance(asks, cst.IsNot)
    return test, holds
