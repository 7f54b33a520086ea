"""Batches that NumPy draws at random on the host."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.python.syntax import callee_name, integer, keyword_argument, target_names

if TYPE_CHECKING:
    from tflint_perf.analysis.model import Model

_DRAWS = frozenset(
    {"normal", "rand", "randn", "uniform", "random", "random_sample", "standard_normal", "truncnorm"}
)
# The few numbers that a generator of images starts from are no data.
_NOISE = re.compile(r"noise|latent|seed|code|(^|_)(z|eps(ilon)?)\d*($|_)", re.I)


class HostDraws:
    """Answers which calls draw data, rather than the few numbers that something starts from."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._infer = model.infer

    def is_batch(self, call: cst.Call) -> bool:
        """Whether a call draws a batch, of data or of noise."""
        return self._draws(call) and self._model.loops.batches.size(call) == "batch"

    def is_data(self, call: cst.Call) -> bool:
        """Whether a call draws a batch that goes by a name of its own, unless that is a name for noise."""
        if not self.is_batch(call):
            return False
        statement = self._model.statement_of(call)
        function = self._model.function_at(call)
        targets = [t.target for t in statement.targets] if isinstance(statement, cst.Assign) else []
        names = [name.value for target in targets for name in target_names(target)]
        if not names:
            names = (
                [function.name]
                if function is not None and isinstance(statement, cst.Return | cst.Expr)
                else []
            )
        return bool(names) and (self._draws_images(call) or not any(map(_NOISE.search, names)))

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
        if self._infer.names.qualified(call.func).startswith("np.random."):
            return True
        return (
            isinstance(call.func, cst.Attribute)
            and self._infer.value(call.func.value).name == "np.random.Generator"
        )


def _has_three_axes(sizes: list[cst.BaseExpression]) -> bool:
    return sum(integer(size) != 1 for size in sizes) > 2
