"""Epoch loops: those that contain a step loop, and are not one step themselves for all that loops inside."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.execution.actions import Actions
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.short_loops import counts_steps_of_critic, is_part_of_one_iteration
from tflint_perf.analysis.execution.size_of_calls import BATCH_SIZE, is_of_environment
from tflint_perf.analysis.execution.steps import is_under_tape
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import callee_name, integer, is_name, last_name
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.values import Value

if TYPE_CHECKING:
    from tflint_perf.analysis.execution.loops import Loops

_COUNTING = frozenset({"range", "trange"})
# What loops inside a loop or function: a step loop in sight, or a call that runs one.
Inside = Loop | cst.Call


class Epochs:
    """Answers whether a loop, or a call of a function, runs a loop of several steps."""

    def __init__(
        self, infer: Inference, calls: CallGraph, compiled: Compiled, actions: Actions, loops: Loops
    ) -> None:
        self._infer = infer
        self._calls = calls
        self._compiled = compiled
        self._actions = actions
        self._loops = loops
        self._has_loop: dict[Function, bool] = {}
        self._learns: dict[Function, bool] = {}
        # By whether acting in an environment counts.
        self._may_learn: dict[bool, dict[Function, bool]] = {True: {}, False: {}}

    def is_epoch(self, loop: Loop, calls: list[cst.Call]) -> bool:
        """Whether a step loop lies inside; gathers in `calls` what one iteration calls otherwise."""
        inside = list(self._inside(loop, calls))
        over = loop.iterable
        takes = over is not None and (self._loops.takes_batches(over) or self._loops.batches.come_from(over))
        return not self._are_parts_of_one_step(inside, calls, takes=takes)

    def has_step_loop(self, function: Function) -> bool:
        """Whether calling a function runs a step loop."""
        known = self._has_loop.get(function)
        if known is None:
            self._has_loop[function] = False
            inside: list[Inside] = [loop for loop in function.loops if self._loops.kind(loop) != "none"]
            inside += [call for call in function.calls if self._runs_step_loop(call)]
            own = [call for call in function.calls if self._actions.is_outside_loops(call)]
            known = self._has_loop[function] = not self._are_parts_of_one_step(inside, own, takes=False)
        return known

    def _inside(self, loop: Loop, calls: list[cst.Call]) -> Iterator[Inside]:
        calls += loop.calls
        for inner in loop.inner:
            if is_part_of_one_iteration(self._infer, inner):
                yield from self._inside(inner, calls)
            elif self._loops.kind(inner) != "none":
                yield inner
            else:
                calls += inner.calls
        yield from filter(self._runs_step_loop, loop.calls)

    def _runs_step_loop(self, call: cst.Call) -> bool:
        outside = self._infer.value(call.func).outside
        if outside and self._infer.outside.has_step_loop(outside):
            return True
        return any(map(self.has_step_loop, self._calls.targets(call)))

    def only_counts_inferences(self, loop: Loop) -> bool:
        """Whether a loop counts what it infers: it goes through no data, makes no gradient steps and acts in no
        environment."""
        return _is_counting(loop) and self._counts_inferences(loop)

    # One step, for all that loops in it

    def _are_parts_of_one_step(self, inside: list[Inside], own: list[cst.Call], *, takes: bool) -> bool:
        """Whether everything that loops is part of one gradient step, which the calls `own` make."""
        inside = [part for part in inside if not self._is_unrolled(part)]
        if not inside:
            return True
        learns = any(self._learns_by(call) for call in own if call not in inside)
        if not (learns or takes or any(map(self._takes_batch, own))):
            return all(self._is_under_tape(part) for part in inside)
        applies = any(callee_name(call) == "apply_gradients" for call in own)
        return all(
            self._is_seldom(part)
            or self._is_under_tape(part)
            or (learns and not self._is_work(part))
            or (takes and self._counts_inferences(part))
            or (takes and learns and self._trains_on_same_batch(part))
            or (applies and self._gathers_gradients(part))
            or (learns and isinstance(part, Loop) and counts_steps_of_critic(part))
            for part in inside
        )

    def _counts_inferences(self, part: Inside) -> bool:
        """Whether a loop that counts, or one in what a call runs, does nothing but infer from the batch that the loop around it
        took: it decodes words one by one."""
        if self._is_work(part):
            return False
        functions = self._calls.targets(part) if isinstance(part, cst.Call) else []
        loops = [part] if isinstance(part, Loop) else [loop for f in functions for loop in f.loops]
        calls = [call for function in functions for call in function.calls if call is not part]
        return (
            bool(loops)
            and all(map(_is_counting, loops))
            and not any(
                map(self._takes_batch, [*calls, *(call for loop in loops for call in _calls_in(loop))])
            )
            and not any(map(self._runs_step_loop, calls))
        )

    def _trains_on_same_batch(self, part: Inside) -> bool:
        """Whether a loop counts how often a model learns from the batch that the loop around it took."""
        if not isinstance(part, Loop) or not _is_counting(part):
            return False
        return not any(map(self._takes_batch, _calls_in(part))) and not any(
            map(is_of_environment, _calls_in(part))
        )

    def _gathers_gradients(self, part: Inside) -> bool:
        """Whether a loop only asks for gradients, sample by sample of one batch, which the loop around it applies."""
        iterable = part.iterable if isinstance(part, Loop) else None
        if not isinstance(part, Loop) or not isinstance(iterable, cst.Call) or not iterable.args:
            return False
        if not is_name(iterable.func, "range") or not BATCH_SIZE.search(last_name(iterable.args[-1].value)):
            return False
        calls = _calls_in(part)
        return any(map(self._is_gradient_step, calls)) and not any(
            self._may_learn_by(call) for call in calls if callee_name(call) != "gradient"
        )

    def _is_unrolled(self, part: Inside) -> bool:
        """Whether compiled code counts a loop in Python: one call of it is one step."""
        return (
            isinstance(part, Loop)
            and isinstance(part.iterable, cst.Call)
            and is_name(part.iterable.func, "range")
            and self._compiled.state(part.function) == "compiled"
            and not any(map(self._takes_batch, _calls_in(part)))
        )

    def _is_under_tape(self, part: Inside) -> bool:
        node = part.node if isinstance(part, Loop) else part
        return is_under_tape(self._infer, node) and not self._is_work(part, acting=False)

    def _is_seldom(self, part: Inside) -> bool:
        """Whether it stands behind `if step % n`."""
        parents = self._infer.walk.parents
        child: cst.CSTNode = part.node if isinstance(part, Loop) else part
        current = parents.get(child)
        while current is not None and not isinstance(current, cst.For | cst.While | cst.FunctionDef):
            if isinstance(current, cst.If) and child is current.body and _counts(current.test):
                return True
            child, current = current, parents.get(current)
        return False

    def _is_work(self, part: Inside, *, acting: bool = True) -> bool:
        """Whether what loops may train too, or acts in an environment: then it is no mere part of a step."""
        calls = _calls_in(part) if isinstance(part, Loop) else [part]
        return any(self._may_learn_by(call, acting=acting) for call in calls)

    def _takes_batch(self, call: cst.Call) -> bool:
        if isinstance(call.func, cst.Attribute) and callee_name(call) in ("get_next", "next"):
            return self._infer.value(call.func.value).kind == "iterator"
        return (
            is_name(call.func, "next")
            and bool(call.args)
            and self._infer.value(call.args[0].value).kind in ("iterator", "generator")
        )

    def _is_gradient_step(self, call: cst.Call) -> bool:
        if not isinstance(call.func, cst.Attribute):
            return False
        if callee_name(call) == "gradient":
            return self._infer.value(call.func.value).kind == "tape"
        return callee_name(call) in ("apply_gradients", "train_on_batch")

    def _learns_by(self, call: cst.Call) -> bool:
        """Whether a call makes a gradient step, here or in a function that makes it outside loops."""
        return self._is_gradient_step(call) or any(map(self._function_learns, self._calls.targets(call)))

    def _function_learns(self, function: Function) -> bool:
        known = self._learns.get(function)
        if known is None:
            self._learns[function] = False
            known = self._learns[function] = any(
                self._learns_by(call) for call in function.calls if self._actions.is_outside_loops(call)
            )
        return known

    def _may_learn_by(self, call: cst.Call, *, acting: bool = True) -> bool:
        """Whether anything that a call runs makes gradient steps, acts in an environment, or can't be seen."""
        known, ask = self._may_learn[acting], partial(self._may_learn_in, acting=acting)
        return self._may_learn_here(call, acting) or any(
            leads_to(function, known, ask) for function in self._calls.targets(call)
        )

    def _may_learn_in(self, function: Function, *, acting: bool) -> bool | list[Function]:
        """Whether a function itself does so, or else the functions that it calls."""
        if any(self._may_learn_here(call, acting) for call in function.calls):
            return True
        return [target for call in function.calls for target in self._calls.targets(call)]

    def _may_learn_here(self, call: cst.Call, acting: bool) -> bool:
        if self._is_gradient_step(call) or is_of_environment(call):
            return True
        if callee_name(call) in ("fit", "minimize"):
            return True
        value = self._infer.value(call.func)
        return not self._calls.targets(call) and (
            value.kind == "compiled" or self._acts_outside(value, acting)
        )

    def _acts_outside(self, value: Value, acting: bool) -> bool:
        """Whether what is called is of another file, and may do more there than compute, or than train."""
        if not value.outside or value.kind in ("model", "layer", "loss", "metric"):
            return False
        outside = self._infer.outside
        if not acting and value.kind == "function":
            return outside.trains(value.outside)
        return value.kind != "function" or outside.acts(value.outside) or outside.has_step_loop(value.outside)


