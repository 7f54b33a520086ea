"""The questions that fixes ask: what may change where code is moved, run ahead or left out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import libcst as cst

from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.analysis.rewriting.doubts import Doubt, Move
from tflint_perf.analysis.rewriting.introspection import first_onlooker
from tflint_perf.analysis.rewriting.natures import Natures
from tflint_perf.analysis.rewriting.object_identity import ObjectIdentity
from tflint_perf.analysis.rewriting.places import Places, bound_by
from tflint_perf.analysis.rewriting.pure import Purity
from tflint_perf.analysis.rewriting.read_ahead import ReadAhead
from tflint_perf.analysis.rewriting.unchanging import Unchanging
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import Value


class Rewriting(Part):
    """Answers what a rewrite may change: None where it is known to change nothing."""

    _infer: Inference
    _calls: CallGraph

    def __post_init__(self) -> None:
        self._natures = Natures(self._infer)
        unchanging = Unchanging(self._infer, self._natures)
        self._purity = Purity(self._infer, self._calls, unchanging, self._natures)
        self._places = Places(self._infer, unchanging, self._natures)
        self._ahead = ReadAhead(self._infer, self._purity)
        self._identity = ObjectIdentity(self._infer)

    def doubt_of_moving(self, nodes: Sequence[cst.CSTNode], loop: Loop) -> Doubt | None:
        """What may change where `nodes`, an expression or statements of `loop`, are evaluated once, above the loop."""
        names = frozenset(name for node in nodes for name in bound_by(node))
        move = Move(loop, names)
        found = self.doubt_of_the_file
        for node in nodes:
            found = found or self._purity.doubt(node, move)
            found = found or self._places.doubt(node, move, fails=self._purity.may_fail(node))
        return found or self._identity.doubt_of_one(name for node in nodes for name in self._named(node))

    def _named(self, node: cst.CSTNode) -> list[cst.Name]:
        """The names of what a statement makes, or of an expression that a statement gives names to as it is."""
        statement = self._infer.walk.parents.get(node) if isinstance(node, cst.BaseExpression) else node
        return bound_by(statement) if statement is not None else []

    def doubt_of_reading_ahead(self, dataset: Value, node: cst.BaseExpression) -> Doubt | None:
        """What may change where elements of a dataset are made before they are asked for, several at a time.

        `node` gives the dataset that becomes an object of another class.
        """
        return self.doubt_of_the_file or self._ahead.doubt(dataset) or self._identity.doubt(node)

    def doubt_of_mapping_ahead(self, function: cst.BaseExpression) -> Doubt | None:
        """What may change where a function that is given to a dataset runs for several elements at a time."""
        return self.doubt_of_the_file or self._purity.doubt_of_mapped(function, Move())

    def doubt_of_taking_as_it_is(self, node: cst.BaseExpression) -> Doubt | None:
        """What may change where `node` is no longer converted to a tensor, which it is already."""
        if self._natures.is_tensor(node):
            return None
        return Doubt("its result, if that is a structure of tensors, a variable or not a dense tensor", node)

    @cached_property
    def doubt_of_the_file(self) -> Doubt | None:
        """What in the file may look at, or change, what no reader of the code can follow."""
        return first_onlooker(self._infer)
