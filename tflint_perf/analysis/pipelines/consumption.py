"""Places where a dataset is consumed: a model or a step takes its elements."""

from __future__ import annotations

from typing import Literal

import libcst as cst

from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.analysis.values.values import Value
from tflint_perf.records import dataclass

Use = Literal["train", "infer"]


@dataclass(frozen=True, slots=True)
class Consumption:
    """A place that takes a dataset's elements to train or to infer: `node` is the dataset there.

    `loop` is the step loop that runs over it; None when a Keras method is given it, or (`in_graph`) a graph has it, or
    (`handed_on`) a function gives an element to whoever calls it per step.
    """

    node: cst.BaseExpression
    value: Value
    use: Use
    loop: Loop | None = None
    in_graph: bool = False
    handed_on: bool = False

    @property
    def infers_in_loop(self) -> bool:
        """Whether a loop runs inference one by one, as it does to show or to write the results."""
        return self.use == "infer" and self.loop is not None
