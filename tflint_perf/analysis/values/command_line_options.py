"""Options of the command line: `parser.add_argument("--epochs", default=10)`, `flags.DEFINE_integer("epochs", 10, …)`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from tflint_perf.analysis.python.syntax import argument, string
from tflint_perf.analysis.python.walk import Walk


def defaults(walk: Walk, is_meant: Callable[[str], object]) -> Iterator[cst.BaseExpression | None]:
    """The defaults of the options whose name, as an attribute spells it, is meant; None for one that has none."""
    for maker, position in (("add_argument", None), ("DEFINE_integer", 1)):
        for call in walk.calls.get(maker, ()):
            words = [
                (string(arg.value) or "").lstrip("-").replace("-", "_")
                for arg in call.args
                if arg.keyword is None
            ]
            if any(map(is_meant, words)):
                yield argument(call, position, "default")
