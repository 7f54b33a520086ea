"""Datasets that a training loop builds anew from the same inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.execution.inputs import Entered, Inputs
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import callee_name, has_stars, integer, keyword_argument, unwrapped
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.mutations import Touched
from tflint_perf.records import dataclass

if TYPE_CHECKING:
    from tflint_perf.analysis.model import Model

# Names that a source may have: the inference settles the rest.
_SOURCES = ("tf.data.", "keras.utils.", "keras.preprocessing.", "tensorflow_datasets.load")
# Sources that hold next to nothing.
_CHEAP = frozenset({"range", "random"})
# Stages that are worth building once; others take, skip or repeat what is there.
_STAGES = ("map", "flat_map", "interleave", "filter", "shuffle", "batch", "padded_batch")
# Calls through functions, no deeper than this.
_DEEPEST = 4
# Where many functions call each other, there are more ways to one of them than can be gone.
_MOST_WAYS = 100
# What a call, an argument or a structure around a dataset is made of.
_INSIDE = (cst.Attribute, cst.Call, cst.Arg, cst.Tuple, cst.List, cst.Element)


@dataclass(frozen=True, slots=True)
class Rebuild:
    """A dataset that `loop` builds in each iteration.

    `node` is the place in the loop: the dataset itself, or the call of a function in which `dataset` is built.
    """

    node: cst.BaseExpression
    dataset: cst.BaseExpression
    loop: Loop


class Rebuilt:
    """Finds datasets that are built again and again though nothing changes."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._infer = model.infer
        self._walk = model.walk
        self._rare: dict[cst.CSTNode, bool] = {}
        self._trials: dict[Loop, bool] = {}

    @cached_property
    def _calls(self) -> CallGraph:
        # Most files build no dataset: they are done with before their calls need to be known.
        return self._model.calls

    @cached_property
    def _touched(self) -> Touched:
        return Touched(self._infer, self._calls)

    def all(self) -> Iterator[Rebuild]:
        """Every such dataset, once for each place in a loop."""
        seen: set[cst.CSTNode] = set()
        named = [call for calls in self._walk.calls.values() for call in calls if self._may_be_source(call)]
        stages = {c: None for name in _STAGES for c in self._walk.calls.get(name, ()) if _is_first(c)}
        for source in filter(self._is_source, [*named, *stages] if self._walk.loops else ()):
            whole = self._whole(source)
            for node, loop, entered in self._places(whole):
                if source in stages and not self._adds_to_same(source, loop):
                    continue
                inputs = Inputs(self._model, loop, entered, self._touched.by(loop))
                if node not in seen and all(map(inputs.are_same, [whole, *self._given_later(source)])):
                    seen.add(node)
                    yield Rebuild(node, whole, loop)

    def _adds_to_same(self, stage: cst.Call, loop: Loop) -> bool:
        """Whether each epoch puts a stage on a dataset that was made before the loop."""
        given = stage.func.value if isinstance(stage.func, cst.Attribute) else stage
        return self._model.loops.kind(loop) == "epoch" and self._is_from_outside(given, loop)

    def outermost_loop_around(self, inner: cst.For, read: Sequence[cst.BaseExpression]) -> Loop | None:
        """The outermost of the loops that hold each other directly around `inner` in which all of `read` stays the same."""
        loop, found = self._walk.loops[inner], None
        while loop.parent is not None and self._walk.at[loop.node].block.owner is loop.parent.node:
            loop = loop.parent
            inputs = Inputs(self._model, loop, {}, self._touched.by(loop))
            if not all(map(inputs.are_same, read)):
                break
            found = loop
        return found

    def _given_later(self, source: cst.Call) -> Iterator[cst.CSTNode]:
        """What the stages that are put behind a source get, in other statements too."""
        waiting, seen = [source], {source}
        while waiting:
            for call in self._model.pipelines.goes_on(waiting.pop()):
                if call not in seen:
                    seen.add(call)
                    waiting.append(call)
                    yield from call.args

    def _may_be_source(self, call: cst.Call) -> bool:
        return self._infer.names.qualified(call.func).startswith(_SOURCES)

    def _is_source(self, call: cst.Call) -> bool:
        if self._model.is_compiled(call):
            return False
        value = self._infer.value(call)
        ways = value.pipelines
        return (
            value.kind == "dataset"
            and len(ways) == 1
            and ways[0][-1].call is call
            and ways[0][0].name not in _CHEAP
        )

    def _whole(self, source: cst.Call) -> cst.BaseExpression:
        """The largest expression around a source that is a dataset: its stages, and what joins it to others."""
        whole: cst.BaseExpression = source
        parent = self._walk.parents.get(source)
        while isinstance(parent, _INSIDE):
            if isinstance(parent, cst.Call):
                if self._infer.value(parent).kind != "dataset" or self._calls.targets(parent):
                    break
                if unwrapped(parent) is not parent and callee_name(parent) != "enumerate":
                    break  # a progress bar
                whole = parent
            parent = self._walk.parents.get(parent)
        return whole

    def _places(self, node: cst.BaseExpression) -> Iterator[tuple[cst.BaseExpression, Loop, Entered]]:
        """The places in training loops that build a dataset, directly or through calls of functions."""
        waiting: list[tuple[cst.BaseExpression, Entered]] = [(node, {})]
        for _ in range(_MOST_WAYS):
            if not waiting:
                return
            place, entered = waiting.pop()
            if self._is_rare(place):
                continue
            loop = self._training_loop(place)
            function = self._calls.function_at(place)
            if loop is not None:
                yield place, loop, entered
            elif self._model.loops.innermost_loop(place) is None and function is not None:
                if function not in entered and len(entered) < _DEEPEST and not function.yields:
                    sites = self._calls.sites(function)
                    waiting += [(call, {**entered, function: call}) for call in sites if not has_stars(call)]

    def _is_rare(self, node: cst.CSTNode) -> bool:
        """Whether something keeps `node` from running on each step."""
        known = self._rare.get(node)
        if known is None:
            known = self._rare[node] = self._is_guarded(node) or self._model.once.runs_seldom(node)
        return known

    def _is_guarded(self, node: cst.CSTNode) -> bool:
        # What a loop runs over stands outside that loop.
        guard_of = self._model.guard_of
        return guard_of(node) is not None or guard_of(self._model.statement_of(node)) is not None

    def _training_loop(self, node: cst.CSTNode) -> Loop | None:
        """The loop of steps or epochs of the same function that runs `node`, but for one that makes trials."""
        loops = self._model.loops
        loop = loops.innermost_loop(node)
        while loop is not None and loops.kind(loop) == "none" and not self._fits_once(loop):
            loop = loop.parent
        return None if loop is None or self._makes_trials(loop) else loop

    def _fits_once(self, loop: Loop) -> bool:
        """Whether each iteration of a loop fits a model from outside it for one epoch."""
        return any(
            callee_name(call) == "fit"
            and isinstance(call.func, cst.Attribute)
            and self._is_one_epoch(call)
            and self._infer.value(call.func.value).kind == "model"
            and self._is_from_outside(call.func.value, loop)
            for call in loop.calls
        )

    @staticmethod
    def _is_one_epoch(fit: cst.Call) -> bool:
        epochs = keyword_argument(fit, "epochs")
        return not has_stars(fit) and (epochs is None or integer(epochs) == 1)

    def _is_from_outside(self, node: cst.BaseExpression, loop: Loop) -> bool:
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        return isinstance(node, cst.Attribute) or (
            found is not None and not any(self._model.invariance.is_bound_in(b, loop) for b in found[1])
        )

    def _makes_trials(self, loop: Loop) -> bool:
        """Whether each iteration of a loop trains for several epochs."""
        known = self._trials.get(loop)
        if known is None:
            known = self._trials[loop] = self._trains_for_epochs(loop)
        return known

    def _trains_for_epochs(self, loop: Loop) -> bool:
        inside = [loop, *loop.inner]
        while any(inner not in inside for outer in inside for inner in outer.inner):
            inside += [inner for outer in inside for inner in outer.inner if inner not in inside]
        if any(self._model.loops.kind(inner) == "epoch" for inner in inside[1:]):
            return True
        calls = [call for inner in inside for call in inner.calls]
        seen: set[Function] = set()  # what runs no epochs at the first call runs none at the next one
        return any(self._runs_epochs(target, seen) for call in calls for target in self._calls.targets(call))

    def _runs_epochs(self, function: Function, seen: set[Function]) -> bool:
        if function in seen:
            return False
        seen.add(function)
        return any(self._model.loops.kind(loop) == "epoch" for loop in function.loops) or any(
            self._runs_epochs(target, seen) for call in function.calls for target in self._calls.targets(call)
        )


def _is_first(call: cst.Call) -> bool:
    """Whether a call puts the first stage of an expression on a dataset that has a name: `for x in dataset.batch(32):`."""
    return isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Name | cst.Attribute)
