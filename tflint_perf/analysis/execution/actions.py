"""What one iteration of a step loop does: a gradient step, an inference call, or taking a batch."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.given_models import GivenModels
from tflint_perf.analysis.execution.short_loops import is_part_of_one_iteration
from tflint_perf.analysis.execution.size_of_calls import is_of_environment
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import callee_name, is_name, keyword_argument, last_name, names_read
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.methods import methods_of_several
from tflint_perf.analysis.values.named_calls import minimizes_loss

if TYPE_CHECKING:
    from tflint_perf.analysis.execution.loops import Loops

_BATCH_METHODS = frozenset(["train_on_batch", "test_on_batch", "predict_on_batch"])
_WHOLE_RUN_METHODS = frozenset(["fit", "predict", "evaluate"])
_TRAINED = ("trainable_variables", "trainable_weights")
_COUNTING = frozenset(["range", "enumerate", "count", "trange"])


class Actions:
    """Answers whether a call is such an action, or runs a function that takes one."""

    def __init__(
        self, infer: Inference, calls: CallGraph, compiled: Compiled, given_models: GivenModels, loops: Loops
    ) -> None:
        self._infer = infer
        self._calls = calls
        self._compiled = compiled
        self._given_models = given_models
        self._loops = loops
        self._acts: dict[Function, bool] = {}

    def acts(self, call: cst.Call) -> bool:
        """Whether a call makes a gradient step or an inference call, or runs a function that does."""
        if self._is_one_of_several(call.func) or self._is_made_here(call.func):
            return False
        if any(map(self._infer.outside.acts, self._run_outside(call))):
            return True
        return self._is_action(call) or any(map(self.function_acts, self._calls.targets(call)))

    def _run_outside(self, call: cst.Call) -> Iterator[str]:
        """What a call may run of other files: of one of several objects, the method of each."""
        for function in (call.func, self._calls.run_by_strategy(call)):
            if function is None:
                continue
            value = self._infer.value(function)
            if value.outside:
                yield value.outside
            elif isinstance(function, cst.Attribute) and not value.known:
                yield from (way.outside for way in methods_of_several(self._infer, function))

    def function_acts(self, function: Function) -> bool:
        """Whether calling a function makes a step or an inference call, outside loops of its own."""
        known = self._acts.get(function)
        if known is None:
            self._acts[function] = False
            outside = [call for call in function.calls if self.is_outside_loops(call)]
            known = self._acts[function] = any(self.acts(call) for call in outside)
        return known

    def is_outside_loops(self, call: cst.Call) -> bool:
        loop = self._loops.innermost_loop(call)
        while loop is not None:
            if not is_part_of_one_iteration(self._infer, loop):
                return False
            loop = loop.parent
        return True

    def _is_action(self, call: cst.Call) -> bool:
        """Whether a call is a gradient step, an inference call, or takes one batch or sample."""
        name = callee_name(call)
        func = call.func
        if isinstance(func, cst.Attribute):
            if name in _BATCH_METHODS or name in ("apply_gradients",):
                return True
            base = self._infer.value(func.value)
            if name == "gradient":
                return base.kind == "tape"
            if name == "minimize":
                steps = base.kind == "optimizer" and not self._infer.value(call).known
                return (steps or minimizes_loss(self._infer, call)) and self._compiled.is_eager(call)
            if name == "run":
                return base.kind == "session" or _looks_like_session(func.value)
            if name in ("get_next", "next"):
                return base.kind == "iterator"
            if name == "step":
                return is_of_environment(call)
            if name == "call" and base.kind == "model":
                return True
            if name in _WHOLE_RUN_METHODS:
                return self._loops.batches.are_taken_by(call)
        elif name == "next" and call.args:
            return self._infer.value(call.args[0].value).kind in ("iterator", "generator")
        callee = self._infer.value(func)
        if self._infer.names.dotted(func):
            return callee.kind == "model" and bool(callee.outside)  # one that another file made
        if callee.kind == "compiled" and not callee.outside:
            return callee.function is None or self._counts(call) or not self._only_computes(callee.function)
        if callee.kind == "layer":
            # The whole of a model, where it is told outright whether it trains, or is trained.
            return is_told_whether_it_trains(call) or last_name(func) in self._trained
        return callee.kind == "model" or self._given_models.has(func)

    @cached_property
    def _trained(self) -> Collection[str]:
        """The names of layers whose variables a gradient step is given from outside: `model.trainable_variables`."""
        named = (node.value for name in _TRAINED for node in self._infer.walk.attributes.get(name, ()))
        return {
            last_name(node)
            for node in named
            if not is_name(node, "self") and self._infer.value(node).kind == "layer"
        }

    def _is_one_of_several(self, callee: cst.BaseExpression) -> bool:
        """Whether a loop goes through models: `for i in range(4): x = blocks[i](x)` is one pass through all of them."""
        return isinstance(callee, cst.Subscript) and any(
            binding.kind in ("for", "comprehension")
            for part in callee.slice
            for name in names_read(part)
            for binding in (self._infer.bindings_reaching(name) or (None, ()))[1]
        )

    def _is_made_here(self, callee: cst.BaseExpression) -> bool:
        """Whether a layer is put into a model: `x = Block(filters)(x)`."""
        return isinstance(callee, cst.Call) and self._infer.value(callee.func).kind == "class"

    def _counts(self, call: cst.Call) -> bool:
        """Whether the innermost loop around a call counts, rather than runs over things."""
        loop = self._loops.innermost_loop(call)
        iterable = loop.iterable if loop is not None else None
        return loop is not None and (
            iterable is None or (isinstance(iterable, cst.Call) and callee_name(iterable) in _COUNTING)
        )

    def _only_computes(self, function: Function) -> bool:
        """Whether a function calls nothing but ops: it neither trains nor runs a model."""
        return all(
            self._infer.names.dotted(call.func)
            or (isinstance(call.func, cst.Attribute) and self._is_local(call.func))
            for call in function.calls
        )

    def _is_local(self, node: cst.Attribute) -> bool:
        """Whether a method is one of a value that its function makes itself, and that is no model."""
        if not isinstance(node.value, cst.Name) or self._infer.value(node.value).kind in (
            "model",
            "tape",
            "optimizer",
        ):
            return False
        scope = self._infer.names.scope_of(node)
        return any(binding.kind == "assign" for binding in scope.bindings.get(node.value.value, ()))


def _looks_like_session(node: cst.BaseExpression) -> bool:
    """`sess.run`, `self.session.run`: a session of unknown origin goes by its usual names."""
    return last_name(node).lstrip("_") in ("sess", "session")


def is_told_whether_it_trains(call: cst.Call) -> bool:
    """`model(x, training=False)`; what is part of another model hands on what that was told."""
    told = keyword_argument(call, "training")
    return told is not None and (is_name(told, "True") or is_name(told, "False"))
