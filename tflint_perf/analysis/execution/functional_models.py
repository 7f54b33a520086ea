"""Functional models of Keras that are put together: layers are called on what stands for an input, and nothing is computed.

    models.applies(call)        # `Dense(3)(x)` and `head(x)` where x comes from `keras.Input`, or ends in `Model(…, x)`
    models.is_of_model(x)       # whether x stands for a tensor that such a model will be given, or will make
    models.builds(function)     # whether a function makes inputs or a model of its own

A value is of such a model by where it comes from: an input, the ends of a model, a layer with weights that is made only to be
applied once, in code that runs once. What a model is made of is found from its end, too: whatever comes in as a parameter,
all that leads to the outputs of a `Model` was applied to inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has, library, methods
from tflint_perf.analysis.execution.tapes import is_under_tape
from tflint_perf.analysis.limits import MANY_PLACES
from tflint_perf.analysis.python.fixpoints import Fixpoints
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.python.syntax import (
    argument,
    descendants,
    has_stars,
    keyword_argument,
)
from tflint_perf.analysis.values.calls import CallGraph, given_by
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import taken_part
from tflint_perf.analysis.values.made_kinds import MadeKinds
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.written import bindings_of

Path = tuple[int, ...]

# What a model or a layer was built of, by the attributes of either.
_ENDS = frozenset({"input", "inputs", "output", "outputs"})
# What a call may give that computes with tensors of such a model.
_MAY_BE_TENSORS = frozenset({"unknown", "tensor", "list", "tuple", "dict"})


class FunctionalModels(Part):
    """Answers which values stand for the tensors of a functional model, and which calls build one."""

    _infer: Inference
    _calls: CallGraph

    def __post_init__(self) -> None:
        self._kinds = MadeKinds(self._infer)
        # Of parameters, and of what functions return; calls may go round in circles.
        self._fixpoints = Fixpoints()

    def applies(self, call: cst.Call) -> bool:
        """Whether `call` applies something to tensors of a functional model, which gets a part by it, and nothing is computed."""
        return call in self._parts or any(self.is_of_model(arg.value) for arg in call.args)

    def is_of_model(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is, or holds, a tensor that stands for an input or a result of a functional model."""
        return self._asked(node)

    @remembered
    def builds(self, function: Function) -> bool:
        """Whether `function` makes inputs of a functional model, or a model by its class."""
        return any(self._infer.names.is_call_that(call, "builds-model") for call in function.calls)

    def makes_model(self, calls: list[cst.Call]) -> bool:
        """Whether some calls make a model, of whatever kind: each is a new one, with parts of its own."""
        return any(
            self._infer.value(call).kind == "model" and self._infer.value(call.func).kind != "model"
            for call in calls
        )

    # From the beginning

    def _is_beginning(self, call: cst.Call) -> bool:
        return has(builtin_or_qualified(self._infer, call.func), "input") or self._applies_new_layer(call)

    @remembered
    def _applies_new_layer(self, call: cst.Call) -> bool:
        """Whether `call` applies a layer that is made right there: `Dense(3)(x)`."""
        made = call.func
        if (
            not isinstance(made, cst.Call)
            or self._kinds.kind(made) != "layer"
            or not self._kinds.has_weights(made)
        ):
            return False
        function = self._calls.function_at(call)
        if function is not None and self._is_run_by_keras(function):
            return False
        return self._infer.place(call).block.loop is None and not is_under_tape(self._infer, call)

    def _is_end(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is the input or output of a model or layer: `model.output`, `layer.input`."""
        return (
            isinstance(node, cst.Attribute)
            and node.attr.value in _ENDS
            and self._infer.value(node.value).kind in ("model", "layer")
            and self._infer.value(node.value).klass is None  # which may keep something else by that name
        )

    @remembered
    def _asked(self, node: cst.BaseExpression) -> bool:
        return self._ask(node, (), set())

    def _ask(self, node: cst.BaseExpression, path: Path, seen: set[tuple[cst.CSTNode, Path]]) -> bool:
        """Whether `node`, or the part of it that is asked for, is of such a model, or any of it."""
        if (node, path) in seen or len(seen) > MANY_PLACES:
            return False
        seen.add((node, path))
        match node:
            case cst.Name():
                return any(self._of_binding(b, path, seen) for b in bindings_of(self._infer, node))
            case cst.Attribute():
                return self._is_end(node) or any(
                    self._of_binding(b, path, seen) for b in bindings_of(self._infer, node)
                )
            case cst.Call():
                return self._of_call(node, path, seen)
            case cst.Tuple() | cst.List() if path and path[0] < len(node.elements):
                return self._ask(node.elements[path[0]].value, path[1:], seen)
        return any(self._ask(part, (), seen) for part in _parts_of(node))

    def _of_binding(self, binding: Binding, path: Path, seen: set[tuple[cst.CSTNode, Path]]) -> bool:
        if binding.kind == "param":
            function = self._infer.names.function_with.get(binding.node)
            return function is not None and self._is_given(function, binding.name)
        if binding.value is None or binding.path is None:
            return False
        if binding.kind in ("for", "comprehension"):
            taken = taken_part(self._infer, binding.value, (*binding.path, *path))
            return taken is not None and self._ask(taken[0], (), seen)
        if binding.kind not in ("assign", "augment"):
            return False
        return self._ask(binding.value, (*binding.path, *path), seen) or any(
            self._ask(put, (), seen) for put in self._puts(binding)
        )

    def _puts(self, binding: Binding) -> Iterator[cst.BaseExpression]:
        """What is put into a container that a binding makes."""
        if self._infer.contents.holds(binding):
            for put in self._infer.contents.puts(binding, self._infer.names.scope_of(binding.node)):
                yield put.value

    def _is_given(self, function: Function, name: str) -> bool:
        """Whether all callers give `function` a tensor of such a model as the parameter `name`. What Keras calls gets tensors,
        too."""
        return self._fixpoints.of((function, name), False, partial(self._is_given_by_all, function, name))

    def _is_given_by_all(self, function: Function, name: str) -> bool:
        if self._is_run_by_keras(function):
            return False
        callers = self._calls.callers_outside(function)
        if not all(
            any(given.of_functional_model for given in given_by(caller, function, name)) for caller in callers
        ):
            return False
        values = self._calls.arguments(function, name)
        given = [value for value in values if self._infer.value(value).kind != "none"]
        if not given:
            # Calls of this file that hide what they give tell nothing.
            return bool(callers) and not self._calls.sites(function)
        return all(self._ask(value, (), set()) for value in given)

    def _is_run_by_keras(self, function: Function) -> bool:
        kind = self._infer.classes.keras_kind(function.owner) if function.owner is not None else ""
        return function.name in methods(kind, "compiled")

    def _of_call(self, call: cst.Call, path: Path, seen: set[tuple[cst.CSTNode, Path]]) -> bool:
        name = builtin_or_qualified(self._infer, call.func)
        if self._is_beginning(call):
            return True
        if (
            library(name) not in ("", "tensorflow", "keras")
            or self._infer.value(call).kind not in _MAY_BE_TENSORS
        ):
            return False
        if name and "." not in name and not fact(name, "hands-on"):
            return False  # a function of Python
        return any(self._ask(arg.value, (), seen) for arg in call.args) or any(
            self._fixpoints.of((target, path), False, partial(self._gives, target, path))
            for target in self._calls.targets(call)
        )

    def _gives(self, function: Function, path: Path) -> bool:
        """Whether `function` returns a tensor of such a model, or it is the part of what it returns that is asked for."""
        return any(self._ask(back.value, path, set()) for back in function.returns if back.value is not None)

    # From the end

    @cached_property
    def _parts(self) -> set[cst.CSTNode]:
        """The calls that lead to the outputs of a model."""
        found: set[cst.CSTNode] = set()
        seen: set[cst.CSTNode] = set()
        waiting = [*self._outputs()]
        while waiting:
            for part in (top := waiting.pop(), *descendants(top)):
                if part in seen:
                    continue
                seen.add(part)
                if isinstance(part, cst.Call):
                    found.add(part)
                elif isinstance(part, cst.Name):
                    waiting += self._behind(part)
        return found

    def _outputs(self) -> Iterator[cst.BaseExpression]:
        """What functional models are made to give: `y` of `Model(x, y)`, `Model(inputs=x, outputs=y)`."""
        for call in (call for calls in self._walk.calls.values() for call in calls):
            if not has_stars(call) and self._makes_functional_model(call):
                given = argument(call, 1, "outputs") or keyword_argument(call, "output")
                if given is not None:
                    yield given

    def _makes_functional_model(self, call: cst.Call) -> bool:
        if self._infer.names.is_call_that(call, "builds-model"):
            return self._infer.value(call).kind == "model"
        # A class that leaves its constructor to Keras.
        said = keyword_argument(call, "inputs") is not None and keyword_argument(call, "outputs") is not None
        return (
            said and self._infer.value(call.func).kind == "class" and self._infer.value(call).kind == "model"
        )

    def _behind(self, name: cst.Name) -> Iterator[cst.BaseExpression]:
        for binding in bindings_of(self._infer, name):
            if binding.kind in ("assign", "augment") and binding.value is not None:
                yield binding.value
                yield from self._puts(binding)


def _parts_of(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """The parts of an expression of which any makes the whole one of a functional model."""
    match node:
        case cst.Tuple() | cst.List() | cst.Set() | cst.Dict():
            yield from (element.value for element in node.elements)
        case cst.DictComp():
            yield node.value
        case cst.ListComp() | cst.SetComp() | cst.GeneratorExp():
            yield node.elt
        case cst.Subscript() | cst.NamedExpr() | cst.StarredElement():
            yield node.value
        case cst.IfExp():
            yield from (node.body, node.orelse)
        case cst.BinaryOperation():
            yield from (node.left, node.right)
        case cst.UnaryOperation():
            yield node.expression
        case cst.Comparison():
            yield from (node.left, *(each.comparator for each in node.comparisons))
