"""What crosses the border of a stretch of statements: what a function made of it must be given, and give back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from tflint_perf.analysis.execution.invariance import Invariance
from tflint_perf.analysis.execution.python_numbers import Numbers
from tflint_perf.analysis.python.obstacles import Obstacle
from tflint_perf.analysis.python.scopes import Block, Function, Loop
from tflint_perf.analysis.python.syntax import descendants, names_written, target_names
from tflint_perf.analysis.rewriting.autograph import is_size
from tflint_perf.analysis.rewriting.passing import Passing
from tflint_perf.analysis.values.bound_values import value_of_binding
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.readers import Readers
from tflint_perf.records import dataclass

_MADE_ANEW = frozenset(
    {"model", "layer", "optimizer", "metric", "loss", "function", "compiled", "class", "tape"}
)
RETURNABLE = frozenset({"tensor", "variable", "list", "tuple", "dict", "unknown", "none"})

# What another call may give another value of, and no variables are made for.
_PLAIN = frozenset({"tensor", "array", "variable", "number"})


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive statements of one block, in a loop. `loop` is the outermost one of the function around them."""

    statements: list[cst.CSTNode]
    loop: Loop

    @property
    def first(self) -> cst.CSTNode:
        """The first statement."""
        return self.statements[0]

    @property
    def last(self) -> cst.CSTNode:
        """The last statement."""
        return self.statements[-1]

    def nodes(self) -> Iterator[cst.CSTNode]:
        """Everything in it, in the order of the text."""
        for statement in self.statements:
            yield from descendants(statement)


@dataclass(frozen=True, slots=True)
class Crossing:
    """The names that a function made of a stretch takes and gives, each in the order of their binding.

    `numbers` are those of the parameters that are Python floats and are to be passed as tensors.
    """

    parameters: list[str]
    returned: list[str]
    numbers: frozenset[str]


