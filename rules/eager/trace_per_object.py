"""Which objects a compiled function is handed so that each of them has a trace of its own.

A step's functions read models and optimizers of the step's own object, or of the module, that something may bind anew: `self.model`
where a method loads another one. Their code may stay as it is. What calls the compiled function hands the object over, which TensorFlow
holds against those that it has traces for, and a new trace reads the new object.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import libcst as cst

from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import descendants, is_name
from tflint_perf.edit.editor import Editor

from .compiling import first_parameter

# What traces are told apart by, and does not change without a call of its own.
TRACED_FOR = frozenset({"model", "layer", "optimizer", "metric", "loss"})


class TracedFor:
    """Answers for which objects that the functions of a step read there can be a trace each."""

    def __init__(self, edit: Editor, statements: Iterable[cst.CSTNode], function: Function | None) -> None:
        self._model = edit.model
        self._statements = list(statements)
        self._function = function
        self._found: list[cst.Attribute | cst.Name] = []

    def includes(self, node: cst.BaseExpression) -> bool:
        """Whether an object that a function of the step reads can be handed over where the step is."""
        can = self._model.value(node).kind in TRACED_FOR and self._is_seen_by_step(node)
        if can:
            assert isinstance(node, cst.Attribute | cst.Name)
            self._found.append(node)
        return can

    def read_by(self, statements: Iterable[cst.CSTNode]) -> list[cst.Attribute | cst.Name]:
        """Those asked for so far that some statements of the step read in the functions that they call."""
        reached = self._model.invariance.reached(statements)
        return [node for node in self._found if self._model.function_at(node) in reached]

    def _is_seen_by_step(self, node: cst.BaseExpression) -> bool:
        """Whether the same code stands for the same object in the step: an attribute of its own object, a name around both."""
        function, names = self._model.function_at(node), self._model.names
        if function is self._function:
            return False  # the step's own code, of which more can be handed over
        match node:
            case cst.Attribute(value=owner):
                return function in self._own_methods and is_name(owner, first_parameter(function))
            case cst.Name() if self._function is not None:
                home = names.home(node)
                found = names.lookup(node.value, self._function.scope)
                return found is not None and found[0] is home and home is not self._function.scope
        return False

    @cached_property
    def _own_methods(self) -> frozenset[Function]:
        """The methods that the step runs for its own object and for no other, through any number of calls."""
        runs: dict[bool, set[Function]] = {True: set(), False: set()}
        waiting = [(part, True) for statement in self._statements for part in descendants(statement)]
        while waiting:
            call, is_own = waiting.pop()
            if not isinstance(call, cst.Call):
                continue
            owner = first_parameter(self._model.function_at(call))
            is_own &= bool(owner) and isinstance(call.func, cst.Attribute) and is_name(call.func.value, owner)
            for target in self._model.calls.targets(call):
                if target not in runs[is_own]:
                    runs[is_own].add(target)
                    waiting += [(part, is_own) for part in descendants(target.node.body)]
        return frozenset(runs[True] - runs[False])
