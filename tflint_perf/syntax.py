"""Why code does not parse, and where, in Python's own words where it has some."""

from __future__ import annotations

import ast
import warnings

from tflint_perf.finding import Finding
from tflint_perf.source import Source

CODE = "invalid-syntax"


def fault(source: Source) -> Finding | None:
    """What is wrong with the syntax of a source, if anything is.

    Python's own parser is quick; what it refuses may be written for a newer Python, so libcst has the last word.
    """
    try:
        _compile(source)
    except SyntaxError:
        import libcst as cst

        try:
            cst.parse_module(source.text)
        except cst.ParserSyntaxError as error:
            return invalid_syntax(source, error.raw_line, error.raw_column + 1, error.message)
    except (ValueError, RecursionError, MemoryError, OverflowError):
        pass
    return None


def _compile(source: Source) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        compile(source.text, "<text>", "exec", flags=flags, dont_inherit=True)


def invalid_syntax(source: Source, row: int, column: int, message: str) -> Finding:
    """The finding for a source that libcst does not parse; place and message are libcst's.

    libcst lists the tokens that it expected, and gives no place for some faults. Python says what is wrong. What only
    libcst refuses keeps libcst's words.
    """
    try:
        _compile(source)
    except SyntaxError as error:
        if error.lineno:
            row, column, message = error.lineno, error.offset or 1, error.msg
    except (ValueError, RecursionError, MemoryError, OverflowError):
        pass
    place = source.place(source.offset(max(row, 1), max(column, 1)))
    row = source.row(place.offset)
    what = " ".join(message.split())
    return Finding(CODE, CODE, what, place, place, source.lines(row, row), place.row)
