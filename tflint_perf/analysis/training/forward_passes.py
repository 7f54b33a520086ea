"""Forward passes outside training: models and layers called one step at a time, with nothing to learn from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library
from tflint_perf.analysis.execution.once import extent
from tflint_perf.analysis.execution.op_loops import is_read
from tflint_perf.analysis.execution.short_loops import runs_over_files
from tflint_perf.analysis.execution.tapes import is_under_tape
from tflint_perf.analysis.execution.timed_calls import is_only_timed
from tflint_perf.analysis.execution.trains import trains_by
from tflint_perf.analysis.python.flow import loops_around, runs_beside
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    has_stars,
    last_name,
    mentions,
    names_read,
    names_written,
    target_names,
)
from tflint_perf.analysis.training.sequences import made_of
from tflint_perf.analysis.values.iterables import counts_to, source
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.values import Pipeline, Value
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.analysis.execution.loops import Loops
    from tflint_perf.analysis.model import Model

_MADE_UP = frozenset({"zeros", "ones", "random", "normal", "uniform", "rand", "randn", "Input"})
_FEW = 10


@dataclass(frozen=True, slots=True)
class ForwardPass:
    """A model or layer that one function, or one loop of it, calls per step, and the layers that get what it gives."""

    function: Function | None
    loop: Loop | None
    calls: list[cst.Call]


class ForwardPasses:
    """Finds eager forward passes that run per step and belong to no gradient step."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._walk = model.walk
        self._called_seldom: dict[Function, bool] = {}
        self._compiled_models = CompiledModels(model)
        self.of_steps = PartsOfSteps(model, self.is_seldom)

    def all(self) -> Iterator[ForwardPass]:
        """The passes, in the order of the text."""
        if self._model.programs.is_graph_code():
            return
        found: dict[tuple[Function | None, Loop | None], list[cst.Call]] = {}
        for call in self._calls():
            place = (self._model.function_at(call), self._model.loops.innermost_loop(call))
            found.setdefault(place, []).append(call)
        for (function, loop), calls in found.items():
            for one_pass in self._passes(calls):
                if not self._is_in_single_pass(one := ForwardPass(function, loop, one_pass)):
                    yield one

    def _is_in_single_pass(self, found: ForwardPass) -> bool:
        """Whether the pass runs over data once, or makes a text once, so that each of its lengths would be traced."""
        return self._model.single_passes.hold(found.calls[0], counted=self.grows(found))

    def _passes(self, calls: list[cst.Call]) -> list[list[cst.Call]]:
        """The calls of one place, together those of one statement, or of which one, a layer's, takes what the other
        gives: several models that are asked one after the other are several passes."""
        place = self._model.infer.place
        calls.sort(key=lambda call: place(call).order)
        passes: list[list[cst.Call]] = []
        for call in calls:
            is_layer = passes and self._model.value(call.func).kind == "layer"
            taken = self._taken_by(call) if is_layer else set()
            for before in passes:
                if place(before[-1]) is place(call) or not taken.isdisjoint(before):
                    before.append(call)
                    break
            else:
                passes.append([call])
        return passes

    def _taken_by(self, call: cst.Call) -> set[cst.CSTNode]:
        """All that is computed on the way to the arguments of `call`, by its function."""
        found: set[cst.CSTNode] = set()
        waiting: list[cst.BaseExpression] = [arg.value for arg in call.args]
        while waiting:
            for part in descendants(waiting.pop()):
                if part in found or part is call:
                    continue
                found.add(part)
                bound = self._model.infer.bindings_reaching(part) if isinstance(part, cst.Name) else None
                waiting += [b.value for b in bound[1] if b.value is not None] if bound is not None else []
        return found

    def _calls(self) -> Iterator[cst.Call]:
        for calls in self._walk.calls.values():
            for call in calls:
                if self._is_inference(call) and self._runs_eagerly_per_step(call):
                    if not self.of_steps.has(call) and not self._model.tracing.obstacle_in_call(call):
                        yield call

    def _is_inference(self, call: cst.Call) -> bool:
        """Whether `call` runs an existing model or layer on tensors."""
        called = call.func
        if isinstance(called, cst.Attribute) and called.attr.value == "call":
            called = called.value  # `model.call(x)`
        if (
            not isinstance(called, cst.Name | cst.Attribute | cst.Subscript)
            or not call.args
            or has_stars(call)
        ):
            return False
        value = self._model.value(called)
        if self._model.names.dotted(called) and not value.paths:
            return False
        if not value.known:
            return self._model.given_models.has(called) and not self._compiled_models.has(called, value)
        return (
            value.kind in ("model", "layer")
            and not has(value.name, "loads-compiled")
            and not self._is_loaded(called)
            and not self._compiled_models.has(called, value)
        )

    def _is_loaded(self, called: cst.BaseExpression) -> bool:
        """Whether `called` was loaded from a saved model, in compiled form."""
        found = self._model.infer.bindings_reaching(called) if isinstance(called, cst.Name) else None
        return found is not None and any(
            isinstance(binding.value, cst.Call)
            and has(self._model.qualified(binding.value.func), "loads-compiled")
            for binding in found[1]
        )

    def _runs_eagerly_per_step(self, call: cst.Call) -> bool:
        model = self._model
        return (
            model.is_eager(call)
            and model.is_per_step(call)
            and self._is_reached_eagerly(call)
            and not self.is_seldom(call)
            and not self._builds_model(call)
            and not self._is_of_network(call)
            and not self.makes_variables(call)
            and not is_only_timed(model.infer, call)
            and not self.runs_over_files_alone(call)
            and not self.is_for_few(call)
            and not self._is_bound_by_loop(call)
            and not self._is_made_by_loop(call)
        )

    def _is_reached_eagerly(self, call: cst.Call) -> bool:
        """Whether `call` runs per step, and not only in a model's own code or other compiled code."""
        model, function = self._model, self._model.function_at(call)
        if function is not None and model.compiled.is_switched_off(function):
            return False
        if function is None or model.loops.training_loop(call) is not None:
            return True
        sites = [site for site in model.calls.sites(function) if model.is_per_step(site)]
        return not sites or any(map(model.is_eager, sites)) or bool(model.calls.callers_outside(function))

    def is_seldom(self, node: cst.CSTNode) -> bool:
        """Whether something keeps `node` from running on each step, here or wherever a step loop calls it."""
        model = self._model
        if model.guard_of(node) is not None or model.once.runs_seldom(node):
            return True
        function = model.function_at(node)
        if function is None or model.loops.innermost_loop(node) is not None:
            return False
        known = self._called_seldom.get(function)
        if known is None:
            self._called_seldom[function] = False  # functions that call each other
            sites = [site for site in model.calls.sites(function) if model.is_per_step(site)]
            outside = [caller for caller in model.calls.callers_outside(function) if caller.per_step]
            known = self._called_seldom[function] = (
                bool(sites or outside)
                and all(map(self.is_seldom, sites))
                and all(caller.guarded for caller in outside)
            )
        return known

    def is_for_few(self, node: cst.CSTNode) -> bool:
        """Whether only loops that look at a few results run `node`, here or where its function is called."""
        model = self._model
        loop = model.loops.innermost_loop(node)
        function = model.function_at(node)
        if loop is not None or function is None or model.calls.callers_outside(function):
            return self.looks_at_few(loop)
        sites = [model.loops.innermost_loop(s) for s in model.calls.sites(function) if model.is_per_step(s)]
        return bool(sites) and all(map(self.looks_at_few, sites))

    def runs_over_files_alone(self, call: cst.Call) -> bool:
        """Whether only loops over file names run `call`, here or where its function is called."""
        model = self._model
        loop, function = model.loops.innermost_loop(call), model.function_at(call)
        loops = [loop]
        if loop is None and function is not None and not model.calls.callers_outside(function):
            sites = (site for site in model.calls.sites(function) if model.is_per_step(site))
            loops = [model.loops.innermost_loop(site) for site in sites]
        return bool(loops) and all(runs_over_files(model.infer, each) for each in loops)

    def looks_at_few(self, loop: Loop | None) -> bool:
        """Whether `loop` looks at a few results, or runs under a flag or for the best score. A counter of the loop
        around it guards none."""
        if loop is None:
            return False
        model, iterable = self._model, loop.iterable
        guard = model.guard_of(loop.node)
        if guard is not None and isinstance(guard.node, cst.Name | cst.Attribute | cst.Comparison):
            return True
        stop = counts_to(model.infer, iterable)
        is_sliced = iterable is not None and isinstance(source(model.infer, iterable), cst.Subscript)
        if stop is not None or is_sliced:
            integers = model.infer.integers
            count = integers.most(stop) if stop is not None else integers.length(iterable)
            few = count is not None and count <= _FEW and not self._trains(loop)
            return few and not self._is_for_each_step(loop)
        pipelines = model.value(source(model.infer, iterable)).pipelines if iterable is not None else ()
        return bool(pipelines) and all(map(self._takes_few, pipelines))

    def _is_for_each_step(self, loop: Loop) -> bool:
        """Whether `loop` runs again on each step of a loop around it that looks at more, or whenever its function is
        called on a step."""
        model = self._model
        outer, function = model.loops.training_loop(extent(self._walk, loop)), model.function_at(loop.node)
        if outer is None and function is not None:
            sites = model.calls.sites(function)
            return any(model.is_per_step(site) and model.guard_of(site) is None for site in sites)
        if outer is None or model.loops.kind(outer) != "step" or self.looks_at_few(outer):
            return False
        # It may count as a loop of steps for the sake of this one alone.
        takes = outer.iterable is not None and model.loops.takes_batches(outer.iterable)
        return takes or any(map(model.loops.actions.acts, outer.calls))

    def _trains(self, loop: Loop) -> bool:
        """Whether `loop` makes gradient steps, in functions of this file or by Keras: then it looks at nothing."""
        waiting, seen = [loop], set[Function]()
        while waiting:
            current = waiting.pop()
            waiting += current.inner
            calls = [*current.calls]
            while calls:
                call = calls.pop()
                by = trains_by(self._model.infer, call)
                if by in ("update", "batch") or (
                    by == "fit" and self._model.loops.batches.are_taken_by(call)
                ):
                    return True
                for function in self._model.calls.targets(call):
                    if function not in seen:
                        seen.add(function)
                        calls += function.calls
        return False

    def _takes_few(self, pipeline: Pipeline) -> bool:
        last = pipeline[-1]
        given = argument(last.call, 0, "count") if last.name == "take" else None
        count = self._model.infer.integers.most(given) if given is not None else None
        return count is not None and 0 <= count <= _FEW

    def _is_bound_by_loop(self, call: cst.Call) -> bool:
        """Whether a loop around `call` iterates over the parts of one model that it calls: `for layer in layers: x =
        layer(x)`. Several models that are asked side by side, in each step around that loop, are no such parts."""
        loop, over = self._model.loops.innermost_loop(call), False
        while loop is not None and self._binds(loop, call.func):
            node, over = extent(self._walk, loop), True
            loop = self._model.loops.innermost_loop(node)
        if not over:
            return any(map(self._is_bound_somewhere, names_read(call.func)))
        return (
            self._model.value(call.func).kind != "model"
            or not self._model.is_per_step(node)
            or self._is_chained(call)
        )

    def _binds(self, loop: Loop, callee: cst.BaseExpression) -> bool:
        """Whether `loop` gives its values to names in `callee`."""
        if isinstance(loop.node, cst.While):
            return False
        return mentions(callee, {name.value for name in target_names(loop.node.target)})

    def _is_made_by_loop(self, call: cst.Call) -> bool:
        """Whether each iteration makes a new model for `call`: it converts or compares models, say."""
        loop = self._model.loops.innermost_loop(call)
        found = self._model.infer.bindings_reaching(call.func) if isinstance(call.func, cst.Name) else None
        if loop is None or found is None or not found[1]:
            return False
        return all(
            binding.kind == "assign" and isinstance(binding.value, cst.Call) and binding.at.block.loop is loop
            for binding in found[1]
        )

    def _is_bound_somewhere(self, name: cst.Name) -> bool:
        found = self._model.infer.bindings_reaching(name)
        return found is not None and any(b.kind in ("for", "comprehension") for b in found[1])

    def _is_chained(self, call: cst.Call) -> bool:
        """Whether `call` is given what it gave in the iteration before: `x = net(x)`."""
        statement: cst.CSTNode | None = call
        while statement is not None and statement not in self._walk.at:
            statement = self._walk.parents.get(statement)
        written = names_written([statement]) if statement is not None else set()
        loop = self._model.loops.innermost_loop(call)
        made = made_of(written, loop) if loop is not None else written
        return any(mentions(arg.value, made) for arg in call.args)

    def _builds_model(self, call: cst.Call) -> bool:
        """Whether `call` applies a layer to build a Keras model: on what stands for its input, or in a function that
        makes that or the model itself."""
        models, function = self._model.functional_models, self._model.function_at(call)
        return models.applies(call) or (function is not None and models.builds(function))

    def _is_of_network(self, call: cst.Call) -> bool:
        """Whether `call` is part of another library's network: it runs a recurrent cell for each time step."""
        function = self._model.function_at(call)
        return (
            function is not None
            and function.name == "forward"
            and function.owner is not None
            and bool(function.owner.node.bases)
        )

    def makes_variables(self, call: cst.Call) -> bool:
        """Whether `call` runs a model on made-up numbers and drops the result, only to make its variables."""
        match self._walk.parents.get(call):
            case cst.Expr() | cst.Assign(targets=[cst.AssignTarget(target=cst.Name("_"))]):
                return any(
                    isinstance(part, cst.Call) and last_name(part.func) in _MADE_UP
                    for part in descendants(call.args[0].value)
                )
        return False

    # Inputs

    def grows(self, found: ForwardPass) -> bool:
        """Whether an input gets longer with each call, as text does that a model generates."""
        sites = (
            self._model.calls.sites(found.function) if found.function is not None and not found.loop else ()
        )
        return any(gets_longer(self._model.loops, call) for call in (*found.calls, *sites))


