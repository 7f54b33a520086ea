"""Stages of input pipelines that run Python for each element."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.pipelines.other_reads import is_reader
from tflint_perf.analysis.pipelines.successors import is_name_of_evaluation
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import argument, last_name
from tflint_perf.analysis.values.values import Pipeline
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.analysis.model import Model

_HOST_CALLS = frozenset({"tf.py_function", "tf.numpy_function", "tf.py_func"})
# What makes of a dataset something to train on.
_FOR_TRAINING = frozenset({"shuffle", "repeat", "batch", "padded_batch"})
# Libraries without a file to read in, as far as `OtherReads` lets a function of theirs pass.
_COMPUTES = re.compile(r"(np|cv2|skimage|scipy\.(ndimage|signal|special)|PIL)\..*")


@dataclass(frozen=True, slots=True)
class PythonStage:
    """`call` adds the stage, `node` is what runs Python in it, `ops` what TensorFlow has for all of that; None where the
    code does more than is known to have ops."""

    call: cst.Call
    node: cst.Call
    ops: tuple[str, ...] | None


class PythonStages:
    """Finds the stages that run Python, but for what reads what TensorFlow can't."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def trained_on(self) -> Iterator[PythonStage]:
        """Those whose elements are trained on, each once by what runs Python: several stages may run it."""
        seen: set[cst.Call] = set()
        for stage in self._all():
            if stage.node not in seen and self.is_trained_on(stage.call):
                seen.add(stage.node)
                yield stage

    def _all(self) -> Iterator[PythonStage]:
        model = self._model
        for call in model.calls_named("from_generator"):
            given = argument(call, 0, "generator")
            if given is None or model.value(call).kind != "dataset":
                continue
            arguments = argument(call, 3, "args") is not None
            ops = model.plain_numpy.generator_ops(given, arguments=arguments)
            if ops is not None or self._only_computes(given, generates=True):
                yield PythonStage(call, call, None if ops is None else tuple(ops))
        for call in model.calls_named("map"):
            given = argument(call, 0, "map_func")
            function = model.value(given).function if given is not None else None
            if function is not None and model.value(call).kind == "dataset":
                for host in self._host_calls(function, set()):
                    body = argument(host, 0, "func")
                    ops = model.plain_numpy.ops(body) if body is not None else None
                    if ops is not None or (body is not None and self._only_computes(body)):
                        yield PythonStage(call, host, None if ops is None else tuple(ops))

    def _only_computes(self, node: cst.BaseExpression, *, generates: bool = False) -> bool:
        """Whether a function of Python is in sight, and reads nothing that TensorFlow can't."""
        model = self._model
        if generates:
            generators = model.plain_numpy.generators(node)
            return (
                bool(generators)
                and all(function.yields for function in generators)
                and not any(map(model.other_reads.may_be_in_generator, generators))
            )
        name = model.qualified(node)
        if name:
            return _COMPUTES.fullmatch(name) is not None and not is_reader(name)
        function = model.plain_numpy.called(node)
        return function is not None and not function.yields and not model.other_reads.may_be_in(function)

    def _host_calls(self, function: Function, seen: set[Function]) -> Iterator[cst.Call]:
        """The calls in a function, and in those that it calls, that run Python."""
        if function in seen:
            return
        seen.add(function)
        for call in function.calls:
            if self._model.qualified(call.func) in _HOST_CALLS:
                yield call
            for target in self._model.calls.targets(call):
                yield from self._host_calls(target, seen)

    def is_trained_on(self, call: cst.Call) -> bool:
        """Whether the elements of the stage that a call adds go into a training step, as far as the file shows."""
        successors = self._model.successors
        behind = {other.name for other in successors.behind(call)}
        if is_name_of_evaluation(last_name(argument(call, 0))):
            return False
        if successors.is_consumed(call):
            return successors.is_for_training(call)
        around = behind | {other.name for way in self._ways(call) for other in way}
        return bool(around & _FOR_TRAINING) and not successors.is_for_evaluation(call)

    def is_for_steps(self, call: cst.Call) -> bool:
        """Whether the elements of the stage that a call adds are batched for steps that train or evaluate, as far as the
        file shows, rather than written somewhere."""
        successors = self._model.successors
        if successors.is_consumed(call):
            return successors.is_for_training(call) or successors.is_for_evaluation(call)
        around = {other.name for way in self._ways(call) for other in way}
        return bool((around | {other.name for other in successors.behind(call)}) & _FOR_TRAINING)

    def _ways(self, call: cst.Call) -> list[Pipeline]:
        return self._model.pipelines.stages_before(call)
