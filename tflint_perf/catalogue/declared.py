"""What the rules say of themselves, read from their files without running them.

To run a rule's file is to import libcst, which takes longer than everything else that a clean file needs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from pathlib import Path

from tflint_perf.rule import Claim, Rule

_CLASS = re.compile(r"^class \w+\(Rule\):\n", re.MULTILINE)
_FILE = re.compile(r"[a-z]+[0-9]+_")
_CHECK = "\n    def check("
_ATTRIBUTES = frozenset(
    {
        "code",
        "name",
        "triggers",
        "needs",
        "fixes",
        "bold",
        "yields_to",
        "claim",
        "always_on",
        "opt_in",
        "of_programs",
        "adds_up",
        "through_imports",
        "through_callers",
    }
)


class NotDeclaredError(Exception):
    """A rule's attributes are not literals, so they are known only once its file has run."""


def declared_rules(folders: Iterable[str]) -> list[type[Rule]]:
    """The rules of the files in the folders: classes with all attributes and the docstring, but no check.

    Raises:
        NotDeclaredError: a file cannot be read in this way.
    """
    return [declared_rule(file) for folder in folders for file in rule_files(Path(folder))]


def rule_files(folder: Path) -> list[Path]:
    """The files of a folder and of those in it that hold a rule, by their names: its code, and what it is called.

    What stands beside them is what the rules of a family share, or too much for the file of one.
    """
    return sorted(file for file in folder.rglob("*.py") if _FILE.match(file.name))


def declared_rule(file: Path) -> type[Rule]:
    """The rule of one file.

    Raises:
        NotDeclaredError: the file cannot be read in this way.
    """
    try:
        text = file.read_text(encoding="utf-8")
        (found,) = _CLASS.finditer(text)
        (definition,) = ast.parse(text[found.start() : text.index(_CHECK, found.start())]).body
        assert isinstance(definition, ast.ClassDef)
        attributes = {name: _value(value) for name, value in _assignments(definition)}
        attributes["__doc__"] = ast.get_docstring(definition, clean=False)
        return type(definition.name, (Rule,), attributes)
    except (OSError, SyntaxError, ValueError, AssertionError) as error:
        raise NotDeclaredError(str(file)) from error


def _assignments(definition: ast.ClassDef) -> Iterable[tuple[str, ast.expr]]:
    for statement in definition.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if name in _ATTRIBUTES:
                yield name, value


def _value(node: ast.expr) -> object:
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "Claim":
        arguments = [ast.literal_eval(argument) for argument in node.args]
        return Claim(*arguments, **{str(word.arg): ast.literal_eval(word.value) for word in node.keywords})
    return ast.literal_eval(node)
