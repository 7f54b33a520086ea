"""Objects that hold what a model learns or measures: where they are made, and whether they hold anything."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import methods
from tflint_perf.analysis.execution.eager_steps import EagerSteps
from tflint_perf.analysis.execution.functional_models import FunctionalModels
from tflint_perf.analysis.execution.invariance import Invariance
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.symbolic import Symbolic
from tflint_perf.analysis.execution.tapes import GRADIENTS
from tflint_perf.analysis.execution.trains import METHODS, trains_by
from tflint_perf.analysis.python.conditions import conditions, is_done_either_way
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.reach import remembered_in_circles
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    last_name,
    mentions,
    target_names,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.classes import CONSTRUCTORS
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.made_kinds import Kind, MadeKinds
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass

Time = Literal["step", "epoch", "traced"]

_PER_EPOCH = frozenset({"variable", "layer", "optimizer"})
_TRAINED = frozenset({"trainable_variables", "trainable_weights", "variables", "weights"})


@dataclass(frozen=True, slots=True)
class Made:
    """An object that is made again and again: by which call, when, and whether it holds state, or makes variables."""

    call: cst.Call
    kind: Kind
    name: str
    time: Time
    stateless: bool
    makes_variables: bool


class Making(Part):
    """Finds objects that are made on each step or epoch."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _invariance: Invariance
    _symbolic: Symbolic
    _functional_models: FunctionalModels
    _eager_steps: EagerSteps

    def __post_init__(self) -> None:
        self._kinds = MadeKinds(self._infer)

    def made_again(self) -> Iterator[Made]:
        """Every object that is made per step, in compiled code that runs per step, or per epoch."""
        for calls in list(self._walk.calls.values()):
            for call in calls:
                kind = self._kinds.kind(call)
                if kind is None or kind == "loss":  # which is made in microseconds
                    continue
                stateless = self._kinds.is_stateless(call, kind)
                places = self._uses_of_factory(call, kind) if self._is_part(call) else [call]
                times = [self._time(place, kind, stateless) for place in places]
                time = times[0] if times and None not in times else None
                has_variables = kind != "layer" or self._kinds.has_weights(call)
                # A layer without weights is made once a trace in compiled code, and costs nothing there.
                if time is not None and (has_variables or time != "traced"):
                    yield Made(call, kind, last_name(call.func), time, stateless, has_variables)

    def _is_part(self, call: cst.Call) -> bool:
        """Whether `call` makes a part of a model or of another object, or an argument of `compile`."""
        function = self._calls.function_at(call)
        if function is not None and (
            function.name in CONSTRUCTORS or self._loops.training_loop(call) is None
        ):
            if self._builds(function) or self._is_returned(call, function):
                return True
        statement: cst.CSTNode = call
        while statement not in self._walk.at:
            statement = self._walk.parents[statement]
            if isinstance(statement, cst.Call) and self._takes_parts(statement):
                return True
        names = {part.target.value for part in descendants(statement)
                 if isinstance(part, cst.AssignTarget) and isinstance(part.target, cst.Name)}  # fmt: skip
        return not names.isdisjoint(self._compiled_with)

    @cached_property
    def _compiled_with(self) -> frozenset[str]:
        """The names that are handed to `compile`."""
        return frozenset(
            part.value
            for compiling in self._walk.calls.get("compile", ())
            for arg in compiling.args
            for part in descendants(arg.value)
            if isinstance(part, cst.Name)
        )

    def _is_returned(self, call: cst.Call, function: Function) -> bool:
        """Whether `function` makes what `call` gives for its callers, who may keep it."""
        if call is function.node.body:
            return True
        parent = self._walk.parents.get(call)
        if isinstance(parent, cst.Assign):
            names = {name.value for target in parent.targets for name in target_names(target.target)}
            return any(isinstance(r.value, cst.Name) and r.value.value in names for r in function.returns)
        return isinstance(parent, cst.Return)

    def _uses_of_factory(self, made: cst.Call, kind: Kind) -> list[cst.Call]:
        """The calls of the function around `made`, if it only makes a new optimizer for its callers and none of them
        keeps it."""
        function = self._calls.function_at(made)
        if kind != "optimizer" or not isinstance(self._walk.parents.get(made), cst.Return):
            return []
        if function is None or function.name in CONSTRUCTORS or self._builds(function):
            return []
        sites = self._calls.sites(function)
        return sites if not any(map(self._is_part, sites)) else []

    def _takes_parts(self, call: cst.Call) -> bool:
        return callee_name(call) == "compile" or self._infer.value(call).kind in (
            "model",
            "layer",
            "optimizer",
        )

    @remembered_in_circles(False)
    def _builds(self, function: Function) -> bool:
        """Whether `function` makes a model or an object, or only such functions call it: what it makes are parts of
        that."""
        sites = self._calls.sites(function)
        return (
            function.name in CONSTRUCTORS
            or self._functional_models.makes_model(function.calls)
            # What Keras calls runs in training, too, also where a method makes a model of it for a summary.
            or (
                bool(sites)
                and not self._is_called_by_keras(function)
                and all(map(self._is_in_builder, sites))
            )
        )

    def _is_in_builder(self, site: cst.Call) -> bool:
        function = self._calls.function_at(site)
        return function is not None and self._loops.training_loop(site) is None and self._builds(function)

    # When

    def _time(self, call: cst.Call, kind: Kind, stateless: bool) -> Time | None:
        function = self._calls.function_at(call)
        run_by_keras = self._call_served_by(function)
        if run_by_keras is not None or self._is_compiled(function):
            run = run_by_keras or function
            if kind == "layer" and stateless and self._is_called_eagerly(run):
                return "step"
            if run is not None and self._eager_steps.train(run):
                return "step" if self._loops.is_function_per_step(run) else None
            return None if self._is_only_tried(run) else "traced"
        if function is not None and not self._symbolic.is_eager(function):
            return None
        loop = self._loops.training_loop(call)
        if loop is not None and (
            self._makes_model(self._loops.innermost_loop(call), loop)
            or (kind == "layer" and self._is_trained_inside(call, loop))
            or self._makes_what_it_trains(loop)
            or self._infer.integers.are_folds(loop.iterable)
        ):
            return None
        if self._loops.is_per_step(call):
            return "step" if self._eager_steps.run(call) else None
        if kind in _PER_EPOCH and loop is not None and self._is_epoch_loop(loop, call, kind):
            return "epoch"
        return None

    def _makes_model(self, loop: Loop | None, last: Loop) -> bool:
        """Whether `loop`, or one around it as far as `last`, makes a model in each iteration, to which belongs what it makes besides."""
        around = loops_around(loop)
        return any(
            self._functional_models.makes_model(each.calls) for each in around[: around.index(last) + 1]
        )

    def _is_trained_inside(self, call: cst.Call, loop: Loop) -> bool:
        """Whether a loop in `loop` trains a layer that is made in that: each is a trial's own."""
        statement = self._walk.parents.get(call)
        if not isinstance(statement, cst.Assign):
            return False
        names = {name.value for target in statement.targets for name in target_names(target.target)}
        return any(
            isinstance(node, cst.Attribute)
            and node.attr.value in _TRAINED
            and isinstance(node.value, cst.Name)
            and node.value.value in names
            for inner in loop.inner
            for node in descendants(inner.node)
        )

    def _makes_what_it_trains(self, loop: Loop) -> bool:
        """Whether each iteration of `loop` makes the variables that it trains: it is a trial, and all that it makes its own."""
        comprehensions = (inner for inner in loop.inner if isinstance(inner.node, cst.CompFor))
        calls = [*loop.calls, *(call for inner in comprehensions for call in inner.calls)]
        names = {
            name.value
            for call in calls
            if self._kinds.kind(call) == "variable"
            for target in getattr(self._walk.statement_of(call), "targets", ())
            for name in target_names(target.target)
        }
        return bool(names) and any(
            isinstance(part, cst.Call)
            and (callee_name(part) in GRADIENTS or METHODS.get(callee_name(part)) is not None)
            and mentions(part, names)
            for part in descendants(loop.node)
        )

    @property
    def _trains(self) -> bool:
        named = self._walk.calls_named(*METHODS)
        return any(trains_by(self._infer, call) for call in named)

    def _is_compiled(self, function: Function | None) -> bool:
        """Whether `function` is compiled and runs more than once: reached per step, or Keras's to call."""
        if function is None:
            return False
        if self._is_called_by_keras(function):
            return self._symbolic.is_traced(function)
        return self._symbolic.is_traced(function) and self._loops.is_function_per_step(function)

    def _is_called_by_keras(self, function: Function) -> bool:
        owner = function.owner
        kind = self._infer.classes.keras_kind(owner) if owner is not None else ""
        return function.name in methods(kind, "compiled")

    @remembered_in_circles(None)
    def _call_served_by(self, function: Function | None) -> Function | None:
        """The `call` of a Keras class that `function` is, or that alone runs it, itself or through others."""
        if function is None:
            return None
        if self._is_called_by_keras(function):
            return function if function.name == "call" else None
        sites = self._calls.sites(function)
        if not sites or self._calls.callers_outside(function):
            return None
        if any(
            not is_done_either_way(self._walk, condition, site)
            for site in sites
            for condition in conditions(self._walk, site)
        ):
            return None  # `if not self.built: self.make(x)`
        served = [self._call_served_by(self._calls.function_at(site)) for site in sites]
        return served[0] if None not in served else None

    def _is_only_tried(self, function: Function | None) -> bool:
        """Whether `function`, a `call`, is only run by a script that does so once, and trains nothing."""
        sites = self._calls.sites(function) if function is not None and function.name == "call" else []
        if not sites or self._trains or any(map(self._loops.is_per_step, sites)):
            return False
        return not any(
            self._calls.function_at(s) or any(conditions(self._walk, s, exits=False)) for s in sites
        )

    def _is_called_eagerly(self, function: Function | None) -> bool:
        """Whether eager code runs `function`, a `call` that Keras would trace, on each step."""
        return function is not None and any(
            (caller := self._calls.function_at(site)) is not None
            and self._symbolic.is_eager(caller)
            and self._loops.is_per_step(site)
            for site in self._calls.sites(function)
        )

    def _kinds_inside(self, loop: Loop) -> set[str]:
        """The kinds of the loops in a loop, or in the functions that it calls."""
        inside = [*loop.inner]
        for call in loop.calls:
            inside += [inner for target in self._calls.targets(call) for inner in target.loops]
        return {self._loops.kind(inner) for inner in inside}

    def _is_epoch_loop(self, loop: Loop, call: cst.Call, kind: Kind) -> bool:
        """Whether `loop` runs epochs of one training, which make the same object each time."""
        if self._loops.kind(loop) != "epoch" or self._kinds_inside(loop) - {"none"} != {"step"}:
            return False
        if kind == "variable" and holds_state(self._calls, self._walk.parents.get(call), loop):
            return True  # which takes another value by `assign`
        return self._invariance.change(call, loop) is None and not self._invariance.asks_the_host(call)