def _is_counting(loop: Loop) -> bool:
    """Whether a loop counts, rather than runs over things."""
    return loop.iterable is None or (
        isinstance(loop.iterable, cst.Call) and callee_name(loop.iterable) in _COUNTING
    )


def _calls_in(loop: Loop) -> list[cst.Call]:
    return [*loop.calls, *(call for inner in loop.inner for call in _calls_in(inner))]


def _counts(test: cst.BaseExpression) -> bool:
    """Whether a condition asks a counter: `step % n == 0`; `% 1` asks nothing."""
    match test:
        case cst.BooleanOperation(operator=cst.And()):
            return _counts(test.left) or _counts(test.right)
        case cst.BooleanOperation(operator=cst.Or()):
            return _counts(test.left) and _counts(test.right)
        case cst.UnaryOperation(operator=cst.Not(), expression=cst.BinaryOperation() as left):
            return _is_modulo(left)
        case cst.Comparison(
            left=left, comparisons=[cst.ComparisonTarget(operator=cst.Equal(), comparator=right)]
        ):
            return _is_modulo(left) or _is_modulo(right)
    return False


def _is_modulo(node: cst.BaseExpression) -> bool:
    return (
        isinstance(node, cst.BinaryOperation)
        and isinstance(node.operator, cst.Modulo)
        and integer(node.right) not in (0, 1)
    )
