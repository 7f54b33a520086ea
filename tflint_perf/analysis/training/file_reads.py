"""Calls that read files."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import has, last_names
from tflint_perf.analysis.conventions import names_writing
from tflint_perf.analysis.execution.invariance import Invariance
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.short_loops import runs_over_files
from tflint_perf.analysis.execution.steady_conditions import Usual
from tflint_perf.analysis.limits import CALLS_DEEP
from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Binding, Function, Loop
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    keyword_argument,
    mentions,
    names_read,
    same_code,
    string,
    target_names,
)
from tflint_perf.analysis.training.fit_workers import FitWorkers
from tflint_perf.analysis.training.sequences import made_of
from tflint_perf.analysis.training.train_calls import TrainCalls
from tflint_perf.analysis.values.caller import Beside
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import counting, sources
from tflint_perf.analysis.values.outside import RUN_OVER
from tflint_perf.analysis.values.parts import Part

_BESIDE: tuple[Beside, ...] = ("step", "thread", "threads", "processes")


class FileReads(Part):
    """Finds reads of files, and asks what the loops around them do."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _invariance: Invariance
    _train_calls: TrainCalls

    def __post_init__(self) -> None:
        self._workers = FitWorkers(self._infer)
        # Whether a condition in front of a read lets it happen on nearly every step: what the settings say.
        self.usually = Usual(self._infer).holds

    def all(self) -> Iterator[cst.Call]:
        """Every call that reads a file, by the name of what is called."""
        for name in sorted(
            last_names("opens-files", "reads-images", "reads-arrays", "reads-tables", "reads-file")
        ):
            for call in self._walk.calls.get(name, ()):
                if call.args and not call.args[0].star and self._reads(call):
                    yield call

    def _reads(self, call: cst.Call) -> bool:
        name = self._name(call)
        if has(name, "opens-files"):
            given = argument(call, 1, "mode")
            mode = string(given) if given is not None else "r"
            return mode is not None and not set(mode) & set("wax+")
        # A file that is mapped is read where it is used.
        return (
            has(name, "reads-images", "reads-arrays", "reads-tables", "reads-file")
            and keyword_argument(call, "mmap_mode") is None
        )

    def _name(self, call: cst.Call) -> str:
        name = self._infer.names.qualified(call.func) or self._infer.names.dotted(call.func) or ""
        if not name and isinstance(call.func, cst.Name):
            bound = self._infer.names.lookup(call.func.value, self._infer.names.scope_of(call))
            return call.func.value if bound is None else ""
        return name

    # Loops

    def training_loop(self, node: cst.CSTNode) -> Loop | None:
        """The step loop that trains and runs `node`, here or through a call; None where there is none."""
        return next(self._training_loops(node), None)

    def _training_loops(self, node: cst.CSTNode) -> Iterator[Loop]:
        return filter(self.is_trained_in, self.step_loops(node))

    def step_loops(self, node: cst.CSTNode) -> Iterator[Loop]:
        """The step loops of this file that run `node`, here or through calls."""
        return self._step_loops(node, set())

    def _step_loops(self, node: cst.CSTNode, seen: set[Function]) -> Iterator[Loop]:
        loop = self._loops.step_loop(node)
        if loop is not None:
            yield loop
        function = self._calls.function_at(node)
        if function is None or function in seen or (loop is not None and not loop.yields):
            return
        seen.add(function)
        is_driven = bool(function.yields) or function.name in RUN_OVER
        for site in self._loops.drivers(function) if is_driven else self._calls.sites(function):
            if self._loops.is_per_step(site):
                yield from self._step_loops(site, seen)

    def are_for_training(self, node: cst.CSTNode) -> bool:
        """Whether a step loop that trains runs `node`: here, through calls, in another file, or in Keras's `fit`."""
        return self.training_loop(node) is not None or self._is_called_in_training(node, set())

    def _is_called_in_training(self, node: cst.CSTNode, seen: set[Function]) -> bool:
        function = self._calls.function_at(node)
        if function is None or function in seen:
            return False
        seen.add(function)
        if function in self._loops.fits:
            return True
        if any(caller.per_step and caller.trains for caller in self._calls.callers_outside(function)):
            return True
        return any(self._is_called_in_training(site, seen) for site in self._calls.sites(function))

    def made_in(self, node: cst.CSTNode) -> Beside:
        """Where what `node` reads becomes a batch: beside the step where only Keras's `fit` draws it, from a generator or a
        sequence; else in the step."""
        if self.training_loop(node) is not None or not self._is_drawn_by_fit(node, set()):
            return "step"
        return min(self._made_for_fit(node, set()), key=_BESIDE.index, default="thread")

    def _made_for_fit(self, node: cst.CSTNode, seen: set[Function]) -> Iterator[Beside]:
        function = self._calls.function_at(node)
        if function is None or function in seen:
            return
        seen.add(function)
        said = self._workers.said_in(function.owner) or "thread"
        for call in self._loops.fits.get(function, ()):
            yield self._workers.said_by(call) or said
        for caller in self._calls.callers_outside(function):
            if caller.per_step:
                yield caller.beside or said
        for site in self._calls.sites(function):
            yield from self._made_for_fit(site, seen)

    def _is_drawn_by_fit(self, node: cst.CSTNode, seen: set[Function]) -> bool:
        function = self._calls.function_at(node)
        if function is None or function in seen:
            return False
        seen.add(function)
        outside = [caller for caller in self._calls.callers_outside(function) if caller.per_step]
        if not all(caller.is_fit for caller in outside):
            return False
        sites = self._calls.sites(function)
        return (
            function in self._loops.fits
            or bool(outside)
            or (bool(sites) and all(self._is_drawn_by_fit(site, seen) for site in sites))
        )

    def are_before_steps_of(self, loop: Loop) -> bool:
        """Whether each step of `loop`, which trains, reads a file."""
        return any(loop is other for read in self.all() for other in self._training_loops(read))

    def calls_in(self, loop: Loop) -> list[cst.Call]:
        """The calls that one iteration of `loop` makes, also in loops inside and in functions of this file."""
        reached: dict[cst.Call, None] = {}
        waiting = [*loop.calls]
        loops = [*loop.inner]
        while loops:
            inner = loops.pop()
            waiting += inner.calls
            loops += inner.inner
        while waiting:
            call = waiting.pop()
            if call not in reached:
                reached[call] = None
                waiting += [below for target in self._calls.targets(call) for below in target.calls]
        return list(reached)

    @remembered
    def is_trained_in(self, loop: Loop) -> bool:
        """Whether the body of `loop` trains a model."""
        return any(map(self._train_calls.trains, self.calls_in(loop)))

    def is_of_each(self, read: cst.Call) -> bool:
        """Whether only loops over a list run `read`, and each iteration reads the file of its own item: by the item's
        name, or by what is made of it. A dataset, or what counts, may go over the same files again."""
        return self._is_of_each(read, 0)

    def _is_of_each(self, call: cst.Call, depth: int) -> bool:
        loop, function = self._loops.innermost_loop(call), self._calls.function_at(call)
        if loop is not None:
            if not isinstance(loop.node, cst.For) or self._loops.takes_batches(loop.node.iter):
                return False
            listed = list(sources(self._infer, loop.node.iter))
            if any(self._infer.value(each).kind == "generator" for each in listed):
                return False
            if all(counting(self._infer, each) is not None for each in listed):
                return False
            items = {name.value for name in target_names(loop.node.target)}
            return any(mentions(arg.value, made_of(items, loop)) for arg in call.args)
        if function is None or depth > CALLS_DEEP or self._calls.callers_outside(function):
            return False
        sites = [site for site in self._calls.sites(function) if self._loops.is_per_step(site)]
        return bool(sites) and all(self._is_of_each(site, depth + 1) for site in sites)

    def runs_over_files_alone(self, call: cst.Call) -> bool:
        """Whether only loops over file names run `call`, here or where its function is called."""
        loop, function = self._loops.innermost_loop(call), self._calls.function_at(call)
        loops = [loop]
        if loop is None and function is not None and not self._calls.callers_outside(function):
            sites = (site for site in self._calls.sites(function) if self._loops.is_per_step(site))
            loops = [self._loops.innermost_loop(site) for site in sites]
        return bool(loops) and all(runs_over_files(self._infer, each) for each in loops)

    def is_the_same_for_all_batches(self, read: cst.Call) -> bool:
        """Whether a method that Keras asks for batches reads a file that none of its arguments has to do with: by names of the
        module, and by what the object was made with."""
        function = self._calls.function_at(read)
        if function is None or function.name not in RUN_OVER or self._loops.innermost_loop(read) is not None:
            return False
        return bool(read.args) and all(
            self._is_steady(name) for arg in read.args for name in names_read(arg.value)
        )

    def is_given_the_same(self, node: cst.BaseExpression, depth: int = 0) -> bool:
        """Whether `node` is the same in all iterations of the step loops that run it, here or where its function is called."""
        loop, function = self._loops.step_loop(node), self._calls.function_at(node)
        if loop is not None:
            return not self._invariance.varies(node, loop)
        if function is None or depth > CALLS_DEEP:
            return False
        outside = [caller for caller in self._calls.callers_outside(function) if caller.per_step]
        sites = [site for site in self._calls.sites(function) if self._loops.is_per_step(site)]
        for name in names_read(node):
            scope, bindings = self._infer.bindings_reaching(name) or (None, [])
            if scope is not None and scope.function is None and _is_bound_once(bindings):
                continue
            given = self._calls.arguments(function, name.value, sites)
            if any(binding.kind != "param" for binding in bindings) or (sites and not given):
                return False
            at = function.place_of(name.value)
            if not all({name.value, at, "*"} & {*caller.steady} for caller in outside):
                return False
            if not all(self.is_given_the_same(each, depth + 1) for each in given):
                return False
        return bool(sites or outside)

    def _is_steady(self, name: cst.Name) -> bool:
        attribute = self._walk.parents.get(name)
        found = self._infer.bindings_reaching(name)
        if found is None or found[0] is self._walk.top:
            return True
        function = found[0].function
        if (
            function is None
            or function.positional[:1] != [name.value]
            or not isinstance(attribute, cst.Attribute)
        ):
            return False
        return self._infer.classes.is_set_once(attribute)

    def writes(self, loop: Loop) -> cst.Call | None:
        """A call in an iteration of `loop` that may change a file."""
        return next(self._writes_in(loop), None)

    def reads_what_it_writes(self, read: cst.Call, loop: Loop) -> bool:
        """Whether `loop` also writes the file that `read` reads, by the code that names it."""
        given = argument(read, 0)
        return given is not None and any(
            same_code(arg.value, given) for call in self._writes_in(loop) for arg in call.args
        )

    def _writes_in(self, loop: Loop) -> Iterator[cst.Call]:
        for call in self.calls_in(loop):
            if names_writing(callee_name(call)) or (
                has(self._name(call), "opens-files") and not self._reads(call)
            ):
                yield call


def _is_bound_once(bindings: list[Binding]) -> bool:
    return len(bindings) == 1 and bindings[0].at.block.loop is None
