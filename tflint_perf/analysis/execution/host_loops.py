"""Methods that nobody compiles, whoever may call them: they run a loop that only the host can run."""

from __future__ import annotations

import re

from tflint_perf.analysis.execution.size_of_calls import is_of_environment
from tflint_perf.analysis.python.scopes import Function, Loop
from tflint_perf.analysis.python.syntax import callee_name, names_read, target_names

# Bars that show how far a loop is, and tensors that are asked for their values: in a graph they have none.
_ON_HOST = frozenset(
    {
        "tqdm",
        "trange",
        "tqdm_notebook",
        "tnrange",
        "set_description",
        "set_postfix",
        "Progbar",
        "numpy",
        "sleep",
    }
)
_TOLD = frozenset({"print", "time", "info"})
_EPOCH = re.compile(r"(^|_)(epochs?|ep|episodes?)(_|$)", re.I)


def runs_loop_on_host(function: Function) -> bool:
    """Whether a function has a loop, and with it what fails or means nothing in compiled code: a progress bar, `.numpy()`, an
    environment's step, or what is printed in a loop over epochs."""
    if not function.loops:
        return False
    if any(
        callee_name(call) in _ON_HOST or (callee_name(call) == "step" and is_of_environment(call))
        for call in function.calls
    ):
        return True
    return any(
        callee_name(call) in _TOLD for loop in function.loops if _runs_epochs(loop) for call in loop.calls
    )


def _runs_epochs(loop: Loop) -> bool:
    """Whether a loop runs over epochs or episodes, by the name of what it counts or of how many there are."""
    iterable = loop.iterable
    if iterable is None or not hasattr(loop.node, "target"):
        return False
    names = [*target_names(loop.node.target), *names_read(iterable)]
    return any(_EPOCH.search(name.value) for name in names)
