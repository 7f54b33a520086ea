"""What comes behind a stage of an input pipeline, and what its elements are for."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Literal

import libcst as cst

from tflint_perf.analysis.apis.facts import methods
from tflint_perf.analysis.conventions import names_evaluation, names_training_data
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.op_loops import is_read
from tflint_perf.analysis.execution.short_loops import only_inspects
from tflint_perf.analysis.execution.trains import FITS
from tflint_perf.analysis.pipelines.consumption import Consumption
from tflint_perf.analysis.pipelines.pipelines import Pipelines
from tflint_perf.analysis.pipelines.stages import Stages
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.analysis.python.syntax import (
    callee_name,
    has_stars,
    is_name,
    keyword_argument,
    names_written,
)
from tflint_perf.analysis.training.programs import Programs
from tflint_perf.analysis.training.single_passes import calls_in
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Pipeline, Stage, Value

# Of files, and of what writes records to them.
_WRITES = frozenset({"write", "writerow"})
Purpose = Literal["train", "evaluate"]

# A `fit` of so many arguments may be told by position how many epochs there are.
_EPOCHS = 4


class Successors(Part):
    """Answers what follows a stage, however far behind it, and where that ends up."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _programs: Programs
    _stages: Stages
    _pipelines: Pipelines
    _form: str

    def behind(self, call: cst.Call) -> list[Stage]:
        """The stages that follow the one that `call` adds, in all pipelines of the file."""
        found: dict[cst.Call, Stage] = {}
        waiting = [call]
        while waiting:
            for stage in self._next.get(waiting.pop(), ()):
                if stage.call not in found:
                    found[stage.call] = stage
                    waiting.append(stage.call)
        return list(found.values())

    def directly_behind(self, call: cst.Call) -> list[Stage]:
        """The stages that are put on what the stage of `call` gives."""
        return self._next.get(call, [])

    @cached_property
    def _next(self) -> dict[cst.Call, list[Stage]]:
        after: dict[cst.Call, dict[cst.Call, Stage]] = {}
        calls = self._walk.calls_named(*methods("Dataset", "stage"), *methods("Dataset", "joins"))
        for call in calls:
            for pipeline in self._stages.before(call):
                for one, other in _neighbours(pipeline):
                    if self._is_here(one.call):
                        after.setdefault(one.call, {})[other.call] = other
        return {call: list(stages.values()) for call, stages in after.items()}

    # How often

    def is_kept(self, call: cst.Call) -> bool:
        """Whether the results of the stage that `call` adds are cached, so that it runs only once over the dataset: a
        `cache` stands behind it on every way, with no `repeat` in between that would keep it from ever being complete.
        """
        if self._is_gone_over_once(call):
            return False
        ends = {way[-1].call for consumption in self._consumed(call) for way in consumption.value.pipelines}
        return call not in ends and self._is_cached(call, call, ends, set())

    def _is_cached(
        self, stage: cst.Call, call: cst.Call, ends: Container[cst.Call], seen: set[cst.Call]
    ) -> bool:
        seen.add(call)
        later = [behind for behind in self._next.get(call, ()) if behind.call not in seen]
        return bool(later) and all(
            self._is_sure(behind.call, stage)
            if behind.name == "cache"
            else behind.name != "repeat"
            and behind.call not in ends
            and self._is_cached(stage, behind.call, ends, seen)
            for behind in later
        )

    def _is_sure(self, cache: cst.Call, stage: cst.Call) -> bool:
        """Whether `cache` runs under no condition that `stage` does not run under as well."""
        asked = set(conditions(self._walk, stage, exits=False))
        return asked.issuperset(conditions(self._walk, cache, exits=False))

    def _is_gone_over_once(self, call: cst.Call) -> bool:
        """Whether the file only iterates once over the elements of the stage that `call` adds."""
        consumed = self._consumed(call)
        if len(consumed) != 1 or any(stage.name == "repeat" for stage in self.behind(call)):
            return False
        consumption = consumed[0]
        if consumption.loop is not None:
            return not self._loops.is_repeated(consumption.loop.node)
        fit = self._walk.parents.get(self._walk.parents.get(consumption.node) or consumption.node)
        if not isinstance(fit, cst.Call) or callee_name(fit) not in FITS or has_stars(fit):
            return False
        epochs = keyword_argument(fit, "epochs")
        once = self._infer.integers.only(epochs) == 1 if epochs is not None else len(fit.args) < _EPOCHS
        return once and self._loops.innermost_loop(fit) is None

    def _consumed(self, call: cst.Call) -> list[Consumption]:
        """The places that take the elements of the stage that `call` adds."""
        return self._consumptions.get(call, [])

    @cached_property
    def _consumptions(self) -> dict[cst.Call, list[Consumption]]:
        found: dict[cst.Call, list[Consumption]] = {}
        for consumption in self._pipelines.consumptions():
            for call in dict.fromkeys(stage.call for stage in _stages_of(consumption.value)):
                found.setdefault(call, []).append(consumption)
        return found

    # What for

    def is_for_training(self, call: cst.Call) -> bool:
        """Whether a step or `fit` gets the elements of the stage that `call` adds."""
        return "train" in self._purposes.get(call, ())

    def is_for_evaluation(self, call: cst.Call) -> bool:
        """Whether the elements of the stage that `call` adds are only for evaluation or prediction, or are named so."""
        purposes = self._purposes.get(call)
        if purposes:
            return "train" not in purposes
        calls = [call, *(stage.call for stage in self.behind(call))]
        return any(is_name_of_evaluation(name) for each in calls for name in self._names_of(each))

    def may_be_predicted_on(self, call: cst.Call) -> bool:
        """Whether a model predicts on the elements of the stage that `call` adds, in the order in which they come, or may do
        so in another file, as they are named."""
        given = [self._walk.parents.get(consumption.node) for consumption in self._consumed(call)]
        calls = [self._walk.parents.get(arg) for arg in given if isinstance(arg, cst.Arg)]
        if any(isinstance(each, cst.Call) and callee_name(each) == "predict" for each in calls):
            return True
        return not self.is_consumed(call) and self.is_for_evaluation(call)

    def is_named_for_training(self, call: cst.Call) -> bool:
        """Whether the elements of the stage that `call` adds are named as data to train on."""
        calls = [call, *(stage.call for stage in self.behind(call))]
        return any(
            names_training_data(name) and not is_name_of_evaluation(name)
            for each in calls
            for name in self._names_given(each)
        )

    def is_consumed(self, call: cst.Call) -> bool:
        """Whether something in the file takes the elements of the stage that `call` adds."""
        return bool(self._purposes.get(call))

    def is_only_looked_at(self, call: cst.Call) -> bool:
        """Whether the program takes only a few elements of what `call` gives, as by `for x in dataset.take(1)` or
        `next(iter(dataset))`, or none at all, or a person looks at each."""
        return self._is_looked_at(call, frozenset(), self._shows)

    def is_left_alone(self, call: cst.Call) -> bool:
        """Whether the program takes no elements of what `call` gives, but for a look at one."""
        return self._is_looked_at(call, frozenset(), lambda loop: False)

    def is_only_gone_over(self, call: cst.Call) -> bool:
        """Whether all that takes elements of what `call` gives are loops of Python that train no model and apply none: they count
        elements, show them, or write each to a file. No training waits for these."""
        return self._is_looked_at(call, frozenset(), self._goes_over)

    @cached_property
    def _loops_of_steps(self) -> frozenset[Loop]:
        """The loops in which a model gets elements."""
        return frozenset(each.loop for each in self._pipelines.consumptions() if each.loop is not None)

    def _shows(self, loop: Loop) -> bool:
        return only_inspects(self._infer, loop) or self._loops.waits_for_person(loop)

    def is_only_written(self, call: cst.Call) -> bool:
        """Whether loops only go over the elements of what `call` gives, and one of these writes them to a file."""
        return self.is_only_gone_over(call) and any(
            any(stage.call is call for stage in _stages_of(self._infer.value(loop.iterable)))
            for loop in self._walk.loops.values()
            if loop.iterable is not None and self._writes(loop)
        )

    def _goes_over(self, loop: Loop) -> bool:
        """Whether `loop` counts elements, or writes each to a file."""
        if self._shows(loop):
            return True
        return loop not in self._loops_of_steps and (self._writes(loop) or not list(calls_in(loop)))

    def _writes(self, loop: Loop) -> bool:
        return any(
            callee_name(call) in _WRITES or self._infer.names.is_call_that(call, "writes-files")
            for call in calls_in(loop)
        )

    def _is_looked_at(self, call: cst.Call, asked: frozenset[cst.Call], by: Callable[[Loop], bool]) -> bool:
        if call in asked:
            return False
        asked |= {call}
        if self._infer.integers.takes_few(call):
            return True
        reads = self._reads(call)
        if reads is None:
            if self._is_receiver(call):
                return self._is_built_on_for_a_look(call, asked, by)
            return self._is_inspected(call, asked, by)
        if not reads:
            return self._is_for_nobody(call)
        looks = [use for use in reads if not self._is_receiver(use)]
        return all(self._is_inspected(use, asked, by) for use in looks) and (
            len(looks) == len(reads) or self._is_built_on_for_a_look(call, asked, by)
        )

    def _is_for_nobody(self, call: cst.Call) -> bool:
        """Whether nobody else can read a name that nothing in the file reads: it is a function's, a notebook's, or that of a program."""
        if self._calls.function_at(call) is not None or self._form != "script":
            return True
        return self._programs.trains()

    def _is_built_on_for_a_look(
        self, call: cst.Call, asked: frozenset[cst.Call], by: Callable[[Loop], bool]
    ) -> bool:
        later = self._next.get(call, ())
        return bool(later) and all(self._is_looked_at(stage.call, asked, by) for stage in later)

    def _reads(self, call: cst.Call) -> list[cst.Name] | None:
        """Where a name is read that a statement assigns the result of `call` to, under a condition or not; None where it
        does anything else with it."""
        statement = self._walk.parents.get(call)
        while isinstance(statement, cst.IfExp):
            statement = self._walk.parents.get(statement)
        if not isinstance(statement, cst.Assign):
            return None
        reads: list[cst.Name] = []
        for target in statement.targets:
            if not isinstance(target.target, cst.Name):
                return None
            mentions = self._infer.names.mentions(target.target.value, self._infer.names.home(target.target))
            reads += (use for use in mentions if self._may_read(use, statement.value))
        return reads

    def _may_read(self, use: cst.Name, value: cst.BaseExpression) -> bool:
        return is_read(self._walk.parents, use) and any(
            binding.value is value for binding in self._infer.bindings(use)
        )

    def _is_receiver(self, node: cst.CSTNode) -> bool:
        """Whether another stage is added directly to `node`."""
        asked = self._walk.parents.get(node)
        stage = (
            self._walk.parents.get(asked)
            if isinstance(asked, cst.Attribute) and asked.value is node
            else None
        )
        return (
            isinstance(stage, cst.Call)
            and stage.func is asked
            and callee_name(stage) in methods("Dataset", "stage")
        )

    def _is_inspected(
        self, node: cst.CSTNode, asked: frozenset[cst.Call], by: Callable[[Loop], bool]
    ) -> bool:
        """Whether `node` is what a loop iterates over that does no more than is said, `by`, or `next` takes
        one of, or is what a function gives to callers of whom each does so."""
        around = self._walk.parents.get(node)
        match around:
            case cst.For():
                return around.iter is node and by(self._walk.loops[around])
            case cst.Return():
                return self._is_given_for_a_look(around, asked, by)
            case cst.Expr() if isinstance(node, cst.Name):
                return True  # a cell shows what it is, and takes no element
        iterated = self._call_given(node, "iter")
        if iterated is None:
            return False
        named = self._reads(iterated)
        if named == []:
            return self._is_for_nobody(iterated)
        taken = [self._call_given(use, "next") for use in ([iterated] if named is None else named)]
        return bool(taken) and all(call is not None and not self._loops.is_repeated(call) for call in taken)

    def _call_given(self, node: cst.CSTNode, name: str) -> cst.Call | None:
        """The call of a function of that name that gets `node` alone."""
        given = self._walk.parents.get(node)
        call = self._walk.parents.get(given) if isinstance(given, cst.Arg) else None
        alone = isinstance(call, cst.Call) and len(call.args) == 1 and is_name(call.func, name)
        return call if isinstance(call, cst.Call) and alone else None

    def _is_given_for_a_look(
        self, statement: cst.Return, asked: frozenset[cst.Call], by: Callable[[Loop], bool]
    ) -> bool:
        function = self._calls.function_at(statement)
        if function is None or self._calls.callers_outside(function):
            return False
        sites = self._calls.sites(function)
        return bool(sites) and all(self._is_looked_at(site, asked, by) for site in sites)

    @cached_property
    def _purposes(self) -> dict[cst.Call, set[Purpose]]:
        return {call: set(map(self._purpose, consumed)) for call, consumed in self._consumptions.items()}

    def _purpose(self, consumption: Consumption) -> Purpose:
        parent = self._walk.parents.get(consumption.node)
        validates = isinstance(parent, cst.Arg) and parent.keyword is not None
        validates = validates and parent.keyword.value == "validation_data"  # type: ignore[union-attr]
        return "train" if consumption.use == "train" and not validates else "evaluate"

    def _names_of(self, call: cst.Call) -> Iterator[str]:
        """The names that what a stage gives is bound to, or given as, and that of the function around it."""
        if not self._is_here(call):
            return
        yield from self._names_given(call)
        match self._walk.parents.get(call):
            case cst.Arg(keyword=cst.Name(value=name)):
                yield name
        function = self._calls.function_at(call)
        if function is not None:
            yield function.name

    def _names_given(self, call: cst.Call) -> Iterator[str]:
        """The names that what a stage gives is bound to."""
        if not self._is_here(call):
            return
        statement = self._walk.statement_of(call)
        if isinstance(statement, cst.Assign | cst.AnnAssign):
            yield from names_written([statement])
            targets = statement.targets if isinstance(statement, cst.Assign) else [statement]
            yield from (t.target.attr.value for t in targets if isinstance(t.target, cst.Attribute))

    def _is_here(self, call: cst.Call) -> bool:
        """Whether a stage stands in this file; all that other files make share one call, which stands nowhere."""
        return call in self._walk.parents


def is_name_of_evaluation(name: str) -> bool:
    """Whether `name` is that of data to evaluate or predict on: `val_ds`, `get_test_data`."""
    return bool(names_evaluation(name))


def _neighbours(pipeline: Pipeline) -> Iterator[tuple[Stage, Stage]]:
    yield from pairwise(pipeline)
    for stage in pipeline:
        for given in stage.inputs:
            for inner in given.pipelines:
                yield from _neighbours(inner)
                if inner:
                    yield inner[-1], stage


def _stages_of(value: Value) -> Iterator[Stage]:
    for pipeline in value.pipelines:
        for stage in pipeline:
            yield stage
            for given in stage.inputs:
                yield from _stages_of(given)
