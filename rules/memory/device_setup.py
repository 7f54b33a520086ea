"""What has TensorFlow set up its devices, after which they can't be configured any more."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import fact, has, library
from tflint_perf.analysis.limits import NAMES_DEEP
from tflint_perf.analysis.python.flow import encloses
from tflint_perf.analysis.python.reach import remembered, remembered_in_circles
from tflint_perf.analysis.python.scopes import Block, Function
from tflint_perf.analysis.python.syntax import COMPREHENSIONS, callee_name
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part

# What calls of these kinds make is made on a device.
_ON_DEVICES = frozenset({"tensor", "tensors", "variable", "strategy"})
# Where an expression may be passed over.
_CONDITIONAL = (cst.IfExp, cst.BooleanOperation, cst.Assert, *COMPREHENSIONS)


class DeviceSetup(Part):
    """Answers what has run, when a place is reached, that made TensorFlow set up its devices."""

    same_for_all_callers = True

    _infer: Inference
    _calls: CallGraph

    def before(self, node: cst.CSTNode) -> cst.Call | None:
        """A call that is known to run before `node` and to make TensorFlow set up its devices: here, or in every
        caller."""
        function = self._calls.function_at(node)
        here = self._first_in(function, node)
        return here if here is not None or function is None else self._before_calls(function)

    @remembered_in_circles(None)
    def _before_calls(self, function: Function) -> cst.Call | None:
        # Whoever calls it does so once it is defined.
        found = [self.before(site) for site in self._calls.sites(function)] or [
            self._first_in(None, function.node)
        ]
        return None if None in found else found[0]

    def _first_in(self, function: Function | None, node: cst.CSTNode) -> cst.Call | None:
        """The first call before `node`, in the same function or in the module, that is known to make TensorFlow set up
        its devices."""
        at = self._infer.place(node)
        calls = function.calls if function is not None else self._walk.module_calls
        before = [call for call in calls if self._infer.place(call).order < at.order]
        return next(
            (call for call in before if self._surely_runs(call, at.block) and self.sets_up(call)), None
        )

    @remembered
    def sets_up(self, call: cst.Call, depth: int = 0) -> bool:
        """Whether `call` runs an op, makes something that lives on a device, or lists the logical devices."""
        name = self._infer.names.qualified(call.func)
        if name:
            return _lives_on_devices(name)
        if self._infer.value(call.func).kind == "compiled":
            return True
        targets = self._calls.targets(call)
        return len(targets) == 1 and depth < NAMES_DEEP and self._function_sets_up(targets[0], depth)

    def _function_sets_up(self, function: Function, depth: int) -> bool:
        node = function.node
        if isinstance(node, cst.Lambda) or function.yields or node.asynchronous is not None:
            return False
        body = next((b for b in (self._infer.place(call).block for call in function.calls)), None)
        while body is not None and body.owner is not node:
            body = body.parent
        return body is not None and any(
            self._surely_runs(call, body) and self.sets_up(call, depth + 1) for call in function.calls
        )

    def _surely_runs(self, call: cst.Call, block: Block) -> bool:
        """Whether `call` is known to run in eager mode before the code in question. `block` holds that code, in the
        same function."""
        current: cst.CSTNode | None = self._walk.parents.get(call)
        while current is not None and current not in self._walk.at:
            if isinstance(current, _CONDITIONAL):
                return False
            current = self._walk.parents.get(current)
        own = self._infer.place(call).block
        while not encloses(own, block):
            if not isinstance(own.owner, cst.With) or own.parent is None:
                return False
            own = own.parent
        return not self._is_in_graph(call)

    def _is_in_graph(self, call: cst.Call) -> bool:
        """Whether a call stands in `with graph.as_default():`."""
        block: Block | None = self._infer.place(call).block
        while block is not None:
            if isinstance(block.owner, cst.With) and any(
                isinstance(item.item, cst.Call) and callee_name(item.item) == "as_default"
                for item in block.owner.items
            ):
                return True
            block = block.parent
        return False


def _lives_on_devices(name: str) -> bool:
    """Whether the function of that name runs an op, or makes a dataset, a variable, a strategy or a whole model."""
    if fact(name, "batched") or has(name, "sets-up-devices") or has(name, "makes-dataset"):
        return True
    kind = fact(name, "gives")
    if kind == "model":
        return has(name, "whole-model")
    return kind in _ON_DEVICES and library(name) == "tensorflow" and not has(name, "runs-no-op")
