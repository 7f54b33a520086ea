"""Walking what opens a scope of its own: functions, classes and comprehensions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.python.bindings import bind, bind_target
from tflint_perf.analysis.python.scopes import Class, Function, Scope

if TYPE_CHECKING:
    from tflint_perf.analysis.python.walk import Walk


def walk_function(walk: Walk, node: cst.FunctionDef) -> None:
    """Walk a `def`: its decorators and defaults where it stands, its body in a scope of its own."""
    _decorators(walk, node)
    _defaults(walk, node)
    bind(walk, node.name.value, "def", node, None)
    _enter_function(walk, node, node.name.value)


def walk_lambda(walk: Walk, node: cst.Lambda) -> None:
    """Walk a lambda as a function without a name."""
    _defaults(walk, node)
    _enter_function(walk, node, "<lambda>")


def _decorators(walk: Walk, node: cst.FunctionDef | cst.ClassDef) -> None:
    for decorator in node.decorators:
        walk.parents[decorator] = node
        walk.visit(decorator.decorator, decorator)


def _defaults(walk: Walk, node: cst.FunctionDef | cst.Lambda) -> None:
    params = node.params
    for param in (*params.posonly_params, *params.params, *params.kwonly_params):
        if param.default is not None:
            walk.visit(param.default, node)


def _enter_function(walk: Walk, node: cst.FunctionDef | cst.Lambda, name: str) -> None:
    here = walk.here
    scope = walk.scopes[node] = Scope("function", node, walk.scope)
    owner = walk.klass if walk.scope.kind == "class" and isinstance(node, cst.FunctionDef) else None
    function = Function(node, name, scope, here, walk.function, owner)
    scope.function = walk.functions[node] = function
    if owner is not None:
        owner.methods[name] = function
    saved = walk.scope, walk.function, walk.klass, walk.loop
    walk.scope, walk.function, walk.loop = scope, function, None
    if owner is None:
        walk.klass = None
    _bind_parameters(walk, node.params)
    if isinstance(node, cst.Lambda):
        walk.visit(node.body, node)
    else:
        # A block of its own, whose parent is where the function stands, so that guards end at the function.
        walk.suite(node.body, node, "body", here.block)
    walk.scope, walk.function, walk.klass, walk.loop = saved
    walk.here = here


def _bind_parameters(walk: Walk, params: cst.Parameters) -> None:
    for param in (*params.posonly_params, *params.params, *params.kwonly_params):
        bind(walk, param.name.value, "param", param, param.default)
    for starred in (params.star_arg, params.star_kwarg):
        if isinstance(starred, cst.Param):
            bind(walk, starred.name.value, "param", starred, starred.default, path=None)


def walk_class(walk: Walk, node: cst.ClassDef) -> None:
    """Walk a class: its decorators and bases where it stands, its body in a scope of its own."""
    here = walk.here
    _decorators(walk, node)
    for arg in (*node.bases, *node.keywords):
        walk.visit(arg, node)
    bind(walk, node.name.value, "class", node, None)
    scope = walk.scopes[node] = Scope("class", node, walk.scope, walk.function)
    klass = Class(node, node.name.value, scope, here, walk.function)
    walk.classes[node] = klass
    saved = walk.scope, walk.klass, walk.loop
    walk.scope, walk.klass, walk.loop = scope, klass, None
    walk.suite(node.body, node, "body", here.block)
    walk.scope, walk.klass, walk.loop = saved
    walk.here = here


def walk_comprehension(walk: Walk, node: cst.BaseComp) -> None:
    """Walk a comprehension: a scope of its own, and a loop for each `for` in it."""
    outer_scope, outer_loop = walk.scope, walk.loop
    walk.scope = walk.scopes[node] = Scope("comprehension", node, outer_scope, walk.function)
    part: cst.CompFor | None = node.for_in
    holder: cst.CSTNode = node
    while part is not None:
        walk.parents[part] = holder
        walk.visit(part.iter, part)
        walk.loop = walk.add_loop(part)
        bind_target(walk, part.target, "comprehension", part.iter)
        walk.visit(part.target, part)
        for condition in part.ifs:
            walk.visit(condition, part)
        holder, part = part, part.inner_for_in
    for name in ("elt", "key", "value"):
        value = getattr(node, name, None)
        if value is not None:
            walk.visit(value, node)
    walk.scope, walk.loop = outer_scope, outer_loop
