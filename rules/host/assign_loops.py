"""Loops that assign to each variable of a model what is computed of another's: soft updates of a target network.

for t, w in zip(target.variables, model.variables):
    t.assign(TAU * w + (1 - TAU) * t)
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.python.scopes import Block
from tflint_perf.analysis.python.syntax import descendants, dotted_name, is_name
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.records import dataclass

from .weight_copies import VARIABLES, WeightCopies


@dataclass(frozen=True, slots=True)
class AssignLoop:
    """Such a loop: each variable of `target` gets `value`; `over` are the variables that it goes over, by the names of its items.

    `old` is the name of an item of the target.
    """

    node: cst.For
    call: cst.Call
    old: str
    value: cst.BaseExpression
    over: dict[str, cst.Attribute]

    @property
    def target(self) -> cst.BaseExpression:
        """The model whose variables are assigned to."""
        return self.over[self.old].value

    @property
    def source(self) -> cst.BaseExpression:
        """The model whose variables are read."""
        (other,) = (variables for name, variables in self.over.items() if name != self.old)
        return other.value

    @property
    def sources(self) -> tuple[cst.BaseExpression, ...]:
        """The models whose variables are read."""
        return (self.source,)


class AssignLoops:
    """Finds such loops."""

    needs = ("infer", WeightCopies)

    def __init__(self, infer: Inference, copies: WeightCopies) -> None:
        self._infer = infer
        self._copies = copies

    def all(self) -> Iterator[AssignLoop]:
        """Every loop that does nothing else, in the order of the text."""
        for node in self._infer.walk.loops:
            found = self._assigns(node) if isinstance(node, cst.For) and node.orelse is None else None
            if (
                found is not None
                and dotted_name(found.source) != dotted_name(found.target)
                and self._copies.are_models([found.target, found.source])
                and not self._copies.is_random(found.value)
            ):
                yield found

    def are_built(self, loop: AssignLoop) -> bool:
        """Whether both models surely have variables by then: they are called above the loop, in its function."""
        called = {
            dotted_name(part.func)
            for statement in self._above(loop.node)
            for part in descendants(statement)
            if isinstance(part, cst.Call)
        }
        return {dotted_name(loop.source), dotted_name(loop.target)} <= called

    def _above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The statements of the same function that have run by then, as far as no condition decides that."""
        at = self._infer.walk.at[node]
        block: Block | None = at.block
        while block is not None and block.function is at.block.function:
            for statement in block.statements:
                begun = self._infer.walk.at[statement].order < at.order and node not in descendants(statement)
                if begun and isinstance(statement, cst.BaseSmallStatement | cst.With):
                    yield statement
            block = block.parent

    def _assigns(self, node: cst.For) -> AssignLoop | None:
        match node.body.body:
            case [
                cst.SimpleStatementLine(
                    body=[
                        cst.Expr(
                            value=cst.Call(
                                func=cst.Attribute(value=cst.Name(old), attr=cst.Name("assign")),
                                args=[cst.Arg(value=value, keyword=None, star="")],
                            ) as call
                        )
                    ]
                )
            ]:
                over = self._items(node)
                return AssignLoop(node, call, old, value, over) if old in over and len(over) > 1 else None
        return None

    def _items(self, node: cst.For) -> dict[str, cst.Attribute]:
        """The variables of two models that a loop goes over at once, by the names of their items."""
        match node.target, node.iter:
            case (
                cst.Tuple(elements=[cst.Element(value=cst.Name(one)), cst.Element(value=cst.Name(other))]),
                cst.Call(func=zipped, args=[cst.Arg(value=first), cst.Arg(value=second)]),
            ) if is_name(zipped, "zip") and one != other:
                held = [(one, self._variables(first)), (other, self._variables(second))]
                return {name: variables for name, variables in held if variables is not None}
        return {}

    def _variables(self, node: cst.BaseExpression) -> cst.Attribute | None:
        """`model.variables`, perhaps by a name that was given to it in the same function."""
        if isinstance(node, cst.Name):
            found = self._infer.bindings_reaching(node)
            given = found[1] if found is not None and found[0] is self._infer.names.scope_of(node) else []
            value = given[0].value if len(given) == 1 and given[0].kind == "assign" else None
            if value is None or given[0].path != ():
                return None
            node = value
        if isinstance(node, cst.Attribute) and node.attr.value in VARIABLES and dotted_name(node):
            return node
        return None
