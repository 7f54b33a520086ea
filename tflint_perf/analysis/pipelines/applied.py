"""What a function that is given to `Dataset.apply` makes of the dataset."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import by_last_name
from tflint_perf.analysis.python.syntax import argument, callee_name


def applied(call: cst.Call) -> str:
    """The stage that `dataset.apply(map_and_batch(…))` comes down to; "" where that is not known."""
    given = argument(call, 0, "transformation_func")
    return by_last_name("applies").get(callee_name(given), "") if isinstance(given, cst.Call) else ""
