"""Loops that assign to each variable of a model what is computed of another's: soft updates of a target network.

for t, w in zip(target.variables, model.variables):
    t.assign(TAU * w + (1 - TAU) * t)
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.python.scopes import Binding, Block
from tflint_perf.analysis.python.syntax import descendants, dotted_name, is_name
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass

from .weight_copies import VARIABLES, WeightCopies


@dataclass(frozen=True, slots=True)
class AssignLoop:
    """Such a loop: each variable of `target` gets `value`; `over` are the variables that it goes over, by the names of its items.

    `old` is the name of an item of the target. Where a function goes over `lists` that it is given, `over` are those of one caller.
    """

    node: cst.For
    call: cst.Call
    old: str
    value: cst.BaseExpression
    over: dict[str, cst.Attribute]
    lists: bool = False

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


class AssignLoops(Part):
    """Finds such loops."""

    own = (WeightCopies,)

    _infer: Inference
    _calls: CallGraph
    _copies: WeightCopies

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
                held = self._items(node)
                over = {name: variables for name, listed in held.items() for variables in listed[:1]}
                lists = any(variables not in descendants(node.iter) for variables in over.values())
                if old in over and len(over) > 1:
                    return AssignLoop(node, call, old, value, over, lists)
        return None

    def _items(self, node: cst.For) -> dict[str, list[cst.Attribute]]:
        """The variables of two models that a loop goes over at once, by the names of their items."""
        match node.target, node.iter:
            case (
                cst.Tuple(elements=[cst.Element(value=cst.Name(one)), cst.Element(value=cst.Name(other))]),
                cst.Call(func=zipped, args=[cst.Arg(value=first), cst.Arg(value=second)]),
            ) if is_name(zipped, "zip") and one != other:
                return {one: self._variables(first), other: self._variables(second)}
        return {}

    def _variables(self, node: cst.BaseExpression) -> list[cst.Attribute]:
        """`model.variables`, perhaps by a name that was given to it in the same function, or by a parameter: what each
        caller passes, if all pass such."""
        if not isinstance(node, cst.Name):
            is_list = isinstance(node, cst.Attribute) and node.attr.value in VARIABLES and dotted_name(node)
            return [node] if is_list and isinstance(node, cst.Attribute) else []
        found = self._infer.bindings_reaching(node)
        bindings = found[1] if found is not None and found[0] is self._infer.names.scope_of(node) else []
        match bindings:
            case [Binding(kind="assign", value=cst.Attribute() as value, path=())]:
                return self._variables(value)
            case [Binding(kind="param") as parameter]:
                given = self._calls.given(parameter)
                each = [self._variables(value) if isinstance(value, cst.Attribute) else [] for value in given]
                return [value for values in each for value in values] if all(each) else []
        return []
