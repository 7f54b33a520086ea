"""Calls of models in eager code that each step runs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.eager_steps import EagerSteps
from tflint_perf.analysis.execution.functional_models import FunctionalModels
from tflint_perf.analysis.execution.given_models import GivenModels
from tflint_perf.analysis.execution.lifetimes import Lifetimes
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.once import Seldom, extent
from tflint_perf.analysis.execution.timed_calls import is_only_timed
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.analysis.python.syntax import (
    descendants,
    last_name,
    mentions,
    names_read,
    names_written,
    target_names,
)
from tflint_perf.analysis.training.file_reads import FileReads
from tflint_perf.analysis.training.sequences import made_of
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Value

from .few_results import FewResults

_MADE_UP = frozenset({"zeros", "ones", "random", "normal", "uniform", "rand", "randn", "Input"})


class CalledModels(Part):
    """Answers which calls run models, and which only make them."""

    _infer: Inference
    _calls: CallGraph
    _given_models: GivenModels
    _functional_models: FunctionalModels

    def __post_init__(self) -> None:
        self._compiled_models = CompiledModels(self._infer, self._calls)

    def are_called_by(self, call: cst.Call) -> bool:
        """Whether `call` runs an existing model or layer on tensors."""
        called = call.func
        if isinstance(called, cst.Attribute) and called.attr.value == "call":
            called = called.value  # `model.call(x)`
        if (
            not isinstance(called, cst.Name | cst.Attribute | cst.Subscript)
            or not call.args
            or any(map(_is_unpacked_otherwise, call.args))
        ):
            return False
        value = self._infer.value(called)
        if self._infer.names.dotted(called) and not value.paths:
            return False
        if not value.known:
            return self._given_models.has(called) and not self._compiled_models.has(called, value)
        return (
            value.kind in ("model", "layer")
            and not has(value.name, "loads-compiled")
            and not self._is_loaded(called)
            and not self._compiled_models.has(called, value)
        )

    def _is_loaded(self, called: cst.BaseExpression) -> bool:
        """Whether `called` was loaded from a saved model, in compiled form."""
        return any(
            self._infer.names.is_call_that(binding.value, "loads-compiled")
            for binding in self._infer.bindings(called)
        )

    def are_built_by(self, call: cst.Call) -> bool:
        """Whether `call` applies a layer to build a Keras model: on what stands for its input, or in a function that
        makes that or the model itself."""
        models, function = self._functional_models, self._calls.function_at(call)
        return models.applies(call) or (function is not None and models.builds(function))

    def is_of_network(self, call: cst.Call) -> bool:
        """Whether `call` is part of another library's network: it runs a recurrent cell for each time step."""
        function = self._calls.function_at(call)
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


def _is_unpacked_otherwise(arg: cst.Arg) -> bool:
    """Whether an argument is unpacked, but is no dict of inputs, `model(**inputs)`: signatures of saved models take `**{name: x}`."""
    return arg.star == "*" or (arg.star == "**" and isinstance(arg.value, cst.Dict))


# Models whose own `call` is a `tf.function`: calling them in eager code runs a graph.


class CompiledModels(Part):
    """Answers which models are compiled themselves."""

    _infer: Inference
    _calls: CallGraph

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
        classes = self._infer.classes
        calls = [
            klass.methods["call"]
            for klass in self._walk.classes.values()
            if "call" in klass.methods and classes.keras_kind(klass) == "model"
        ]
        return bool(calls) and all(self._infer.function_value(c).kind == "compiled" for c in calls)

    def _is_compiled(self, value: Value) -> bool:
        infer = self._infer
        own = infer.classes.member(value, "call") if value.klass is not None else None
        if own is None and value.outside:
            own = infer.outside.member(value.outside, "call")
        return own is not None and own.kind == "compiled"

    @remembered
    def _is_given(self, called: cst.BaseExpression, depth: int) -> bool:
        """Whether `called` is a parameter, and callers, here or in other files, give a compiled model as that."""
        found = self._infer.bindings_reaching(called) if isinstance(called, cst.Name) else None
        function = found[0].function if found is not None else None
        if found is None or function is None or depth > CALLS_DEEP:
            return False
        names = [binding.name for binding in found[1] if binding.kind == "param"]
        here = (given for name in names for given in self._calls.arguments(function, name))
        there = (given.path for name in names for given in self._calls.given_outside(function, name))
        return any(
            self._is_compiled(self._infer.value(given)) or self._is_given(given, depth + 1) for given in here
        ) or any(path and self._infer.outside.member(path, "call").kind == "compiled" for path in there)

    @cached_property
    def _given_call(self) -> frozenset[str]:
        """The names of objects whose `call` is made a `tf.function`."""
        return frozenset(
            last_name(arg.value.value)
            for given in self._walk.attribute_writes.get("call", ())
            if isinstance(given, cst.Call) and self._infer.compiles(given.func)
            for arg in given.args
            if isinstance(arg.value, cst.Attribute)
        )


