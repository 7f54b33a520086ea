"""Variables that hold a program's state, rather than what it trains: they are written to by `assign`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.analysis.python.syntax import (
    argument,
    callee_name,
    descendants,
    mentions,
    target_names,
)
from tflint_perf.analysis.values.calls import CallGraph

_TRAINING = frozenset(
    {"gradient", "jacobian", "watch", "apply_gradients", "minimize", "assign_sub", "assign_add"}
)


def holds_state(calls: CallGraph, statement: cst.CSTNode | None, loop: Loop) -> bool:
    """Whether a loop assigns to the variable that a statement of it makes, here or in a function that it hands that to, and
    nothing trains it."""
    if not isinstance(statement, cst.Assign):
        return False
    names = {
        name.value
        for target in statement.targets
        if isinstance(target.target, cst.Name)
        for name in target_names(target.target)
    }
    inside = [part for part in descendants(loop.node) if isinstance(part, cst.Call)]
    if any(callee_name(call) in _TRAINING and mentions(call, names) for call in inside):
        return False
    return any(
        _assigns(call, names)
        or any(
            _assigns(inner, {parameter})
            for function in calls.targets(call)
            for parameter in _parameters_given(calls, call, names)
            for inner in function.calls
        )
        for call in inside
    )


def _assigns(call: cst.Call, names: set[str]) -> bool:
    """`state.assign(x)`, `state[0].assign(x)`."""
    if callee_name(call) != "assign" or not isinstance(call.func, cst.Attribute):
        return False
    written = call.func.value
    while isinstance(written, cst.Subscript):
        written = written.value
    return isinstance(written, cst.Name) and written.value in names


def _parameters_given(calls: CallGraph, call: cst.Call, names: set[str]) -> Iterator[str]:
    """The parameters of what a call runs that get one of some names."""
    for function in calls.targets(call):
        for at, name in enumerate(function.places):
            given = argument(call, at, name)
            if isinstance(given, cst.Name) and given.value in names:
                yield name
