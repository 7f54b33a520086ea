"""Names whose values nobody changes: bound outside the loop to what can't change, or to an array that is only read."""

from __future__ import annotations

import builtins

import libcst as cst

from tflint_perf.analysis.apis import effects
from tflint_perf.analysis.execution.invariance import Invariance
from tflint_perf.analysis.python.scopes import Binding, Loop, Scope
from tflint_perf.analysis.rewriting.doubts import Doubt, Move, if_it_changes
from tflint_perf.analysis.rewriting.natures import Natures
from tflint_perf.analysis.rewriting.reads import Reads
from tflint_perf.analysis.values.infer import Inference

_BUILTINS = frozenset(dir(builtins))


class Unchanging:
    """Answers which names stand for the same value, with the same content, in each iteration of a loop."""

    def __init__(self, infer: Inference, natures: Natures) -> None:
        self._infer = infer
        self._names = infer.names
        self._natures = natures
        self._reads = Reads(infer, natures)

    def doubt(self, node: cst.Name, move: Move) -> Doubt | None:
        """Why what a name stands for may be another thing where `move` has it evaluated."""
        if node.value in ("None", "True", "False"):
            return None
        shown = if_it_changes(node, f"`{node.value}`")
        found = self._names.lookup(node.value, self._names.scope_of(node))
        if found is None:
            return None if node.value in _BUILTINS else shown
        home, bindings = found
        if all(binding.kind == "import" for binding in bindings):
            return None if self.is_of_library(node) else shown
        if home.kind == "class":
            return shown
        loop = move.loop
        bindings = [binding for binding in bindings if binding.node not in move.names]
        for binding in bindings:
            if not self._natures.is_plain(binding, home) or self._is_bound_meanwhile(
                binding, bindings, home, loop
            ):
                return if_it_changes(binding.node, f"`{node.value}`")
        natures = {self._natures.of_binding(binding) for binding in bindings}
        if None in natures:
            return shown
        if "array" in natures and loop is not None:
            if home.kind == "module" and loop.function is not None:
                return shown  # another file may have it, too
            changed = self._reads.other_than_reading(home, node.value)
            if changed is not None:
                return if_it_changes(changed, f"`{node.value}`")
        return None

    def is_of_library(self, node: cst.CSTNode) -> bool:
        """Whether a name or attribute is one of a library whose functions are known."""
        return self._names.qualified(node).split(".")[0] in effects.LIBRARIES

    @staticmethod
    def _is_bound_meanwhile(
        binding: Binding, bindings: list[Binding], home: Scope, loop: Loop | None
    ) -> bool:
        """Whether a name may get another value while a loop runs."""
        if loop is None:
            return False
        if Invariance.is_bound_in(binding, loop):
            return True
        # While a generator waits, whoever asks it runs.
        waits = loop.function is not None and (loop.function.yields or loop.yields)
        elsewhere = home.function is not loop.function
        return bool(waits) and elsewhere and (len(bindings) > 1 or binding.at.block.loop is not None)
