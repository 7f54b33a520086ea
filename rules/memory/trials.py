"""Trials: loops that build a model in each iteration, train it and let go of it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import library
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.short_loops import is_part_of_one_iteration
from tflint_perf.analysis.execution.trains import trains_by
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import callee_name, descendants, mentions, target_names
from tflint_perf.analysis.training.sequences import made_of
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.made_kinds import MadeKinds
from tflint_perf.analysis.values.named_calls import builtin_or_qualified
from tflint_perf.analysis.values.parts import Part
from tflint_perf.records import dataclass

# What people do between trials for the sake of memory. A TPU that is set up anew keeps nothing of what was on it.
_FREES = frozenset(
    {"clear_session", "collect", "reset_default_graph", "malloc_trim", "initialize_tpu_system"}
)
# So few models are compared, or are folds of one: their memory does not add up to much.
_FEW = 5
_SEVERAL = 20
# Ten models of layers that give so few numbers each take some tens of MB in all.
_TEN = 10
_SMALL = 128
_SIZES = ("units", "filters", "input_dim", "output_dim")


@dataclass(frozen=True, slots=True)
class Trial:
    """A model that each iteration of `loop` builds and trains: `made` builds it, `name` is what it is called. `fits` says
    that Keras's `fit` trains it."""

    loop: Loop
    made: cst.Call
    name: str
    fits: bool


