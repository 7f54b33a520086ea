"""Datasets that a strategy has distributed: it prefetches them itself, and they have no `Dataset` methods."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.python.syntax import callee_name
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part


class Distributed(Part):
    """Answers what a strategy made of a dataset."""

    _infer: Inference
    _calls: CallGraph

    def is_distributed(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a dataset that a strategy distributes, here or in the function that gives it."""
        return self._is_distributed(node, set())

    def _is_distributed(self, node: cst.BaseExpression, seen: set[cst.CSTNode]) -> bool:
        if not isinstance(node, cst.Name):
            return isinstance(node, cst.Call) and "distribute" in callee_name(node)
        found = self._infer.bindings_reaching(node)
        for binding in found[1] if found is not None else ():
            if binding.node in seen:
                continue
            seen.add(binding.node)
            made = list(self._given_by(binding.value, binding.path)) if binding.value is not None else []
            function = found[0].function if found is not None else None
            if binding.kind == "param" and function is not None:
                made += self._calls.arguments(function, binding.name)
            if any(self._is_distributed(value, seen) for value in made):
                return True
        return False

    def _given_by(
        self, node: cst.BaseExpression, path: tuple[int, ...] | None
    ) -> Iterator[cst.BaseExpression]:
        """An expression, or what functions of this file return where it is a call of them; by `path`, a part of that."""
        targets = self._calls.targets(node) if isinstance(node, cst.Call) else []
        if not targets:
            yield node
        for returned in (each for function in targets for each in function.returns):
            if returned.value is not None and (part := _part(returned.value, path or ())) is not None:
                yield part


def _part(node: cst.BaseExpression, path: tuple[int, ...]) -> cst.BaseExpression | None:
    """What stands at a place of tuples within tuples."""
    for at in path:
        if not isinstance(node, cst.Tuple) or at >= len(node.elements):
            return None
        node = node.elements[at].value
    return node
