"""Functions given to `Dataset.map` that draw random numbers, so that an element comes out differently each time."""

from __future__ import annotations

import re

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import argument, calls_below, is_name, keyword_argument
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Stage

# Clocks, seeds, and objects that draw only when they are asked to.
_IS_NO_DRAW = re.compile(r"^(time|datetime)\.|seed$|generator$|\.[A-Z]\w*$")


class Augmentations(Part):
    """Answers whether a `map` surely draws."""

    same_for_all_callers = True

    _infer: Inference
    _calls: CallGraph

    def __post_init__(self) -> None:
        self._parents = self._infer.walk.parents

    def draws(self, stage: Stage) -> bool:
        """Whether the function that a `map` is given draws random numbers on each call, whatever it is given."""
        given = argument(stage.call, 0, "map_func") if stage.name == "map" else None
        if given is None:
            return False
        if self._is_random_layer(given, called=None):
            return True
        function = self._infer.value(given).function
        return function is not None and self._function_draws(function, set(), on_host=False)

    def _function_draws(self, function: Function, seen: set[Function], *, on_host: bool) -> bool:
        if function in seen:
            return False
        seen.add(function)
        return any(
            self._always_runs(call, function) and self._call_draws(call, seen, on_host=on_host)
            for call in function.calls
        )

    def _call_draws(self, call: cst.Call, seen: set[Function], *, on_host: bool) -> bool:
        name = self._infer.names.qualified(call.func)
        if has(name, "runs-python"):
            given = argument(call, 0, "func")
            function = self._infer.value(given).function if given is not None else None
            return function is not None and self._function_draws(function, seen, on_host=True)
        if name:
            # In a traced function, NumPy draws once: when it is traced.
            draws = has(name, "varies") if on_host else has(name, "draws")
            return draws and _IS_NO_DRAW.search(name) is None
        targets = self._calls.targets(call)
        if any(self._function_draws(target, seen, on_host=on_host) for target in targets):
            return True
        return not targets and self._is_random_layer(call.func, called=call)

    def _always_runs(self, node: cst.CSTNode, function: Function) -> bool:
        """Whether `node` runs on each call of `function`, under no condition and in no function defined in it."""
        child, current = node, self._parents.get(node)
        while current is not None and current is not function.node:
            match current:
                case cst.If() | cst.IfExp() if child is not current.test:
                    return False
                case (
                    cst.FunctionDef()
                    | cst.Lambda()
                    | cst.ExceptHandler()
                    | cst.While()
                    | cst.For()
                    | cst.Match()
                ):
                    return False
                case cst.BooleanOperation() if child is current.right:
                    return False
            child, current = current, self._parents.get(current)
        return True

    def _is_random_layer(self, node: cst.BaseExpression, called: cst.Call | None) -> bool:
        """Whether an expression is a layer that augments at random, or a model of such layers told to."""
        value = self._infer.value(node)
        if value.kind not in ("layer", "model") or value.klass is not None:
            return False
        training = keyword_argument(called, "training") if called is not None else None
        if value.kind == "layer":
            return has(value.name, "augments") and (training is None or is_name(training, "True"))
        if (
            not is_name(training, "True")
            or not has(value.name, "sequential")
            or not isinstance(node, cst.Name)
        ):
            return False
        return any(
            self._infer.names.is_call_that(layer, "augments")
            for binding in self._infer.bindings(node)
            if binding.value is not None
            for layer in calls_below(binding.value)
        )