# What belongs to a gradient step: what its tape records, and what its function computes on the device beside that.


_TO_HOST = frozenset({"float", "int", "bool"})
# Results are followed through no more ops and names than this.
_DEEPEST = 4


class PartsOfSteps:
    """Answers whether a place is part of a gradient step."""

    def __init__(self, model: Model, is_seldom: Callable[[cst.CSTNode], bool]) -> None:
        self._model = model
        self._walk = model.walk
        self._is_seldom = is_seldom
        self._known: dict[Function, bool] = {}

    def has(self, call: cst.Call) -> bool:
        """Whether the forward pass `call` is part of a gradient step, or computes tensors for one. What becomes an
        array of NumPy is a pass of its own."""
        if is_under_tape(self._model.infer, call):
            return True
        return self.belongs(call) and not (self._is_beside(call) and self._goes_to_host(call, 0))

    def _is_beside(self, call: cst.Call) -> bool:
        """Whether `call` is in the function of a gradient step, or in one that such functions call outside tapes."""
        function = self._model.function_at(call)
        if function is None or self._is_in_step(call):
            return self._runs_once_a_step(call)
        sites = self._model.calls.sites(function)
        return bool(sites) and all(
            self._is_in_step(site)
            and self._runs_once_a_step(site)
            and not is_under_tape(self._model.infer, site)
            for site in sites
        )

    def _runs_once_a_step(self, node: cst.CSTNode) -> bool:
        """Whether no loop of its function makes several gradient steps beside one run of `node`."""
        around = loops_around(self._model.loops.innermost_loop(node))
        tapes = [step.tape for step in self._model.steps.of(self._model.function_at(node))]
        return all(loop is None or loop in around for loop in map(self._model.loops.innermost_loop, tapes))

    def belongs(self, node: cst.CSTNode) -> bool:
        """Whether a gradient step runs `node`: under its tape, beside it, or in a function that it calls."""
        if is_under_tape(self._model.infer, node) or self._is_in_step(node):
            return True
        function = self._model.function_at(node)
        if function is None:
            return False
        called = self._model.calls.sites(function)
        outside = [
            caller
            for caller in self._model.calls.callers_outside(function)
            if caller.how == "call" and caller.per_step and not caller.guarded
        ]
        if (called or outside) and all(is_under_tape(self._model.infer, site) for site in called):
            if all(caller.taped for caller in outside):
                return True
        if self._model.loops.innermost_loop(node) is not None:
            return False
        known = self._known.get(function)
        if known is None:
            self._known[function] = False  # functions that call each other
            sites = [site for site in called if self._model.is_per_step(site) and not self._is_seldom(site)]
            known = self._known[function] = (
                bool(sites or outside)
                and all(map(self.belongs, sites))
                and all(caller.taped for caller in outside)
            )
        return known

    def _is_in_step(self, node: cst.CSTNode) -> bool:
        function, order = self._model.function_at(node), self._model.infer.place(node).order
        around = loops_around(self._model.loops.innermost_loop(node))
        for step in self._model.steps.of(function):
            loop = self._model.loops.innermost_loop(step.tape)
            if function is not None and (loop is None or not around):
                if runs_beside(self._model.infer.place(node), self._walk.at[step.tape]):
                    return True
                continue
            last = max(self._model.infer.place(call).order for call in step.applied)
            if loop in around and self._walk.at[step.tape].order <= order <= last:
                return True
        at = self._model.infer.place(node)
        for call in self._model.steps.without_tape:
            if self._model.function_at(call) is function and around == loops_around(
                self._model.loops.innermost_loop(call)
            ):
                if runs_beside(at, self._model.infer.place(call)):
                    return True
        calls = self._calls_of_steps.get(function, ()) if not around else ()
        return any(runs_beside(at, self._model.infer.place(call)) for call in calls)

    @cached_property
    def _calls_of_steps(self) -> dict[Function | None, list[cst.Call]]:
        """The calls of functions that make a gradient step in eager mode, by the function that calls, out of loops."""
        found: dict[Function | None, list[cst.Call]] = {}
        for step in self._model.steps.all():
            if step.function is not None and self._model.is_eager(step.tape):
                for call in self._model.calls.sites(step.function):
                    if self._model.loops.innermost_loop(call) is None:
                        found.setdefault(self._model.function_at(call), []).append(call)
        return found

    # Results that leave the device

    def _goes_to_host(self, node: cst.CSTNode, depth: int) -> bool:
        """Whether all that is done with `node`, or with what ops make of it, takes it to the host."""
        parents = self._walk.parents
        parent = parents.get(node)
        while isinstance(parent, cst.Arg | cst.Subscript) and depth <= _DEEPEST:
            node, parent = parent, parents.get(parent)
        match parent:
            case cst.Attribute(attr=cst.Name("numpy")):
                return True
            case cst.Call() if isinstance(node, cst.Arg):
                name = builtin_or_qualified(self._model.infer, parent.func)
                if library(name) == "numpy" or name in _TO_HOST:
                    return True
                return (
                    library(name) == "tensorflow"
                    and depth < _DEEPEST
                    and self._goes_to_host(parent, depth + 1)
                )
            case cst.Assign() if depth < _DEEPEST:
                uses = list(self._uses(parent))
                return bool(uses) and all(self._goes_to_host(use, depth + 1) for use in uses)
        return False

    def _uses(self, statement: cst.Assign) -> Iterator[cst.Name]:
        """Where the names are read to which a statement assigns, and may still have that value."""
        names = self._model.infer.names
        function = self._model.function_at(statement)
        for name in (name for target in statement.targets for name in target_names(target.target)):
            for use in names.mentions_in(function, name.value):
                if is_read(self._walk.parents, use):
                    found = self._model.infer.bindings_reaching(use)
                    if found is not None and any(b.value is statement.value for b in found[1]):
                        yield use