class Crossings(Part):
    """Answers what crosses the borders of stretches."""

    _infer: Inference
    _passing: Passing
    _numbers: Numbers
    _invariance: Invariance

    def __post_init__(self) -> None:
        self._readers = Readers(self._infer)

    def stretch_between(
        self, first: cst.CSTNode, loop: Loop | None, others: Sequence[cst.CSTNode]
    ) -> Stretch | None:
        """The statements from `first` to the last that holds one of `others`; None where they lie in several blocks.

        What deletes names of the stretch right behind it is part of it: `del tape`.
        """
        if loop is None:
            return None
        while loop.parent is not None:
            loop = loop.parent
        block = self._walk.at[first].block
        indices = [block.statements.index(first)]
        for node in others:
            statement = self.in_block(node, block)
            if statement is None:
                return None
            indices.append(block.statements.index(statement))
        start, end = min(indices), max(indices) + 1
        written = names_written(block.statements[start:end])
        while end < len(block.statements) and deletes_only(block.statements[end], written):
            end += 1
        return Stretch(block.statements[start:end], loop)

    def in_block(self, node: cst.CSTNode, block: Block) -> cst.CSTNode | None:
        """The statement of `block` that holds `node`."""
        current: cst.CSTNode | None = node
        while current is not None:
            at = self._walk.at.get(current)
            if at is not None and at.block is block:
                return current
            current = self._walk.parents.get(current)
        return None

    def of(self, stretch: Stretch) -> Crossing | Obstacle:
        """What crosses the border of a stretch, or the first thing that can't."""
        inside = set(stretch.nodes())
        written = names_written(stretch.statements)
        scope = self._infer.names.scope_of(stretch.first)
        elsewhere = written & scope.elsewhere
        if elsewhere:
            return Obstacle(stretch.first, f"it writes to `{min(elsewhere)}` in another scope")
        given: dict[str, list[cst.Name]] = {}
        carried: set[str] = set()
        for node in stretch.nodes():
            if not isinstance(node, cst.Name) or not self.is_read(node):
                continue
            is_carried = node.value in written and self._reads_own_write(node, inside)
            if is_carried and not self._stays_tensor(node, inside):
                return Obstacle(node, f"`{node.value}` is carried from step to step")
            if is_carried:
                carried.add(node.value)
            if is_carried or self._is_bound_in(node, inside, stretch.loop):
                given.setdefault(node.value, []).append(node)
        numbers: set[str] = set()
        for name, uses in given.items():
            if name not in carried and self._is_float_in_arithmetic(uses):
                numbers.add(name)
                continue
            reason = self._objection(uses, name in carried)
            if reason:
                return Obstacle(uses[0], reason)
        change = self._invariance.changed_in_place(stretch.statements, stretch.loop, set(given))
        if change is not None:
            return Obstacle(change.node, change.reason)
        returned = self._returned(stretch, inside, carried)
        if isinstance(returned, Obstacle):
            return returned
        # As the loop binds them, which is how people name them.
        order = list(scope.bindings)
        parameters = sorted(given, key=lambda name: order.index(name) if name in order else len(order))
        return Crossing(parameters, returned, frozenset(numbers))

    def parameters_read(self, stretch: Stretch, function: Function) -> list[str] | None:
        """The parameters of the function around it that a stretch reads, besides what the loop binds.

        None where it reads what the function makes itself, or is given to train: each call may bring others.
        """
        inside = set(stretch.nodes())
        names: dict[str, None] = {}
        for node in stretch.nodes():
            if not isinstance(node, cst.Name) or not self.is_read(node):
                continue
            found = self._infer.bindings_reaching(node)
            if found is None or found[0] is not function.scope:
                continue
            for binding in found[1]:
                if binding.node in inside or self._invariance.is_bound_in(binding, stretch.loop):
                    continue
                is_self = function.owner is not None and function.positional[:1] == [node.value]
                if binding.kind != "param" or not (is_self or self._infer.value(node).kind in _PLAIN):
                    return None
                names[node.value] = None
        return list(names)

    def is_read(self, node: cst.Name) -> bool:
        """Whether a name is read where it stands: neither a target, nor deleted."""
        child: cst.CSTNode = node
        parent = self._walk.parents.get(node)
        while isinstance(parent, cst.Element | cst.Tuple | cst.List | cst.StarredElement):
            child, parent = parent, self._walk.parents.get(parent)
        if isinstance(parent, cst.AssignTarget | cst.AnnAssign | cst.AsName | cst.Del):
            return isinstance(parent, cst.AnnAssign) and parent.target is not child
        return not (isinstance(parent, cst.For | cst.CompFor | cst.NamedExpr) and parent.target is child)

    def _reads_own_write(self, node: cst.Name, inside: set[cst.CSTNode]) -> bool:
        """Whether a name may hold what an earlier run of the stretch gave it."""
        found = self._infer.bindings_reaching(node)
        if found is None or found[0].node in inside:
            return False
        order = self._infer.place(node).order
        own = [binding.at.order for binding in found[1] if binding.node in inside]
        # What an earlier statement of the stretch gave it comes back by an inner loop, not by the loop around.
        fresh = len(own) == len(found[1]) and min(own, default=order) < order
        return not fresh and max(own, default=-1) >= order

    def _stays_tensor(self, node: cst.Name, inside: set[cst.CSTNode]) -> bool:
        """Whether all that the stretch gives a name are tensors, and something gave it a value before."""
        found = self._infer.bindings_reaching(node)
        assert found is not None
        own = [binding for binding in found[1] if binding.node in inside]
        return len(own) < len(found[1]) and all(
            value_of_binding(self._infer, binding, found[0]).kind == "tensor" for binding in own
        )

    def _is_bound_in(self, node: cst.Name, inside: set[cst.CSTNode], loop: Loop) -> bool:
        """Whether a name may have its value from the loop, outside the stretch."""
        found = self._infer.bindings_reaching(node)
        if found is None or found[0].node in inside:
            return False
        return any(b.node not in inside and self._invariance.is_bound_in(b, loop) for b in found[1])

    def _is_float_in_arithmetic(self, uses: list[cst.Name]) -> bool:
        """Whether a name is a Python float that is only computed with: a tensor does as well."""
        return all(
            isinstance(self._walk.parents.get(use), cst.BinaryOperation)
            and self._numbers.type_of(use) == "float"
            for use in uses
        )

    def _objection(self, uses: list[cst.Name], carried: bool) -> str:
        """Why a value that changes from step to step can't be passed."""
        name, value = uses[0].value, self._infer.value(uses[0])
        kind = value.kind
        if value.element is not None and value.element.kind == "variable":
            return f"`{name}` holds variables, which a function is given as tensors"
        if kind in _MADE_ANEW:
            return f"`{name}` is created again in the loop"
        python = "" if carried else self._passing.python_value(uses[0])
        if python:
            return f"`{name}` is {python} that changes from step to step"
        if kind == "unknown" and self._passing.is_used_as_object(uses):
            return f"`{name}` is an object that changes from step to step"
        if kind == "unknown" and any(self._decides(use) for use in uses):
            return f"a condition on `{name}` is decided on the host"
        if self._passing.meets_tensors(uses):
            return f"`{name}` is a NumPy array used with tensors, perhaps of another type"
        return ""

    def _decides(self, use: cst.Name) -> bool:
        """Whether a name stands in the condition of an `if`."""
        child: cst.CSTNode = use
        current = self._walk.parents.get(use)
        while current is not None and child not in self._walk.at:
            if isinstance(current, cst.If | cst.While | cst.IfExp) and child is current.test:
                return True
            if isinstance(current, cst.Call):
                return False
            child, current = current, self._walk.parents.get(current)
        return False

    def _returned(
        self, stretch: Stretch, inside: set[cst.CSTNode], carried: set[str]
    ) -> list[str] | Obstacle:
        """The names that the stretch binds and that are read after it, in the order of their binding."""
        names: list[str] = []
        # Whoever reads one of them behind the stretch reads it in the scope of the stretch.
        around = self._infer.names.scope_of(stretch.first)
        for name in _in_order(stretch):
            home = self._infer.names.lookup(name, around)
            readers = self._readers.of(name, home[0]) if home is not None else {}
            uses = dict.fromkeys(use for node in stretch.nodes() for use in readers.get(node, ()))
            after = [use for use in uses if use not in inside]
            read = [use for use in after if self.is_read(use)]
            if not read and name not in carried:
                deleted = [use for use in after if self.is_deleted(use)]
                if deleted:
                    return Obstacle(deleted[0], f"`{name}` is deleted outside the step")
                continue
            for use in read:
                if not self._may_be_returned(use, inside):
                    return Obstacle(use, f"`{name}` is read after the step and is not a tensor")
            names.append(name)
        return names

    def is_deleted(self, node: cst.Name) -> bool:
        """Whether a name stands in a `del`."""
        statement: cst.CSTNode | None = node
        while statement is not None and statement not in self._walk.at:
            statement = self._walk.parents.get(statement)
        return isinstance(statement, cst.Del)

    def _may_be_returned(self, use: cst.Name, inside: set[cst.CSTNode]) -> bool:
        found = self._infer.bindings_reaching(use)
        assert found is not None
        own = [binding for binding in found[1] if binding.node in inside]
        kinds = {value_of_binding(self._infer, binding, found[0]).kind for binding in own}
        sizes = any(b.path == () and b.value is not None and is_size(b.value) for b in own)
        return kinds <= RETURNABLE and not sizes


def deletes_only(statement: cst.CSTNode, names: set[str]) -> bool:
    """Whether a statement does nothing but delete some of `names`."""
    if not isinstance(statement, cst.Del):
        return False
    target = statement.target
    parts = [element.value for element in target.elements] if isinstance(target, cst.Tuple) else [target]
    return all(isinstance(part, cst.Name) and part.value in names for part in parts)


def _in_order(stretch: Stretch) -> list[str]:
    """The names that the stretch binds, in the order of the text."""
    order: dict[str, None] = {}
    for node in stretch.nodes():
        match node:
            case cst.AssignTarget() | cst.AnnAssign() | cst.AugAssign() | cst.NamedExpr() | cst.For():
                order |= {name.value: None for name in target_names(node.target)}
            case cst.AsName():
                order |= {name.value: None for name in target_names(node.name)}
            case cst.FunctionDef() | cst.ClassDef():
                order[node.name.value] = None
    return list(order)
