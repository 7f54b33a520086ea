"""What becomes of a dataset's elements: a step trains with them, or a model infers from them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_perf.analysis.conventions import names_a_step, names_the_model
from tflint_perf.analysis.execution.elements import adds_batch_axis
from tflint_perf.analysis.execution.steps import GradientSteps
from tflint_perf.analysis.pipelines.consumption import Consumption, Use
from tflint_perf.analysis.python.reach import remembered_in_circles
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants_here,
    keyword_argument,
    last_name,
    mentions,
    target_names,
)
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part

# What a `fit` of datasets is told by Keras's names alone.
_OF_KERAS_FIT = ("epochs", "validation_data", "steps_per_epoch")


class ElementUses(Part):
    """Answers how calls and blocks of code use the elements that they are given."""

    _infer: Inference
    _calls: CallGraph
    _steps: GradientSteps

    def use_in(self, holder: cst.For | cst.While | cst.FunctionDef, names: set[str]) -> Use | None:
        """How the body of `holder` uses what it is given, by the names that hold it: in a step, for inference, or in
        none of these."""
        for node in descendants_here(holder.body):
            if isinstance(node, cst.Assign) and mentions(node.value, names):
                names |= {name.value for target in node.targets for name in target_names(target.target)}
        tapes = self._steps.by_tape
        if tapes and any(
            node in tapes and isinstance(node, cst.With) and mentions(node.body, names)
            for node in descendants_here(holder)
        ):
            return "train"
        found: Use | None = None
        for call in descendants_here(holder.body):
            if isinstance(call, cst.Call) and any(mentions(arg, names) for arg in call.args):
                use = self.use_of_call(call)
                if use == "train":
                    return use
                found = found or use
        return found

    def use_of_call(self, call: cst.Call) -> Use | None:
        """How `call` uses its arguments: in a training step, for inference, or in neither."""
        name = callee_name(call)
        if isinstance(call.func, cst.Attribute):
            if name == "train_on_batch":
                return "train"
            if name in ("test_on_batch", "predict_on_batch"):
                return "infer"
            if name in ("predict", "evaluate", "fit") and self._is_keras_method(call):
                return "train" if name == "fit" else "infer"
        targets = self._calls.targets(call)
        found = [self._use_in_function(function) for function in targets]
        if "train" in found:
            return "train"
        value = self._infer.value(call.func)
        if value.outside and self._infer.outside.trains(value.outside):
            return "train"
        # A layer with a class of its own is a model like others where it is asked by itself.
        if value.kind == "model" or (value.kind == "layer" and value.klass is not None) or "infer" in found:
            return "infer"
        if not value.known and _looks_like_model(call):
            return "infer"
        if value.kind == "compiled" and names_a_step(name):
            return "infer" if targets else "train"  # of a model that is made of variables, say
        if value.kind == "compiled" and any(map(self._measures, targets)):
            return "infer"
        return "infer" if value.outside and self._infer.outside.acts(value.outside) else None

    @remembered_in_circles(None)
    def _use_in_function(self, function: Function) -> Use | None:
        """What calling `function` does: a gradient step, inference, or neither, itself or further down."""
        trains = bool(self._steps.of(function))
        below = [self.use_of_call(call) for call in function.calls] if not trains else ["train"]
        return "train" if "train" in below else "infer" if "infer" in below else None

    def _measures(self, function: Function) -> bool:
        """Whether `function` computes a loss or a metric."""
        return any(self._infer.value(call.func).kind in ("loss", "metric") for call in function.calls)

    def makes_batches_itself(self, consumption: Consumption) -> bool:
        """Whether the loop over `consumption`, or a function that it calls directly, adds a batch axis to each element;
        a graph may always."""
        if consumption.loop is None or consumption.handed_on:
            return consumption.in_graph or consumption.handed_on
        body = consumption.loop.node.body  # type: ignore[union-attr]
        if adds_batch_axis(body):
            return True
        calls = (node for node in descendants_here(body) if isinstance(node, cst.Call))
        return any(
            adds_batch_axis(target.node.body) for call in calls for target in self._calls.targets(call)
        )

    # Keras

    def arguments_of_keras(self) -> Iterator[tuple[cst.BaseExpression, Use]]:
        """What `fit`, `evaluate` and `predict` of models take their elements from."""
        for name in ("fit", "fit_generator", "evaluate", "predict"):
            for call in self._walk.calls.get(name, ()):
                if not self._is_keras_method(call):
                    continue
                given = [argument(call, 0, "generator" if name == "fit_generator" else "x")]
                if name.startswith("fit"):
                    given.append(keyword_argument(call, "validation_data"))
                for node in given:
                    if node is not None:
                        yield node, "train" if name.startswith("fit") else "infer"

    def _is_keras_method(self, call: cst.Call) -> bool:
        """Whether `call` runs a method of a Keras model, and not one that the file defines."""
        if not isinstance(call.func, cst.Attribute) or self._calls.targets(call):
            return False
        receiver = call.func.value
        value = self._infer.value(receiver)
        if value.known:
            return value.kind == "model" and not (
                value.klass is not None and self._infer.classes.has_foreign_base(value.klass)
            )
        if self._imports_autokeras:
            return False  # it batches what it is given
        return bool(names_the_model(last_name(receiver))) or (
            callee_name(call) == "fit" and any(keyword_argument(call, word) for word in _OF_KERAS_FIT)
        )

    @cached_property
    def _imports_autokeras(self) -> bool:
        return any(
            "autokeras" in b.imported for bindings in self._walk.top.bindings.values() for b in bindings
        )


def _looks_like_model(call: cst.Call) -> bool:
    """Whether `call` calls something of unknown origin as a model is called: `self.model(x)`, `net(x, training=False)`."""
    given = bool(call.args) and bool(names_the_model(last_name(call.func)))
    return given or keyword_argument(call, "training") is not None
