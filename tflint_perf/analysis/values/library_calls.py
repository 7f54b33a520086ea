"""Calls of libraries, however their functions are imported."""

from __future__ import annotations

from functools import cached_property

import libcst as cst

from tflint_perf.analysis.apis.facts import named
from tflint_perf.analysis.python.names import Names, canonical
from tflint_perf.analysis.python.walk import Walk
from tflint_perf.analysis.values.parts import Part


class LibraryCalls(Part):
    """Finds the calls of functions by their qualified names, or by what the API tables say of them."""

    _walk: Walk
    _names: Names

    def to(self, *qualified: str) -> list[cst.Call]:
        """The calls of certain functions, by their qualified names and however they are imported."""
        found = []
        for name in qualified:
            last = name.rsplit(".", 1)[-1]
            # An alias may hide the last part of the name.
            lists = [self._walk.calls.get(last, [])] + [
                self._walk.calls.get(alias, []) for alias in self.aliases.get(name, ()) if alias != last
            ]
            found += [call for calls in lists for call in calls if self._names.qualified(call.func) == name]
        return found

    def that(self, *words: str) -> list[cst.Call]:
        """The calls of library functions that the API tables mark as `words`: `that("compiles")`."""
        return self.to(*sorted(named(*words)))

    @cached_property
    def aliases(self) -> dict[str, set[str]]:
        """Qualified names by the module-wide short names that stand for them."""
        aliases: dict[str, set[str]] = {}
        for scope in self._walk.scopes.values():
            for bound, bindings in scope.bindings.items():
                for binding in bindings:
                    if binding.imported:
                        aliases.setdefault(canonical(binding.imported), set()).add(bound)
                    elif binding.kind == "assign" and isinstance(binding.value, cst.Attribute | cst.Name):
                        name = self._names.qualified(binding.value)
                        if name:
                            aliases.setdefault(name, set()).add(bound)
        return aliases
