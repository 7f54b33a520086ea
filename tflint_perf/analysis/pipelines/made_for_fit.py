"""Batches that Python makes for Keras's own training loop: what `fit` is given, and the generators of images behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.analysis.execution.loops import FITS, fitted
from tflint_perf.analysis.pipelines.batch_sources import BatchSources
from tflint_perf.analysis.python.syntax import keyword_argument
from tflint_perf.analysis.values.caller import Batch
from tflint_perf.analysis.values.keras_flows import Makers
from tflint_perf.analysis.values.outside import name_outside

if TYPE_CHECKING:
    from tflint_perf.analysis.model import Model


class MadeForFit:
    """Finds such batches, and who makes them."""

    def __init__(self, model: Model, sources: BatchSources) -> None:
        self._model = model
        self._infer = model.infer
        self._sources = sources
        self._makers = Makers(model.infer, model.calls)

    def all(self) -> Iterator[tuple[cst.BaseExpression, Batch]]:
        """What `fit` is given to train on, and each generator of images behind what it is given."""
        fits = [call for name in FITS for call in self._model.walk.calls.get(name, ()) if self._trains(call)]
        for call in fits:
            given = fitted(call)
            how = self._sources.of(given) if given is not None else None
            if given is not None and how is not None:
                yield given, how
        if self._sources.has_flows():
            for maker in dict.fromkeys([*self._behind(fits), *self._for_others()]):
                yield maker.func, "augmented"

    def _trains(self, call: cst.Call) -> bool:
        return isinstance(call.func, cst.Attribute) and self._infer.value(call.func.value).kind in (
            "model",
            "unknown",
        )

    def _behind(self, fits: list[cst.Call]) -> Iterator[cst.Call]:
        for call in fits:
            for given in (fitted(call), keyword_argument(call, "validation_data")):
                if given is not None:
                    yield from self._makers.of(given)

    def _for_others(self) -> Iterator[cst.Call]:
        """The generators of images that functions give to other files, which train on them."""
        for function in self._model.walk.functions.values():
            makers = list(self._makers.given_by(function)) if name_outside(function) else []
            if makers and any(caller.fed for caller in self._model.calls.callers_outside(function)):
                yield from makers
