"""The one pass over the tree. It records; it asks no questions, so that a clean file costs little.

Here: expressions and small statements. What opens a block or a scope is walked in `blocks` and `definitions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import libcst as cst

from tflint_perf.analysis.python.bindings import bind_import, bind_import_from, bind_target
from tflint_perf.analysis.python.blocks import walk_for, walk_if, walk_match, walk_try, walk_while, walk_with
from tflint_perf.analysis.python.definitions import walk_class, walk_comprehension, walk_function, walk_lambda
from tflint_perf.analysis.python.scopes import At, Block, Class, Function, Loop, Scope
from tflint_perf.analysis.python.syntax import COMPREHENSIONS, NODES, fields_of

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
        self.functions: dict[cst.CSTNode, Function] = {}
        self.classes: dict[cst.CSTNode, Class] = {}
        self.loops: dict[cst.CSTNode, Loop] = {}
        self.scopes: dict[cst.CSTNode, Scope] = {}
        # By a name, the innermost scope in which it stands.
        self.scope_of: dict[cst.CSTNode, Scope] = {}
        self.withs: list[cst.With] = []
        # Strings with values in them, and what has a `%`, which makes another one or counts.
        self.formats: list[cst.FormattedString | cst.BinaryOperation] = []
        # By the block, what in it may leave it; filled where somebody asks.
        self.exits: dict[cst.IndentedBlock, list[cst.If]] = {}
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
        if node.__class__ in _LEAVING and block.left_at is None:
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
