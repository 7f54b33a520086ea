"""Stages of input pipelines that run Python for each element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.model.scopes import Function
from tflint_perf.model.successors import is_name_of_evaluation
from tflint_perf.model.syntax import argument, callee_name, last_name
from tflint_perf.model.values import Pipeline
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.model import Model

_HOST_CALLS = frozenset({"tf.py_function", "tf.numpy_function", "tf.py_func"})
# What makes of a dataset something to train on.
_FOR_TRAINING = frozenset({"shuffle", "repeat", "batch", "padded_batch"})
# Behind these, elements are of unequal shapes, which arrays can't hold.
_FOR_UNEQUAL = frozenset(
    {"padded_batch", "ragged_batch", "dense_to_ragged_batch", "bucket_by_sequence_length"}
)


@dataclass(frozen=True, slots=True)
class PythonStage:
    """`call` adds the stage, `node` is what runs Python in it, `ops` what TensorFlow has for that."""

    call: cst.Call
    node: cst.Call
    ops: tuple[str, ...]


class PythonStages:
    """Finds the stages whose Python code TensorFlow can do."""

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
            arguments = argument(call, 3, "args") is not None
            ops = model.plain_numpy.generator_ops(given, arguments=arguments) if given is not None else None
            if ops is not None and model.value(call).kind == "dataset":
                yield PythonStage(call, call, tuple(ops))
        for call in model.calls_named("map"):
            given = argument(call, 0, "map_func")
            function = model.value(given).function if given is not None else None
            if function is not None and model.value(call).kind == "dataset":
                for host in self._host_calls(function, set()):
                    body = argument(host, 0, "func")
                    ops = model.plain_numpy.ops(body) if body is not None else None
                    if ops is not None:
                        yield PythonStage(call, host, tuple(ops))

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
        if callee_name(call) == "from_generator" and behind & _FOR_UNEQUAL:
            return False
        if is_name_of_evaluation(last_name(argument(call, 0))):
            return False
        if successors.is_consumed(call):
            return successors.is_for_training(call)
        around = behind | {other.name for way in self._ways(call) for other in way}
        return bool(around & _FOR_TRAINING) and not successors.is_for_evaluation(call)

    def _ways(self, call: cst.Call) -> list[Pipeline]:
        return self._model.pipelines.stages_before(call)
