"""Python counters of a loop's iterations."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.python.scopes import Binding, Loop
from tflint_perf.analysis.python.syntax import integer, keyword_argument, target_names
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.iterables import counting, is_count
from tflint_perf.analysis.values.parts import Part


class Counters(Part):
    """Answers which name counts the iterations of a loop."""

    _infer: Inference

    def name(self, loop: Loop) -> str:
        """The name of an integer that grows by one with each iteration of `loop`; "" where there is none."""
        return self._target(loop) or self._counted_by_hand(loop)

    def _target(self, loop: Loop) -> str:
        """`step` in `for step in range(n)` and in `for step, batch in enumerate(dataset)`."""
        if not isinstance(loop.node, cst.For):
            return ""
        for target in target_names(loop.node.target):
            bindings = self._bindings(target)
            given = [binding for binding in bindings if binding.node is target]
            if target.value != "_" and given and self._grows_by_one(given[0]):
                others = [binding for binding in bindings if binding is not given[0]]
                return "" if any(_lies_in(binding, loop) for binding in others) else target.value
        return ""

    def _grows_by_one(self, binding: Binding) -> bool:
        """Whether `binding` gives its name a number that is one more in each iteration: to that of `enumerate`, or of a
        `range` of no other step."""
        if not is_count(self._infer, binding):
            return False
        over = counting(self._infer, binding.value) if binding.path == () else None
        return over is None or (len(over.args) < 3 and keyword_argument(over, "step") is None)

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
                        if (
                            len(inside) == 1
                            and first
                            and all(self._infer.integers.most(_given(b)) is not None for b in first)
                        ):
                            return target.value
        return ""

    def _bindings(self, name: cst.Name) -> list[Binding]:
        scope = self._infer.names.scope_of(name)
        return scope.bindings.get(name.value, [])


def _given(binding: Binding) -> cst.BaseExpression | None:
    """What a binding gives its name, also as one of several: `epoch, step = 0, 0`."""
    node = binding.value
    for at in binding.path or ():
        if not isinstance(node, cst.Tuple | cst.List) or at >= len(node.elements):
            return None
        node = node.elements[at].value
    return node if binding.path is not None else None


def _lies_in(binding: Binding, loop: Loop) -> bool:
    around = binding.at.block.loop
    while around is not None and around is not loop:
        around = around.parent
    return around is loop
