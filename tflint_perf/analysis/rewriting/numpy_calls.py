"""Calls of NumPy that write to what they are given, or give it back."""

from __future__ import annotations

import libcst as cst

from tflint_perf.analysis.python.syntax import has_stars
from tflint_perf.analysis.rewriting import apis


def writes_to_an_argument(name: str, call: cst.Call) -> bool:
    """Whether a call of a function of NumPy may write to one of its arguments, or give it back."""
    places = sum(1 for arg in call.args if arg.keyword is None)
    keywords = {arg.keyword.value for arg in call.args if arg.keyword is not None}
    return has_stars(call) or apis.writes_to_an_argument(name, places, keywords)
