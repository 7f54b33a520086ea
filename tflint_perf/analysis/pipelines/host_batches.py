"""Batches that Python makes on the host, sample by sample or by drawing numbers, on each step of a training loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, takewhile

import libcst as cst

from tflint_perf.analysis.conventions import names_experience
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.each_step import EachStep
from tflint_perf.analysis.execution.filled_lists import is_filled_within
from tflint_perf.analysis.execution.guards import Guards
from tflint_perf.analysis.execution.loops import Loops, fitted
from tflint_perf.analysis.execution.sizes import has_environment
from tflint_perf.analysis.execution.steady_conditions import Usual
from tflint_perf.analysis.execution.trains import FITS
from tflint_perf.analysis.pipelines.batch_makers import BatchMakers
from tflint_perf.analysis.pipelines.element_uses import ElementUses
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import (
    descendants,
    descendants_here,
    dotted_name,
    keyword_argument,
    mentions,
    same_code,
    target_names,
)
from tflint_perf.analysis.training.feeds import Feeds
from tflint_perf.analysis.training.file_reads import FileReads
from tflint_perf.analysis.training.fit_workers import FitWorkers
from tflint_perf.analysis.training.train_calls import TrainCalls
from tflint_perf.analysis.values.caller import Batch, Beside
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import sources
from tflint_perf.analysis.values.keras_flows import Makers
from tflint_perf.analysis.values.outside import name_outside
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass


@dataclass(frozen=True, slots=True)
class HostBatch:
    """An expression that gives a batch to a step loop, how the batch is made, and whether Keras makes it `ahead` of the step:
    in a thread beside it, or in `several`; `validates` says that nothing is trained on it."""

    node: cst.BaseExpression
    how: Batch
    ahead: bool = False
    several: bool = False
    validates: bool = False


class HostBatches(Part):
    """Finds such batches: one for a statement."""

    _infer: Inference
    _loops: Loops
    _each_step: EachStep
    _feeds: Feeds
    _train_calls: TrainCalls
    _element_uses: ElementUses
    _batch_makers: BatchMakers
    _batch_loops: BatchLoops
    _made_for_fit: MadeForFit

    def __post_init__(self) -> None:
        self._usually = Usual(self._infer).holds

    def all(self) -> Iterator[HostBatch]:
        """The batches that Python makes on the host in training loops, and Keras's own generators that train."""
        if has_environment(self._walk.calls):
            return  # what an agent does decides what the data are
        told: list[tuple[Function | None, cst.BaseExpression]] = []
        for loop in list(self._walk.loops.values()):
            node = loop.node
            if not isinstance(node, cst.CompFor) and self._batch_loops.takes_batches(loop):
                found = self._one_a_statement(filter(self._is_data, self._in_loop(loop, node)))
                # A loop of validation below asks the maker of the training's batches by the same code.
                asked = [told_of for function, told_of in told if function is loop.function]
                new = [each for each in found if not any(same_code(each.node, other) for other in asked)]
                told += [(loop.function, each.node) for each in new]
                yield from new
        yield from self._one_a_statement(self._made_for_fit.all())

    def _one_a_statement(self, batches: Iterable[HostBatch]) -> Iterator[HostBatch]:
        """The first batch of each statement: `x, y = np.array(…), np.array(…)` makes one. Draws make one together."""
        seen: set[cst.CSTNode | str] = set()
        for batch in batches:
            at = batch.how if batch.how == "drawn" else self._walk.statement_of(batch.node)
            if at not in seen:
                seen.add(at)
                yield batch

    def _is_data(self, batch: HostBatch) -> bool:
        """Whether `batch` puts samples together; sessions are fed with what NumPy draws, and their ops run in the
        graph."""
        return batch.how in ("stacked", "augmented") or not self._train_calls.is_graph_code()

    # In a loop

    def _in_loop(self, loop: Loop, holder: cst.For | cst.While) -> Iterator[HostBatch]:
        if isinstance(holder, cst.For):
            yield from self._iterated(holder.iter)
        for node in descendants(holder.body):
            if not isinstance(node, cst.BaseExpression) or self._loops.step_loop(node) is not loop:
                continue
            how = self._batch_makers.how(node) or (
                "stacked" if is_filled_within(self._infer, node, loop) else None
            )
            if how is not None and (mentions(node, self._answers_in(loop)) or self._uses_batch(node)):
                continue
            if how is not None and self._runs_each_step(node) and self._feeds.a_step(node):
                yield HostBatch(node, how)

    def _uses_batch(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a step itself, in which a model is asked or trained, whatever arrays it makes on the way, or is
        given the model, so that the batch hangs on what that has learned."""
        if not isinstance(node, cst.Call):
            return False
        given = (self._infer.value(arg.value) for arg in node.args)
        return self._element_uses.use_of_call(node) is not None or any(each.kind == "model" for each in given)

    @remembered
    def _answers_in(self, loop: Loop) -> set[str]:
        """The names of what an iteration makes of a model's answers: no pipeline can make that ahead of the step."""
        return set(self._made_of_answers(loop))

    def _made_of_answers(self, loop: Loop) -> set[str]:
        found: set[str] = set()
        around = loops_around(loop)[-1]
        # What a loop around has made before, in the same iteration of its own, is no more there ahead of the step.
        before = takewhile(lambda node: node is not loop.node, descendants_here(around.node))
        for node in chain(before, descendants_here(loop.node)):
            match node:
                case cst.Assign(value=value) if mentions(value, found) or self._asks_model(value):
                    found |= {name.value for target in node.targets for name in target_names(target.target)}
                case cst.For(iter=iterable, target=target) if mentions(iterable, found):
                    found |= {name.value for name in target_names(target)}
                case cst.Call(
                    func=cst.Attribute(value=cst.Name(value=name), attr=cst.Name("append" | "extend"))
                ):
                    if any(mentions(arg, found) for arg in node.args):
                        found.add(name)
        return found

    def _asks_model(self, node: cst.BaseExpression) -> bool:
        """Whether `node` asks a model for its predictions."""
        return any(
            isinstance(part, cst.Call) and self._element_uses.use_of_call(part) == "infer"
            for part in descendants(node)
        )

    def _runs_each_step(self, node: cst.CSTNode) -> bool:
        """Whether each step runs `node`, if the settings ask for it: `if tokenizer is not None`."""
        return self._each_step.runs(node, self._usually)

    def _iterated(self, node: cst.BaseExpression) -> Iterator[HostBatch]:
        """What a loop over a generator, or over an object that makes batches, gets."""
        for each in sources(self._infer, node):
            how = self._batch_makers.sources.of(each)
            if how is not None and not names_experience(dotted_name(each)):
                yield HostBatch(each, how)


class BatchLoops(Part):
    """Answers which loops are such."""

    _infer: Inference
    _calls: CallGraph
    _compiled: Compiled
    _loops: Loops
    _guards: Guards
    _file_reads: FileReads

    def takes_batches(self, loop: Loop) -> bool:
        """Whether each iteration of `loop`, in eager code, is a step that trains or validates."""
        return (
            self._loops.kind(loop) == "step"
            and self._compiled.is_eager(loop.node)
            and (self._file_reads.is_trained_in(loop) or self._validates(loop))
        )

    def _validates(self, loop: Loop) -> bool:
        """Whether `loop` iterates over other batches in each epoch of a training, here or in a function for that."""
        places: list[cst.CSTNode] = [loop.node]
        if loop.parent is None and loop.function is not None:
            places = [*self._calls.sites(loop.function)]
        return not loop.yields and any(map(self._runs_each_epoch, places))

    def _runs_each_epoch(self, node: cst.CSTNode) -> bool:
        """Whether each epoch of a training runs `node`."""
        epoch = self._loops.innermost_loop(node)
        return (
            epoch is not None
            and self._loops.kind(epoch) == "epoch"
            and self._file_reads.is_trained_in(epoch)
            and self._guards.guard_of(node) is None
            and all(map(self._file_reads.usually, conditions(self._walk, node, epoch.node, exits=False)))
        )


class MadeForFit(Part):
    """Finds such batches, and who makes them."""

    _infer: Inference
    _calls: CallGraph
    _batch_makers: BatchMakers

    def __post_init__(self) -> None:
        self._sources = self._batch_makers.sources
        self._makers = Makers(self._infer, self._calls)
        self._workers = FitWorkers(self._infer)

    def all(self) -> Iterator[HostBatch]:
        """What each `fit` is given to train on, or the generators of images behind that; each once."""
        fits = [call for call in self._walk.calls_named(*FITS) if self._trains(call)]
        seen: set[cst.CSTNode] = set()
        for call in fits:
            given = fitted(call)
            how = self._sources.of(given) if given is not None and not self._has_makers(given) else None
            if given is not None and how is not None and (made := self._made_at(given)) not in seen:
                seen.add(made)
                yield self._batch(call, given, how)
        if self._sources.has_flows():
            yield from self._makers_behind(fits)

    def _makers_behind(self, fits: list[cst.Call]) -> Iterator[HostBatch]:
        """The generators of images that make what is trained on, or where there are none, what is validated on: one mend is
        that of both."""
        found: dict[cst.Call, HostBatch] = {}
        for call in fits:
            for maker in self._makers_of(fitted(call)):
                found.setdefault(maker, self._batch(call, maker.func, "augmented"))
        for maker in self._for_others():
            found.setdefault(maker, HostBatch(maker.func, "augmented", ahead=True))
        for call in fits:
            if self._has_makers(fitted(call)):
                continue
            for maker in self._makers_of(keyword_argument(call, "validation_data")):
                batch = self._batch(call, maker.func, "augmented")
                found.setdefault(maker, replace(batch, validates=True))
        yield from found.values()

    def _trains(self, call: cst.Call) -> bool:
        """Whether `call` is a `fit` of Keras that waits for Python to make batches: not one for which several processes
        do that at a time."""
        if self._made_in(call) == "processes":
            return False
        return isinstance(call.func, cst.Attribute) and self._infer.value(call.func.value).kind in (
            "model",
            "unknown",
        )

    def _made_in(self, call: cst.Call) -> Beside:
        """Where a `fit` has its batches made, as it says itself, or else the class of its data."""
        given = fitted(call)
        said = self._workers.said_by(call)
        return said or self._workers.said_in(self._infer.value(given).klass if given is not None else None)

    def _batch(self, call: cst.Call, node: cst.BaseExpression, how: Batch) -> HostBatch:
        made_in = self._made_in(call)
        return HostBatch(node, how, ahead=made_in != "step", several=made_in == "threads")

    def _made_at(self, given: cst.BaseExpression) -> cst.CSTNode:
        """Where `given`, the argument of a `fit`, is made, as far as one name shows."""
        bindings = self._infer.bindings(given)
        made = bindings[0].value if len(bindings) == 1 else None
        return made if made is not None else given

    def _has_makers(self, given: cst.BaseExpression | None) -> bool:
        return self._sources.has_flows() and any(self._makers_of(given))

    def _makers_of(self, given: cst.BaseExpression | None) -> Iterator[cst.Call]:
        if given is not None:
            yield from self._makers.of(given)

    def _for_others(self) -> Iterator[cst.Call]:
        """The generators of images that functions give to other files, which train on them."""
        for function in self._walk.functions.values():
            makers = list(self._makers.given_by(function)) if name_outside(function) else []
            if makers and any(caller.fed for caller in self._calls.callers_outside(function)):
                yield from makers
