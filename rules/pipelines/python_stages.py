"""Stages of input pipelines that run Python for each element."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.apis.facts import has, library
from tflint_perf.analysis.conventions import names_reading
from tflint_perf.analysis.execution.sizes import has_environment
from tflint_perf.analysis.pipelines.successors import is_name_of_evaluation
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import argument, descendants, last_name, string
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.values import Pipeline
from tflint_perf.records import dataclass

from .plain_numpy import OTHER_FILES, SLICES, PlainNumpy, data_of

if TYPE_CHECKING:
    from tflint_perf.analysis.model import Model

# What makes of a dataset something to train on.
_FOR_TRAINING = frozenset({"shuffle", "repeat", "batch", "padded_batch"})


@dataclass(frozen=True, slots=True)
class PythonStage:
    """`call` adds the stage, `node` is what runs Python in it, `ops` what TensorFlow has for all of that; None where the
    code does more than is known to have ops."""

    call: cst.Call
    node: cst.Call
    ops: tuple[str, ...] | None

    @property
    def computes(self) -> bool:
        """Whether Python does to the elements what TensorFlow has ops for, rather than only hand on what is in memory."""
        return self.ops is not None and self.ops != (SLICES,)


class PythonStages:
    """Finds the stages that run Python, but for what reads what TensorFlow can't."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def trained_on(self) -> Iterator[PythonStage]:
        """The stages that run Python and whose elements are made anew in each epoch to train on, each once by what runs
        Python: several stages may run it."""
        seen: set[cst.Call] = set()
        for stage in self._all():
            if stage.node in seen or self._model.successors.is_kept(stage.call):
                continue
            if self.is_trained_on(stage.call):
                seen.add(stage.node)
                yield stage

    def _all(self) -> Iterator[PythonStage]:
        model = self._model
        for call in model.calls_named("from_generator"):
            given = argument(call, 0, "generator")
            if given is None or model.value(call).kind != "dataset":
                continue
            arguments = argument(call, 3, "args") is not None
            ops = model.own(PlainNumpy).generator_ops(given, arguments=arguments)
            if ops is not None or self._only_computes(given, generates=True):
                yield PythonStage(call, call, None if ops is None else tuple(ops))
        for call in model.calls_named("map"):
            given = argument(call, 0, "map_func")
            function = model.value(given).function if given is not None else None
            if function is not None and model.value(call).kind == "dataset":
                for host in self._host_calls(function, set()):
                    body = argument(host, 0, "func")
                    ops = model.own(PlainNumpy).ops(body) if body is not None else None
                    if ops is not None or (body is not None and self._only_computes(body)):
                        yield PythonStage(call, host, None if ops is None else tuple(ops))

    def _only_computes(self, node: cst.BaseExpression, *, generates: bool = False) -> bool:
        """Whether `node` is a Python function of this file that reads nothing that TensorFlow can't read."""
        model = self._model
        if generates:
            generators = model.own(PlainNumpy).generators(node)
            return (
                bool(generators)
                and all(function.yields for function in generators)
                and not any(map(model.own(OtherReads).may_be_in_generator, generators))
            )
        name = model.qualified(node)
        if name:
            return has(name, "has-no-file") and not is_reader(name)
        function = model.own(PlainNumpy).called(node)
        return function is not None and not function.yields and not model.own(OtherReads).may_be_in(function)

    def _host_calls(self, function: Function, seen: set[Function]) -> Iterator[cst.Call]:
        """The calls that run Python in `function`, and in those that it calls."""
        if function in seen:
            return
        seen.add(function)
        for call in function.calls:
            if has(self._model.qualified(call.func), "runs-python"):
                yield call
            for target in self._model.calls.targets(call):
                yield from self._host_calls(target, seen)

    def is_trained_on(self, call: cst.Call) -> bool:
        """Whether the elements of the stage that `call` adds go into a training step, as far as the file shows."""
        successors = self._model.successors
        behind = {other.name for other in successors.behind(call)}
        if is_name_of_evaluation(last_name(argument(call, 0))):
            return False
        if successors.is_consumed(call):
            return successors.is_for_training(call)
        around = behind | {other.name for way in self._ways(call) for other in way}
        return bool(around & _FOR_TRAINING) and not successors.is_for_evaluation(call)

    def is_for_steps(self, call: cst.Call) -> bool:
        """Whether the elements of the stage that `call` adds are batched for steps that train or evaluate, as far as
        the file shows, rather than written somewhere."""
        successors = self._model.successors
        if successors.is_consumed(call):
            return successors.is_for_training(call) or successors.is_for_evaluation(call)
        around = {other.name for way in self._ways(call) for other in way}
        return bool((around | {other.name for other in successors.behind(call)}) & _FOR_TRAINING)

    def _ways(self, call: cst.Call) -> list[Pipeline]:
        return self._model.stages.before(call)


# What Python code reads that TensorFlow's ops can't: files of other formats, environments, data bases.


# In a file that says so, arrays may lie in a file of their own.
_OUT_OF_MEMORY = re.compile(
    r"h5py|hdf5|memmap|mmap_mode|lmdb|zarr|netCDF|VideoCapture|read_(hdf|parquet)", re.I
)
_IN_MEMORY = frozenset({"array", "tensor", "list", "tuple", "dict", "string", "number"})


class OtherReads:
    """Answers whether functions read what TensorFlow can't."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._infer = model.infer
        self._known: dict[Function, bool] = {}

    def may_be_in(self, function: Function) -> bool:
        """Whether a function, or one that it calls, may read such: also by a call that is not in sight, by its name."""
        return leads_to(function, self._known, self._reads)

    def may_be_in_generator(self, function: Function) -> bool:
        """The same of a generator, which may also be that of an environment."""
        return has_environment(self._model.walk.calls) or self.may_be_in(function)

    def _reads(self, function: Function) -> bool | list[Function]:
        body = function.node.body
        if any(
            OTHER_FILES.search(string(n) or "") for n in descendants(body) if isinstance(n, cst.SimpleString)
        ):
            return True
        in_memory = not _OUT_OF_MEMORY.search(self._model.text)
        if not in_memory and any(map(self._may_be_elsewhere, data_of(self._model.infer, body))):
            return True
        called: list[Function] = []
        for call in function.calls:
            targets = self._model.calls.targets(call)
            if not targets and (self._is_reader(call) or not (in_memory or self._is_known(call))):
                return True
            called += targets
        return called

    def _is_reader(self, call: cst.Call) -> bool:
        """Whether `call`, of a function that is not defined here, reads something that TensorFlow can't."""
        name = builtin_or_qualified(self._infer, call.func)
        if name == "open":
            given = argument(call, 1, "mode")
            return given is not None and "b" in (string(given) or "b")
        return is_reader(name or self._infer.names.dotted(call.func) or last_name(call.func))

    def _is_known(self, call: cst.Call) -> bool:
        """Whether a call is that of a library's function, or of a method of what is in memory."""
        if builtin_or_qualified(self._infer, call.func):
            return True
        return isinstance(call.func, cst.Attribute) and not self._may_be_elsewhere(call.func.value)

    def _may_be_elsewhere(self, node: cst.BaseExpression) -> bool:
        return self._infer.value(node).kind not in _IN_MEMORY


def is_reader(name: str) -> bool:
    """Whether a function of another library, by its name, reads what TensorFlow can't."""
    return has(name, "reads-elsewhere") or (
        bool(names_reading(name))
        and not (has(name, "reads-images") or library(name) in ("tensorflow", "keras"))
    )
