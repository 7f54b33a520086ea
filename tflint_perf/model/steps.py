"""Gradient steps: a tape, the gradient asked of it, and what applies it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from tflint_perf.model.calls import CallGraph
from tflint_perf.model.infer import Inference
from tflint_perf.model.scopes import Function
from tflint_perf.model.syntax import callee_name, mentions, target_names

_UPDATES = frozenset(
    {"assign_sub", "assign_add", "assign", "scatter_nd_sub", "scatter_sub", "scatter_update"}
)
_APPLIES = frozenset({"apply_gradients", "apply", "_apply_gradients", "minimize"})
_GRADIENTS = frozenset({"gradient", "jacobian", "batch_jacobian"})


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


class GradientSteps:
    """Finds the gradient steps of a file."""

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._calls = calls
        self._walk = infer.walk
        self._steps: list[GradientStep] | None = None

    def all(self) -> list[GradientStep]:
        """Every gradient step, in the order of the text."""
        if self._steps is None:
            self._steps = [step for step in self._tapes() if self._find_applied(step)]
        return self._steps

    def tapes(self) -> list[GradientStep]:
        """Every tape with the gradients asked of it, whether or not they are applied."""
        return list(self._tapes())

    def _tapes(self) -> Iterator[GradientStep]:
        for node in self._walk.withs:
            for item in node.items:
                if (
                    isinstance(item.item, cst.Call)
                    and self._infer.names.qualified(item.item.func) == "tf.GradientTape"
                ):
                    bound = item.asname.name if item.asname is not None else None
                    if isinstance(bound, cst.Name):
                        yield self._with_gradients(
                            GradientStep(node, bound.value, self._calls.function_at(node))
                        )

    def _with_gradients(self, step: GradientStep) -> GradientStep:
        order = self._walk.at[step.tape].order
        following = self._next_tape(step, order)
        for name in (*_GRADIENTS, "minimize"):
            for call in self._walk.calls.get(name, ()):
                at = self._infer.place(call)
                if order <= at.order < following and self._calls.function_at(call) is step.function:
                    given = call.func.value if isinstance(call.func, cst.Attribute) else None
                    if name == "minimize":
                        given = next(
                            (arg.value for arg in call.args if arg.keyword and arg.keyword.value == "tape"),
                            None,
                        )
                    if isinstance(given, cst.Name) and given.value == step.name:
                        step.gradients.append(call)
        return step

    def _next_tape(self, step: GradientStep, order: int) -> float:
        """Where the tape's name is given to another tape of the same function."""
        later = [
            self._walk.at[node].order
            for node in self._walk.withs
            if self._walk.at[node].order > order
            and self._calls.function_at(node) is step.function
            and any(
                item.asname is not None and getattr(item.asname.name, "value", "") == step.name
                for item in node.items
            )
        ]
        return min(later, default=float("inf"))

    def _find_applied(self, step: GradientStep) -> bool:
        for call in step.gradients:
            if callee_name(call) == "minimize":
                step.applied.append(call)
            else:
                step.applied += self._uses_of_gradient(call, step.function, set())
        following = self._next_tape(step, self._walk.at[step.tape].order)
        # The next tape of that name gives its gradients the same names as well.
        before = [call for call in step.applied if self._infer.place(call).order < following]
        step.applied = before or step.applied
        return bool(step.applied)

    def _uses_of_gradient(
        self, gradient: cst.Call, function: Function | None, seen: set[Function]
    ) -> list[cst.Call]:
        """The calls that apply what `gradient` gives: here, or where the function's result goes."""
        names, returned = self._derived(gradient, function)
        order = self._infer.place(gradient).order
        found = [
            call
            for call in self._updates(function)
            if self._infer.place(call).order >= order
            and (any(mentions(arg, names) for arg in call.args) or self._lies_in(gradient, call))
        ]
        found += [call for call in self._updates_by_loop(function, names, order) if call not in found]
        if not found and returned and function is not None and function not in seen:
            seen.add(function)
            for site in self._calls.sites(function):
                found += self._uses_of_gradient(site, self._calls.function_at(site), seen)
        return found

    def _updates(self, function: Function | None) -> Iterator[cst.Call]:
        calls = function.calls if function is not None else self._walk.module_calls
        for call in calls:
            name = callee_name(call)
            if isinstance(call.func, cst.Attribute) and (name in _APPLIES or name in _UPDATES):
                yield call

    def _updates_by_loop(self, function: Function | None, names: set[str], order: int) -> Iterator[cst.Call]:
        """`for v, g in zip(variables, gradients): v.assign_sub(rate * g)` is found by the loop's own names."""
        loops = (
            function.loops
            if function is not None
            else [x for x in self._walk.loops.values() if x.function is None]
        )
        for loop in loops:
            if loop.iterable is None or loop.at.order < order or not mentions(loop.iterable, names):
                continue
            for call in loop.calls:
                if callee_name(call) in _UPDATES:
                    yield call

    def _derived(self, gradient: cst.CSTNode, function: Function | None) -> tuple[set[str], bool]:
        """Names that hold the gradient or something computed from it, and whether the function returns it."""
        names: set[str] = set()
        returned = isinstance(function.node, cst.Lambda) if function is not None else False
        order = self._infer.place(gradient).order
        for statement, at in self._walk.at.items():
            if at.order < order or at.block.function is not function:
                continue
            match statement:
                case cst.Assign() if self._holds(statement.value, names, gradient):
                    for target in statement.targets:
                        names |= {name.value for name in target_names(target.target)}
                case cst.AnnAssign() if statement.value is not None and self._holds(
                    statement.value, names, gradient
                ):
                    names |= {name.value for name in target_names(statement.target)}
                case cst.AugAssign() if self._holds(statement.value, names, gradient):
                    names |= {name.value for name in target_names(statement.target)}
                case cst.For() if self._holds(statement.iter, names, gradient):
                    names |= {name.value for name in target_names(statement.target)}
                case cst.Expr(
                    value=cst.Call(func=cst.Attribute(value=cst.Name() as holder, attr=cst.Name("append")))
                ):
                    if self._holds(statement.value, names, gradient):
                        names.add(holder.value)
                case cst.Return() if statement.value is not None and self._holds(
                    statement.value, names, gradient
                ):
                    returned = True
        return names, returned

    def _holds(self, node: cst.CSTNode, names: set[str], gradient: cst.CSTNode) -> bool:
        if isinstance(node, cst.Call) and node is not gradient and callee_name(node) in _GRADIENTS:
            return False  # a gradient of something computed from ours is another tape's
        return (bool(names) and mentions(node, names)) or self._lies_in(gradient, node)

    def _lies_in(self, inner: cst.CSTNode, outer: cst.CSTNode) -> bool:
        current: cst.CSTNode | None = inner
        while current is not None:
            if current is outer:
                return True
            if current in self._walk.at:
                return False
            current = self._walk.parents.get(current)
        return False


def is_under_tape(infer: Inference, node: cst.CSTNode) -> bool:
    """Whether a gradient tape of the same function records what `node` does."""
    current: cst.CSTNode | None = node
    while current is not None and not isinstance(current, cst.FunctionDef):
        if isinstance(current, cst.With) and any(
            infer.value(item.item).kind == "tape" for item in current.items
        ):
            return True
        current = infer.walk.parents.get(current)
    return False
