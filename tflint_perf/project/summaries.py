"""What a file says to others, from its bytes: as much of it as others can ask for, got as cheaply as it can be."""

from __future__ import annotations

import ast
from pathlib import Path

from tflint_perf.analysis.links.hindrances import Hindrances
from tflint_perf.analysis.links.summary import Summary
from tflint_perf.lint.screen import names_framework
from tflint_perf.text.code import code_of

_NO_SUMMARY = Summary({}, (), {})


def summary_of(file: Path, data: bytes, *, whole: bool = False) -> Summary:
    """The summary of one file; nothing for one that can't be parsed, or that the model fails on.

    Where it is linted itself, such a failure is told. Of one that speaks of no framework only the imports are learned,
    unless it is to be read `whole`.
    """
    if not whole and not names_framework(data):
        return _imports_alone(code_of(file, data))
    from tflint_perf.errors import SourceError
    from tflint_perf.lint.asking import InternalError
    from tflint_perf.lint.check import summarise_source
    from tflint_perf.text.source import Source

    try:
        return summarise_source(Source.from_bytes(data, str(file)))
    except (SourceError, InternalError):
        return _NO_SUMMARY


def hindrances_of(file: Path, data: bytes) -> Hindrances:
    """What stands against tracing the functions of one file; nothing for one that can't be read as above."""
    from tflint_perf.errors import SourceError
    from tflint_perf.lint.asking import InternalError
    from tflint_perf.lint.check import hindrances_in_source
    from tflint_perf.text.source import Source

    try:
        return hindrances_in_source(Source.from_bytes(data, str(file)))
    except (SourceError, InternalError):
        return Hindrances({}, {})


def _imports_alone(data: bytes) -> Summary:
    """The imports at the top level of a module, by Python's own parser, which takes a fraction of the time."""
    try:
        body = ast.parse(data).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _NO_SUMMARY
    imports: dict[str, str] = {}
    stars: list[str] = []
    defined: set[str] = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Assign):
            defined.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.split(".", 1)[0]
                imports[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                if alias.name == "*":
                    stars.append(module)
                else:
                    separator = "" if module.endswith(".") else "."
                    imports[alias.asname or alias.name] = f"{module}{separator}{alias.name}"
    return Summary(imports, tuple(stars), {}, partial=True, defined=frozenset(defined))
