"""Batches that Python makes for Keras's own training loop: what `fit` is given, and the generators of images behind it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.execution.loops import fitted
from tflint_perf.analysis.execution.trains import FITS
from tflint_perf.analysis.pipelines.batch_makers import BatchMakers
from tflint_perf.analysis.python.syntax import is_name, keyword_argument
from tflint_perf.analysis.values.caller import Batch
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.keras_flows import Makers
from tflint_perf.analysis.values.outside import name_outside


class MadeForFit:
    """Finds such batches, and who makes them."""

    def __init__(self, infer: Inference, calls: CallGraph, batch_makers: BatchMakers) -> None:
        self._infer = infer
        self._calls = calls
        self._walk = infer.walk
        self._sources = batch_makers.sources
        self._makers = Makers(infer, calls)

    def all(self) -> Iterator[tuple[cst.BaseExpression, Batch]]:
        """What each `fit` is given to train on, and the generators of images behind that; each once."""
        fits = [call for name in FITS for call in self._walk.calls.get(name, ()) if self._trains(call)]
        seen: set[cst.CSTNode] = set()
        for call in fits:
            given = fitted(call)
            how = self._sources.of(given) if given is not None else None
            if given is not None and how is not None and (made := self._made_at(given)) not in seen:
                seen.add(made)
                yield given, how
        if self._sources.has_flows():
            for maker in dict.fromkeys([*self._behind(fits), *self._for_others()]):
                yield maker.func, "augmented"

    def _trains(self, call: cst.Call) -> bool:
        """Whether `call` is a `fit` of Keras that waits for Python to make batches: not one for which several processes
        do that at a time."""
        workers = self._infer.integers.only(keyword_argument(call, "workers"))
        asked = keyword_argument(call, "workers") is not None and workers not in (0, 1)
        if asked and is_name(keyword_argument(call, "use_multiprocessing"), "True"):
            return False
        return isinstance(call.func, cst.Attribute) and self._infer.value(call.func.value).kind in (
            "model",
            "unknown",
        )

    def _made_at(self, given: cst.BaseExpression) -> cst.CSTNode:
        """Where `given`, the argument of a `fit`, is made, as far as one name shows."""
        found = self._infer.bindings_reaching(given) if isinstance(given, cst.Name) else None
        made = found[1][0].value if found is not None and len(found[1]) == 1 else None
        return made if made is not None else given

    def _behind(self, fits: list[cst.Call]) -> Iterator[cst.Call]:
        for call in fits:
            for given in (fitted(call), keyword_argument(call, "validation_data")):
                if given is not None:
                    yield from self._makers.of(given)

    def _for_others(self) -> Iterator[cst.Call]:
        """The generators of images that functions give to other files, which train on them."""
        for function in self._walk.functions.values():
            makers = list(self._makers.given_by(function)) if name_outside(function) else []
            if makers and any(caller.fed for caller in self._calls.callers_outside(function)):
                yield from makers
