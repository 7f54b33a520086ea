"""What is recorded while a tape still keeps what it recorded itself: then memory holds both."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.execution.given_models import GivenModels
from tflint_perf.analysis.execution.loops import Loops
from tflint_perf.analysis.execution.tapes import Tape
from tflint_perf.analysis.execution.trains import trains_by
from tflint_perf.analysis.python.flow import loops_around
from tflint_perf.analysis.python.reach import leads_to
from tflint_perf.analysis.values.calls import CallGraph
from tflint_perf.analysis.values.infer import Inference
from tflint_perf.analysis.values.parts import Part


class SecondPasses(Part):
    """Answers whether another gradient is computed while a tape lives on that has given its own."""

    _infer: Inference
    _calls: CallGraph
    _loops: Loops
    _given_models: GivenModels

    def __post_init__(self) -> None:
        self._known: dict[cst.Call, bool] = {}

    def run_beside(self, tape: Tape, gradient: cst.Call) -> bool:
        """Whether another gradient is computed, step by step, between `gradient`, the only one that is asked of `tape`, and
        the end of the tape: further down in its function, or in the next iteration, before the tape is opened again."""
        if not self._loops.is_per_step(tape.node):
            return False
        calls = tape.function.calls if tape.function is not None else self._infer.walk.module_calls
        return any(self._is_beside(call, tape, gradient) and self._learns(call) for call in calls)

    def _is_beside(self, call: cst.Call, tape: Tape, gradient: cst.Call) -> bool:
        opened, asked, at = (self._infer.place(node).order for node in (tape.node, gradient, call))
        ends = self._ends(tape)
        if at > asked:
            return not any(asked <= end <= at for end in ends)
        around = loops_around(self._loops.innermost_loop(tape.node))
        is_next = any(loop in around for loop in loops_around(self._loops.innermost_loop(call)))
        return at < opened and is_next and not any(asked <= end or end <= at for end in ends)

    def _ends(self, tape: Tape) -> list[int]:
        """Where the name of `tape` is given another value, or is deleted, in the order of the text."""
        home = self._infer.names.home(tape.target)
        bindings = home.bindings.get(tape.target.value, ()) if home is not None else ()
        return [binding.at.order for binding in bindings if binding.node is not tape.target]

    def _learns(self, call: cst.Call) -> bool:
        """Whether `call` opens a tape or trains a model, itself or in a function of this file."""
        return leads_to(call, self._known, self._trains)

    def _trains(self, call: cst.Call) -> bool | list[cst.Call]:
        if self._infer.value(call).kind == "tape":
            return True
        if isinstance(call.func, cst.Attribute) and trains_by(self._infer, call) in ("batch", "fit"):
            receiver = call.func.value
            if self._infer.value(receiver).kind == "model" or self._given_models.is_method_of_keras(
                call.func
            ):
                return True
        return [below for target in self._calls.targets(call) for below in target.calls]
