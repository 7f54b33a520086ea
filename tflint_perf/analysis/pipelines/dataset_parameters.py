"""Parameters whose elements a step takes as they come: who calls the function gives it a dataset."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.short_loops import only_inspects
from tflint_perf.analysis.pipelines.consumption import Consumption
from tflint_perf.analysis.pipelines.draws import Draws
from tflint_perf.analysis.pipelines.element_uses import ElementUses
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import argument, callee_name, has_stars, target_names
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import source, with_targets
from tflint_perf.analysis.values.parts import Part
from tflint_perf.analysis.values.values import UNKNOWN

# Functions that hand a parameter on, no deeper than this.
_ROUNDS = 4


class DatasetParameters(Part):
    """Answers which parameters of a file's functions are iterated into a step or given to a Keras model."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _draws: Draws
    _element_uses: ElementUses

    def by(self, function: Function) -> list[tuple[str, int]]:
        """Such parameters by name, each with its place in a call; -1 for one that is given by keyword only."""
        names = self._by_function.get(function, ())
        return [(name, function.place_of(name)) for name in sorted(names)]

    @cached_property
    def _by_function(self) -> dict[Function, set[str]]:
        found: dict[Function, set[str]] = {}
        for node in self._all():
            for function, name in self._parameters(node):
                found.setdefault(function, set()).add(name)
        for _ in range(_ROUNDS):
            new = [at for at in self._handed_on(found) if at[1] not in found.get(at[0], ())]
            for function, name in new:
                found.setdefault(function, set()).add(name)
            if not new:
                break
        return found

    def _all(self) -> Iterator[cst.BaseExpression]:
        """What loops and models take elements from to train or to infer, whatever it is known to be."""
        uses = self._element_uses
        yield from (node for node, _ in uses.arguments_of_keras())
        for node, loop in self._walk.loops.items():
            if not isinstance(node, cst.For) or only_inspects(self._infer, loop):
                continue
            for given, target in with_targets(self._infer, node.iter, node.target):
                names = {name.value for name in target_names(target)} if target is not None else set()
                if names and isinstance(given, cst.Name | cst.Attribute) and uses.use_in(node, names):
                    if not uses.makes_batches_itself(Consumption(given, UNKNOWN, "train", loop)):
                        yield given
        for call in self._walk.calls.get("next", ()):
            drawn = self._iterator_made(call.args[0].value) if call.args else None
            if drawn is not None and self._loops.is_per_step(call) and self._draws.use_of(call):
                yield drawn

    def _iterator_made(self, node: cst.BaseExpression) -> cst.BaseExpression | None:
        """What an iterator with a name was made of: `data` for `batches = iter(data)`."""
        for binding in self._infer.bindings(node):
            if isinstance(binding.value, cst.Call) and callee_name(binding.value) == "iter":
                given = argument(binding.value, 0)
                return given if isinstance(given, cst.Name | cst.Attribute) else None
        return None

    def _handed_on(self, found: dict[Function, set[str]]) -> Iterator[tuple[Function, str]]:
        """The parameters that their functions give to functions which take them."""
        for function, names in list(found.items()):
            for name in list(names):
                if not any(map(has_stars, self._calls.sites(function))):
                    for given in self._calls.arguments(function, name):
                        yield from self._parameters(given)

    def _parameters(self, node: cst.BaseExpression, depth: int = 0) -> Iterator[tuple[Function, str]]:
        """The parameter that an expression stands for, with its function: itself, or an attribute that keeps it."""
        if isinstance(node, cst.Attribute):
            for binding in self._infer.classes.bindings_of(node):
                if isinstance(binding.value, cst.Name) and binding.path == ():
                    yield from self._parameters(binding.value)
        found = self._infer.bindings_reaching(node) if isinstance(node, cst.Name) else None
        for binding in found[1] if found is not None and depth < _ROUNDS else ():
            inner = source(self._infer, binding.value) if isinstance(binding.value, cst.Call) else None
            if (
                binding.kind == "assign"
                and binding.path == ()
                and isinstance(inner, cst.Name | cst.Attribute)
            ):
                yield from self._parameters(inner, depth + 1)  # `bar = tqdm(batches)`
        if found is not None and found[0].function is not None:
            if any(binding.kind == "param" for binding in found[1]) and isinstance(node, cst.Name):
                yield found[0].function, node.value
