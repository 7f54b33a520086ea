"""Input pipelines of TensorFlow 1 programs: iterators that are part of a graph, and input functions of estimators."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.left_on import is_main_guard
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.pipelines.consumption import Consumption, Use
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import argument, keyword_argument
from tflint_perf.analysis.training.graphs import Graphs
from tflint_perf.analysis.training.train_calls import TrainCalls
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Value

_ITERATORS = ("make_one_shot_iterator", "make_initializable_iterator")
# What takes the elements of an input function, and what for.
_TAKERS: dict[str, Use] = {
    "train": "train", "evaluate": "infer", "predict": "infer", "TrainSpec": "train", "EvalSpec": "infer"
}  # fmt: skip
_TRAINING = ("minimize", "apply_gradients", "fit", "fit_generator", "train", "train_and_evaluate", "run")
# Who looks at a dataset needs neither.
_FOR_TRAINING = ("shuffle", "repeat", "shuffle_and_repeat")


class GraphInputs(Part):
    """Answers which datasets a graph, or an estimator, takes elements from on each step."""

    _infer: Inference
    _calls: CallGraph
    _compiled: Compiled
    _loops: Loops
    _train_calls: TrainCalls

    def __post_init__(self) -> None:
        self._graphs = Graphs(self._infer, self._calls, self._compiled, self._loops)

    def consumptions(self) -> Iterator[Consumption]:
        """Every dataset that graph code consumes, where an iterator is made of it, or where an input function gives it."""
        yield from self._given_to_iterators()
        yield from self._given_to_estimators()

    # Iterators

    def _given_to_iterators(self) -> Iterator[Consumption]:
        for node in self._iterated():
            value = self._infer.value(node)
            if value.kind == "dataset" and self._is_graph_code(node) and self._trains_with(node, value):
                yield Consumption(node, value, "train", in_graph=True)

    def _iterated(self) -> Iterator[cst.BaseExpression]:
        """What an iterator is made of: `dataset.make_one_shot_iterator()`, `iterator.make_initializer(dataset)`."""
        for name in (*_ITERATORS, "make_initializer"):
            for call in self._walk.calls.get(name, ()):
                given = argument(call, 0, "dataset")
                if given is not None and not isinstance(given, cst.SimpleString):
                    yield given
                elif name in _ITERATORS and isinstance(call.func, cst.Attribute):
                    yield call.func.value

    def _is_graph_code(self, node: cst.CSTNode) -> bool:
        return self._train_calls.is_graph_code() or self._graphs.is_graph_code(node)

    def _trains_with(self, node: cst.CSTNode, value: Value) -> bool:
        """Whether the file trains, or has a function that makes an iterator for one that does, by its stages."""
        if self._trains:
            return True
        # What a file of functions does when it is run by itself is a trial of them.
        runs = any(
            self._train_calls.runs_session(call) and not any(map(is_main_guard, conditions(self._walk, call)))
            for call in self._walk.calls.get("run", ())
        )
        return (
            not runs and self._calls.function_at(node) is not None and value.some_pipeline_has(*_FOR_TRAINING)
        )

    @cached_property
    def _trains(self) -> bool:
        return any(
            self._train_calls.makes_train_op(call)
            or self._train_calls.fits(call)
            or self._train_calls.runs_train_op(call)
            for call in self._walk.calls_named(*_TRAINING)
        )

    # Estimators

    def _given_to_estimators(self) -> Iterator[Consumption]:
        for name, use in _TAKERS.items():
            for call in self._walk.calls.get(name, ()):
                given = keyword_argument(call, "input_fn") or (
                    argument(call, 0) if name.endswith("Spec") else None
                )
                if given is not None:
                    yield from self._given_by(given, use)

    def _given_by(self, given: cst.BaseExpression, use: Use) -> Iterator[Consumption]:
        """The dataset that the input function `given` returns first, when it is called."""
        made = self._infer.value(given)
        if made.function is not None:
            value, node = self._infer.returned(made.function), _returned(made.function)
        else:
            value, node = self._infer.outside.called(made.outside) if made.outside else made, None
        if value.kind == "dataset":
            yield Consumption(node if node is not None else given, value, use, in_graph=True)


def _returned(function: Function) -> cst.BaseExpression | None:
    if isinstance(function.node, cst.Lambda):
        return function.node.body
    return next((statement.value for statement in function.returns if statement.value is not None), None)
