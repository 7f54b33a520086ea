"""Whether elements of a dataset may be made before they are asked for: nothing that they are made of can change."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import methods
from tflint_perf.analysis.python.syntax import argument
from tflint_perf.analysis.rewriting.doubts import Doubt, Move
from tflint_perf.analysis.rewriting.pure import Purity
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.values import Stage, Value


class ReadAhead:
    """Answers what a pipeline may give, or do, differently where it runs ahead of the steps."""

    def __init__(self, infer: Inference, purity: Purity) -> None:
        self._infer = infer
        self._purity = purity

    def doubt(self, dataset: Value) -> Doubt | None:
        """The first stage that may read or do something meanwhile."""
        if not dataset.pipelines:
            return Doubt("what it reads: not all of the pipeline can be seen here")
        for pipeline in dataset.pipelines:
            names = [stage.name for stage in pipeline]
            if "shuffle" in names and "repeat" in names[names.index("shuffle") :]:
                # Each round draws a seed when it begins, which a reader ahead has begun though nobody gets there.
                return Doubt(
                    "the order of the elements, if a loop ends before the dataset does", pipeline[-1].call
                )
            for stage in pipeline:
                doubt = self._of_stage(stage)
                if doubt is not None:
                    return doubt
        return None

    def _of_stage(self, stage: Stage) -> Doubt | None:
        if stage.origin is not None:
            return Doubt("what it reads: not all of the pipeline can be seen here")
        for given in stage.inputs:
            doubt = self.doubt(given)
            if doubt is not None:
                return doubt
        if stage.name in methods("Dataset", "calls"):
            function = argument(stage.call, 0, "map_func") or argument(stage.call, 0, "predicate")
            if function is None:
                return Doubt("what its function does", stage.call)
            return self._purity.doubt_of_mapped(function, Move())
        if stage.name in methods("Dataset", "repeatable", "orders"):
            keeps_file = stage.name == "cache" and stage.call.args
            return Doubt("the files of the cache", stage.call) if keeps_file else None
        if stage.name in methods("source", "repeatable"):
            return None
        return Doubt(_what(stage), stage.call if isinstance(stage.call, cst.Call) else None)


def _what(stage: Stage) -> str:
    if "Dataset" in stage.name or stage.name in ("list_files", "load"):
        return "what it reads, if the files are written meanwhile"
    return "when it runs what gives its elements"
