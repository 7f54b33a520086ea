"""Gradient steps: a tape, the gradient asked of it, and what applies it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import field
from functools import cached_property
from itertools import chain
from operator import itemgetter
from typing import TypeVar

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has, last_names
from tflint_perf.analysis.execution.tapes import opened, tape_around
from tflint_perf.analysis.python.dead_code import never_runs
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    constant_entries,
    descendants,
    is_name,
    key_of,
    keyed_targets,
    keyword_argument,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.named_calls import minimizes_loss
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass

K = TypeVar("K")
T = TypeVar("T")

_UPDATES = frozenset(
    {"assign_sub", "assign_add", "assign", "scatter_nd_sub", "scatter_sub", "scatter_update"}
)
_APPLIES = frozenset({"apply_gradients", "apply", "_apply_gradients", "minimize"})
_GRADIENTS = frozenset({"gradient", "jacobian", "batch_jacobian"})
_CHANGING = _APPLIES | _UPDATES
_ASKING = (*sorted(_GRADIENTS), "minimize")
_HANDING_ON = (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.For, cst.Expr, cst.Return)
_END = float("inf")

# The constant keys under which a container holds something: `("q", "g")` of `grads["q"]["g"]`; of what is no container,
# or of one without such keys, none.
Keys = tuple[str | int, ...]
_AS_IT_IS: frozenset[Keys] = frozenset({()})


@dataclass(eq=False, slots=True)
class _Held:
    """What holds a gradient in a function: the call that gives it, and names, each with the keys under which it does."""

    given: cst.Call | None = None
    keys: frozenset[Keys] = _AS_IT_IS
    names: dict[str, set[Keys]] = field(default_factory=dict)

    def of(self, node: cst.CSTNode) -> frozenset[Keys] | set[Keys]:
        """The keys under which a name, or the call itself, holds it."""
        if node is self.given:
            return self.keys
        return self.names.get(node.value, frozenset()) if isinstance(node, cst.Name) else frozenset()

    def add(self, target: cst.CSTNode, keys: set[Keys]) -> None:
        """Note that a target of an assignment holds it, too."""
        for name, before in keyed_targets(target):
            self.names.setdefault(name, set()).update((*before, *behind) for behind in keys)


@dataclass(eq=False, slots=True)
class GradientStep:
    """One tape whose gradients change variables.

    `tape` is the `with`; `applied` the calls that change variables with its gradients, in the same function or
    in one that calls it.
    """

    tape: cst.With
    name: str
    function: Function | None
    gradients: list[cst.Call] = field(default_factory=list)
    applied: list[cst.Call] = field(default_factory=list)


class GradientSteps(Part):
    """Finds the gradient steps of a file."""

    _infer: Inference
    _calls: CallGraph

    def __post_init__(self) -> None:
        self._steps: list[GradientStep] | None = None
        self._minimized: dict[Function, bool] = {}

    def all(self) -> list[GradientStep]:
        """Every gradient step, in the order of the text."""
        if self._steps is None:
            self._steps = [step for step in self._tapes() if self._find_applied(step)]
        return self._steps

    def of(self, function: Function | None) -> list[GradientStep]:
        """The gradient steps in a function, or outside all."""
        return self._of.get(function, [])

    @cached_property
    def _of(self) -> dict[Function | None, list[GradientStep]]:
        found: dict[Function | None, list[GradientStep]] = {}
        for step in self.all():
            found.setdefault(step.function, []).append(step)
        return found

    @cached_property
    def by_tape(self) -> dict[cst.CSTNode, list[GradientStep]]:
        """The gradient steps by the `with` that opens their tape."""
        found: dict[cst.CSTNode, list[GradientStep]] = {}
        for step in self.all():
            found.setdefault(step.tape, []).append(step)
        return found

    @cached_property
    def without_tape(self) -> list[cst.Call]:
        """The calls that make a gradient step by themselves: `optimizer.minimize(lambda: loss(x), variables)`."""
        return [
            call
            for call in self._walk.calls.get("minimize", ())
            if minimizes_loss(self._infer, call)
            and self._infer.value(argument(call, 0, "loss") or call).kind == "function"
        ]

    @cached_property
    def given_back(self) -> list[GradientStep]:
        """The tapes whose gradients their function gives back, and that nothing in this file applies."""
        return [
            step
            for step in self._tapes()
            if step.tape not in self.by_tape
            and any(self._uses_of_gradient(call, step.function, _END)[1] for call in step.gradients)
        ]

    def are_minimized(self, step: GradientStep) -> bool:
        """Whether a minimizer asks again and again for the gradients that a step gives back, and trains by them: the function
        around its tape, or one that gives back what that gives."""
        return step.function is not None and leads_to(
            step.function, self._minimized, self._is_given_to_minimizer
        )

    def _is_given_to_minimizer(self, function: Function) -> bool | list[Function]:
        if function in self._asked_by_minimizers:
            return True
        sites = [(site, self._calls.function_at(site)) for site in self._calls.sites(function)]
        # What is made of gradients under another tape is a loss.
        return [
            caller
            for site, caller in sites
            if caller is not None
            and tape_around(self._infer, site) is None
            and self._uses_of_gradient(site, caller, _END)[1]
        ]

    @cached_property
    def _asked_by_minimizers(self) -> frozenset[Function]:
        """The functions that are given to minimizers as what gives gradients, alone or with the loss."""
        found: set[Function] = set()
        for name in last_names("gradients-by"):
            for call in self._walk.calls.get(name, ()):
                given = self._giving_gradients(call)
                function = self._infer.value(given).function if given is not None else None
                if function is not None:
                    found.add(function)
        return frozenset(found)

    def _giving_gradients(self, call: cst.Call) -> cst.BaseExpression | None:
        """What gives a minimizer gradients: what it is told to ask for them, or the function that gives it the loss."""
        name = self._infer.names.qualified(call.func)
        told = keyword_argument(call, fact(name, "gradients-by"))
        if told is not None and not is_name(told, "True"):
            return told
        if told is None and not has(name, "asks-for-both"):
            return None
        return keyword_argument(call, "fun") or argument(call, 0, "func")

    def are_applied(self, given: cst.Call) -> bool:
        """Whether what `given` returns changes variables, as gradients do that another file computes."""
        return bool(self._updates) and bool(self._applied_anywhere(given, self._calls.function_at(given)))

    def _tapes(self) -> Iterator[GradientStep]:
        for node in self._walk.withs:
            for _, name in opened(self._infer, node):
                yield self._with_gradients(GradientStep(node, name.value, self._calls.function_at(node)))

    def _with_gradients(self, step: GradientStep) -> GradientStep:
        asked = self._asked.get((step.function, step.name), [])
        asked = [*asked, *self._handed_tapes.get((step.function, step.name), [])]
        found = _between(
            sorted(asked, key=itemgetter(0)), self._walk.at[step.tape].order, self._next_tape(step)
        )
        step.gradients += sorted(found, key=self._kind_of_asking)
        return step

    def _kind_of_asking(self, call: cst.Call) -> int:
        name = callee_name(call)
        return _ASKING.index(name) if name in _ASKING else len(_ASKING)

    @cached_property
    def _handed_tapes(self) -> dict[tuple[Function | None, str], list[tuple[int, cst.Call]]]:
        """The calls that give a tape to a function which asks it for gradients and applies them, by their function and the
        name of the tape: `update(tape, loss, model)`."""
        found: dict[tuple[Function | None, str], list[tuple[int, cst.Call]]] = {}
        for (function, name), asked in self._asked.items():
            parameters = {parameter.name.value for parameter in function.parameters} if function else set()
            if function is None or name not in parameters or (function, name) in self._named:
                continue
            if not all(self._uses_of_gradient(call, function, _END)[0] for _, call in asked):
                continue
            for given in self._calls.arguments(function, name):
                call = self._walk.parents.get(self._walk.parents.get(given, given))
                if isinstance(given, cst.Name) and isinstance(call, cst.Call):
                    key = self._calls.function_at(call), given.value
                    found.setdefault(key, []).append((self._infer.place(call).order, call))
        return _in_order(found)

    @cached_property
    def _hand_tapes(self) -> frozenset[cst.Call]:
        return frozenset(call for calls in self._handed_tapes.values() for _, call in calls)

    @cached_property
    def _asked(self) -> dict[tuple[Function | None, str], list[tuple[int, cst.Call]]]:
        """The calls that ask for gradients, by their function and the name of the tape that they ask."""
        found: dict[tuple[Function | None, str], list[tuple[int, cst.Call]]] = {}
        for name in _ASKING:
            for call in self._walk.calls.get(name, ()):
                given = call.func.value if isinstance(call.func, cst.Attribute) else None
                if name == "minimize":
                    given = keyword_argument(call, "tape")
                if isinstance(given, cst.Name) and not never_runs(self._walk, call):
                    key = self._calls.function_at(call), given.value
                    found.setdefault(key, []).append((self._infer.place(call).order, call))
        return _in_order(found)

    def _next_tape(self, step: GradientStep) -> float:
        """The place where the tape's name is given to another tape of the same function."""
        orders = self._named[step.function, step.name]
        later = bisect_right(orders, self._walk.at[step.tape].order)
        return orders[later] if later < len(orders) else _END

    @cached_property
    def _named(self) -> dict[tuple[Function | None, str], list[int]]:
        """Where `with` opens something under a name, by the function and the name."""
        found: dict[tuple[Function | None, str], list[int]] = {}
        for node in self._walk.withs:
            for item in node.items:
                name = item.asname.name if item.asname is not None else item.item
                key = self._calls.function_at(node), name.value if isinstance(name, cst.Name) else ""
                found.setdefault(key, []).append(self._walk.at[node].order)
        return found

    def _find_applied(self, step: GradientStep) -> bool:
        # The next tape of that name gives its gradients the same names as well.
        following = self._next_tape(step)
        near = [self._applied(call, step.function, following) for call in step.gradients]
        if all(near):
            step.applied = list(chain.from_iterable(near))
            return bool(near)
        for call in step.gradients:
            step.applied += [call] if self._applies_too(call) else self._applied_anywhere(call, step.function)
        before = [call for call in step.applied if self._infer.place(call).order < following]
        step.applied = before or step.applied
        return bool(step.applied)

    def _applied(self, gradient: cst.Call, function: Function | None, end: float) -> list[cst.Call]:
        """The calls in the same function that apply what `gradient` gives. Those from `end` on do not count."""
        if self._applies_too(gradient):
            return [gradient]
        return self._uses_of_gradient(gradient, function, end)[0]

    def _applies_too(self, asking: cst.Call) -> bool:
        """Whether `asking` computes gradients and applies them itself."""
        return callee_name(asking) == "minimize" or asking in self._hand_tapes

    def _applied_anywhere(self, gradient: cst.Call, function: Function | None) -> list[cst.Call]:
        """The calls that apply what `gradient` gives, here or where the function's result goes, and the next one's."""
        found: list[cst.Call] = []
        seen: set[Function | None] = {None}
        waiting = [(gradient, function, _AS_IT_IS)]
        while waiting:
            call, around, keys = waiting.pop()
            uses, returned = self._uses_of_gradient(call, around, _END, keys)
            recorded = tape_around(self._infer, call) if call is not gradient else None
            if recorded is not None:
                # Another tape records it: what is made of it there is a loss, whose own gradients are applied later.
                uses = [use for use in uses if tape_around(self._infer, use) is recorded]
                returned = frozenset()
            found += uses
            if not uses and returned and around is not None and around not in seen:
                seen.add(around)
                sites = reversed(self._calls.sites(around))
                waiting += [(site, self._calls.function_at(site), returned) for site in sites]
        return found

    def _uses_of_gradient(
        self, gradient: cst.Call, function: Function | None, end: float, keys: frozenset[Keys] = _AS_IT_IS
    ) -> tuple[list[cst.Call], frozenset[Keys]]:
        """The calls in the same function before `end` that apply what `gradient` gives under `keys`, and under which keys
        it is returned, if it is."""
        held, returned = self._derived(gradient, function, end, keys)
        order = self._infer.place(gradient).order
        found = [
            call
            for call in _between(self._updates.get(function, []), order, end)
            if any(self._mentions(arg, held) for arg in call.args) or self._lies_in(gradient, call)
        ]
        found = [call for call in found if not self._is_of_later_variable(call, order)]
        for call, given in _between(self._handed_on.get(function, []), order, end):
            if self._mentions(given, held):
                found.append(call)
        by_loop = self._updates_by_loop(function, held, order, end)
        return [*found, *(call for call in by_loop if call not in found)], returned

    @cached_property
    def _updates(self) -> dict[Function | None, list[tuple[int, cst.Call]]]:
        """The calls that change variables, by the function around them."""
        found: dict[Function | None, list[tuple[int, cst.Call]]] = {}
        own = ((function, function.calls) for function in self._walk.functions.values())
        for function, calls in ((None, self._walk.module_calls), *own):
            for call in calls:
                if isinstance(call.func, cst.Attribute) and callee_name(call) in _CHANGING:
                    found.setdefault(function, []).append((self._infer.place(call).order, call))
        return _in_order(found)

    @cached_property
    def _handed_on(self) -> dict[Function | None, list[tuple[int, tuple[cst.Call, cst.BaseExpression]]]]:
        """The calls of functions that change variables by what they are given, `update(gradients, weights)`, with that
        argument, by the function around them."""
        found: dict[Function | None, list[tuple[int, tuple[cst.Call, cst.BaseExpression]]]] = {}
        for function, updates in self._updates.items():
            for parameter in function.parameters if function is not None else ():
                held = _Held(names={parameter.name.value: {()}})
                if not any(self._mentions(arg, held) for _, call in updates for arg in call.args) and not any(
                    self._updates_by_loop(function, held, 0, _END)
                ):
                    continue
                for given in self._calls.arguments(function, parameter.name.value) if function else ():
                    call = self._walk.parents.get(self._walk.parents.get(given, given))
                    if isinstance(call, cst.Call):
                        placed = self._infer.place(call).order, (call, given)
                        found.setdefault(self._calls.function_at(call), []).append(placed)
        return _in_order(found)

    @cached_property
    def _loops(self) -> dict[Function | None, list[tuple[int, Loop]]]:
        found: dict[Function | None, list[tuple[int, Loop]]] = {}
        for loop in self._walk.loops.values():
            found.setdefault(loop.function, []).append((loop.at.order, loop))
        return _in_order(found)

    def _updates_by_loop(
        self, function: Function | None, held: _Held, order: int, end: float
    ) -> Iterator[cst.Call]:
        """`for v, g in zip(variables, gradients): v.assign_sub(rate * g)` is found by the loop's own names."""
        for loop in _between(self._loops.get(function, []), order, end):
            if loop.iterable is None or () not in self._keys(loop.iterable, held):
                continue
            for call in loop.calls:
                if callee_name(call) in _UPDATES and not self._is_of_later_variable(call, order):
                    yield call

    def _is_of_later_variable(self, update: cst.Call, order: int) -> bool:
        """Whether `update` changes a variable that is made after the place `order`, where gradients are asked for: they are
        none of its own."""
        of = update.func.value if isinstance(update.func, cst.Attribute) else None
        if not isinstance(of, cst.Name) or callee_name(update) not in _UPDATES:
            return False
        bindings = self._infer.bindings(of)
        if not bindings or self._infer.value(of).kind != "variable":
            return False
        return all(b.kind == "assign" and b.at.order > order for b in bindings)

    @cached_property
    def _statements(self) -> dict[Function | None, list[tuple[int, cst.CSTNode]]]:
        """The statements that may pass a value on, by the function around them."""
        found: dict[Function | None, list[tuple[int, cst.CSTNode]]] = {}
        for statement, at in self._walk.at.items():
            if isinstance(statement, _HANDING_ON):
                found.setdefault(at.block.function, []).append((at.order, statement))
        return _in_order(found)

    def _derived(
        self, gradient: cst.Call, function: Function | None, end: float, keys: frozenset[Keys]
    ) -> tuple[_Held, frozenset[Keys]]:
        """What holds the gradient or something computed from it before `end`, and under which keys it is returned there."""
        held = _Held(gradient, keys)
        is_lambda = function is not None and isinstance(function.node, cst.Lambda)
        returned = set(keys) if is_lambda else set()
        order = self._infer.place(gradient).order
        for statement in _between(self._statements.get(function, []), order, end):
            match statement:
                case cst.Assign():
                    found = self._keys(statement.value, held)
                    for target in statement.targets if found else ():
                        held.add(target.target, found)
                case cst.AnnAssign(value=cst.BaseExpression() as value) | cst.AugAssign(value=value):
                    held.add(statement.target, self._keys(value, held))
                case cst.For():
                    # A loop over a dictionary gets its keys.
                    held.add(statement.target, self._keys(statement.iter, held) & _AS_IT_IS)
                case cst.Expr(
                    value=cst.Call(func=cst.Attribute(value=holder, attr=cst.Name("append"))) as append
                ) if self._keys(append, held):
                    held.add(holder, {()})
                case cst.Return(value=cst.BaseExpression() as value):
                    returned |= self._keys(value, held)
        return held, frozenset(returned)

    def _keys(self, node: cst.BaseExpression, held: _Held) -> set[Keys]:
        """The keys under which `node` holds the gradient or something computed from it; none where it does not."""
        match node:
            case cst.Call() if node is not held.given and callee_name(node) in _GRADIENTS:
                return set()  # a gradient of something computed from ours is another tape's
            case cst.Tuple():
                return set().union(*(self._keys(part.value, held) for part in node.elements))
            case cst.Dict() if (entries := constant_entries(node)) is not None:
                return {(key, *behind) for key, value in entries for behind in self._keys(value, held)}
        found: set[Keys] = set()
        for whole, behind in self._parts(node, held):
            found.add(behind if whole is node else ())
        return found

    def _mentions(self, node: cst.CSTNode, held: _Held) -> bool:
        return any(True for _ in self._parts(node, held))

    def _parts(self, node: cst.CSTNode, held: _Held) -> Iterator[tuple[cst.CSTNode, Keys]]:
        """The expressions below `node` that read what is held, a container with it or a part of it, with the keys that
        lead on to it from there."""
        for below in descendants(node):
            for keys in held.of(below):
                whole, left = self._read(below, node, keys)
                if left is not None:
                    yield whole, left

    def _read(self, holder: cst.CSTNode, end: cst.CSTNode, keys: Keys) -> tuple[cst.CSTNode, Keys | None]:
        """What a mention reads of a container, not above `end`: `grads["q"]`, and the keys that are left to what it holds
        under `keys`; None for those where it reads something else."""
        whole = holder
        while whole is not end:
            around = self._walk.parents.get(whole)
            if not isinstance(around, cst.Subscript) or around.value is not whole:
                break
            read = key_of(around)
            if keys and read is not None and read != keys[0]:
                return around, None
            whole, keys = around, keys[1:]
        return whole, keys

    def _lies_in(self, inner: cst.CSTNode, outer: cst.CSTNode) -> bool:
        current: cst.CSTNode | None = inner
        while current is not None:
            if current is outer:
                return True
            if current in self._walk.at:
                return False
            current = self._walk.parents.get(current)
        return False


def _in_order(found: dict[K, list[tuple[int, T]]]) -> dict[K, list[tuple[int, T]]]:
    for placed in found.values():
        placed.sort(key=itemgetter(0))
    return found


def _between(placed: list[tuple[int, T]], start: float, end: float) -> list[T]:
    """What stands from the place `start` on and before `end`."""
    first = bisect_left(placed, start, key=itemgetter(0))
    last = bisect_left(placed, end, first, key=itemgetter(0))
    return [thing for _, thing in placed[first:last]]
