"""The one pass over the tree. It records; it asks no questions, so that a clean file costs little.

Here: expressions and small statements. What opens a block or a scope is walked in `blocks` and `definitions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import libcst as cst

from tflint_perf.analysis.python.scopes import At, Binding, BindingKind, Block, Class, Function, Loop, Scope
from tflint_perf.analysis.python.syntax import COMPREHENSIONS, NODES, dotted_name, fields_of, is_name

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
_LEAVING = frozenset({cst.Return, cst.Raise, cst.Break, cst.Continue})


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
        self._every_call: list[cst.Call] = []
        self.functions: dict[cst.CSTNode, Function] = {}
        self.classes: dict[cst.CSTNode, Class] = {}
        self.loops: dict[cst.CSTNode, Loop] = {}
        self.scopes: dict[cst.CSTNode, Scope] = {}
        # By a name, the innermost scope in which it stands.
        self.scope_of: dict[cst.CSTNode, Scope] = {}
        self.withs: list[cst.With] = []
        # Strings with values in them, and what has a `%`, which makes another one or counts.
        self.formats: list[cst.FormattedString | cst.BinaryOperation] = []
        # By the block, what in it may leave it, and where it ends the program; filled where somebody asks.
        self.exits: dict[cst.IndentedBlock, list[cst.If]] = {}
        self.ends: dict[Block, float] = {}
        # Assignments to attributes of anything but `self`: `agent.train = tf.function(agent.train)`.
        self.attribute_writes: dict[str, list[cst.BaseExpression]] = {}
        # What module-level code calls, and its loops, outside every function.
        self.module_calls: list[cst.Call] = []
        self.module_loops: list[Loop] = []
        self.top = Scope("module", module, None)
        self.scopes[module] = self.top
        # Where the walk is. What walks compound statements and definitions moves these on and back.
        self.scope = self.top
        self.function: Function | None = None
        self.klass: Class | None = None
        self.loop: Loop | None = None
        self._order = 0
        self.here: At = At(0, Block(module, "body", None, self.top, None, None))
        self.body = self.here.block
        self.statements(module.body, module, self.body)

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

    def calls_named(self, *names: str) -> list[cst.Call]:
        """The calls of functions or methods named `names`, in the order of the text."""
        found = [named for name in names if (named := self.calls.get(name))]
        if len(found) < 2:
            return list(found[0]) if found else []
        return sorted((call for named in found for call in named), key=self._position_of.__getitem__)

    @cached_property
    def _position_of(self) -> dict[cst.Call, int]:
        return {call: position for position, call in enumerate(self._every_call)}

    def statement_of(self, node: cst.CSTNode) -> cst.CSTNode:
        """The statement that holds `node`: a small statement or a compound one."""
        while node not in self.at:
            node = self.parents[node]
        return node

    # Expressions

    def visit(self, node: cst.CSTNode, parent: cst.CSTNode) -> None:
        """Walk a node and what is below it."""
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
            kind = value.__class__
            if kind in NODES:
                self.visit(value, node)
            elif kind is list or kind is tuple:
                for item in value:
                    if item.__class__ in NODES:
                        self.visit(item, node)

    def _name(self, node: cst.Name) -> None:
        self.names.setdefault(node.value, []).append(node)
        self.scope_of[node] = self.scope

    def _attribute(self, node: cst.Attribute) -> None:
        self.attributes.setdefault(node.attr.value, []).append(node)
        self.visit(node.value, node)

    def _call(self, node: cst.Call) -> None:
        function = node.func
        name = function.attr.value if isinstance(function, cst.Attribute) else getattr(function, "value", "")
        if isinstance(name, str):
            self.calls.setdefault(name, []).append(node)
        else:
            self.calls.setdefault("", []).append(node)
        self._every_call.append(node)
        (self.function.calls if self.function else self.module_calls).append(node)
        if self.loop is not None:
            self.loop.calls.append(node)
        self.visit(function, node)
        for arg in node.args:
            self.parents[arg] = node
            self.visit(arg.value, arg)

    def _formatted(self, node: cst.FormattedString) -> None:
        self.formats.append(node)
        self._below(node)

    def _binary(self, node: cst.BinaryOperation) -> None:
        if node.operator.__class__ is cst.Modulo:
            self.formats.append(node)
        self.visit(node.left, node)
        self.visit(node.right, node)

    def _named_expression(self, node: cst.NamedExpr) -> None:
        self.visit(node.value, node)
        bind_target(self, node.target, "assign", node.value)
        self.visit(node.target, node)

    def _yield(self, node: cst.Yield) -> None:
        if self.function is not None:
            self.function.yields.append(node)
        loop = self.loop
        while loop is not None:
            loop.yields = True
            loop = loop.parent
        self._below(node)

    # Statements

    def statements(self, body: Sequence[cst.CSTNode], holder: cst.CSTNode, block: Block) -> None:
        """Walk the statements of a suite, lines and compound ones."""
        for statement in body:
            self.parents[statement] = holder
            if isinstance(statement, cst.SimpleStatementLine):
                for small in statement.body:
                    self.statement(small, statement, block)
            else:
                self.statement(statement, holder, block)

    def statement(self, node: cst.CSTNode, holder: cst.CSTNode, block: Block) -> None:
        """Walk a small or compound statement as the next one of a block."""
        self._order += 1
        self.here = self.at[node] = At(self._order, block)
        block.statements.append(node)
        if block.left_at is None and (node.__class__ in _LEAVING or _always_fails(node)):
            block.left_at = self._order
        self.visit(node, holder)

    def suite(
        self, suite: cst.BaseSuite, owner: cst.CSTNode, branch: str, parent: Block, loop: Loop | None = None
    ) -> None:
        """Walk a suite as a block of its own; `loop` is the loop whose body it is."""
        outer_loop = self.loop
        if loop is not None:
            self.loop = loop
        self.parents[suite] = owner
        block = Block(owner, branch, parent, self.scope, self.loop, self.function)
        self.statements(suite.body, suite, block)
        self.loop = outer_loop

    def add_loop(self, node: cst.For | cst.While | cst.CompFor) -> Loop:
        """Record a loop where the walk is."""
        loop = Loop(node, self.loop, self.function, self.here)
        self.loops[node] = loop
        (self.function.loops if self.function is not None else self.module_loops).append(loop)
        if self.loop is not None:
            self.loop.inner.append(loop)
        return loop

    def _assign(self, node: cst.Assign) -> None:
        self.visit(node.value, node)
        for target in node.targets:
            self.parents[target] = node
            bind_target(self, target.target, "assign", node.value)
            self.visit(target.target, target)

    def _annotated_assign(self, node: cst.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value, node)
            bind_target(self, node.target, "assign", node.value)
        self.visit(node.target, node)

    def _augmented_assign(self, node: cst.AugAssign) -> None:
        self.visit(node.value, node)
        bind_target(self, node.target, "augment", node.value)
        self.visit(node.target, node)

    def _delete(self, node: cst.Del) -> None:
        bind_target(self, node.target, "delete", None)
        self.visit(node.target, node)

    def _return(self, node: cst.Return) -> None:
        if self.function is not None:
            self.function.returns.append(node)
        if node.value is not None:
            self.visit(node.value, node)

    def _global(self, node: cst.Global | cst.Nonlocal) -> None:
        self.scope.elsewhere.update(item.name.value for item in node.names)

    def _import(self, node: cst.Import) -> None:
        bind_import(self, node)

    def _import_from(self, node: cst.ImportFrom) -> None:
        bind_import_from(self, node)


# Walking compound statements: each suite is a block of its own.


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


# Walking what opens a scope of its own: functions, classes and comprehensions.


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


# Recording what names and attributes are bound to, as the walk comes by.


Path = tuple[int, ...] | None


def bind_target(
    walk: Walk, target: cst.CSTNode, kind: BindingKind, value: cst.BaseExpression | None, path: Path = ()
) -> None:
    """Bind every name and attribute of an assignment target; `path` is the part of `value` that it gets."""
    if isinstance(target, cst.Name):
        bind(walk, target.value, kind, target, value, path)
    elif isinstance(target, (cst.Tuple, cst.List)):
        starred = False
        for index, element in enumerate(target.elements):
            starred = starred or isinstance(element, cst.StarredElement)
            below = None if starred or path is None else (*path, index)
            bind_target(walk, element.value, kind, value, below)
    elif isinstance(target, cst.Attribute) and isinstance(target.value, cst.Name):
        _bind_attribute(walk, target, target.value.value, kind, value, path)


def _bind_attribute(
    walk: Walk,
    target: cst.Attribute,
    receiver: str,
    kind: BindingKind,
    value: cst.BaseExpression | None,
    path: Path,
) -> None:
    """Record `self.x = value` with the class, also from a function nested in the method."""
    function = walk.function
    while function is not None:
        if function.owner is not None and function.positional[:1] == [receiver]:
            name = target.attr.value
            binding = Binding(name, kind, target, value, walk.here, path)
            function.owner.attributes.setdefault(name, []).append(binding)
            return
        function = function.outer
    if value is not None:
        walk.attribute_writes.setdefault(target.attr.value, []).append(value)


def bind(
    walk: Walk,
    name: str,
    kind: BindingKind,
    node: cst.CSTNode,
    value: cst.BaseExpression | None,
    path: Path = (),
    imported: str = "",
) -> None:
    """Bind a name in the scope where the walk is, or where `global` and `nonlocal` say."""
    scope = walk.scope
    if kind != "comprehension":
        while scope.kind == "comprehension" and scope.parent is not None:
            scope = scope.parent
    if name in scope.elsewhere:
        scope = _home_of(name, scope, walk.top)
    scope.bindings.setdefault(name, []).append(Binding(name, kind, node, value, walk.here, path, imported))


def _home_of(name: str, scope: Scope, top: Scope) -> Scope:
    """The scope where a name declared `global` or `nonlocal` lives."""
    outer = scope.parent
    while outer is not None and outer.parent is not None:
        if outer.kind == "function" and name in outer.bindings and name not in outer.elsewhere:
            return outer
        outer = outer.parent
    return top


def bind_import(walk: Walk, node: cst.Import) -> None:
    """`import a.b` binds `a`; `import a.b as c` binds `c` to `a.b`."""
    for alias in node.names:
        full = dotted_name(alias.name)
        if alias.asname is not None and isinstance(alias.asname.name, cst.Name):
            bind(walk, alias.asname.name.value, "import", alias, None, imported=full)
        else:
            first = full.split(".", 1)[0]
            bind(walk, first, "import", alias, None, imported=first)


def bind_import_from(walk: Walk, node: cst.ImportFrom) -> None:
    """`from a import b as c` binds `c` to `a.b`; a star import is kept under the name `*`."""
    module = "." * len(node.relative) + (dotted_name(node.module) if node.module is not None else "")
    if isinstance(node.names, cst.ImportStar):
        bind(walk, "*", "import", node, None, imported=f"{module}.*")
        return
    for alias in node.names:
        bound = alias.asname.name if alias.asname is not None else alias.name
        if isinstance(bound, cst.Name):
            separator = "" if module.endswith(".") else "."
            imported = f"{module}{separator}{dotted_name(alias.name)}"
            bind(walk, bound.value, "import", alias, None, imported=imported)


# Each handler takes the node class that it stands beside.
_HANDLERS: dict[type[cst.CSTNode], Callable[[Walk, Any], None]] = {
    cst.Name: Walk._name,
    cst.Attribute: Walk._attribute,
    cst.Call: Walk._call,
    cst.FormattedString: Walk._formatted,
    cst.BinaryOperation: Walk._binary,
    cst.NamedExpr: Walk._named_expression,
    cst.Yield: Walk._yield,
    cst.Lambda: walk_lambda,
    **dict.fromkeys(COMPREHENSIONS, walk_comprehension),
    cst.If: walk_if,
    cst.For: walk_for,
    cst.While: walk_while,
    cst.With: walk_with,
    cst.Try: walk_try,
    cst.TryStar: walk_try,
    cst.Match: walk_match,
    cst.Assign: Walk._assign,
    cst.AnnAssign: Walk._annotated_assign,
    cst.AugAssign: Walk._augmented_assign,
    cst.Del: Walk._delete,
    cst.Return: Walk._return,
    cst.Global: Walk._global,
    cst.Nonlocal: Walk._global,
    cst.Import: Walk._import,
    cst.ImportFrom: Walk._import_from,
    cst.FunctionDef: walk_function,
    cst.ClassDef: walk_class,
}


def _always_fails(node: cst.CSTNode) -> bool:
    """`assert False`"""
    return isinstance(node, cst.Assert) and is_name(node.test, "False")