# Models whose own `call` is a `tf.function`: calling them in eager code runs a graph.


# Parameters are followed through no more calls than this.
_COMPILED_MODELS_DEEPEST = 3


class CompiledModels:
    """Answers which models are compiled themselves."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._walk = model.walk

    def has(self, called: cst.BaseExpression, value: Value) -> bool:
        """Whether the class of `called` has a `call` that is a `tf.function`, or the object was given one: `net.call =
        tf.function(…)`, or the model is a parameter for which somebody gives such a one."""
        return (
            any(map(self._is_compiled, value.alternatives))
            or (self._is_of_any_class(value) and self._are_all_here)
            or last_name(called) in self._given_call
            or self._is_given(called, 0)
        )

    @staticmethod
    def _is_of_any_class(value: Value) -> bool:
        """Whether nothing is known of the class of a model, which is one by its name or by its use."""
        return value.klass is None and not value.outside and not value.either and not value.name

    @cached_property
    def _are_all_here(self) -> bool:
        """Whether all models that the file defines are compiled: one of unknown class is one of them, as far as it shows."""
        classes = self._model.infer.classes
        calls = [
            klass.methods["call"]
            for klass in self._walk.classes.values()
            if "call" in klass.methods and classes.keras_kind(klass) == "model"
        ]
        return bool(calls) and all(self._model.infer.function_value(c).kind == "compiled" for c in calls)

    def _is_compiled(self, value: Value) -> bool:
        infer = self._model.infer
        own = infer.classes.member(value, "call") if value.klass is not None else None
        if own is None and value.outside:
            own = infer.outside.member(value.outside, "call")
        return own is not None and own.kind == "compiled"

    @remembered
    def _is_given(self, called: cst.BaseExpression, depth: int) -> bool:
        """Whether `called` is a parameter, and callers, here or in other files, give a compiled model as that."""
        model = self._model
        found = model.infer.bindings_reaching(called) if isinstance(called, cst.Name) else None
        function = found[0].function if found is not None else None
        if found is None or function is None or depth > _COMPILED_MODELS_DEEPEST:
            return False
        names = [binding.name for binding in found[1] if binding.kind == "param"]
        here = (given for name in names for given in model.calls.arguments(function, name))
        there = (given.path for name in names for given in model.calls.given_outside(function, name))
        return any(
            self._is_compiled(model.value(given)) or self._is_given(given, depth + 1) for given in here
        ) or any(path and model.infer.outside.member(path, "call").kind == "compiled" for path in there)

    @cached_property
    def _given_call(self) -> frozenset[str]:
        """The names of objects whose `call` is made a `tf.function`."""
        return frozenset(
            last_name(arg.value.value)
            for given in self._walk.attribute_writes.get("call", ())
            if isinstance(given, cst.Call) and self._model.infer.compiles(given.func)
            for arg in given.args
            if isinstance(arg.value, cst.Attribute)
        )


# Inputs that get longer with each call, as text does that a model writes.


_JOINING = frozenset({"concat", "concatenate", "append", "vstack", "hstack", "stack", "pad"})


def gets_longer(loops: Loops, call: cst.Call) -> bool:
    """Whether the loop around `call` joins something to what it gives that call."""
    loop = loops.innermost_loop(call)
    if loop is None:
        return False
    read = {name.value for arg in call.args for name in names_read(arg.value)}
    for node in descendants(loop.node):
        if isinstance(node, cst.Assign) and isinstance(node.value, cst.Call):
            written = {name.value for target in node.targets for name in names_read(target.target)}
            again = {name.value for name in names_read(node.value)}
            if callee_name(node.value) in _JOINING and read & written & again:
                return True
        if isinstance(node, cst.Call) and callee_name(node) == "append":
            if isinstance(node.func, cst.Attribute) and read & {n.value for n in names_read(node.func.value)}:
                return True
    return False
