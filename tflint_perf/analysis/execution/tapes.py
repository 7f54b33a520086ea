"""Gradient tapes: where they are opened, where they are mentioned, and what is asked of them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.python.reach import remembered
from tflint_perf.analysis.python.scopes import Function, Scope
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.readers import Readers
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
        self._readers = Readers(infer)

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
        name, home = tape.target.value, self._infer.names.home(tape.target)
        bound = self._bound(name, home)
        return [node for node in self._readers.of(name, home).get(tape.target, ()) if node not in bound]

    @remembered
    def _bound(self, name: str, home: Scope | None) -> frozenset[cst.CSTNode]:
        """The nodes that give a name its values."""
        bindings = home.bindings.get(name, ()) if home is not None else ()
        return frozenset(binding.node for binding in bindings)

    def call_on(self, mention: cst.Name) -> cst.Call | None:
        """The call of a method of the tape that a mention of it belongs to: `tape.gradient(loss, variables)`."""
        method = self._walk.parents.get(mention)
        call = self._walk.parents.get(method) if method is not None else None
        if isinstance(method, cst.Attribute) and isinstance(call, cst.Call) and call.func is method:
            return call
        return None
