"""TensorFlow 1's graphs: which graph code runs on, and whether it runs in graph mode at all."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.apis.facts import has, last_names, named
from tflint_perf.analysis.conventions import names_a_session
from tflint_perf.analysis.execution.compiled import Compiled
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.python.syntax import argument, callee_name
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference


class Graphs:
    """Answers whether code makes ops, and on which graph."""

    def __init__(self, infer: Inference, calls: CallGraph, compiled: Compiled, loops: Loops) -> None:
        self._infer = infer
        self._calls = calls
        self._compiled = compiled
        self._loops = loops
        self._walk = infer.walk
        self._version_1: bool | None = None

    def is_session(self, node: cst.BaseExpression) -> bool:
        """Whether `node` is a session; one of unknown origin goes by its name."""
        kind = self._infer.value(node).kind
        if kind not in ("unknown", "none"):
            return kind == "session"
        match node:
            case cst.Name():
                return bool(names_a_session(node.value))
            case cst.Attribute():
                return bool(names_a_session(node.attr.value))
            case cst.Call():
                return callee_name(node) in ("get_default_session", "get_session")
        return False

    def has_own_graph(self, node: cst.CSTNode, stop: cst.CSTNode | None) -> bool:
        """Whether a `with` between `node` and the loop or function around it makes a graph made there the default, or
        an unknown one."""
        return any(
            self._is_new_graph(graph, with_statement)
            for with_statement in self._withs_around(node, stop)
            for graph in self._graphs(with_statement)
        )

    def _withs_around(self, node: cst.CSTNode, stop: cst.CSTNode | None) -> Iterator[cst.With]:
        current = self._walk.parents.get(node)
        while current is not None and current is not stop:
            if isinstance(current, cst.FunctionDef | cst.Lambda):
                return
            if isinstance(current, cst.With):
                yield current
            current = self._walk.parents.get(current)

    def _graphs(self, node: cst.With) -> Iterator[cst.BaseExpression]:
        """The graphs that a `with` makes the default: `graph.as_default()`, `tf.Session(graph=graph)`."""
        for item in node.items:
            call = item.item
            if (
                isinstance(call, cst.Call)
                and callee_name(call) == "as_default"
                and isinstance(call.func, cst.Attribute)
            ):
                if not self.is_session(call.func.value):
                    yield call.func.value
            elif isinstance(call, cst.Call) and self._infer.value(call).kind == "session":
                graph = argument(call, 1, "graph")
                if graph is not None:
                    yield graph

    def _is_new_graph(self, graph: cst.BaseExpression, place: cst.With) -> bool:
        """Whether `graph` is made where it is used, or nobody knows where."""
        if isinstance(graph, cst.Call):
            return not self._infer.names.is_call_that(graph, "default-graph")
        if isinstance(graph, cst.Attribute):
            kept = [b for c in self._walk.classes.values() for b in c.attributes.get(graph.attr.value, ())]
            here = self._calls.function_at(place)
            return not kept or any(b.at.block.function is here or not self._is_graph(b.value) for b in kept)
        found = self._infer.bindings_reaching(graph) if isinstance(graph, cst.Name) else None
        if found is None or any(b.kind != "assign" for b in found[1]):
            return True
        loop = self._loops.innermost_loop(place)
        if loop is None:
            return found[0].function is self._calls.function_at(place)
        return any(b.at.block.loop is loop for b in found[1])

    def _is_graph(self, node: cst.BaseExpression | None) -> bool:
        return self._infer.names.is_call_that(node, "graph")

    def resets_graph(self, node: cst.CSTNode) -> bool:
        """Whether the loop or function `node` itself resets the graph."""
        holder = self._walk.functions.get(node) or self._walk.loops.get(node)
        calls = holder.calls if holder is not None else []
        return any(self._infer.names.is_call_that(call, "new-graph") for call in calls)

    def is_graph_code(self, node: cst.CSTNode) -> bool:
        """Whether `node` runs in graph mode: in a session's or graph's `with`, or in a program for version 1."""
        if self._compiled.is_compiled(node):
            return False
        for around in self._withs_around(node, None):
            if any(self._infer.value(item.item).kind == "session" for item in around.items):
                return True
            if any(True for _ in self._graphs(around)):
                return True
        if self._version_1 is None:
            self._version_1 = self._is_for_version_1()
        return self._version_1

    def _is_for_version_1(self) -> bool:
        names = self._infer.names
        called = {
            names.qualified(call.func)
            for call in self._walk.calls_named(*last_names("eager-mode", "graph-mode"))
        }
        if called & named("graph-mode"):
            return True
        if called & named("eager-mode") or any(
            has(names.qualified(d.decorator), "compiles")
            for f in self._walk.functions.values()
            for d in f.decorators
        ):
            return False
        imports = [
            b.imported for bindings in self._walk.top.bindings.values() for b in bindings if b.imported
        ]
        if any(name.startswith("tensorflow.compat.v1") for name in imports):
            return True
        if any(name.startswith("tensorflow.compat") for name in imports):
            return False
        # Version 2 has no session but through `compat`, so who says nothing of it writes for version 1.
        return "compat" not in self._walk.attributes
