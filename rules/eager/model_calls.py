"""Calls of models in eager code that each step runs."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.once import extent
from tflint_perf.analysis.execution.seldom import Seldom
from tflint_perf.analysis.execution.timed_calls import is_only_timed
from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.analysis.python.syntax import mentions, names_read, names_written, target_names
from tflint_perf.analysis.training.file_reads import FileReads
from tflint_perf.analysis.training.sequences import made_of
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference

from .called_models import CalledModels
from .few_results import FewResults


class ModelCalls:
    """Finds calls that run a model or layer, eagerly and per step."""

    needs = ("infer", "calls", "compiled", "loops", "seldom", "file_reads", FewResults, CalledModels)

    def __init__(
        self,
        infer: Inference,
        calls: CallGraph,
        compiled: Compiled,
        loops: Loops,
        seldom: Seldom,
        file_reads: FileReads,
        few_results: FewResults,
        called_models: CalledModels,
    ) -> None:
        self._infer = infer
        self._calls = calls
        self._compiled = compiled
        self._loops = loops
        self._seldom = seldom
        self._file_reads = file_reads
        self._few_results = few_results
        self._called_models = called_models
        self._walk = infer.walk

    def all(self) -> Iterator[cst.Call]:
        """The calls, by the name of what is called."""
        for calls in self._walk.calls.values():
            for call in calls:
                if self._called_models.are_called_by(call) and self._runs_eagerly_per_step(call):
                    yield call

    def _runs_eagerly_per_step(self, call: cst.Call) -> bool:
        return (
            self._compiled.is_eager(call)
            and self._loops.is_per_step(call)
            and self._is_reached_eagerly(call)
            and not self._seldom.runs(call)
            and not self._called_models.are_built_by(call)
            and not self._called_models.is_of_network(call)
            and not self._called_models.makes_variables(call)
            and not is_only_timed(self._infer, call)
            and not self._file_reads.runs_over_files_alone(call)
            and not self._few_results.is_for_few(call)
            and not self._is_bound_by_loop(call)
            and not self._is_made_by_loop(call)
        )

    def _is_reached_eagerly(self, call: cst.Call) -> bool:
        """Whether `call` runs per step, and not only in a model's own code or other compiled code."""
        function = self._calls.function_at(call)
        if function is not None and self._compiled.is_switched_off(function):
            return False
        if function is None or self._loops.training_loop(call) is not None:
            return True
        sites = [site for site in self._calls.sites(function) if self._loops.is_per_step(site)]
        return (
            not sites
            or any(map(self._compiled.is_eager, sites))
            or bool(self._calls.callers_outside(function))
        )

    def _is_bound_by_loop(self, call: cst.Call) -> bool:
        """Whether a loop around `call` iterates over the parts of one model that it calls: `for layer in layers: x =
        layer(x)`. Several models that are asked side by side, in each step around that loop, are no such parts."""
        loop, over = self._loops.innermost_loop(call), False
        while loop is not None and self._binds(loop, call.func):
            node, over = extent(self._walk, loop), True
            loop = self._loops.innermost_loop(node)
        if not over:
            return any(map(self._is_bound_somewhere, names_read(call.func)))
        return (
            self._infer.value(call.func).kind != "model"
            or not self._loops.is_per_step(node)
            or self._is_chained(call)
        )

    def _binds(self, loop: Loop, callee: cst.BaseExpression) -> bool:
        """Whether `loop` gives its values to names in `callee`."""
        if isinstance(loop.node, cst.While):
            return False
        return mentions(callee, {name.value for name in target_names(loop.node.target)})

    def _is_made_by_loop(self, call: cst.Call) -> bool:
        """Whether each iteration makes a new model for `call`: it converts or compares models, say."""
        loop = self._loops.innermost_loop(call)
        found = self._infer.bindings_reaching(call.func) if isinstance(call.func, cst.Name) else None
        if loop is None or found is None or not found[1]:
            return False
        return all(
            binding.kind == "assign" and isinstance(binding.value, cst.Call) and binding.at.block.loop is loop
            for binding in found[1]
        )

    def _is_bound_somewhere(self, name: cst.Name) -> bool:
        found = self._infer.bindings_reaching(name)
        return found is not None and any(b.kind in ("for", "comprehension") for b in found[1])

    def _is_chained(self, call: cst.Call) -> bool:
        """Whether `call` is given what it gave in the iteration before: `x = net(x)`."""
        statement: cst.CSTNode | None = call
        while statement is not None and statement not in self._walk.at:
            statement = self._walk.parents.get(statement)
        written = names_written([statement]) if statement is not None else set()
        loop = self._loops.innermost_loop(call)
        made = made_of(written, loop) if loop is not None else written
        return any(mentions(arg.value, made) for arg in call.args)
