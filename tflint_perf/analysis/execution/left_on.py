"""Switches that a program throws for good: nothing decides whether it does, and nothing takes them back."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import last_names
from tflint_perf.analysis.conventions import names_a_test, names_debugging
from tflint_perf.analysis.python.conditions import conditions
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import argument, descendants, is_name, last_name, string
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part


class LeftOn(Part):
    """Answers whether a switch is left on."""

    _infer: Inference
    _calls: CallGraph

    def is_on(self, call: cst.Call, position: int | None, keyword: str) -> bool:
        """Whether `call` says `True`, and always runs."""
        return is_name(argument(call, position, keyword), "True") and self.always_runs(call)

    def eager_switches(self) -> list[cst.Call]:
        """The calls that have all compiled functions run in eager mode: none where a condition decides that, or a call
        takes it back."""
        switches = [
            call
            for call in self._walk.calls_named(*last_names("runs-eagerly"))
            if self._infer.names.is_call_that(call, "runs-eagerly")
        ]
        return switches if all(self.is_on(call, 0, "run_eagerly") for call in switches) else []

    def turns_eager_on(self) -> bool:
        """Whether the file, run as a program, has all compiled functions run in eager mode; who runs one that calls nothing
        itself calls what does so."""
        functions = [self._calls.function_at(call) for call in self.eager_switches()]
        idle = not self._walk.module_calls
        return any(idle or function is None or self._calls.sites(function) for function in functions)

    def always_runs(self, node: cst.CSTNode) -> bool:
        """Whether `node` always runs, under no condition, exception handler, test or debugging helper."""
        return self._always_runs(node, frozenset())

    def _always_runs(self, node: cst.CSTNode, seen: frozenset[Function]) -> bool:
        # What a program refuses to run with decides nothing.
        decide = conditions(self._walk, node, errors=False)
        if any(not is_main_guard(condition) for condition in decide):
            return False
        function = self._calls.function_at(node)
        if function is None:
            return True
        if self._is_for_debugging(function):
            return False
        seen |= {function}
        sites = [call for call in self._calls.sites(function) if self._calls.function_at(call) not in seen]
        return not sites or any(self._always_runs(call, seen) for call in sites)

    @staticmethod
    def _is_for_debugging(function: Function) -> bool:
        if (
            isinstance(function.node, cst.Lambda)
            or names_debugging(function.name)
            or names_a_test(function.name)
        ):
            return True
        owner = function.owner
        return owner is not None and any(last_name(base.value) == "TestCase" for base in owner.node.bases)


def is_main_guard(test: cst.CSTNode) -> bool:
    """Whether `test` is `__name__ == "__main__"`."""
    parts = list(descendants(test))
    return any(is_name(part, "__name__") for part in parts) and any(
        string(part) == "__main__" for part in parts
    )
