"""Batches that NumPy draws at random on the host."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import has
from tflint_perf.analysis.conventions import names_noise
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.python.syntax import callee_name, integer, keyword_argument, target_names
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference

_DRAWS = frozenset(
    {"normal", "rand", "randn", "uniform", "random", "random_sample", "standard_normal", "truncnorm"}
)


class HostDraws:
    """Answers which calls draw data, rather than the few numbers that something starts from."""

    def __init__(self, infer: Inference, calls: CallGraph, loops: Loops) -> None:
        self._infer = infer
        self._calls = calls
        self._loops = loops

    def is_batch(self, call: cst.Call) -> bool:
        """Whether `call` draws a batch, of data or of noise."""
        return self._draws(call) and self._loops.batches.size(call) == "batch"

    def is_data(self, call: cst.Call) -> bool:
        """Whether `call` draws a batch that has a name of its own, unless that is a name for noise."""
        if not self.is_batch(call):
            return False
        statement = self._infer.walk.statement_of(call)
        function = self._calls.function_at(call)
        targets = [t.target for t in statement.targets] if isinstance(statement, cst.Assign) else []
        names = [name.value for target in targets for name in target_names(target)]
        if not names:
            names = (
                [function.name]
                if function is not None and isinstance(statement, cst.Return | cst.Expr)
                else []
            )
        return bool(names) and (self._draws_images(call) or not any(map(names_noise, names)))

    def _draws_images(self, call: cst.Call) -> bool:
        """Whether a call draws an array of three axes or more: noise in the size of images or of sequences."""
        if callee_name(call) in ("rand", "randn"):
            return _has_three_axes([arg.value for arg in call.args])
        shape = keyword_argument(call, "size") or (call.args[-1].value if call.args else None)
        found = self._infer.bindings_reaching(shape) if isinstance(shape, cst.Name) else None
        shapes = [shape] if found is None else [binding.value for binding in found[1]]
        return bool(shapes) and all(
            isinstance(each, cst.Tuple | cst.List) and _has_three_axes([e.value for e in each.elements])
            for each in shapes
        )

    def _draws(self, call: cst.Call) -> bool:
        """Whether a call has NumPy draw numbers that are data, rather than indices."""
        if callee_name(call) not in _DRAWS:
            return False
        if has(self._infer.names.qualified(call.func), "varies"):
            return True
        return isinstance(call.func, cst.Attribute) and has(
            self._infer.value(call.func.value).name, "generator"
        )


def _has_three_axes(sizes: list[cst.BaseExpression]) -> bool:
    return sum(integer(size) != 1 for size in sizes) > 2
