"""Guards: conditions that keep a statement of a step loop from running on each step."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.conventions import names_training
from tflint_perf.analysis.execution.decided import Told, is_left_out
from tflint_perf.analysis.execution.guard_conditions import Guard
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.trains import trains_by
from tflint_perf.analysis.python.conditions import exits_before
from tflint_perf.analysis.python.reach import leads_to, remembered, remembered_in_circles
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import callee_name, descendants, last_statement, names_read
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part

_AROUND_CODE = frozenset([cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.Module])
# What may keep the code in it from running.
_DECIDING = frozenset(
    [cst.If, cst.IfExp, cst.BooleanOperation, cst.With, cst.IndentedBlock, cst.For, cst.While]
)

# A training step that more iterations than so many share costs little beside them.
_SELDOM = 100


class Guards(Part):
    """Answers behind which guard a place stands."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops

    def __post_init__(self) -> None:
        self._told = Told(self._infer, self._calls)
        self._conditions = self._loops.guard_conditions
        self._training = GuardedTraining(self._infer, self._calls, self._loops)

    def guard_of(self, node: cst.CSTNode) -> Guard | None:
        """The guard that `node` runs under, in its function or at each place that calls that per step; None when there
        is none."""
        here = self.guard_here(node)
        if here is not None:
            return here
        function = self._calls.function_at(node)
        if function is None or self._loops.step_loop(node) is not None:
            return None
        left_off = self._left_off(node, function)
        if left_off is not None:
            return left_off
        return self._at_all_calls(function)

    @remembered_in_circles(None)
    def _at_all_calls(self, function: Function) -> Guard | None:
        # A call before the training, or once an epoch, needs none.
        sites = [site for site in self._calls.sites(function) if self._loops.is_per_step(site)]
        guards = [self.guard_of(call) for call in sites or self._calls.sites(function)]
        return guards[0] if guards and None not in guards else None

    def trains_behind(self, test: cst.CSTNode) -> bool:
        """Whether `test` is a `counter % n == 0` that decides on all training around it: `if step % 4 == 0: agent.learn()`.
        What stands behind it is part of each training step."""
        branch = self._walk.parents.get(test)
        if not isinstance(branch, cst.If):
            return False
        guard = self._conditions.guard(branch.test, holds=True)
        return guard is not None and self._training.is_behind(guard, branch, (branch.body,))

    def counts(self, test: cst.BaseExpression) -> bool:
        """Whether a condition is `counter % n == 0`, which is met once in several steps."""
        guard = self._conditions.guard(test, holds=True)
        return guard is not None and guard.counts

    def guard_here(self, node: cst.CSTNode) -> Guard | None:
        """The guard in front of `node` in its function, within the step loop around it."""
        parents = self._walk.parents
        child, current = node, parents.get(node)
        while current is not None and current.__class__ not in _AROUND_CODE:
            if current.__class__ not in _DECIDING:
                child, current = current, parents.get(current)
                continue
            guard = None
            match current:
                case cst.If() if child is current.body:
                    guard = self._in_front(current, current.body, holds=True)
                case cst.If() if child is current.orelse and current.orelse is not None:
                    guard = self._in_front(current, current.orelse, holds=False)
                case cst.IfExp() if child is current.body:
                    guard = self._conditions.guard(current.test, holds=True)
                case cst.BooleanOperation() if child is current.right and isinstance(
                    current.operator, cst.And
                ):
                    guard = self._conditions.guard(current.left, holds=True)
                case cst.With():
                    guard = self._recording_guard(current)
            guard = guard or self._skipped(child, current)
            if guard is not None:
                return guard
            if (
                isinstance(current, cst.For | cst.While)
                and self._loops.kind(self._walk.loops[current]) == "step"
                and not self._loops.looks_on(self._walk.loops[current])
            ):
                return None
            child, current = current, parents.get(current)
        return None

    def _in_front(self, branch: cst.If, *code: cst.CSTNode, holds: bool) -> Guard | None:
        """The guard that lets `code` run where the test of `branch` holds, or where it does not, unless all training is
        behind it."""
        guard = self._conditions.guard(branch.test, holds=holds)
        return None if guard is not None and self._training.is_behind(guard, branch, code) else guard

    def _left_off(self, node: cst.CSTNode, function: Function) -> Guard | None:
        """The flag that `node` depends on and that no call on a step sets: `log(epoch, loss, at_end=True)` ends an
        epoch."""
        flag = self._flag_before(node, function)
        sites = (
            [site for site in self._calls.sites(function) if self._loops.is_per_step(site)] if flag else []
        )
        told = [self._told.by_call(function, site) for site in sites]
        left_out = [named is not None and is_left_out(self._walk, node, named) for named in told]
        return Guard(flag) if flag is not None and left_out and all(left_out) else None

    def _flag_before(self, node: cst.CSTNode, function: Function) -> cst.Name | None:
        """A parameter that a condition in front of `node` asks."""
        child, current = node, self._walk.parents.get(node)
        while current is not None and current is not function.node:
            if isinstance(current, cst.If) and child is not current.test:
                for name in names_read(current.test):
                    if name.value in function.places:
                        return name
            child, current = current, self._walk.parents.get(current)
        return None

    def _recording_guard(self, node: cst.With) -> Guard | None:
        for item in node.items:
            call = item.item
            if self._infer.names.is_call_that(call, "records-if"):
                return Guard(call)
        return None

    def _skipped(self, child: cst.CSTNode, suite: cst.CSTNode) -> Guard | None:
        """The guard that skips `child` by leaving before it: `if step % 100: continue`, or `return` outside loops."""
        if not isinstance(suite, cst.IndentedBlock):
            return None
        for statement in exits_before(self._walk, child, suite):
            if statement.orelse is None and self._leaves(statement):
                after = suite.body[suite.body.index(statement) + 1 :]
                guard = self._in_front(statement, *after, holds=False)
                if guard is not None:
                    return guard
        return None

    def _leaves(self, statement: cst.If) -> bool:
        """Whether the body of an `if` ends the iteration, or the function where that stands in no loop of it."""
        last = last_statement(statement.body)
        return isinstance(last, cst.Continue) or (
            isinstance(last, cst.Return) and self._loops.innermost_loop(statement) is None
        )


