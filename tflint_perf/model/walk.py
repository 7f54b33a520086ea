"""The one pass over the tree. It records; it asks no questions, so that a clean file costs little."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from tflint_perf.model.bindings import bind, bind_import, bind_import_from, bind_target
from tflint_perf.model.scopes import At, Block, Class, Function, Loop, Scope
from tflint_perf.model.syntax import COMPREHENSIONS, fields_of

_LEAVES = frozenset(
    {
        cst.SimpleString,
        cst.Integer,
        cst.Float,
        cst.Imaginary,
        cst.Ellipsis,
        cst.Pass,
        cst.Break,
        cst.Continue,
        cst.FormattedStringText,
        cst.MatchSingleton,
    }
)


class Walk:
    """Everything that one walk over a module records.

    `parents` leads from each node of code to the one around it; `at` from each statement to its place;
    `names`, `attributes` and `calls` list nodes by name, in the order of the text.
    """

    def __init__(self, module: cst.Module) -> None:
        self.module = module
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self.at: dict[cst.CSTNode, At] = {}
        self.names: dict[str, list[cst.Name]] = {}
        self.attributes: dict[str, list[cst.Attribute]] = {}
        self.calls: dict[str, list[cst.Call]] = {}
        self.functions: dict[cst.CSTNode, Function] = {}
        self.classes: dict[cst.CSTNode, Class] = {}
        self.loops: dict[cst.CSTNode, Loop] = {}
        self.scopes: dict[cst.CSTNode, Scope] = {}
        self.withs: list[cst.With] = []
        # Assignments to attributes of anything but `self`: `agent.train = tf.function(agent.train)`.
        self.attribute_writes: dict[str, list[cst.BaseExpression]] = {}
        # What module-level code calls, outside every function.
        self.module_calls: list[cst.Call] = []
        self.top = Scope("module", module, None)
        self.scopes[module] = self.top
        # Where the walk is.
        self.scope = self.top
        self.function: Function | None = None
        self._class: Class | None = None
        self._loop: Loop | None = None
        self._order = 0
        self.here: At = At(0, Block(module, "body", None, self.top, None, None))
        self.body = self.here.block
        self._statements(module.body, module, self.body)

    def release(self) -> None:
        """Cut what was recorded off from itself, so that nothing keeps the tree."""
        for scope in self.scopes.values():
            scope.bindings.clear()
            scope.function = None
        for function in self.functions.values():
            function.loops.clear()
        for loop in self.loops.values():
            loop.inner.clear()
        for klass in self.classes.values():
            klass.methods.clear()
            klass.attributes.clear()
        self.__dict__.clear()

    # Expressions

    def _visit(self, node: cst.CSTNode, parent: cst.CSTNode) -> None:
        self.parents[node] = parent
        kind = type(node)
        if kind in _LEAVES:
            return
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self, node)
        else:
            self._below(node)

    def _below(self, node: cst.CSTNode) -> None:
        for name in fields_of(type(node)):
            value = getattr(node, name)
            if value is None or value.__class__ is str:
                continue
            if isinstance(value, cst.CSTNode):
                self._visit(value, node)
            elif isinstance(value, (list, tuple)):
                for item in value:
                    if isinstance(item, cst.CSTNode):
                        self._visit(item, node)

    def _name(self, node: cst.Name) -> None:
        self.names.setdefault(node.value, []).append(node)

    def _attribute(self, node: cst.Attribute) -> None:
        self.attributes.setdefault(node.attr.value, []).append(node)
        self._visit(node.value, node)

    def _call(self, node: cst.Call) -> None:
        function = node.func
        name = function.attr.value if isinstance(function, cst.Attribute) else getattr(function, "value", "")
        if isinstance(name, str):
            self.calls.setdefault(name, []).append(node)
        else:
            self.calls.setdefault("", []).append(node)
        (self.function.calls if self.function else self.module_calls).append(node)
        if self._loop is not None:
            self._loop.calls.append(node)
        self._visit(function, node)
        for arg in node.args:
            self.parents[arg] = node
            self._visit(arg.value, arg)

    def _named_expression(self, node: cst.NamedExpr) -> None:
        self._visit(node.value, node)
        bind_target(self, node.target, "assign", node.value)
        self._visit(node.target, node)

    def _yield(self, node: cst.Yield) -> None:
        if self.function is not None:
            self.function.yields.append(node)
        loop = self._loop
        while loop is not None:
            loop.yields = True
            loop = loop.parent
        self._below(node)

    def _lambda(self, node: cst.Lambda) -> None:
        for param in (*node.params.posonly_params, *node.params.params, *node.params.kwonly_params):
            if param.default is not None:
                self._visit(param.default, node)
        self._enter_function(node, "<lambda>")

    def _comprehension(self, node: cst.BaseComp) -> None:
        outer_scope, outer_loop = self.scope, self._loop
        self.scope = self.scopes[node] = Scope("comprehension", node, outer_scope, self.function)
        part: cst.CompFor | None = node.for_in
        holder: cst.CSTNode = node
        while part is not None:
            self.parents[part] = holder
            self._visit(part.iter, part)
            self._loop = self._add_loop(part)
            bind_target(self, part.target, "comprehension", part.iter)
            self._visit(part.target, part)
            for condition in part.ifs:
                self._visit(condition, part)
            holder, part = part, part.inner_for_in
        for name in ("elt", "key", "value"):
            value = getattr(node, name, None)
            if value is not None:
                self._visit(value, node)
        self.scope, self._loop = outer_scope, outer_loop

    # Statements

    def _statements(self, body: Sequence[cst.CSTNode], holder: cst.CSTNode, block: Block) -> None:
        for statement in body:
            self.parents[statement] = holder
            if isinstance(statement, cst.SimpleStatementLine):
                for small in statement.body:
                    self._statement(small, statement, block)
            else:
                self._statement(statement, holder, block)

    def _statement(self, node: cst.CSTNode, holder: cst.CSTNode, block: Block) -> None:
        self._order += 1
        self.here = self.at[node] = At(self._order, block)
        block.statements.append(node)
        self._visit(node, holder)

    def _suite(
        self, suite: cst.BaseSuite, owner: cst.CSTNode, branch: str, parent: Block, loop: Loop | None = None
    ) -> None:
        """Walk a suite as a block of its own; `loop` is the loop whose body it is."""
        outer_loop = self._loop
        if loop is not None:
            self._loop = loop
        self.parents[suite] = owner
        block = Block(owner, branch, parent, self.scope, self._loop, self.function)
        self._statements(suite.body, suite, block)
        self._loop = outer_loop

    def _if(self, node: cst.If) -> None:
        block = self.here.block
        self._visit(node.test, node)
        self._suite(node.body, node, "body", block)
        if isinstance(node.orelse, cst.If):
            self.parents[node.orelse] = node
            self._statement(
                node.orelse, node, Block(node, "orelse", block, self.scope, self._loop, self.function)
            )
        elif node.orelse is not None:
            self.parents[node.orelse] = node
            self._suite(node.orelse.body, node, "orelse", block)
            self.parents[node.orelse.body] = node.orelse

    def _for(self, node: cst.For) -> None:
        block = self.here.block
        self._visit(node.iter, node)
        loop = self._add_loop(node)
        bind_target(self, node.target, "for", node.iter)
        self._visit(node.target, node)
        self._suite(node.body, node, "body", block, loop)
        self._orelse(node, block)

    def _while(self, node: cst.While) -> None:
        block = self.here.block
        loop = self._add_loop(node)
        outer_loop, self._loop = self._loop, loop
        self._visit(node.test, node)
        self._loop = outer_loop
        self._suite(node.body, node, "body", block, loop)
        self._orelse(node, block)

    def _orelse(self, node: cst.For | cst.While | cst.Try | cst.TryStar, block: Block) -> None:
        if node.orelse is not None:
            self.parents[node.orelse] = node
            self._suite(node.orelse.body, node, "orelse", block)
            self.parents[node.orelse.body] = node.orelse

    def _add_loop(self, node: cst.For | cst.While | cst.CompFor) -> Loop:
        loop = Loop(node, self._loop, self.function, self.here)
        self.loops[node] = loop
        if self.function is not None:
            self.function.loops.append(loop)
        if self._loop is not None:
            self._loop.inner.append(loop)
        return loop

    def _with(self, node: cst.With) -> None:
        block = self.here.block
        self.withs.append(node)
        for item in node.items:
            self.parents[item] = node
            self._visit(item.item, item)
            if item.asname is not None:
                self.parents[item.asname] = item
                bind_target(self, item.asname.name, "with", item.item)
                self._visit(item.asname.name, item.asname)
        self._suite(node.body, node, "body", block)

    def _try(self, node: cst.Try | cst.TryStar) -> None:
        block = self.here.block
        self._suite(node.body, node, "body", block)
        handlers: Sequence[cst.ExceptHandler | cst.ExceptStarHandler] = node.handlers
        for index, handler in enumerate(handlers):
            self.parents[handler] = node
            if handler.type is not None:
                self._visit(handler.type, handler)
            if handler.name is not None:
                bind_target(self, handler.name.name, "except", None)
            self._suite(handler.body, node, f"handler {index}", block)
            self.parents[handler.body] = handler
        self._orelse(node, block)
        if node.finalbody is not None:
            self.parents[node.finalbody] = node
            self._suite(node.finalbody.body, node, "finally", block)
            self.parents[node.finalbody.body] = node.finalbody

    def _match(self, node: cst.Match) -> None:
        block = self.here.block
        self._visit(node.subject, node)
        for index, case in enumerate(node.cases):
            self.parents[case] = node
            self._pattern(case.pattern, case)
            if case.guard is not None:
                self._visit(case.guard, case)
            self._suite(case.body, node, f"case {index}", block)
            self.parents[case.body] = case

    def _pattern(self, node: cst.CSTNode, parent: cst.CSTNode) -> None:
        self.parents[node] = parent
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, cst.Name):
            bind(self, name.value, "pattern", name, None)
        for field_name in fields_of(type(node)):
            value = getattr(node, field_name)
            for item in value if isinstance(value, (list, tuple)) else (value,):
                if isinstance(item, cst.CSTNode) and not (
                    isinstance(item, cst.Name) and field_name in ("name", "rest")
                ):
                    if isinstance(item, cst.BaseExpression):
                        self._visit(item, node)
                    else:
                        self._pattern(item, node)

    def _assign(self, node: cst.Assign) -> None:
        self._visit(node.value, node)
        for target in node.targets:
            self.parents[target] = node
            bind_target(self, target.target, "assign", node.value)
            self._visit(target.target, target)

    def _annotated_assign(self, node: cst.AnnAssign) -> None:
        if node.value is not None:
            self._visit(node.value, node)
            bind_target(self, node.target, "assign", node.value)
        self._visit(node.target, node)

    def _augmented_assign(self, node: cst.AugAssign) -> None:
        self._visit(node.value, node)
        bind_target(self, node.target, "augment", node.value)
        self._visit(node.target, node)

    def _delete(self, node: cst.Del) -> None:
        bind_target(self, node.target, "delete", None)
        self._visit(node.target, node)

    def _return(self, node: cst.Return) -> None:
        if self.function is not None:
            self.function.returns.append(node)
        if node.value is not None:
            self._visit(node.value, node)

    def _global(self, node: cst.Global | cst.Nonlocal) -> None:
        self.scope.elsewhere.update(item.name.value for item in node.names)

    def _import(self, node: cst.Import) -> None:
        bind_import(self, node)

    def _import_from(self, node: cst.ImportFrom) -> None:
        bind_import_from(self, node)

    # Functions and classes

    def _function_def(self, node: cst.FunctionDef) -> None:
        for decorator in node.decorators:
            self.parents[decorator] = node
            self._visit(decorator.decorator, decorator)
        params = node.params
        for param in (*params.posonly_params, *params.params, *params.kwonly_params):
            if param.default is not None:
                self._visit(param.default, node)
        bind(self, node.name.value, "def", node, None)
        self._enter_function(node, node.name.value)

    def _enter_function(self, node: cst.FunctionDef | cst.Lambda, name: str) -> None:
        here = self.here
        scope = self.scopes[node] = Scope("function", node, self.scope)
        owner = self._class if self.scope.kind == "class" and isinstance(node, cst.FunctionDef) else None
        function = Function(node, name, scope, here, self.function, owner)
        scope.function = self.functions[node] = function
        if owner is not None:
            owner.methods[name] = function
        saved = self.scope, self.function, self._class, self._loop
        self.scope, self.function, self._loop = scope, function, None
        if owner is None:
            self._class = None
        params = node.params
        for param in (
            *params.posonly_params,
            *params.params,
            *params.kwonly_params,
            params.star_arg,
            params.star_kwarg,
        ):
            if isinstance(param, cst.Param):
                path: tuple[int, ...] | None = (
                    () if param not in (params.star_arg, params.star_kwarg) else None
                )
                bind(self, param.name.value, "param", param, param.default, path=path)
        if isinstance(node, cst.Lambda):
            self._visit(node.body, node)
        else:
            # A block of its own, whose parent is where the function stands, so that guards end at the function.
            self._suite(node.body, node, "body", here.block)
        self.scope, self.function, self._class, self._loop = saved
        self.here = here

    def _class_def(self, node: cst.ClassDef) -> None:
        here = self.here
        for decorator in node.decorators:
            self.parents[decorator] = node
            self._visit(decorator.decorator, decorator)
        for arg in (*node.bases, *node.keywords):
            self._visit(arg, node)
        bind(self, node.name.value, "class", node, None)
        scope = self.scopes[node] = Scope("class", node, self.scope, self.function)
        klass = Class(node, node.name.value, scope, here, self.function)
        self.classes[node] = klass
        saved = self.scope, self._class, self._loop
        self.scope, self._class, self._loop = scope, klass, None
        self._suite(node.body, node, "body", here.block)
        self.scope, self._class, self._loop = saved
        self.here = here


# Each handler takes the node class that it stands beside.
_HANDLERS: dict[type[cst.CSTNode], Callable[[Walk, Any], None]] = {
    cst.Name: Walk._name,
    cst.Attribute: Walk._attribute,
    cst.Call: Walk._call,
    cst.NamedExpr: Walk._named_expression,
    cst.Yield: Walk._yield,
    cst.Lambda: Walk._lambda,
    **dict.fromkeys(COMPREHENSIONS, Walk._comprehension),
    cst.If: Walk._if,
    cst.For: Walk._for,
    cst.While: Walk._while,
    cst.With: Walk._with,
    cst.Try: Walk._try,
    cst.TryStar: Walk._try,
    cst.Match: Walk._match,
    cst.Assign: Walk._assign,
    cst.AnnAssign: Walk._annotated_assign,
    cst.AugAssign: Walk._augmented_assign,
    cst.Del: Walk._delete,
    cst.Return: Walk._return,
    cst.Global: Walk._global,
    cst.Nonlocal: Walk._global,
    cst.Import: Walk._import,
    cst.ImportFrom: Walk._import_from,
    cst.FunctionDef: Walk._function_def,
    cst.ClassDef: Walk._class_def,
}
