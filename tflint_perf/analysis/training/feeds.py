"""Where a value goes: into a step, or anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.steps import GradientSteps
from tflint_perf.analysis.execution.tapes import is_under_tape
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import descendants, target_names
from tflint_perf.analysis.values.caller import Caller
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part


class Feeds(Part):
    """Answers whether a value is used by a gradient step or a model: as input, target or argument."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _steps: GradientSteps

    def a_step(self, node: cst.CSTNode) -> bool:
        """Whether the value of `node` reaches a step, through names and through what functions return."""
        return self._reaches(node, self._loops.actions.acts, 0, elsewhere=_is_fed)

    def is_differentiated(self, node: cst.CSTNode) -> bool:
        """Whether a tape watches what `node` assigns to a name: an input to be changed, no batch to learn from."""
        statement = self._infer.place(node).block
        watched = [arg.value for call in self._walk.calls.get("watch", ()) for arg in call.args]
        return any(
            isinstance(name, cst.Name)
            and (found := self._infer.bindings_reaching(name)) is not None
            and any(
                b.value is not None and b.at.block is statement and node in descendants(b.value)
                for b in found[1]
            )
            for name in watched
        )

    def a_gradient_step(self, node: cst.CSTNode, *, elsewhere: bool = False) -> bool:
        """Whether the value of `node` reaches a gradient step: a tape, or a function that has one; `elsewhere` also one of
        another file, which a loop there makes with what a function returns."""
        return self._reaches(
            node, self._makes_gradient_step, 0, elsewhere=_is_learned_from if elsewhere else None
        )

    def gradient_steps_of(self, loop: Loop) -> bool:
        """Whether what `loop` takes reaches a gradient step."""
        names = target_names(loop.node.target) if isinstance(loop.node, cst.For) else ()
        return any(self.a_gradient_step(use) for name in names for use in self._reads(name))

    def _makes_gradient_step(self, call: cst.Call) -> bool:
        made = self._infer.value(call.func).function
        run = (function for function in (made, *self._calls.targets(call)) if function is not None)
        return any(map(self._steps.of, run))

    @remembered
    def _reaches(
        self,
        node: cst.CSTNode,
        is_step: Callable[[cst.Call], bool],
        depth: int,
        *,
        elsewhere: Callable[[Caller], bool] | None = None,
    ) -> bool:
        """Whether the value of `node` reaches a step; `elsewhere` says of which callers in other files the step may be, which
        gets what a function returns."""
        current, parent = node, self._walk.parents.get(node)
        while parent is not None and current not in self._walk.at:
            if isinstance(parent, cst.Call) and current is not parent.func and is_step(parent):
                return True
            current, parent = parent, self._walk.parents.get(parent)
        if is_under_tape(self._infer, current):
            return True
        if elsewhere is not None and _gives(current) and self._has_caller(current, elsewhere):
            return True
        return depth < CALLS_DEEP and any(
            self._reaches(use, is_step, depth + 1, elsewhere=elsewhere) for use in self._uses(current)
        )

    def _has_caller(self, statement: cst.CSTNode, counts: Callable[[Caller], bool]) -> bool:
        """Whether a caller in another file that counts gets the result of the function of `statement`."""
        function = self._calls.function_at(statement)
        return function is not None and any(map(counts, self._calls.callers_outside(function)))

    def _uses(self, statement: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Where what a statement gives to names, or returns, is read."""
        match statement:
            case cst.Assign():
                for target in statement.targets:
                    if (filled := _filled(target.target)) is not None:
                        yield from self._reads_behind(filled)
                    for name in target_names(target.target):
                        yield from self._reads(name)
            case cst.AnnAssign():
                for name in target_names(statement.target):
                    yield from self._reads(name)
            case cst.Expr(
                value=cst.Call(func=cst.Attribute(value=cst.Name() as holder, attr=cst.Name("append")))
            ):
                yield from self._reads_behind(holder)
            case cst.Return() | cst.Expr(value=cst.Yield()):
                function = self._calls.function_at(statement)
                if function is not None:
                    yield from self._calls.sites(function) if isinstance(statement, cst.Return) else ()
                    yield from self._taken_from(function)

    def _taken_from(self, function: Function) -> Iterator[cst.CSTNode]:
        """Where what a generator yields, or an object gives to a loop over it, is read."""
        yield from self._loops.nexts.get(function, ())
        for loop in self._loops.over_generators.get(function, ()):
            if isinstance(loop.node, cst.For):
                for name in target_names(loop.node.target):
                    yield from self._reads(name)

    def _reads_behind(self, holder: cst.Name) -> Iterator[cst.Name]:
        """Where a list or array is read in the same function, behind a place that puts something into it."""
        names, place = self._infer.names, self._infer.place(holder)
        for node in names.mentions(holder.value, names.home(holder)):
            if self._infer.place(node).order > place.order and self._calls.function_at(
                node
            ) is self._calls.function_at(holder):
                yield node

    def _reads(self, target: cst.Name) -> Iterator[cst.Name]:
        names = self._infer.names
        home = names.home(target)
        if home is None:
            return
        made_anew = {binding.node for binding in self._infer.made_anew(home, target.value)}
        for node in names.mentions(target.value, home):
            if node not in made_anew and any(b.node is target for b in self._infer.bindings(node)):
                yield node


def _is_fed(caller: Caller) -> bool:
    """Whether `caller` feeds a step with the result of what it calls, or trains in a loop over it."""
    return caller.per_step and (caller.trains if caller.how == "drive" else caller.fed)


def _is_learned_from(caller: Caller) -> bool:
    """Whether `caller` feeds a gradient step of a loop with the result of what it calls."""
    return caller.per_step and caller.learned_from


def _filled(target: cst.BaseExpression) -> cst.Name | None:
    """The name of the list or array that the assignment to `target` puts something into: `targets[i][j] = x`."""
    holder = target
    while isinstance(holder, cst.Subscript):
        holder = holder.value
    return holder if isinstance(holder, cst.Name) and holder is not target else None


def _gives(statement: cst.CSTNode) -> bool:
    """Whether `statement` gives something to the caller of its function."""
    match statement:
        case cst.Return() | cst.Expr(value=cst.Yield()):
            return True
    return False