class Trials(Part):
    """Finds trials."""

    _infer: Inference
    _calls: CallGraph
    _compiled: Compiled
    _loops: Loops

    def __post_init__(self) -> None:
        self._kinds = MadeKinds(self._infer)

    def all(self) -> Iterator[Trial]:
        """Every model that is built and trained in each iteration of a loop, and not kept, in the order of the text."""
        for statement in self._walk.at:
            match statement:
                case cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Name() as target)], value=cst.Call() as made
                ):
                    if self._infer.value(made).kind != "model" or self._infer.names.is_call_that(
                        made, "loads-model"
                    ):
                        continue
                    loop = self._loop_around(statement)
                    mentions = self._mentions(target, made)
                    if (
                        loop is None
                        or self._has_layers_of_another(made, loop)
                        or any(self._may_keep(mention, 0) for mention in mentions)
                    ):
                        continue
                    if any(self._trains(mention, 0) for mention in mentions):
                        yield Trial(loop, made, target.value, any(map(self._is_fitted, mentions)))

    def _has_layers_of_another(self, made: cst.Call, loop: Loop) -> bool:
        """Whether `made` only gives layers another head, of a model that the same iteration has built: `Model(model.input,
        outputs)`."""
        for part in (part for arg in made.args for part in descendants(arg.value)):
            if not isinstance(part, cst.Attribute) or not isinstance(part.value, cst.Name):
                continue
            made_by = (
                self._infer.bindings(part.value) if self._infer.value(part.value).kind == "model" else []
            )
            if made_by and all(loop in loops_around(binding.at.block.loop) for binding in made_by):
                return True
        return False

    # Loops

    def _loop_around(self, statement: cst.CSTNode) -> Loop | None:
        """The loop whose iterations build the model: around the statement, or around all calls of its function."""
        innermost = self._loops.innermost_loop(statement)
        function = self._calls.function_at(statement)
        if innermost is not None or function is None or function.owner is not None:
            return self._long(innermost)
        loops = [self._long(self._loops.innermost_loop(site)) for site in self._calls.sites(function)]
        return loops[0] if loops and None not in loops else None

    def _long(self, loop: Loop | None) -> Loop | None:
        """The loop, or the one around it that has more than a few iterations."""
        while loop is not None and self._is_short(loop):
            loop = loop.parent
        return loop

    def _is_short(self, loop: Loop) -> bool:
        """Whether `loop` has only a few iterations: `range(2)`, or `range(RUNS)`, or over a list of two items; where
        the code does not show how many, one that is part of an iteration of the loop around it."""
        count = self._infer.integers.length(loop.iterable)
        return count <= _FEW if count is not None else is_part_of_one_iteration(self._infer, loop)

    def differ(self, trial: Trial) -> bool:
        """Whether each iteration makes `trial` with other arguments, from what it iterates over: `Dense(units)`."""
        node = trial.loop.node
        if not isinstance(node, cst.For):
            return False
        names = made_of({name.value for name in target_names(node.target)}, trial.loop)
        return any(mentions(arg.value, names) for arg in trial.made.args)

    def are_few(self, trial: Trial) -> bool:
        """Whether the loop shows that it makes so few models that all of them fit into memory, unless they are huge."""
        count = self._infer.integers.length(trial.loop.iterable)
        return count is not None and count <= _SEVERAL

    def are_small(self, trial: Trial) -> bool:
        """Whether the loop makes at most ten models, and all their layers are in sight, and small. How many results the last of them
        gives may hang on the data."""
        count = self._infer.integers.length(trial.loop.iterable)
        if count is None or count > _TEN:
            return False
        made = [call for call in self._calls_making(trial) if self._may_make_layer(call)]
        return bool(made) and all(self._is_small(call, or_unknown=call is made[-1]) for call in made)

    def _calls_making(self, trial: Trial) -> list[cst.Call]:
        """The calls in the function that makes the model of a trial, or else in the loop, and in functions that these call."""
        function = self._calls.function_at(trial.made)
        found: list[cst.Call] = []
        waiting: list[cst.CSTNode] = [function.node.body if function is not None else trial.loop.node]
        seen: set[cst.CSTNode] = set()
        while waiting:
            for call in descendants(waiting.pop()):
                if isinstance(call, cst.Call):
                    targets = [target.node.body for target in self._calls.targets(call)]
                    waiting += [body for body in targets if body not in seen]
                    seen.update(targets)
                    found += [] if targets else [call]
        return found

    def _may_make_layer(self, call: cst.Call) -> bool:
        """Whether a call makes a layer with weights, or nobody knows what: a whole model of somebody's."""
        value = self._infer.value(call)
        if value.kind == "layer":
            return self._kinds.has_weights(call)
        if value.kind == "model":
            return callee_name(call) not in ("Model", "Sequential")
        return (
            not value.known and not builtin_or_qualified(self._infer, call.func) and not self._is_asked(call)
        )

    def _is_asked(self, call: cst.Call) -> bool:
        """Whether `call` asks something that is known, or what `fit` gave: `model.summary()`, `history.history.get("loss")`."""
        return isinstance(call.func, cst.Attribute) and not isinstance(call.func.value, cst.Call)

    def _is_of_keras(self, call: cst.Call) -> bool:
        return library(self._infer.names.qualified(call.func)) in ("keras", "tensorflow")

    def _is_small(self, call: cst.Call, *, or_unknown: bool) -> bool:
        """Whether a layer is given a small number of results, as the first argument or by name, or is as large as what it is given."""
        sizes = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value in _SIZES]
        sizes += [arg.value for arg in call.args[:1] if arg.keyword is None]
        most = [self._infer.integers.most(size) for size in sizes]
        known = self._infer.value(call).kind != "model" and (bool(most) or self._is_of_keras(call))
        return known and all(or_unknown if number is None else number <= _SMALL for number in most)

    def frees(self, trial: Trial) -> bool:
        """Whether an iteration that makes `trial` does anything to free memory."""
        for holder in self._run_by(trial):
            for node in descendants(holder):
                if isinstance(node, cst.Call) and callee_name(node) in _FREES:
                    return True
                if isinstance(node, cst.Del) and any(
                    isinstance(name, cst.Name) and name.value == trial.name for name in descendants(node)
                ):
                    return True
        return False

    def _run_by(self, trial: Trial) -> set[cst.CSTNode]:
        """The loop, and the functions of this file that an iteration calls."""
        found: set[cst.CSTNode] = {trial.loop.node}
        waiting: list[cst.CSTNode] = [trial.loop.node]
        while waiting:
            for node in descendants(waiting.pop()):
                for target in self._calls.targets(node) if isinstance(node, cst.Call) else ():
                    if target.node not in found:
                        found.add(target.node)
                        waiting.append(target.node)
        return found

    # The model

    def _mentions(self, target: cst.Name, made: cst.Call) -> list[cst.Name]:
        """Where the model is read under the name `target`."""
        mentions = []
        for node in self._infer.names.mentions(target.value, self._infer.names.home(target)):
            found = self._infer.bindings_reaching(node)
            if found is None or all(binding.value is not made for binding in found[1]):
                continue
            if all(binding.node is not node for binding in found[0].bindings[node.value]):
                mentions.append(node)
        return mentions

    def _is_fitted(self, mention: cst.Name) -> bool:
        parent = self._walk.parents.get(mention)
        return isinstance(parent, cst.Attribute) and parent.attr.value == "fit"

    @remembered
    def _trains(self, mention: cst.Name, depth: int) -> bool:
        """Whether `mention` is where the model is fitted, trained by a compiled method of its own, or passed to a
        compiled function of this file that trains it."""
        parent = self._walk.parents.get(mention)
        if isinstance(parent, cst.Attribute):
            call = self._walk.parents.get(parent)
            if not isinstance(call, cst.Call) or call.func is not parent:
                return False
            by_itself = trains_by(self._infer, call) in ("fit", "batch")
            return by_itself or any(map(self._updates_compiled, self._calls.targets(call)))
        for function, name in self._handed_to(parent):
            if self._updates_compiled(function):
                return True
            if depth < CALLS_DEEP and any(
                self._trains(node, depth + 1) for node in self._reads(function, name)
            ):
                return True
        return False

    def _updates_compiled(self, function: Function) -> bool:
        """Whether `function` is compiled and changes a model's variables."""
        return self._compiled.state(function) == "compiled" and any(
            trains_by(self._infer, call) == "update" for call in function.calls
        )

    @remembered
    def _may_keep(self, mention: cst.Name, depth: int) -> bool:
        """Whether `mention` lets the model outlive its iteration: kept, given back or handed to something unknown."""
        parent = self._walk.parents.get(mention)
        if isinstance(parent, cst.Attribute | cst.Call):
            return False
        if not isinstance(parent, cst.Arg) or depth > CALLS_DEEP:
            return True
        call = self._walk.parents.get(parent)
        if self._infer.names.is_call_that(call, "keras-utility"):
            return False
        handed = list(self._handed_to(parent))
        return not handed or any(
            self._may_keep(node, depth + 1)
            for function, name in handed
            for node in self._reads(function, name)
        )

    def _handed_to(self, arg: cst.CSTNode | None) -> Iterator[tuple[Function, str]]:
        """The functions of this file that are given the model, and the parameters that get it."""
        call = self._walk.parents.get(arg) if isinstance(arg, cst.Arg) else None
        if not isinstance(call, cst.Call) or not isinstance(arg, cst.Arg) or arg.star:
            return
        for function in self._calls.targets(call):
            if arg.keyword is not None:
                yield function, arg.keyword.value
                continue
            position = call.args.index(arg)
            if position < len(function.places):
                yield function, function.places[position]

    def _reads(self, function: Function, name: str) -> list[cst.Name]:
        bound = {binding.node for binding in function.scope.bindings.get(name, ())}
        mentions = self._infer.names.mentions(name, function.scope) if bound else []
        return [node for node in mentions if node not in bound]
