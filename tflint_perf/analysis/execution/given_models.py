"""Models that other files give as parameters, of which a file by itself knows nothing."""

from __future__ import annotations

from collections.abc import Iterator, Set

import libcst as cst

from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding, Function
from tflint_perf.analysis.python.syntax import part_at
from tflint_perf.analysis.values.caller import Given
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.outside import name_given
from tflint_perf.analysis.values.parts import Part


class GivenModels(Part):
    """Answers whether an expression of unknown kind stands for a model that another file gives: as a parameter, or as an
    attribute that a constructor makes of one."""

    _infer: Inference
    _calls: CallGraph

    def has(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a model that this code is given, and that runs its layers one by one when it is called:
        none has a `call` that is compiled."""
        given = self._given(node)
        return bool(given) and not any(self._kind(each, "call") == "compiled" for each in given)

    def is_method_of_keras(self, method: cst.BaseExpression) -> bool:
        """Whether `method`, of a model that this code is given, is Keras's own: the model's class does not override it,
        `model.predict` for instance."""
        if not isinstance(method, cst.Attribute):
            return False
        given = self._given(method.value)
        return bool(given) and all(self._kind(each, method.attr.value) == "unknown" for each in given)

    def takers(self, nodes: Set[cst.CSTNode]) -> Iterator[Function]:
        """The functions by whose parameters those of `nodes` that are calls get what they call, or what they ask. Of what is
        known without them, these are setters, which say nothing as long as nobody calls them."""
        for node in nodes:
            if isinstance(node, cst.Call):
                asked = node.func.value if isinstance(node.func, cst.Attribute) else node.func
                for part in (node.func, asked):
                    is_known = self._infer.value(part).known
                    if is_known and not isinstance(part, cst.Attribute):
                        continue
                    for function, _ in behind(self._infer, self._calls, part):
                        if not is_known or (function.owner is not None and function.name != "__init__"):
                            yield function

    @remembered
    def _given(self, node: cst.BaseExpression) -> tuple[Given, ...]:
        if not isinstance(node, cst.Name | cst.Attribute) or self._infer.value(node).known:
            return ()
        return tuple(
            given
            for function, name in behind(self._infer, self._calls, node)
            for given in self._calls.given_outside(function, name)
            if given.kind == "model"
        )

    def _kind(self, given: Given, method: str) -> str:
        """The kind of a method of a given model, as its class defines it; "unknown" where it does not."""
        return self._infer.outside.member(given.path, method).kind if given.path else "unknown"


# Through which parameters other files give the object that an expression stands for.


def parameters_behind(
    infer: Inference, calls: CallGraph, node: cst.BaseExpression
) -> set[tuple[str, str, int]]:
    """The parameters that an expression, a name or `self.agent`, may have its value from: each by the name of its function,
    as other files know that, its own name, and its place in a call."""
    return {
        (name, parameter, function.place_of(parameter))
        for function, parameter in behind(infer, calls, node)
        if (name := name_given(function))
    }


def behind(
    infer: Inference, calls: CallGraph, node: cst.BaseExpression | None, depth: int = 0
) -> Iterator[tuple[Function, str]]:
    """The same parameters by their functions and names, also of functions that other files can't name."""
    if depth > CALLS_DEEP:
        return
    found = infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
    bindings: list[Binding] = found[1] if found is not None else []
    if isinstance(node, cst.Attribute):
        bindings = infer.classes.bindings_of(node)
    for binding in bindings:
        function = found[0].function if found is not None else None
        if binding.kind == "param" and function is not None:
            yield function, binding.name
            for given in calls.arguments(function, binding.name):
                yield from behind(infer, calls, given, depth + 1)
        elif binding.kind == "assign" and binding.value is not None:
            yield from behind(infer, calls, part_at(binding.value, binding.path), depth + 1)
