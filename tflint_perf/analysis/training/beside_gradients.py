"""What runs with each gradient step, however seldom the program makes one."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.steps import GradientSteps
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.python.scopes import Function
from tflint_perf.analysis.python.syntax import callee_name, descendants
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference

# What decides by itself whether the statements in it run.
_DECIDING = (cst.For, cst.While, cst.Try, cst.Match, cst.FunctionDef, cst.ClassDef)


class BesideGradients:
    """Answers whether a place stands beside a gradient step, in one block with what makes it."""

    def __init__(self, infer: Inference, calls: CallGraph, loops: Loops, steps: GradientSteps) -> None:
        self._infer = infer
        self._calls = calls
        self._loops = loops
        self._steps = steps
        self._known: dict[cst.CSTNode, bool] = {}
        self._training: dict[Function, bool] = {}

    def holds(self, node: cst.CSTNode) -> bool:
        """Whether `node` runs per step, and no condition stands before it but those of a gradient step beside it."""
        return self._loops.is_per_step(node) and leads_to(node, self._known, self._stands_beside)

    def _stands_beside(self, node: cst.CSTNode) -> bool | list[cst.Call]:
        """Whether that is so by the function around `node`, or else the calls of it, of any of which it may be so."""
        block = self._infer.place(node).block
        while True:
            if any(self._is_training(statement) for statement in block.statements):
                return True
            if not isinstance(block.owner, cst.With) or block.parent is None:
                break
            block = block.parent
        function = self._calls.function_at(node)
        if function is None or block.owner is not function.node:
            return False
        return [site for site in self._calls.sites(function) if self._loops.is_per_step(site)]

    def _is_training(self, statement: cst.CSTNode) -> bool:
        """Whether a statement makes a gradient step, or calls what makes one; of an `if`, each of its branches."""
        if isinstance(statement, cst.If):
            return all(any(map(self._is_training, lines)) for lines in _branches(statement))
        if isinstance(statement, _DECIDING):
            return False
        return any(
            callee_name(part) in ("apply_gradients", "train_on_batch")
            or any(leads_to(target, self._training, self._trains) for target in self._calls.targets(part))
            for part in descendants(statement)
            if isinstance(part, cst.Call)
        )

    def _trains(self, function: Function) -> bool | list[Function]:
        """Whether a function makes gradient steps itself, or else what it calls."""
        if self._steps.of(function) or any(callee_name(call) == "train_on_batch" for call in function.calls):
            return True
        return [target for call in function.calls for target in self._calls.targets(call)]


def _branches(node: cst.If) -> Iterator[list[cst.CSTNode]]:
    """The statements of each way through an `if`; there are none in an `else` that is missing."""
    branch: cst.If | cst.Else | None = node
    while branch is not None:
        lines = branch.body.body
        yield [
            statement
            for line in lines
            for statement in (line.body if isinstance(line, cst.SimpleStatementLine) else (line,))
        ]
        if isinstance(branch, cst.Else):
            return
        branch = branch.orelse
    yield []
