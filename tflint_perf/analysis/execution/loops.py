"""What kind of loop a loop is, and what runs per step."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Literal

import libcst as cst

from tflint_perf.analysis.execution.actions import Actions
from tflint_perf.analysis.execution.batches import Batches
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.epochs import Epochs
from tflint_perf.analysis.execution.given_models import GivenModels
from tflint_perf.analysis.execution.short_loops import is_part_of_one_iteration, shows_a_few
from tflint_perf.analysis.execution.size_of_calls import is_of_environment, remembers_step
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import (
    COMPREHENSIONS,
    argument,
    callee_name,
    is_name,
    unwrapped,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.outside import RUN_OVER
from tflint_perf.analysis.values.values import ROWS, Value

LoopKind = Literal["step", "epoch", "none"]
# Keras's own loops over what makes batches; they train.
FITS = ("fit", "fit_generator")
_AROUND_CODE = frozenset(
    [cst.FunctionDef, cst.Lambda, cst.ClassDef, cst.For, cst.While, cst.CompFor, *COMPREHENSIONS]
)

_PER_BATCH_CALLBACKS = frozenset(
    [
        "on_batch_begin",
        "on_batch_end",
        "on_train_batch_begin",
        "on_train_batch_end",
        "on_test_batch_begin",
        "on_test_batch_end",
        "on_predict_batch_begin",
        "on_predict_batch_end",
    ]
)


class Loops:
    """Answers the kind of a loop and whether a place runs per step."""

    def __init__(
        self, infer: Inference, calls: CallGraph, compiled: Compiled, given_models: GivenModels
    ) -> None:
        self._infer = infer
        self._calls = calls
        self.batches = Batches(infer, calls, self)
        self.actions = Actions(infer, calls, compiled, given_models, self)
        self._epochs = Epochs(infer, calls, compiled, self.actions, self)
        self._walk = infer.walk
        self._kinds: dict[Loop, LoopKind] = {}
        self._per_step: dict[Function, bool] = {}
        self._repeated: dict[Function, bool] = {}
        self._per_batch: dict[Function, bool] = {}
        self._own_judges: dict[Function, bool] = {}
        self._innermost: dict[cst.CSTNode, Loop | None] = {}

    # Kinds

    def kind(self, loop: Loop) -> LoopKind:
        """ "step", "epoch", or "none" for a loop that trains nothing."""
        known = self._kinds.get(loop)
        if known is None:
            self._kinds[loop] = "none"
            known = self._kinds[loop] = self._judge(loop)
        return known

    def _judge(self, loop: Loop) -> LoopKind:
        if is_part_of_one_iteration(self._infer, loop) or self._asks_person(loop):
            return "none"
        calls: list[cst.Call] = []
        # A step of an environment is a step, also where it ends in a loop over a few remembered ones.
        if any(map(_is_step_of_environment, loop.calls)) and not any(map(self._plays, loop.inner)):
            return "step"
        if self._epochs.is_epoch(loop, calls):
            return "epoch"
        if loop.iterable is not None and self.takes_batches(loop.iterable):
            return "step"
        if any(map(self.actions.acts, calls)) and not shows_a_few(self._calls, loop, calls):
            return "step"
        if loop.yields and loop.function is not None and self._is_driven(loop.function):
            return "step"
        return "none"

    def _asks_person(self, loop: Loop) -> bool:
        """Whether each iteration waits for a person: `input("Next?")`, but not where a flag has it wait: `if debug:`."""
        for call in loop.calls:
            if is_name(call.func, "input"):
                tests = conditions(self._walk, call, loop.node, exits=False)
                if not any(isinstance(test, cst.Name | cst.Attribute) for test in tests):
                    return True
        return False

    def _plays(self, loop: Loop) -> bool:
        """Whether a loop decides on what it does in an environment: what stands beside it there is a first step."""
        steps = [call for call in loop.calls if _is_step_of_environment(call)]
        return bool(steps) and any(self.actions.acts(call) for call in loop.calls if call not in steps)

    # Functions

    def has_step_loop(self, function: Function) -> bool:
        """Whether calling a function runs a step loop."""
        return self._epochs.has_step_loop(function)

    def looks_on(self, loop: Loop) -> bool:
        """Whether a loop does no more than look at what was learnt, in a step of the loop around it: at one picture for
        each class."""
        outer = self.training_loop(loop.node)
        return outer is not None and self.kind(outer) == "step" and self._epochs.only_counts_inferences(loop)

    def takes_batches(self, iterable: cst.BaseExpression) -> bool:
        """Whether iterating over it takes batches or samples from a dataset."""
        return runs_over_batches(self._infer.value(iterable))

    # Per step

    def innermost_loop(self, node: cst.CSTNode) -> Loop | None:
        """The innermost loop of the same function whose iterations run `node`."""
        if node not in self._innermost:
            self._innermost[node] = self._loop_around(node)
        return self._innermost[node]

    def _loop_around(self, node: cst.CSTNode) -> Loop | None:
        parents, loops = self._walk.parents, self._walk.loops
        child, current = node, parents.get(node)
        while current is not None:
            if current.__class__ not in _AROUND_CODE:
                child, current = current, parents.get(current)
                continue
            match current:
                case cst.FunctionDef() | cst.Lambda() | cst.ClassDef():
                    if child is current.body or isinstance(current, cst.ClassDef):
                        return None
                case cst.For() if child is current.body:
                    return loops[current]
                case cst.While() if child is not current.orelse:
                    return loops[current]
                case cst.CompFor() if child is not current.iter:
                    return loops[current]
            if isinstance(current, COMPREHENSIONS) and not isinstance(child, cst.CompFor):
                part = current.for_in
                while part.inner_for_in is not None:
                    part = part.inner_for_in
                return loops[part]
            child, current = current, parents.get(current)
        return None

    def training_loop(self, node: cst.CSTNode) -> Loop | None:
        """The innermost loop of steps or epochs of the same function that runs `node`."""
        loop = self.innermost_loop(node)
        while loop is not None and self.kind(loop) == "none":
            loop = loop.parent
        return loop

    def step_loop(self, node: cst.CSTNode) -> Loop | None:
        """The step loop of the same function that runs `node`, where there is one."""
        loop = self.training_loop(node)
        return loop if loop is not None and self.kind(loop) == "step" else None

    def is_per_step(self, node: cst.CSTNode) -> bool:
        """Whether `node` runs per step: in a step loop, or in a function that one calls."""
        loop = self.training_loop(node)
        if loop is not None:
            return self.kind(loop) == "step"
        function = self._calls.function_at(node)
        if function is None or (function.yields and self.innermost_loop(node) is None):
            return False  # where a generator begins, it runs once
        return self.is_function_per_step(function)

    def is_function_per_step(self, function: Function) -> bool:
        """Whether a step loop runs the function, through any number of calls."""
        known = self._per_step.get(function)
        if known is None:
            self._per_step[function] = False
            known = self._per_step[function] = (
                self._is_batch_callback(function)
                or any(self.is_per_step(call) for call in self._calls.sites(function) if not function.yields)
                or any(caller.per_step for caller in self._calls.callers_outside(function))
                or ((bool(function.yields) or function.name in RUN_OVER) and self._is_driven(function))
            )
        return known

    def _is_batch_callback(self, function: Function) -> bool:
        owner = function.owner
        return (
            owner is not None
            and function.name in _PER_BATCH_CALLBACKS
            and self._infer.classes.keras_kind(owner) == "callback"
        )

    def _is_driven(self, function: Function) -> bool:
        """Whether a generator is driven per step, by `next()` in a step loop or by a step loop over it."""
        return (
            any(map(self.is_per_step, self.nexts.get(function, ())))
            or any(
                loop.function is not function and self.kind(loop) == "step"
                for loop in self.over_generators.get(function, ())
            )
            or function in self.fits
            or any(caller.per_step for caller in self._calls.callers_outside(function))
        )

    @cached_property
    def fits(self) -> dict[Function, list[cst.Call]]:
        """The calls of `fit`, by the generators, and the methods of sequences, that it takes batches from."""
        found: dict[Function, list[cst.Call]] = {}
        for call in [call for name in FITS for call in self._walk.calls.get(name, ())]:
            given = fitted(call)
            for function in self._run_over(given) if given is not None else ():
                if function.yields or function.name in RUN_OVER:
                    found.setdefault(function, []).append(call)
        return found

    @cached_property
    def nexts(self) -> dict[Function, list[cst.Call]]:
        """The calls of `next()`, by the generators that they take something from."""
        found: dict[Function, list[cst.Call]] = {}
        for call in self._walk.calls.get("next", ()):
            function = self._infer.value(call.args[0].value).function if call.args else None
            if function is not None:
                found.setdefault(function, []).append(call)
        return found

    @cached_property
    def over_generators(self) -> dict[Function, list[Loop]]:
        """The loops over what generators yield, or objects give by methods of theirs, by these functions."""
        found: dict[Function, list[Loop]] = {}
        for loop in self._walk.loops.values():
            for function in self._run_over(loop.iterable) if loop.iterable is not None else ():
                found.setdefault(function, []).append(loop)
        return found

    def _run_over(self, iterable: cst.BaseExpression) -> Iterator[Function]:
        value = self._infer.value(iterable)
        if value.function is not None:
            yield value.function
            return
        value = self._infer.value(unwrapped(iterable))
        if value.kind == "instance" and value.klass is not None:
            methods = value.klass.methods
            yield from (methods[name] for name in RUN_OVER if name in methods)
            made = self._infer.returned(methods["__iter__"]) if "__iter__" in methods else value
            if made.kind == "instance" and made.klass not in (None, value.klass):
                yield from (function for name, function in made.klass.methods.items() if name == "__next__")

    def drivers(self, function: Function) -> Iterator[cst.CSTNode]:
        """Where something takes the next of what a generator yields, or an object gives to a loop over it."""
        yield from self.nexts.get(function, ())
        for loop in self.over_generators.get(function, ()):
            yield from loop.calls[:1]

    def is_repeated(self, node: cst.CSTNode) -> bool:
        """Whether a loop of steps or epochs runs `node`, here or through calls: once an episode, for instance."""
        if self.training_loop(node) is not None:
            return True
        function = self._calls.function_at(node)
        return function is not None and leads_to(function, self._repeated, self._repeats)

    def _repeats(self, function: Function) -> bool | list[Function]:
        """Whether a loop of steps or epochs calls the function, or else the functions that call it."""
        sites = self._calls.sites(function)
        if any(self.training_loop(call) is not None for call in sites):
            return True
        return [caller for call in sites if (caller := self._calls.function_at(call)) is not None]

    def is_function_per_batch(self, function: Function) -> bool:
        """Whether a function runs per step, or once for each batch of a loop around, which it may train on several times."""
        return self.is_function_per_step(function) or leads_to(function, self._per_batch, self._gets_batches)

    def _gets_batches(self, function: Function) -> bool | list[Function]:
        """Whether a loop over batches calls the function, or else the functions that call it."""
        sites = self._calls.sites(function)
        for call in sites:
            loop = self.innermost_loop(call)
            while loop is not None:
                if loop.iterable is not None and self.takes_batches(loop.iterable):
                    return True
                loop = loop.parent
        return [caller for call in sites if (caller := self._calls.function_at(call)) is not None]

    def may_be_per_step(self, node: cst.CSTNode) -> bool:
        """Whether `node` runs per step, or in a function that nobody here calls and that is judged by itself."""
        loop = self.training_loop(node)
        if loop is not None:
            return self.kind(loop) == "step"
        function = self._calls.function_at(node)
        return function is not None and leads_to(function, self._own_judges, self._is_own_judge)

    def _is_own_judge(self, function: Function) -> bool | list[Function]:
        """Whether that is true of a function, or else of which of its callers it has to be."""
        sites = self._calls.sites(function)
        callers = self._calls.callers_outside(function)
        if any(caller.per_step or caller.may_be_per_step for caller in callers):
            return True
        if not sites and not callers:
            return function.name != "main"
        left: list[Function] = []
        for call in sites:
            caller = self._calls.function_at(call)
            if self.innermost_loop(call) is not None:
                if self.is_per_step(call):
                    return True
            elif caller is not None:
                if self.is_function_per_step(caller):
                    return True
                left.append(caller)
        return left


def runs_over_batches(value: Value) -> bool:
    """Whether iterating over `value` takes batches or samples from a dataset."""
    if value.kind in ("dataset", "iterator"):
        # A bare counter or a list of file names is no training data.
        names = {pipeline[0].name for pipeline in value.pipelines if len(pipeline) == 1}
        return not names & {"range", "list_files"}
    if value.kind == "generator" and value.name != ROWS and value.element is not None:
        items = value.element.items or (value.element,)
        return any(item.kind == "tensor" and item.host for item in _flatten(items))
    return False


def _flatten(items: tuple[Value, ...]) -> Iterator[Value]:
    for item in items:
        if item.items is not None:
            yield from _flatten(item.items)
        else:
            yield item


def _is_step_of_environment(call: cst.Call) -> bool:
    return (is_of_environment(call) and callee_name(call) == "step") or remembers_step(call)


def fitted(call: cst.Call) -> cst.BaseExpression | None:
    """What a call of `fit` trains on."""
    return argument(call, 0, "x") or argument(call, 0, "generator")
