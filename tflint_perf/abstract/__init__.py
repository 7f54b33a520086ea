"""The tree of a module without its white space, quickly: libcst's nodes, made from what Python's own parser gives.

The model asks for code alone, and most files are found to be clean; so the first look at a file needs no more. It
takes a quarter of the time that `libcst.parse_module` takes.
"""

from __future__ import annotations

import ast
import warnings
from typing import Any

import libcst as cst

from tflint_perf.abstract.expressions import UnknownCodeError
from tflint_perf.abstract.nodes import maker
from tflint_perf.abstract.statements import Statements
from tflint_perf.text.syntax import NO_FILE, one_at_a_time


class AbstractModule(cst.Module):
    """A module without the text that its nodes stand for; `rows` are those of calls, by what is called, loops and functions."""

    rows: dict[cst.CSTNode, int]

    def code_for_node(self, node: cst.CSTNode, provider: Any = None) -> str:
        """A word in place of the text: what is to be shown is looked at again in a whole tree."""
        return "…"


_module = maker(AbstractModule, "body")


def abstract_module(text: str) -> AbstractModule | None:
    """The tree of a module by its code; None where only libcst's own parser can tell it.

    That is so for code that does not parse, is nested too deeply, or is newer or older than the Python that runs this.
    """
    try:
        with one_at_a_time, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is odd about a string is none of our business
            parsed = ast.parse(text, NO_FILE)
        statements = Statements(text)
        module = _module(statements.body(parsed.body))
    except (UnknownCodeError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    object.__setattr__(module, "rows", statements.rows)  # nodes are frozen
    return module
