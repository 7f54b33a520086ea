"""Input pipelines: where a dataset is consumed, and what lies between two of its stages."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import methods
from tflint_perf.analysis.conventions import may_name_a_step, names_a_step, names_the_model
from tflint_perf.analysis.execution.elements import adds_batch_axis
from tflint_perf.analysis.pipelines.draws import drawn_from
from tflint_perf.analysis.pipelines.elementwise import (
    arity,
    is_elementwise,
    mapped_function,
    mapped_method,
    parts_of_element,
)
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants_here,
    keyword_argument,
    last_name,
    last_statement,
    mentions,
    target_names,
)
from tflint_perf.analysis.values.integers import FEW
from tflint_perf.analysis.values.iterables import with_targets
from tflint_perf.analysis.values.values import Pipeline, Stage, Value
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.analysis.model import Model

Use = Literal["train", "infer"]

# What trains or infers goes by one of these.
_CONSUMERS = {"fit", "fit_generator", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch", "GradientTape",
              "function", "Model", "Sequential", "load_model", "applications", "hub"}  # fmt: skip
# What a `fit` of datasets is told by Keras's names alone.
_OF_KERAS_FIT = ("epochs", "validation_data", "steps_per_epoch")


@dataclass(frozen=True, slots=True)
class Consumption:
    """A place that takes a dataset's elements to train or to infer: `node` is the dataset there.

    `loop` is the step loop that runs over it; None when a Keras method is given it, or (`in_graph`) a graph has it, or
    (`handed_on`) a function gives an element to whoever calls it per step.
    """

    node: cst.BaseExpression
    value: Value
    use: Use
    loop: Loop | None = None
    in_graph: bool = False
    handed_on: bool = False

    @property
    def infers_in_loop(self) -> bool:
        """Whether a loop runs inference one by one, as it does to show or to write the results."""
        return self.use == "infer" and self.loop is not None


class Pipelines:
    """Answers what becomes of a file's datasets."""

    def __init__(self, model: Model) -> None:
        # The model, since most files are done with before their calls need to be known.
        self._model = model
        self._infer = model.infer
        self._walk = model.walk
        self._uses: dict[Function, Use | None] = {}
        self._consumptions: list[Consumption] | None = None

    # Consumption

    def consumptions(self) -> list[Consumption]:
        """Every place where a Keras model or a step consumes a dataset."""
        if self._consumptions is None:
            named = self._walk.calls.keys() | self._walk.attributes.keys() | self._walk.names.keys()
            # Nothing below this costs less than to see that a file has neither a model nor a step.
            consumes = named & _CONSUMERS or any(map(may_name_a_step, self._walk.calls))
            here = [*self._given_to_keras(), *self._iterated()] if consumes else []
            in_graphs = self._model.graph_inputs.consumptions()
            self._consumptions = [*here, *self._drawn(), *in_graphs, *self._given_to_other_files()]
        return self._consumptions

    def _given_to_keras(self) -> Iterator[Consumption]:
        for node, use in self.arguments_of_keras():
            if self._infer.value(node).kind == "dataset":
                yield Consumption(node, self._infer.value(node), use)

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

    def _given_to_other_files(self) -> Iterator[Consumption]:
        """Datasets that functions of other files are given, and take elements from as they come."""
        for call in (call for calls in self._walk.calls.values() for call in calls if call.args):
            takers = [
                each
                for each in self._infer.value(call.func).alternatives
                if each.kind in ("function", "compiled", "class") and each.outside
            ]
            taken = dict.fromkeys(take for each in takers for take in self._infer.outside.takes(each.outside))
            for name, at in taken:
                node = argument(call, at if at >= 0 else None, name)
                if node is not None and self._infer.value(node).kind == "dataset":
                    yield Consumption(node, self._infer.value(node), "train")

    def _is_keras_method(self, call: cst.Call) -> bool:
        """Whether `call` runs a method of a Keras model, and not one that the file defines."""
        if not isinstance(call.func, cst.Attribute) or self._model.calls.targets(call):
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

    def _iterated(self) -> Iterator[Consumption]:
        for node, loop in self._walk.loops.items():
            if not isinstance(node, cst.For) or self.only_inspects(loop):
                continue
            few = self._infer.integers.takes_few
            for dataset, target in with_targets(self._infer, node.iter, node.target):
                value = self._infer.value(dataset)
                if value.kind in ("dataset", "iterator") and target is not None and not few(dataset):
                    use = self.use_in(node, {name.value for name in target_names(target)})
                    if use is not None:
                        yield Consumption(dataset, value, use, loop)

    def _drawn(self) -> Iterator[Consumption]:
        """Datasets whose elements are drawn one by one, as by `next(iterator)`, where that is done per step.

        What is drawn now and then, to show how the training gets on, is looked at.
        """
        model = self._model
        for call in model.draws.all():
            if not model.is_per_step(call) or model.guard_of(call) is not None:
                continue
            node, loop, use = drawn_from(call), model.loops.innermost_loop(call), model.draws.use_of(call)
            handed_on = use is None and model.draws.is_handed_on(call)
            if (use or handed_on) and (loop is None or not self.only_inspects(loop)):
                yield Consumption(node, self._infer.value(node), use or "train", loop, handed_on=handed_on)

    def only_inspects(self, loop: Loop) -> bool:
        """Whether `loop` breaks at the end of its first iteration, or after a few elements."""
        if isinstance(loop.node, cst.CompFor):
            return False
        for line in loop.node.body.body:
            if isinstance(line, cst.If) and isinstance(last_statement(line.body), cst.Break):
                bounds = [
                    self._infer.integers.most(part.comparator)
                    for part in getattr(line.test, "comparisons", ())
                ]
                if any(bound is not None and bound <= FEW for bound in bounds):
                    return True
        return isinstance(last_statement(loop.node.body), cst.Break)

    # What becomes of an element

    def use_in(self, holder: cst.For | cst.While | cst.FunctionDef, names: set[str]) -> Use | None:
        """How the body of `holder` uses what it is given, by the names that hold it: in a step, for inference, or in
        none of these."""
        for node in descendants_here(holder.body):
            if isinstance(node, cst.Assign) and mentions(node.value, names):
                names |= {name.value for target in node.targets for name in target_names(target.target)}
        tapes = self._model.steps.by_tape
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
        targets = self._model.calls.targets(call)
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

    def _use_in_function(self, function: Function) -> Use | None:
        """What calling `function` does: a gradient step, inference, or neither, itself or further down."""
        if function not in self._uses:
            self._uses[function] = None
            trains = bool(self._model.steps.of(function))
            below = [self.use_of_call(call) for call in function.calls] if not trains else ["train"]
            self._uses[function] = "train" if "train" in below else "infer" if "infer" in below else None
        return self._uses[function]

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
            adds_batch_axis(target.node.body) for call in calls for target in self._model.calls.targets(call)
        )

    def is_used_otherwise(self, stage: cst.Call) -> bool:
        """Whether what `stage` gives goes into further stages, or into loops that neither train nor infer."""
        return self.is_looped_over_otherwise(stage) or any(self.goes_on(stage))

    def is_looped_over_otherwise(self, stage: cst.Call) -> bool:
        """Whether what `stage` gives goes into loops that neither train nor infer."""
        return stage in self._looped_over_otherwise

    @cached_property
    def _looped_over_otherwise(self) -> frozenset[cst.Call]:
        consumed = {consumption.loop for consumption in self.consumptions()}
        return frozenset(
            pipeline[-1].call
            for loop in self._walk.loops.values()
            if loop.iterable is not None and loop not in consumed
            for node, _ in with_targets(self._infer, loop.iterable, None)
            for pipeline in self._infer.value(node).pipelines
        )

    # Stages

    def stages_before(self, call: cst.Call) -> list[Pipeline]:
        """The pipelines that may build the dataset that `call` gives, up to the stage that it adds."""
        found = list(self._infer.value(call).pipelines)
        if found:
            return found
        # A dataset of unknown origin: as far back as one expression goes.
        chain: list[Stage] = []
        node: cst.BaseExpression = call
        while (
            isinstance(node, cst.Call)
            and isinstance(node.func, cst.Attribute)
            and callee_name(node) in methods("Dataset", "stage")
        ):
            chain.insert(0, Stage(callee_name(node), node))
            node = node.func.value
        return [tuple(chain)] if self._infer.value(node).kind == "dataset" and chain else []

    def is_elementwise(self, given: cst.BaseExpression, before: Pipeline) -> bool:
        """Whether the function `given`, mapped over batches, computes the same as on each element. `before` are the
        stages in front of it."""
        function = mapped_function(self._infer, given) or mapped_method(self._infer, given)
        path = self._infer.value(given).outside if function is None else ""
        count = self.elementwise_arity(function) if function else self._infer.outside.mapped(path).elementwise
        return count > 0 and parts_of_element(before) in (None, count)

    def elementwise_arity(self, function: Function) -> int:
        """How many parameters `function` has, if it gives on a batch what it gives on each element; 0 for others."""
        return (arity(function) or 0) if is_elementwise(self._infer, function) else 0

    def goes_on(self, stage: cst.Call) -> Iterator[cst.Call]:
        """The stages that are added directly to `stage`."""
        yield from self._next.get(stage, ())

    @cached_property
    def _next(self) -> dict[cst.Call, dict[cst.Call, None]]:
        found: dict[cst.Call, dict[cst.Call, None]] = {}
        for call in self._model.calls_named(*methods("Dataset", "stage")):
            for pipeline in self.stages_before(call):
                if len(pipeline) > 1 and pipeline[-1].call is call:
                    found.setdefault(pipeline[-2].call, {})[call] = None
        return found


def _looks_like_model(call: cst.Call) -> bool:
    """Whether `call` calls something of unknown origin as a model is called: `self.model(x)`, `net(x, training=False)`."""
    given = bool(call.args) and bool(names_the_model(last_name(call.func)))
    return given or keyword_argument(call, "training") is not None
