"""What belongs to a gradient step: what its tape records, and what its function computes on the device beside that."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_perf.analysis.apis.facts import library
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.once import Seldom
from tflint_perf.analysis.execution.op_loops import is_read
from tflint_perf.analysis.execution.steps import GradientSteps
from tflint_perf.analysis.execution.tapes import Tapes
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.flow import loops_around, runs_beside
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import target_names
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part

_TO_HOST = frozenset({"float", "int", "bool"})


class PartsOfSteps(Part):
    """Answers whether a place is part of a gradient step."""

    _infer: Inference
    _calls: CallGraph
    _compiled: Compiled
    _loops: Loops
    _steps: GradientSteps
    _seldom: Seldom
    _tapes: Tapes

    def __post_init__(self) -> None:
        self._known: dict[Function, bool] = {}

    def has(self, call: cst.Call) -> bool:
        """Whether the forward pass `call` is part of a gradient step, or computes tensors for one. What becomes an
        array of NumPy is a pass of its own."""
        if self._tapes.record(call):
            return True
        return self.belongs(call) and not (self._is_beside(call) and self._goes_to_host(call, 0))

    def _is_beside(self, call: cst.Call) -> bool:
        """Whether `call` is in the function of a gradient step, or in one that such functions call outside tapes."""
        function = self._calls.function_at(call)
        if function is None or self._is_in_step(call):
            return self._runs_once_a_step(call)
        sites = self._calls.sites(function)
        return bool(sites) and all(
            self._is_in_step(site) and self._runs_once_a_step(site) and not self._tapes.record(site)
            for site in sites
        )

    def _runs_once_a_step(self, node: cst.CSTNode) -> bool:
        """Whether no loop of its function makes several gradient steps beside one run of `node`."""
        around = loops_around(self._loops.innermost_loop(node))
        tapes = [step.tape for step in self._steps.of(self._calls.function_at(node))]
        return all(loop is None or loop in around for loop in map(self._loops.innermost_loop, tapes))

    def belongs(self, node: cst.CSTNode) -> bool:
        """Whether a gradient step runs `node`: under its tape, beside it, or in a function that it calls."""
        if self._tapes.record(node) or self._is_in_step(node):
            return True
        function = self._calls.function_at(node)
        if function is None:
            return False
        called = self._calls.sites(function)
        outside = [
            caller
            for caller in self._calls.callers_outside(function)
            if caller.how == "call" and caller.per_step and not caller.guarded
        ]
        if (called or outside) and all(self._tapes.record(site) for site in called):
            if all(caller.taped for caller in outside):
                return True
        if self._loops.innermost_loop(node) is not None:
            return False
        known = self._known.get(function)
        if known is None:
            self._known[function] = False  # functions that call each other
            sites = [site for site in called if self._loops.is_per_step(site) and not self._seldom.runs(site)]
            known = self._known[function] = (
                bool(sites or outside)
                and all(map(self.belongs, sites))
                and all(caller.taped for caller in outside)
            )
        return known

    def _is_in_step(self, node: cst.CSTNode) -> bool:
        function, order = self._calls.function_at(node), self._infer.place(node).order
        around = loops_around(self._loops.innermost_loop(node))
        for step in self._steps.of(function):
            loop = self._loops.innermost_loop(step.tape)
            if function is not None and (loop is None or not around):
                if runs_beside(self._infer.place(node), self._walk.at[step.tape]):
                    return True
                continue
            last = max(self._infer.place(call).order for call in step.applied)
            if loop in around and self._walk.at[step.tape].order <= order <= last:
                return True
        at = self._infer.place(node)
        for call in self._steps.without_tape:
            if self._calls.function_at(call) is function and around == loops_around(
                self._loops.innermost_loop(call)
            ):
                if runs_beside(at, self._infer.place(call)):
                    return True
        calls = self._calls_of_steps.get(function, ()) if not around else ()
        return any(runs_beside(at, self._infer.place(call)) for call in calls)

    @cached_property
    def _calls_of_steps(self) -> dict[Function | None, list[cst.Call]]:
        """The calls of functions that make a gradient step in eager mode, by the function that calls, out of loops."""
        found: dict[Function | None, list[cst.Call]] = {}
        for step in self._steps.all():
            if step.function is not None and self._compiled.is_eager(step.tape):
                for call in self._calls.sites(step.function):
                    if self._loops.innermost_loop(call) is None:
                        found.setdefault(self._calls.function_at(call), []).append(call)
        return found

    # Results that leave the device

    def _goes_to_host(self, node: cst.CSTNode, depth: int) -> bool:
        """Whether all that is done with `node`, or with what ops make of it, takes it to the host."""
        parents = self._walk.parents
        parent = parents.get(node)
        while isinstance(parent, cst.Arg | cst.Subscript) and depth <= CALLS_DEEP:
            node, parent = parent, parents.get(parent)
        match parent:
            case cst.Attribute(attr=cst.Name("numpy")):
                return True
            case cst.Call() if isinstance(node, cst.Arg):
                name = builtin_or_qualified(self._infer, parent.func)
                if library(name) == "numpy" or name in _TO_HOST:
                    return True
                return (
                    library(name) == "tensorflow"
                    and depth < CALLS_DEEP
                    and self._goes_to_host(parent, depth + 1)
                )
            case cst.Assign() if depth < CALLS_DEEP:
                uses = list(self._uses(parent))
                return bool(uses) and all(self._goes_to_host(use, depth + 1) for use in uses)
        return False

    def _uses(self, statement: cst.Assign) -> Iterator[cst.Name]:
        """Where the names are read to which a statement assigns, and may still have that value."""
        names = self._infer.names
        function = self._calls.function_at(statement)
        for name in (name for target in statement.targets for name in target_names(target.target)):
            for use in names.mentions_in(function, name.value):
                if is_read(self._walk.parents, use):
                    if any(b.value is statement.value for b in self._infer.bindings(use)):
                        yield use
