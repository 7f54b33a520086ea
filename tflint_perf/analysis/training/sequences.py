"""Loops in which a model writes a sequence: in each iteration it is given what it wrote in those before."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.execution.op_loops import OpLoops
from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.analysis.python.syntax import (
    callee_name,
    calls_below,
    descendants_here,
    mentions,
    target_names,
)
from tflint_perf.analysis.values.infer import Inference

_ON_HOST = frozenset({"numpy", "item", "tolist", "float", "int"})


def writes_sequence(infer: Inference, op_loops: OpLoops, loop: Loop) -> bool:
    """Whether `loop` only calls models and ops, and gives a model what ops computed in earlier iterations, on the
    device."""
    if isinstance(loop.node, cst.CompFor):
        return False
    calls = list(calls_below(loop.node.body))
    asked = [call for call in calls if infer.value(call.func).kind == "model"]
    if not asked or any(infer.value(call).kind == "tape" or callee_name(call) in _ON_HOST for call in calls):
        return False
    if not all(op_loops.is_op_call(call, 0, gradients=True) for call in calls):
        return False
    written = made_of(set(op_loops.updated_tensors(loop)), loop)
    return any(mentions(arg.value, written) for call in asked for arg in call.args)


def made_of(names: set[str], loop: Loop) -> set[str]:
    """Some names, and those that an iteration gives to what it makes of them, in the order of the text."""
    found = set(names)
    for node in descendants_here(loop.node):
        if isinstance(node, cst.Assign) and mentions(node.value, found):
            found |= {name.value for target in node.targets for name in target_names(target.target)}
    return found
