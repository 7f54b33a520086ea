"""What a step loop runs each time, as opposed to sometimes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import libcst as cst

from tflint_perf.analysis.execution.guards import Guards
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.python.conditions import conditions, is_done_either_way
from tflint_perf.analysis.python.reach import leads_to, remembered
from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.analysis.python.syntax import callee_name, integer, keyword_argument, last_statement
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part

# What a loop over an object runs each time.
_GIVES_ONE = ("__next__", "__getitem__")
# Whether a condition holds in next to all steps.
Holds = Callable[[cst.CSTNode], bool]


class EachStep(Part):
    """Answers whether each step runs a place: behind no guard and no condition, here and at a call site."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _guards: Guards

    def __post_init__(self) -> None:
        self._known: dict[Holds, dict[cst.CSTNode, bool]] = {}

    def runs(self, node: cst.CSTNode, holds: Holds = lambda condition: False) -> bool:
        """Whether each iteration of a step loop runs `node`; conditions that `holds` lets pass stand in no way."""
        return leads_to(node, self._known.setdefault(holds, {}), partial(self._runs, holds=holds))

    def _runs(self, node: cst.CSTNode, holds: Holds) -> bool | list[cst.CSTNode]:
        """Whether each iteration of a step loop runs `node`, as far as its function shows; or else the calls of that
        function, any of which may do it."""
        loop = self._loops.step_loop(node)
        end = loop.node if loop is not None else None
        guard = self._guards.guard_of(node)
        if guard is not None and not holds(guard.node):
            return False
        if not all(
            holds(condition)
            or self._guards.trains_behind(condition)
            or self._is_mostly_otherwise(condition, node)
            or is_done_either_way(self._walk, condition, node)
            or self._ends_otherwise(condition, node)
            for condition in conditions(self._walk, node, end, exits=False)
        ):
            return False
        if loop is not None:
            return not self._trains_for_epochs(loop)
        function = self._calls.function_at(node)
        if function is None or not self._loops.is_per_step(node):
            return False
        if any(caller.per_step and caller.always for caller in self._calls.callers_outside(function)):
            return True
        if function.name in _GIVES_ONE and function in self._loops.fits:
            return True
        sites: list[cst.CSTNode] = [*self._calls.sites(function)]
        return [*sites, *self._loops.drivers(function)] if function.name in _GIVES_ONE else sites

    @remembered
    def _trains_for_epochs(self, loop: Loop) -> bool:
        return trains_for_epochs(loop)

    def _is_mostly_otherwise(self, condition: cst.CSTNode, node: cst.CSTNode) -> bool:
        """Whether `node` is in the `else` of `condition`, which is met only now and then: `if step % 100 == 0: … else:
        …`."""
        branch = self._walk.parents.get(condition)
        if not isinstance(branch, cst.If) or branch.orelse is None:
            return False
        current: cst.CSTNode | None = node
        while current is not None and current is not branch.orelse:
            current = self._walk.parents.get(current)
        return current is not None and self._is_seldom(branch.test)

    def _ends_otherwise(self, condition: cst.CSTNode, node: cst.CSTNode) -> bool:
        """Whether there is no step where `condition` keeps `node` from running: `if more: imread(path) else: raise
        StopIteration`."""
        branch = self._walk.parents.get(condition)
        if not isinstance(branch, cst.If) or not isinstance(branch.orelse, cst.Else):
            return False
        current: cst.CSTNode | None = node
        while current not in (branch.body, branch.orelse, None):
            current = self._walk.parents.get(current)
        other = branch.orelse.body if current is branch.body else branch.body
        return isinstance(last_statement(other), cst.Raise)

    def _is_seldom(self, test: cst.BaseExpression) -> bool:
        match test:
            case cst.BooleanOperation(operator=cst.Or()):
                return self._is_seldom(test.left) and self._is_seldom(test.right)
            case cst.Comparison(
                comparisons=[cst.ComparisonTarget(cst.Equal(), cst.Integer())], left=cst.Name()
            ):
                return True
        return self._guards.counts(test)


def trains_for_epochs(loop: Loop) -> bool:
    """Whether each iteration of `loop` trains by a `fit` of several epochs: it is a task then, and no step."""
    return any(
        callee_name(call) == "fit"
        and (epochs := keyword_argument(call, "epochs")) is not None
        and integer(epochs) != 1
        for call in loop.calls
    )
