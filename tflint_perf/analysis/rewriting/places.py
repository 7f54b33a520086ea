"""Whether code that moves above a loop would have run there anyway, and who reads the names that it binds."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.analysis.python.syntax import descendants, integer, target_names
from tflint_perf.analysis.rewriting.doubts import Doubt, Move
from tflint_perf.analysis.rewriting.natures import Natures
from tflint_perf.analysis.rewriting.unchanging import Unchanging
from tflint_perf.analysis.values.infer import Inference

# What an expression may stand in, to be evaluated whenever its statement is.
_ALWAYS_EVALUATED = (
    cst.Arg, cst.Call, cst.Attribute, cst.Assign, cst.AnnAssign, cst.Expr, cst.Tuple, cst.List, cst.Element,
    cst.BinaryOperation, cst.UnaryOperation, cst.For, cst.Subscript,
)  # fmt: skip


class Places:
    """Answers what changes by the place where code is evaluated, whatever it computes."""

    def __init__(self, infer: Inference, unchanging: Unchanging, natures: Natures) -> None:
        self._infer = infer
        self._walk = infer.walk
        self._names = infer.names
        self._unchanging = unchanging
        self._natures = natures

    def doubt(self, node: cst.CSTNode, move: Move, *, fails: bool) -> Doubt | None:
        """What may change where `node` is evaluated above the loop; `fails` says whether that may raise an error."""
        loop = move.loop
        if loop is None:
            return None
        statement = self._walk.statement_of(node)
        loops, before = self._way_out(statement, loop, move)
        unsure: list[cst.CSTNode] = [each.node for each in loops if not self._surely_iterates(each)]
        once = next(iter([*unsure, *before]), None)
        if fails and once is None:
            once = self._conditional(node, statement) or self._tried(loop)
        if fails and once is not None:
            return Doubt("when, and whether, it fails", once)
        if statement is node:
            return self._of_names(node, loops[0], once, move)
        return None

    def _way_out(
        self, statement: cst.CSTNode, loop: Loop, move: Move
    ) -> tuple[list[Loop], list[cst.CSTNode]]:
        """The loops that a statement leaves, the innermost first, and what runs in them in front of it and can be seen."""
        loops: list[Loop] = []
        before: list[cst.CSTNode] = []
        current, block = statement, self._walk.at[statement].block
        while True:
            before += block.statements[: block.statements.index(current)]
            owner = block.owner
            if owner in self._walk.loops:
                loops.append(self._walk.loops[owner])
            if owner is loop.node or owner not in self._walk.at:
                break
            current, block = owner, self._walk.at[owner].block
        return loops, [each for each in before if not self._is_quiet(each, move)]

    def _is_quiet(self, statement: cst.CSTNode, move: Move) -> bool:
        """Whether a statement surely ends, and leaves nothing to be seen if the program fails behind it."""
        match statement:
            case cst.Assign() if not move.names.isdisjoint(bound_by(statement)):
                return True  # it moves, too
            case cst.Pass():
                return True
            case cst.Assign(value=value):
                return self._natures.of(value) is not None and all(
                    isinstance(target.target, cst.Name) for target in statement.targets
                )
        return False

    def _surely_iterates(self, loop: Loop) -> bool:
        """Whether a loop runs its body at least once, and asks nobody for that who may do something else."""
        if isinstance(loop.node, cst.While):
            return isinstance(loop.node.test, cst.Name) and loop.node.test.value == "True"
        if isinstance(loop.node, cst.CompFor) or loop.node.asynchronous is not None:
            return False
        return self._has_elements(loop.node.iter, loop)

    def _has_elements(self, node: cst.BaseExpression, loop: Loop) -> bool:
        match node:
            case cst.List() | cst.Tuple():
                return bool(node.elements) and all(
                    isinstance(element, cst.Element) and self._natures.of(element.value) is not None
                    for element in node.elements
                )
            case cst.Call(func=cst.Name(value="range"), args=args) if self._names.is_builtin(node.func):
                bounds = [self._number(arg.value, loop) for arg in args]
                if len(bounds) == 1:
                    return (bounds[0] or 0) > 0
                return len(bounds) == 2 and None not in bounds and bounds[0] < bounds[1]  # type: ignore[operator]
            case cst.Call(func=cst.Name(value="enumerate"), args=[cst.Arg(value=inner), *_]):
                return self._names.is_builtin(node.func) and self._has_elements(inner, loop)
        return False

    def _number(self, node: cst.BaseExpression, loop: Loop) -> int | None:
        """A number in the code, or one that a name is bound to once."""
        if not isinstance(node, cst.Name):
            return integer(node)
        found = self._names.lookup(node.value, self._names.scope_of(node))
        if found is None or len(found[1]) != 1 or self._unchanging.doubt(node, Move(loop)) is not None:
            return None
        value = found[1][0].value
        return integer(value) if value is not None and found[1][0].path == () else None

    def _conditional(self, node: cst.CSTNode, statement: cst.CSTNode) -> cst.CSTNode | None:
        """What in its statement decides whether an expression is evaluated, or is evaluated before it."""
        current = node
        while current is not statement:
            parent = self._walk.parents[current]
            if not isinstance(parent, _ALWAYS_EVALUATED) or self._runs_before(parent, current):
                return parent
            current = parent
        return None

    def _runs_before(self, parent: cst.CSTNode, child: cst.CSTNode) -> bool:
        """Whether something with an effect is evaluated in front of a part of an expression."""
        for part in descendants(parent):
            if part is child:
                return False
            if isinstance(part, cst.Call | cst.Subscript) and child not in set(descendants(part)):
                return True
        return False

    def _tried(self, loop: Loop) -> cst.CSTNode | None:
        """A `try` or `with` around the loop, which would see an error before the loop begins."""
        current: cst.CSTNode | None = self._walk.parents.get(loop.node)
        while current is not None and not isinstance(current, cst.FunctionDef):
            if isinstance(current, cst.Try | cst.TryStar | cst.With):
                return current
            current = self._walk.parents.get(current)
        return None

    def _of_names(
        self, statement: cst.CSTNode, inner: Loop, once: cst.CSTNode | None, move: Move
    ) -> Doubt | None:
        """What may change for those who read the names that a statement of `inner` binds; `once` is why it may not run."""
        inside = set(descendants(inner.node.body)) if not isinstance(inner.node, cst.CompFor) else set()
        here = self._walk.at[statement]
        for name in bound_by(statement):
            home = self._names.home(name)
            if home is None or home.kind == "class":
                return Doubt("what the class gets", name)
            for binding in home.bindings.get(name.value, ()):
                if binding.node not in move.names or binding.name in binding.at.block.scope.elsewhere:
                    if binding.node is not statement:
                        return Doubt(f"what `{name.value}` means elsewhere", binding.node)
            for mention in self._names.mentions(name.value, home):
                if mention in move.names:
                    continue
                there = self._infer.place(mention)
                early = there.order < here.order or there.block.function is not here.block.function
                if early or (once is not None and mention not in inside):
                    return Doubt(f"where `{name.value}` is bound", mention)
        return None


def bound_by(statement: cst.CSTNode) -> list[cst.Name]:
    match statement:
        case cst.FunctionDef():
            return [statement.name]
        case cst.Assign():
            return [name for target in statement.targets for name in target_names(target.target)]
        case cst.AnnAssign(target=cst.Name() as name):
            return [name]
    return []
