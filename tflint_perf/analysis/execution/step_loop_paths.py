"""Why code runs on each step: the loop of steps, and the calls that lead from it to the code.

step_loop_paths.leading_to(node)    # (the loop, the call of `train` in it, the call of `clean_up` in `train`)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace

import libcst as cst

from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.guards import Guards
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import dotted_name
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.outside import RUN_OVER
from tflint_perf.analysis.values.parts import Part
from tflint_perf.finding import Via, ViaKind
from tflint_perf.records import dataclass


@dataclass(frozen=True, slots=True)
class Reached:
    """A loop of steps, or a call on the way from it, as `Via` has it, by its node."""

    kind: ViaKind
    node: cst.CSTNode
    always: bool = True


# From the loop down to a place; what lies in other files has its row there.
Way = tuple[Reached | Via, ...]


class StepLoopPaths(Part):
    """Finds a way from a loop of steps to a place that runs per step."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _guards: Guards
    _compiled: Compiled

    def leading_to(self, node: cst.CSTNode) -> Way:
        """The shortest way that makes `node` run per step, behind no condition if there is one such; () where it does not,
        or where no loop is known that does it. To eager code it leads through no compiled code, if there is one such."""
        if self._loops.training_loop(node) is not None:
            return self._in_loop(self._from_loop(node), node)
        function = self._calls.function_at(node)
        if function is None or not self._loops.is_per_step(node):
            return ()
        always = self._is_always(node)
        in_eager = self._compiled.state(function) == "eager"
        way = self._into(function, always, uncompiled=True) if in_eager else ()
        return self._in_loop(way or self._into(function, always), node)

    def _in_loop(self, way: Way, node: cst.CSTNode) -> Way:
        """The way, and the loop at its end in which `node` runs several times a step, where there is one."""
        loop = self._loops.innermost_loop(node)
        if not way or loop is None or not isinstance(loop.node, cst.For | cst.While):
            return way
        if any(isinstance(part, Reached) and part.node is loop.node for part in way):
            return way
        return (*way, Reached("inner", loop.node, way[-1].always))

    def through(self, loop: Loop, *places: cst.CSTNode) -> Way:
        """The way from any loop down to the last of these places, by the calls before it."""
        ends = (loop.node, *(None for _ in places[1:]))
        always = [self._is_always(place, end) for place, end in zip(places, ends, strict=True)]
        calls = (Reached("call", call, runs) for call, runs in zip(places, always[1:], strict=False))
        return (Reached("loop", loop.node, always[0]), *calls)

    def _into(self, function: Function, always: bool, *, uncompiled: bool = False) -> Way:
        """The shortest way from a step loop to `function`; `always` says whether what is looked for runs each time that
        the function does, and an `uncompiled` way leads through no code that is known to be compiled."""
        waiting: deque[tuple[Function, Way, bool]] = deque([(function, (), always)])
        seen = {function}
        while waiting:
            current, below, runs = waiting.popleft()
            outside = self._from_outside(current, uncompiled)
            found = [(*_with_last(above, runs), *below) for above in outside]
            for site, how in self._sites(current):
                if uncompiled and self._compiled.is_compiled(site):
                    continue
                own = () if how is None else (Reached(how, site, runs),)
                if from_loop := self._from_loop(site):
                    found.append((*from_loop, *own, *below))
                    continue
                caller = self._calls.function_at(site)
                if caller is not None and caller not in seen and self._loops.is_per_step(site):
                    seen.add(caller)
                    waiting.append((caller, (*own, *below), self._is_always(site)))
            if found:
                return next((way for way in found if all(part.always for part in way)), found[0])
        return ()

    def _from_loop(self, node: cst.CSTNode) -> Way:
        """The step loop of the same function that runs `node`."""
        loop = self._loops.step_loop(node)
        return () if loop is None else (Reached("loop", loop.node, self._is_always(node, loop.node)),)

    def _from_outside(self, function: Function, uncompiled: bool) -> Iterator[Way]:
        """The ways to a function that begin with no call of it in this file."""
        if self._loops.is_batch_callback(function):
            yield (Reached("callback", function.node),)
        for caller in self._calls.callers_outside(function):
            if uncompiled and caller.state == "compiled":
                continue
            if caller.per_step and caller.each_step:
                yield caller.each_step
        for call in self._loops.fits.get(function, ()) if self._is_run_over(function) else ():
            yield (Reached("fit", call),)

    def _sites(self, function: Function) -> Iterator[tuple[cst.CSTNode, ViaKind | None]]:
        """What runs a function: the calls of it; of what a loop goes over, the body of that, and what takes the next."""
        if not function.yields:
            yield from ((call, "call") for call in self._calls.sites(function))
        if self._is_run_over(function):
            yield from ((call, "call") for call in self._loops.nexts.get(function, ()))
            for loop in self._loops.over_generators.get(function, ()):
                if loop.function is not function and isinstance(loop.node, cst.For):
                    yield loop.node.body, None

    def _is_run_over(self, function: Function) -> bool:
        return bool(function.yields) or function.name in RUN_OVER

    def _is_always(self, node: cst.CSTNode, end: cst.CSTNode | None = None) -> bool:
        """Whether a place runs whenever the loop `end`, or else the function around it, does."""
        return self._guards.guard_of(node) is None and not any(
            True for _ in conditions(self._walk, node, end, exits=False)
        )


def _with_last(way: Way, always: bool) -> Way:
    """A way to a function, of which the last part tells whether what is looked for there runs each time."""
    return way if always else (*way[:-1], replace(way[-1], always=False))


def placed(way: Way, row: Callable[[cst.CSTNode], int | None]) -> tuple[Via, ...]:
    """A way with its rows; () where one of them is not known."""
    found: list[Via] = []
    for part in way:
        if isinstance(part, Via):
            found.append(part)
            continue
        at = row(part.node)
        if at is None:
            return ()
        found.append(Via(part.kind, _name(part.node), at, always=part.always))
    return tuple(found)


def _name(node: cst.CSTNode) -> str:
    """What is called, as it is spelled, or the function that Keras calls; "" for a loop."""
    match node:
        case cst.Call():
            return dotted_name(node.func, "…")
        case cst.FunctionDef():
            return node.name.value
    return ""
