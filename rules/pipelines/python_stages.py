"""Stages of input pipelines that run Python for each element."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.pipelines.batching import Batching
from tflint_perf.analysis.pipelines.reads_without_op import OtherReads, is_reader
from tflint_perf.analysis.pipelines.stages import Stages
from tflint_perf.analysis.pipelines.successors import Successors, is_name_of_evaluation
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import argument, descendants, last_name
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Pipeline, Stage
from tflint_perf.records import dataclass

from .list_generators import HandingOn
from .mapped_work import MappedWork
from .plain_numpy import DECODER, SLICES, PlainNumpy

# What makes of a dataset something to train on.
_FOR_TRAINING = frozenset({"shuffle", "repeat", "batch", "padded_batch"})


@dataclass(frozen=True, slots=True)
class PythonStage:
    """`call` adds the stage, `node` is what runs Python in it, `ops` what TensorFlow has for all of that; None where the
    code does more than is known to have ops. `draws` says that it draws random numbers, `hands_on` that a generator does
    nothing but give the items of what it has, `shuffled` or not."""

    call: cst.Call
    node: cst.Call
    ops: tuple[str, ...] | None
    draws: bool = False
    hands_on: bool = False
    shuffled: bool = False

    @property
    def computes(self) -> bool:
        """Whether Python does to the elements what TensorFlow has ops for, rather than only hand on what is in memory."""
        return self.ops is not None and self.ops != (SLICES,)


class PythonStages(Part):
    """Finds the stages that run Python, but for what reads what TensorFlow can't."""

    own = (PlainNumpy, OtherReads, HandingOn, MappedWork)

    _infer: Inference
    _calls: CallGraph
    _stages: Stages
    _batching: Batching
    _successors: Successors
    _plain_numpy: PlainNumpy
    _other_reads: OtherReads
    _handing_on: HandingOn
    _mapped_work: MappedWork

    def __post_init__(self) -> None:
        self._drawing: dict[Function, bool] = {}

    def trained_on(self) -> Iterator[PythonStage]:
        """The stages that run Python and whose elements are made anew in each epoch to train on, each once by what runs
        Python: several stages may run it."""
        seen: set[cst.Call] = set()
        for stage in self._all():
            if stage.node in seen or self._successors.is_kept(stage.call):
                continue
            if self._reads_other_images(stage):
                continue
            if self.is_trained_on(stage.call):
                seen.add(stage.node)
                yield stage

    def _all(self) -> Iterator[PythonStage]:
        for call in self._walk.calls_named("from_generator"):
            given = argument(call, 0, "generator")
            if given is None or self._infer.value(call).kind != "dataset":
                continue
            arguments = argument(call, 3, "args") is not None
            ops = self._plain_numpy.generator_ops(given, arguments=arguments)
            if ops is not None or self._only_computes(given, generates=True):
                functions = self._plain_numpy.generators(given)
                yield PythonStage(
                    call,
                    call,
                    None if ops is None else tuple(ops),
                    draws=any(map(self._draws, functions)),
                    hands_on=bool(functions) and all(map(self._handing_on.is_all_of, functions)),
                    shuffled=any(map(self._handing_on.shuffles, functions)),
                )
        for call in self._walk.calls_named("map"):
            given = argument(call, 0, "map_func")
            function = self._infer.value(given).function if given is not None else None
            if function is not None and self._infer.value(call).kind == "dataset":
                for host in self.host_calls(function):
                    body = argument(host, 0, "func")
                    ops = self._plain_numpy.ops(body) if body is not None else None
                    if ops is not None or (body is not None and self._only_computes(body)):
                        called = self._plain_numpy.called(body) if body is not None else None
                        draws = called is not None and self._draws(called)
                        yield PythonStage(call, host, None if ops is None else tuple(ops), draws=draws)

    def _reads_other_images(self, stage: PythonStage) -> bool:
        """Whether a function reads images of a kind for which TensorFlow has no decoder, as the code says that names the files: that of the
        same function, or of the module."""
        if DECODER not in (stage.ops or ()):
            return False
        function = self._calls.function_at(stage.call)
        return self._other_reads.names_other_files(
            self._walk.module if function is None else function.node.body
        )

    def _draws(self, function: Function) -> bool:
        """Whether `function`, or one that it calls, draws random numbers on the host."""
        return leads_to(function, self._drawing, self._draws_itself)

    def _draws_itself(self, function: Function) -> bool | list[Function]:
        names = (self._infer.names.qualified(call.func) for call in function.calls)
        if any(has(name, "draws-on-host") for name in names):
            return True
        return [target for call in function.calls for target in self._calls.targets(call)]

    def _only_computes(self, node: cst.BaseExpression, *, generates: bool = False) -> bool:
        """Whether `node` is a Python function that is known to read nothing that TensorFlow can't read: one of this file,
        or a generator of another."""
        if generates:
            generators = self._plain_numpy.generators(node)
            if not generators and (path := self._infer.value(node).outside):
                return self._infer.outside.mapped(path).only_generates
            return (
                bool(generators)
                and all(function.yields or function.name == "__getitem__" for function in generators)
                and not any(map(self._other_reads.may_be_in_generator, generators))
            )
        name = self._infer.names.qualified(node)
        if name:
            return has(name, "has-no-file") and not is_reader(name)
        function = self._plain_numpy.called(node)
        return function is not None and not function.yields and not self._other_reads.may_be_in(function)

    def host_calls(self, function: Function) -> Iterator[cst.Call]:
        """The calls that run Python in `function`, and in those that it calls."""
        yield from self._host_calls(function, set())

    def _host_calls(self, function: Function, seen: set[Function]) -> Iterator[cst.Call]:
        if function in seen:
            return
        seen.add(function)
        for call in function.calls:
            if self._infer.names.is_call_that(call, "runs-python"):
                yield call
            for target in self._calls.targets(call):
                yield from self._host_calls(target, seen)

    def is_trained_on(self, call: cst.Call) -> bool:
        """Whether the elements of the stage that `call` adds go into a training step, as far as the file shows."""
        successors = self._successors
        behind = {other.name for other in successors.behind(call)}
        if is_name_of_evaluation(last_name(argument(call, 0))):
            return False
        if successors.is_consumed(call):
            return successors.is_for_training(call)
        if successors.is_left_alone(call):
            return False
        around = behind | {other.name for way in self._ways(call) for other in way}
        return bool(around & _FOR_TRAINING) and not successors.is_for_evaluation(call)

    def is_followed_by_work(self, call: cst.Call) -> bool:
        """Whether what a later `map` does to the elements takes far longer than to hand them on: it reads, decodes or resizes
        something, or runs Python; or the elements are texts, most often paths, with which no step can do anything."""
        is_text = any(
            has(self._infer.names.qualified(node), "type-of-texts")
            for arg in call.args
            for node in descendants(arg.value)
            if isinstance(node, cst.Attribute)
        )
        return any(
            stage.name == "map" and (is_text or self._works(stage)) for stage in self._successors.behind(call)
        )

    def _works(self, stage: Stage) -> bool:
        given = argument(stage.call, 0, "map_func")
        function = self._infer.value(given).function if given is not None else None
        runs_python = function is not None and any(self.host_calls(function))
        return runs_python or self._mapped_work.reads_or_decodes(stage)

    def gets_batches(self, call: cst.Call) -> bool:
        """Whether the elements that the stage of `call` works on may be whole batches."""
        return any(self._batching.along(way[:-1]) == "batches" for way in self._ways(call))

    def is_for_steps(self, call: cst.Call) -> bool:
        """Whether the elements of the stage that `call` adds are batched for steps that train or evaluate, as far as
        the file shows, rather than written somewhere."""
        successors = self._successors
        if successors.is_consumed(call):
            return successors.is_for_training(call) or successors.is_for_evaluation(call)
        around = {other.name for way in self._ways(call) for other in way}
        return bool((around | {other.name for other in successors.behind(call)}) & _FOR_TRAINING)

    def _ways(self, call: cst.Call) -> list[Pipeline]:
        return self._stages.before(call)
