"""Where a tensor may be copied to the host, by the words alone; what is a tensor is asked there."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from tflint_perf.analysis.python.syntax import callee_name
from tflint_perf.analysis.training.showing import shows
from tflint_perf.analysis.values.infer import Inference

HOST_METHODS = ("numpy", "item")
HOST_BUILTINS = ("float", "int", "str", "format")
# Keras's own way to ask a variable for its value.
HOST_FUNCTIONS = frozenset({"keras.backend.get_value"})
_COPYING = frozenset([*HOST_METHODS, *HOST_BUILTINS, "format", "get_value"])


class Copying:
    """Finds the statements to look at, whoever runs them."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer
        self._walk = infer.walk

    @cached_property
    def statements(self) -> list[cst.CSTNode]:
        """The statements that may copy a tensor to the host, in the order of the text."""
        found: dict[cst.CSTNode, None] = {}
        for calls in self._walk.calls.values():
            for call in calls:
                if self._may_copy(call):
                    found[self._statement_of(call)] = None
        for node in self._walk.formats:
            found[self._statement_of(node)] = None
        return sorted(found, key=lambda statement: self._walk.at[statement].order)

    def _may_copy(self, call: cst.Call) -> bool:
        if callee_name(call) in _COPYING or shows(self._infer, call):
            return True
        return bool(call.args) and self._infer.names.qualified(call.func).startswith("np.")

    def _statement_of(self, node: cst.CSTNode) -> cst.CSTNode:
        while node not in self._walk.at:
            node = self._walk.parents[node]
        return node
