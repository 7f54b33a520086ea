"""For which version of TensorFlow a file is written, as far as its words say."""

from __future__ import annotations

from functools import cache, cached_property

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, library, named
from tflint_perf.analysis.python.names import Names
from tflint_perf.analysis.python.syntax import descendants, is_name
from tflint_perf.analysis.python.walk import Walk
from tflint_perf.analysis.values.parts import Part

# What version 2 has under `compat.v1`, or not at all.
_EAGER = "enable_eager_execution"
_CONTRIB = "tensorflow.contrib"
_MODULES_OF_VERSION_1 = ("tensorflow.compat.v1", "tensorflow.contrib", "tensorflow.python.framework.ops")


@cache
def _ended_with_version_1() -> frozenset[str]:
    """What TensorFlow has up to version 1, by the names of then."""
    return frozenset(
        name for name in named("until") if fact(name, "until") == "1" and library(name) == "tensorflow"
    )


class Versions(Part):
    """Answers whether a file is surely code for TensorFlow 2."""

    _walk: Walk
    _names: Names

    def is_version_2(self) -> bool:
        """Whether the file uses APIs of TensorFlow 2, and none that builds graphs for sessions."""
        return any(map(self._mentions, named("version-2"))) and not self.builds_graphs()

    def is_version_1(self) -> bool:
        """Whether the file runs in version 1 alone, be it eager: it uses what version 2 does not have."""
        asked = (*self._walk.names.get(_EAGER, ()), *self._walk.attributes.get(_EAGER, ()))
        if any(self._names.dotted(node) == f"tensorflow.{_EAGER}" and self._is_sure(node) for node in asked):
            return True
        if self._imports((_CONTRIB,)) or any(
            self._names.dotted(node) == _CONTRIB for node in self._walk.attributes.get("contrib", ())
        ):
            return True
        return self._uses_what_ended() and not any(map(self._mentions, named("version-2")))

    def never_runs_eagerly(self) -> bool:
        """Whether the file runs in version 1 alone and does not turn on the eager mode that is off there by default."""
        named_there = (_EAGER, "enable_v2_behavior")
        asks = any(name in self._walk.names or name in self._walk.attributes for name in named_there)
        return not asks and self.is_version_1()

    def _uses_what_ended(self) -> bool:
        """Whether the file uses, and not by `compat.v1`, what TensorFlow has in version 1 alone, without asking for the version."""
        if "compat" in self._walk.attributes or self._imports(_MODULES_OF_VERSION_1):
            return False
        return any(
            self._names.qualified(node) == name and self._is_sure(node)
            for name in _ended_with_version_1()
            for last in [name.rpartition(".")[2]]
            for node in (*self._walk.names.get(last, ()), *self._walk.attributes.get(last, ()))
        )

    def _is_sure(self, node: cst.CSTNode) -> bool:
        """Whether nothing, such as a check of the version, decides whether `node` runs in the program."""
        current: cst.CSTNode | None = node
        while current is not None and not isinstance(current, cst.If | cst.IfExp | cst.Try | cst.TryStar):
            current = self._walk.parents.get(current)
        if isinstance(current, cst.If) and any(
            is_name(part, "__name__") for part in descendants(current.test)
        ):
            return self._is_sure(self._walk.parents[current])
        return current is None

    def builds_graphs(self) -> bool:
        """Whether the file uses an API that builds graphs for sessions, or a module of TensorFlow 1."""
        return self._imports(_MODULES_OF_VERSION_1) or any(map(self._mentions, named("builds-graphs")))

    def _mentions(self, name: str) -> bool:
        last = name.rsplit(".", 1)[1]
        nodes = (*self._walk.names.get(last, ()), *self._walk.attributes.get(last, ()))
        return any(self._names.qualified(node) == name for node in nodes)

    def _imports(self, modules: tuple[str, ...]) -> bool:
        return any(imported.startswith(modules) for imported in self._imported)

    @cached_property
    def _imported(self) -> frozenset[str]:
        return frozenset(
            binding.imported
            for scope in self._walk.scopes.values()
            for bindings in scope.bindings.values()
            for binding in bindings
        )
