"""What else a loop does with an object that it makes anew: what forbids that one serves for all iterations."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.execution.invariance import Invariance
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.obstacles import Obstacle
from tflint_perf.analysis.python.scopes import Loop
from tflint_perf.analysis.python.syntax import descendants, names_read, target_names
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part

_APPLYING = ("apply_gradients", "apply", "minimize")


class OtherUses(Part):
    """Answers what stands against keeping an optimizer from one iteration to the next."""

    _infer: Inference
    _invariance: Invariance

    def of_optimizer(self, statement: cst.CSTNode, loop: Loop) -> Obstacle | None:
        """A use of the optimizer that a statement of `loop` makes which may change it, give it another model to train,
        or look at it when the loop is done."""
        names = {
            name.value
            for part in descendants(statement)
            if isinstance(part, cst.AssignTarget | cst.AnnAssign)
            for name in target_names(part.target)
        }
        return self._change(names, loop) or self._other_model(loop) or self._read_behind(names, loop)

    def _change(self, names: set[str], loop: Loop) -> Obstacle | None:
        for name in names_read(loop.node):
            parent = self._walk.parents.get(name)
            if name.value not in names or isinstance(parent, cst.AssignTarget | cst.AnnAssign):
                continue
            if not isinstance(parent, cst.Attribute) or parent.attr.value not in _APPLYING:
                what = f"what else the loop does with `{name.value}` may change it"
                return Obstacle(name if parent is None else parent, what)
        return None

    def _other_model(self, loop: Loop) -> Obstacle | None:
        for name in names_read(loop.node):
            if self._infer.value(name).kind in ("model", "layer") and self._is_bound_around(name, loop):
                why = f"it may train another `{name.value}` next, for which it has no variables"
                return Obstacle(name, why)
        return None

    def _read_behind(self, names: set[str], loop: Loop) -> Obstacle | None:
        inside = set(descendants(loop.node))
        for made in sorted(names):
            for mention in self._walk.names.get(made, ()):
                if mention not in inside and self._infer.place(mention).order > loop.at.order:
                    return Obstacle(mention, f"`{made}` is read after the loop, too")
        return None

    def _is_bound_around(self, name: cst.Name, loop: Loop) -> bool:
        """Whether `loop`, or a loop around `name`, assigns to it."""
        return any(
            self._invariance.is_bound_in(binding, around)
            for binding in self._infer.bindings(name)
            for around in loops_around(loop)
        )
