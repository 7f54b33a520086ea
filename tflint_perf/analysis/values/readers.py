"""Where names are mentioned, by what gives them the value that they have there."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from tflint_perf.analysis.python.scopes import Scope
from tflint_perf.analysis.values.infer import Inference


class Readers:
    """Answers which mentions of a name may mean what one place binds to it."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer
        self._known: dict[tuple[str, Scope | None], dict[cst.CSTNode, list[cst.Name]]] = {}

    def of(self, name: str, home: Scope | None) -> Mapping[cst.CSTNode, list[cst.Name]]:
        """The mentions of a name of a scope by the nodes that bind it, each in the order of the text.

        All are looked through once: a name may be bound a thousand times, and mentioned as often.
        """
        known = self._known.get((name, home))
        if known is None:
            known = self._known[name, home] = {}
            for mention in self._infer.names.mentions(name, home):
                for node in {binding.node for binding in self._infer.bindings(mention)}:
                    known.setdefault(node, []).append(mention)
        return known
