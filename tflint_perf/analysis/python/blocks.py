"""Walking compound statements: each suite is a block of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.python.bindings import bind, bind_target
from tflint_perf.analysis.python.scopes import Block
from tflint_perf.analysis.python.syntax import fields_of

if TYPE_CHECKING:
    from tflint_perf.analysis.python.walk import Walk


def walk_if(walk: Walk, node: cst.If) -> None:
    """Walk an `if`; an `elif` is a statement of its own in the `else` of the one before."""
    block = walk.here.block
    walk.visit(node.test, node)
    walk.suite(node.body, node, "body", block)
    if isinstance(node.orelse, cst.If):
        walk.parents[node.orelse] = node
        walk.statement(node.orelse, node, Block(node, "orelse", block, walk.scope, walk.loop, walk.function))
    elif node.orelse is not None:
        walk.parents[node.orelse] = node
        walk.suite(node.orelse.body, node, "orelse", block)
        walk.parents[node.orelse.body] = node.orelse


def walk_for(walk: Walk, node: cst.For) -> None:
    """Walk a `for`: its iterable outside the loop, its target in it."""
    block = walk.here.block
    walk.visit(node.iter, node)
    loop = walk.add_loop(node)
    bind_target(walk, node.target, "for", node.iter)
    walk.visit(node.target, node)
    walk.suite(node.body, node, "body", block, loop)
    _orelse(walk, node, block)


def walk_while(walk: Walk, node: cst.While) -> None:
    """Walk a `while`: its test runs in each iteration."""
    block = walk.here.block
    loop = walk.add_loop(node)
    outer_loop, walk.loop = walk.loop, loop
    walk.visit(node.test, node)
    walk.loop = outer_loop
    walk.suite(node.body, node, "body", block, loop)
    _orelse(walk, node, block)


def _orelse(walk: Walk, node: cst.For | cst.While | cst.Try | cst.TryStar, block: Block) -> None:
    if node.orelse is not None:
        walk.parents[node.orelse] = node
        walk.suite(node.orelse.body, node, "orelse", block)
        walk.parents[node.orelse.body] = node.orelse


def walk_with(walk: Walk, node: cst.With) -> None:
    """Walk a `with`."""
    block = walk.here.block
    walk.withs.append(node)
    for item in node.items:
        walk.parents[item] = node
        walk.visit(item.item, item)
        if item.asname is not None:
            walk.parents[item.asname] = item
            bind_target(walk, item.asname.name, "with", item.item)
            walk.visit(item.asname.name, item.asname)
    walk.suite(node.body, node, "body", block)


def walk_try(walk: Walk, node: cst.Try | cst.TryStar) -> None:
    """Walk a `try`: each handler is a branch of its own."""
    block = walk.here.block
    walk.suite(node.body, node, "body", block)
    handlers: Sequence[cst.ExceptHandler | cst.ExceptStarHandler] = node.handlers
    for index, handler in enumerate(handlers):
        walk.parents[handler] = node
        if handler.type is not None:
            walk.visit(handler.type, handler)
        if handler.name is not None:
            bind_target(walk, handler.name.name, "except", None)
        walk.suite(handler.body, node, f"handler {index}", block)
        walk.parents[handler.body] = handler
    _orelse(walk, node, block)
    if node.finalbody is not None:
        walk.parents[node.finalbody] = node
        walk.suite(node.finalbody.body, node, "finally", block)
        walk.parents[node.finalbody.body] = node.finalbody


def walk_match(walk: Walk, node: cst.Match) -> None:
    """Walk a `match`: each case is a branch of its own."""
    block = walk.here.block
    walk.visit(node.subject, node)
    for index, case in enumerate(node.cases):
        walk.parents[case] = node
        _pattern(walk, case.pattern, case)
        if case.guard is not None:
            walk.visit(case.guard, case)
        walk.suite(case.body, node, f"case {index}", block)
        walk.parents[case.body] = case


def _pattern(walk: Walk, node: cst.CSTNode, parent: cst.CSTNode) -> None:
    walk.parents[node] = parent
    name = getattr(node, "name", None) or getattr(node, "rest", None)
    if isinstance(name, cst.Name):
        bind(walk, name.value, "pattern", name, None)
    for field_name in fields_of(type(node)):
        value = getattr(node, field_name)
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, cst.CSTNode) and not (
                isinstance(item, cst.Name) and field_name in ("name", "rest")
            ):
                if isinstance(item, cst.BaseExpression):
                    walk.visit(item, node)
                else:
                    _pattern(walk, item, node)