class ModelCalls(Part):
    """Finds calls that run a model or layer, eagerly and per step."""

    own = (FewResults, CalledModels)

    _infer: Inference
    _calls: CallGraph
    _compiled: Compiled
    _loops: Loops
    _lifetimes: Lifetimes
    _eager_steps: EagerSteps
    _seldom: Seldom
    _file_reads: FileReads
    _few_results: FewResults
    _called_models: CalledModels

    def all(self) -> Iterator[cst.Call]:
        """The calls, by the name of what is called."""
        for calls in self._walk.calls.values():
            for call in calls:
                if self._called_models.are_called_by(call) and self._runs_eagerly_per_step(call):
                    yield call

    def _runs_eagerly_per_step(self, call: cst.Call) -> bool:
        return (
            self._compiled.is_eager(call)
            and self._loops.is_per_step(call)
            and self._is_reached_eagerly(call)
            and not self._seldom.runs(call)
            and not self._called_models.are_built_by(call)
            and not self._called_models.is_of_network(call)
            and not self._called_models.makes_variables(call)
            and not is_only_timed(self._infer, call)
            and not self._file_reads.runs_over_files_alone(call)
            and not self._few_results.is_for_few(call)
            and not self._is_bound_by_loop(call)
            and not self._is_made_by_loop(call)
        )

    def _is_reached_eagerly(self, call: cst.Call) -> bool:
        """Whether `call` runs per step, and not only in a model's own code or other compiled code."""
        function = self._calls.function_at(call)
        if function is not None and self._compiled.is_switched_off(function):
            return False
        return self._eager_steps.run(call)

    def _is_bound_by_loop(self, call: cst.Call) -> bool:
        """Whether a loop around `call` iterates over the parts of one model that it calls: `for layer in layers: x =
        layer(x)`. Several models that are asked side by side, in each step around that loop, are no such parts."""
        loop, over = self._loops.innermost_loop(call), False
        while loop is not None and self._binds(loop, call.func):
            node, over = extent(self._walk, loop), True
            loop = self._loops.innermost_loop(node)
        if not over:
            return any(map(self._is_bound_somewhere, names_read(call.func)))
        return (
            self._infer.value(call.func).kind != "model"
            or not self._loops.is_per_step(node)
            or self._is_chained(call)
        )

    def _binds(self, loop: Loop, callee: cst.BaseExpression) -> bool:
        """Whether `loop` gives its values to names in `callee`."""
        if isinstance(loop.node, cst.While):
            return False
        return mentions(callee, {name.value for name in target_names(loop.node.target)})

    def _is_made_by_loop(self, call: cst.Call) -> bool:
        """Whether each iteration makes a new model for `call`: it converts or compares models, say. What is compiled for
        one is of no use to the next."""
        if self._lifetimes.is_short(call.func):
            return True
        loop = self._loops.innermost_loop(call)
        bindings = self._infer.bindings(call.func)
        if loop is None or not bindings:
            return False
        return all(
            binding.kind == "assign" and isinstance(binding.value, cst.Call) and binding.at.block.loop is loop
            for binding in bindings
        )

    def _is_bound_somewhere(self, name: cst.Name) -> bool:
        return any(b.kind in ("for", "comprehension") for b in self._infer.bindings(name))

    def _is_chained(self, call: cst.Call) -> bool:
        """Whether `call` is given what it gave in the iteration before: `x = net(x)`."""
        statement: cst.CSTNode | None = call
        while statement is not None and statement not in self._walk.at:
            statement = self._walk.parents.get(statement)
        written = names_written([statement]) if statement is not None else set()
        loop = self._loops.innermost_loop(call)
        made = made_of(written, loop) if loop is not None else written
        return any(mentions(arg.value, made) for arg in call.args)
