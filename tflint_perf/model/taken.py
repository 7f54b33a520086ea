"""Parameters whose elements a step takes as they come: who calls the function gives it a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import libcst as cst

from tflint_perf.model.scopes import Function
from tflint_perf.model.syntax import has_stars

if TYPE_CHECKING:
    from tflint_perf.model import Model

# Functions that hand a parameter on, no deeper than this.
_ROUNDS = 4


class Taken:
    """Answers which parameters of a file's functions are iterated into a step or given to a Keras model."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._infer = model.infer
        self._walk = model.walk

    def by(self, function: Function) -> list[tuple[str, int]]:
        """Such parameters by name, each with its place in a call; -1 for one that is given by keyword only."""
        names = self._by_function.get(function, ())
        bound = function.owner is not None and not function.has_decorator("staticmethod")
        places = function.positional[1:] if bound else function.positional
        return [(name, places.index(name) if name in places else -1) for name in sorted(names)]

    @cached_property
    def _by_function(self) -> dict[Function, set[str]]:
        found: dict[Function, set[str]] = {}
        for node in self._model.pipelines.taken():
            for function, name in self._parameters(node):
                found.setdefault(function, set()).add(name)
        for _ in range(_ROUNDS):
            new = [at for at in self._handed_on(found) if at[1] not in found.get(at[0], ())]
            for function, name in new:
                found.setdefault(function, set()).add(name)
            if not new:
                break
        return found

    def _handed_on(self, found: dict[Function, set[str]]) -> Iterator[tuple[Function, str]]:
        """The parameters that their functions give to functions which take them."""
        for function, names in list(found.items()):
            for name in list(names):
                if not any(map(has_stars, self._model.calls.sites(function))):
                    for given in self._model.calls.arguments(function, name):
                        yield from self._parameters(given)

    def _parameters(self, node: cst.BaseExpression) -> Iterator[tuple[Function, str]]:
        """The parameter that an expression stands for, with its function: itself, or an attribute that keeps it."""
        if isinstance(node, cst.Attribute):
            for binding in self._infer.classes.bindings_of(node):
                if isinstance(binding.value, cst.Name) and binding.path == ():
                    yield from self._parameters(binding.value)
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        if found is not None and found[0].function is not None:
            if any(binding.kind == "param" for binding in found[1]) and isinstance(node, cst.Name):
                yield found[0].function, node.value
