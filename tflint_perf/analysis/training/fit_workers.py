"""Where the batches are made that Keras's `fit` draws from a generator or a sequence: in the step, or beside it.

    workers.said_by(call)      # "threads" for `fit(rows, workers=4)`, "step" for `workers=0`, "" where nothing is said
    workers.said_in(klass)     # of a class for data: what `super().__init__(workers=4)` says, as Keras 3 has it

Where nobody says anything, one thread makes them.
"""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.python.scopes import Class
from tflint_perf.analysis.python.syntax import callee_name, is_name, is_super, keyword_argument
from tflint_perf.analysis.values.caller import Beside
from tflint_perf.analysis.values.infer import Inference

# Stands for a number of workers that is not in sight.
_SEVERAL = 2


class FitWorkers:
    """Answers how many make batches, as far as arguments say."""

    def __init__(self, infer: Inference) -> None:
        self._infer = infer

    def said_by(self, call: cst.Call) -> Beside:
        """What the arguments of `call`, of `fit` or of a constructor, say. Whether workers that are several are processes, the
        configuration may decide."""
        given = keyword_argument(call, "workers")
        if given is None:
            return ""
        only = self._infer.integers.only(given)
        number = _SEVERAL if only is None else only
        if number <= 1:
            return "thread" if number else "step"
        processes = keyword_argument(call, "use_multiprocessing")
        return "threads" if processes is None or is_name(processes, "False") else "processes"

    def said_in(self, klass: Class | None) -> Beside:
        """What the constructor of a class says to that of Keras."""
        begun = klass.methods.get("__init__") if klass is not None else None
        for call in begun.calls if begun is not None else ():
            if (
                callee_name(call) == "__init__"
                and isinstance(call.func, cst.Attribute)
                and is_super(call.func.value)
            ):
                return self.said_by(call)
        return ""