# Variables that hold a program's state, rather than what it trains: they are written to by `assign`.


_ASKS_OR_STEPS = GRADIENTS | {"watch", "assign_sub", "assign_add"}


def holds_state(calls: CallGraph, statement: cst.CSTNode | None, loop: Loop) -> bool:
    """Whether `loop` assigns to the variable that `statement` makes, here or in a function that it passes that to, and
    nothing trains it."""
    if not isinstance(statement, cst.Assign):
        return False
    names = {
        name.value
        for target in statement.targets
        if isinstance(target.target, cst.Name)
        for name in target_names(target.target)
    }
    inside = [part for part in descendants(loop.node) if isinstance(part, cst.Call)]
    trained = (
        call for call in inside if callee_name(call) in _ASKS_OR_STEPS or METHODS.get(callee_name(call))
    )
    if any(mentions(call, names) for call in trained):
        return False
    return any(
        _assigns(call, names)
        or any(
            _assigns(inner, {parameter})
            for function in calls.targets(call)
            for parameter in _parameters_given(calls, call, names)
            for inner in function.calls
        )
        for call in inside
    )


def _assigns(call: cst.Call, names: set[str]) -> bool:
    """Whether `call` assigns to a variable of one of these names: `state.assign(x)`, `state[0].assign(x)`."""
    if callee_name(call) != "assign" or not isinstance(call.func, cst.Attribute):
        return False
    written = call.func.value
    while isinstance(written, cst.Subscript):
        written = written.value
    return isinstance(written, cst.Name) and written.value in names


def _parameters_given(calls: CallGraph, call: cst.Call, names: set[str]) -> Iterator[str]:
    """The parameters of what a call runs that get one of some names."""
    for function in calls.targets(call):
        for at, name in enumerate(function.places):
            given = argument(call, at, name)
            if isinstance(given, cst.Name) and given.value in names:
                yield name
