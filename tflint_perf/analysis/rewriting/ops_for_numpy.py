"""Which op of TensorFlow takes what a function of another library is given, and gives the same."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.apis.facts import fact
from tflint_perf.analysis.python.syntax import has_stars


def op_for(name: str, call: cst.Call) -> str | None:
    """What `tf.<op>` computes the same from the same arguments as `name`, a qualified name of NumPy's; None for no op."""
    alike = fact(name, "alike")
    if not alike or has_stars(call):
        return None
    positional = sum(arg.keyword is None for arg in call.args)
    keywords = {arg.keyword.value for arg in call.args if arg.keyword is not None}
    return fact(name, "twin").removeprefix("tf.") if _is_taken(alike, positional, keywords) else None


def _is_taken(alike: str, positional: int, keywords: set[str]) -> bool:
    """Whether NumPy and TensorFlow mean the same by so many arguments by place and these keywords."""
    match alike:
        case "reduction":
            return positional in (1, 2) and keywords <= {"axis", "keepdims"}
        case "axis" | "axis?":
            # Without an axis, `tf.concat` does not know what to do.
            given = (positional == 2 and not keywords) or (positional == 1 and keywords == {"axis"})
            return given or (alike == "axis?" and positional == 1 and not keywords)
        case "1+axis" | "2+axis" if keywords == {"axis"}:
            return positional == 1
    return positional == int(alike[0]) and not keywords