class GuardedTraining:
    """Answers whether a guard decides when a model is trained, rather than what else happens as it is."""

    def __init__(self, infer: Inference, calls: CallGraph, loops: Loops) -> None:
        self._infer = infer
        self._calls = calls
        self._loops = loops
        self._make_steps: dict[Function, bool] = {}
        self._train: dict[Function, bool] = {}

    @remembered
    def is_behind(self, guard: Guard, branch: cst.If, code: tuple[cst.CSTNode, ...]) -> bool:
        """Whether `code`, which the guard in `branch` lets run, makes a training step, and nothing else around it trains: a
        generator that is trained in every fifth step of its critic is behind a guard."""
        if not guard.counts or (guard.every is not None and guard.every > _SELDOM):
            return False
        behind = {call for part in code for call in descendants(part) if isinstance(call, cst.Call)}
        loop = self._loops.innermost_loop(branch)
        if not any(self._loops.innermost_loop(call) is loop and self._makes_step(call) for call in behind):
            return False
        return not any(call not in behind and self._trains(call) for call in self._calls_around(branch))

    def _calls_around(self, branch: cst.If) -> Iterator[cst.Call]:
        """The calls in the step loop that runs `branch`, and in the functions by way of which it does, but for those by
        which it does."""
        waiting: list[cst.CSTNode] = [branch]
        ways, seen = set[cst.CSTNode](), set[Function]()
        while waiting:
            here = waiting.pop()
            loop, function = self._loops.step_loop(here), self._calls.function_at(here)
            calls = loop.all_calls if loop is not None else function.calls if function is not None else []
            yield from (call for call in calls if call not in ways)
            if loop is None and function is not None and function not in seen:
                seen.add(function)
                sites = [site for site in self._calls.sites(function) if self._loops.is_per_step(site)]
                ways.update(sites)
                waiting += sites

    def _makes_step(self, call: cst.Call) -> bool:
        """Whether `call` trains on one batch, here or in no loop of what it runs."""
        return self._is_step(call) or any(
            leads_to(function, self._make_steps, self._makes_step_in)
            for function in self._calls.targets(call)
        )

    def _makes_step_in(self, function: Function) -> bool | list[Function]:
        calls = [call for call in function.calls if self._loops.actions.is_outside_loops(call)]
        if any(map(self._is_step, calls)):
            return True
        return [target for call in calls for target in self._calls.targets(call)]

    def _is_step(self, call: cst.Call) -> bool:
        by, outside = trains_by(self._infer, call), self._infer.outside
        if by == "fit":
            return self._loops.batches.are_taken_by(call)
        return by is not None or any(
            outside.trains(path) and not outside.has_step_loop(path) and not outside.trains_whole(path)
            for path in self._infer.value(call.func).paths
        )

    def _trains(self, call: cst.Call) -> bool:
        """Whether `call` trains in any way, or asks a tape for what to train by."""
        return self._trains_here(call) or any(
            leads_to(function, self._train, self._trains_in) for function in self._calls.targets(call)
        )

    def _trains_in(self, function: Function) -> bool | list[Function]:
        if any(map(self._trains_here, function.calls)):
            return True
        return [target for call in function.calls for target in self._calls.targets(call)]

    def _trains_here(self, call: cst.Call) -> bool:
        if callee_name(call) == "gradient" and isinstance(call.func, cst.Attribute):
            return self._infer.value(call.func.value).kind == "tape"
        called = self._infer.value(call.func)
        if not called.known and not called.paths and not self._calls.targets(call):
            # By its name, where nobody knows what it runs.
            return bool(names_training(callee_name(call))) or trains_by(self._infer, call) is not None
        return trains_by(self._infer, call) is not None or any(map(self._infer.outside.trains, called.paths))
