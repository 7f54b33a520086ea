"""Why code does not parse, and where, in Python's own words where it has some."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from tflint_perf.finding import Finding

if TYPE_CHECKING:
    from tflint_perf.text.source import Source

CODE = "invalid-syntax"
# Python opens the file of this name to show the line of a fault: let there be none.
NO_FILE = "/dev/null/<text>"
# What is done to warnings is done to those of all threads.
one_at_a_time = Lock()


class Fault(NamedTuple):
    """What is wrong with the syntax of a text, and at which row and column, both from 1."""

    row: int
    column: int
    message: str


def fault_of(text: str) -> Fault | None:
    """What is wrong with the syntax of a text, if anything is.

    Python's own parser is quick; what it refuses may be written for a newer Python, so libcst has the last word.
    """
    try:
        _compile(text)
    except SyntaxError as told:
        import libcst as cst

        from tflint_perf.text.trees import whole_module

        try:
            whole_module(text)
        except cst.ParserSyntaxError as error:
            return _as_told(told, Fault(error.raw_line, error.raw_column + 1, error.message))
        except RecursionError:  # for whoever parses it to tell
            return None
        return _of_escape(told)
    except (ValueError, RecursionError, MemoryError, OverflowError):
        pass
    return None


def fault_of_escape(text: str) -> Fault | None:
    """Where a string has an escape that ends too early, as in `"C:\\Users"`: libcst leaves strings alone, and no Python runs it."""
    try:
        _compile(text)
    except SyntaxError as told:
        return _of_escape(told)
    except (ValueError, RecursionError, MemoryError, OverflowError):
        pass
    return None


def _of_escape(told: SyntaxError) -> Fault | None:
    return _as_told(told, Fault(1, 1, told.msg)) if told.msg.startswith("(unicode error)") else None


def is_for_this_python(text: str) -> bool:
    """Whether this Python parses the text."""
    try:
        _compile(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return False
    return True


def is_too_new(text: str) -> Fault | None:
    """Where a text that libcst parses is not for this Python, which can't tell whether a fix would break it."""
    try:
        _compile(text)
    except SyntaxError as told:
        return Fault(told.lineno or 1, told.offset or 1, told.msg)
    except (ValueError, RecursionError, MemoryError, OverflowError):
        pass
    return None


def faults(source: Source) -> tuple[Finding, ...]:
    """What is wrong with the syntax of a source: with each of a notebook's cells, with a script as a whole."""
    if source.is_notebook:
        return faults_of_cells(source)
    fault = fault_of(source.text)
    return () if fault is None else (_finding(source, 0, fault),)


def faults_of_cells(source: Source) -> tuple[Finding, ...]:
    """A finding for each cell of a notebook that does not parse, and that no rule can see for that; none in one of Python 2,
    whose cells may be right."""
    if source.is_of_python_2:
        return ()
    return tuple(_finding(source, source.row(start) - 1, fault) for start, fault in source.broken())


def with_faults(findings: Iterable[Finding], source: Source) -> tuple[Finding, ...]:
    """The findings of a notebook and those about its cells that do not parse, each once, by their places."""
    others = (finding for finding in findings if finding.code != CODE)
    return tuple(sorted((*faults_of_cells(source), *others), key=lambda it: (it.start.offset, it.code)))


def invalid_syntax(source: Source, row: int, column: int, message: str) -> Finding:
    """The finding for a source that libcst does not parse; place and message are libcst's.

    libcst lists the tokens that it expected, and gives no place for some faults. Python says what is wrong. What only
    libcst refuses keeps libcst's words.
    """
    fault = Fault(row, column, message)
    try:
        _compile(source.text)
    except SyntaxError as told:
        fault = _as_told(told, fault)
    except (ValueError, RecursionError, MemoryError, OverflowError):
        pass
    return _finding(source, 0, fault)


def _compile(text: str) -> None:
    with one_at_a_time, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        compile(text, NO_FILE, "exec", flags=flags, dont_inherit=True)


def _as_told(told: SyntaxError, otherwise: Fault) -> Fault:
    """The fault as Python tells it, if it says where."""
    return Fault(told.lineno, told.offset or 1, told.msg) if told.lineno else otherwise


def _finding(source: Source, rows_before: int, fault: Fault) -> Finding:
    place = source.place(source.offset(rows_before + max(fault.row, 1), max(fault.column, 1)))
    row = source.row(place.offset)
    what = " ".join(fault.message.split())
    return Finding(CODE, CODE, what, place, place, source.lines(row, row), place.row)
