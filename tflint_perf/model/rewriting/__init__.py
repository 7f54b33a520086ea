"""What moving, repeating or dropping an evaluation may change: the one place that says whether a fix is safe.

A fix is safe when everything that it moves is *known* to give the same wherever it is evaluated, and to do nothing
else. Known are literals, names bound to values that can't change, and arrays and tensors that nobody else holds; ops
that compute and draw nothing; functions made of those. That nothing was *seen* to change a value proves nothing: an
alias, an object's method, another file, a callback may do it out of sight. So each question here is answered by a
`Doubt`, the first thing that is not known, or by None.

    for epoch in range(3):
        dataset = tf.data.Dataset.from_tensor_slices(x).batch(2)

is known to build the same dataset three times if `x = np.arange(6)` and `x` is only read in the file; it is not if `x`
is a parameter, is put into a list, or is handed to a function that may keep it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import libcst as cst

from tflint_perf.model.calls import CallGraph
from tflint_perf.model.infer import Inference
from tflint_perf.model.rewriting.doubts import Doubt, Move
from tflint_perf.model.rewriting.looking_on import first_onlooker
from tflint_perf.model.rewriting.places import Places, bound_by
from tflint_perf.model.rewriting.pure import Purity
from tflint_perf.model.rewriting.read_ahead import ReadAhead
from tflint_perf.model.rewriting.unchanging import Unchanging
from tflint_perf.model.scopes import Loop
from tflint_perf.model.values import Value

__all__ = ["Doubt", "Rewriting"]


class Rewriting:
    """Answers what a rewrite may change: None where it is known to change nothing."""

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._unchanging = Unchanging(infer)
        self._purity = Purity(infer, calls, self._unchanging)
        self._places = Places(infer, self._unchanging)
        self._ahead = ReadAhead(infer, self._purity)

    def doubt_of_moving(self, nodes: Sequence[cst.CSTNode], loop: Loop) -> Doubt | None:
        """What may change where `nodes`, an expression or statements of `loop`, are evaluated once, above the loop."""
        names = frozenset(name for node in nodes for name in bound_by(node))
        move = Move(loop, names)
        found = self.doubt_of_the_file
        for node in nodes:
            found = found or self._purity.doubt(node, move)
            found = found or self._places.doubt(node, move, fails=self._purity.may_fail(node))
        return found

    def doubt_of_reading_ahead(self, dataset: Value) -> Doubt | None:
        """What may change where elements of a dataset are made before they are asked for, several at a time."""
        return self.doubt_of_the_file or self._ahead.doubt(dataset)

    def doubt_of_mapping_ahead(self, function: cst.BaseExpression) -> Doubt | None:
        """What may change where a function that is given to a dataset runs for several elements at a time."""
        return self.doubt_of_the_file or self._purity.doubt_of_mapped(function, Move())

    @cached_property
    def doubt_of_the_file(self) -> Doubt | None:
        """What in the file may look at, or change, what no reader of the code can follow."""
        return first_onlooker(self._infer)
