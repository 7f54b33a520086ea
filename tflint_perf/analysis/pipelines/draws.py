"""Elements of datasets that are drawn one by one, as by `next(iterator)`."""

from __future__ import annotations

from collections.abc import Iterator, Set

import libcst as cst

from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.pipelines.consumption import Use
from tflint_perf.analysis.pipelines.element_uses import ElementUses
from tflint_perf.analysis.python.syntax import names_written
from tflint_perf.analysis.training.feeds import Feeds
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part


class Draws(Part):
    """Finds the calls that draw them, and answers what becomes of what they give."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _feeds: Feeds
    _element_uses: ElementUses

    def all(self) -> Iterator[cst.Call]:
        """The calls that take the next element of an iterator that has a name."""
        for call in (*self._walk.calls.get("next", ()), *self._walk.calls.get("get_next", ())):
            if self._infer.value(drawn_from(call)).kind == "iterator":
                yield call

    def handed_on_from(self, stages: Set[cst.CSTNode]) -> set[cst.CSTNode]:
        """Those in functions that give something back, from iterators of datasets which one of `stages` is part of."""
        return {
            call
            for call in self.all()
            if (function := self._calls.function_at(call)) is not None
            and function.returns
            and any(
                stage.call in stages for way in self._infer.value(drawn_from(call)).pipelines for stage in way
            )
        }

    def use_of(self, call: cst.Call) -> Use | None:
        """How the element that `call` gives is used: it gets a name, or goes into another call."""
        holder = self._holder(call)
        if not isinstance(holder, cst.For | cst.While | cst.FunctionDef):
            return None
        parent = self._walk.parents.get(call)
        while isinstance(parent, cst.Arg | cst.Tuple | cst.Element):
            parent = self._walk.parents.get(parent)
        if isinstance(parent, cst.Call):
            return self._element_uses.use_of_call(parent)
        return (
            self._element_uses.use_in(holder, names_written([parent]))
            if isinstance(parent, cst.Assign)
            else None
        )

    def _holder(self, call: cst.Call) -> cst.CSTNode | None:
        """The innermost loop around `call`, or the function."""
        loop, function = self._loops.innermost_loop(call), self._calls.function_at(call)
        return loop.node if loop is not None else function.node if function is not None else None

    def is_handed_on(self, call: cst.Call) -> bool:
        """Whether a function passes what `call` draws to a step elsewhere: `return next(self.batches)`."""
        function = self._calls.function_at(call)
        if function is None or not function.returns or not self._feeds.a_step(call):
            return False
        elsewhere = [caller for caller in self._calls.callers_outside(function) if caller.per_step]
        return not elsewhere or not all(caller.guarded for caller in elsewhere)


def drawn_from(call: cst.Call) -> cst.BaseExpression:
    """What `next(batches)` and `batches.get_next()` draw from, where that has a name; else the callee."""
    plain = isinstance(call.func, cst.Name) and bool(call.args)
    node = call.args[0].value if plain else getattr(call.func, "value", None)
    return node if isinstance(node, cst.Name | cst.Attribute) else call.func
