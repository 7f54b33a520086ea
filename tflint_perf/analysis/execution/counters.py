"""Python counters of a loop's iterations."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.python.scopes import Binding, Loop
from tflint_perf.analysis.python.syntax import callee_name, integer, keyword_argument
from tflint_perf.analysis.values.infer import Inference

_COUNTING = frozenset({"range", "trange", "count"})
_WRAPPING = frozenset({"tqdm", "progress_bar", "progressbar", "track"})


class Counters:
    """Answers which name counts the iterations of a loop."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer

    def name(self, loop: Loop) -> str:
        """The name of an integer that grows by one with each iteration of `loop`; "" where there is none."""
        return self._target(loop) or self._counted_by_hand(loop)

    def _target(self, loop: Loop) -> str:
        """`step` in `for step in range(n)` and in `for step, batch in enumerate(dataset)`."""
        if not isinstance(loop.node, cst.For):
            return ""
        target: cst.BaseExpression = loop.node.target
        iterable = _unwrapped(loop.node.iter)
        if not isinstance(iterable, cst.Call):
            return ""
        name = callee_name(iterable)
        if name == "enumerate" and isinstance(target, cst.Tuple) and len(target.elements) == 2:
            target = target.elements[0].value
        elif (
            name not in _COUNTING or len(iterable.args) > 2 or keyword_argument(iterable, "step") is not None
        ):
            return ""
        if not isinstance(target, cst.Name) or target.value == "_":
            return ""
        others = [binding for binding in self._bindings(target) if binding.node is not target]
        return "" if any(_lies_in(binding, loop) for binding in others) else target.value

    def _counted_by_hand(self, loop: Loop) -> str:
        """`step` where the loop's body says `step += 1`, and nothing else in it changes `step`."""
        body = loop.node.body if isinstance(loop.node, cst.For | cst.While) else None
        for line in body.body if isinstance(body, cst.IndentedBlock) else ():
            for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
                match statement:
                    case cst.AugAssign(
                        target=cst.Name() as target, operator=cst.AddAssign(), value=value
                    ) if integer(value) == 1:
                        bindings = self._bindings(target)
                        inside = [binding for binding in bindings if _lies_in(binding, loop)]
                        first = [binding for binding in bindings if binding not in inside]
                        if len(inside) == 1 and first and all(integer(b.value) is not None for b in first):
                            return target.value
        return ""

    def _bindings(self, name: cst.Name) -> list[Binding]:
        scope = self._infer.names.scope_of(name)
        return scope.bindings.get(name.value, [])


def _unwrapped(node: cst.BaseExpression) -> cst.BaseExpression:
    """What a progress bar runs over."""
    while isinstance(node, cst.Call) and callee_name(node) in _WRAPPING and node.args:
        node = node.args[0].value
    return node


def _lies_in(binding: Binding, loop: Loop) -> bool:
    around = binding.at.block.loop
    while around is not None and around is not loop:
        around = around.parent
    return around is loop
