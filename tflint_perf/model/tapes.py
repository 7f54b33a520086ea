"""Gradient tapes: where they are opened, where they are mentioned, and what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.model.calls import CallGraph
from tflint_perf.model.infer import Inference
from tflint_perf.model.scopes import Function
from tflint_perf.records import dataclass

GRADIENTS = frozenset({"gradient", "jacobian", "batch_jacobian"})


@dataclass(frozen=True, slots=True)
class Tape:
    """A tape that a `with` opens under a plain name: `made` is the call that makes it, `target` the name there."""

    node: cst.With
    made: cst.Call
    target: cst.Name
    function: Function | None


class Tapes:
    """Answers what becomes of the tapes of a file."""

    def __init__(self, infer: Inference, calls: CallGraph) -> None:
        self._infer = infer
        self._calls = calls
        self._walk = infer.walk

    def all(self) -> Iterator[Tape]:
        """The tapes, in the order of the text."""
        for node in self._walk.withs:
            for item in node.items:
                made, bound = item.item, item.asname.name if item.asname is not None else None
                if isinstance(made, cst.Call) and isinstance(bound, cst.Name):
                    if self._infer.names.qualified(made.func) == "tf.GradientTape":
                        yield Tape(node, made, bound, self._calls.function_at(node))

    def mentions(self, tape: Tape) -> list[cst.Name]:
        """Every place where the tape's name is read and may mean it; a `del` is none."""
        names = self._infer.names
        mentions = names.mentions(tape.target.value, names.home(tape.target))
        return [node for node in mentions if self._may_mean(node, tape)]

    def _may_mean(self, node: cst.Name, tape: Tape) -> bool:
        found = self._infer.bindings_reaching(node)
        if found is None or all(binding.node is not tape.target for binding in found[1]):
            return False
        return all(binding.node is not node for binding in found[0].bindings[node.value])

    def call_on(self, mention: cst.Name) -> cst.Call | None:
        """The call of a method of the tape that a mention of it belongs to: `tape.gradient(loss, variables)`."""
        method = self._walk.parents.get(mention)
        call = self._walk.parents.get(method) if method is not None else None
        if isinstance(method, cst.Attribute) and isinstance(call, cst.Call) and call.func is method:
            return call
        return None
